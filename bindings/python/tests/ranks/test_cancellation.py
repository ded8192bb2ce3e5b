# SPDX-License-Identifier: BSD-3-Clause
"""Cancellation, timeouts, and completions that raise, on asyncio."""

import asyncio
import contextlib
import time

import pytest
import thence
from mpi4py import MPI

SELF = MPI.COMM_SELF


def test_completions_that_end_early_cancel_the_rest(run, vector):
    async def check():
        receives = [SELF.Irecv(vector(), 0, tag) for tag in (1, 2)]
        SELF.Send(vector(), 0, 1)
        async with contextlib.aclosing(thence.completions(receives)) as iterator:
            async for index, _ in iterator:
                assert index == 0
                break
        # The receive was cancelled: it does not take this message.
        buffer = vector()
        receive = SELF.Irecv(buffer, 0, 2)
        SELF.Send(vector(5), 0, 2)
        await thence.wait(receive)
        assert buffer[0] == 5

    run(check())


def test_timeout_cancels_the_receive_once(run, vector, monkeypatch):
    calls = []
    cancel = thence._library.cancel
    monkeypatch.setattr(thence._library, "cancel", lambda handle: calls.append(handle) or cancel(handle))

    async def check():
        with pytest.raises(TimeoutError) as caught:
            async with asyncio.timeout(0.05):
                await thence.wait(SELF.Irecv(vector(), 0, 4))
        assert type(caught.value.__context__) is asyncio.CancelledError
        assert len(calls) == 1
        buffer = vector()
        receive = SELF.Irecv(buffer, 0, 4)
        SELF.Send(vector(8), 0, 4)
        await thence.wait(receive)
        assert buffer[0] == 8  # the receive that was cancelled has not taken the message

    run(check())


def test_a_task_that_was_cancelled_after_the_completion_says_so(run, vector):
    async def check():
        buffer = vector()
        task = asyncio.create_task(thence.wait(SELF.Irecv(buffer, 0, 4)))
        await asyncio.sleep(0.01)
        SELF.Send(vector(6), 0, 4)
        while buffer[0] != 6:
            SELF.Iprobe()  # progress: the message is there, and the loop has not seen it
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        (operation,) = thence.not_cancelled(caught.value)
        assert operation.result().Get_tag() == 4

    run(check())


def test_timeout_of_an_operation_that_was_complete_is_a_timeout(run, vector):
    async def check():
        buffer = vector()
        with pytest.raises(TimeoutError) as caught:
            async with asyncio.timeout(0.02):
                receive = asyncio.create_task(thence.wait(SELF.Irecv(buffer, 0, 4)))
                await asyncio.sleep(0)
                asyncio.get_running_loop().call_soon(hold_the_loop, buffer)
                await receive
        (operation,) = thence.not_cancelled(caught.value)
        assert operation.result().Get_tag() == 4

    def hold_the_loop(buffer):
        SELF.Send(vector(6), 0, 4)
        while buffer[0] != 6:
            SELF.Iprobe()
        time.sleep(0.05)  # until the time is over: the loop then ends it before it sees the message

    run(check())


def test_a_cancelled_gather_says_what_has_completed(run, vector):
    async def check():
        receives = [SELF.Irecv(vector(), 0, tag) for tag in range(4)]
        task = asyncio.create_task(thence.gather(*receives))
        await asyncio.sleep(0)
        for tag in (2, 1):
            SELF.Send(vector(), 0, tag)
        while thence._library.outstanding() > 2:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        assert [each.result().Get_tag() for each in thence.not_cancelled(caught.value)] == [1, 2]

    run(check())


def test_cancelled_completions_say_what_was_not_yielded(run, vector):
    async def check():
        iterator = thence.completions([SELF.Irecv(vector(), 0, tag) for tag in range(3)])
        for tag in (2, 1):
            SELF.Send(vector(), 0, tag)
        index, _ = await anext(iterator)
        error = asyncio.CancelledError()  # as from a task that is cancelled in the iteration
        while thence._library.outstanding() > 1:
            await asyncio.sleep(0.001)
        with pytest.raises(asyncio.CancelledError):
            await iterator.athrow(error)
        assert [each.result().Get_tag() for each in thence.not_cancelled(error)] == [3 - index]

    run(check())


def test_a_completion_that_raises_leaves_the_others(run, vector, caplog):
    async def check():
        channel = thence._asyncio.current_channel()
        operations = channel.start([SELF.Irecv(vector(), 0, tag) for tag in range(4)])
        seen = []

        def fails(operation):
            seen.append(operation)
            raise SystemExit(operations.index(operation))

        for each in operations:
            each.completed = fails
        for tag in range(4):
            SELF.Send(vector(), 0, tag)
        while thence._library.outstanding():
            SELF.Iprobe()
        with pytest.raises(SystemExit) as caught:
            channel.drain()
        assert set(seen) == set(operations)
        assert caught.value.code == operations.index(seen[0])
        assert not channel.pending

    run(check())
    assert caplog.text.count("exception at the completion of an operation") == 3


def test_a_channel_that_two_threads_close_is_freed_once(monkeypatch):
    freed = []
    close = thence._library.close_channel

    def close_and_again(pointer):
        freed.append(pointer)
        assert channel.close()  # what a second thread would do meanwhile
        return close(pointer)

    monkeypatch.setattr(thence._library, "close_channel", close_and_again)
    channel = thence._channel.Channel()
    assert channel.close()
    assert len(freed) == 1


def test_what_mpi_cannot_cancel_goes_on_and_says_so(run, comm):
    if comm.size == 1:
        pytest.skip("the barrier of one rank completes at once")

    async def check():
        if comm.rank == 0:
            task = asyncio.create_task(thence.wait(comm.Ibarrier()))
            await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            (operation,) = thence.not_cancelled(caught.value)
            assert not operation.done()
            assert "cannot be cancelled by MPI, and goes on" in caught.value.__notes__[0]
            comm.Send(b"", 1, 1)
            while not operation.done():
                await asyncio.sleep(0.001)
        else:
            if comm.rank == 1:
                comm.Recv(bytearray(), 0, 1)
            await thence.wait(comm.Ibarrier())

    run(check())


def test_an_object_that_had_arrived_is_kept_for_the_wait_of_its_request(run):
    async def check():
        request = SELF.irecv(source=0, tag=1)
        task = asyncio.ensure_future(thence.receive(request))
        await asyncio.sleep(0.01)
        SELF.send("kept", 0, 1)
        channel = thence._asyncio.current_channel()
        (operation,) = channel.pending.values()
        while operation.error is None:  # until it has arrived, but the task has not been told
            channel.drain()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as raised:
            await task
        assert thence.not_cancelled(raised.value) == (operation,)
        assert request.wait() == "kept"

    run(check())
