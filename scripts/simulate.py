#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs an application on simulated ranks with SimGrid's SMPI, and prints simulated times as a table and as JSON.

Simulated are: the messages (a fat tree of links with the given latency and bandwidth, and what MPI does with a message:
matching, eager and rendezvous protocol, collectives as trees of messages), and the time of computation, which is
--cell-cost for each unit that the program computes, on hosts whose speeds --imbalance and --noise change. Really done are:
the program's own code, Thence's code, all values. Not simulated are: the processor time of MPI and of Thence themselves
(--send-cost and --message-cost add a given time for each message), caches, memory, threads inside of a rank, and the
operating system. So differences between variants come from the order in which work is done and from waiting, and not from
the cost of one variant's code. With the same arguments every figure repeats exactly."""

import argparse
import json
import math
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SPEED = 1e9  # operations a second of a simulated host; smpi_execute() counts seconds of such a host
PORTS = 16   # hosts of one leaf switch
EPILOG = """examples:
  scripts/simulate.py build/smpi/bin/wavefront --ranks 64,256 --variants mpi,callbacks,coroutine \\
      --native build/release/bin/wavefront -- --grid 4000x200 --iterations 3
  scripts/simulate.py build/smpi/bin/wavefront --ranks 64 --latency 2us,20us --cell-cost 1ns --imbalance 3@5,6 \\
      --noise 0.2 --seed 7 --json simulated.json -- --grid 4000x200 --grids 4

The program is one of the preset `smpi`, and takes --variant NAME, --cell-cost SECONDS, --message-cost SECONDS (only where
that is set), --progress never and --json FILE, into which it writes `time_s` in simulated seconds.

Exit status: 0 done, 1 a run failed, 2 wrong usage."""


def fail(message, status=2):
    print(f"simulate: {message}", file=sys.stderr)
    sys.exit(status)


UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def seconds(text):
    """`20us` in seconds."""
    match = re.fullmatch(r"([0-9.]+(?:e-?[0-9]+)?)(ns|us|ms|s)", text)
    try:
        return float(match[1]) * UNITS[match[2]]
    except (TypeError, ValueError):
        raise argparse.ArgumentTypeError(f"'{text}' is no time; write for example 2us (ns, us, ms or s)") from None


def bandwidth(text):
    """`10GBps` in bytes a second."""
    match = re.fullmatch(r"([0-9.]+)(k|M|G)Bps", text)
    try:
        value = float(match[1]) * {"k": 1e3, "M": 1e6, "G": 1e9}[match[2]]
        if value > 0:
            return value
    except (TypeError, ValueError):
        pass
    raise argparse.ArgumentTypeError(f"'{text}' is no bandwidth; write for example 10GBps (kBps, MBps or GBps)")


def numbers(text):
    try:
        values = [int(word) for word in text.split(",")]
    except ValueError:
        values = []
    if not values or min(values) < 1 or max(values) > 16384:
        raise argparse.ArgumentTypeError(f"'{text}' is no list of numbers of ranks; write for example 64,256 (1 to 16384)")
    return values


def times(text):
    return [seconds(word) for word in text.split(",")]


def slow(text):
    """`5@0,3` as (factor, ranks)."""
    match = re.fullmatch(r"([0-9.]+)@([0-9]+(?:,[0-9]+)*)", text)
    try:
        factor = float(match[1])
        if 1 <= factor <= 1000:
            return factor, [int(rank) for rank in match[2].split(",")]
    except (TypeError, ValueError):
        pass
    raise argparse.ArgumentTypeError(f"'{text}' is no imbalance; write FACTOR@RANK[,RANK...], for example 5@0,3, with a "
                                     "factor from 1 to 1000")


def noise(text):
    try:
        value = float(text)
        if 0 <= value <= 2:
            return value
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"'{text}' is no noise; write a number from 0 to 2, for example 0.2")


def shown(value):
    for unit in ("s", "ms", "us"):
        if value >= UNITS[unit]:
            return f"{value / UNITS[unit]:g} {unit}"
    return f"{value / 1e-9:g} ns"


def speeds(options, ranks):
    """For each rank a list of the speeds that follow each other, as shares of the full speed."""
    source = random.Random(options.seed)
    factor, members = options.imbalance or (1, [])
    result = []
    for rank in range(ranks):
        share = 1 / factor if rank in members else 1.0
        # Work takes exp(noise * x) times as long, x normally distributed: it gets slower more than it gets faster.
        pieces = 199 if options.noise > 0 else 1
        result.append([share * math.exp(-options.noise * source.gauss(0, 1)) if options.noise > 0 else share
                       for _ in range(pieces)])
    return result


def platform(options, ranks, latency, folder):
    """Writes the platform file and the list of hosts. A message between two leaf switches passes four links, so each has a
    quarter of the latency."""
    ports = min(ranks, PORTS)
    leaves = -(-ranks // ports)
    up = max(1, ports // 2) if leaves > 1 else 1
    shape = f"2;{ports},{leaves};1,{up};1,1"
    lines = ["<?xml version='1.0'?>", '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
             '<platform version="4.1">', '<zone id="world" routing="Full">',
             f'<cluster id="tree" prefix="node-" radical="0-{ports * leaves - 1}" suffix="" speed="{SPEED:.0f}f" '
             f'bw="{options.bandwidth:.9g}Bps" lat="{latency / 4:.9g}s" topology="FAT_TREE" topo_parameters="{shape}" '
             'sharing_policy="SPLITDUPLEX" loopback_bw="20GBps" loopback_lat="0.2us"/>', "</zone>"]
    for rank, pieces in enumerate(speeds(options, ranks)):
        if pieces == [1.0]:
            continue
        text = "\n".join(f"{index * options.noise_interval:.9g} {share:.9g}" for index, share in enumerate(pieces))
        period = f'{len(pieces) * options.noise_interval:.9g}' if len(pieces) > 1 else "-1"
        lines.append(f'<trace id="speed-{rank}" periodicity="{period}">\n{text}\n</trace>')
        lines.append(f'<trace_connect kind="SPEED" trace="speed-{rank}" element="node-{rank}"/>')
    lines.append("</platform>")
    (folder / "platform.xml").write_text("\n".join(lines) + "\n")
    (folder / "hosts").write_text("".join(f"node-{rank}\n" for rank in range(ranks)))


def run_group(command, folder, timeout):
    """As subprocess.run(); at the end of the time it ends the simulator too, which smpirun, a script, leaves behind."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
                          start_new_session=True) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        return subprocess.CompletedProcess(command, process.returncode, out, err)


def launch(options, ranks, variant, folder):
    """One run. Returns what the program wrote."""
    report = folder / "run.json"
    report.unlink(missing_ok=True)
    settings = {"smpi/simulate-computation": "no",       # the machine's own time does not count
                "smpi/host-speed": f"{SPEED:.0f}f",      # smpi_execute(1) is one second on a host at full speed
                "smpi/cpu-threshold": "0",               # ... also for less than a microsecond
                "smpi/test": "0", "smpi/iprobe": "1e-6", "smpi/wtime": "0", "smpi/grow-injected-times": "no",
                "smpi/lat-factor": "0:1", "smpi/bw-factor": "0:1",  # else the given latency is doubled, and more
                "smpi/async-small-thresh": "65536",      # small messages travel before their receive is posted
                "smpi/send-is-detached-thresh": "65536",
                "smpi/os": f"0:{options.send_cost:.9g}:0", "smpi/ois": f"0:{options.send_cost:.9g}:0",
                "network/TCP-gamma": "0",
                "smpi/tmpdir": str(folder)}
    arguments = ["--variant", variant, "--cell-cost", f"{options.cell_cost:.9g}", "--progress", "never", "--json", str(report)]
    if options.message_cost > 0:
        arguments += ["--message-cost", f"{options.message_cost:.9g}"]
    command = ["smpirun", "-np", str(ranks), "-platform", str(folder / "platform.xml"), "-hostfile", str(folder / "hosts"),
               "-tmpdir", *[f"--cfg={key}:{value}" for key, value in settings.items()], "--log=root.thresh:error",
               str(options.program), *arguments, *options.arguments]
    command.remove("-tmpdir")  # set as smpi/tmpdir: smpirun's own option takes no folder
    try:
        done = run_group(command, folder, options.timeout)
    except subprocess.TimeoutExpired:
        fail(f"{variant} on {ranks} ranks did not end within {options.timeout:g} s; --timeout sets another limit", 1)
    if done.returncode or not report.exists():
        said = list(dict.fromkeys((done.stdout + done.stderr).strip().splitlines()))  # each rank says the same
        fail(f"{variant} on {ranks} ranks failed with status {done.returncode}:\n" + "\n".join(said[:12]), 1)
    return json.loads(report.read_text())


def measure(options):
    """The cost of one unit of computation, on this machine: the program natively on one rank, the least of five runs."""
    arguments = options.arguments if options.native_arguments is None else shlex.split(options.native_arguments)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "run.json"
        best = math.inf
        for _ in range(5):
            done = subprocess.run([str(options.native), "--json", str(report), "--progress", "never", *arguments],
                                  capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
            if done.returncode:
                fail(f"{options.native} failed with status {done.returncode}: {(done.stderr or done.stdout).strip()}", 1)
            try:
                best = min(best, json.loads(report.read_text())["cell_ns"] * 1e-9)
            except (OSError, ValueError, TypeError, KeyError):
                fail(f"{options.native} wrote no cell_ns, the cost of one unit in ns, into its --json; give --cell-cost", 1)
        return best


def parse():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage="%(prog)s [options] PROGRAM [-- ARGUMENTS of the program]")
    parser.add_argument("program", type=Path, help="an application of the preset smpi, such as build/smpi/bin/wavefront")
    parser.add_argument("--ranks", type=numbers, default=[64], metavar="N[,N...]", help="numbers of simulated ranks [64]")
    parser.add_argument("--variants", default="mpi", metavar="NAME[,NAME...]", help="variants of the program; times are "
                        "compared with the first [mpi]")
    parser.add_argument("--latency", type=times, default=[2e-6], metavar="TIME[,TIME...]",
                        help="between hosts of different leaf switches; half of it on the same switch [2us]")
    parser.add_argument("--bandwidth", type=bandwidth, default=10e9, metavar="B", help="of each link [10GBps]")
    cost = parser.add_mutually_exclusive_group(required=True)
    cost.add_argument("--cell-cost", type=seconds, metavar="TIME", help="of one unit of computation")
    cost.add_argument("--native", type=Path, metavar="PROGRAM", help="measure that cost: run this build of the program, for a "
                      "real MPI, on one rank with the same arguments; the JSON has the value, to be given as --cell-cost")
    parser.add_argument("--native-arguments", metavar="TEXT", help="arguments of that run in place of those of the program, for "
                        "example 'S' where the simulated program takes S --zones 64x64")
    parser.add_argument("--send-cost", type=seconds, default=0.0, metavar="TIME", help="processor time of each send [0s]")
    parser.add_argument("--message-cost", type=seconds, default=0.0, metavar="TIME",
                        help="processor time of each message received, if the program takes --message-cost [0s]")
    parser.add_argument("--imbalance", type=slow, metavar="F@RANK[,RANK...]", help="these ranks have hosts that are F times slower")
    parser.add_argument("--noise", type=noise, default=0.0, metavar="S", help="computation takes exp(S x) times as long, x "
                        "normally distributed for each host and interval [0]")
    parser.add_argument("--noise-interval", type=seconds, default=50e-6, metavar="TIME", help="[50us]")
    parser.add_argument("--seed", type=int, default=1, help="of the noise [1]")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write settings and times")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the platform files and the reports of the "
                        "program there")
    parser.add_argument("--timeout", type=float, default=300.0, metavar="S", help="seconds of this machine for one run [300]")
    ours = sys.argv[1:]
    split = ours.index("--") if "--" in ours else len(ours)
    options = parser.parse_args(ours[:split])
    options.arguments = ours[split + 1:]
    if shutil.which("smpirun") is None:
        fail("no smpirun in PATH; install it with: apt install libsimgrid-dev")
    for program, build in ((options.program, "smpi"), (options.native, "release")):
        if program is not None and not (program.is_file() and os.access(program, os.X_OK)):
            fail(f"no program {program}; build it: cmake --preset {build} && cmake --build --preset {build}")
    options.program = options.program.resolve()
    options.variants = options.variants.split(",")
    if options.noise > 0 and options.noise_interval <= 0:
        fail("--noise-interval must be more than 0s")
    for rank in (options.imbalance or (1, []))[1]:
        if rank >= min(options.ranks):
            fail(f"--imbalance: there is no rank {rank} on {min(options.ranks)} ranks")
    return options


def main():
    options = parse()
    measured = options.cell_cost is None
    if measured:
        options.cell_cost = measure(options)
    print(f"simulated on SMPI: fat tree, {options.bandwidth / 1e9:g} GBps a link; one unit of computation takes "
          f"{options.cell_cost * 1e9:.3g} ns{' (measured here)' if measured else ''}")
    if options.imbalance or options.noise:
        factor, members = options.imbalance or (1, [])
        print(f"slower hosts: {', '.join(map(str, members)) or 'none'}{f', {factor:g} times' if members else ''}; noise "
              f"{options.noise:g} every {shown(options.noise_interval)}, seed {options.seed}")
    print(f"{'ranks':>6} {'latency':>8} {'variant':<12} {'simulated s':>14} {'against ' + options.variants[0]:>16}")
    runs = []
    for ranks in options.ranks:
        for latency in options.latency:
            with tempfile.TemporaryDirectory() as temporary:
                folder = Path(temporary)
                platform(options, ranks, latency, folder)
                if options.keep:
                    kept = options.keep / f"{ranks}-{shown(latency).replace(' ', '')}"
                    kept.mkdir(parents=True, exist_ok=True)
                    for file in ("platform.xml", "hosts"):
                        shutil.copy(folder / file, kept / file)
                first = None
                for variant in options.variants:
                    time = launch(options, ranks, variant, folder)["time_s"]
                    first = time if first is None else first
                    if options.keep:
                        shutil.copy(folder / "run.json", kept / f"run-{variant}.json")
                    runs.append({"ranks": ranks, "latency_s": latency, "variant": variant, "time_s": time,
                                 "speed_against_first": first / time})
                    print(f"{ranks:6} {shown(latency):>8} {variant:<12} {time:14.9f} {first / time:16.3f}", flush=True)
    if options.json:
        settings = {key: str(value) if isinstance(value, Path) else value for key, value in vars(options).items()}
        try:
            options.json.write_text(json.dumps({"what": "simulated times, SimGrid's SMPI", "settings": settings, "runs": runs},
                                               indent=1) + "\n")
        except OSError as error:
            fail(f"{options.json}: {error.strerror}", 1)


if __name__ == "__main__":
    main()
