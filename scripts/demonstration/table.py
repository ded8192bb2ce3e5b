# SPDX-License-Identifier: BSD-3-Clause
"""The table of one demonstration, or of several: a row of Markdown for each situation, in the order of the overview."""

import json
import os
import statistics

from demonstration import overview

HEAD = ("| situation | times the speed | of what one can write by hand | a block: times a task / times a message | `--only` |",
        "|---|---|---|---|---|")


def read(folder):
    """What a demonstration has written to this folder. ValueError says why there is nothing."""
    file = os.path.join(folder, "overview.json")
    try:
        with open(file, encoding="utf-8") as opened:
            result = json.load(opened)
    except OSError as error:
        raise ValueError(f"cannot read {file}: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error
    if not isinstance(result, dict) or result.get("what") != "scripts/demo.py":
        raise ValueError(f"{file} is not of scripts/demo.py")
    return result


def between(values, text):
    """The lowest to the highest of these values, as `text` writes one."""
    low, high = text(min(values)), text(max(values))
    return low if low == high else f"{low} to {high}"


def ratio(rows):
    """The medians of these runs of the demonstration; bold if it is a loss by the rule of one run."""
    medians = [row["median"] for row in rows]
    all_of = {"median": statistics.median(medians), "low": min(medians), "high": max(medians)}
    if len(rows) == 1:
        all_of = rows[0]
    text = between(medians, overview.times)
    return f"**{text}**" if overview.verdict(all_of) == "loses" else text


def by_hand(rows):
    """Of the others with which ours was compared."""
    labels = dict.fromkeys(other["label"] for row in rows for other in row["others"])
    return "; ".join(f"{ratio([other for row in rows for other in row['others'] if other['label'] == label])} of {label}"
                     for label in labels)


def block(rows, costs):
    """How many times what a task and what a message cost a block takes. Empty where nothing is computed."""
    found = []
    for name in ("task_s", "message_s"):
        ratios = [row["block_s"] / cost[name] for row, cost in zip(rows, costs) if row["block_s"] and cost[name]]
        found.append(between(ratios, lambda value: f"{value:.0f}") if ratios else "")
    return " / ".join(text or "unknown" for text in found) if any(found) else ""


def lines(results):
    """The table of these demonstrations, in the order of the last one; what it has not comes behind."""
    names = dict.fromkeys(row["name"] for result in reversed(results) for row in result["situations"])
    table = list(HEAD)
    for name in names:
        found = [(row, result["costs"]) for result in results for row in result["situations"] if row["name"] == name]
        rows, costs = zip(*found)
        last = rows[-1]
        table.append(f"| {last['title']}{last['where']}: {last['ours']} against {last['usual']} | {ratio(rows)} | {by_hand(rows)} | "
                     f"{block(rows, costs)} | `{name}` |")
    return table
