#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The demonstration: situations in which Thence may pay, each as programs are without it and with it, measured in turn. One
sentence and one bar for each, what gains most first; then what loses.

Writes to OUT_DIR the bars (overview.png, overview.json), a picture of each situation (NAME.png), the sentences and a table of
Markdown (report.txt), the situations in the order of the bars (order.json), and the files of the runs. Files of an earlier run
there are deleted first (*.png, *.json, *.npy, *.log, report.txt); a folder that has such files, but not of an earlier run, is
refused. The first run of each way draws the picture and checks the values, and does not count. The others go on until the time is
over."""

import argparse
import json
import os
import subprocess
import sys
import time

import runs
from demonstration import overview, situations, table
from demonstration.machine import Machine

LEAST = 3  # rounds, so that one disturbed run does not decide
NOT_ENDED = "The demonstration has not ended.\n"  # the report until there is one
EPILOG = """Exit status: 0 done; 1 a run failed, its log is kept; 2 wrong usage; 3 values are wrong.

Environment:
  MPIEXEC  the MPI launcher [the one BUILD_DIR was configured with]
  PYTHON   a Python with numpy and matplotlib [the first of python3 and /usr/bin/python3 that has them]"""


def picture(machine, situation, python):
    """Draws the picture of a situation. Returns its name; None if that failed."""
    name = f"{situation.name}.png"
    machine.progress.step(f"the picture {name}")
    files = [machine.file(situation, way, "timeline.json" if "{timeline}" in way.first_run else "json")
             for way in (situation.usual, situation.ours)]
    command = situation.picture(files, os.path.join(machine.out, name))
    if subprocess.run([python, *command], check=False, stdout=subprocess.DEVNULL).returncode != 0:
        machine.status = max(machine.status, 1)
        return None
    return name


def first_runs(machine, chosen):
    """Each way once, with its values checked. Returns what can be compared: situations whose ways all ran."""
    done = []
    for situation in chosen:
        reports = [machine.run(situation, way, 0) for way in situation.ways()]
        if None in reports:
            continue
        situation_block = machine.block(situation, reports[1]) if situation.block else None
        done.append(overview.Compared(situation, situation_block))
    return done


def measure(machine, compared, repeats, deadline):
    """Rounds of all situations: LEAST, and more until there are enough or the next one would last too long. Returns how many there are
    in any case, and when these had ended."""
    least = min(LEAST, repeats)
    ended = 0.0
    for number in range(1, repeats + 1):
        begun = time.monotonic()
        for each in compared:
            seconds = [machine.run(each.situation, way, number) for way in each.situation.ways()]
            if None not in seconds:
                each.add([machine.seconds(report) for report in seconds])
        now = time.monotonic()
        if number == least:
            ended = now
        if number >= least and now + (now - begun) > deadline:
            break
    return least, ended


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", metavar="BUILD_DIR", nargs="?", default=os.path.join(runs.ROOT, "build", "release"),
                        help="has the applications in bin [build/release of this source]")
    parser.add_argument("out", metavar="OUT_DIR", nargs="?", default=os.path.join(runs.ROOT, "build", "demo"),
                        help="made if it is missing [build/demo of this source]")
    parser.add_argument("--scale", type=int, default=100, metavar="PERCENT", help="part of the iterations, 1 to 100 [100]")
    parser.add_argument("--repeats", type=int, default=9, metavar="N", help="most rounds that count, 1 to 99 [9]")
    parser.add_argument("--seconds", type=int, default=150, metavar="S", help=f"begin no round that ends later, but {LEAST} rounds at least, 1 to 3600 [150]")
    parser.add_argument("--only", action="append", metavar="NAME",
                        help="a situation, or all whose name begins so; may be repeated; --list says which there are [all]")
    parser.add_argument("--list", action="store_true", help="list the situations and end")
    parser.add_argument("--table", nargs="+", metavar="DIR", help="run nothing: print a table of Markdown of the runs in these folders, the "
                        "lowest and the highest of their medians, in the order of the last one, and end")
    options = parser.parse_args()
    if not 1 <= options.scale <= 100 or not 1 <= options.repeats <= 99 or not 1 <= options.seconds <= 3600:
        parser.error("--scale is 1 to 100, --repeats 1 to 99, --seconds 1 to 3600")
    return parser, options


def choose(parser, options, known):
    words = {word for situation in known for word in situations.words(situation)}
    for word in options.only or []:
        if word not in words:
            parser.error(f"--only {word}: no situation; there are {', '.join(s.name for s in known)}")
    return [s for s in known if not options.only or situations.words(s) & set(options.only)]


def has_earlier_run(out):
    """Whether a demonstration has written to this folder, or has begun to."""
    try:
        with open(os.path.join(out, "report.txt"), encoding="utf-8") as file:
            if file.readline() == NOT_ENDED:
                return True
        with open(os.path.join(out, "overview.json"), encoding="utf-8") as file:
            return json.load(file).get("what") == "scripts/demo.py"
    except (OSError, ValueError, AttributeError):
        return False


def prepare(parser, out):
    """An empty folder for the files."""
    try:
        os.makedirs(out, exist_ok=True)
    except OSError as error:
        parser.error(f"cannot make the folder {out}: {error.strerror}")
    found = sorted(name for name in os.listdir(out) if name.endswith((".png", ".json", ".npy", ".log")) or name == "report.txt")
    if found and not has_earlier_run(out):
        parser.error(f"{out} has files that are not of an earlier run, such as {found[0]}: name another folder")
    for name in found:
        os.remove(os.path.join(out, name))
    with open(os.path.join(out, "report.txt"), "w", encoding="utf-8") as file:
        file.write(NOT_ENDED)


def write(machine, report):
    """The files that other programs read."""
    order = {"what": report["what"], "situations": [{"name": row["name"], "ratio": round(row["median"], 3)} for row in report["situations"]]}
    for name, content in (("overview.json", report), ("order.json", order)):
        with open(os.path.join(machine.out, name), "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
            file.write("\n")


def main():
    parser, options = arguments()
    if options.table:
        try:
            print("\n".join(table.lines([table.read(folder) for folder in options.table])))
        except ValueError as error:
            parser.error(f"--table: {error}")
        return 0
    begun = time.monotonic()
    machine = Machine(options)
    known = situations.all_situations(machine)
    chosen = choose(parser, options, known)
    if options.list:
        for situation in chosen:
            print(f"{situation.name:<16} {situation.title}{overview.where(situation)}")
        return 0
    prepare(parser, machine.out)
    lines = []
    why = runs.no_delay() if any(s.delay for s in chosen) else None
    if why:
        lines.append(overview.left_out_with_delay(chosen, why))
        chosen = [s for s in chosen if not s.delay]
    lines += [f"Left out: {name}, {reason}." for name, reason in machine.missing(chosen)]
    chosen = [s for s in chosen if machine.can_run(s)]
    machine.progress.total = sum(len(s.ways()) for s in chosen) * (1 + options.repeats) + 6 + len(chosen)
    costs = machine.measure_costs()
    machine.make_fields(chosen)
    compared = first_runs(machine, chosen)
    least, ended = measure(machine, compared, options.repeats, begun + options.seconds)
    compared = [each for each in compared if each.ratios]
    python = runs.python_with_figures() if compared else None
    if python:
        for each in compared:
            each.picture = picture(machine, each.situation, python)
    machine.progress.end()
    report = overview.report(machine, compared, costs)
    write(machine, report)
    if python:
        drawn = subprocess.run([python, overview.__file__, os.path.join(machine.out, "overview.json"),
                                os.path.join(machine.out, "overview.png")], check=False, stdout=subprocess.DEVNULL)
        machine.status = max(machine.status, int(drawn.returncode != 0))
    lines = overview.sentences(report) + lines
    if compared:
        lines += ["", *table.lines([report]), ""]
    lines += [*machine.verdict(), overview.took(time.monotonic() - begun, least, ended - begun)]
    with open(os.path.join(machine.out, "report.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    print("\n".join(lines))
    print(os.path.join(machine.out, "report.txt"))
    return machine.status


if __name__ == "__main__":
    sys.exit(main())
