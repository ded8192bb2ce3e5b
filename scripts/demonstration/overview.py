#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the runs of the demonstration say: a sentence for each situation, and one figure with a bar for each, sorted. As a program
it draws the figure, which needs matplotlib: overview.py overview.json overview.png"""

import json
import os
import statistics
import sys
import textwrap

LEAST = 20  # times that a block of work should take what a task or a message costs
LONG = 180  # seconds that a demonstration should not last longer than
FARTHEST = 4  # the axis ends there; longer bars have a mark
TICKS = (0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.25, 1.5, 2, 2.5, 3, 4)
GAIN, LOSS, TIE = "#2e8b57", "#c44e52", "#9a9a9a"
VERDICTS = ("gains", "neither", "loses")


class Compared:
    """A situation with its ratios: how many times as fast ours was as the usual way, and as each of the others, run by run."""

    def __init__(self, situation, block):
        self.situation, self.block = situation, block
        self.ratios, self.others, self.seconds = [], [[] for _ in situation.others], []
        self.picture = None  # the name of its file, once it is drawn

    def add(self, seconds):
        """Of the usual way, of ours, and of the others, measured one after the other."""
        usual, ours, *others = seconds
        self.seconds.append(seconds)
        self.ratios.append(usual / ours)
        for ratios, other in zip(self.others, others):
            ratios.append(other / ours)


def middle_half(values):
    """The quartiles, which one disturbed run in four does not move."""
    values = sorted(values)
    skip = len(values) // 4
    return values[skip], values[-1 - skip]


def summary(ratios):
    low, high = middle_half(ratios)
    return {"median": statistics.median(ratios), "low": low, "high": high}


def where(situation):
    return f", {situation.delay.replace('us', ' µs')} between two hosts" if situation.delay else ""


def of_situation(each):
    s = each.situation
    return {"name": s.name, "title": s.title, "where": where(s), "usual": s.usual.label, "ours": s.ours.label, "runs": len(each.ratios),
            **summary(each.ratios), "others": [{"label": way.label, **summary(ratios)} for way, ratios in zip(s.others, each.others)],
            "block_s": each.block, "block_name": s.block_name, "picture": each.picture, "seconds": each.seconds}


def report(machine, compared, costs):
    """All that the sentences and the figure need: what gains most first, then where there is no difference for certain, then losses."""
    rows = sorted((of_situation(each) for each in compared), key=lambda row: (VERDICTS.index(verdict(row)), -row["median"]))
    return {"what": "scripts/demo.py", "processors": machine.cores, "load": machine.load, "costs": costs, "situations": rows}


def verdict(row):
    """A gain or a loss only if the middle half of the runs agrees, and it is more than 3 %."""
    if row["low"] > 1 and row["median"] > 1.03:
        return "gains"
    if row["high"] < 1 and row["median"] < 0.97:
        return "loses"
    return "neither"


def times(value):
    return f"{value:.2f}" if value < 20 else f"{value:.0f}"


def span(of):
    return f"{times(of['median'])} ({times(of['low'])} to {times(of['high'])})" if of["high"] > 1.05 * of["low"] else times(of["median"])


def length(seconds):
    return f"{seconds * 1000:.0f} ms" if seconds >= 0.01 else f"{seconds * 1e6:.0f} µs" if seconds >= 1e-5 else f"{seconds * 1e6:.1f} µs"


def block_text(row, costs):
    """How large a block is against what a task and a message cost; empty where nothing is computed."""
    known = [cost for cost in costs.values() if cost]
    if not row["block_s"] or not known:
        return ""
    ratio = row["block_s"] / max(known)
    small = "" if ratio >= LEAST else f", less than {LEAST}: too small here"
    return f"{row['block_name']} takes {length(row['block_s'])}, {ratio:.0f} times a task or a message{small}"


def sentence(row, costs):
    others = "".join(f", {span(other)} times as fast as {other['label']}" for other in row["others"])
    block = block_text(row, costs)
    return (f"{row['title']}{row['where']}: {row['ours']} is {span(row)} times as fast as {row['usual']}{others}"
            + (f"; {block}" if block else "") + "." + (f" Picture: {row['picture']}" if row["picture"] else ""))


def sentences(result):
    """The lines of the report: what gains, then what does not."""
    rows, costs = result["situations"], result["costs"]
    lines = []
    for head, wanted in zip(("What Thence gains", "No difference for certain", "What it loses"), VERDICTS):
        chosen = [row for row in rows if verdict(row) == wanted]
        if chosen:
            lines += [f"{head}:", *(f"- {sentence(row, costs)}" for row in chosen), ""]
    if rows:
        lines.append(conditions(result))
    return lines


def duration(seconds):
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def took(seconds, rounds, until):
    """How long the demonstration took. `rounds`: that it makes in any case; `until`: seconds from its begin to the end of these."""
    text = f"This took {duration(seconds)}."
    if until > LONG:
        text += (f" {rounds} round{'s' if rounds > 1 else ''}, the least, ended only after {duration(until)}, so it cannot keep to "
                 f"{duration(LONG)} here; --only or --scale makes it shorter.")
    return text


def left_out_with_delay(situations, why):
    """The line of a machine that cannot have two hosts. Where only a loss is left of a way with Thence, it says so."""
    line = f"Left out: the situations with a delay between two hosts, since this {why}."
    left, kept = ({s.ours.label: s.name for s in situations if bool(s.delay) == delay} for delay in (True, False))
    label = "thence run --progress"
    if label in left and label in kept:
        line += f" What {label} gains is in these; {kept[label]} shows only what it costs."
    return line


def conditions(result):
    """How it was measured."""
    count = max(row["runs"] for row in result["situations"])
    task, message = (result["costs"][name] for name in ("task_s", "message_s"))
    costs = [f"{name} costs {length(cost)}" for name, cost in (("a task", task), ("a message of 8 B", message)) if cost]
    busy = result["load"] > 0.5
    return (f"{count} run{'s' if count > 1 else ''} of each in turn, on {result['processors']} processors"
            + (f", of which other programs used {result['load']:.1f} on average just before" if busy else "")
            + "; medians, in brackets the middle half" + "".join(f"; {cost}" for cost in costs) + ".")


def draw(result, picture):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "apps", "common"))
    from figures import figures, save
    matplotlib, pyplot = figures()
    rows, colours = result["situations"], {"gains": GAIN, "loses": LOSS, "neither": TIE}
    most = min(FARTHEST, max(1.6, *(max([row["high"], *(other["median"] for other in row["others"])]) for row in rows), 1.6))
    least = max(1 / FARTHEST, min(0.7, *(min([row["low"], *(other["median"] for other in row["others"])]) for row in rows), 0.7))
    height = 1.7 + 0.58 * len(rows)
    figure, axes = pyplot.subplots(figsize=(11.5, height))
    figure.subplots_adjust(left=0.46, right=0.97, top=1 - 0.5 / height, bottom=1.1 / height)
    axes.set_xscale("log")
    axes.set_xlim(least / 1.08, most * 1.25)

    def seen(value):
        return min(max(value, least), most)
    for y, row in enumerate(rows):
        axes.barh(y, seen(row["median"]) - 1, left=1, height=0.5, color=colours[verdict(row)], zorder=2)
        axes.plot([seen(row["low"]), seen(row["high"])], [y, y], color="#333333", lw=1.3, solid_capstyle="butt", zorder=3)
        for other in row["others"]:
            axes.plot([seen(other["median"])], [y], marker="D", ms=5, color="white", mec="#333333", mew=1.1, zorder=4)
        far = max(1, *(seen(value) for value in (row["median"], row["high"], *(other["median"] for other in row["others"]))))
        axes.annotate(f"{times(row['median'])}x" + (" »" if row["median"] > most else ""), (far, y), xytext=(8, 0),
                      textcoords="offset points", va="center", fontweight="bold")
        axes.annotate(row["title"], (0, y), xycoords=("axes fraction", "data"), xytext=(-8, 1), textcoords="offset points", ha="right",
                      va="bottom", fontsize=9.5, annotation_clip=False)
        axes.annotate(f"{row['ours']} against {row['usual']}{row['where']}", (0, y), xycoords=("axes fraction", "data"), xytext=(-8, -1),
                      textcoords="offset points", ha="right", va="top", fontsize=8.5, color="#666666", annotation_clip=False)
    axes.set_yticks([])
    axes.invert_yaxis()
    axes.axvline(1, color="#333333", lw=1, zorder=1)
    ticks = [tick for tick in TICKS if least / 1.08 <= tick <= most * 1.25]
    axes.set_xticks(ticks, [f"{tick:g}x" for tick in ticks])
    axes.xaxis.set_minor_locator(matplotlib.ticker.NullLocator())
    axes.grid(True, axis="x", alpha=0.25, zorder=0)
    axes.set_title("How many times as fast with Thence as without it")
    legend = ("Green gains, red loses, grey: the runs do not agree. Line: the middle half of the runs. Diamond: against what one can "
              "write by hand. " + conditions(result))
    figure.text(0.02, 0.12 / height, "\n".join(textwrap.wrap(legend, 160)), fontsize=8.5, color="#444444", va="bottom")
    save(figure, picture)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as opened:
        draw(json.load(opened), sys.argv[2])
