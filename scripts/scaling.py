#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Strong scaling of an application: runs variants on more and more cores of this machine, and prints time, speed and
efficiency as a table, as JSON and as a plot.

All points are measured in turn, several rounds, so that a change of the machine's load meets all of them; a point is the
median of its rounds. Every run is checked by the program itself: heat and heat_plates compare their values with those of a
serial run, wavefront checks all values, and bt_mz has the official verification. A run with wrong values ends the script."""

import argparse
import json
import os
import platform
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import runs
import two_hosts

ROOT = Path(__file__).resolve().parent.parent
SPREAD = 0.2  # rounds that differ by more than this part of the median are told
EPILOG = """Without arguments of the program, its size is chosen so that the variants run on the largest number of ranks.

A variant is NAME, one thread for each rank, or NAME:T, ranks with T threads each, or NAME:all, one rank with a thread
for each core. On fewer cores than T there is one rank with as many threads as cores.

examples:
  scripts/scaling.py build/release/bin/heat --json heat.json --plot heat.svg
  scripts/scaling.py build/release/bin/heat --variants mpi,forkjoin:4,omp-tasks:4,tbb:all --cores 4,8,16 -- \\
      apps/heat/configs/sources.cfg --size 8192x8192 --iterations 100
  scripts/scaling.py build/release/bin/bt_mz --variants mpi,forkjoin:2,omp-tasks:2 -- A
  scripts/scaling.py --from heat.json --plot heat.png

Exit status: 0 done, 1 a run failed, 2 wrong usage, 3 a run has wrong values."""

def heat_arguments(ranks):
    """Each rank has two rows of blocks, so that variants with a rank for each core run on every number of cores."""
    return [str(ROOT / "apps/heat/configs/sources.cfg"), "--size", f"{max(1024, 2 * 128 * ranks)}x1024", "--block", "128",
            "--iterations", "300"]


# Of each program: the variants that run unless others are named, its arguments on so many ranks or fewer unless others are
# given, and the options by which it checks its values.
APPLICATIONS = {
    "heat": ("mpi,forkjoin:all,omp-tasks:all,tbb:all", heat_arguments, None),
    "heat_plates": ("mpi,forkjoin,waitany,callbacks,coroutine", lambda ranks: ["--size", f"{max(2048, 16 * ranks)}x2048"],
                    ["--verify"]),
    "bt_mz": ("mpi,callbacks,forkjoin:all,omp-tasks:all", lambda ranks: ["W" if ranks <= 16 else "B" if ranks <= 64 else "C"], []),
    "wavefront": ("mpi,callbacks,coroutine", lambda ranks: ["--grid", f"{max(10000, 100 * ranks)}x1000", "--lines", "8"], []),
}


def fail(message, status=2):
    print(f"scaling: {message}", file=sys.stderr)
    sys.exit(status)


def numbers(text):
    if not re.fullmatch(r"[1-9][0-9]{0,3}(,[1-9][0-9]{0,3})*", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no list of numbers of cores; write for example 1,2,4")
    return sorted({int(word) for word in text.split(",")})


def rounds(text):
    if not re.fullmatch(r"[1-9][0-9]?", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of rounds; write for example 5 (1 to 99)")
    return int(text)


def limit(text):
    if not re.fullmatch(r"[1-9][0-9]{0,5}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no time limit; write whole seconds, for example 600")
    return int(text)


def physical_cores():
    """How many cores the processors that this script may use have: hardware threads of one core count once."""
    found = set()
    for cpu in os.sched_getaffinity(0):
        try:
            found.add(Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text(encoding="ascii"))
        except OSError:
            found.add(cpu)
    return len(found)


def processor():
    try:
        found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.machine()


def default_cores(available):
    """1, 2, 4, ... and all."""
    return sorted({1 << i for i in range(available.bit_length()) if 1 << i <= available} | {available})


def layout(label, cores):
    """Ranks and threads of a variant such as omp-tasks:4 on so many cores; None if they are no multiple of the threads."""
    threads = label.partition(":")[2] or "1"
    threads = cores if threads == "all" else min(int(threads), cores)
    return None if cores % threads else (cores // threads, threads)


def check_variants(options):
    """Each variant must be one of the program, and have threads only if the program has them."""
    text = subprocess.run([options.program, "--help"], capture_output=True, text=True, check=False).stdout
    known = re.findall(r"^  ([a-z][a-z-]+) ", text.partition("Variants:")[2].partition("Examples:")[0], re.MULTILINE)
    threaded = "--threads" in text
    chosen = (options.variants or APPLICATIONS[options.name][0]).split(",")
    for label in chosen:
        name, colon, threads = label.partition(":")
        if colon and not re.fullmatch("all|[1-9][0-9]{0,2}", threads):
            fail(f"--variants: '{label}' is no variant; write NAME, NAME:THREADS or NAME:all, for example {name}:4")
        if name not in known and options.variants:
            fail(f"{options.name} has no variant '{name}'; it has {', '.join(known)}"
                 + ("" if options.name in ("heat_plates", "wavefront") else " (others need OpenMP or oneTBB when it is built)"))
        if colon and threads != "1" and not threaded:
            fail(f"{label}: {options.name} has one thread per rank; write {name}")
    left_out = [label for label in chosen if label.partition(":")[0] not in known]
    if left_out:
        print(f"scaling: left out, since {options.name} was built without: {', '.join(left_out)}", file=sys.stderr)
    return [label for label in dict.fromkeys(chosen) if label not in left_out], threaded


def launch(options, ranks, threads):
    """The launcher's command. Ranks with several threads are not bound, since they would get one core each. A rank with one
    thread is bound to a core if each can have one."""
    if options.launch is not None:
        chosen = shlex.split(options.launch.replace("{ranks}", str(ranks)).replace("{threads}", str(threads)))
        return [options.mpiexec, *chosen, "-n", str(ranks)]
    return start(options.mpiexec, options.kind, ranks, threads == 1 and ranks <= options.physical)


def start(mpiexec, kind, ranks, bound=False):
    """The command of a launcher of that family. `bound`: each rank to a core."""
    if kind == "openmpi":
        chosen = ["--oversubscribe", "--bind-to", "core" if bound else "none"]
    elif kind == "intel":
        chosen = ["-genv", "I_MPI_PIN", "1" if bound else "0"]
    else:
        chosen = ["-bind-to", "core" if bound else "none"]
    return [mpiexec, *chosen, "-n", str(ranks)]


def environment(options):
    """With more ranks or threads than cores, those that wait must yield: then the environment of the tests."""
    variables = dict(os.environ)
    if options.oversubscribe:
        return {**runs.environment(), "OMP_WAIT_POLICY": "passive", **variables}
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "PRTE_ALLOW_RUN_AS_ROOT",
                 "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"):
        variables.setdefault(name, "1")
    return variables


def verdict(report):
    """What the program says of its values, and whether they are right."""
    found = report.get("values") or report.get("cells") or (report.get("field") or report.get("verification") or {}).get("verdict")
    return found, found in ("identical", "right", "verified")


def run(options, what, command):
    """One run. Returns the program's report."""
    file, log = options.folder / "run.json", options.folder / "run.log"
    file.unlink(missing_ok=True)
    try:
        with open(log, "w", encoding="utf-8") as output:
            status = runs.call([*command, "--progress", "never", "--json", str(file)], options.timeout, options.environment, output)
    except subprocess.TimeoutExpired:
        options.progress.end()
        fail(f"{what} did not end within {options.timeout} s; --timeout sets another limit", 1)
    if not status:
        try:
            return json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            pass
    options.progress.end()
    why = f"ended with status {status}" if status else "wrote no report"
    said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[:15]
    fail(f"{what} {why}: {shlex.join(command)}\n" + "\n".join(said), 3 if status == 3 else 1)
    return None


def measure(options, points, threaded):
    """All rounds. Each point gets `times_s`."""
    check = APPLICATIONS[options.name][2]
    if check is None:  # heat compares with a file, so that the serial run is made once
        field = options.folder / "reference.npy"
        options.progress.step("serial, for the comparison of values")
        run(options, "the serial run", [options.program, *options.arguments, "--variant", "serial", "--field", str(field)])
        check = ["--reference", str(field)]
    for number in range(options.rounds):
        for point in points[number % len(points):] + points[:number % len(points)]:  # another one begins each round
            name = point["variant"].partition(":")[0]
            what = f"{name}, {point['ranks']} x {point['threads']}"
            options.progress.step(f"round {number + 1}: {what}")
            command = [*launch(options, point["ranks"], point["threads"]), options.program, *options.arguments, *check,
                       "--variant", name]
            report = run(options, what, command + (["--threads", str(point["threads"])] if threaded else []))
            said, right = verdict(report)
            if not right:
                options.progress.end()
                if said == "unchecked":
                    fail(f"{what}: {options.name} cannot check its values with these arguments; leave out those such as --steps")
                fail(f"{what}: the values are not right: {said}", 3)
            if report.get("threads", point["threads"]) != point["threads"] or report["ranks"] != point["ranks"]:
                options.progress.end()
                fail(f"{point['variant']}: {name} has one thread per rank; write {name}")
            point.setdefault("times_s", []).append(report["time_s"])
            point["values"], options.mpi = said, report.get("mpi")
        if options.json:  # after each round: what ends this script later loses no round
            write(options.json, result_of(options, points, number + 1))
    options.progress.end()


def result_of(options, points, done):
    evaluate(points)
    return {"what": "strong scaling", "program": options.name, "arguments": options.arguments, "mpi": options.mpi,
            "processor": processor(), "available": options.available, "physical": options.physical,
            "oversubscribed": options.oversubscribe, "rounds": done, "points": points}


def can_write(file):
    return not file.is_dir() and os.access(file.absolute().parent, os.W_OK)


def write(file, result):
    """Replaces the file at once, so that one that exists is never half of a result."""
    part = file.with_name(file.name + ".part")
    part.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    os.replace(part, file)


def evaluate(points):
    """Medians, and speed and efficiency against the first variant on the fewest cores."""
    for point in points:
        point["median_s"] = statistics.median(point["times_s"])
    base = points[0]
    for point in points:
        point["speed"] = base["median_s"] / point["median_s"]
        point["efficiency"] = point["speed"] * base["cores"] / point["cores"]
        point["wide"] = max(point["times_s"]) - min(point["times_s"]) > SPREAD * point["median_s"]


def table(result):
    points = result["points"]
    print(f"{result['program']} {shlex.join(result['arguments'])}\n{result['processor']}, {result['available']} processors "
          f"({result['physical']} cores), {result['mpi']}; median of {result['rounds']} rounds")
    print(f"{'variant':<18} {'cores':>5} {'ranks x threads':>16} {'time s':>10} {'speed':>7} {'efficiency':>10}  rounds s")
    for point in points:
        shape, times = f"{point['ranks']} x {point['threads']}", point["times_s"]
        span = f"{min(times):.4g} to {max(times):.4g}" + (", doubtful" if point["wide"] else "")
        print(f"{point['variant']:<18} {point['cores']:>5} {shape:>16} {point['median_s']:>10.4f} {point['speed']:>7.2f} "
              f"{point['efficiency']:>10.2f}  {span}")
    print(f"speed and efficiency: against {points[0]['variant']} on {points[0]['cores']} core{'s' * (points[0]['cores'] > 1)}. "
          f"All {sum(len(p['times_s']) for p in points)} runs have right values ({points[0]['values']}).")
    if result["oversubscribed"]:
        print("With more ranks or threads than processors the times say nothing about scaling.")


def matplotlib_figures():
    """What the plots of the applications use; fails if there is no matplotlib."""
    try:
        import matplotlib  # noqa: F401, pylint: disable=unused-import
    except ImportError as error:
        fail(f"--plot: {error}; install matplotlib (Debian: python3-matplotlib), or draw later, with a Python that has it, from "
             "the file of --json: scaling.py --from FILE.json --plot FILE")
    sys.path.insert(0, str(ROOT / "apps" / "common"))
    import figures
    return figures


def draw(result, file):
    figures = matplotlib_figures()
    _, pyplot = figures.figures()
    figure, (times, efficiency) = pyplot.subplots(1, 2, figsize=(10, 3.8))
    points = result["points"]
    every = sorted({point["cores"] for point in points})
    base = points[0]
    times.plot(every, [base["median_s"] * base["cores"] / cores for cores in every], color="#bbbbbb", linestyle="--", label="ideal")
    efficiency.axhline(1, color="#bbbbbb", linestyle="--")
    for label in dict.fromkeys(point["variant"] for point in points):
        mine = [point for point in points if point["variant"] == label]
        cores = [point["cores"] for point in mine]
        low = [point["median_s"] - min(point["times_s"]) for point in mine]
        high = [max(point["times_s"]) - point["median_s"] for point in mine]
        times.errorbar(cores, [point["median_s"] for point in mine], yerr=[low, high], marker="o", capsize=3, label=label)
        efficiency.plot(cores, [point["efficiency"] for point in mine], marker="o", label=label)
    for axes, what in ((times, "time, s"), (efficiency, "efficiency")):
        axes.set_xscale("log", base=2)
        axes.set_xticks(every, [str(cores) for cores in every])
        axes.set_xlabel("cores")
        axes.set_title(what)
    times.set_yscale("log")
    efficiency.set_ylim(bottom=0)
    times.legend(fontsize=8)
    figure.suptitle(f"{result['program']}: strong scaling, {result['available']} processors, {result['mpi']}", fontsize=10)
    figure.tight_layout()
    try:
        figure.savefig(file, facecolor="white")
    except (OSError, ValueError) as error:
        fail(f"--plot: {file}: {error}")
    print(file)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage="%(prog)s [options] PROGRAM [-- ARGUMENTS of the program]")
    parser.add_argument("program", nargs="?", help=f"one of {', '.join(APPLICATIONS)}, such as build/release/bin/heat")
    parser.add_argument("--variants", metavar="NAME[:T],...", help="variants and their threads, see below [some of the program]")
    parser.add_argument("--cores", type=numbers, metavar="N[,N...]", help="ranks x threads of each point [1, 2, 4, ... and all]")
    parser.add_argument("--rounds", type=rounds, default=5, metavar="N", help="runs of each point, in turn with the others [5]")
    parser.add_argument("--oversubscribe", action="store_true", help="allow more ranks x threads than processors")
    parser.add_argument("--mpiexec", metavar="PROGRAM", help="launcher of Open MPI, MPICH or Intel MPI [MPIEXEC, or the one of the "
                        "program's build folder]")
    parser.add_argument("--launch", metavar="TEXT", help="options of the launcher in place of those for binding; {ranks} and "
                        "{threads} are replaced, for example '--map-by slot:PE={threads} --bind-to core'")
    parser.add_argument("--timeout", type=limit, default=600, metavar="S", help="seconds for one run [600]")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write settings and times, after each round")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw time and efficiency, for example scaling.svg")
    parser.add_argument("--from", dest="earlier", type=Path, metavar="FILE", help="run nothing: print and draw what --json wrote")
    ours = sys.argv[1:]
    split = ours.index("--") if "--" in ours else len(ours)
    options = parser.parse_args(ours[:split])
    options.arguments = ours[split + 1:]
    if (options.program is None) == (options.earlier is None):
        parser.error("name a program, or a file with --from")
    for file in (options.json, options.plot):
        if file is not None and not can_write(file):
            fail(f"{file}: cannot write this file")
    if options.plot:
        matplotlib_figures()  # before the runs
    return options


def prepare(options):
    """Checks what is to run. Returns the points."""
    options.program = os.path.abspath(options.program)
    options.name = os.path.basename(options.program)
    if options.name not in APPLICATIONS:
        fail(f"{options.name} is unknown; this script runs {', '.join(APPLICATIONS)}")
    if not (os.path.isfile(options.program) and os.access(options.program, os.X_OK)):
        fail(f"no program {options.program}; build it: cmake --preset release && cmake --build --preset release --target {options.name}")
    options.mpiexec = options.mpiexec or runs.launcher(os.path.dirname(os.path.dirname(options.program)))
    options.kind = two_hosts.known_family(options.mpiexec, fail)
    options.available, options.physical = len(os.sched_getaffinity(0)), physical_cores()
    cores = options.cores or default_cores(options.available)
    if max(cores) > options.available and not options.oversubscribe:
        fail(f"--cores {max(cores)}: more ranks x threads than the {options.available} processors that this script may use; leave it "
             "out, or add --oversubscribe (times then say nothing about scaling)")
    options.oversubscribe = max(cores) > options.available
    options.environment = environment(options)
    variants, threaded = check_variants(options)
    points = []
    for label in variants:
        for number in cores if label != "serial" else [1]:
            shape = layout(label, number)
            if shape is None and options.cores:
                fail(f"{label}: {number} cores are no multiple of its threads; choose other --cores, or other threads")
            if shape is None:
                continue
            ranks, threads = shape
            points.append({"variant": label, "cores": number, "ranks": ranks, "threads": threads})
    options.arguments = options.arguments or APPLICATIONS[options.name][1](max(point["ranks"] for point in points))
    return points, threaded


def main():
    options = parse()
    if options.earlier:
        try:
            result = json.loads(options.earlier.read_text(encoding="utf-8"))
            evaluate(result["points"])
            table(result)
        except BrokenPipeError:
            return 1
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            fail(f"{options.earlier}: no file of --json: {type(error).__name__}: {error}")
    else:
        points, threaded = prepare(options)
        options.progress = runs.Progress(len(points) * options.rounds + (APPLICATIONS[options.name][2] is None))
        with tempfile.TemporaryDirectory() as folder:
            options.folder = Path(folder)
            measure(options, points, threaded)
        result = result_of(options, points, options.rounds)
        table(result)
    if options.plot:
        draw(result, options.plot)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
