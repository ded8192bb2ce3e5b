#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Weak scaling of qr: on more and more cores the matrix grows so that each core has as many operations, for ranks x threads that are
given, and draws the speed of each core, as figure 6 of Schuchart et al. 2021. Drawing needs matplotlib; --json keeps what was measured, and
--from draws it later.

Shapes and variants are measured in turn, several rounds; a point is the median. The first run of each is checked, unless --no-check."""
import argparse
import os
import pathlib
import re
import statistics
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "common"), os.path.join(HERE, "..", "..", "scripts")]
import runs  # noqa: E402
import scaling  # noqa: E402
import two_hosts  # noqa: E402
from figures import fail, figures, load, save  # noqa: E402

FORM = {"variant": str, "ranks": int, "threads": int, "rows": int, "tile": int, "time_s": float, "gflops": float, "factors": str}
POINT = {"ranks": int, "threads": int, "variant": str, "rows": int, "gflops_of_a_core": [float]}
RESULT = {"cores": int, "tile": int, "tree": str, "rounds": int, "points": [POINT]}
VARIANTS = {"forkjoin": "#e4a84c", "reference": "#4c78a8", "messages": "#d45f5f"}


def shape(text):
    match = re.fullmatch(r"([1-9][0-9]{0,3})x([1-9][0-9]{0,3})", text)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is no shape; write RANKSxTHREADS, for example 2x1")
    return int(match[1]), int(match[2])


def size_for(options, cores):
    """Rows and columns, in whole tiles: operations grow as the third power."""
    return max(1, round(options.size * cores ** (1 / 3) / options.tile)) * options.tile


def name(where, available):
    ranks, threads = where
    return f"{ranks} x {threads}" + ("\noversubscribed" if ranks * threads > available else "")


def run(options, where, variant, number):
    """The Gflop/s of each core."""
    ranks, threads = where
    size = size_for(options, ranks * threads)
    file, log = os.path.join(options.folder, "run.json"), os.path.join(options.folder, "run.log")
    command = [*scaling.start(options.mpiexec, options.kind, ranks), options.program, "--variant", variant, "--threads", str(threads), "--matrix",
               f"{size}x{size}", "--tile", str(options.tile), "--tree", options.tree, "--progress", "never", "--json", file]
    with open(log, "w", encoding="utf-8") as output:
        status = runs.call(command + (["--no-check"] if number or options.no_check else []), options.timeout, options.environment, output)
    if status != 0:
        with open(log, encoding="utf-8") as output:
            fail(f"{' '.join(command)}: exit status {status}\n{output.read()}")
    report = load(file, "qr --json", FORM)
    if number == 0 and not options.no_check and report["factors"] != "right":
        fail(f"{' '.join(command)}: the factors are {report['factors']}")
    return report["gflops"] / min(ranks * threads, options.cores)


def draw(result, output):
    _, pyplot = figures()
    figure, axes = pyplot.subplots(figsize=(8.5, 4.6), constrained_layout=True)
    shapes = distinct(result, shape_of)
    for variant in distinct(result, variant_of):
        points = [point["gflops_of_a_core"] for point in result["points"] if point["variant"] == variant]
        middle = [statistics.median(each) for each in points]
        axes.errorbar(range(len(shapes)), middle, [[m - min(each) for m, each in zip(middle, points)],
                                                   [max(each) - m for m, each in zip(middle, points)]],
                      marker="o", capsize=3, color=VARIANTS.get(variant), label=variant)
    axes.set_xticks(range(len(shapes)), [name(where, result["cores"]) for where in shapes])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("ranks x threads; each core has as many operations")
    axes.set_ylabel("Gflop/s of a core")
    axes.set_title(f"qr, tiles of {result['tile']}, {result['tree']} tree: median and range of {result['rounds']} runs")
    axes.grid(True, axis="y", alpha=0.3)
    axes.legend()
    save(figure, output)


def shape_of(point):
    return point["ranks"], point["threads"]


def variant_of(point):
    return point["variant"]


def distinct(result, what):
    return list(dict.fromkeys(what(point) for point in result["points"]))


def table(result):
    variants = distinct(result, variant_of)
    print(f"Gflop/s of a core; of more threads than cores, of one of the {result['cores']} cores\n{'ranks x threads':<17}{'matrix':>7}"
          + "".join(f"{variant:>24}" for variant in variants))
    for where in distinct(result, shape_of):
        points = [point for point in result["points"] if shape_of(point) == where]
        cells = [point["gflops_of_a_core"] for point in points]
        print(f"{name(where, result['cores']).splitlines()[0]:<17}{points[0]['rows']:>7}"
              + "".join(f"{statistics.median(each):>10.2f} ({min(each):.2f}-{max(each):.2f})" for each in cells))


def measure(options):
    progress = runs.Progress((options.rounds + 1) * len(options.shapes) * len(options.variants))
    points = [{"ranks": ranks, "threads": threads, "variant": variant, "rows": size_for(options, ranks * threads), "gflops_of_a_core": []}
              for ranks, threads in options.shapes for variant in options.variants]
    with tempfile.TemporaryDirectory() as options.folder:
        for number in range(options.rounds + 1):
            for point in points:
                where = shape_of(point)
                progress.step(f"{where[0]} x {where[1]}, {point['variant']}, " + (f"run {number}" if number or options.no_check else "checked"))
                speed = run(options, where, point["variant"], number)
                if number:
                    point["gflops_of_a_core"].append(speed)
            if number and options.json:  # after each round: what ends this script later loses no round
                scaling.write(options.json, result_of(options, points, number))
    progress.end()
    return result_of(options, points, options.rounds)


def result_of(options, points, done):
    return {"what": "qr weak scaling", "cores": options.cores, "tile": options.tile, "tree": options.tree, "rounds": done, "points": points}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", help="qr")
    parser.add_argument("--shapes", default="1x1,2x1,1x2,4x1", help="RANKSxTHREADS[,...] [1x1,2x1,1x2,4x1]")
    parser.add_argument("--variants", default=",".join(VARIANTS), help=f"of qr [{','.join(VARIANTS)}]")
    parser.add_argument("--size", type=int, default=1536, help="rows and columns on one core [1536]")
    parser.add_argument("--tile", type=int, default=128, help="rows and columns of a tile [128]")
    parser.add_argument("--tree", default="binary", choices=["flat", "binary"], help="order of elimination [binary]")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each point [3]")
    parser.add_argument("--timeout", type=int, default=120, help="seconds that a run may last [120]")
    parser.add_argument("--mpiexec", help="the launcher [that of the build]")
    parser.add_argument("--no-check", action="store_true", help="check no factors: on many cores that takes longer than all else")
    parser.add_argument("--json", type=pathlib.Path, help="keep what was measured in this file, after each round")
    parser.add_argument("--from", dest="earlier", help="run nothing: print and draw what --json wrote")
    parser.add_argument("-o", "--output", help="picture to write [qr_weak_scaling.png; none with --json]")
    options = parser.parse_args()
    if (options.program is None) == (options.earlier is None):
        parser.error("name the program, or a file with --from")
    if options.json is not None and not scaling.can_write(options.json):
        fail(f"{options.json}: cannot write this file")
    if options.output is None and options.json is None:
        options.output = "qr_weak_scaling.png"
    if options.output:
        figures()  # before the measurement, so that matplotlib is not missing after it
    return parser, options


def prepare(parser, options):
    if not os.access(options.program, os.X_OK):
        fail(f"no program {options.program}; build it: cmake --build --preset release --target qr")
    if options.rounds < 1 or options.tile < 4 or options.size < options.tile:
        parser.error("--rounds is at least 1, --tile at least 4, and --size at least that of a tile")
    try:
        options.shapes = [shape(text) for text in options.shapes.split(",")]
    except argparse.ArgumentTypeError as error:
        parser.error(f"--shapes: {error}")
    options.variants = options.variants.split(",")
    options.program = os.path.abspath(options.program)
    options.mpiexec = options.mpiexec or runs.launcher(os.path.dirname(os.path.dirname(options.program)))
    options.kind = two_hosts.known_family(options.mpiexec, fail)
    options.cores = len(os.sched_getaffinity(0))
    options.environment = {**runs.environment(), "OMP_WAIT_POLICY": "passive"}


def main():
    parser, options = parse()
    if options.earlier:
        result = load(options.earlier, "weak_scaling.py --json", RESULT)
    else:
        prepare(parser, options)
        result = measure(options)
    table(result)
    if options.output:
        draw(result, options.output)


if __name__ == "__main__":
    main()
