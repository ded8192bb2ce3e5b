#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the load of each rank over the time steps, from files that offload --json wrote. Needs matplotlib."""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "common"))
from figures import fail, figures, load, save


FORM = {"variant": str, "ranks": int, "threads": int, "time_s": float, "step_fields": [str], "rows": [list]}
FIELDS = ["rank", "step", "seconds", "computed", "waited", "own", "foreign", "offloaded", "emergencies"]


def load_run(name):
    """The run, and the steps of each rank."""
    source = "offload --json"
    run = load(name, source, FORM)
    if run["step_fields"] != FIELDS or any(len(row) != len(FIELDS) for row in run["rows"]):
        fail(f"{name} is no file of {source}: the fields of a step are not {', '.join(FIELDS)}")
    rows = {}
    for row in run["rows"]:
        rows.setdefault(row[0], []).append(dict(zip(FIELDS, row)))
    return run, rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", nargs="+", help="files of --json, one for each column of the picture")
    parser.add_argument("picture", help="file to write, such as offload.png")
    options = parser.parse_args()
    loaded = [load_run(name) for name in options.run]
    _, pyplot = figures()
    ranks = max(len(rows) for _, rows in loaded)
    figure, axes = pyplot.subplots(ranks, len(loaded), figsize=(5.5 * len(loaded), 1 + 1.7 * ranks), squeeze=False, sharex="col",
                                   sharey=True)
    for column, (run, rows) in enumerate(loaded):
        for rank, steps in sorted(rows.items()):
            panel, numbers = axes[rank][column], range(len(steps))
            threads = run.get("threads", 1)
            computed = [1e3 * step["computed"] / threads for step in steps]
            foreign = [part * step["foreign"] / max(1, step["own"] + step["foreign"]) for part, step in zip(computed, steps)]
            waited = [1e3 * step["waited"] for step in steps]
            own = [all_of - part for all_of, part in zip(computed, foreign)]
            panel.stackplot(numbers, own, foreign, waited, colors=["#4c78a8", "#3f9c6b", "#dddddd"],
                            labels=["own cells", "cells of others", "waiting"])
            panel.set_ylabel(f"rank {rank}\nms in a step")
        axes[0][column].set_title(f"{run['variant']}: {run['time_s']:.2f} s")
        axes[-1][column].set_xlabel("time step")
    axes[0][-1].legend(loc="upper right")
    figure.tight_layout()
    save(figure, options.picture)


if __name__ == "__main__":
    main()
