#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tables and figures from the files that heat writes. `table` needs only Python, the figures need numpy and matplotlib."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "common"))
from figures import Commands, fail, figures, load, save
import timeline

ORDER = ["serial", "mpi", "forkjoin", "omp-tasks", "tbb", "tampi-blocking", "tampi-iwait", "dataflow", "tagaspi"]
COLOURS = {"serial": "#7f7f7f", "mpi": "#4c78a8", "forkjoin": "#e4a84c", "omp-tasks": "#3f9c6b", "tbb": "#b5638d",
           "tampi-blocking": "#9d7660", "tampi-iwait": "#72b7b2", "dataflow": "#d45f5f", "tagaspi": "#e377c2"}
PARTS = [("compute", "#3f7fbf", "compute"), ("mpi", "#d1495b", "inside MPI"), ("poll", "#edae49", "polling"), ("idle", "#d8d8d8", "idle")]


# What of a file of heat --json is used.
FORM = {"variant": str, "ranks": int, "threads": int, "config": str, "rows": int, "cols": int, "iterations": int, "block": int,
        "mpi": str, "time_s": float, "updates_per_s": float, "share_of_thread_time": {"compute": float, "mpi": float, "poll": float, "idle": float},
        "field": {"verdict": str, "text": str}}


def load_run(file):
    return load(file, "heat --json", FORM)


def position(run):
    """Sorts runs: by plate, variant, ranks, threads."""
    known = ORDER.index(run["variant"]) if run["variant"] in ORDER else len(ORDER)
    return (run["config"], known, run["ranks"], run["threads"])


def plate(run):
    return tuple(run[k] for k in ("config", "rows", "cols", "iterations"))


def best_times(runs):
    """The shortest time for each plate and variant, to which speed-ups refer."""
    best = {}
    for run in runs:
        key = (plate(run), run["variant"])
        best[key] = min(best.get(key, float("inf")), run["time_s"])
    return best


def speedup(run, variant, best):
    base = best.get((plate(run), variant))
    return None if base is None else base / run["time_s"]


def shape(run):
    return f"{run['ranks']} x {run['threads']}"


def verdict(run):
    """The verdict on the field. A serial run that was not compared is the reference of the others."""
    alone = run["variant"] == "serial" and run["field"]["verdict"] == "unchecked"
    return "reference" if alone else run["field"]["verdict"]


def print_table(runs):
    best = best_times(runs)
    head = ["variant", "ranks x threads", "time s", "Mupdates/s", "vs serial", "vs MPI", "compute %", "MPI %", "poll %", "idle %", "field"]
    seen = None
    for run in sorted(runs, key=position):
        if plate(run) != seen:
            seen = plate(run)
            print(f"\n{os.path.basename(run['config'])}: {run['rows']} x {run['cols']} cells, {run['iterations']} iterations, "
                  f"blocks of {run['block']}, {run['mpi']}")
            print("{:<10} {:>15} {:>8} {:>11} {:>10} {:>7} {:>10} {:>6} {:>7} {:>7}  {}".format(*head))
        ratios = [f"{r:.2f}" if (r := speedup(run, v, best)) else "-" for v in ("serial", "mpi")]
        shares = [f"{100 * run['share_of_thread_time'][key]:.1f}" for key, _, _ in PARTS]
        print("{:<10} {:>15} {:>8.3f} {:>11.1f} {:>10} {:>7} {:>10} {:>6} {:>7} {:>7}  {}".format(
            run["variant"], shape(run), run["time_s"], run["updates_per_s"] / 1e6, *ratios, *shares, verdict(run)))


def command_table(args):
    runs = [load_run(f) for f in args.files]
    print_table(runs)
    wrong = [r for r in runs if verdict(r) not in ("identical", "reference")]
    if args.check and wrong:
        for run in wrong:
            print(f"plot.py: {run['variant']} on {shape(run)}: {run['field']['text'] or 'the field was not compared'}", file=sys.stderr)
        sys.exit(3)


def command_field(args):
    _, pyplot = figures()
    import numpy
    names = args.files
    titles = args.titles.split(",") if args.titles else [os.path.basename(n) for n in names]
    if len(titles) != len(names):
        fail(f"{len(names)} fields but {len(titles)} titles")
    fields = []
    for name in names:
        try:
            fields.append(numpy.load(name))
        except (OSError, ValueError, EOFError) as error:
            fail(f"{name}: {error}")
        if not isinstance(fields[-1], numpy.ndarray) or fields[-1].ndim != 2 or fields[-1].dtype != numpy.float64:
            fail(f"{name} is no file of heat --field: it has no two-dimensional array of doubles")
    low, high = min(f.min() for f in fields), max(f.max() for f in fields)
    rows, cols = fields[0].shape
    height = 4.3
    width = height * cols / rows * len(fields) + 1.8
    figure, panels = pyplot.subplots(1, len(fields), figsize=(width, height + 0.6), squeeze=False, constrained_layout=True)
    for axes, field, title in zip(panels[0], fields, titles):
        image = axes.imshow(field, cmap="inferno", vmin=low, vmax=high, interpolation="bilinear")
        levels = numpy.linspace(low, high, 9)[1:-1]
        axes.contour(field, levels=levels, colors="white", linewidths=0.5, alpha=0.35)
        axes.set_title(title)
        axes.set_xlabel("column")
        axes.set_ylabel("row")
    figure.colorbar(image, ax=panels[0].tolist(), label="temperature", pad=0.015, aspect=28)
    save(figure, args.output)


def command_bars(args):
    runs = sorted((load_run(f) for f in args.files), key=position)
    _, pyplot = figures()
    best = best_times(runs)
    plates = sorted({plate(r) for r in runs})
    figure, panels = pyplot.subplots(len(plates), 2, figsize=(11.5, 0.6 + 0.42 * len(runs) + 1.0 * len(plates)), squeeze=False,
                                     constrained_layout=True, gridspec_kw={"height_ratios": [sum(plate(r) == p for r in runs) + 1.2 for p in plates]})
    for (speed, share), which in zip(panels, plates):
        mine = [r for r in runs if plate(r) == which]
        labels = [f"{r['variant']}  {shape(r)}" for r in mine]
        y = range(len(mine))
        speed.barh(y, [r["updates_per_s"] / 1e6 for r in mine], color=[COLOURS.get(r["variant"], "#444444") for r in mine], height=0.68)
        for i, run in enumerate(mine):
            ratio = speedup(run, "serial", best)
            text = f" {run['updates_per_s'] / 1e6:.0f}" + (f"  ({ratio:.2f}x)" if ratio else "")
            speed.text(run["updates_per_s"] / 1e6, i, text, va="center", fontsize=9)
        speed.set_yticks(list(y), labels)
        speed.invert_yaxis()
        speed.margins(x=0.24)
        speed.set_xlabel("million cell updates per second (in brackets: against serial)")
        speed.set_title(f"{os.path.basename(which[0])}: {which[1]} x {which[2]} cells, {which[3]} iterations")
        left = [0.0] * len(mine)
        for key, colour, label in PARTS:
            part = [100 * r["share_of_thread_time"][key] for r in mine]
            share.barh(y, part, left=left, color=colour, height=0.68, label=label)
            left = [a + b for a, b in zip(left, part)]
        share.set_yticks(list(y), [""] * len(mine))
        share.invert_yaxis()
        share.set_xlim(0, 100)
        share.set_xlabel("% of the time of all threads")
        share.set_title("where the time goes")
    figure.legend(*panels[0][1].get_legend_handles_labels(), loc="upper right", bbox_to_anchor=(0.99, 1.0), ncol=4, fontsize=9,
                  handlelength=1, columnspacing=1.2)
    figure.get_layout_engine().set(h_pad=0.08, rect=(0, 0, 1, 1 - 0.3 / figure.get_figheight()))  # room for the legend
    save(figure, args.output)


def main():
    commands = Commands("heat", __doc__)
    table = commands.add("table", command_table, "one table of several runs", "One table of several runs (heat --json).")
    table.add_argument("--check", action="store_true", help="exit with 3 if a field differs or was not compared")
    field = commands.add("field", command_field, "the temperature field", "The temperature field (heat --field, --start), side by side.", "field.png")
    field.add_argument("--titles", help="titles of the panels, separated by commas")
    commands.add("bars", command_bars, "speed and use of time", "Speed and use of time of several runs (heat --json).", "bars.png")
    timeline.add_to(commands, "three iterations", "heat or heat_plates")
    commands.run()


if __name__ == "__main__":
    main()
