#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tables and figures from the files that bt_mz writes. `table` needs only Python, the figures need matplotlib."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "common"))
from figures import Commands, fail, figures, load, save
import timeline

ORDER = ["serial", "mpi", "waitsome", "callbacks", "forkjoin", "omp-tasks", "dataflow"]
PARTS = [("compute", "compute"), ("mpi", "MPI"), ("idle", "idle")]


# What of a file of bt_mz --json is used. A simulated run has no shares of time, and of its zones only their number.
FORM = {"variant": str, "class": str, "ranks": int, "threads": int, "steps": int, "time_s": float, "mop_per_s": float,
        "share_of_thread_time": {"compute": float, "mpi": float, "idle": float},
        "zones": [{"column": int, "row": int, "cells": [int], "rank": int, "compute_s": float}],
        "verification": {"verdict": str, "text": str}}


def load_run(file):
    return load(file, "bt_mz --json", FORM)


def position(run):
    known = ORDER.index(run["variant"]) if run["variant"] in ORDER else len(ORDER)
    return (run["class"], run["steps"], run["ranks"], run["threads"], known)


def command_table(args):
    runs = sorted((load_run(f) for f in args.files), key=position)
    # Of the same class, steps, ranks and threads: the shortest time of fork-join.
    base = {}
    for run in runs:
        if run["variant"] == "forkjoin":
            key = position(run)[:4]
            base[key] = min(base.get(key, float("inf")), run["time_s"])
    print("{:<5} {:>15} {:<10} {:>8} {:>9} {:>12} {:>10} {:>6} {:>7}  {}".format(
        "class", "ranks x threads", "variant", "time s", "Mop/s", "vs fork-join", "compute %", "MPI %", "idle %", "result"))
    for run in runs:
        key = position(run)[:4]
        ratio = f"{base[key] / run['time_s']:.2f}" if key in base else "-"
        shares = [100 * run["share_of_thread_time"][k] for k, _ in PARTS]
        print("{:<5} {:>15} {:<10} {:>8.3f} {:>9.1f} {:>12} {:>10.1f} {:>6.1f} {:>7.1f}  {}".format(
            run["class"], f"{run['ranks']} x {run['threads']}", run["variant"], run["time_s"], run["mop_per_s"], ratio, *shares,
            run["verification"]["verdict"]))
    wrong = [r for r in runs if r["verification"]["verdict"] != "verified"]
    if args.check and wrong:
        for run in wrong:
            print(f"plot.py: {run['variant']}, class {run['class']}: {run['verification']['text']}", file=sys.stderr)
        sys.exit(3)


def command_zones(args):
    """The zones of the first file on the left, coloured by their rank; on the right the time of every zone, a bar per rank."""
    if len(args.files) != 1:
        fail("zones draws one run")
    run = load_run(args.files[0])
    matplotlib, pyplot = figures()
    zones = run["zones"]
    colours = matplotlib.colormaps["tab20" if run["ranks"] > 10 else "tab10"]
    figure, (plan, bars) = pyplot.subplots(1, 2, figsize=(12, 5), constrained_layout=True, gridspec_kw={"width_ratios": [1.15, 1]})
    widths = {z["column"]: z["cells"][0] for z in zones}
    heights = {z["row"]: z["cells"][1] for z in zones}
    for zone in zones:
        x = sum(w for c, w in widths.items() if c < zone["column"])
        y = sum(h for r, h in heights.items() if r < zone["row"])
        nx, ny, nz = zone["cells"]
        plan.add_patch(pyplot.Rectangle((x, y), nx, ny, facecolor=colours(zone["rank"] % colours.N), edgecolor="white", lw=1.2))
        if min(nx / sum(widths.values()), ny / sum(heights.values())) > 0.06:
            plan.text(x + nx / 2, y + ny / 2, f"{nx} x {ny}", ha="center", va="center", fontsize=8, color="white")
    plan.set_xlim(0, sum(widths.values()))
    plan.set_ylim(0, sum(heights.values()))
    plan.set_aspect("equal")
    plan.set_xlabel("cells from west to east")
    plan.set_ylabel("cells from south to north")
    plan.set_title(f"class {run['class']}: {len(zones)} zones on {run['ranks']} rank" + ("s" if run["ranks"] > 1 else ""))
    for rank in range(run["ranks"]):
        left = 0.0
        for zone in sorted((z for z in zones if z["rank"] == rank), key=lambda z: -z["compute_s"]):
            bars.barh(rank, zone["compute_s"], left=left, color=colours(rank % colours.N), edgecolor="white", lw=0.8, height=0.7)
            left += zone["compute_s"]
    bars.axvline(run["time_s"] * run["threads"], color="#444444", lw=1.2, ls="--")
    bars.text(run["time_s"] * run["threads"], -0.72, "all the time there was ", ha="right", va="center", fontsize=9, color="#444444")
    bars.set_yticks(range(run["ranks"]), [f"rank {r}" for r in range(run["ranks"])])
    bars.set_ylim(run["ranks"] - 0.4, -1)
    bars.set_xlabel("seconds of computation, summed over the threads; one piece per zone")
    bars.set_title(f"{run['variant']}, {run['threads']} thread" + ("s" if run["threads"] > 1 else "") + " per rank")
    save(figure, args.output)


def main():
    commands = Commands("bt_mz", __doc__)
    table = commands.add("table", command_table, "one table of several runs", "One table of several runs (bt_mz --json).")
    table.add_argument("--check", action="store_true", help="exit with 3 if a run was not verified")
    commands.add("zones", command_zones, "the zones and their cost", "The zones of a run, who has them and what they cost (bt_mz --json).",
                 "zones.png")
    timeline.add_to(commands, "three steps")
    commands.run()


if __name__ == "__main__":
    main()
