#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the steps of each rank over time, from a file that wavefront --timeline wrote. Needs matplotlib."""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "common"))
from figures import fail, figures, save
from timeline import load_timeline

COLOURS = ["#4c78a8", "#e4a84c", "#3f9c6b", "#b5638d", "#9d7660", "#72b7b2", "#d45f5f", "#7f7f7f"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("timeline", help="file of --timeline")
    parser.add_argument("picture", help="file to write, such as wavefront.png")
    options = parser.parse_args()
    run = load_timeline(options.timeline, "wavefront")
    _, pyplot = figures()
    fields = run["span_fields"]
    rank, begin, end, grid, activity = (fields.index(name) for name in ("rank", "begin_us", "end_us", "row", "activity"))
    compute = run["activities"].index("compute")
    spans = [span for span in run["spans"] if span[activity] == compute]
    if not spans:
        fail(f"{options.timeline}: no step was recorded")
    start = min(span[begin] for span in spans)
    figure, axes = pyplot.subplots(figsize=(10, 1.2 + 0.4 * run["ranks"]))
    grids = sorted({span[grid] for span in spans})
    for number in grids:
        for each in range(run["ranks"]):
            bars = [(span[begin] - start, span[end] - span[begin]) for span in spans
                    if span[grid] == number and span[rank] == each]
            axes.broken_barh(bars, (each - 0.4, 0.8), color=COLOURS[number % len(COLOURS)],
                             label=f"grid {number}" if each == 0 else None)
    axes.set_xlabel("microseconds")
    axes.set_ylabel("rank")
    axes.set_yticks(range(run["ranks"]))
    axes.invert_yaxis()
    axes.set_title(f"wavefront, {run['variant']}: steps of each rank; white is waiting")
    if len(grids) > 1:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
    figure.tight_layout()
    save(figure, options.picture)


if __name__ == "__main__":
    main()
