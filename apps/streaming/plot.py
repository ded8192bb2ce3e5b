#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The pipeline of streaming: what each stage did over time, from files of --timeline. Needs matplotlib."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "common"))
from figures import Commands, fail, figures, save
from timeline import ACTIVITY, lane_order, load_timeline, plural

CHUNKS = ["#4c78a8", "#e4a84c", "#3f9c6b", "#b5638d", "#9d7660", "#72b7b2", "#8fbf5a", "#6a5fc4"]
HALF = 0.4  # half the height of a lane


def default_window(run):
    """Begin and length in microseconds: about four chunks in the middle of the run."""
    compute = [s for s in run["spans"] if s[2] == 0]
    end = max(s[4] for s in compute)
    length = 4.2 * end / max(1, run["iterations"])
    return max(0.0, end / 2 - length / 2), length


def draw_messages(axes, run, lanes, begin, end):
    """A line from the start of a message to its arrival, at most as many as can be told apart."""
    sent = {(m[0], m[4], m[5], m[6]): m for m in run["messages"] if m[2]}
    shown = [(sent[m[4], m[0], m[5], m[6]], m) for m in run["messages"] if not m[2] and (m[4], m[0], m[5], m[6]) in sent]
    shown = [(s, r) for s, r in shown if s[8] >= begin and r[9] <= end]
    for s, r in shown[::max(1, len(shown) // 400)]:
        axes.plot([s[8] - begin, r[9] - begin], [lanes[s[0], s[1]] + HALF, lanes[r[0], r[1]] - HALF], color="#3d3d3d", lw=0.6, alpha=0.7)


def command_pipeline(args):
    runs = [load_timeline(file, "streaming") for file in args.files]
    for file, run in zip(args.files, runs):
        if not any(span[2] == 0 for span in run["spans"]):
            fail(f"{file}: nothing was computed")
    _, pyplot = figures()
    windows = [default_window(run) for run in runs]
    length = args.length * 1000 if args.length else max(length for _, length in windows)
    orders = [lane_order(run) for run in runs]
    figure, panels = pyplot.subplots(len(runs), 1, figsize=(11, 0.8 + sum(0.7 + 0.42 * len(o) for o in orders)), squeeze=False, sharex=True,
                                     gridspec_kw={"height_ratios": [0.7 + 0.42 * len(o) for o in orders]})
    for axes, run, (begin, _), lanes in zip(panels[:, 0], runs, windows, orders):
        begin = args.begin * 1000 if args.begin is not None else begin
        bars = {}
        for rank, lane, activity, start, stop, chunk, _, _ in run["spans"]:
            if stop >= begin and start <= begin + length:
                name = run["activities"][activity]
                colour = CHUNKS[chunk % len(CHUNKS)] if name == "compute" else ACTIVITY[name]
                bars.setdefault((lanes[rank, lane], colour), []).append((start - begin, stop - start))
        for (row, colour), pieces in bars.items():
            axes.broken_barh(pieces, (row - HALF, 2 * HALF), facecolor=colour, linewidth=0)
        draw_messages(axes, run, lanes, begin, begin + length)
        axes.set_facecolor("#ededed")
        axes.set_xlim(0, length)
        axes.set_ylim(len(lanes) - 0.5, -0.5)
        axes.set_yticks(list(lanes.values()), [f"rank {rank}" for rank, _ in lanes])
        axes.set_title(f"{run['variant']}, {plural(run['ranks'], 'rank')} x {plural(run['threads'], 'thread')}: "
                       "a colour for each chunk; red waits in MPI, grey is idle")
    panels[-1, 0].set_xlabel("milliseconds")
    panels[-1, 0].xaxis.set_major_formatter(lambda x, _: f"{x / 1000:g}")
    figure.tight_layout()
    save(figure, args.output)


def main():
    commands = Commands("streaming", __doc__)
    parser = commands.add("pipeline", command_pipeline, "what each stage did", "What each stage did (streaming --timeline); several runs on "
                          "one scale.", "pipeline.png")
    parser.add_argument("--begin", type=float, help="start of the window in milliseconds [in the middle of the run]")
    parser.add_argument("--length", type=float, help="length of the window in milliseconds [about four chunks]")
    commands.run()


if __name__ == "__main__":
    main()
