#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the tasks of each rank over time, from files that qr --timeline wrote. Needs matplotlib."""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "common"))
from figures import fail, figures, save
from timeline import SPAN, load_timeline

# The fields of a span: the row of other applications is the kind of the task.
FIELDS = ["kind" if name == "row" else name for name in SPAN]
KINDS = [("factorize", "#d45f5f"), ("update", "#4c78a8"), ("eliminate", "#e4a84c"), ("update of two", "#72b7b2")]


def draw(axes, file, run):
    """The tasks of one run. Returns when the last one ended, in milliseconds."""
    fields = run["span_fields"]
    rank, lane, begin, end, kind, activity = (fields.index(name) for name in
                                              ("rank", "lane", "begin_us", "end_us", "kind", "activity"))
    spans = [span for span in run["spans"] if span[activity] == run["activities"].index("compute")]
    if not spans:
        fail(f"{file}: no task was recorded")
    start = min(span[begin] for span in spans)
    lanes = sorted({(span[rank], span[lane]) for span in spans})
    for number, (name, colour) in enumerate(KINDS):
        for place, where in enumerate(lanes):
            bars = [((span[begin] - start) / 1000, (span[end] - span[begin]) / 1000) for span in spans
                    if span[kind] == number and (span[rank], span[lane]) == where]
            axes.broken_barh(bars, (place - 0.4, 0.8), color=colour, label=name if place == 0 else None)
    axes.set_ylabel("rank, thread")
    axes.set_yticks(range(len(lanes)), [f"{a}, {b}" for a, b in lanes])
    axes.invert_yaxis()
    last = (max(span[end] for span in spans) - start) / 1000
    axes.set_title(f"qr, {run['variant']}: tasks of each thread, {last:.0f} ms; white is waiting")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("timelines", nargs="+", help="files of --timeline, one below the other on the same scale")
    parser.add_argument("picture", help="file to write, such as qr.png")
    options = parser.parse_args()
    loaded = [load_timeline(file, "qr", (FIELDS,)) for file in options.timelines]
    _, pyplot = figures()
    lanes = [len({(span[0], span[1]) for span in run["spans"]}) for run in loaded]
    figure, panels = pyplot.subplots(len(loaded), 1, figsize=(10, 0.6 + sum(0.8 + 0.4 * n for n in lanes)), squeeze=False, sharex=True,
                                     gridspec_kw={"height_ratios": lanes})
    for axes, file, run in zip(panels[:, 0], options.timelines, loaded):
        draw(axes, file, run)
    panels[-1, 0].set_xlabel("milliseconds")
    panels[0, 0].legend(loc="upper left", bbox_to_anchor=(1.01, 1))
    figure.tight_layout()
    save(figure, options.picture)


if __name__ == "__main__":
    main()
