"""Weights travel: files of torch.nn's modules load into the library by name and back, and both sides compute the same from them.

    ./dev golden --roundtrip

For every module and dtype: its state is written with safetensors as torch names it; the library loads it with no renaming, computes, and writes
it again (the same bits) and once more with other numbers, which torch loads strictly and computes with. Outputs agree within 1e-5 of the
largest entry in float32, 1e-12 in float64.
"""
import os
import subprocess
import sys
import tempfile
import zlib

import torch
from safetensors.torch import load_file, load_model, save_file, save_model
from torch import nn

import model_cases
from golden_case import as_float32_values
from layer_cases import FF, HEADS, WIDTH, decoder_layer, encoder_layer, kept, later

ALLOWED = {torch.float32: 1e-5, torch.float64: 1e-12}


class TiedLM(model_cases.CausalLM):
    """With a head under a name of its own, which may be the table of ids."""

    def __init__(self, tied):
        super().__init__(13, 8, 12, 3, 2, 24, bias=True)
        self.head = nn.Linear(12, 13, bias=False)
        if tied:
            self.head.weight = self.tok.weight

    def forward(self, ids):
        t = ids.shape[1]
        return self.head(self.encoder(self.tok(ids) + self.pos(torch.arange(t)), mask=later(t)))


class SharedSeq2Seq(model_cases.Seq2Seq):
    """One table under three names."""

    def __init__(self):
        super().__init__(11, 11, 8, 2, 2, 12, scale=True, shared=True)
        self.tgt_embed, self.head = self.src_embed, nn.Linear(8, 11, bias=False)
        self.head.weight = self.src_embed.weight


def stack(norm):
    return nn.LayerNorm(WIDTH) if norm else None


def real(*shape):
    return lambda random: as_float32_values(torch.randn(shape, generator=random))


def ids(high, t, lens):
    """Ids from 1 on, 0 beyond a length."""
    return lambda random: torch.where(kept(torch.tensor(lens), t), torch.randint(1, high, (len(lens), t), generator=random), 0)


def lens(*values):
    return lambda random: torch.tensor(values)


X, M, ROWS = real(3, 5, WIDTH), real(3, 6, WIDTH), kept(torch.tensor([3, 5, 1]), 5)
LENS, MEMORY_LENS = lens(3, 5, 1), lens(6, 2, 4)


def hidden(lengths, x):
    return ~kept(lengths, x.shape[1])


def masks(i):
    return {"tgt_mask": later(i["x"].shape[1]), "tgt_key_padding_mask": hidden(i["lens"], i["x"]),
            "memory_key_padding_mask": hidden(i["memory_lens"], i["memory"])}


# name: the module, its inputs, what it computes from them, and the rows that count
CASES = {
    "mha": (lambda: nn.MultiheadAttention(WIDTH, HEADS, batch_first=True), {"x": X, "memory": M},
            lambda m, i: m(i["x"], i["memory"], i["memory"])[0], None),
    "mha_no_bias": (lambda: nn.MultiheadAttention(WIDTH, HEADS, bias=False, batch_first=True), {"x": X},
                    lambda m, i: m(i["x"], i["x"], i["x"])[0], None),
    "mha_widths": (lambda: nn.MultiheadAttention(WIDTH, HEADS, kdim=6, vdim=5, batch_first=True),
                   {"x": X, "k": real(3, 4, 6), "v": real(3, 4, 5)}, lambda m, i: m(i["x"], i["k"], i["v"])[0], None),
    "encoder_layer": (lambda: encoder_layer(False, "relu"), {"x": X}, lambda m, i: m(i["x"]), None),
    "encoder_layer_pre": (lambda: encoder_layer(True, "gelu", bias=False), {"x": X}, lambda m, i: m(i["x"], src_mask=later(5)), None),
    "decoder_layer": (lambda: decoder_layer(False, "relu"), {"x": X, "memory": M},
                      lambda m, i: m(i["x"], i["memory"], tgt_mask=later(5)), None),
    "decoder_layer_pre": (lambda: decoder_layer(True, "gelu", bias=False), {"x": X, "memory": M},
                          lambda m, i: m(i["x"], i["memory"], tgt_mask=later(5)), None),
    "encoder": (lambda: nn.TransformerEncoder(encoder_layer(True, "gelu"), 3, stack(True), enable_nested_tensor=False), {"x": X, "lens": LENS},
                lambda m, i: m(i["x"], src_key_padding_mask=hidden(i["lens"], i["x"])), ROWS),
    "decoder": (lambda: nn.TransformerDecoder(decoder_layer(False, "relu"), 2, stack(False)),
                {"x": X, "lens": LENS, "memory": M, "memory_lens": MEMORY_LENS}, lambda m, i: m(i["x"], i["memory"], **masks(i)), ROWS),
    "transformer": (lambda: nn.Transformer(WIDTH, HEADS, 2, 3, FF, 0.0, batch_first=True),
                    {"x": X, "lens": LENS, "memory": M, "memory_lens": MEMORY_LENS},
                    lambda m, i: m(i["memory"], i["x"], src_key_padding_mask=hidden(i["memory_lens"], i["memory"]), **masks(i)), ROWS),
    "causal_lm": (lambda: TiedLM(tied=False), {"ids": ids(13, 7, [7, 7])}, lambda m, i: m(i["ids"]), None),
    "causal_lm_tied": (lambda: TiedLM(tied=True), {"ids": ids(13, 7, [7, 7])}, lambda m, i: m(i["ids"]), None),
    "seq2seq": (lambda: model_cases.Seq2Seq(9, 11, 8, 2, 2, 12, False, False),
                {"src": ids(9, 6, [6, 2, 4]), "src_lens": lens(6, 2, 4), "tgt": ids(11, 5, [3, 5, 1]), "tgt_lens": LENS},
                lambda m, i: m(i["src"], i["tgt"]), ROWS),
    "seq2seq_shared": (SharedSeq2Seq, {"src": ids(11, 6, [6, 2, 4]), "src_lens": lens(6, 2, 4), "tgt": ids(11, 5, [3, 5, 1]), "tgt_lens": LENS},
                       lambda m, i: m(i["src"], i["tgt"]), ROWS),
}


def disturb(module, random):
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(as_float32_values(torch.randn(parameter.shape, generator=random) * 0.1))
    return module


def files_of(module, path):
    """Writes the module's state as people do; of a tied one also all of its names, and each by itself."""
    state, names = module.state_dict(), {}
    for name, value in state.items():
        names.setdefault(value.data_ptr(), []).append(name)
    save_model(module, path)
    yield len(names)
    if len(names) == len(state):
        return
    save_file({name: value.clone() for name, value in state.items()}, path)
    yield len(names)
    for last in range(max(len(same) for same in names.values())):
        save_file({same[min(last, len(same) - 1)]: state[same[0]] for same in names.values()}, path)
        yield len(names)


def error(ours, torchs, rows):
    if ours.shape != torchs.shape or ours.dtype != torchs.dtype:
        return float("inf")
    if rows is not None:
        ours, torchs = ours[rows], torchs[rows]
    difference = (ours - torchs).abs().max().item() / torchs.abs().max().item()
    return float("inf") if difference != difference else difference


class Trip:
    def __init__(self, program, folder, name, dtype):
        self.program, self.folder, self.name, self.dtype = program, folder, name, dtype
        self.make, self.draws, self.compute, self.rows = CASES[name]
        self.faults, self.worst = [], 0.0

    def path(self, what):
        return os.path.join(self.folder, what + ".safetensors")

    def compare(self, what, module, inputs):
        ours = load_file(self.path(what))["y"]
        found = error(ours, self.compute(module, inputs).detach(), self.rows)
        self.worst = max(self.worst, found)
        if not found <= ALLOWED[self.dtype]:
            self.faults.append(f"{what}: {found:.1e}, allowed {ALLOWED[self.dtype]:.0e}")

    def run(self):
        random = torch.Generator().manual_seed(zlib.crc32(self.name.encode()))
        module = disturb(self.make().double(), random).to(self.dtype).eval()
        inputs = {name: draw(random) for name, draw in self.draws.items()}
        inputs = {name: x.to(self.dtype) if x.is_floating_point() else x for name, x in inputs.items()}
        save_file(inputs, self.path("inputs"))
        files = 0
        for tensors in files_of(module, self.path("weights")):
            subprocess.run([self.program, self.folder, self.name, str(self.dtype).removeprefix("torch.")], check=True)
            self.compare("outputs", module, inputs)
            again, state = load_file(self.path("again")), module.state_dict()
            if len(again) != tensors or any(name not in state or not torch.equal(again[name], state[name]) for name in again):
                self.faults.append("the loaded numbers were not written again as they were")
            returned = self.make().to(self.dtype).eval()
            load_model(returned, self.path("back"), strict=True)
            self.compare("outputs_back", returned, inputs)
            if not self.compute(returned, inputs).ne(self.compute(module, inputs)).any():
                self.faults.append("the numbers that came back were the old ones")
            files += 1
        print(f"{'FAIL' if self.faults else 'ok  '} {self.name} {str(self.dtype).removeprefix('torch.')}: "
              f"{files} file{'s' if files > 1 else ''} there and back, outputs within {self.worst:.1e}", flush=True)
        for fault in self.faults:
            print(f"     {fault}")
        return not self.faults


def main():
    trips = 0
    with tempfile.TemporaryDirectory() as folder:
        failed = []
        for name in CASES:
            for dtype in ALLOWED:
                trips += 1
                if not Trip(sys.argv[1], folder, name, dtype).run():
                    failed.append(name)
    if failed:
        sys.exit(f"roundtrip: failed: {', '.join(failed)}")
    print(f"roundtrip: {trips} modules loaded by name and back")


if __name__ == "__main__":
    main()
