"""A run of examples/translate in PyTorch: the script of docs/translation.md loads its weights and gives the library's logits.

    ./dev golden --translate

The script is the page's block of Python as it stands there, of at most 30 lines. Runs of a second differ in all that it reads from their config:
norms before or behind, positions, tables that are shared. Logits agree within 1e-5 of the largest.
"""
import os
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from io import StringIO

from safetensors.torch import load_file

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/translation.md")
ALLOWED = 1e-5
SHORT = "--quiet --pairs 200 --vocabulary 500 --width 16 --heads 2 --ffn 32 --tokens 400 --warmup 5 --updates 20".split()
RUNS = {
    "default": [],
    "one vocabulary, all shared": "--share all --separate false".split(),
    "none shared, learned positions, norms behind": "--share none --positions learned --norm-first false".split(),
    "head shared, more layers": "--separate false --encoder-layers 1 --decoder-layers 3 --average 2".split(),
}


def script():
    with open(PAGE, encoding="utf-8") as page:
        blocks = page.read().split("```python\n")
    if len(blocks) != 2:
        sys.exit(f"docs/translation.md has {len(blocks) - 1} blocks of Python; this test knows one")
    block = blocks[1].split("```")[0]
    if len(block.splitlines()) > 30:
        sys.exit(f"the script of docs/translation.md has {len(block.splitlines())} lines; it promises 30")
    return compile(block, "docs/translation.md", "exec")


def logits_of(code, folder, source, target):
    names, given = {"__name__": "__main__"}, sys.argv
    sys.argv = ["logits.py", folder, source, target]
    try:
        with redirect_stdout(StringIO()):
            exec(code, names)
    finally:
        sys.argv = given
    return names["logits"]


def main():
    program, translate = sys.argv[1:3]
    code, failed = script(), []
    with tempfile.TemporaryDirectory() as scratch:
        for name, options in RUNS.items():
            folder, out = os.path.join(scratch, name.replace(" ", "-")), os.path.join(scratch, "logits.safetensors")
            subprocess.run([translate, "train", *SHORT, *options, "--out", folder], check=True, stdout=subprocess.DEVNULL)
            printed = subprocess.run([program, folder, "best.safetensors", out], check=True, capture_output=True, text=True).stdout
            source, target = printed.split()
            ours, theirs = load_file(out)["logits"], logits_of(code, folder, source, target)
            error = (ours - theirs).abs().max().item() / theirs.abs().max().item() if ours.shape == theirs.shape else float("inf")
            print(f"{'ok  ' if error <= ALLOWED else 'FAIL'} {name}: logits {list(ours.shape)} within {error:.1e}", flush=True)
            if not error <= ALLOWED:
                failed.append(name)
    if failed:
        sys.exit(f"translate: failed: {', '.join(failed)}")
    print(f"translate: {len(RUNS)} runs give the same logits in PyTorch")


if __name__ == "__main__":
    main()
