#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the tasks of each rank over time, from a file that qr --timeline wrote. Needs matplotlib."""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "common"))
from figures import fail, figures, save
from timeline import load_timeline

KINDS = [("factorize", "#d45f5f"), ("update", "#4c78a8"), ("eliminate", "#e4a84c"), ("update of two", "#72b7b2")]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("timeline", help="file of --timeline")
    parser.add_argument("picture", help="file to write, such as qr.png")
    options = parser.parse_args()
    run = load_timeline(options.timeline, "qr")
    _, pyplot = figures()
    fields = run["span_fields"]
    rank, lane, begin, end, kind, activity = (fields.index(name) for name in
                                              ("rank", "lane", "begin_us", "end_us", "kind", "activity"))
    spans = [span for span in run["spans"] if span[activity] == run["activities"].index("compute")]
    if not spans:
        fail(f"{options.timeline}: no task was recorded")
    start = min(span[begin] for span in spans)
    lanes = sorted({(span[rank], span[lane]) for span in spans})
    figure, axes = pyplot.subplots(figsize=(10, 1.2 + 0.4 * len(lanes)))
    for number, (name, colour) in enumerate(KINDS):
        for place, where in enumerate(lanes):
            bars = [((span[begin] - start) / 1000, (span[end] - span[begin]) / 1000) for span in spans
                    if span[kind] == number and (span[rank], span[lane]) == where]
            axes.broken_barh(bars, (place - 0.4, 0.8), color=colour, label=name if place == 0 else None)
    axes.set_xlabel("milliseconds")
    axes.set_ylabel("rank, thread")
    axes.set_yticks(range(len(lanes)), [f"{a}, {b}" for a, b in lanes])
    axes.invert_yaxis()
    axes.set_title(f"qr, {run['variant']}: tasks of each thread; white is waiting")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
    figure.tight_layout()
    save(figure, options.picture)


if __name__ == "__main__":
    main()
