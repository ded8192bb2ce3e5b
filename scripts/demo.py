#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The demonstration: runs a program that knows nothing of Thence as it is and with progress, then heat in every variant on two
plates, then measures situations in which asynchrony may pay, with and without a delay between two hosts. The values
of every run of heat are compared bit for bit with those of a serial run.

Writes to OUT_DIR the figures (*.png), the tables and one sentence for each situation (report.txt), and the files of the runs.
Files of an earlier run there are deleted first (*.png, *.json, *.npy, *.log, report.txt)."""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys

import runs
import two_hosts

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CONFIGS = os.path.join(ROOT, "apps", "heat", "configs")
TASKS = ["omp-tasks", "tbb", "tampi-blocking", "tampi-iwait", "dataflow"]
DELAY = "300us"
BLOCK = 128  # rows of a block in sources.cfg, whose plate has 512
SPREAD = 0.2  # a sentence tells the range of a ratio if it is wider than this part of the median
EPILOG = """Exit status: 0 done; 1 a run failed, its log is kept; 2 wrong usage; 3 values differ from those of the serial run.

Environment:
  MPIEXEC  the MPI launcher [the one BUILD_DIR was configured with]
  PYTHON   a Python with numpy and matplotlib [the first of python3 and /usr/bin/python3 that has them]"""


def die(message):
    print(f"demo: {message}", file=sys.stderr)
    sys.exit(1)


class Demo:
    """The settings of one demonstration, and what its runs have said. `status` is its exit status so far."""

    def __init__(self, options):
        self.build, self.out = os.path.abspath(options.build), os.path.abspath(options.out)
        self.scale, self.repeats, self.only = options.scale, options.repeats, options.only
        self.heat, self.plates = (os.path.join(self.build, "bin", name) for name in ("heat", "heat_plates"))
        for program in (self.heat, self.plates):
            if not os.access(program, os.X_OK):
                die(f"no {program}; build it first: make build")
        self.launcher = launcher(self.build)
        self.environment = environment()
        self.cores = len(os.sched_getaffinity(0))
        self.status, self.checked, self.progress = 0, 0, runs.Progress(0)
        self.report = []
        text = subprocess.run([self.heat, "--help"], capture_output=True, text=True, check=False).stdout
        self.variants = re.findall(r"^  ([a-z][a-z-]+) ", text, re.MULTILINE)
        for name in [name for name in ("forkjoin", *TASKS) if name not in self.variants]:
            print(f"demo: heat was built without the variant {name}", file=sys.stderr)

    def say(self, line=""):
        self.report.append(line)
        print(line, flush=True)

    def run(self, name, command):
        """Runs a command whose report goes to NAME.json. Returns the report; None if the run failed or its values differ."""
        result, log = (os.path.join(self.out, f"{name}.{kind}") for kind in ("json", "log"))
        try:
            with open(log, "w", encoding="utf-8") as file:
                status = runs.call([*command, "--progress", "never", "--json", result], 120, self.environment, file)
            why = f"ended with status {status}"
        except subprocess.TimeoutExpired:
            status, why = 1, "was stopped after 120 s"
        report = None
        if status == 0:
            try:
                with open(result, encoding="utf-8") as file:
                    report = json.load(file)
            except (OSError, ValueError) as error:
                status, why = 1, f"wrote no report: {error}"
        if status != 0:
            self.progress.end()
            print(f"demo: {name} {why}; the end of {log}:", file=sys.stderr)
            with open(log, encoding="utf-8", errors="replace") as file:
                print("".join(file.readlines()[-15:]), end="", file=sys.stderr, flush=True)
            self.status = max(self.status, 3 if status == 3 else 1)
            return None
        verdict = report["values"] if "values" in report else report["field"]["verdict"]
        self.checked += verdict == "identical"
        return report

    def mpi(self, ranks, delay=None):
        """The command that starts a program on `ranks` ranks, on two hosts if there is a delay."""
        if not delay:
            return [self.launcher, "-n", str(ranks)]
        return [sys.executable, os.path.join(ROOT, "scripts", "two_hosts.py"), "--delay", delay, "--ranks", str(ranks // 2),
                "--mpiexec", self.launcher, "--"]


def launcher(build):
    name = os.environ.get("MPIEXEC", "")
    if not name:
        try:
            with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
                found = re.search(r"^MPIEXEC_EXECUTABLE:[A-Z]*=(.+)$", file.read(), re.MULTILINE)
                name = found[1] if found else ""
        except OSError:
            pass
    name = name or "mpiexec"
    return shutil.which(name) or die(f"no MPI launcher {name}; set MPIEXEC")


def environment():
    """The environment of the tests: it allows to run as root and with more ranks than cores, and switches binding off.
    If other programs use the machine, a thread that spins while it waits may occupy the core that another thread needs; so
    waiting threads yield early, in MPI and in OpenMP. Variables that are set already are not changed."""
    variables = {}
    with open(os.path.join(ROOT, "cmake", "test_environment.txt"), encoding="utf-8") as file:
        variables.update(re.findall(r"^([A-Z]\w*)=(.*)$", file.read(), re.MULTILINE))
    return {"OMPI_MCA_mpi_yield_when_idle": "1", "GOMP_SPINCOUNT": "1000", **os.environ, **variables}


def python_with_figures():
    for name in (os.environ.get("PYTHON"), sys.executable, "/usr/bin/python3"):
        if name and shutil.which(name) and subprocess.run([name, "-c", "import numpy, matplotlib"], capture_output=True,
                                                          check=False).returncode == 0:
            return name
    print("demo: no figures, since no Python here has numpy and matplotlib; scripts/setup.sh demo installs them", file=sys.stderr)
    return None


# An unchanged program, which overlaps large messages with computation, as it is and with `thence run --progress`.

ROUNDS, MILLISECONDS, BYTES = "12", "15", str(1 << 20)


def unchanged(demo, delay):
    """One sentence, and the timelines of both."""
    program, thence = (os.path.join(demo.build, "bin", name) for name in ("examples/unchanged", "thence"))
    if not os.access(program, os.X_OK) or not os.access(thence, os.X_OK):
        demo.say("An unchanged program: left out, since the examples or the command thence are not built.\n")
        return
    waited, files = [], []
    for label, words in (("as it is", []), ("thence run --progress", [thence, "run", "--progress", "--"])):
        demo.progress.step(f"An unchanged program: {label}")
        files.append(os.path.join(demo.out, f"unchanged-{len(files)}.timeline.json"))
        command = [*demo.mpi(2, delay), *words, program, ROUNDS, MILLISECONDS, BYTES, label, files[-1]]
        done = subprocess.run(command, env=demo.environment, capture_output=True, text=True, check=False, timeout=120)
        found = re.search(r"lasted ([0-9.]+) ms, of which a rank waited ([0-9.]+) ms", done.stdout)
        if done.returncode != 0 or not found:
            demo.progress.end()
            print(f"demo: {' '.join(command)} ended with status {done.returncode}:\n{done.stderr}", end="", file=sys.stderr)
            demo.status = max(demo.status, 1)
            return
        waited.append(found)
    demo.progress.end()
    where = f", {delay} between two hosts" if delay else ", both ranks on this host"
    demo.say(f"An unchanged program that computes for {ROUNDS} times {MILLISECONDS} ms while 1 MiB moves{where}: it lasts "
             f"{waited[0][1]} ms, and a rank waits {waited[0][2]} ms of that; with thence run --progress {waited[1][1]} ms, "
             f"and {waited[1][2]} ms.\n")
    python = python_with_figures()
    plot = os.path.join(ROOT, "apps", "heat", "plot.py")
    if python and subprocess.run([python, plot, "timeline", *files, "-o", os.path.join(demo.out, "unchanged.png")],
                                 check=False).returncode != 0:
        demo.status = max(demo.status, 1)


# Every variant on two plates, one run each: a table, the fields, the timelines.

def configured(plate):
    with open(os.path.join(CONFIGS, f"{plate}.cfg"), encoding="utf-8") as file:
        return int(re.search(r"^iterations *= *(\d+)", file.read(), re.MULTILINE)[1])


def iterations(demo, number):
    return str(max(1, number * demo.scale // 100))


def shapes(demo):
    """Variant, ranks and threads of each run: two ranks share the cores, or one rank has all of them."""
    threads = min(4, max(1, demo.cores // 2))
    forms = [("mpi", 2, 1), ("mpi", 4, 1)]
    for variant in ("forkjoin", *TASKS):
        if variant in demo.variants:
            forms += [(variant, 2, threads), (variant, 1, 2 * threads)]
    return forms


def gallery(demo, plate):
    """Runs all variants on one plate. Returns the names of the runs that worked."""
    config, field = os.path.join(CONFIGS, f"{plate}.cfg"), os.path.join(demo.out, f"{plate}.npy")
    common = ["--iterations", iterations(demo, configured(plate) * 3 // 5)]  # else this part takes half of the time
    demo.progress.step(f"{plate}: serial")
    names = [f"{plate}-serial-1x1"]
    if not demo.run(names[0], [demo.heat, config, *common, "--threads", "1", "--field", field, "--start",
                               os.path.join(demo.out, f"{plate}-start.npy")]):
        return []
    for variant, ranks, threads in shapes(demo):
        name = f"{plate}-{variant}-{ranks}x{threads}"
        demo.progress.step(f"{plate}: {variant}, {ranks} x {threads}")
        if demo.run(name, [*demo.mpi(ranks), demo.heat, config, *common, "--variant", variant, "--threads", str(threads),
                           "--reference", field, "--timeline", os.path.join(demo.out, f"{name}.timeline.json"),
                           "--timeline-capacity", "30000"]):
            names.append(name)
    return names


def draw(demo, done):
    """The table of the runs, and the figures if a Python has what they need."""
    plot = os.path.join(ROOT, "apps", "heat", "plot.py")
    files = {plate: [os.path.join(demo.out, f"{name}.json") for name in names] for plate, names in done.items()}
    every = [file for names in files.values() for file in names]
    if not every:
        return
    table = subprocess.run([sys.executable, plot, "table", "--check", *every], capture_output=True, text=True, check=False)
    demo.say(table.stdout.strip("\n") + "\n")
    if table.returncode != 0:
        print(table.stderr, end="", file=sys.stderr)
        demo.status = max(demo.status, table.returncode)
    python = python_with_figures()
    if not python:
        return

    def figure(*arguments, to):
        if subprocess.run([python, plot, *arguments, "-o", os.path.join(demo.out, to)], check=False).returncode != 0:
            demo.status = max(demo.status, 1)
    for plate in [plate for plate in done if done[plate]]:
        figure("field", os.path.join(demo.out, f"{plate}-start.npy"), os.path.join(demo.out, f"{plate}.npy"), "--titles",
               "start,end", to=f"field-{plate}.png")
        timelines = [file.replace(".json", ".timeline.json") for file in files[plate] if "-2x" in file]
        if timelines:
            figure("timeline", *timelines, to=f"timeline-{plate}.png")
    figure("bars", *every, to="variants.png")


# Situations: MPI only, fork-join and tasks on the same cores. Each way runs once, which chooses the fastest of fork-join and of
# ours; then these and MPI only run in turn, and are compared.

def situations(demo):
    """Name, what it is, iterations without and with a delay, and whether heat or heat_plates runs it."""
    return [("balanced", "A balanced plate", 800, 200, []),
            ("imbalanced", "A plate whose lower half costs five times as much", 200, 100, ["--imbalance", "5@area:0,0.5,1,1"]),
            ("plates", "Four independent plates", 200, 100, None)]


def mpi_ranks(demo):
    """The ranks of MPI only: one for each core."""
    return max(2, demo.cores - demo.cores % 2)


def plate_arguments(demo):
    """The arguments of heat for the plate of a situation. Each rank of MPI only has a row of blocks at least."""
    ranks = mpi_ranks(demo)
    return [os.path.join(CONFIGS, "sources.cfg")] + (["--size", f"{ranks * BLOCK}x512"] if ranks * BLOCK > 512 else [])


def ways(demo, extra, delay, count, field):
    """What is compared: name and command. Every way may use all cores. MPI only has a rank for each. Where the work is balanced,
    fork-join and tasks have two ranks with half of the cores each. Where it is not, they have both shapes that share it among the
    cores: one rank with a thread for each core, and two ranks with a thread for each core, so that the rank with more work can
    use them all. Two hosts have at least a rank each."""
    ranks = mpi_ranks(demo)
    if extra is None:
        # --mirrored sets the odd plates in the other order. It helps callbacks and coroutines, and hurts a fixed order of
        # waiting, so MPI only runs without it. The width of blocks is what is best for MPI only: whole rows with a delay.
        block = ["--block", "512" if delay else "256"]
        return [(name, [*demo.mpi(ranks, delay), demo.plates, "--verify", "--iterations", count, *block, "--variant", name, *more])
                for name, more in (("mpi", []), ("forkjoin", []), ("callbacks", ["--mirrored"]), ("coroutine", ["--mirrored"]))]
    command = [demo.heat, *plate_arguments(demo), "--iterations", count, "--reference", field, *extra, "--variant"]
    forms = [(2, max(1, demo.cores // 2))] if not extra else [(2, demo.cores)] if delay else [(1, demo.cores), (2, demo.cores)]
    return [("mpi", [*demo.mpi(ranks, delay), *command, "mpi", "--threads", "1"])] + [
        (f"{name}-{r}x{threads}", [*demo.mpi(r, delay), *command, name, "--threads", str(threads)])
        for r, threads in forms for name in ("forkjoin", "omp-tasks", "tbb", "dataflow") if name in demo.variants]


def measure(demo, situation, delay):
    """Runs the ways of one situation in turn, and says one sentence of it."""
    name, text, count, delayed, extra = situation
    count = iterations(demo, delayed if delay else count)
    label = f"{name}-{delay}" if delay else name
    title = text + (f", {delay} between two hosts" if delay else "")
    field = os.path.join(demo.out, f"{label}.npy")
    if extra is not None:
        demo.progress.step(f"{title}: serial")
        if not demo.run(f"{label}-serial", [demo.heat, *plate_arguments(demo), "--iterations", count, "--field", field]):
            return
    all_ways = dict(ways(demo, extra, delay, count, field))
    chosen = all_ways
    for i in range(demo.repeats + 1):
        if i < 2:
            times = {}  # the runs that choose do not count, since the chosen may have been fast by chance
        for way in chosen:
            demo.progress.step(f"{title}: {way}, run {i}" if i else f"{title}: {way}, to choose the fastest")
            report = demo.run(f"{label}-{way}-{i}", all_ways[way])
            times.setdefault(way, []).append(report["time_s"] if report else None)
        if any(None in seconds for seconds in times.values()):
            demo.progress.total -= len(contest_of(all_ways)) * (demo.repeats - i)
            break
        chosen = contest(times)
    demo.progress.end()
    demo.say(sentence(title, times))


def is_ours(way):
    return way != "mpi" and not way.startswith("forkjoin")


def contest(times):
    """The ways that a sentence compares: MPI only, and the fastest of ours and of fork-join."""
    fastest_of = [fastest(times, is_ours), fastest(times, lambda way: way.startswith("forkjoin"))]
    return ["mpi"] + [way for way in fastest_of if way is not None]


def contest_of(all_ways):
    """As many names as a contest has of these."""
    return contest({way: [0] for way in all_ways})


def runs_of(all_ways, repeats):
    """How many runs measure() makes: each way once to choose, then those of the contest."""
    return len(all_ways) + repeats * len(contest_of(dict(all_ways)))


def ratio(base, ours):
    """How many times as fast as `base`: the median of the pairs, and their range where it is wide."""
    each = [b / o for b, o in zip(base, ours)]
    middle = statistics.median(each)
    wide = max(each) - min(each) > SPREAD * middle
    return f"{middle:.2f} times" + (f" (runs: {min(each):.2f} to {max(each):.2f})" if wide else ""), each


def shown(way):
    """A way as a sentence names it: dataflow-1x2 is `dataflow on 1 rank x 2 threads`."""
    name, _, form = way.rpartition("-")
    if not re.fullmatch(r"\d+x\d+", form):
        return way
    ranks, threads = form.split("x")
    return f"{name} on {ranks} rank{'' if ranks == '1' else 's'} x {threads} thread{'' if threads == '1' else 's'}"


def fastest(times, wanted):
    """The way with the shortest median of those whose name `wanted` accepts; None if there is none."""
    return min((way for way in times if wanted(way)), key=lambda way: statistics.median(times[way]), default=None)


def sentence(title, times):
    failed = [way for way, seconds in times.items() if None in seconds]
    if failed:
        return f"{title}: not compared, since a run of {', '.join(failed)} failed."
    best = fastest(times, is_ours)
    if best is None:
        return f"{title}: not compared, since heat was built without tasks."
    text, each = ratio(times["mpi"], times[best])
    verdict = "so MPI only wins" if max(each) < 1 else "so it wins" if min(each) > 1 else "so neither wins for certain"
    loop = fastest(times, lambda way: way.startswith("forkjoin"))
    against = f", and {ratio(times[loop], times[best])[0]} as fast as {shown(loop)}" if loop else ""
    return f"{title}: the best of ours, {shown(best)}, is {text} as fast as MPI only, {verdict}{against}."


def no_delay():
    """Why this machine cannot have two hosts; None if it can."""
    why = two_hosts.missing()
    if why is None:
        done = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "two_hosts.py"), "--can-run"], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            why = done.stderr.strip().removeprefix("two_hosts: skipped: ") or f"two_hosts.py ended with {done.returncode}"
    return why


def main():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = ["unchanged", "gallery", "balanced", "imbalanced", "plates"]
    parser.add_argument("build", metavar="BUILD_DIR", help="has bin/heat and bin/heat_plates")
    parser.add_argument("out", metavar="OUT_DIR", help="made if it is missing")
    parser.add_argument("--scale", type=int, default=100, metavar="PERCENT", help="part of the iterations, 1 to 100 [100]")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="runs of the fastest ways in a situation, 1 to 99 [3]")
    parser.add_argument("--only", choices=parts, action="append", metavar="PART",
                        help=f"one of {', '.join(parts)}; may be repeated [all]")
    options = parser.parse_args()
    if not 1 <= options.scale <= 100 or not 1 <= options.repeats <= 99:
        parser.error("--scale is 1 to 100, --repeats 1 to 99")
    chosen = options.only or parts
    demo = Demo(options)
    try:
        os.makedirs(demo.out, exist_ok=True)
    except OSError as error:
        parser.error(f"cannot make the folder {demo.out}: {error.strerror}")
    for name in os.listdir(demo.out):
        if name.endswith((".png", ".json", ".npy", ".log")) or name == "report.txt":
            os.remove(os.path.join(demo.out, name))
    os.chdir(demo.out)

    plates = ["sources", "picture"] if "gallery" in chosen else []
    wanted = [situation for situation in situations(demo) if situation[0] in chosen]
    why = no_delay() if wanted or "unchanged" in chosen else None
    delays = [None] if why else [None, DELAY]
    demo.progress.total = 2 * ("unchanged" in chosen) + len(plates) * (1 + len(shapes(demo))) + sum(
        (situation[4] is not None) + runs_of(ways(demo, situation[4], delay, "1", ""), demo.repeats)
        for situation in wanted for delay in delays)
    if "unchanged" in chosen:
        unchanged(demo, None if why else DELAY)
    if plates:
        done = {plate: gallery(demo, plate) for plate in plates}
        demo.progress.end()
        draw(demo, done)
    for delay in delays:
        for situation in wanted:
            measure(demo, situation, delay)
    if why:
        demo.say(f"Left out: the situations with a delay between two hosts, since this {why}.")
    if demo.status == 0 and chosen != ["unchanged"]:
        demo.say(f"All {demo.checked} parallel runs computed the values of the serial run, bit for bit.")
    elif demo.status != 0:
        demo.say(f"Some runs failed or have other values; {demo.checked} computed the values of the serial run, bit for bit.")
    with open(os.path.join(demo.out, "report.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(demo.report) + "\n")
    print(os.path.join(demo.out, "report.txt"))
    return demo.status


if __name__ == "__main__":
    sys.exit(main())
