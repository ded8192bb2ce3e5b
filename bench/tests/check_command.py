#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check_command.py CASE PROGRAM

Tests of `thence bench`. CASE is the name of one of the functions below.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/thence/tests"))
from command import ENGINES, SKIPPED, main, run, succeed  # noqa: E402

BENCHMARKS = [
    "attach_vs_waitall", "attach_vs_waitall_portable", "attach_pending_one", "attach_each", "linked_unused",
    "idle_poll", "one_of_many", "persistent_rounds", "pingpong", "inflight_rate", "memory", "idle_cpu",
    "wake_latency", "wake_curve",
    "sender_pair", "await_recv", "include_cost", "stream_rate", "type_iov",
    "grequest", "request_is_complete", "threadcomm_pingpong", "threadcomm_collectives", "threads_vs_processes",
    "stream_threads", "progress", "overlap", "overlap_cost", "oversubscribed", "idle_waiter",
    "notified_put", "notified_put_remote", "busy_target", "notification_idle", "am_rate", "am_latency", "am_busy",
]
WITH_ONETBB = ["enqueue_host", "sender_pair_default", "ring_64", "ring_128k", "ring_default", "ring_modes",
               "ring_in_flight", "band_pipeline"]
WITH_FIBERS = ["task_block"]
WITH_ONETBB_AND_OPENMP = ["dataflow_task", "task_message", "task_one_of_many", "task_latency", "tagaspi_message"]
WITH_OPENBLAS = ["cholesky", "completion_modes"]
WITH_FORTRAN = ["fortran_attach"]
WITH_PYTHON = ["python_await", "python_idle", "python_rate"]
WITH_APPLICATIONS = ["wavefront"]
WITH_TASKS_OF_APPLICATIONS = ["bt_mz", "heat", "heat_threads"]
WITH_ZONES = ["simulated_scale"]
WITH_NOTIFIED_TASKS_OF_APPLICATIONS = ["streaming"]
WITH_KERNELS = ["qr"]
WITH_LANES = ["latency_mt"]
WITH_CELLS = ["offload"]


def bench_lists_every_benchmark(program):
    lines = succeed(run(program, "bench", "--list")).splitlines()
    names = [line for line in lines if not line.startswith(" ")]
    optional = names[len(BENCHMARKS):]
    known = (WITH_ONETBB, WITH_FIBERS, WITH_ONETBB_AND_OPENMP, WITH_OPENBLAS, WITH_FORTRAN, WITH_PYTHON,
             WITH_APPLICATIONS, WITH_TASKS_OF_APPLICATIONS, WITH_ZONES, WITH_NOTIFIED_TASKS_OF_APPLICATIONS, WITH_KERNELS,
             WITH_LANES, WITH_CELLS)
    groups = [group for group in known if group[0] in optional]
    assert names == sum(groups, BENCHMARKS), names
    assert sum(line.strip().startswith("bar: ") for line in lines) == len(names), lines


def wrong_usage_is_reported(program):
    result = run(program, "bench", "no_such_benchmark")
    assert result.returncode == 2 and "no_such_benchmark" in result.stderr and "--list" in result.stderr, result
    for arguments in (["bench"], ["bench", "--all", "memory"], ["bench", "--no-such-option"]):
        result = run(program, *arguments)
        assert result.returncode == 2 and result.stderr, (arguments, result)
    # These errors must come before anything is measured.
    for arguments in (["--json", "/nowhere/figures.json"], ["--plot", "/proc/nowhere"]):
        result = run(program, "bench", "memory", *arguments)
        assert result.returncode == 3 and "/nowhere" in result.stderr and "measuring" not in result.stderr, result
    assert "--mpiexec" in succeed(run(program, "bench", "--help"))


def check_figure(figure):
    """A figure has `passed` if and only if it has a bar, and `passed` agrees with its numbers."""
    assert figure["low"] <= figure["value"] <= figure["high"] and figure["unit"] and figure["against"], figure
    if "at_most" in figure:
        assert figure["passed"] == (figure["value"] <= figure["at_most"]), figure
    elif "at_least" in figure:
        assert figure["passed"] == (figure["value"] >= figure["at_least"]), figure
    else:
        assert "passed" not in figure, figure


def figures_agree_with_exit_status(program):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures.json"
        result = run(program, "bench", "memory", "idle_cpu", "--quick", "--json", str(file))
        written = json.loads(file.read_text())
    assert [b["name"] for b in written["benchmarks"]] == ["memory", "idle_cpu"], written
    assert written["measured_on"]["engine"] in ENGINES, written
    for benchmark in written["benchmarks"]:
        assert benchmark["figures"] and "failed" not in benchmark, benchmark
        for figure in benchmark["figures"]:
            check_figure(figure)
            assert figure["name"] in result.stdout, result.stdout
        assert benchmark["passed"] == all(f.get("passed", True) for f in benchmark["figures"]), benchmark
    assert result.returncode == (0 if all(b["passed"] for b in written["benchmarks"]) else 1), result


def plot_draws_every_benchmark(program):
    with tempfile.TemporaryDirectory() as folder:
        drawn = Path(folder) / "figures"
        result = run(program, "bench", "memory", "inflight_rate", "--quick", "--plot", str(drawn))
        if "matplotlib" in result.stderr:
            print(result.stderr)
            return SKIPPED
        assert result.returncode in (0, 1), result
        for name in ("overview", "memory", "inflight_rate"):
            assert (drawn / f"{name}.png").stat().st_size > 5000, name
        assert json.loads((drawn / "figures.json").read_text())["benchmarks"], "no figures beside the pictures"
    return 0


def plot_draws_a_bar_for_every_mode(_):
    bench = Path(__file__).resolve().parent.parent
    with_matplotlib = subprocess.run([str(bench.parent / "scripts" / "python_with.sh"), "matplotlib"],
                                     capture_output=True, text=True, check=False)
    if with_matplotlib.returncode != 0:
        print(with_matplotlib.stderr)
        return SKIPPED
    names = [f"{size} B, {method}{polls}{issues}{completion}{priority}"
             for size in (64, 131072)
             for method in ("yield-while", "suspend-resume", "continuation", "new-task", "mpix")
             for polls in ("", ",mpi-pool")
             for issues in ("", ",inline-request")
             for completion in ("", ",inline-completion", ",bypass")
             for priority in ("", ",high-priority")]
    figures = [{"name": name, "value": 0.5 + i % 7 / 5} for i, name in enumerate(names)]
    pictures = []
    with tempfile.TemporaryDirectory() as folder:
        without_inline_requests = [figure for figure in figures if not (
            figure["name"].startswith("131072 B, yield-while") and "inline-request" in figure["name"])]
        for measured in (figures, figures[:-1], without_inline_requests, figures[:1]):
            written = Path(folder) / "figures.json"
            written.write_text(json.dumps({
                "measured_on": {}, "benchmarks": [{"name": "ring_modes", "about": "rings", "figures": measured}]}))
            done = subprocess.run([with_matplotlib.stdout.strip(), "-c", DRAW_MODES, str(bench), str(written), folder],
                                  capture_output=True, text=True, check=False)
            pictures.append(succeed(done).strip())
    assert pictures[0].startswith("240 bars; no bar is missing"), pictures
    assert pictures[1].startswith("239 bars; bars that are missing: 1;"), pictures
    assert pictures[2].startswith("228 bars; bars that are missing: 12;"), pictures
    assert pictures[3].startswith("1 bars; bars that are missing: 119;"), pictures
    return 0


DRAW_MODES = """
import json, sys
sys.path.insert(0, sys.argv[1])
import plot
drawn = []
plot.plt.close = drawn.append
plot.draw_modes(json.load(open(sys.argv[2]))["benchmarks"][0], sys.argv[3] + "/modes.png")
bars = sum(len(panel.patches) for panel in drawn[-1].axes)
print(bars, "bars;", drawn[-1]._suptitle.get_text().splitlines()[1])
"""


DRAW_LINES = """
import json, sys
sys.path.insert(0, sys.argv[1])
import plot
drawn = []
plot.plt.close = drawn.append
for benchmark in json.load(open(sys.argv[2]))["benchmarks"]:
    plot.CHARTS[benchmark["name"]](benchmark, sys.argv[3] + "/lines.png")
    for panel in drawn[-1].axes:
        for line in panel.lines:
            print(panel.get_title(), "|", line.get_label(), "|", *map(int, line.get_xdata()), "|",
                  *map(int, line.get_ydata()))
"""


def plot_draws_a_line_for_every_way(_):
    bench = Path(__file__).resolve().parent.parent
    with_matplotlib = subprocess.run([str(bench.parent / "scripts" / "python_with.sh"), "matplotlib"],
                                     capture_output=True, text=True, check=False)
    if with_matplotlib.returncode != 0:
        print(with_matplotlib.stderr)
        return SKIPPED
    threads = [{"name": f"{where}, {n} threads, beside {way}", "ours": 100 * n, "baseline": base * n}
               for where in ("to self", "2 processes") for n in (1, 2, 4, 8) if where == "to self" or n == 1
               for way, base in (("implicit", 80), ("one communicator", 50))]
    sizes = [{"name": f"{size} B, {kind}", "ours": 2 * size, "baseline": size}
             for kind, size in (("message rate", 8), ("message rate", 4096), ("bandwidth", 32768))]
    round_trips = [{"name": name, "ours": ours, "baseline": 2, "value": ours / 2}
                   for name, ours in (("MPI_THREAD_SINGLE", 2), ("MPI_THREAD_MULTIPLE", 4), ("4096 B, MPI_THREAD_MULTIPLE", 6))]
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "figures.json"
        written.write_text(json.dumps({"benchmarks": [
            {"name": "pingpong", "about": "answers", "figures": round_trips},
            {"name": "stream_threads", "about": "threads", "figures": threads},
            {"name": "threads_vs_processes", "about": "sizes", "figures": sizes}]}))
        done = subprocess.run([with_matplotlib.stdout.strip(), "-c", DRAW_LINES, str(bench), str(written), folder],
                              capture_output=True, text=True, check=False)
        lines = succeed(done).strip().splitlines()
    assert lines == [
        "MPI_THREAD_MULTIPLE | a continuation answers | 1 4096 | 4 6",
        "MPI_THREAD_MULTIPLE | MPI_Irecv, MPI_Wait, MPI_Send | 1 4096 | 2 2",
        "MPI_THREAD_MULTIPLE | a continuation, MPI_Wait = 1 | 1 4096 | 2 3",
        "to self | explicit: a stream for each thread | 1 2 4 8 | 100 200 400 800",
        "to self | implicit: a duplicate for each thread | 1 2 4 8 | 80 160 320 640",
        "to self | one communicator | 1 2 4 8 | 50 100 200 400",
        "2 processes | explicit: a stream for each thread | 1 | 100",
        "2 processes | implicit: a duplicate for each thread | 1 | 80",
        "2 processes | one communicator | 1 | 50",
        "message rate | two threads | 8 4096 | 16 8192",
        "message rate | two processes | 8 4096 | 8 4096",
        "bandwidth | two threads | 32768 | 65536",
        "bandwidth | two processes | 32768 | 32768",
    ], lines
    return 0


def need_valgrind():
    if shutil.which("valgrind") is None:
        print("no valgrind in PATH")
        sys.exit(SKIPPED)


def counts_are_exact(program):
    need_valgrind()
    figure = json.loads(succeed(run(program, "--quick")))["figures"][0]
    assert abs(figure["value"] - 100) < 0.5, figure


def bars_are_judged(program):
    need_valgrind()
    assert json.loads(succeed(run(program, "--quick", THENCE_BENCH_TEST_BAR="101")))["passed"] is True
    assert json.loads(succeed(run(program, "--quick", THENCE_BENCH_TEST_BAR="98"), 1))["passed"] is False


def ranks_with_threads_are_not_bound(program):
    """Each of two ranks with two threads may use all cores, whatever the launcher does by default."""
    for name in [name for name in os.environ if "BINDING_POLICY" in name.upper()]:
        del os.environ[name]  # the environment of the tests binds nothing
    figure = json.loads(succeed(run(program, "--quick", THENCE_BENCH_TEST_THREADS="2")))["figures"][0]
    assert figure["value"] == len(os.sched_getaffinity(0)), figure


def persistent_requests_that_have_completed_cost_nothing(program):
    """16,000 of them, whose continuations have run: neither the next rounds nor calls on other requests cost more for it.
    A cost that grows with their number is more than 30 times as high."""
    need_valgrind()
    with tempfile.TemporaryDirectory() as folder:
        result = run(program, "bench", "persistent_rounds", "--quick", "--json", f"{folder}/figures.json")
        assert result.returncode in (0, 1), result  # the bars are for `thence bench`: they are stricter
        figures = json.loads(Path(folder, "figures.json").read_text())["benchmarks"][0]["figures"]
    counted = [figure for figure in figures if figure["unit"] == "times the instructions"]
    assert len(counted) >= 4, figures
    for figure in counted:
        assert figure["value"] < 2, figure


def doctor_refuses_what_it_cannot_do(program):
    for arguments in (["--no-such-option"], ["--bytes", "12"]):
        result = run(program, "doctor", *arguments)
        assert result.returncode == 2 and result.stderr, (arguments, result)
    result = run(program, "doctor", OMPI_COMM_WORLD_RANK="0")
    assert result.returncode == 2 and "it starts the launcher itself" in result.stderr, result
    result = run(program, "doctor", "--json", "/nowhere/figures.json")
    assert result.returncode == 3 and "cannot write /nowhere/figures.json" in result.stderr, result
    assert "[1/" not in result.stderr, result  # before anything is measured
    assert "--mpiexec" in succeed(run(program, "doctor", "--help"))
    result = run(program, "doctor", "--quick", "--bytes", "1024", "--mpiexec", "false")
    assert result.returncode == 3 and "- Not measured: Isend/Irecv of 1 KiB beside computation: " in result.stdout, result
    assert "No switch of thence run pays here." in result.stdout, result


def doctor_examines_this_machine(program):
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "doctor.png"
        words = ["--quick", "--bytes", "1048576"]
        has_matplotlib = run(program, "doctor", "--plot", str(picture), "--mpiexec", "false").returncode == 3 and \
            Path(str(picture) + ".json").exists()
        plot = ["--plot", str(picture)] if has_matplotlib else ["--json", str(picture) + ".json"]
        result = run(program, "doctor", *words, *plot)
        found = json.loads(Path(str(picture) + ".json").read_text())
        if has_matplotlib:
            assert picture.read_bytes().startswith(b"\x89PNG"), result
    assert result.returncode == 0 and not found["not_measured"], result
    assert [row["operation"] for row in found["overlap"]] == ["Isend/Irecv", "Ialltoall", "Iallreduce", "Rget"], found
    for row in found["overlap"]:
        assert row["bytes"] == 1 << 20 and 0 < row["alone_ms"] < 1000, row
        for key in ("plain_ms", "with_progress_ms"):
            assert row["computation_ms"] <= row[key] * 1.01, row
        assert [len(row[key]) for key in ("plain_runs_ms", "with_progress_runs_ms")] == [3, 3], row
        assert abs(row["plain_ms"] - sorted(row["plain_runs_ms"])[1]) < 1e-6, row
    assert 1 <= found["processors_of_a_rank"] <= found["processors"], found
    assert found["hosts"] == 1 and "Both ranks ran on one host" in result.stdout, result
    waits = found["waiting_percent_of_a_processor"]
    assert 0 < waits["with"] < waits["plain"] / 3 and waits["plain"] <= 110, waits
    for key in ("round_trip_us", "message_us", "barrier_us", "late_us", "round_trip_at_multiple_us"):
        assert found[key]["plain"] > 0 and found[key]["with"] > 0, key
    steps = [line for line in result.stderr.splitlines() if line.startswith("[")]
    assert len(steps) == 7 and steps[-1].startswith("[7/7] more ranks than processors"), steps
    for sentence in found["advice"]:
        assert sentence in result.stdout, sentence


if __name__ == "__main__":
    sys.exit(main(globals(), __doc__))
