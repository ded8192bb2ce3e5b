#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: plot.py FIGURES.json FOLDER

Draws the figures that `thence bench --json` wrote: overview.png shows every figure that has a bar relative to it; one
picture per benchmark shows both sides of each comparison.
"""

import json
import sys
import textwrap
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

MET, MISSED, BASELINE = "#2a78b5", "#c8502d", "#b9bec4"


def bar_of(figure):
    """The bar and its kind, "at_most" or "at_least", or None if the figure has no bar."""
    for key in ("at_most", "at_least"):
        if key in figure:
            return figure[key], key
    return None


def ratio_to_bar(figure):
    """The figure divided by its bar (inverse for at_least), so that 1 or less meets it. For a bar of 0: 0 or 2."""
    limit, kind = bar_of(figure)
    value = figure["value"]
    if kind == "at_least":
        return limit / value if value > 0 else 2
    if limit == 0:
        return 0 if value <= 0 else 2
    return max(value / limit, 0)


def draw_overview(benchmarks, environment, path):
    rows = [(f"{b['name']}: {f['name']}", f) for b in benchmarks for f in b["figures"] if bar_of(f)]
    if not rows:
        return
    fig, axes = plt.subplots(figsize=(11, 1 + 0.3 * len(rows)), layout="constrained")
    for y, (_, figure) in enumerate(rows):
        ratio = ratio_to_bar(figure)
        axes.barh(y, min(ratio, 3), color=MET if figure["passed"] else MISSED)
        axes.text(min(ratio, 3) + 0.03, y, f"{figure['value']:.3g} {figure['unit']}", va="center", fontsize=7,
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5})
    axes.axvline(1, color="black", linewidth=1, zorder=1)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=7)
    axes.invert_yaxis()
    axes.set_xlim(0, 3.9)
    axes.set_xlabel("figure divided by its bar (1: just met; cut off at 3)")
    mpi = environment.get("mpi", {}).get("library", "")[:60]
    axes.set_title(f"thence bench, engine {environment.get('engine', '?')}, {mpi}", fontsize=9)
    fig.savefig(path, dpi=150)
    plt.close(fig)


def draw_benchmark(benchmark, path):
    """Draws both sides of each comparison, with one panel per unit."""
    sides = [f for f in benchmark["figures"] if "ours" in f and "baseline" in f]
    units = list(dict.fromkeys(f["side_unit"] for f in sides))
    if not sides:
        return
    fig, panels = plt.subplots(
        len(units), 1, figsize=(9, 1.2 + 0.75 * len(sides)), layout="constrained", squeeze=False,
        height_ratios=[sum(f["side_unit"] == unit for f in sides) for unit in units])
    for panel, unit in zip(panels[:, 0], units):
        rows = [f for f in sides if f["side_unit"] == unit]
        for y, figure in enumerate(rows):
            panel.barh(y - 0.19, figure["baseline"], 0.36, color=BASELINE)
            panel.barh(y + 0.19, figure["ours"], 0.36, color=MET if figure.get("passed", True) else MISSED)
            for offset, side in ((-0.19, "baseline"), (0.19, "ours")):
                panel.text(figure[side], y + offset, f" {figure[side]:.4g}", va="center", fontsize=7)
        panel.set_yticks(range(len(rows)), [f["name"] for f in rows], fontsize=7)
        panel.invert_yaxis()
        panel.margins(x=0.12)
        panel.set_xlabel(unit)
    fig.suptitle(f"{benchmark['name']}: {benchmark['about']}\ngrey: without Thence, colour: with", fontsize=8)
    fig.savefig(path, dpi=150)
    plt.close(fig)


METHODS = ("yield-while", "suspend-resume", "continuation", "new-task", "mpix")
FLAGS = ("mpi-pool", "inline-request", "inline-completion", "bypass", "high-priority")
# The combinations of the other flags than inline-request, in the order of FLAGS.
COMBINATIONS = [tuple(flag for flag in (pool, completion, priority) if flag)
                for pool in ("", "mpi-pool") for completion in ("", "inline-completion", "bypass")
                for priority in ("", "high-priority")]


def draw_modes(benchmark, path):
    """Draws the chart of figures 3, 4 and 7 to 9 of Biddiscombe et al. 2025: one panel per message size or algorithm and
    way to issue requests, one group of bars per handler method, one bar per combination of the other flags."""
    modes = {}  # (size, inline request): {method: {flags: figure}}
    for figure in benchmark["figures"]:
        size, words = figure["name"].split(", ", 1)
        method, *flags = words.split(",")
        others = tuple(flag for flag in FLAGS if flag in flags and flag != "inline-request")
        panel = modes.setdefault((size, "inline-request" in flags), {})
        panel.setdefault(method, {})[others] = figure
    if not modes:
        return
    sizes = list(dict.fromkeys(size for size, _ in modes))
    missing = 0
    colours = plt.colormaps["tab20"](range(len(COMBINATIONS)))
    fig, panels = plt.subplots(2, len(sizes), figsize=(7.5 * len(sizes), 8), layout="constrained", squeeze=False)
    for row, inline in enumerate((False, True)):
        for column, size in enumerate(sizes):
            panel = panels[row][column]
            bars = modes.get((size, inline), {})
            width = 0.85 / len(COMBINATIONS)
            for i, flags in enumerate(COMBINATIONS):
                for x, method in enumerate(METHODS):
                    figure = bars.get(method, {}).get(flags)
                    at = x + (i - len(COMBINATIONS) / 2) * width
                    if figure is None:  # not measured
                        missing += 1
                        panel.text(at, 0, "not measured", rotation=90, fontsize=5, va="bottom")
                    else:
                        panel.bar(at, figure["value"], width, color=colours[i])
            panel.axhline(1, color="black", linewidth=0.8)
            panel.set_xticks(range(len(METHODS)), METHODS, fontsize=8)
            panel.set_xlim(-0.6, len(METHODS) - 0.4)
            panel.set_title(f"{size}, requests {'inline' if inline else 'issued by the polling pool'}", fontsize=9)
            panel.set_ylabel("messages per second, MPI_Testsome = 1" if "rings" in benchmark["about"] else
                             "speed, blocking MPI calls = 1", fontsize=8)
    fig.legend([plt.Rectangle((0, 0), 1, 1, color=colour) for colour in colours],
               [" ".join(flags) or "none of them" for flags in COMBINATIONS], loc="lower center", ncol=5,
               fontsize=7, title="other flags", title_fontsize=7)
    fig.suptitle(f"{benchmark['name']}: {benchmark['about']}\n" + (
        f"bars that are missing: {missing}; they were not measured" if missing else
        "no bar is missing: every mode ends; bypass replaces inline-completion"),
        fontsize=9)
    fig.get_layout_engine().set(rect=(0, 0.1, 1, 0.9))
    fig.savefig(path, dpi=150)
    plt.close(fig)


def draw_lines(benchmark, panels, path):
    """Draws one panel for each (title, x label, y label, {name of a line: {x: y}}), with logarithmic axes."""
    panels = [panel for panel in panels if any(panel[3].values())]
    if not panels:
        return
    fig, axes = plt.subplots(1, len(panels), figsize=(6 * len(panels), 4.5), layout="constrained", squeeze=False)
    for at, (title, x_label, y_label, lines) in zip(axes[0], panels):
        for name, points in lines.items():
            at.plot(sorted(points), [points[x] for x in sorted(points)], marker="o", markersize=4, label=name)
        at.set_xscale("log", base=2)
        at.set_yscale("log")
        ticks = sorted({x for points in lines.values() for x in points})
        at.set_xticks(ticks, [str(x) if isinstance(x, int) else f"{x:g}" for x in ticks], fontsize=7, rotation=30)
        at.set_xlabel(x_label)
        at.set_ylabel(y_label)
        at.set_title(title, fontsize=9)
        at.grid(alpha=0.3)
        at.legend(fontsize=8)
    title = f"{benchmark['name']}: {benchmark['about']}"
    fig.suptitle("\n".join(textwrap.wrap(title, 90 * len(panels))), fontsize=8)
    fig.savefig(path, dpi=150)
    plt.close(fig)


def draw_rings(benchmark, path):
    """Draws message rate by the number of rings in flight, one line per mode."""
    lines = {}
    for figure in benchmark["figures"]:
        rings, mode = figure["name"].split(" rings, ", 1)
        lines.setdefault(mode, {})[int(rings)] = figure["ours"]
        lines.setdefault("MPI_Testsome", {})[int(rings)] = figure["baseline"]
    draw_lines(benchmark, [("64 B", "rings in flight on each rank", "messages per second", lines)], path)


def draw_stream_threads(benchmark, path):
    """Draws the chart of figure 4 of Zhou et al.: message rate by the number of threads, one line per way."""
    panels = {}  # where: {way: {threads: rate}}
    for figure in benchmark["figures"]:
        where, threads, beside = figure["name"].split(", ")
        lines = panels.setdefault(where, {})
        count = int(threads.split()[0])
        lines.setdefault("explicit: a stream for each thread", {})[count] = figure["ours"]
        way = "implicit: a duplicate for each thread" if beside.endswith("implicit") else "one communicator"
        lines.setdefault(way, {})[count] = figure["baseline"]
    draw_lines(benchmark, [(where, "threads", "messages per second", lines) for where, lines in panels.items()], path)


def draw_threads_vs_processes(benchmark, path):
    """Draws the chart of figure 7 of Zhou et al.: message rate and bandwidth by the size of a message."""
    panels = {"message rate": {}, "bandwidth": {}}
    for figure in benchmark["figures"]:
        size, kind = figure["name"].split(" B, ")
        for line, side in (("two threads", "ours"), ("two processes", "baseline")):
            panels[kind].setdefault(line, {})[int(size)] = figure[side]
    units = {"message rate": "messages per second", "bandwidth": "MB/s"}
    draw_lines(benchmark, [(kind, "bytes of a message", units[kind], lines) for kind, lines in panels.items()], path)


def draw_pingpong(benchmark, path):
    """Draws the chart of figure 5 of Schuchart et al. 2020: the time of a round trip by the size of a message, and the ratio."""
    panels = {}  # thread level: (times by line, ratios by line)
    for figure in benchmark["figures"]:
        size, level = figure["name"].split(" B, ") if " B, " in figure["name"] else (1, figure["name"])
        times, ratios = panels.setdefault(level, ({}, {}))
        for line, side in (("a continuation answers", "ours"), ("MPI_Irecv, MPI_Wait, MPI_Send", "baseline")):
            times.setdefault(line, {})[int(size)] = figure[side]
        ratios.setdefault("a continuation, MPI_Wait = 1", {})[int(size)] = figure["value"]
    # With one size a panel would be a point.
    drawn = {level: both for level, both in panels.items() if len(next(iter(both[0].values()))) > 1} or panels
    draw_lines(benchmark, [(level, "bytes of a message", label, lines) for level, both in drawn.items()
                           for label, lines in zip(("microseconds per round trip", "times the round trip"), both)], path)


def draw_wake_curve(benchmark, path):
    """Draws how late a callback runs by the time for which nothing has arrived, and the same for MPI_Wait."""
    panels = {}  # where: {line: {milliseconds: delay}}
    for figure in benchmark["figures"]:
        waited, where = figure["name"].removeprefix("after ").split(" ms, ")
        lines = panels.setdefault(where, {})
        for line, side in (("callback, run by the helper thread", "ours"), ("MPI_Wait", "baseline")):
            lines.setdefault(line, {})[float(waited)] = figure[side]
    draw_lines(benchmark, [(where, "milliseconds without a message", "microseconds until it is known", lines)
                           for where, lines in panels.items()], path)


CHARTS = {"ring_modes": draw_modes, "completion_modes": draw_modes, "ring_in_flight": draw_rings,
          "stream_threads": draw_stream_threads,
          "threads_vs_processes": draw_threads_vs_processes, "pingpong": draw_pingpong,
          "wake_curve": draw_wake_curve}


def main():
    if len(sys.argv) != 3 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0 if sys.argv[1:2] in (["-h"], ["--help"]) else 2
    measured = json.loads(Path(sys.argv[1]).read_text())
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    draw_overview(measured["benchmarks"], measured["measured_on"], folder / "overview.png")
    for benchmark in measured["benchmarks"]:
        draw = CHARTS.get(benchmark["name"], draw_benchmark)
        draw(benchmark, folder / f"{benchmark['name']}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
