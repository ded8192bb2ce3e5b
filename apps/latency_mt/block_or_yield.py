#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures latency_mt with one thread and with several, with one fiber for each thread and with several, where fibers block
in Thence or test and yield, and draws one panel for each case, as figure 6 of Schuchart et al. 2020. The lines of several
programs are in one figure. Needs matplotlib."""
import argparse
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "common"), os.path.join(HERE, "..", "..", "scripts")]
import runs  # noqa: E402
from figures import fail, figures, load, save  # noqa: E402

FORM = {"variant": str, "contents": str, "latencies": [{"bytes": int, "latency_us": float}]}


def variants_of(program):
    """The variants with worker threads that this program has: those that block, and those that yield."""
    try:
        text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        fail(f"{program}: {error}")
    found = [v for v in ("fibers", "fibers-yield", "argobots", "argobots-yield") if f"\n  {v} " in text]
    if not found:
        fail(f"{program} has neither fibers nor ULTs: build it with Boost.Fiber (Debian: libboost-fiber-dev)")
    return found


def programs_of(programs):
    """The program of each variant: the first that has it."""
    found = {}
    for program in programs:
        for variant in variants_of(program):
            found.setdefault(variant, program)
    return found


def run(options, program, variant, threads, in_flight, file):
    build = os.path.dirname(os.path.dirname(os.path.abspath(program)))
    launch = options.launch.split() if options.launch else [runs.launcher(build), "-n", "2"]
    command = launch + [program, "--variant", variant, "--threads", str(threads), "--in-flight", str(in_flight),
                        "--rounds", str(options.rounds), "--largest", str(options.largest), "--progress", "never", "--json", file]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=runs.environment())
    if result.returncode != 0:
        fail(f"{' '.join(command)}: exit status {result.returncode}\n{result.stderr}")
    return [(row["bytes"], row["latency_us"]) for row in load(file, "latency_mt --json", FORM)["latencies"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="+", metavar="PROGRAM", help="latency_mt, latency_mt_argobots, or both")
    parser.add_argument("-t", "--threads", type=int, default=2, help="threads of a rank where there are several [2]")
    parser.add_argument("-f", "--fibers", type=int, default=8, help="fibers for each thread where there are several [8]")
    parser.add_argument("-r", "--rounds", type=int, default=1000, help="round trips of each message [1000]")
    parser.add_argument("--largest", type=int, default=1 << 20, help="bytes of the largest message [1048576]")
    parser.add_argument("--launch", help="what starts two ranks, for example 'srun -n 2' [the launcher of the build, or MPIEXEC, -n 2]")
    parser.add_argument("-o", "--output", default="block_or_yield.png", help="picture to write [block_or_yield.png]")
    options = parser.parse_args()
    if options.threads < 2 or options.fibers < 2:
        parser.error("--threads and --fibers are 2 or more")
    variants = programs_of(options.programs)
    cases = [(1, 1), (options.threads, 1), (1, options.fibers), (options.threads, options.fibers)]
    _, pyplot = figures()
    figure, panels = pyplot.subplots(2, 2, figsize=(10, 7), sharex=True)
    done, total = 0, len(cases) * len(variants)
    print(f"{'threads':>7} {'fibers':>7}  {'variant':<15} {'1 B us':>9} {options.largest:>9} B us")
    with tempfile.TemporaryDirectory() as folder:
        for panel, (threads, fibers) in zip(panels.flat, cases):
            for variant, program in variants.items():
                done += 1
                if sys.stderr.isatty():
                    print(f"[{done}/{total}] {variant}, {threads} x {fibers}", end="\r", file=sys.stderr)
                points = run(options, program, variant, threads, threads * fibers, os.path.join(folder, "run.json"))
                panel.plot(*zip(*points), marker="o", markersize=4, label=variant)
                print(f"{threads:>7} {threads * fibers:>7}  {variant:<15} {points[0][1]:9.3f} {points[-1][1]:12.3f}", flush=True)
            panel.set_xscale("log", base=2)
            panel.set_yscale("log")
            panel.grid(True, alpha=0.3)
            panel.set_title(f"{threads} thread{'s' * (threads > 1)}, {threads * fibers} fiber{'s' * (threads * fibers > 1)}")
            panel.legend()
    for panel in panels[1]:
        panel.set_xlabel("bytes of a message")
    for panel in panels[:, 0]:
        panel.set_ylabel("latency in microseconds")
    figure.suptitle("Half a round trip between two ranks; lower is better")
    figure.tight_layout()
    save(figure, options.output)


if __name__ == "__main__":
    main()
