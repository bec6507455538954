"""Parity in training: the configuration of examples/char_lm in PyTorch and in the library, from the same weights on the same windows of a text.

    ./dev golden --parity [--text FILE] [--updates N] [--skip-variants]

The first 100 losses agree within 2e-5 in float32 and 1e-9 in float64, the loss on held-out text after all updates within 1e-3. Then four
runs that are wrong in one place each must not agree.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

import torch
from safetensors.torch import load_file, save_file

from parity_cases import Recipe, train, validation

HERE = os.path.dirname(os.path.abspath(__file__))
ALLOWED = {"float32": 2e-5, "float64": 1e-9}
ALLOWED_VALIDATION = 1e-3
FIRST = 100
FIRST_OF_VARIANTS = 30
VARIANTS = ("tanh", "adam_eps", "norm_eps", "no_decay")


def options():
    parser = argparse.ArgumentParser(prog="./dev golden --parity", description=__doc__.splitlines()[0])
    parser.add_argument("program", help=argparse.SUPPRESS)
    parser.add_argument("--text", default=os.path.join(HERE, "../../examples/char_lm/text.txt"), help="UTF-8 text to learn")
    parser.add_argument("--updates", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--skip-variants", action="store_true")
    return parser.parse_args()


def windows_of(ids, recipe, seed):
    """Those of every update, anywhere in the first nine tenths, and all of the last tenth that do not overlap."""
    t, learned = recipe.context, len(ids) - len(ids) // 10
    random = torch.Generator().manual_seed(seed)
    starts = torch.randint(learned - t, (recipe.updates, recipe.batch), generator=random)
    windows = ids[starts[..., None] + torch.arange(t + 1)]
    valid = torch.stack([ids[s:s + t + 1] for s in range(learned, len(ids) - t, t)])
    return windows, valid


def first_model(recipe, seed):
    torch.manual_seed(seed)
    model = recipe.model().float()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2:
                parameter.normal_(0, recipe.deviation(name))
    return model


def ours(options, folder, dtype, updates, variant=""):
    result = os.path.join(folder, f"ours.{dtype}.{variant}.safetensors")
    subprocess.run([options.program, folder, dtype, str(updates), result, *([variant] if variant else [])], check=True)
    return load_file(result)


def gap(a, b):
    n = min(len(a), len(b))
    difference = (torch.as_tensor(a[:n], dtype=torch.float64) - torch.as_tensor(b[:n], dtype=torch.float64)).abs().max().item()
    return float("inf") if difference != difference else difference


def watch(total):
    start = time.monotonic()

    def progress(done, loss):
        if done % max(1, total // 10) == 0:
            print(f"  torch: update {done} of {total}, loss {loss:.4f}, {time.monotonic() - start:.0f} s", flush=True)

    return progress


def main():
    asked = options()
    with open(asked.text, encoding="utf-8") as file:
        text = file.read()
    alphabet = sorted(set(text))
    place = {character: i for i, character in enumerate(alphabet)}
    ids = torch.tensor([place[character] for character in text])
    recipe = Recipe(vocabulary=len(alphabet), layers=4, heads=4, width=128, context=64, batch=12, updates=asked.updates,
                    warmup=min(100, asked.updates))
    windows, valid = windows_of(ids, recipe, asked.seed)
    failures = []

    def judge(what, value, limit, must_hold=True):
        good = (value <= limit) == must_hold
        print(f"{'ok  ' if good else 'FAIL'} {what}: {value:.2e}, {'allowed' if must_hold else 'must be over'} {limit:.0e}", flush=True)
        if not good:
            failures.append(what)

    with tempfile.TemporaryDirectory() as folder:
        sizes = {name: torch.tensor(float(getattr(recipe, name)), dtype=torch.float64)
                 for name in ("vocabulary", "layers", "heads", "width", "context", "updates", "warmup")}
        save_file({"windows": windows.contiguous(), "valid": valid, **sizes}, os.path.join(folder, "run.safetensors"))
        start = first_model(recipe, asked.seed).state_dict()
        theirs, first = {}, min(FIRST, asked.updates)
        for dtype in ("float64", "float32"):
            weights = {name: value.to(getattr(torch, dtype)) for name, value in start.items()}
            save_file(weights, os.path.join(folder, f"weights.{dtype}.safetensors"))
            model = recipe.model().to(getattr(torch, dtype))
            model.load_state_dict(weights)
            updates = asked.updates if dtype == "float32" else first
            theirs[dtype] = train(recipe, model, windows[:updates], watch(updates))
            result = ours(asked, folder, dtype, updates)
            judge(f"{dtype}: first {first} losses", gap(theirs[dtype][:first], result["losses"]), ALLOWED[dtype])
            if dtype == "float32":
                loss = validation(model, valid)
                print(f"     held-out loss after {updates} updates: torch {loss:.5f}, ours {result['validation'].item():.5f}; "
                      f"all losses within {gap(theirs[dtype], result['losses']):.1e}")
                judge(f"{dtype}: held-out loss", abs(loss - result["validation"].item()), ALLOWED_VALIDATION)
        for variant in () if asked.skip_variants else VARIANTS:  # by float64: some lie within what float32 is allowed
            losses = ours(asked, folder, "float64", min(FIRST_OF_VARIANTS, first), variant)["losses"]
            judge(f"float64: {variant} is found out", gap(theirs["float64"], losses), ALLOWED["float64"], must_hold=False)
    if failures:
        sys.exit(f"parity: {len(failures)} checks failed")


if __name__ == "__main__":
    main()
