# SPDX-License-Identifier: BSD-3-Clause
"""The functions of the package on asyncio."""

import asyncio
import gc
import threading
import time

import numpy as np
import pytest
import thence
from mpi4py import MPI

SELF = MPI.COMM_SELF


def test_status_of_a_receive_that_was_pending(run, comm, ring, vector):
    before, behind = ring
    buffer = vector()

    async def exchange():
        receive = asyncio.create_task(thence.wait(comm.Irecv(buffer, before, 7)))
        await asyncio.sleep(0.01)
        await thence.wait(comm.Isend(vector(comm.rank), behind, 7))
        return await receive

    status = run(exchange())
    assert (status.Get_source(), status.Get_tag(), status.Get_count(MPI.DOUBLE)) == (before, 7, 4)
    assert buffer.tolist() == [before] * 4


def test_complete_and_null_requests_need_no_turn_of_the_loop(run, vector):
    async def check():
        send = SELF.Isend(vector(), 0, 1)
        receive = SELF.Irecv(vector(), 0, 1)
        while not receive.Get_status():
            pass
        turns = []
        asyncio.get_running_loop().call_soon(turns.append, 1)
        status = await thence.wait(receive)
        empty = await thence.wait(MPI.Request())
        assert not turns
        await thence.wait(send)
        return status.Get_tag(), empty.Get_source(), empty.Get_count(MPI.BYTE)

    assert run(check()) == (1, MPI.ANY_SOURCE, 0)


def test_a_large_message_arrives_whole(run, comm, ring):
    before, behind = ring
    buffer = np.zeros(1_000_000)

    async def exchange():
        await thence.gather(comm.Irecv(buffer, before), comm.Isend(np.full(1_000_000, comm.rank + 1.0), behind))

    run(exchange())
    assert (buffer == before + 1).all()


def test_gather_gives_statuses_in_the_order_of_the_requests(run, comm, ring, vector):
    before, behind = ring
    buffers = [vector() for _ in range(300)]

    async def exchange():
        receives = [comm.Irecv(each, before, tag) for tag, each in enumerate(buffers)]
        sends = [comm.Isend(vector(tag), behind, tag) for tag in reversed(range(len(buffers)))]
        statuses = await thence.gather(*receives)
        await thence.gather(*sends)
        return [status.Get_tag() for status in statuses]

    assert run(exchange()) == list(range(len(buffers)))
    assert [each[0] for each in buffers] == list(range(len(buffers)))


def test_gather_of_nothing(run):
    assert run(thence.gather()) == []


def test_completions_come_in_their_own_order(run, vector):
    async def check():
        receives = [SELF.Irecv(vector(), 0, tag) for tag in range(5)]
        order = [3, 0, 4, 1, 2]

        async def send():
            for tag in order:
                await asyncio.sleep(0.02)
                SELF.Send(vector(), 0, tag)

        sender = asyncio.create_task(send())
        seen = [(index, status.Get_tag()) async for index, status in thence.completions(receives)]
        await sender
        assert seen == [(tag, tag) for tag in order]

    run(check())


def test_objects_of_irecv(run, comm, ring):
    before, behind = ring

    async def exchange():
        request = comm.irecv(source=before, tag=3)
        status = MPI.Status()
        receive = asyncio.create_task(thence.receive(request, status))
        await asyncio.sleep(0.01)
        await thence.wait(comm.isend({"from": comm.rank, "list": list(range(100))}, behind, 3))
        return await receive, status.Get_source(), status.Get_tag()

    thing, source, tag = run(exchange())
    assert thing == {"from": before, "list": list(range(100))}
    assert (source, tag) == (before, 3)


def test_persistent_requests_are_started_again(run, comm, ring, vector):
    before, behind = ring
    incoming, outgoing = vector(), vector()
    receive, send = comm.Recv_init(incoming, before), comm.Send_init(outgoing, behind)

    async def rounds():
        for step in range(20):
            outgoing[:] = 100 * comm.rank + step
            receive.Start()
            if step % 2:
                await asyncio.sleep(0)
            send.Start()
            await thence.gather(receive, send)
            assert incoming[0] == 100 * before + step

    run(rounds())
    assert receive != MPI.REQUEST_NULL
    receive.Free()
    send.Free()


def test_collectives(run, comm):
    async def reduce():
        total = np.zeros(1)
        await thence.wait(comm.Iallreduce(np.full(1, comm.rank + 1.0), total))
        await thence.wait(comm.Ibarrier())
        return total[0]

    assert run(reduce()) == comm.size * (comm.size + 1) / 2


def test_the_loop_runs_other_tasks_meanwhile(run, vector):
    async def check():
        receive = asyncio.create_task(thence.wait(SELF.Irecv(vector(), 0, 9)))
        turns = 0
        for _ in range(100):
            await asyncio.sleep(0)
            turns += 1
        assert not receive.done()
        SELF.Send(vector(), 0, 9)
        await receive
        assert turns == 100

    run(check())


def test_buffers_live_until_the_operation_is_complete(run):
    async def check():
        task = asyncio.create_task(thence.wait(SELF.Irecv(np.zeros(100_000), 0, 2)))
        await asyncio.sleep(0)
        gc.collect()
        garbage = [np.ones(100_000) for _ in range(20)]  # would take the memory of the buffer
        SELF.Send(np.full(100_000, 7.0), 0, 2)
        await task
        assert all((each == 1).all() for each in garbage)

    run(check())


def test_callbacks(run, vector):
    async def check():
        seen = asyncio.Queue()
        receive = SELF.Irecv(vector(), 0, 1)
        operation = thence.attach(receive, seen.put_nowait)
        assert not operation.done()
        SELF.Send(vector(), 0, 1)
        assert await seen.get() is operation
        assert operation.result().Get_tag() == 1
        # Complete already: not called inside of attach().
        thence.attach(MPI.Request(), seen.put_nowait)
        assert seen.empty()
        assert (await seen.get()).result().Get_count(MPI.BYTE) == 0

    run(check())


def test_what_a_callback_raises_goes_to_the_handler_of_the_loop(run, vector):
    async def check():
        loop = asyncio.get_running_loop()
        reported = asyncio.Queue()
        loop.set_exception_handler(lambda _, context: reported.put_nowait(context["exception"]))

        def fails(operation):
            raise ValueError(operation.result().Get_tag())

        others = asyncio.gather(*[thence.wait(SELF.Irecv(vector(), 0, tag)) for tag in (1, 2)])
        await asyncio.sleep(0)
        thence.attach(SELF.Irecv(vector(), 0, 3), fails)
        for tag in (1, 3, 2):
            SELF.Send(vector(), 0, tag)
        assert len(await others) == 2
        error = await reported.get()
        assert isinstance(error, ValueError)
        assert error.args == (3,)

    run(check())


def test_failed_operations_raise(run, comm, vector, errors_return):
    if comm.size == 1:
        pytest.skip("Open MPI does not report truncation of messages to oneself")

    async def check():
        if comm.rank == 0:
            receives = [comm.Irecv(np.zeros(1), 1, 1), comm.Irecv(vector(), 1, 2)]
            comm.Send(b"", 1, 0)
            results = await thence.gather(*receives, return_exceptions=True)
            assert results[0].Get_error_class() == MPI.ERR_TRUNCATE
            assert results[1].Get_tag() == 2
            receive = comm.Irecv(np.zeros(1), 1, 3)
            comm.Send(b"", 1, 0)
            with pytest.raises(MPI.Exception) as caught:
                await thence.wait(receive)
            assert caught.value.Get_error_class() == MPI.ERR_TRUNCATE
        elif comm.rank == 1:
            comm.Recv(bytearray(), 0, 0)
            comm.Send(vector(), 0, 1)
            comm.Send(vector(), 0, 2)
            comm.Recv(bytearray(), 0, 0)
            comm.Send(vector(), 0, 3)

    run(check())


def nothing_stays_outstanding():
    limit = time.monotonic() + 5
    while thence._library.outstanding() and time.monotonic() < limit:
        time.sleep(0.001)  # an operation is counted until its callback has returned
    return thence._library.outstanding() == 0


def test_refused_arguments(run):
    async def check():
        with pytest.raises(TypeError, match=r"expected an mpi4py\.MPI\.Request, not Intracomm"):
            await thence.wait(MPI.COMM_WORLD)
        with pytest.raises(TypeError, match="not int"):
            await thence.gather(MPI.Request(), 3)
        for wrong in (None, MPI.MESSAGE_NULL, MPI.WIN_NULL, MPI.Status()):
            with pytest.raises(TypeError, match="not " + type(wrong).__name__):
                thence.attach(wrong, print)

    run(check())
    assert nothing_stays_outstanding()
    with pytest.raises(RuntimeError, match="needs a running event loop"):
        thence.wait(MPI.Request()).send(None)


def test_a_rank_that_does_not_exist_raises_in_the_task(run, comm, vector, errors_return):
    async def check():
        other = asyncio.ensure_future(thence.wait(SELF.Irecv(vector(), 0, 1)))
        await asyncio.sleep(0)
        with pytest.raises(MPI.Exception) as caught:
            await thence.wait(comm.Irecv(vector(), comm.size))
        assert caught.value.Get_error_class() == MPI.ERR_RANK
        await thence.wait(SELF.Isend(vector(), 0, 1))
        await other

    run(check())


def test_a_request_that_is_given_twice_completes_once(run, vector):
    async def check():
        request = SELF.Irecv(vector(), 0, 1)
        both = asyncio.ensure_future(thence.gather(request, request))
        await asyncio.sleep(0)
        await thence.wait(SELF.Isend(vector(), 0, 1))
        first, second = await both
        assert first.Get_tag() == 1
        assert second.Get_tag() == MPI.ANY_TAG  # that of a null request

    run(check())


def test_uvloop(vector):
    uvloop = pytest.importorskip("uvloop", reason="uvloop is not installed")

    async def exchange():
        buffer = vector()
        receive = asyncio.ensure_future(thence.wait(SELF.Irecv(buffer, 0, 1)))
        await asyncio.sleep(0)
        await thence.wait(SELF.Isend(vector(3), 0, 1))
        await receive
        assert buffer[0] == 3
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await thence.wait(SELF.Irecv(buffer, 0, 2))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(exchange())


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_anyio(vector, backend):
    anyio = pytest.importorskip("anyio", reason="anyio is not installed")
    pytest.importorskip(backend, reason="trio is not installed")

    async def exchange():
        buffer = vector()
        async with anyio.create_task_group() as group:
            group.start_soon(thence.wait, SELF.Irecv(buffer, 0, 1))
            await anyio.sleep(0)
            await thence.wait(SELF.Isend(vector(3), 0, 1))
        assert buffer[0] == 3
        with anyio.move_on_after(0.05) as scope:
            await thence.wait(SELF.Irecv(buffer, 0, 2))
        assert scope.cancelled_caught

    anyio.run(exchange, backend=backend)


def test_two_loops_in_two_threads(vector):
    errors = []

    async def exchange(offset):
        for step in range(50):
            tag = offset + step
            buffer = vector()
            receive = asyncio.create_task(thence.wait(SELF.Irecv(buffer, 0, tag)))
            await asyncio.sleep(0)
            await thence.wait(SELF.Isend(vector(tag), 0, tag))
            await receive
            assert buffer[0] == tag

    def in_thread(offset):
        try:
            asyncio.run(exchange(offset))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=in_thread, args=(1000 * i,)) for i in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(20)
    assert not errors
    assert nothing_stays_outstanding()


def test_a_server_on_sockets_answers_meanwhile(run, vector):
    async def check():
        async def answer(reader, writer):
            writer.write((await reader.readline()).upper())
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        receive = asyncio.create_task(thence.wait(SELF.Irecv(vector(), 0, 1)))
        for _ in range(5):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"hello\n")
            assert await reader.readline() == b"HELLO\n"
            writer.close()
        assert not receive.done()
        SELF.Send(vector(), 0, 1)
        await receive
        server.close()

    run(check())


@pytest.mark.parametrize("way", ["wait", "gather", "completions"])
def test_operations_that_are_complete_at_once_leave_the_loop_its_turns(run, way):
    async def check():
        turns = 0

        async def other():
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.ensure_future(other())
        for _ in range(256):
            if way == "wait":
                await thence.wait(MPI.Request())
            elif way == "gather":
                await thence.gather(MPI.Request(), MPI.Request())
            else:
                assert [index async for index, _ in thence.completions([MPI.Request()])] == [0]
        task.cancel()
        assert 3 <= turns <= 8

    run(check())


def test_a_completion_that_fails_says_which(run, comm, vector, errors_return):
    if comm.size == 1:
        pytest.skip("Open MPI does not report truncation of messages to oneself")

    async def check():
        if comm.rank == 0:
            good, bad = comm.Irecv(vector(), 1, 1), comm.Irecv(np.zeros(1), 1, 2)
            comm.Send(b"", 1, 0)
            with pytest.raises(MPI.Exception) as caught:
                async for _ in thence.completions([good, bad]):
                    pass
            assert caught.value.index == 1
        elif comm.rank == 1:
            comm.Recv(bytearray(), 0, 0)
            comm.Send(vector(), 0, 2)

    run(check())
