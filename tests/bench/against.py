"""Times cases of `bench` against PyTorch, run after run in turn, and prints theirs over ours.

    python against.py BENCH [CASE…] [--threads N] [--rounds R] [--seconds S] [--json FILE]

The peer is the better of eager and compiled PyTorch, by its median. Both sides have every thread variable pinned. Ratios above 1 mean that
Tapeform is faster. The machine's own rate (a square product of 2048, timed in the same run) stands beside.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

arguments = argparse.ArgumentParser()
arguments.add_argument("bench")
arguments.add_argument("case", nargs="*")
arguments.add_argument("--threads", type=int, default=os.cpu_count())
arguments.add_argument("--rounds", type=int, default=3)
arguments.add_argument("--seconds", type=float, default=2.0)
arguments.add_argument("--json")
options = arguments.parse_args()

environment = dict(os.environ, TAPEFORM_THREADS=str(options.threads))
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    environment[variable] = str(options.threads)
peer = [sys.executable, "-B", str(pathlib.Path(__file__).with_name("torch_peer.py"))]
has_torch = subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode == 0
if not has_torch:
    print("bench: this Python has no torch, so these are our own times alone (TAPEFORM_PYTHON names another Python)", file=sys.stderr)


def run(command, case, threads):
    done = subprocess.run([*command, case, "--threads", str(threads), "--seconds", str(options.seconds)], env=environment, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if done.returncode == 0 and lines else None


def compare(case):
    threads = 1 if case == "tiny_mlp" else options.threads
    sides = {"tapeform": [options.bench]}
    if has_torch:
        sides["torch"] = peer
        sides["torch compiled"] = [*peer, "--compile"]
    runs = {side: [] for side in sides}
    for _ in range(options.rounds):
        for side in list(sides):
            result = run(sides[side], case, threads)
            if result:
                runs[side].append(result)
            elif side == "torch compiled":  # a case that torch.compile cannot take: eager is the peer
                del sides[side]
    ours, others = runs.pop("tapeform"), {side: results for side, results in runs.items() if results}
    row = {"case": case, "threads": threads, "ours_ms": statistics.median(r["median_ms"] for r in ours), "gflops": max(r["gflops"] for r in ours),
           "share_of_peak": statistics.median(r["share_of_peak"] for r in ours), "peak_rss_mb": max(r["peak_rss_mb"] for r in ours)}
    if others:
        medians = {side: statistics.median(r["median_ms"] for r in results) for side, results in others.items()}
        best = min(medians, key=medians.get)
        row |= {"peer": best, "theirs_ms": medians[best], "ratio_of_medians": round(medians[best] / row["ours_ms"], 3),
                "ratio_of_minima": round(min(r["min_ms"] for r in others[best]) / min(r["min_ms"] for r in ours), 3),
                "theirs_rss_mb": max(r["peak_rss_mb"] for r in others[best])}
    return row


names = [line.split()[0] for line in subprocess.run([options.bench, "--list"], capture_output=True, text=True, check=True).stdout.splitlines()]
unknown = [case for case in options.case if case not in names]
if unknown:
    sys.exit(f"bench: there is no case '{unknown[0]}'; there are: {' '.join(names)}")
rows = []
for name in options.case or [name for name in names if name != "peak"]:
    rows.append(compare(name))
    print(json.dumps(rows[-1]), flush=True)
if options.json:
    pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
