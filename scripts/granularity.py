#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Granularity: runs the variants of heat, streaming and amr over sizes of blocks and messages, on one machine, on two
hosts with a delay between them, or on simulated ranks, and prints throughput and the share of time inside MPI as tables, as JSON and
as a plot. These are the figures 10, 12 and 13 of Sala et al. 2021, at the size of one machine.

All points of an application are measured in turn, several rounds, so that a change of the machine's load meets all of them; a point is
the median of its rounds. Every run is compared with a serial one by the program itself."""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import runs
import scaling
import two_hosts

ROOT = Path(__file__).resolve().parent.parent
VARIANTS = ("mpi", "forkjoin", "tampi", "tagaspi", "tagaspi-tasks", "callbacks")
COLOURS = {"mpi": "#4c78a8", "forkjoin": "#e4a84c", "tampi": "#72b7b2", "tagaspi": "#d45f5f", "tagaspi-tasks": "#b5638d", "callbacks": "#3f9c6b"}
ONE_THREAD = ("mpi", "callbacks")  # these have as many ranks as the others have threads, and run on simulated ranks
SIMULATED = "sim:"  # a place that is simulated begins so
EPILOG = """Where a point of --where is `one`, all ranks are on this machine and use its shared memory. A time such as 50us is two hosts
with TCP and that one-way delay between them (scripts/two_hosts.py); 0us is TCP without a delay.
sim:TIME is a simulated cluster with that latency (scripts/simulate.py) and --simulated-ranks ranks, in the variants
with one thread. There the share is that of the time in which a rank does not compute, and a point is one run, since runs repeat exactly.

--threads T gives each rank T threads. A rank of `mpi` or `callbacks` has one thread, so there are T times as many ranks of these.

examples:
  scripts/granularity.py build/release --json granularity.json --plot granularity.svg
  scripts/granularity.py build/release --apps streaming --where one --rounds 3
  scripts/granularity.py build/release --where one --threads 8 --plot granularity.svg
  scripts/granularity.py build/smpi --where sim:2us,sim:20us --plot simulated.svg
  scripts/granularity.py --from granularity.json --plot granularity.png

Exit status: 0 done, 1 a run failed, 2 wrong usage, 3 a run has wrong values."""


class Application:
    """`sizes`: of the option `size`, in the order of the figure. `arguments`: for all sizes, given the options and whether a rank has
    one thread.
    `names`: what the program calls a variant, where that differs. `cost`: ns of one unit of its work on simulated ranks."""

    def __init__(self, figure, option, axis, sizes, arguments, cost, names=None):
        self.figure, self.option, self.axis, self.sizes, self.arguments = figure, option, axis, sizes, arguments
        self.names, self.cost = names or {}, cost

    def simulation(self, options, name, variant, size, latency):
        """The command of the point on simulated ranks, which writes a report into the folder of --keep."""
        alike = argparse.Namespace(**{**vars(options), "ranks": options.simulated_ranks, "threads": 1})
        return [sys.executable, str(ROOT / "scripts/simulate.py"), str(options.simulated / "bin" / name), "--ranks", str(alike.ranks), "--latency",
                latency, "--cell-cost", f"{self.cost}ns", "--variants", variant, "--timeout", str(options.timeout), "--keep",
                str(options.folder / "simulated"), "--", *self.arguments(alike, True), self.option, str(size), "--verify"]

    def command(self, options, name, variant, size):
        return [str(options.build / "bin" / name), *self.arguments(options, variant in ONE_THREAD), self.option, str(size),
                "--variant", self.names.get(variant, variant), "--threads", "1" if variant in ONE_THREAD else str(options.threads), "--verify"]


def scaled(number, scale):
    return str(max(1, number * scale // 100))


APPLICATIONS = {
    "heat": Application(10, "--block", "rows and columns of a block", [16, 32, 64, 128, 256],
                        lambda options, _: [str(ROOT / "apps/heat/configs/sources.cfg"), "--iterations", scaled(100, options.scale),
                                            "--size", f"{512 * max(4, options.ranks * options.threads)}x2048"],
                        1.1, {"tampi": "tampi-iwait"}),
    "amr": Application(12, "--variables", "variables of a cell, each face a message", [5, 10, 20, 40],
                       lambda options, _: ["--faces", "1", "--block", "8", "--levels", "2", "--steps", scaled(16, options.scale)], 5),
    "streaming": Application(13, "--block", "numbers of a block", [64, 256, 1024, 4096, 16384],
                             lambda options, one_thread: ["--size", "32768", "--work", "40", "--chunks", scaled(100, options.scale), "--functions",
                                                          str(options.ranks), "--lanes", str(options.threads if one_thread else 1)], 40),
}


def fail(message, status=2):
    print(f"granularity: {message}", file=sys.stderr)
    sys.exit(status)


def known_variants(program, application):
    """Those that the program has, by our names."""
    text = subprocess.run([program, "--help"], capture_output=True, text=True, check=False).stdout
    listed = {line.split()[0] for line in text.partition("Variants:")[2].splitlines() if line.startswith("  ") and line.strip()}
    return [v for v in VARIANTS if application.names.get(v, v) in listed]


def launch(options, where, variant):
    """The command that starts the ranks of the variant, unbound: helper threads run beside those of a rank."""
    ranks = options.ranks * (options.threads if variant in ONE_THREAD else 1)
    if where == "one":
        return scaling.start(options.mpiexec, options.kind, ranks)
    return [sys.executable, str(ROOT / "scripts/two_hosts.py"), "--delay", where, "--ranks", str(ranks // 2), "--mpiexec",
            options.mpiexec, "--"]


def simulate(options, what, point):
    """One run on simulated ranks. Returns the program's report, with the share of the time in which a rank does not compute."""
    application, folder = APPLICATIONS[point["application"]], options.folder / "simulated"
    shutil.rmtree(folder, ignore_errors=True)
    command = application.simulation(options, point["application"], point["variant"], point["size"], point["where"].removeprefix(SIMULATED))
    report = run(options, what, command, lambda: next(folder.glob("*/run-*.json")))
    report["share_of_thread_time"]["mpi"] = max(0.0, 1 - application.cost / report["cell_ns"])
    return report


def run(options, what, command, report_file=None):
    """One run. Returns the program's report. `report_file`: finds the file that it wrote, if not that of --json."""
    file, log = options.folder / "run.json", options.folder / "run.log"
    file.unlink(missing_ok=True)
    if report_file is None:
        command = [*command, "--progress", "never", "--json", str(file)]
    try:
        with open(log, "w", encoding="utf-8") as output:
            status = runs.call(command, options.timeout, options.environment, output)
        report = None if status else json.loads((report_file() if report_file else file).read_text(encoding="utf-8"))
    except subprocess.TimeoutExpired:
        options.progress.end()
        fail(f"{what} did not end within {options.timeout} s; --timeout sets another limit", 1)
    except (OSError, ValueError, StopIteration):
        report = None
    if report is None:
        options.progress.end()
        said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[:15]
        fail(f"{what} ended with status {status} and no report: {' '.join(command)}\n" + "\n".join(said), 3 if status == 3 else 1)
    said, right = scaling.verdict(report)
    if not right:
        options.progress.end()
        fail(f"{what}: the values are not right: {said}", 3)
    return report


def measure(options, points):
    """All rounds of all points, each application and place for itself. Each point gets `rates` and `mpi_shares`."""
    for number in range(options.rounds):
        for point in points[number % len(points):] + points[:number % len(points)]:
            what = f"{point['application']}, {point['variant']}, {point['size']}, {point['where']}"
            simulated = point["where"].startswith(SIMULATED)
            if simulated and "rates" in point:
                continue  # it would give the same
            options.progress.step(f"round {number + 1}: {what}")
            command = APPLICATIONS[point["application"]].command(options, point["application"], point["variant"], point["size"])
            report = simulate(options, what, point) if simulated else run(
                options, what, launch(options, point["where"], point["variant"]) + command)
            point.setdefault("rates", []).append(report.get("updates_per_s_without_refinement", report["updates_per_s"]))
            point.setdefault("mpi_shares", []).append(report["share_of_thread_time"]["mpi"])
            options.mpi = report["mpi"] if not simulated else options.mpi or report["mpi"]
        if options.json:  # after each round: what ends this script later loses no round
            scaling.write(options.json, result_of(options, points, number + 1))


def result_of(options, points, done):
    return {"what": "granularity", "mpi": options.mpi, "processor": scaling.processor(), "available": len(os.sched_getaffinity(0)),
            "ranks": options.ranks, "threads": options.threads, "simulated_ranks": options.simulated_ranks, "rounds": done,
            "scale": options.scale, "points": points}


def groups(result):
    """The points of each application and place, in order."""
    found = {}
    for point in result["points"]:
        found.setdefault((point["application"], point["where"]), []).append(point)
    return found


def place(where, result):
    if where.startswith(SIMULATED):
        return f"{result.get('simulated_ranks')} simulated ranks, latency {where.removeprefix(SIMULATED)}"
    return "one machine" if where == "one" else f"two hosts, delay {where}"


def shape(result):
    ranks, threads = result.get("ranks", 2), result.get("threads", 1)
    if threads == 1:
        return f"{ranks} ranks x 1 thread"
    return f"{ranks} ranks x {threads} threads ({' and '.join(ONE_THREAD)}: {ranks * threads} ranks)"


def table(result):
    print(f"{result['processor']}, {result['available']} processors, {result['mpi']}; {shape(result)}, median of {result['rounds']} rounds: "
          "Mupdates/s (% of the time inside MPI; simulated: not computing)")
    for (name, where), points in groups(result).items():
        variants = list(dict.fromkeys(point["variant"] for point in points))
        print(f"\n{name}, {place(where, result)}: {APPLICATIONS[name].axis}\n{'':>8}" + "".join(f"{v:>22}" for v in variants))
        for size in dict.fromkeys(point["size"] for point in points):
            cells = []
            for variant in variants:
                point = next(p for p in points if p["variant"] == variant and p["size"] == size)
                rates = point["rates"]
                wide = max(rates) - min(rates) > scaling.SPREAD * statistics.median(rates)
                cells.append(f"{statistics.median(rates) / 1e6:.4g} ({100 * statistics.median(point['mpi_shares']):.0f} %)" + "?" * wide)
            print(f"{size:>8}" + "".join(f"{cell:>22}" for cell in cells))
    print(f"\n?: rounds that differ by more than {100 * scaling.SPREAD:.0f} %. All {sum(len(p['rates']) for p in result['points'])} runs "
          "have the values of a serial run.")


def draw(result, file):
    figures = scaling.matplotlib_figures()
    _, pyplot = figures.figures()
    found = groups(result)
    names, wheres = list(dict.fromkeys(n for n, _ in found)), list(dict.fromkeys(w for _, w in found))
    figure, panels = pyplot.subplots(2 * len(names), len(wheres), figsize=(3.6 * len(wheres) + 1, 3.9 * len(names)), squeeze=False,
                                     gridspec_kw={"height_ratios": [2, 1] * len(names)})
    for (name, where), points in found.items():
        rate, share = (panels[2 * names.index(name) + k][wheres.index(where)] for k in (0, 1))
        for variant in dict.fromkeys(point["variant"] for point in points):
            mine = [point for point in points if point["variant"] == variant]
            sizes, middle = [p["size"] for p in mine], [statistics.median(p["rates"]) / 1e6 for p in mine]
            low = [m - min(p["rates"]) / 1e6 for m, p in zip(middle, mine)]
            high = [max(p["rates"]) / 1e6 - m for m, p in zip(middle, mine)]
            rate.errorbar(sizes, middle, yerr=[low, high], marker="o", ms=4, capsize=2, lw=1.3, color=COLOURS[variant], label=variant)
            share.plot(sizes, [100 * statistics.median(p["mpi_shares"]) for p in mine], marker="o", ms=3, lw=1.1, color=COLOURS[variant])
        for axes in (rate, share):
            axes.set_xscale("log", base=2)
            axes.set_xticks(APPLICATIONS[name].sizes, [str(size) for size in APPLICATIONS[name].sizes])
            axes.minorticks_off()
        rate.set_title(f"{name}, {place(where, result)}", fontsize=9)
        rate.set_ylim(bottom=0)
        share.set_ylim(0, 100)
        share.set_xlabel(APPLICATIONS[name].axis, fontsize=8)
        if wheres.index(where) == 0:
            rate.set_ylabel("Mupdates/s")
            share.set_ylabel("% not computing" if where.startswith(SIMULATED) else "% inside MPI")
    named = {label: line for panel in figure.axes for line, label in zip(*panel.get_legend_handles_labels())}
    panels[0][0].legend(named.values(), named.keys(), fontsize=8)
    figure.tight_layout()
    figures.save(figure, file)


def chosen(text, known, option):
    words = text.split(",")
    for word in words:
        if word not in known:
            fail(f"{option}: '{word}' is unknown; known are {', '.join(known)}")
    return list(dict.fromkeys(words))


def parse():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage="%(prog)s [options] BUILD_DIR")
    parser.add_argument("build", nargs="?", type=Path, metavar="BUILD_DIR", help="has bin/heat, bin/streaming and bin/amr")
    parser.add_argument("--apps", default=",".join(APPLICATIONS), metavar="NAME,...", help="applications [all]")
    parser.add_argument("--variants", default=",".join(VARIANTS), metavar="NAME,...", help="variants [all that are built]")
    parser.add_argument("--where", default="one,0us,50us,500us", metavar="one|TIME|sim:TIME,...", help="where the ranks are [one,0us,50us,500us]")
    parser.add_argument("--ranks", type=two_hosts.number_of_ranks, default=2, metavar="N", help="ranks, half of them on each host [2]")
    parser.add_argument("--threads", type=two_hosts.number_of_ranks, default=1, metavar="T", help="threads of a rank, see below [1]")
    parser.add_argument("--simulated", type=Path, default=ROOT / "build/smpi", metavar="DIR", help="build folder of the preset smpi [build/smpi]")
    parser.add_argument("--simulated-ranks", type=two_hosts.number_of_ranks, default=16, metavar="N", help="ranks of sim:TIME [16]")
    parser.add_argument("--rounds", type=scaling.rounds, default=5, metavar="N", help="runs of each point, in turn with the others [5]")
    parser.add_argument("--scale", type=int, default=100, metavar="PERCENT", help="part of the steps, 1 to 1000 [100]")
    parser.add_argument("--mpiexec", metavar="PROGRAM", help="launcher of Open MPI, MPICH or Intel MPI [that of the build folder]")
    parser.add_argument("--timeout", type=scaling.limit, default=300, metavar="S", help="seconds for one run [300]")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write settings and results, after each round")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw throughput and share of MPI, for example granularity.svg")
    parser.add_argument("--from", dest="earlier", type=Path, metavar="FILE", help="run nothing: print and draw what --json wrote")
    options = parser.parse_args()
    if (options.build is None) == (options.earlier is None):
        parser.error("name a build folder, or a file with --from")
    if options.ranks % 2:
        parser.error("--ranks is an even number")
    if not 1 <= options.scale <= 1000:
        parser.error("--scale is 1 to 1000")
    for file in (options.json, options.plot):
        if file is not None and not scaling.can_write(file):
            fail(f"{file}: cannot write this file")
    if options.plot:
        scaling.matplotlib_figures()  # before the runs
    return options


def prepare(options):
    """Checks what is to run. Returns the points."""
    options.build = options.build.absolute()
    options.simulated, options.mpi = options.simulated.absolute(), None
    options.environment = {**runs.environment(), "OMP_WAIT_POLICY": "passive"}
    names = chosen(options.apps, list(APPLICATIONS), "--apps")
    wanted = chosen(options.variants, list(VARIANTS), "--variants")
    places = options.where.split(",")
    real = [where for where in places if not where.startswith(SIMULATED)]
    if real:
        options.mpiexec = options.mpiexec or runs.launcher(str(options.build))
        options.kind = two_hosts.known_family(options.mpiexec, fail)
    delay = two_hosts.quantity("time", {"us": 1e-6, "ms": 1e-3}, "one or 300us")
    for where in places:
        try:
            _ = where == "one" or delay(where.removeprefix(SIMULATED))
        except argparse.ArgumentTypeError as error:
            fail(f"--where: {error}")
    why = runs.no_delay() if any(where != "one" for where in real) else None
    if why:
        print(f"granularity: left out: two hosts, since this {why}", file=sys.stderr)
        places = [where for where in places if where == "one" or where not in real]
        if not places:
            sys.exit(two_hosts.SKIPPED)
    points = []
    for name in names:
        built = {}  # whether the place is simulated -> variants
        for simulated in {where not in real for where in places}:
            program = (options.simulated if simulated else options.build) / "bin" / name
            if not os.access(program, os.X_OK):
                fail(f"no program {program}; build it: cmake --build --preset {'smpi' if simulated else 'release'} --target {name}")
            else:
                built[simulated] = ONE_THREAD if simulated else known_variants(str(program), APPLICATIONS[name])
        points += [{"application": name, "where": where, "variant": variant, "size": size} for where in places for variant in wanted
                   if variant in built[where not in real] for size in APPLICATIONS[name].sizes]
    return points


def main():
    options = parse()
    if options.earlier:
        try:
            result = json.loads(options.earlier.read_text(encoding="utf-8"))
            table(result)
        except BrokenPipeError:
            return 1
        except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
            fail(f"{options.earlier}: no file of --json: {type(error).__name__}: {error}")
    else:
        points = prepare(options)
        options.progress = runs.Progress(sum(1 if point["where"].startswith(SIMULATED) else options.rounds for point in points))
        with tempfile.TemporaryDirectory() as folder:
            options.folder = Path(folder)
            measure(options, points)
        options.progress.end()
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
