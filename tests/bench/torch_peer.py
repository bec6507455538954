"""The steps of `bench` written with PyTorch, timed in the same way: one JSON line for each case.

    python torch_peer.py CASE… [--threads N] [--compile] [--seconds S]

Sizes, masks and optimizers are those of cases.cpp; so is the count of FLOPs.
"""
import argparse
import json
import os
import resource
import time

arguments = argparse.ArgumentParser()
arguments.add_argument("case", nargs="+")
arguments.add_argument("--threads", type=int, default=2)
arguments.add_argument("--compile", action="store_true")
arguments.add_argument("--seconds", type=float, default=3.0)
options = arguments.parse_args()
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = str(options.threads)

import torch  # noqa: E402  (reads the variables above)
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

torch.set_num_threads(options.threads)


def training(model, loss_of, optimizer, clip=None):
    """One update: loss, backward, clip when asked, step."""
    run = torch.compile(loss_of) if options.compile else loss_of

    def step():
        loss = run()
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    return step


class CausalBlock(nn.Module):
    def __init__(self, width, heads, bias):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width, bias=bias), nn.LayerNorm(width, bias=bias)
        self.in_proj, self.out_proj = nn.Linear(width, 3 * width, bias=bias), nn.Linear(width, width, bias=bias)
        self.linear1, self.linear2 = nn.Linear(width, 4 * width, bias=bias), nn.Linear(4 * width, width, bias=bias)

    def forward(self, x):
        batch, time_, width = x.shape
        q, k, v = (part.view(batch, time_, self.heads, -1).transpose(1, 2) for part in self.in_proj(self.norm1(x)).chunk(3, -1))
        context = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, time_, width)
        x = x + self.out_proj(context)
        return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))


class LanguageModel(nn.Module):
    def __init__(self, vocabulary, time_, layers, heads, width, bias):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocabulary, width), nn.Embedding(time_, width)
        self.layers = nn.Sequential(*(CausalBlock(width, heads, bias) for _ in range(layers)))
        self.norm = nn.LayerNorm(width, bias=bias)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, 0, 0.02)

    def forward(self, ids, targets):
        h = self.norm(self.layers(self.tok(ids) + self.pos.weight[: ids.shape[1]]))
        return F.cross_entropy((h @ self.tok.weight.T).flatten(0, 1), targets.flatten())


def gpt(vocabulary, time_, layers, heads, width, batch, bias):
    model = LanguageModel(vocabulary, time_, layers, heads, width, bias)
    ids, targets = torch.randint(vocabulary, (2, batch, time_))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1)
    weights = sum(parameter.numel() for parameter in model.parameters()) - time_ * width
    flop = batch * time_ * (6 * weights + 12 * layers * width * time_)
    return training(model, lambda: model(ids, targets), optimizer, clip=1.0), flop


class Translator(nn.Module):
    def __init__(self, vocabulary, width, heads, layers, hidden, dropout, time_):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width, padding_idx=0)
        nn.init.normal_(self.embed.weight, 0, width**-0.5)
        self.transformer = nn.Transformer(width, heads, layers, layers, hidden, dropout, batch_first=True)
        self.register_buffer("table", torch.randn(512, width) * 0.02)
        self.register_buffer("future", torch.ones(time_, time_, dtype=torch.bool).triu(1))
        self.scale = width**0.5

    def forward(self, src, tgt, labels):
        embedded = [self.embed(ids) * self.scale + self.table[: ids.shape[1]] for ids in (src, tgt)]
        hidden_src = src == 0
        h = self.transformer(*embedded, tgt_mask=self.future, tgt_is_causal=True, src_key_padding_mask=hidden_src,
                             tgt_key_padding_mask=tgt == 0, memory_key_padding_mask=hidden_src)
        return F.cross_entropy((h @ self.embed.weight.T).flatten(0, 1), labels.flatten(), ignore_index=0, label_smoothing=0.1)


def padded(vocabulary, batch, time_, lens):
    ids = torch.randint(1, vocabulary, (batch, time_))
    ids[torch.arange(time_)[None] >= lens[:, None]] = 0
    return ids


def translation(vocabulary, width, heads, layers, hidden, batch, time_, dropout=0.1):
    model = Translator(vocabulary, width, heads, layers, hidden, dropout, time_)
    lens = torch.randint(time_ // 2, time_ + 1, (2, batch))
    lens[:, 0] = time_
    src, tgt, labels = (padded(vocabulary, batch, time_, lens[i]) for i in (0, 1, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98))
    (rows_s, rows_t), (s, t) = lens.sum(1).tolist(), lens.double()
    flop = 6 * layers * (rows_s * (4 * width**2 + 2 * width * hidden) + rows_t * (6 * width**2 + 2 * width * hidden) + rows_s * 2 * width**2)
    flop += 12 * layers * width * ((s * s).sum() + (t * t / 2 + t * s).sum()).item() + 6 * rows_t * width * vocabulary
    return training(model, lambda: model(src, tgt, labels), optimizer, clip=1.0), flop


def mlp(widths, batch, optimizer_type):
    layers = [layer for a, b in zip(widths, widths[1:]) for layer in (nn.Linear(a, b), nn.ReLU())]
    model = nn.Sequential(*layers[:-1])
    x, labels = torch.randn(batch, widths[0]), torch.randint(widths[-1], (batch,))
    optimizer = optimizer_type(model.parameters(), lr=1e-3)
    flop = 6 * batch * sum(a * b for a, b in zip(widths, widths[1:]))
    return training(model, lambda: F.cross_entropy(model(x), labels), optimizer), flop


def forward_and_backward(model, x, call):
    run = torch.compile(call) if options.compile else call

    def step():
        model.zero_grad(set_to_none=True)
        x.grad = None
        run(x).sum().backward()
        return 0.0

    return step


def block():
    model = nn.TransformerEncoderLayer(512, 8, 2048, 0.0, batch_first=True)
    flop = 8 * 128 * (6 * (4 * 512**2 + 2 * 512 * 2048) + 12 * 512 * 128)
    return forward_and_backward(model, torch.randn(8, 128, 512, requires_grad=True), model), flop


def long_attention(time_, weights=False):
    model = nn.MultiheadAttention(256, 8, batch_first=True)
    future = nn.Transformer.generate_square_subsequent_mask(time_)
    call = lambda x: model(x, x, x, need_weights=weights, attn_mask=future, is_causal=not weights)[0]  # noqa: E731
    return forward_and_backward(model, torch.randn(1, time_, 256, requires_grad=True), call), time_ * (6 * 4 * 256**2 + 6 * 256 * time_)


class Decoding(nn.Module):
    """Greedy and beam search on a Translator's weights, with keys and values kept: of the memory once, of what went by in one buffer a layer."""

    def __init__(self, vocabulary, width, heads, layers, hidden, time_):
        super().__init__()
        self.model, self.heads, self.time = Translator(vocabulary, width, heads, layers, hidden, 0.0, time_).eval(), heads, time_

    def split(self, x, parts):
        return [part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in x.chunk(parts, -1)]

    def joined(self, context, projection):
        return projection(context.transpose(1, 2).flatten(2))

    def step(self, layer, x, kept, memory, t):
        attention, cross, width = layer.self_attn, layer.multihead_attn, x.shape[-1]
        q, k, v = self.split(F.linear(x, attention.in_proj_weight, attention.in_proj_bias), 3)
        kept[0][:, :, t : t + 1], kept[1][:, :, t : t + 1] = k, v
        context = F.scaled_dot_product_attention(q, kept[0][:, :, : t + 1], kept[1][:, :, : t + 1])
        x = layer.norm1(x + self.joined(context, attention.out_proj))
        (q,) = self.split(F.linear(x, cross.in_proj_weight[:width], cross.in_proj_bias[:width]), 1)
        x = layer.norm2(x + self.joined(F.scaled_dot_product_attention(q, *memory), cross.out_proj))
        return layer.norm3(x + layer.linear2(F.relu(layer.linear1(x))))

    @torch.inference_mode()
    def forward(self, src, beam):
        model, batch, rows = self.model, src.shape[0], src.shape[0] * beam
        decoder, width = model.transformer.decoder, model.embed.embedding_dim
        memory = model.transformer.encoder(model.embed(src) * model.scale + model.table[: src.shape[1]])
        memory = memory.repeat_interleave(beam, 0)
        cross = [self.split(F.linear(memory, layer.multihead_attn.in_proj_weight[width:], layer.multihead_attn.in_proj_bias[width:]), 2)
                 for layer in decoder.layers]
        kept = [[torch.empty(rows, self.heads, self.time, width // self.heads) for _ in range(2)] for _ in decoder.layers]
        ids, made = torch.ones(rows, 1, dtype=torch.long), []
        scores = torch.full((batch, beam), float("-inf"))
        scores[:, 0] = 0
        for t in range(self.time):
            x = model.embed(ids) * model.scale + model.table[t]
            for layer, own, memory in zip(decoder.layers, kept, cross):
                x = self.step(layer, x, own, memory, t)
            logits = (decoder.norm(x) @ model.embed.weight.T)[:, 0]
            if beam == 1:
                ids = logits.argmax(-1, keepdim=True)
            else:
                both = scores.flatten()[:, None] + logits.log_softmax(-1)
                scores, best = both.view(batch, -1).topk(beam)
                origin = (best // logits.shape[-1] + torch.arange(batch)[:, None] * beam).flatten()
                ids = (best % logits.shape[-1]).view(-1, 1)
                made = [past[origin] for past in made]
                kept = [[part[origin] for part in own] for own in kept]
            made.append(ids)
        return torch.cat(made, 1)


def decode(beam):
    if options.compile:
        raise SystemExit("torch_peer: decoding is eager")
    sentences, time_, layers, width, hidden, vocabulary = 1000, 14, 3, 256, 1024, 8000
    model = Decoding(vocabulary, width, 8, layers, hidden, time_)
    src = torch.randint(1, vocabulary, (sentences, time_))
    rows, decoded = sentences * time_, sentences * (1 + (time_ - 1) * beam)
    square, feed = width * width, 2 * width * hidden
    flop = 2 * layers * (rows * (4 * square + feed) + rows * 2 * square + decoded * (6 * square + feed)) + 2 * decoded * width * vocabulary
    return lambda: model(src, beam)[0, 0].item() * 0, flop


def peak():
    a, b = torch.randn(2, 2048, 2048)
    return lambda: (a @ b)[0, 0].item() * 0, 2 * 2048**3


CASES = {
    "gpt_char": lambda: gpt(65, 64, 4, 4, 128, 12, False),
    "gpt2_124m": lambda: gpt(50257, 64, 12, 12, 768, 4, True),
    "mt_d256": lambda: translation(8000, 256, 8, 3, 1024, 96, 24),
    "mt_tiny": lambda: translation(9716, 128, 4, 4, 256, 128, 32, 0.3),
    "copy": lambda: translation(11, 64, 4, 2, 256, 80, 10, 0.0),
    "block_d512": block,
    "attention_long": lambda: long_attention(4096),
    "attention_16k": lambda: long_attention(16384),
    "attention_weights": lambda: long_attention(1024, True),
    "tiny_mlp": lambda: mlp((16, 32, 4), 8, torch.optim.Adam),
    "mnist_mlp": lambda: mlp((784, 512, 512, 10), 128, torch.optim.AdamW),
    "decode": lambda: decode(1),
    "decode_beam": lambda: decode(4),
    "peak": peak,
}


def measure(name):
    torch.manual_seed(0)
    step, flop = CASES[name]()
    begin = time.perf_counter()
    step()
    first = time.perf_counter() - begin
    for _ in range(2):
        step()
    times, start = [], time.perf_counter()
    while time.perf_counter() - start < options.seconds or len(times) < 3:
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    times.sort()
    median = times[len(times) // 2]
    return {"case": name, "peer": "torch compiled" if options.compile else "torch", "threads": options.threads, "n": len(times),
            "first_s": round(first, 3), "min_ms": round(1e3 * times[0], 4), "median_ms": round(1e3 * median, 4),
            "gflops": round(flop / median / 1e9, 1), "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}


for case in options.case:
    print(json.dumps(measure(case)), flush=True)
