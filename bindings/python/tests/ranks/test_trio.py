# SPDX-License-Identifier: BSD-3-Clause
"""The same functions on trio."""

import logging

import pytest
import thence
from mpi4py import MPI

trio = pytest.importorskip("trio", reason="trio is not installed")
SELF = MPI.COMM_SELF


def run(function):
    async def limited():
        with trio.fail_after(20):
            await function()

    trio.run(limited)


def test_exchange(comm, ring, vector):
    before, behind = ring
    buffer = vector()

    async def exchange():
        async def receive():
            status = await thence.wait(comm.Irecv(buffer, before, 7))
            assert status.Get_source() == before

        async with trio.open_nursery() as nursery:
            nursery.start_soon(receive)
            await trio.sleep(0.01)
            await thence.wait(comm.Isend(vector(comm.rank), behind, 7))

    run(exchange)
    assert buffer[0] == before


def test_gather_completions_and_objects(vector):
    async def check():
        receives = [SELF.Irecv(vector(), 0, tag) for tag in range(10)]
        sends = [SELF.Isend(vector(), 0, tag) for tag in range(10)]
        assert [each.Get_tag() for each in await thence.gather(*receives)] == list(range(10))
        assert sorted([index async for index, _ in thence.completions(sends)]) == list(range(10))
        send = SELF.isend("text", 0, 3)  # it holds the pickled text, which MPICH sends to itself from there
        assert await thence.receive(SELF.irecv(source=0, tag=3)) == "text"
        await thence.wait(send)

    run(check)


def test_timeout_cancels_the_receive(vector):
    async def check():
        with trio.move_on_after(0.05) as scope:
            await thence.wait(SELF.Irecv(vector(), 0, 4))
        assert scope.cancelled_caught
        buffer = vector()
        receive = SELF.Irecv(buffer, 0, 4)
        SELF.Send(vector(8), 0, 4)
        await thence.wait(receive)
        assert buffer[0] == 8

    run(check)


def test_a_message_that_has_arrived_is_delivered_although_the_scope_is_cancelled(vector):
    async def check():
        buffer = vector()
        tags = []

        async def receive():
            tags.append((await thence.wait(SELF.Irecv(buffer, 0, 4))).Get_tag())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(receive)
            await trio.sleep(0.01)
            SELF.Send(vector(6), 0, 4)
            while buffer[0] != 6:
                SELF.Iprobe()
            nursery.cancel_scope.cancel()
        assert tags == [4]

    run(check)


def test_a_cancelled_gather_says_what_has_completed(vector):
    async def check():
        left = []

        async def gather():
            try:
                await thence.gather(*(SELF.Irecv(vector(), 0, tag) for tag in range(3)))
            except trio.Cancelled as error:
                left.extend(thence.not_cancelled(error))
                raise

        async with trio.open_nursery() as nursery:
            nursery.start_soon(gather)
            await trio.sleep(0.01)
            SELF.Send(vector(), 0, 1)
            while thence._library.outstanding() > 2:
                await trio.sleep(0.001)
            nursery.cancel_scope.cancel()
        assert [each.result().Get_tag() for each in left] == [1]

    run(check)


def test_callbacks_and_what_they_raise(vector, caplog):
    async def check():
        def fails(operation):
            seen.set()
            raise ValueError(operation.result().Get_tag())

        seen = trio.Event()
        thence.attach(SELF.Irecv(vector(), 0, 3), fails)
        SELF.Send(vector(), 0, 3)
        await seen.wait()
        await trio.lowlevel.checkpoint()

    with caplog.at_level(logging.ERROR, "thence"):
        run(check)
    assert "ValueError: 3" in caplog.text
