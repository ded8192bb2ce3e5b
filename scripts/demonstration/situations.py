# SPDX-License-Identifier: BSD-3-Clause
"""The situations of the demonstration: which programs are compared, at which size, and what picture shows the difference.

A situation compares `ours`, a way with Thence, with `usual`, what a program does without it, and with `others`, what one can
write by hand. All ways of a situation have the same processors. Sizes are such that a block of work takes at least 20 times
as long as a task and as a message cost."""

import os
import re
from dataclasses import dataclass

import runs
from demonstration.machine import CONFIG

DELAY = "300us"
PLOTS = os.path.join(runs.ROOT, "apps")
BLOCK = 256  # rows and columns of a block of heat


@dataclass(frozen=True)
class Way:
    """`label`: as a sentence says it. `command`: without the launcher, and without --json. `first_run`: what the first run adds, from
    which the picture is drawn and which checks the values; `later`: what all others add. {timeline} in them is a file.
    `reports`: it has the option --json; else it prints how long it lasted."""
    label: str
    command: list
    ranks: int = 2
    first_run: tuple = ()
    later: tuple = ()
    reports: bool = True


@dataclass(frozen=True)
class Situation:
    """`title`: what the program does. `block`: seconds of one block, from the first run of ours: its report and timeline. None
    where nothing is computed. `picture`: gives the command that draws it, of the files of the usual way and of ours, and the file
    to write."""
    name: str
    title: str
    usual: Way
    ours: Way
    others: tuple = ()
    delay: str = ""
    block: object = None
    block_name: str = "a block"
    picture: object = None

    def ways(self):
        return (self.usual, self.ours, *self.others)


def compute_spans(timeline):
    """The median of the time of a block in a timeline, in seconds; None if nothing was computed."""
    fields, activity = timeline["span_fields"], timeline["activities"].index("compute")
    begin, end, what = (fields.index(name) for name in ("begin_us", "end_us", "activity"))
    lengths = sorted(span[end] - span[begin] for span in timeline["spans"] if span[what] == activity)
    return lengths[len(lengths) // 2] * 1e-6 if lengths else None


def by_timeline(_, timeline):
    return compute_spans(timeline)


def heat_timeline(files, picture, *options):
    return [os.path.join(PLOTS, "heat", "plot.py"), "timeline", *files, *options, "-o", picture]


def unchanged(machine):
    """Programs that nobody changes: the example unchanged as it is, and under `thence run --progress`."""
    program = machine.program("examples/unchanged")
    thence = [machine.program("thence"), "run", "--progress", "--"]

    def situation(name, title, operation, rounds, milliseconds, size, delay):
        numbers = [str(max(3, machine.scaled(rounds))), str(milliseconds), str(size), operation]

        def way(label, before):
            return Way(label, [*before, program, *numbers], first_run=(label, "{timeline}"), reports=False)
        return Situation(name, title, way("the program as it is", []), way("thence run --progress", thence), delay=delay,
                         block=by_timeline if milliseconds else None, block_name="the computation between two calls",
                         picture=heat_timeline)
    return [
        situation("messages", "An unchanged program computes while 1 MiB moves", "message", 10, 15, 1 << 20,
                  DELAY),
        situation("alltoall", "An unchanged program computes during MPI_Ialltoall of 2 MiB", "alltoall", 8, 30,
                  1 << 21, DELAY),
        situation("small", "An unchanged program exchanges 8 B and computes nothing", "message", 20000, 0, 8, ""),
    ]


def offload(machine):
    program = machine.program("offload")
    steps = str(max(4, machine.scaled(40)))
    size = ["--threads", "1", "--cells", "24", "--task-us", "400", "--steps", steps]

    def situation(name, title, *uneven):
        def way(label, variant):
            return Way(label, [program, *size, *uneven, "--variant", variant])
        return Situation(name, title, way("without offloading", "none"), way("thence/offload.hpp", "continuations"),
                         (way("a manager that polls requests", "polling"),),
                         block=lambda report, _: report["computed_s"] / (report["cells"] * report["steps"] * report["ranks"]),
                         block_name="a cell", picture=lambda files, picture: [os.path.join(PLOTS, "offload", "plot.py"), *files, picture])
    return [
        situation("slow", "Time steps; one of two ranks is twice as slow, by turns", "--slow", "2@rank:0", "--every", "20"),
        situation("dear", "Time steps; the cells of one of two ranks cost twice as much", "--imbalance", "2@rank:0"),
    ]


def qr(machine):
    program = machine.program("qr")
    size = max(256, 128 * machine.scaled(12))

    def situation(name, title, ranks, threads, delay, *others):
        def way(label, variant):
            # A check takes as long as the factorization, so the first run alone has it.
            return Way(label, [program, "--matrix", f"{size}x{size}", "--tile", "128", "--tree", "binary", "--threads", str(threads),
                               "--variant", variant], ranks,
                       ("--timeline", "{timeline}"), ("--no-check",))
        return Situation(name, title, way("fork-join", "forkjoin"), way("active messages", "messages"),
                         tuple(way(*other) for other in others), delay=delay, block=by_timeline, block_name="a tile's task",
                         picture=lambda files, picture: [os.path.join(PLOTS, "qr", "plot.py"), *files, picture])
    by_hand = ("an engine on MPI_Testsome", "reference")
    half = max(1, machine.cores // 2)
    return [
        situation("qr", "Tiled QR factorization in tasks on two ranks", 2, half, "", by_hand),
        situation("qr-delay", "Tiled QR factorization in tasks on two ranks", 2, half, DELAY, by_hand),
    ]


def plates(machine):
    program = machine.program("heat_plates")
    ranks = mpi_ranks(machine)

    def situation(name, title):
        size = ["--size", f"{max(1024, 2 * ranks * BLOCK)}x1024", "--block", str(BLOCK), "--iterations", str(machine.scaled(20))]

        def way(label, variant, *options):
            return Way(label, [program, *size, "--variant", variant, *options], ranks,
                       ("--verify", "--timeline", "{timeline}"))
        # Plates from both ends help who follows the messages, and hurt a fixed order of waiting.
        return Situation(name, title, way("plate after plate", "mpi"), way("callbacks", "callbacks", "--mirrored"),
                         (way("MPI_Waitany by hand", "waitany", "--mirrored"),), block=by_timeline,
                         block_name="a piece of a plate", picture=heat_timeline)
    return [situation("plates", "Four independent plates, one thread a rank")]


def mpi_ranks(machine):
    """The ranks of MPI only: one for each core."""
    return max(2, machine.cores - machine.cores % 2)


def heat_size(machine, iterations):
    """Each rank of MPI only has two rows of blocks."""
    return ["--size", f"{2 * mpi_ranks(machine) * BLOCK}x1024", "--block", str(BLOCK), "--iterations", str(machine.scaled(iterations))]


def heat(machine):
    program = machine.program("heat")

    def situation(name, title, ranks, threads, iterations, *uneven):
        size = heat_size(machine, iterations)

        def way(label, variant, ranks, threads):
            return Way(label, [program, CONFIG, *size, *uneven, "--variant", variant, "--threads", str(threads)], ranks,
                       ("--reference", machine.field(program, [CONFIG, *size], machine.scaled(iterations)), "--timeline", "{timeline}"))
        where = f"{ranks} rank{'s' if ranks > 1 else ''} x {threads}"
        return Situation(name, title, way(f"MPI only, {mpi_ranks(machine)} ranks", "mpi", mpi_ranks(machine), 1),
                         way(f"data-flow tasks, {where}", "dataflow", ranks, threads),
                         (way(f"fork-join, {where}", "forkjoin", ranks, threads),), block=by_timeline, picture=heat_timeline)
    return [
        situation("imbalanced", "A plate whose lower half costs five times as much", 1, machine.cores, 40, "--imbalance",
                  "5@area:0,0.5,1,1"),
        situation("balanced", "A balanced plate", 2, max(1, machine.cores // 2), 150),
    ]


def latency(machine):
    program = machine.program("latency_mt")

    def way(label, variant):  # the picture has larger messages, too
        return Way(label, [program, "--variant", variant, "--smallest", "8", "--rounds", str(max(10, machine.scaled(100)))],
                   first_run=("--largest", "256"), later=("--largest", "8"))
    return [Situation("fibers", "Eight receives of 8 B at a time, each of which blocks", way("a thread for each", "threads"),
                      way("a fiber for each", "fibers"), others=(way("MPI_Waitany by hand", "waitany"),),
                      picture=lambda files, picture: [os.path.join(PLOTS, "latency_mt", "plot.py"), *files, "-o", picture])]


def all_situations(machine):
    """In the order in which they are measured. A program that was not built is a situation less; `machine` says so."""
    return [situation for make in (unchanged, offload, qr, plates, heat, latency) for situation in make(machine)]


def words(situation):
    """The words by which --only chooses it: its name, and the part before the first hyphen."""
    return {situation.name, re.match(r"[a-z]+", situation.name)[0]}
