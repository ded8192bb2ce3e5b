#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tables and figures from the files that bt_mz and scripts/scaling.py write. `table` needs only Python, the figures need matplotlib."""
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "common"))
from figures import Commands, fail, figures, load, save
import timeline

ORDER = ["serial", "mpi", "waitsome", "callbacks", "forkjoin", "omp-tasks", "tampi-blocking", "tampi-iwait", "dataflow"]
PARTS = [("compute", "compute"), ("mpi", "MPI"), ("idle", "idle")]


# What of a file of bt_mz --json is used. A simulated run has no shares of time, and of its zones only their number.
FORM = {"variant": str, "class": str, "ranks": int, "threads": int, "steps": int, "time_s": float, "mop_per_s": float,
        "share_of_thread_time": {"compute": float, "mpi": float, "idle": float},
        "zones": [{"column": int, "row": int, "cells": [int], "rank": int, "compute_s": float}],
        "verification": {"verdict": str, "text": str}}
# The same of a file of scripts/scaling.py --json.
SWEEP = {"program": str, "arguments": list, "mpi": str, "available": int, "rounds": int,
         "points": [{"variant": str, "ranks": int, "threads": int, "times_s": [float]}]}


def load_run(file):
    return load(file, "bt_mz --json", FORM)


def place(variant):
    return ORDER.index(variant) if variant in ORDER else len(ORDER)


def position(run):
    return (run["class"], run["steps"], run["ranks"], run["threads"], place(run["variant"]))


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


def by_shape(points):
    """The times of each shape, (ranks, threads), and in it of each variant: few cores first, then many ranks, then as in ORDER. A
    sweep names a variant NAME:THREADS, and has a shape twice if there are fewer cores than threads."""
    shapes = {}
    for point in sorted(points, key=lambda p: (p["ranks"] * p["threads"], p["threads"], place(p["variant"].partition(":")[0]))):
        variants = shapes.setdefault((point["ranks"], point["threads"]), {})
        variants.setdefault(point["variant"].partition(":")[0], []).extend(point["times_s"])
    return shapes


def command_shapes(args):
    """A group of bars for each shape of the sweep, a bar for each variant: the median of its rounds, and a line for their range."""
    if len(args.files) != 1:
        fail("shapes draws one sweep")
    sweep = load(args.files[0], "scripts/scaling.py --json", SWEEP)
    if sweep["program"] != "bt_mz":
        fail(f"{args.files[0]} is a sweep of {sweep['program']}, not of bt_mz")
    shapes = by_shape(sweep["points"])
    matplotlib, pyplot = figures()
    names = sorted({name for variants in shapes.values() for name in variants}, key=place)
    palette = matplotlib.colormaps["tab10"]
    colours = {name: palette(number % palette.N) for number, name in enumerate(names)}
    count = sum(len(variants) for variants in shapes.values())
    figure, axes = pyplot.subplots(figsize=(max(7, 1.5 + 0.62 * (count + len(shapes))), 4.6), constrained_layout=True)
    left, middles, bars = 0, [], {}
    for variants in shapes.values():
        for x, (name, times) in enumerate(variants.items(), left):
            median = statistics.median(times)
            bars[name] = axes.bar(x, median, 0.86, color=colours[name])
            axes.plot([x, x], [min(times), max(times)], color="#333333", lw=1.3)
            axes.annotate(f"{median:.3g}", (x, max(times)), xytext=(0, 3), textcoords="offset points", ha="center", fontsize=8.5)
        middles.append(left + (len(variants) - 1) / 2)
        left += len(variants) + 1
    axes.set_xticks(middles, [f"{ranks} rank{'s' if ranks > 1 else ''} x {threads} thread{'s' if threads > 1 else ''}" for ranks, threads in shapes])
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel("time, s")
    axes.set_title(f"bt_mz {' '.join(map(str, sweep['arguments']))}: {sweep['available']} processors, {sweep['mpi']}; median and range of "
                   f"{sweep['rounds']} rounds", fontsize=10)
    axes.legend([bars[name] for name in names], names, loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=min(len(names), 8), fontsize=9)
    save(figure, args.output)


def main():
    commands = Commands("bt_mz", __doc__)
    table = commands.add("table", command_table, "one table of several runs", "One table of several runs (bt_mz --json).")
    table.add_argument("--check", action="store_true", help="exit with 3 if a run was not verified")
    commands.add("zones", command_zones, "the zones and their cost", "The zones of a run, who has them and what they cost (bt_mz --json).",
                 "zones.png")
    commands.add("shapes", command_shapes, "the time of each variant by ranks x threads",
                 "The time of each variant in each shape, ranks x threads (scripts/scaling.py --json).", "shapes.png")
    timeline.add_to(commands, "three steps")
    commands.run()


if __name__ == "__main__":
    main()
