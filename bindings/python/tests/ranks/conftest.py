# SPDX-License-Identifier: BSD-3-Clause
"""Every rank runs every test. A test that hangs is ended by the time limit of ctest; MPI ends the other ranks."""

import asyncio

import numpy as np
import pytest
import thence
from mpi4py import MPI


@pytest.fixture
def comm():
    """A communicator of all ranks for this test alone."""
    duplicate = MPI.COMM_WORLD.Dup()
    yield duplicate
    duplicate.Free()


@pytest.fixture
def errors_return():
    """For a test whose errors come from MPI."""
    if thence.ABI == "mpiabi" and "Intel" in MPI.Get_library_version():
        pytest.skip("mpi4py's MPI_ERRORS_RETURN ends the program on MPIs from before the correction of the standard ABI")


@pytest.fixture
def ring(comm):
    """The rank before this one, and the rank behind."""
    return (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size


@pytest.fixture
def run():
    """asyncio.run with a time limit."""

    def run_with_limit(coroutine):
        async def limited():
            async with asyncio.timeout(20):
                return await coroutine

        return asyncio.run(limited())

    return run_with_limit


@pytest.fixture
def vector():
    """A new array of four numbers, all of the given value."""
    return lambda value=0.0: np.full(4, float(value))
