#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws what `thence bench simulated_scale --json FILE` wrote: the speed of callbacks against MPI only, by ranks, situation and
latency. Needs matplotlib."""
import argparse
import re

from figures import fail, figures, load, save

COLOURS = ["#7f7f7f", "#e4a84c", "#4c78a8"]  # of the situations


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", help="file of --json")
    parser.add_argument("picture", help="file to write, such as simulated_scale.svg")
    options = parser.parse_args()
    loaded = load(options.report, "thence bench simulated_scale --json", {})
    found = {}  # application -> (situation, ranks, latency) -> speed
    for report in loaded.get("benchmarks", [loaded]):
        for figure in report.get("figures", []):
            match = re.fullmatch(r"([^,]*(?:, 8 plates)?), (.*), (\d+) ranks, (\w+)", figure["name"])
            if match:
                found.setdefault(match[1], {})[match[2], int(match[3]), match[4]] = figure["value"]
    if not found:
        fail(f"{options.report}: no figures of simulated_scale")
    _, pyplot = figures()
    figure, panels = pyplot.subplots(1, len(found), figsize=(5.2 * len(found), 3.6), sharey=True, squeeze=False)
    for axes, (application, values) in zip(panels[0], found.items()):
        situations = list(dict.fromkeys(key[0] for key in values))
        groups = sorted({key[1:] for key in values}, key=lambda group: (group[0], len(group[1]), group[1]))
        for index, situation in enumerate(situations):
            at = [(place, values[situation, *group]) for place, group in enumerate(groups) if (situation, *group) in values]
            axes.bar([place + 0.27 * (index - 1) for place, _ in at], [value for _, value in at], 0.25,
                     color=COLOURS[index % len(COLOURS)], label=situation)
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set_xticks(range(len(groups)), [f"{ranks}\n{latency.replace('us', ' µs')}" for ranks, latency in groups])
        axes.set_title(application)
        axes.legend(loc="upper right", fontsize=8)
    panels[0][0].set_ylabel("speed against MPI only")
    panels[0][0].set_ylim(bottom=0)
    figure.tight_layout()
    save(figure, options.picture)


if __name__ == "__main__":
    main()
