#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check_trace.py FILE...

Checks that each file is a timeline in Chrome's trace format as Perfetto reads it: each span has one begin and one end,
which is not before the begin; callbacks of one thread do not overlap; the last value of the counter is the number of
continuations whose callback never ran. Prints how many spans and callbacks each file has.
"""

import json
import sys
from collections import defaultdict

SLACK = 0.002  # microseconds: times have three decimal places


def by_phase(events):
    result = defaultdict(list)
    for event in events:
        result[event["ph"]].append(event)
    return result


def spans(phases, category):
    """{id: (begin event, end event)} of one category. Asserts one begin and one end for each id, in this order."""
    begins = [e for e in phases["b"] if e["cat"] == category]
    ends = {e["id"]: e for e in phases["e"] if e["cat"] == category}
    result = {e["id"]: (e, ends[e["id"]]) for e in begins}
    assert len(begins) == len(result) == len(ends), f"{category}: {len(begins)} begin, {len(ends)} end"
    for begin, end in result.values():
        assert begin["name"] == end["name"], (begin, end)
        assert begin["ts"] <= end["ts"] + SLACK, (begin, end)
    return result


def check_tracks(slices):
    tracks = defaultdict(list)
    for event in slices:
        assert event["dur"] >= 0, event
        tracks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for track, times in tracks.items():
        times.sort()
        for (_, end), (begin, _) in zip(times, times[1:]):
            assert end <= begin + SLACK, f"callbacks overlap on {track}: one ends at {end}, the next begins at {begin}"


def check(path):
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    phases = by_phase(trace["traceEvents"])
    assert set(phases) <= set("MbeXC"), set(phases)
    waiting, ready = spans(phases, "continuation"), spans(phases, "ready")
    calls = {e["args"]["id"]: e for e in phases["X"]}
    assert len(calls) == len(phases["X"]), "two callbacks for one continuation"
    assert set(calls) <= set(waiting) and set(ready) <= set(waiting)
    for number, call in calls.items():
        assert waiting[number][1]["ts"] <= call["ts"] + SLACK, f"callback before completion: {call}"
        assert call["name"] and waiting[number][0]["name"], call
    check_tracks(phases["X"])
    named = {(e["pid"], e["tid"]) for e in phases["M"] if e["name"] == "thread_name"}
    assert {(e["pid"], e["tid"]) for e in phases["X"]} <= named, "a track without a name"

    counter = sorted(phases["C"], key=lambda e: e["ts"])
    values = [e["args"]["continuations"] for e in counter]
    assert all(value >= 0 for value in values), values
    open_spans = [b for b, _ in waiting.values() if b["args"].get("state") in ("incomplete", "not run")]
    if waiting:
        assert values[-1] == len(open_spans), f"counter ends at {values[-1]}, {len(open_spans)} never ran"
    other = trace["otherData"]
    assert other["continuations"] == len(waiting)
    return {"spans": len(waiting), "callbacks": len(calls), "open": len(open_spans), "dropped": other["dropped"],
            "rank": other["rank"], "ids": set(waiting), "pids": {e["pid"] for e in trace["traceEvents"]},
            "names": {b["name"] for b, _ in waiting.values()}, "calls": {e["name"] for e in calls.values()}}


def main():
    if len(sys.argv) < 2 or sys.argv[1] == "--help":
        print(__doc__)
        return 0 if len(sys.argv) > 1 else 2
    for path in sys.argv[1:]:
        try:
            found = check(path)
        except (AssertionError, KeyError, ValueError) as fault:
            print(f"{path}: {type(fault).__name__}: {fault}")
            return 1
        print(f"{path}: rank {found['rank']}, {found['spans']} continuations, {found['callbacks']} callbacks, "
              f"{found['open']} never ran, {found['dropped']} dropped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
