#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: mpiexec -n 4 python3 halo.py

Jacobi iterations on a plate that is cut into stripes, one for each rank. Three coroutines of a rank share an iteration:
one for each edge, which waits for the neighbour's row and then computes its own outermost row, and one for the inner
rows, which need no message. Checks the result against the same iterations on one rank.
"""

import asyncio
import sys

import numpy as np
import thence
from mpi4py import MPI
from numpy.typing import NDArray

ROWS, COLUMNS, ITERATIONS = 64, 48, 30
COMM = MPI.COMM_WORLD
Plate = NDArray[np.float64]
UP = COMM.rank - 1 if COMM.rank > 0 else MPI.PROC_NULL
DOWN = COMM.rank + 1 if COMM.rank < COMM.size - 1 else MPI.PROC_NULL


def relax(old: Plate, new: Plate, first: int, last: int) -> None:
    """New values of the rows from first to last - 1."""
    new[first:last, 1:-1] = 0.25 * (
        old[first - 1:last - 1, 1:-1] + old[first + 1:last + 1, 1:-1] + old[first:last, :-2] + old[first:last, 2:]
    )


async def edge(old: Plate, new: Plate, neighbour: int, halo: int, own: int) -> None:
    """Exchange one row with a neighbour, then compute the own row beside it."""
    await thence.gather(COMM.Irecv(old[halo], neighbour), COMM.Isend(old[own], neighbour))
    relax(old, new, own, own + 1)


async def inside(old: Plate, new: Plate, rows: int) -> None:
    await asyncio.sleep(0)  # the edges start their messages first
    relax(old, new, 2, rows)


async def solve(plate: Plate) -> Plate:
    rows = len(plate) - 2
    old, new = plate, plate.copy()
    for _ in range(ITERATIONS):
        await asyncio.gather(
            edge(old, new, UP, 0, 1), edge(old, new, DOWN, rows + 1, rows), inside(old, new, rows)
        )
        old, new = new, old
    return old


def whole_plate() -> Plate:
    plate = np.zeros((ROWS + 2, COLUMNS))
    plate[0], plate[:, 0] = 1.0, np.linspace(1.0, 0.0, ROWS + 2)
    return plate


def main() -> int:
    first, last = COMM.rank * ROWS // COMM.size, (COMM.rank + 1) * ROWS // COMM.size
    plate = whole_plate()
    stripe = asyncio.run(solve(plate[first:last + 2].copy()))
    expected = plate.copy()
    for _ in range(ITERATIONS):
        plate, expected = expected, plate
        relax(plate, expected, 1, ROWS + 1)
    wrong = not np.array_equal(stripe[1:-1], expected[first + 1:last + 1])
    print(f"rank {COMM.rank}: rows {first} to {last - 1} {'DIFFER' if wrong else 'are right'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
