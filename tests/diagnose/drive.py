#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: drive.py SUBJECT SOURCE CASE LAUNCHER...

Runs the program SUBJECT, compiled from SOURCE with debug information, under LAUNCHER (up to the flag before the number
of ranks) and checks what the library writes about it. CASE is one of the functions below.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from check_trace import check as check_trace  # noqa: E402

SKIPPED = 77
subject, source, case, *launcher = sys.argv[1:] if len(sys.argv) > 4 else [None] * 4


def line(mark):
    """Number of the source line with this mark."""
    found = [i for i, text in enumerate(Path(source).read_text().splitlines(), 1) if f"/* MARK {mark} */" in text]
    assert len(found) == 1, (mark, found)
    return found[0]


def place(function, mark):
    return rf"{function} \(\S*{re.escape(Path(source).name)}:{line(mark)}\)"


def run_all(words, ranks=1, settings=None, options=(), prefix=(), until=None):
    """Output, standard error and exit code of a run. With `until`, ends the processes that reported once that was written."""
    command = [launcher[0], *options, *launcher[1:], str(ranks), *prefix, subject, *words]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("THENCE_")}
    process = subprocess.Popen(command, env={**environment, **(settings or {})}, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    errors, ended = [], []

    def follow():
        for text in process.stderr:
            errors.append(text)
            so_far = "".join(errors)
            if until and not ended and re.search(until, so_far):
                ended.extend(int(pid) for pid in set(re.findall(r"  pid (\d+) on ", so_far)))
                for pid in ended:
                    os.kill(pid, signal.SIGKILL)

    follower = threading.Thread(target=follow)
    follower.start()
    watchdog = threading.Timer(40, process.kill)
    watchdog.start()
    output = process.stdout.read()
    code = process.wait()
    watchdog.cancel()
    follower.join(5)
    text = "".join(errors)
    print(f"$ {' '.join(command)}\n{output}{text}exit code {code}")
    return output, text, code


def run(words, until=None, good=True, **more):
    """Output and standard error as of run_all(), of a run that ends well unless it is ended."""
    output, text, code = run_all(words, until=until, **more)
    assert until or not good or code == 0, f"exit code {code}"
    return output, text


def expect(text, pattern, times=None):
    found = re.findall(pattern, text)
    assert found if times is None else len(found) == times, f"{len(found)} of {times or 'some'}: {pattern}"
    return found


def attached(output):
    return sum(int(n) for n in re.findall(r"attached (\d+)", output))


def stall_names_places_counts_and_age():
    _, text = run(["late"], settings={"THENCE_STALL": "300ms"})
    first = text.split("thence[0]: stall: ")[1]
    expect(first, r"no continuation has completed for 0\.\d s, 6 outstanding")
    expect(first, r"pid \d+ on \S+, engine \S+, hook \S+")
    age = r"for (?:0\.\d s to )?(0\.\d) s, attached at "
    ages = expect(first, rf"3 continuations {age}" + place("receive_from", "receive") + ", registered with CR 0\n")
    assert 0.2 <= float(ages[0]) <= 0.9, ages
    expect(first, r"waiting for 3 of 3 operations: 3 (pushed by MPI|polled)\n")
    expect(first, rf"1 continuation {age}" + place("late", "pair"))
    expect(first, r"waiting for 1 of 2 operations: 1 (pushed by MPI|polled)\n")
    expect(first, rf"1 continuation {age}" + place("late", "kept"))
    expect(first, r"waiting for 1 of 1 operation: 1 persistent, polled\n")
    expect(first, rf"1 continuation {age}" + place("late", "outer") + r", registered with CR 1 \(poll-only\)\n")
    expect(first, r"waiting for 1 of 1 operation: 1 CR \(CR 0: 5 registered\)\n")


def stall_backs_off_and_ends():
    _, text = run(["late"], settings={"THENCE_STALL": "300ms"})
    times = [float(t) for t in expect(text, r"stall: no continuation has completed for ([\d.]+) s")]
    assert 1 <= len(times) <= 2 and times[0] >= 0.3, times  # at 0.3 s and 0.6 s; 1.2 s does not come
    assert len(times) == 1 or times[1] >= 0.6, times
    expect(text, r"stall over: continuations complete again after [\d.]+ s", times=1)
    assert text.rindex("stall over") > text.rindex("attached at"), "a report after the stall"
    expect(text, "MPI_Finalize", times=0)


def stall_tells_complete_from_pending():
    _, text = run(["untested"], settings={"THENCE_STALL": "0.3s"})
    expect(text, place("receive_from", "receive") + r".* \(poll-only\)\n.*"
           "1 complete, not run: will run when CR 0 is tested or waited for")
    expect(text, place("untested", "unstarted") + r".* \(not started\)\n.*"
           "1 complete, not run: will run after CR 1 is started")


def stall_names_the_callback_that_does_not_return():
    _, text = run(["slow_callback"], settings={"THENCE_STALL": "300ms"})
    callback = rf"sleeps_in_callback \(\S+:{line('callback') - 1}\)"
    expect(text, rf"1 callback running for 0\.\d s on thread \d+ .*: {callback}, attached at "
           + place("slow_callback", "slow"))


def slow_callbacks_are_told_once_per_place():
    _, text = run(["slow_callback"], settings={"THENCE_SLOW_CONTINUATION": "20ms"})
    callback = rf"sleeps_in_callback \(\S+:{line('callback') - 1}\)"
    expect(text, rf"thence\[0\]: slow continuation: {callback} ran for \d+\.\d ms on thread \d+ \(\S+\), attached at "
           + place("slow_callback", "slow"), times=1)
    _, text = run(["slow_callback"], settings={"THENCE_SLOW_CONTINUATION": "30s"})
    expect(text, "slow continuation", times=0)
    with tempfile.TemporaryDirectory() as folder:  # the timeline observes too
        _, text = run(["slow_callback"], settings={"THENCE_SLOW_CONTINUATION": "20ms", "THENCE_TRACE": f"{folder}/t"})
        expect(text, "slow continuation: ", times=1)
    _, text = run(["traffic", "10"], settings={"THENCE_PROGRESS": "Thread"})
    expect(text, r"THENCE_PROGRESS=Thread: no such way\. Write thread .* or off ", 1)
    _, text = run(["traffic", "10"], settings={"THENCE_SLOW_CONTINUATION": "soon"})
    expect(text, r"THENCE_SLOW_CONTINUATION=soon: no duration from 1ms .* as in THENCE_SLOW_CONTINUATION=5ms\. Slow", 1)


def stall_without_addr2line_names_symbols():
    with tempfile.TemporaryDirectory() as empty:
        _, text = run(["late"], settings={"THENCE_STALL": "300ms"}, prefix=["/usr/bin/env", f"PATH={empty}"])
    expect(text, rf"3 continuations for .*, attached at (\S+ in )?{Path(subject).name}\+0x[0-9a-f]+, registered")
    expect(text, Path(source).name + ":", times=0)


def outliving():
    """Settings of run() under which a job goes on when one of its ranks is killed."""
    version = subprocess.run([launcher[0], "--version"], capture_output=True, text=True).stdout
    if "HYDRA" in version or "Intel" in version:  # some ignore the option for a signal: hide the signal from it
        return {"options": ["-disable-auto-cleanup"], "prefix": ["/bin/sh", "-c", '"$@"; true', "sh"]}
    return {"options": ["--enable-recovery"]}


LOST = r"waiting for 1 of 1 operation: 1 (pushed by MPI|polled)\n"


def killed_peer_is_reported_by_the_survivor():
    _, text = run(["killed"], ranks=2, settings={"THENCE_STALL": "1s"}, until=LOST, **outliving())
    expect(text, r"thence\[0\]: stall: no continuation has completed for 1\.\d s, 1 outstanding")
    expect(text, r"thence\[0\]:   1 continuation for .*" + place("receive_from", "receive"))


def alive(pid):
    """Whether that process runs; one that is over but not yet waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def ends_soon(words, ranks, settings=None):
    """Runs a job of which one rank kills itself, in MPI's default mode: the job fails, and soon, and takes all along."""
    started = time.monotonic()
    output, _, code = run_all(words, ranks=ranks, settings=settings)
    took = time.monotonic() - started
    assert code != 0, "a job that lost a rank says that all is well"
    assert took < 20, f"ended after {took:.0f} s"
    pids = [int(pid) for pid in expect(output, r"process (\d+)\n", times=ranks)]
    while any(alive(pid) for pid in pids) and time.monotonic() < started + took + 5:
        time.sleep(0.05)
    left = [pid for pid in pids if alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, f"{len(left)} of {ranks} processes outlive the job"


def killed_peer_ends_the_job():
    ends_soon(["killed"], ranks=2)
    ends_soon(["killed"], ranks=2, settings={"THENCE_PROGRESS": "thread"})


def killed_peer_ends_the_job_under_traffic():
    ends_soon(["killed_in_traffic"], ranks=3)
    ends_soon(["killed_in_traffic"], ranks=3, settings={"THENCE_PROGRESS": "thread"})


def silent_peer_is_reported_by_the_survivor():
    _, text = run(["silent"], ranks=2, settings={"THENCE_STALL": "1s"}, until=LOST)
    expect(text, r"thence\[0\]:   1 continuation for .*" + place("receive_from", "receive"))


def finalize_reports_what_is_outstanding():
    _, text = run(["unfinished"])
    expect(text, r"MPI_Finalize: 3 continuations are outstanding and will not run", times=1)
    # Nobody observed, so no age.
    expect(text, r"  2 continuations, attached at " + place("receive_from", "receive"))
    expect(text, r"  1 continuation, attached at " + place("unfinished", "forum") + r", registered with CR 1 \(not st")


def nothing_is_said_when_nothing_is_wrong():
    _, text = run(["traffic", "100"])
    expect(text, "thence", times=0)
    _, text = run(["traffic", "100"], settings={"THENCE_STALL": "20s"})
    expect(text, "thence", times=0)


def bad_settings_are_explained_and_do_no_harm():
    for value in ("soon", "-3s", "5 hours", "nan", "1e99s", "3sec"):
        output, text = run(["traffic", "10"], settings={"THENCE_STALL": value})
        expect(text, rf"THENCE_STALL={re.escape(value)}: no duration .* as in THENCE_STALL=10s\. There will be no", 1)
        assert attached(output) > 0
    for value in ("0", "off", ""):
        _, text = run(["traffic", "10"], settings={"THENCE_STALL": value})
        expect(text, "thence", times=0)
    output, text = run(["traffic", "10"], settings={"THENCE_TRACE": "/nowhere/at/all"})
    expect(text, r"THENCE_TRACE: cannot write /nowhere/at/all\.0\.json: No such file or directory\. There is no", 1)
    assert attached(output) > 0
    with tempfile.TemporaryDirectory() as folder:
        _, text = run(["traffic", "10"], settings={"THENCE_TRACE": f"{folder}/t", "THENCE_TRACE_LIMIT": "many"})
        expect(text, r"THENCE_TRACE_LIMIT=many: no positive number of continuations. The limit stays at 250000", 1)
    if Path("/dev/full").exists():  # every write to it fails
        with tempfile.TemporaryDirectory() as folder:
            os.symlink("/dev/full", f"{folder}/t.0.json")
            _, text = run(["traffic", "10"], settings={"THENCE_TRACE": f"{folder}/t"})
            expect(text, r"THENCE_TRACE: cannot write all of \S+t\.0\.json: No space left on device", 1)


def timeline_has_a_span_per_continuation():
    with tempfile.TemporaryDirectory() as folder:
        output, text = run(["traffic", "200"], settings={"THENCE_TRACE": f"{folder}/t"})
        expect(text, "thence", times=0)
        found = check_trace(f"{folder}/t.0.json")
    assert found["spans"] == found["callbacks"] == attached(output) >= 200, found
    assert found["open"] == found["dropped"] == 0, found
    assert any(re.fullmatch(place("traffic", "traffic"), name) for name in found["names"]), found["names"]
    assert all(name.startswith("count_it (") for name in found["calls"]), found["calls"]


def timeline_shows_what_never_ran():
    with tempfile.TemporaryDirectory() as folder:
        output, text = run(["traffic_kept", "20"], settings={"THENCE_TRACE": f"{folder}/t"})
        expect(text, r"MPI_Finalize: 1 continuation is outstanding and will not run", times=1)
        expect(text, r"1 continuation for \d+\.\d s, attached at ")
        found = check_trace(f"{folder}/t.0.json")
    assert found["spans"] == attached(output) == found["callbacks"] + 1 and found["open"] == 1, found


def timeline_is_bounded():
    with tempfile.TemporaryDirectory() as folder:
        settings = {"THENCE_TRACE": f"{folder}/t", "THENCE_TRACE_LIMIT": "300"}
        output, text = run(["traffic", "1000"], settings=settings)
        found = check_trace(f"{folder}/t.0.json")
    # Continuations complete at once take part in the limit, though they are no spans.
    assert 0 < found["spans"] <= 300 and found["dropped"] > 0, found
    assert found["spans"] + found["dropped"] >= attached(output), found
    expect(text, rf"THENCE_TRACE_LIMIT was reached, so {found['dropped']} later continuations are not in", times=1)


def timeline_has_room_for_many_threads():
    with tempfile.TemporaryDirectory() as folder:
        settings = {"THENCE_TRACE": f"{folder}/t", "THENCE_TRACE_LIMIT": "2000"}
        output, text = run(["short_threads", "200"], settings=settings)
        found = check_trace(f"{folder}/t.0.json")
    assert attached(output) == 800 and found["spans"] == 800 and found["dropped"] == 0, found


def timelines_of_ranks_can_be_joined():
    with tempfile.TemporaryDirectory() as folder:
        output, _ = run(["traffic", "50"], ranks=2, settings={"THENCE_TRACE": folder + "/r{rank}.json"})
        first, second = check_trace(f"{folder}/r0.json"), check_trace(f"{folder}/r1.json")
    assert (first["rank"], second["rank"]) == (0, 1)
    assert not first["ids"] & second["ids"] and not first["pids"] & second["pids"]
    assert first["spans"] + second["spans"] == attached(output)


def timeline_survives_exit_without_finalize():
    with tempfile.TemporaryDirectory() as folder:
        output, _ = run(["no_finalize", "50"], settings={"THENCE_TRACE": f"{folder}/%r.json",
                                                         "THENCE_STALL": "10s"}, good=False)
        found = check_trace(f"{folder}/0.json")
    assert found["spans"] == attached(output) > 0, found


def exit_without_finalize_is_no_crash_with_threads_of_the_library():
    # Launchers call an end without MPI_Finalize an error; the program's own end is what counts.
    _, text = run(["no_finalize", "20"], settings={"THENCE_STALL": "10s", "THENCE_PROGRESS": "thread"}, good=False,
                  prefix=["/bin/sh", "-c", '"$@"; echo "ended with $?" >&2', "sh"])
    expect(text, r"ended with 0\n", times=1)


def timeline_and_stall_report_together():
    with tempfile.TemporaryDirectory() as folder:
        _, text = run(["late"], settings={"THENCE_STALL": "300ms", "THENCE_TRACE": f"{folder}/t"})
        found = check_trace(f"{folder}/t.0.json")
    expect(text, r"3 continuations for .*" + place("receive_from", "receive"))
    assert found["spans"] == found["callbacks"] == 6, found


CASES = {name: thing for name, thing in list(globals().items())
         if callable(thing) and getattr(thing, "__module__", "") == "__main__"
         and name not in ("line", "place", "run", "run_all", "expect", "attached", "outliving", "alive", "ends_soon")}


def main():
    if len(sys.argv) < 5:
        print(__doc__ + "\n" + "\n".join(CASES))
        return 0 if sys.argv[1:2] == ["--help"] else 2
    if shutil.which("addr2line") is None and shutil.which("llvm-addr2line") is None:
        print("skipped: no addr2line")
        return SKIPPED
    CASES[case]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
