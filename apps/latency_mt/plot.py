#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws latency over the size of messages, one line for each file that latency_mt --json wrote. Needs matplotlib."""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "common"))
from figures import figures, load, save


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE", help="file of --json")
    parser.add_argument("-o", "--output", default="latency.png", help="picture to write [latency.png]")
    options = parser.parse_args()
    form = {"variant": str, "in_flight": int, "threads": int, "compute_us": float, "latencies": [{"bytes": int, "latency_us": float}]}
    runs = [load(file, "latency_mt --json", form) for file in options.files]
    _, pyplot = figures()
    figure, axes = pyplot.subplots(figsize=(8, 4.5))
    for run in runs:
        computing = f", computing {run['compute_us']:g} us" if run["compute_us"] else ""
        threads = f", {run['threads']} threads" if run["threads"] > 1 else ""
        imbalance = f", {run['imbalance']}" if "imbalance" in run else ""
        axes.plot([row["bytes"] for row in run["latencies"]], [row["latency_us"] for row in run["latencies"]], marker="o",
                  label=f"{run['variant']}, {run['in_flight']} in flight{threads}{computing}{imbalance}")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("bytes of a message")
    axes.set_ylabel("latency in microseconds")
    axes.set_title("Half a round trip while many messages are in flight; lower is better")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend()
    figure.tight_layout()
    save(figure, options.output)


if __name__ == "__main__":
    main()
