#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check_trace.py CASE THENCE [PROGRAM LAUNCHER...]

Checks of `thence trace join`, one function each, named for what must hold. PROGRAM (diagnose_program) writes real
timelines; LAUNCHER starts it on as many ranks as the number that is appended.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from command import main

HEAD = '{"displayTimeUnit":"ns",\n"traceEvents":['
# Text that looks like a member, inside of names.
EVENTS = [
    '{"ph":"M","name":"process_name","pid":%d,"tid":7,"ts":0.000,"args":{"name":"rank"}}',
    '{"ph":"b","name":"f (a,\\"ts\\":5.000.c:1)","pid":%d,"tid":7,"ts":1000.250,"cat":"continuation","id":"0x1"}',
    '{"ph":"e","name":"f (a,\\"ts\\":5.000.c:1)","pid":%d,"tid":7,"ts":1001.000,"cat":"continuation","id":"0x1"}',
]


def timeline(rank, host="one", offset="500000.000"):
    events = ",\n".join(event % (rank + 1) for event in EVENTS)
    return (f'{HEAD}\n{events}\n],\n"otherData":{{"rank":{rank},"host":"{host}","engine":"testsome","hook":"none",'
            f'"continuations":1,"dropped":2,"wall_clock_minus_ts_us":{offset}}}}}\n')


class Folder:
    """Files to join, and what the command made of them."""

    def __init__(self, thence, *texts):
        self.thence = thence
        self.kept = tempfile.TemporaryDirectory()
        self.path = Path(self.kept.name)
        self.files = []
        for number, text in enumerate(texts):
            self.files.append(str(self.path / f"run.{number}.json"))
            Path(self.files[-1]).write_text(text)
        self.output = self.path / "all.json"

    def join(self, *files, output=None):
        return subprocess.run([self.thence, "trace", "join", *(files or self.files), "-o", str(output or self.output)],
                              capture_output=True, text=True, check=False)

    def joined(self):
        done = self.join()
        assert done.returncode == 0, done
        assert f"{self.output}: {len(self.files)} rank" in done.stdout, done
        return json.loads(self.output.read_text())

    def refused(self, words, *files, output=None):
        before = sorted(self.path.iterdir())
        done = self.join(*files, output=output)
        assert done.returncode == 3, done
        assert done.stderr.startswith("thence trace join: ") and words in done.stderr, (words, done)
        assert sorted(self.path.iterdir()) == before, sorted(self.path.iterdir())


def times(trace, pid):
    return [event["ts"] for event in trace["traceEvents"] if event["pid"] == pid]


def ranks_of_one_host_keep_their_times(thence):
    trace = Folder(thence, timeline(0), timeline(1, offset="500000.004")).joined()
    originals = [json.loads(event % pid) for pid in (1, 2) for event in EVENTS]
    assert trace["traceEvents"] == originals, trace
    assert trace["otherData"] == {"ranks": 2, "continuations": 2, "dropped": 4}, trace


def ranks_of_other_hosts_are_moved_by_their_wall_clock(thence):
    trace = Folder(thence, timeline(0), timeline(1, "two", "499000.500"), timeline(2, "two", "499000.999"),
                   timeline(3, "three", "500000.750")).joined()
    assert times(trace, 1) == [0, 1000.250, 1001.000], trace
    assert times(trace, 2) == times(trace, 3) == [0, 0.750, 1.500], trace
    assert times(trace, 4) == [0, 1001.000, 1001.750], trace
    early = Folder(thence, timeline(0), timeline(1, "two", "498999.500")).joined()
    assert times(early, 2) == [0, -0.250, 0.500], early


def wall_clocks_of_today_are_exact_to_a_nanosecond(thence):
    trace = Folder(thence, timeline(0, offset="1790000000000000.001"),
                   timeline(1, "two", "1790000000000000.003")).joined()
    assert times(trace, 2) == [0, 1000.252, 1001.002], trace


def bytes_that_are_no_utf_8_are_replaced(thence):
    folder = Folder(thence, timeline(0), timeline(1, "two"))
    file = Path(folder.files[1])
    file.write_bytes(file.read_bytes().replace(b"f (a", b"f (\xe9"))
    assert folder.joined()["traceEvents"][4]["name"].startswith("f (\ufffd,"), folder.output.read_text()


def one_rank_alone_is_no_fault(thence):
    assert Folder(thence, timeline(5)).joined()["otherData"]["ranks"] == 1


def an_incomplete_timeline_is_refused(thence):
    lines = timeline(1).splitlines(keepends=True)
    for cut in range(len(lines)):
        Folder(thence, timeline(0), "".join(lines[:cut])).refused("run.1.json")
    Folder(thence, timeline(0), "".join(lines)[:-4]).refused("run.1.json")


def what_is_no_timeline_is_refused(thence):
    text = timeline(1)
    for other in ("", "\n", "no JSON\n", '{"traceEvents":[]}', "[\n]\n", "\0" * 100,
                  text.replace('"ts":1000.250', '"ts":1000'), text.replace('"ts":1000.250,', ""),
                  text.replace('"ts":1000.250', '"ts":99999999999999999999.250'), text.replace("0.000,", "x.000,"),
                  text.replace('"rank":1,', ""), text.replace('"host":"one"', '"host":1'),
                  text.replace('{"ph":"b"', '{"phase":"b"'), text.replace("},\n{", "}\n{", 1)):
        assert other != text
        Folder(thence, timeline(0), other).refused("run.1.json")


def the_error_names_file_and_line(thence):
    Folder(thence, timeline(0).replace('"ts":1001.000,', "")).refused("run.0.json:5: this event has no time")


def files_that_cannot_be_joined_are_refused(thence):
    folder = Folder(thence, timeline(0), timeline(0))
    folder.refused("are both of rank 0")
    folder.refused("cannot read /nowhere.json: No such file", "/nowhere.json")
    folder.refused("is one of the files to join", output=folder.files[0])
    folder.refused("cannot write /proc/nowhere/all.json", folder.files[0], output="/proc/nowhere/all.json")
    joined = Folder(thence, timeline(0), timeline(1))
    joined.joined()
    joined.refused("joined already", str(joined.output), output=joined.path / "twice.json")


def wrong_usage_is_told(thence):
    for words in (["trace"], ["trace", "join"], ["trace", "join", "a.json"], ["trace", "join", "-o", "a.json"],
                  ["trace", "cut"]):
        done = subprocess.run([thence, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and done.stderr, (words, done)


def timelines_of_a_run_are_joined(thence, program, *launcher):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*launcher, "2", program, "traffic", "50"], check=True, capture_output=True, text=True,
                              env={**os.environ, "THENCE_TRACE": folder + "/r"})
        files = [f"{folder}/r.{rank}.json" for rank in (0, 1)]
        traces = [json.loads(Path(file).read_text()) for file in files]
        subprocess.run([thence, "trace", "join", *files, "-o", folder + "/all.json"], check=True)
        joined = json.loads(Path(folder + "/all.json").read_text())
    assert joined["traceEvents"] == traces[0]["traceEvents"] + traces[1]["traceEvents"]
    attached = sum(int(line.split()[-1]) for line in done.stdout.splitlines() if line.startswith("attached"))
    assert joined["otherData"]["continuations"] == attached > 0, (joined["otherData"], done.stdout)
    assert {event["pid"] for event in joined["traceEvents"]} == {1, 2}


if __name__ == "__main__":
    sys.exit(main(globals(), __doc__))
