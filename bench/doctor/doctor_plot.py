#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: doctor_plot.py FIGURES.json PICTURE

Draws what `thence doctor --json` wrote: for each operation the part of the transfer that is hidden behind computation, by
its size, as the program is and with --progress; and each other figure both ways.
"""

import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

PLAIN, WITH = "#8a9199", "#2a78b5"
BOTH_WAYS = [("round_trip_us", "round trip of\n8 bytes, us", "--progress"),
             ("message_us", "one of 64\nmessages, us", "--progress"),
             ("barrier_us", "barrier, more ranks\nthan processors, us", "--wait=sleep"),
             ("late_us", "a waiting rank\nis late, us", "--wait=sleep"),
             ("waiting_percent_of_a_processor", "a waiting rank, %\nof a processor", "--wait=sleep")]


def draw_overlap(panel, name, rows):
    sizes = [row["bytes"] / 1024 for row in rows]
    for key, colour, label in (("hidden_plain", PLAIN, "plain"), ("hidden_with_progress", WITH, "--progress")):
        panel.plot(sizes, [max(-0.2, min(1.2, row[key])) for row in rows], "o-", color=colour, label=label)
    panel.set_xscale("log", base=2)
    panel.set_xticks(sizes, [f"{size:.0f} KiB" if size < 1024 else f"{size / 1024:.0f} MiB" for size in sizes])
    panel.set_ylim(-0.25, 1.25)
    panel.axhline(0, color="black", linewidth=0.5)
    panel.axhline(1, color="black", linewidth=0.5)
    panel.set_title(name, fontsize=9)
    panel.tick_params(labelsize=7)


def main(file, picture):
    with open(file, encoding="utf-8") as stream:
        found = json.load(stream)
    measured = {}
    for row in found["overlap"]:
        if "not_measured" not in row:
            measured.setdefault(row["operation"], []).append(row)
    others = [each for each in BOTH_WAYS if found[each[0]]]
    if not measured and not others:
        sys.exit("doctor_plot.py: nothing was measured")
    columns = max(len(measured), len(others), 1)
    fig, panels = plt.subplots(2, columns, figsize=(2.6 * columns + 0.6, 5.4), layout="constrained", squeeze=False)
    for panel in panels.flat:
        panel.set_visible(False)
    for panel, (name, rows) in zip(panels[0], measured.items()):
        panel.set_visible(True)
        draw_overlap(panel, name, rows)
    panels[0][0].set_ylabel("part of the transfer that is hidden", fontsize=8)
    panels[0][0].legend(fontsize=7)
    for panel, (key, title, switch) in zip(panels[1], others):
        panel.set_visible(True)
        values = [found[key]["plain"], found[key]["with"]]
        bars = panel.bar(["plain", switch], values, color=[PLAIN, WITH])
        panel.bar_label(bars, [f"{value:.3g}" for value in values], fontsize=7)
        panel.margins(y=0.15)
        panel.set_title(title, fontsize=8)
        panel.tick_params(labelsize=7)
    where = {0: "", 1: ", both ranks on one host"}.get(found["hosts"], f", ranks on {found['hosts']} hosts")
    fig.suptitle(f"thence doctor: {found['processors']} processors{where}", fontsize=10)
    fig.savefig(picture, dpi=150)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
