#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: mpiexec -n 2 python3 python_bench.py [--json FILE] [--plot FILE.svg] [--check] [NAME ...]

What `await` costs. Prints a table, and with --json writes the figures; --check ends with 1 if a bar is missed.

python_await  A message of 8 bytes to the other rank and back. Median of the microseconds that `await thence.wait` takes
              beyond `request.Wait()` (a round trip has one await), with 1 and with 1,000 receives outstanding.
              Both ways take turns in one run. The other rank uses MPI's blocking calls.
python_idle   Processor time of a loop with 100 pending receives, in percent of a processor. And how long after a silence of
              100 ms a coroutine has a message, from MPI_Send in the other rank on; median of 20.
python_rate   Completions per second with 1,000 receives in flight: one that completes is posted again. The other rank
              sends to them in random order, at most 32 ahead of what was received. Against a loop over Request.Testsome
              with asyncio.sleep(0). Both take turns in one run; the ratio of the medians.
"""

import argparse
import asyncio
import json
import random
import statistics
import sys
import time

import numpy as np
import thence
from mpi4py import MPI

COMM = MPI.COMM_WORLD
PEER = 1
BARS = {
    "python_await": {"added_us": ("<=", 60.0), "of_1000": ("<=", 1.5)},
    "python_idle": {"percent": ("<=", 2.0), "wake_us": ("<=", 100.0)},
    "python_rate": {"ratio": (">=", 2.0)},
}
STOP, ECHO, RATE, RECEIVED, SILENCE = 1, 2, 3, 4, 5
IN_FLIGHT, AHEAD, MESSAGES = 1000, 32, 4096  # of python_rate; messages: a multiple of AHEAD
ROUNDS, WARM_UP = 300, 50


def serve():
    """Rank 1: answer until told to stop."""
    buffer = np.zeros(1)
    status = MPI.Status()
    while True:
        COMM.Recv(buffer, 0, MPI.ANY_TAG, status)
        tag = status.Get_tag()
        if tag == STOP:
            return
        if tag == ECHO:
            COMM.Send(buffer, 0, ECHO)
        elif tag == SILENCE:
            time.sleep(0.1)
            buffer[0] = time.monotonic()  # of this machine, and so of the other rank's
            COMM.Send(buffer, 0, SILENCE)
        else:
            order = random.Random(1)
            for sent in range(MESSAGES):
                if sent >= AHEAD and sent % AHEAD == 0:
                    COMM.Recv(buffer, 0, RECEIVED)
                COMM.Send(buffer, 0, 1000 + order.randrange(IN_FLIGHT))
            COMM.Recv(buffer, 0, RECEIVED)


async def round_trips(awaits):
    buffer = np.zeros(1)
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        request = COMM.Irecv(buffer, PEER, ECHO)
        COMM.Send(buffer, PEER, ECHO)
        if awaits:
            await thence.wait(request)
        else:
            request.Wait()
        times.append((time.perf_counter() - begin) * 1e6)
    return times[WARM_UP:]


async def python_await():
    waits, awaits, awaits_of_many = [], [], []
    pending = [COMM.Irecv(np.zeros(1), PEER, 10_000 + i) for i in range(999)]
    for _ in range(4):
        waits += await round_trips(False)
        awaits += await round_trips(True)
    others = asyncio.ensure_future(thence.gather(*pending))
    await asyncio.sleep(0)
    for _ in range(4):
        awaits_of_many += await round_trips(True)
    others.cancel()
    await asyncio.wait([others])
    one, many, wait = (statistics.median(times) for times in (awaits, awaits_of_many, waits))
    return {"wait_us": wait, "await_us": one, "await_1000_us": many, "added_us": one - wait, "of_1000": many / one}


async def python_idle():
    pending = [COMM.Irecv(np.zeros(1), PEER, 10_000 + i) for i in range(100)]
    others = asyncio.ensure_future(thence.gather(*pending))
    await asyncio.sleep(0.2)
    begin = time.process_time()
    await asyncio.sleep(5)
    used = time.process_time() - begin
    late = []
    sent = np.zeros(1)
    for _ in range(20):
        receive = COMM.Irecv(sent, PEER, SILENCE)
        COMM.Send(sent, PEER, SILENCE)
        await thence.wait(receive)
        late.append((time.monotonic() - sent[0]) * 1e6)
    others.cancel()
    await asyncio.wait([others])
    return {"percent": used / 5 * 100, "wake_us": statistics.median(late)}


class Receives:
    """The receives of one run of python_rate."""

    def __init__(self, buffers):
        self.buffers = buffers
        self.requests = [self.post(i) for i in range(IN_FLIGHT)]
        self.received = 0
        COMM.Send(self.buffers[0], PEER, RATE)

    def post(self, i):
        return COMM.Irecv(self.buffers[i], PEER, 1000 + i)

    def note(self):
        self.received += 1
        if self.received % AHEAD == 0:
            COMM.Send(self.buffers[0], PEER, RECEIVED)


async def rate_by_thence(buffers):
    receives = Receives(buffers)
    done = asyncio.Event()
    operations = [None] * IN_FLIGHT

    def completed(operation):
        receives.note()
        i = operation.result().tag - 1000
        operations[i] = thence.attach(receives.post(i), completed)
        if receives.received == MESSAGES:
            done.set()

    for i, request in enumerate(receives.requests):
        operations[i] = thence.attach(request, completed)
    begin = time.perf_counter()
    await done.wait()
    rate = MESSAGES / (time.perf_counter() - begin)
    requests = [operation.request for operation in operations]
    for operation in operations:
        operation.completed = None
        operation.cancel()
    while any(request != MPI.REQUEST_NULL for request in requests):
        await asyncio.sleep(0)
    return rate


async def rate_by_testsome(buffers):
    receives = Receives(buffers)
    begin = time.perf_counter()
    while receives.received < MESSAGES:
        for i in MPI.Request.Testsome(receives.requests) or ():
            receives.note()
            receives.requests[i] = receives.post(i)
        await asyncio.sleep(0)
    rate = MESSAGES / (time.perf_counter() - begin)
    for request in receives.requests:
        request.Cancel()
    MPI.Request.Waitall(receives.requests)
    return rate


async def python_rate():
    buffers = [np.zeros(1) for _ in range(IN_FLIGHT)]
    rates = {rate_by_thence: [], rate_by_testsome: []}
    for _ in range(5):
        for run, each in rates.items():
            each.append(await run(buffers))
    ours, theirs = (statistics.median(each) for each in rates.values())
    return {"per_second": ours, "testsome_per_second": theirs, "ratio": ours / theirs}


def plot(figures, path):
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    rows = [(f"{name}: {figure}", value, BARS[name][figure][1]) for name, values in figures.items()
            for figure, value in values.items() if figure in BARS[name]]
    _, axes = plt.subplots(figsize=(7, 0.6 * len(rows) + 1))
    axes.barh([row[0] for row in rows], [row[1] / row[2] for row in rows])
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_xlabel("part of the bar")
    plt.tight_layout()
    plt.savefig(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", help=", ".join(BARS))
    parser.add_argument("--json")
    parser.add_argument("--plot")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    arguments.names = arguments.names or list(BARS)
    if set(arguments.names) - set(BARS):
        parser.error(f"the benchmarks are {', '.join(BARS)}")
    if COMM.size != 2:
        sys.exit("python_bench.py needs 2 ranks")
    if COMM.rank == PEER:
        serve()
        return 0
    figures = {name: asyncio.run(globals()[name]()) for name in arguments.names}
    COMM.Send(np.zeros(1), PEER, STOP)
    missed = False
    print(f"{MPI.Get_library_version().splitlines()[0]}, progress by the {thence.progress()}")
    for name, values in figures.items():
        for figure, value in values.items():
            bar = BARS[name].get(figure)
            text = ""
            if bar is not None:
                met = value <= bar[1] if bar[0] == "<=" else value >= bar[1]
                missed |= not met
                text = f"  bar {bar[0]} {bar[1]:g}: {'met' if met else 'MISSED'}"
            print(f"{name:14} {figure:20} {value:12.2f}{text}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=2)
    if arguments.plot:
        plot(figures, arguments.plot)
    return 1 if missed and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
