#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: drive.py PROGRAM SOURCE CASE LAUNCHER...

Runs PROGRAM, which was compiled from SOURCE with debug information, and checks the reports that the library writes.
LAUNCHER is the command line of the MPI launcher up to the flag before the number of ranks. CASE is the name of one of
the functions below.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from check_trace import check as check_trace  # noqa: E402

program, source, case, *launcher = sys.argv[1:] if len(sys.argv) > 4 else [None] * 4


def line(mark):
    """Number of the source line that has the comment MARK `mark`."""
    found = [i for i, text in enumerate(Path(source).read_text().splitlines(), 1) if f"/* MARK {mark} */" in text]
    assert len(found) == 1, (mark, found)
    return found[0]


def location(function, mark):
    """Pattern of a source location as the reports write it."""
    return rf"{function} \(\S*{re.escape(Path(source).name)}:{line(mark)}\)"


def run_all(words, ranks=1, settings=None, options=(), prefix=(), until=None):
    """Runs the program and returns its output, standard error and exit code.

    If standard error matches the pattern `until`, the processes that have written a report are killed.
    """
    command = [launcher[0], *options, *launcher[1:], str(ranks), *prefix, program, *words]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("THENCE_")}
    process = subprocess.Popen(command, env={**environment, **(settings or {})}, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    errors, killed = [], []

    def follow():
        for text in process.stderr:
            errors.append(text)
            so_far = "".join(errors)
            if until and not killed and re.search(until, so_far):
                killed.extend(int(pid) for pid in set(re.findall(r"  pid (\d+) on ", so_far)))
                for pid in killed:
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
    """As run_all(), without the exit code, which must be 0 unless `until` is given or `good` is false."""
    output, text, code = run_all(words, until=until, **more)
    assert until or not good or code == 0, f"exit code {code}"
    return output, text


def expect(text, pattern, times=None):
    found = re.findall(pattern, text)
    assert found if times is None else len(found) == times, f"{len(found)} of {times or 'some'}: {pattern}"
    return found


def stalled(output):
    """How long the program `late` let its continuations wait."""
    return float(expect(output, r"stalled for ([\d.]+) s", times=1)[0])


def attached(output):
    return sum(int(n) for n in re.findall(r"attached (\d+)", output))


def stall_report_has_call_sites_counts_and_age():
    output, text = run(["late"], settings={"THENCE_STALL": "300ms"})
    first = text.split("thence[0]: stall: ")[1]
    expect(first, r"no continuation has completed for \d+\.\d s, 6 outstanding")
    expect(first, r"pid \d+ on \S+, engine \S+, hook \S+")
    age = r"for (?:\d+\.\d s to )?(\d+\.\d) s, attached at "
    ages = expect(first, rf"3 continuations {age}" + location("receive_from", "receive") + ", registered with CR 0\n")
    assert 0.2 <= float(ages[0]) <= stalled(output) + 0.1, ages
    expect(first, r"waiting for 3 of 3 operations: 3 (pushed by MPI|polled)\n")
    expect(first, rf"1 continuation {age}" + location("late", "pair"))
    expect(first, r"waiting for 1 of 2 operations: 1 (pushed by MPI|polled)\n")
    expect(first, rf"1 continuation {age}" + location("late", "kept"))
    expect(first, r"waiting for 1 of 1 operation: 1 persistent, polled\n")
    expect(first, rf"1 continuation {age}" + location("late", "outer") + r", registered with CR 1 \(poll-only\)\n")
    expect(first, r"waiting for 1 of 1 operation: 1 CR \(CR 0: 5 registered\)\n")


def stall_reports_become_rarer_and_end():
    output, text = run(["late"], settings={"THENCE_STALL": "300ms"})
    times = [float(t) for t in expect(text, r"stall: no continuation has completed for ([\d.]+) s")]
    assert all(at >= 0.3 * 2**i for i, at in enumerate(times)), times  # at 0.3 s, 0.6 s, 1.2 s, ...
    assert times[-1] <= stalled(output) + 0.1, times
    expect(text, r"stall over: operations complete again after [\d.]+ s", times=1)
    assert text.rindex("stall over") > text.rindex("attached at"), "a report after the stall"
    expect(text, "MPI_Finalize", times=0)


def stall_report_separates_complete_from_pending():
    _, text = run(["untested"], settings={"THENCE_STALL": "0.3s"})
    expect(text, location("receive_from", "receive") + r".* \(poll-only\)\n.*"
           "1 complete, callback not run yet: will run when CR 0 is tested or waited for")
    expect(text, location("untested", "unstarted") + r".* \(not started\)\n.*"
           "1 complete, callback not run yet: will run after CR 1 is started")


def stall_report_names_the_callback_that_does_not_return():
    _, text = run(["slow_callback"], settings={"THENCE_STALL": "300ms"})
    callback = rf"sleeps_in_callback \(\S+:{line('callback') - 1}\)"
    expect(text, rf"1 callback running for \d+\.\d s on thread \d+ .*: {callback}, attached at "
           + location("slow_callback", "slow"))


def slow_callback_is_reported_once_per_call_site():
    _, text = run(["slow_callback"], settings={"THENCE_SLOW_CONTINUATION": "20ms"})
    callback = rf"sleeps_in_callback \(\S+:{line('callback') - 1}\)"
    expect(text, rf"thence\[0\]: slow continuation: {callback} ran for \d+\.\d ms on thread \d+ \(\S+\), attached at "
           + location("slow_callback", "slow"), times=1)
    _, text = run(["slow_callback"], settings={"THENCE_SLOW_CONTINUATION": "30s"})
    expect(text, "slow continuation", times=0)
    with tempfile.TemporaryDirectory() as folder:  # the observer of the timeline reports them too
        _, text = run(["slow_callback"], settings={"THENCE_SLOW_CONTINUATION": "20ms", "THENCE_TRACE": f"{folder}/t"})
        expect(text, "slow continuation: ", times=1)
    _, text = run(["traffic", "10"], settings={"THENCE_PROGRESS": "Thread"})
    expect(text, r"THENCE_PROGRESS=Thread: an unknown value\. Write thread .* or off ", 1)
    _, text = run(["traffic", "10"], settings={"THENCE_SLOW_CONTINUATION": "soon"})
    expect(text, r"THENCE_SLOW_CONTINUATION=soon: not a duration .* as in THENCE_SLOW_CONTINUATION=5ms\. Slow", 1)


def stall_report_without_debug_information_names_symbols():
    global program
    with tempfile.TemporaryDirectory() as folder:
        stripped = Path(folder) / Path(program).name
        subprocess.run(["strip", "--strip-debug", "-o", stripped, program], check=True)
        program = str(stripped)
        _, text = run(["late"], settings={"THENCE_STALL": "300ms"})
    expect(text, rf"3 continuations for .*, attached at \w+\+0x[0-9a-f]+ in {stripped.name}\+0x[0-9a-f]+, registered")
    expect(text, Path(source).name + ":", times=0)


def outliving():
    """Arguments of run() with which the launcher keeps a job running when one of its ranks is killed."""
    version = subprocess.run([launcher[0], "--version"], capture_output=True, text=True).stdout
    if "HYDRA" in version or "Intel" in version:
        # Some versions ignore the option if a rank dies of a signal, so the shell hides the signal from them.
        return {"options": ["-disable-auto-cleanup"], "prefix": ["/bin/sh", "-c", '"$@"; true', "sh"]}
    return {"options": ["--enable-recovery"]}


LOST = r"waiting for 1 of 1 operation: 1 (pushed by MPI|polled)\n"


def killed_peer_is_reported_by_the_other_rank():
    _, text = run(["killed"], ranks=2, settings={"THENCE_STALL": "1s"}, until=LOST, **outliving())
    times = expect(text, r"thence\[0\]: stall: no continuation has completed for (\d+\.\d) s, 1 outstanding")
    assert float(times[0]) >= 1, times
    expect(text, r"thence\[0\]:   1 continuation for .*" + location("receive_from", "receive"))


def alive(pid):
    """True if the process runs. A zombie counts as ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def ends_soon(words, ranks, settings=None):
    """Runs a job in which one rank kills itself; the launcher has its default options.

    The job must fail before run_all() kills it, and none of its processes may be left 20 s later.
    """
    started = time.monotonic()
    output, _, code = run_all(words, ranks=ranks, settings=settings)
    took = time.monotonic() - started
    assert code != 0, "exit code 0 although a rank was killed"
    assert took < 35, f"ended after {took:.0f} s"
    pids = [int(pid) for pid in expect(output, r"process (\d+)\n", times=ranks)]
    while any(alive(pid) for pid in pids) and time.monotonic() < started + took + 20:
        time.sleep(0.05)
    left = [pid for pid in pids if alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, f"{len(left)} of {ranks} processes are left after the job"


def killed_peer_ends_the_job():
    ends_soon(["killed"], ranks=2)
    ends_soon(["killed"], ranks=2, settings={"THENCE_PROGRESS": "thread"})


def killed_peer_ends_the_job_under_traffic():
    ends_soon(["killed_in_traffic"], ranks=3)
    ends_soon(["killed_in_traffic"], ranks=3, settings={"THENCE_PROGRESS": "thread"})


def silent_peer_is_reported_by_the_other_rank():
    _, text = run(["silent"], ranks=2, settings={"THENCE_STALL": "1s"}, until=LOST)
    expect(text, r"thence\[0\]:   1 continuation for .*" + location("receive_from", "receive"))


def finalize_reports_what_is_outstanding():
    _, text = run(["unfinished"])
    expect(text, r"MPI_Finalize: 3 continuations are outstanding and will not run", times=1)
    # No observer was active, so there is no age.
    expect(text, r"  2 continuations, attached at " + location("receive_from", "receive"))
    expect(text, r"  1 continuation, attached at " + location("unfinished", "forum")
           + r", registered with CR 1 \(not st")


def no_output_when_nothing_is_wrong():
    _, text = run(["traffic", "100"])
    expect(text, "thence", times=0)
    _, text = run(["traffic", "100"], settings={"THENCE_STALL": "20s"})
    expect(text, "thence", times=0)


def bad_settings_are_reported_and_ignored():
    for value in ("soon", "-3s", "5 hours", "nan", "1e99s", "3sec"):
        output, text = run(["traffic", "10"], settings={"THENCE_STALL": value})
        expect(text, rf"THENCE_STALL={re.escape(value)}: not a duration .* as in THENCE_STALL=10s\. Stalls will not", 1)
        assert attached(output) > 0
    for value in ("0", "off", ""):
        _, text = run(["traffic", "10"], settings={"THENCE_STALL": value})
        expect(text, "thence", times=0)
    output, text = run(["traffic", "10"], settings={"THENCE_TRACE": "/nowhere/at/all"})
    expect(text, r"THENCE_TRACE: cannot write /nowhere/at/all\.0\.json: No such file or directory\. This rank", 1)
    assert attached(output) > 0
    with tempfile.TemporaryDirectory() as folder:
        _, text = run(["traffic", "10"], settings={"THENCE_TRACE": f"{folder}/t", "THENCE_TRACE_LIMIT": "many"})
        expect(text, r"THENCE_TRACE_LIMIT=many: not a positive number. The limit stays at 250000", 1)
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
    assert any(re.fullmatch(location("traffic", "traffic"), name) for name in found["names"]), found["names"]
    assert all(name.startswith("count_it (") for name in found["calls"]), found["calls"]


def timeline_shows_continuations_that_never_ran():
    with tempfile.TemporaryDirectory() as folder:
        output, text = run(["traffic_kept", "20"], settings={"THENCE_TRACE": f"{folder}/t"})
        expect(text, r"MPI_Finalize: 1 continuation is outstanding and will not run", times=1)
        expect(text, r"1 continuation for \d+\.\d s, attached at ")
        found = check_trace(f"{folder}/t.0.json")
    assert found["spans"] == attached(output) == found["callbacks"] + 1 and found["open"] == 1, found


def timeline_stops_at_its_limit():
    with tempfile.TemporaryDirectory() as folder:
        settings = {"THENCE_TRACE": f"{folder}/t", "THENCE_TRACE_LIMIT": "300"}
        output, text = run(["traffic", "1000"], settings=settings)
        found = check_trace(f"{folder}/t.0.json")
    # Continuations that were complete when they were attached count towards the limit, but have no span.
    assert 0 < found["spans"] <= 300 and found["dropped"] > 0, found
    assert found["spans"] + found["dropped"] >= attached(output), found
    expect(text, rf"THENCE_TRACE_LIMIT was reached, so {found['dropped']} later continuations are not in", times=1)


def timeline_holds_the_records_of_many_threads():
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


def timeline_is_not_written_by_a_child_of_fork():
    with tempfile.TemporaryDirectory() as folder:
        output, _ = run(["fork", "50"], settings={"THENCE_TRACE": f"{folder}/%r.json"})
        found = check_trace(f"{folder}/0.json")
    assert found["spans"] == attached(output) > 0, found


def exit_without_finalize_does_not_crash_with_library_threads():
    # A launcher reports an exit without MPI_Finalize as an error, so the shell prints the exit code of the program.
    _, text = run(["no_finalize", "20"], settings={"THENCE_STALL": "10s", "THENCE_PROGRESS": "thread"}, good=False,
                  prefix=["/bin/sh", "-c", '"$@"; echo "ended with $?" >&2', "sh"])
    expect(text, r"ended with 0\n", times=1)


def timeline_and_stall_report_together():
    with tempfile.TemporaryDirectory() as folder:
        _, text = run(["late"], settings={"THENCE_STALL": "300ms", "THENCE_TRACE": f"{folder}/t"})
        found = check_trace(f"{folder}/t.0.json")
    expect(text, r"3 continuations for .*" + location("receive_from", "receive"))
    assert found["spans"] == found["callbacks"] == 6, found


CASES = {name: thing for name, thing in list(globals().items())
         if callable(thing) and getattr(thing, "__module__", "") == "__main__"
         and name not in ("line", "location", "run", "run_all", "expect", "stalled", "attached", "outliving", "alive",
                          "ends_soon")}


def main():
    if len(sys.argv) < 5:
        print(__doc__ + "\n" + "\n".join(CASES))
        return 0 if sys.argv[1:2] == ["--help"] else 2
    CASES[case]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
