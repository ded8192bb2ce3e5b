#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check_command.py CASE PROGRAM

Checks of the command `thence` without its benchmarks, one function each, named for what must hold.
"""

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

from command import ENGINES, main, run, succeed


def info_says_what_is_in_force(program):
    facts = json.loads(succeed(run(program, "info", "--json")))
    assert facts["engine"] in ENGINES and len(facts["engine_why"]) > 10, facts
    assert facts["mpi"]["library"] and facts["mpi"]["thread_level"] == "MPI_THREAD_MULTIPLE", facts
    assert facts["hook"] in {"opal_progress_register", "MPIX_Async_start", "none"}, facts
    assert facts["helper"] == "not started" and facts["abi"].startswith(("native", "standard")), facts
    assert set(facts["settings"]) == {"THENCE_ENGINE", "THENCE_PROGRESS", "THENCE_PROGRESS_CPU", "THENCE_WAIT", "THENCE_STALL", "THENCE_TRACE",
                                      "THENCE_TRACE_LIMIT", "THENCE_SLOW_CONTINUATION", "THENCE_POOLS_MODE",
                                      "THENCE_CHECK_STREAMS", "THENCE_REPORT", "THENCE_ONESIDED"}, facts
    assert {each["memory"] for each in facts["one_sided"]} == {"memory of Thence", "memory of the program"}, facts
    assert all(each["transport"] == "memory" and each["why"] for each in facts["one_sided"]), facts
    messages = json.loads(succeed(run(program, "info", "--json", THENCE_ONESIDED="messages")))["one_sided"]
    assert {(each["transport"], each["why"]) for each in messages} == {("messages", "THENCE_ONESIDED=messages")}, messages
    text = succeed(run(program, "info"))
    values = [facts[name] for name in ("engine", "engine_why", "hook", "helper", "abi")]
    for fact in (*values, facts["mpi"]["library"], *facts["settings"]):
        assert fact in text, f"`thence info` does not say {fact!r}:\n{text}"
    for name in facts["settings"]:
        assert re.search(rf"^  {name} +\S", text, re.MULTILINE), f"no space after {name}:\n{text}"


def info_tells_what_task_runtimes_can_do(program):
    runtimes = json.loads(succeed(run(program, "info", "--json")))["task_runtimes"]
    assert runtimes["OpenMP, detached tasks"].startswith("delays the end of tasks; not: blocks tasks"), runtimes
    assert runtimes["plain threads"].startswith("blocks tasks, lets tasks sleep; not: delays"), runtimes
    assert runtimes["plain threads"].endswith(", tells which tasks wait"), runtimes
    assert runtimes["ALPI"], runtimes
    assert re.search(r"^  ALPI +\S", succeed(run(program, "info")), re.MULTILINE)


def info_tells_whose_each_extension_is(program):
    extensions = json.loads(succeed(run(program, "info", "--json")))["extensions"]
    queues = {f"enqueue on {kind}" for kind in ("host queues", "CUDA streams", "other queues")}
    assert queues | {"GPU queries", "streams", "multiplex communicators"} <= extensions.keys(), extensions
    for name, about in extensions.items():
        assert about["state"] in ("native", "ours", "not possible") and about["why"], (name, about)
    text = succeed(run(program, "info"))
    assert re.search(r"^  GPU queries +(native|ours): \S", text, re.MULTILINE), text


def info_follows_the_settings(program):
    facts = json.loads(succeed(run(program, "info", "--json", "--level", "single", THENCE_ENGINE="testsome")))
    assert facts["engine"] == "testsome", facts
    assert "MPI_THREAD_MULTIPLE" in facts["helper"], facts
    assert facts["settings"]["THENCE_ENGINE"]["value"] == "testsome", facts
    assert facts["settings"]["THENCE_ENGINE"]["from"] == "environment", facts
    assert facts["settings"]["THENCE_STALL"] == {"value": "off", "from": "default", "text": None, "complaint": None}, facts
    assert facts["mpi"]["thread_level_asked"] == "MPI_THREAD_SINGLE", facts


def an_engine_that_does_not_exist_is_reported(program):
    result = run(program, "info", "--json", THENCE_ENGINE="no_such_engine")
    facts = json.loads(succeed(result))
    assert facts["engine"] == "testsome", facts
    why = "THENCE_ENGINE=no_such_engine does not work here: "
    setting = facts["settings"]["THENCE_ENGINE"]
    assert setting["value"] == "testsome" and setting["complaint"] == facts["engine_why"], setting
    assert facts["engine_why"].startswith(why) and all(name in facts["engine_why"] for name in ENGINES), facts
    reported = [line for line in result.stderr.splitlines() if line.startswith("thence: ")]
    assert reported == [f"thence: {facts['engine_why']}; using testsome"], result.stderr
    # An empty value is no name.
    result = run(program, "info", "--json", THENCE_ENGINE="")
    assert "thence: " not in result.stderr, result.stderr
    assert json.loads(succeed(result))["engine_why"] == json.loads(succeed(run(program, "info", "--json")))["engine_why"]


def info_prints_json_whatever_a_setting_has(program):
    value = 'a "quoted" \\ path\twith\ncontrol, \u00e4, \U0001f600 and '
    facts = json.loads(succeed(run(program, "info", "--json", THENCE_TRACE=b"".join([value.encode(), b"\xff\xc0\xaf"]))))
    assert facts["settings"]["THENCE_TRACE"]["value"] == value + "\ufffd" * 3, facts["settings"]


def info_names_settings_that_have_no_effect(program):
    bad = {"THENCE_STALL": "soon", "THENCE_PROGRES": "thread", "THENCE_POOLS_MODE": "nonsense"}
    result = run(program, "info", "--json", **bad)
    facts = json.loads(succeed(result))
    stall = facts["settings"]["THENCE_STALL"]
    assert stall["value"] == "off" and stall["text"] == "soon" and "not a duration" in stall["complaint"], stall
    assert "neither a completion method" in facts["settings"]["THENCE_POOLS_MODE"]["complaint"], facts
    assert facts["settings"]["THENCE_POOLS_MODE"]["value"].startswith("none"), facts
    assert facts["unknown_settings"]["THENCE_PROGRES"] == "no setting has this name", facts
    assert result.stderr.count("THENCE_STALL=soon: not a duration") == 1, result.stderr
    text = succeed(run(program, "info", **bad))
    assert re.search(r"^  THENCE_PROGRES +no setting has this name$", text, re.MULTILINE), text
    assert re.search(r"^  THENCE_STALL +off \(environment: soon\): THENCE_STALL=soon: not a", text, re.MULTILINE), text


def wrong_usage_is_told(program):
    for arguments in ([], ["no_such_command"], ["info", "--level", "half"], ["info", "--no-such-option"]):
        result = run(program, *arguments)
        assert result.returncode == 2 and result.stderr, (arguments, result)
    for arguments in (["--help"], ["info", "--help"], ["--version"]):
        assert succeed(run(program, *arguments)), arguments


def bench_that_is_not_there_says_how_to_build_it(program):
    with tempfile.TemporaryDirectory() as folder:
        alone = shutil.copy(program, folder)
        for arguments in (["bench"], ["bench", "--list"], ["bench", "--help"]):
            result = run(alone, *arguments)
            assert result.returncode == 3 and not result.stdout, result
            assert "thence-bench" in result.stderr and "-DTHENCE_BUILD_BENCH=ON" in result.stderr, result
        assert "bench" in succeed(run(alone, "--help"))


def the_manual_lists_every_option(program):
    page = (Path(__file__).resolve().parents[3] / "docs/man/thence.1.in").read_text().replace("\\-", "-")
    has_bench = run(program, "bench", "--help").returncode == 0
    for part in ([], ["info"], ["run"], ["trace"], ["trace", "join"], *([["bench"], ["doctor"]] if has_bench else [])):
        text = succeed(run(program, *part, "--help"))
        options = set(re.findall(r"^ +(?:-\w,)?(--[a-z-]+)", text, re.MULTILINE))
        assert "--help" in options, text
        for option in options:
            assert rf"\fB{option}\fR" in page, f"thence(1) does not have {option} of thence {' '.join(part)}"
        for level in re.findall(r"{([a-z,]+)}", text):
            assert all(rf"\fB{value}\fR" in page for value in level.split(",")), level


if __name__ == "__main__":
    sys.exit(main(globals(), __doc__))
