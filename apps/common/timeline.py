# SPDX-License-Identifier: BSD-3-Clause
"""The figure of `plot.py timeline` of every application: one lane per thread, one line per message from its start to its
arrival."""
import statistics

from figures import fail, figures, load, save

COMPUTE = ["#2f6da8", "#7fb0d9"]  # even and odd iterations, so that the pipeline of iterations shows
PLATES = ["#2f6da8", "#8cbbe0", "#3f9c6b", "#a5d6b8", "#7a5195", "#c6aadb", "#8c6d4f", "#d0bfa8"]
ACTIVITY = {"start": "#3d3d3d", "wait": "#d1495b", "poll": "#edae49"}
MESSAGE = ["#8a3ffc", "#1b8a5a"]  # by the lowest bit of the direction
# What the direction of a message is called, by the name of its field: even and odd.
DIRECTIONS = {"higher": ("message to a lower rank", "to a higher rank"),
              "down": ("message up", "message down"), "side": ("message from west or south", "from east or north"),
              "below": ("message to the band above", "to the band below")}
# What a file of --timeline has.
FORM = {"variant": str, "ranks": int, "threads": int, "activities": [str], "span_fields": [str], "message_fields": [str],
        "spans": [list], "messages": list}
# The fields of a span and of a message, which are lists. The row of a span is a plate in heat_plates, and the direction of a
# message has another name in each application.
SPAN = ["rank", "lane", "activity", "begin_us", "end_us", "iteration", "row", "col"]
SPAN_OF_PLATE = ["plate" if name == "row" else name for name in SPAN]
MESSAGE_FIELDS = ["rank", "lane", "sent", None, "peer", "iteration", "col", "cells", "started_us", "complete_us"]
HALF = 0.36  # half the height of a lane


def load_timeline(file, program, spans=(SPAN,)):
    """`spans`: the lists of fields that a span may have."""
    source = f"{program} --timeline"
    run = load(file, source, FORM)
    for what, rows, names, known in (("span", run["spans"], run["span_fields"], spans),
                                     ("message", run["messages"], run["message_fields"], (MESSAGE_FIELDS,))):
        if not any(len(names) == len(fields) and all(f in (None, n) for n, f in zip(names, fields)) for fields in known):
            fail(f"{file} is no file of {source}: the fields of a {what} are {', '.join(names)}")
        for row in rows:
            if not isinstance(row, list) or len(row) != len(names) or any(type(value) not in (int, float) for value in row):
                fail(f"{file} is no file of {source}: a {what} is no list of {len(names)} numbers")
    return run


def iteration_time(spans):
    """Typical time between the starts of two iterations of one rank, in microseconds."""
    first = {}
    for rank, _, activity, begin, _, iteration, _, _ in spans:
        if activity == 0:
            key = (rank, iteration)
            first[key] = min(first.get(key, begin), begin)
    steps = [first[r, t + 1] - at for (r, t), at in first.items() if (r, t + 1) in first]
    return statistics.median(steps) if steps else 1000.0


def window(run, args):
    """Begin and end of the default window in microseconds."""
    compute = [s for s in run["spans"] if s[2] == 0]
    end = max(s[4] for s in compute)
    length = args.length * 1000 if args.length else 3.2 * iteration_time(run["spans"])
    if args.begin is not None:
        return args.begin * 1000, args.begin * 1000 + length
    # In the middle half of the run, the window with the most blocks: it has no interruption by other programs.
    steps = max(1, int(0.5 * end / length * 2))
    work = [0] * (steps + 2)
    for span in compute:
        step = int((span[3] - end / 4) / length * 2)
        if 0 <= step < len(work):
            work[step] += 1
    best = max(range(steps), key=lambda s: work[s] + work[s + 1])
    begin = max(0.0, end / 4 + best * length / 2)
    return begin, begin + length


def plural(n, word):
    return f"{n} {word}" + ("" if n == 1 else "s")


def lane_order(run):
    """Row of each (rank, thread) that did anything, rank 0 on top."""
    used = sorted({(s[0], s[1]) for s in run["spans"]})
    return {lane: row for row, lane in enumerate(used)}


def has_plates(run):
    return run["span_fields"] == SPAN_OF_PLATE


def compute_colour(run, iteration, row):
    """That of the plate where there are several, else that of the iteration."""
    return PLATES[row % len(PLATES)] if has_plates(run) else COMPUTE[iteration % 2]


def compute_legend(runs):
    """Colours of computation and what they are called."""
    if not has_plates(runs[0]):
        return [(COMPUTE[0], "compute, even iteration"), (COMPUTE[1], "odd iteration")]
    plates = sorted({s[6] for run in runs for s in run["spans"] if s[2] == 0})
    return [(compute_colour(runs[0], 0, plate), f"plate {plate}") for plate in plates]


def draw_lanes(axes, run, lanes, begin, end):
    bars = {}
    for rank, lane, activity, start, stop, iteration, row, _ in run["spans"]:
        if stop < begin or start > end:
            continue
        name = run["activities"][activity]
        colour = compute_colour(run, iteration, row) if name == "compute" else ACTIVITY[name]
        bars.setdefault((lanes[rank, lane], colour, name), []).append((start - begin, stop - start))
    for (row, colour, name), pieces in bars.items():
        # Wide blocks get a thin outline, which separates neighbours of the same colour.
        wide = name == "compute" and statistics.median(w for _, w in pieces) > (end - begin) / 250
        axes.broken_barh(pieces, (row - HALF, 2 * HALF), facecolor=colour, edgecolor="white", linewidth=0.4 if wide else 0)


def draw_messages(axes, run, lanes, begin, end):
    """Pairs the two records of each message by sender, receiver, direction, iteration and column, and draws them."""
    sent = {}
    for rank, lane, is_sent, direction, peer, iteration, col, _, started, _ in run["messages"]:
        if is_sent:
            sent[rank, peer, direction, iteration, col] = (lane, started)
    count = 0
    for rank, lane, is_sent, direction, peer, iteration, col, _, _, complete in run["messages"]:
        origin = None if is_sent else sent.get((peer, rank, direction, iteration, col))
        if origin is None:
            continue
        source, started = origin
        if started < begin or complete > end:
            continue
        y0, y1 = lanes[peer, source], lanes[rank, lane]
        step = 1 if y1 > y0 else -1
        axes.plot([started - begin, complete - begin], [y0 + step * HALF * 0.9, y1 - step * HALF * 0.9], color=MESSAGE[direction % 2], lw=0.9, alpha=0.85,
                  solid_capstyle="round", zorder=3)
        axes.plot([complete - begin], [y1 - step * HALF * 0.9], marker="v" if step > 0 else "^", color=MESSAGE[direction % 2], ms=3.2, mew=0, zorder=4)
        count += 1
    return count


def add_to(commands, usual, programs=None):
    """Gives a plot.py the command `timeline`. `usual`: how long the window is if there is no --length. `programs`: what writes
    such files, if not only the program of these commands."""
    programs = programs or commands.program
    lanes = commands.add("timeline", lambda args: draw(args, programs), "what each thread did, and the messages",
                         f"What each thread did, and the messages ({programs} --timeline); several runs on one scale.", "timeline.png")
    lanes.add_argument("--begin", type=float, help="start of the window in milliseconds [chosen in the middle of the run]")
    lanes.add_argument("--length", type=float, help=f"length of the window in milliseconds [about {usual}]")


def draw(args, program):
    runs = [load_timeline(f, program, (SPAN, SPAN_OF_PLATE)) for f in args.files]
    for file, run in zip(args.files, runs):
        if run["message_fields"][3] not in DIRECTIONS:
            fail(f"{file} is no file of {program} --timeline: its messages have no {' or '.join(DIRECTIONS)}")
        if not any(span[2] == 0 for span in run["spans"]):
            fail(f"{file}: nothing was computed")
        if has_plates(run) != has_plates(runs[0]):  # the same colours mean other things
            fail(f"{file} and {args.files[0]}: only one of them has several plates; draw them in two figures")
    _, pyplot = figures()
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    windows = [window(r, args) for r in runs]
    # All panels have the same scale: the longest window, but at most three times the shortest.
    length = min(max(e - b for b, e in windows), 3 * min(e - b for b, e in windows))
    orders = [lane_order(r) for r in runs]
    heights = [len(o) + 1.1 for o in orders]
    figure, panels = pyplot.subplots(len(runs), 1, figsize=(13, 1.3 + 0.46 * sum(heights)), squeeze=False, sharex=True, constrained_layout=True,
                                     gridspec_kw={"height_ratios": heights})
    for axes, run, (begin, _), lanes in zip(panels[:, 0], runs, windows, orders):
        axes.set_facecolor("#ededed")  # idle
        draw_lanes(axes, run, lanes, begin, begin + length)
        count = draw_messages(axes, run, lanes, begin, begin + length)
        # Threads are numbered from 0 within their rank.
        first = {}
        for rank, lane in lanes:
            first.setdefault(rank, []).append(lane)
        axes.set_yticks(list(lanes.values()), [f"rank {r}" + (f" thread {first[r].index(l)}" if len(first[r]) > 1 else "") for r, l in lanes])
        axes.set_ylim(len(lanes) - 0.5, -0.5)
        axes.set_xlim(0, length)
        axes.tick_params(axis="y", length=0)
        axes.set_title(f"{run['variant']}, {plural(run['ranks'], 'rank')} x {plural(run['threads'], 'thread')}    "
                       f"from {begin / 1000:.2f} ms" + (f", {count} messages shown" if run["messages"] else ""))
        for row in range(1, len(lanes)):
            axes.axhline(row - 0.5, color="white", lw=1.2, zorder=0)
    unit = 1000 if length > 2000 else 1
    panels[-1, 0].set_xlabel("milliseconds" if unit == 1000 else "microseconds")
    panels[-1, 0].xaxis.set_major_formatter(lambda x, _: f"{x / unit:g}")
    marks = ("", "") if has_plates(runs[0]) else ("v", "^")  # the next band of a plate may be of the rank before
    even, odd = DIRECTIONS[runs[0]["message_fields"][3]]
    legend = [*(Patch(color=colour, label=label) for colour, label in compute_legend(runs)),
              Patch(color=ACTIVITY["start"], label="start a message"), Patch(color=ACTIVITY["wait"], label="wait in MPI"),
              Patch(color=ACTIVITY["poll"], label="poll"), Patch(color="#ededed", label="idle"),
              *([Line2D([], [], color=MESSAGE[1], marker=marks[0], ms=4, lw=1, label=odd),
                 Line2D([], [], color=MESSAGE[0], marker=marks[1], ms=4, lw=1, label=even)] if any(run["messages"] for run in runs) else [])]
    figure.legend(handles=legend, loc="upper center",
                  ncol=len(legend), bbox_to_anchor=(0.5, 1.0), fontsize=9, handlelength=1.3, columnspacing=1.3)
    figure.get_layout_engine().set(h_pad=0.06, rect=(0, 0, 1, 1 - 0.32 / figure.get_figheight())) # room for the legend
    save(figure, args.output)
