#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: mpiexec -n 4 python3 task_farm.py

Rank 0 hands out numbers and collects the number of steps until each reaches 1 in the Collatz sequence. Two coroutines
for each worker keep two tasks in flight, so that a worker never waits for the next. On one rank, rank 0 works itself.
Checks the sum.
"""

import asyncio
import sys
from collections.abc import Iterator

import thence
from mpi4py import MPI

COMM = MPI.COMM_WORLD
NUMBERS = range(1, 400)
IN_FLIGHT = 2
TASK, RESULT = 1, 2


def steps(number: int) -> int:
    count = 0
    while number != 1:
        number = number // 2 if number % 2 == 0 else 3 * number + 1
        count += 1
    return count


async def employ(worker: int, tasks: Iterator[int], results: dict[int, int]) -> None:
    """Keep one worker busy until there are no more tasks, then send it home."""

    async def one_at_a_time() -> None:
        for number in tasks:
            await thence.wait(COMM.isend(number, worker, TASK))
            answered, count = await thence.receive(COMM.irecv(source=worker, tag=RESULT))
            results[answered] = count

    await asyncio.gather(*[one_at_a_time() for _ in range(IN_FLIGHT)])
    await thence.wait(COMM.isend(None, worker, TASK))


async def hand_out() -> dict[int, int]:
    tasks = iter(NUMBERS)
    results: dict[int, int] = {}
    await asyncio.gather(*[employ(worker, tasks, results) for worker in range(1, COMM.size)])
    results |= {number: steps(number) for number in tasks}
    return results


def work() -> None:
    while (number := COMM.recv(source=0, tag=TASK)) is not None:
        COMM.send((number, steps(number)), 0, RESULT)


def main() -> int:
    if COMM.rank > 0:
        work()
        return 0
    results = asyncio.run(hand_out())
    right = sum(results.values()) == sum(map(steps, NUMBERS)) and len(results) == len(NUMBERS)
    print(f"{len(results)} results from {max(COMM.size - 1, 1)} workers, {'right' if right else 'WRONG'}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
