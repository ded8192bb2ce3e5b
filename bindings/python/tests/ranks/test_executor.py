# SPDX-License-Identifier: BSD-3-Clause
"""Requests as futures of concurrent.futures."""

import concurrent.futures
import select
import time

import numpy as np
import pytest
from mpi4py import MPI
from thence.executor import RequestExecutor

SELF = MPI.COMM_SELF


def test_results_are_statuses(comm, ring, vector):
    before, behind = ring
    with RequestExecutor() as executor:
        buffers = [vector() for _ in range(20)]
        receives = [executor.submit(comm.Irecv, each, before, tag) for tag, each in enumerate(buffers)]
        sends = [executor.submit(comm.Isend, vector(tag), behind, tag) for tag in range(20)]
        _, pending = concurrent.futures.wait(receives + sends, timeout=20)
        assert not pending
        assert [each.result().Get_tag() for each in receives] == list(range(20))
    assert [each[0] for each in buffers] == list(range(20))


def test_callbacks_of_a_future(vector):
    with RequestExecutor() as executor:
        future = executor.submit(SELF.Irecv, vector(), 0, 1)
        tags = []
        future.add_done_callback(lambda each: tags.append(each.result().Get_tag()))
        SELF.Send(vector(), 0, 1)
        future.result(20)
    assert tags == [1]


def test_cancel_cancels_the_receive(vector):
    with RequestExecutor() as executor:
        future = executor.submit(SELF.Irecv, vector(), 0, 1)
        time.sleep(0.01)
        assert future.cancel()
        assert future.cancel()
        with pytest.raises(concurrent.futures.CancelledError):
            future.result(20)
        complete = executor.track(MPI.Request())
        assert not complete.cancel()
        assert complete.result(20).Get_count(MPI.BYTE) == 0


def test_a_cancel_after_shutdown_ends_the_executor(vector):
    executor = RequestExecutor()
    future = executor.submit(SELF.Irecv, vector(), 0, 1)
    executor.shutdown(wait=False)
    while select.select([executor._wake], [], [], 0)[0]:
        time.sleep(0.001)  # until the thread has seen it
    assert future.cancel()
    executor._thread.join(10)
    assert not executor._thread.is_alive()
    executor.shutdown()


def test_cancel_in_a_callback_of_the_same_batch(vector):
    with RequestExecutor() as executor:
        first, second = (executor.submit(SELF.Irecv, vector(), 0, tag) for tag in (1, 2))
        answers = []
        first.add_done_callback(lambda _: answers.append(second.cancel()))
        with executor._lock:
            first._operation.cancel()
            second._operation.cancel()
            assert len(executor._done) == 2
            executor._wake_thread()
        concurrent.futures.wait([first, second], 10)
    assert answers == [True]


def test_timeout_leaves_the_operation_pending(vector):
    with RequestExecutor() as executor:
        buffer = vector()
        future = executor.submit(SELF.Irecv, buffer, 0, 1)
        with pytest.raises(concurrent.futures.TimeoutError):
            future.result(0.02)
        SELF.Send(vector(3), 0, 1)
        future.result(20)
        assert buffer[0] == 3


def test_shutdown_cancels_what_is_pending(vector):
    executor = RequestExecutor()
    future = executor.submit(SELF.Irecv, vector(), 0, 1)
    executor.shutdown(cancel_futures=True)
    assert future.cancelled()
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(SELF.Irecv, vector(), 0, 1)


def test_failed_operations_set_the_exception(comm, vector, errors_return):
    if comm.size == 1:
        pytest.skip("Open MPI does not report truncation of messages to oneself")
    with RequestExecutor() as executor:
        if comm.rank == 0:
            future = executor.submit(comm.Irecv, np.zeros(1), 1, 1)
            comm.Send(b"", 1, 0)
            assert future.exception(20).Get_error_class() == MPI.ERR_TRUNCATE
        elif comm.rank == 1:
            comm.Recv(bytearray(), 0, 0)
            comm.Send(vector(), 0, 1)


def test_a_future_of_an_object():
    with RequestExecutor() as executor:
        future = executor.receive(SELF.irecv(source=0, tag=1))
        send = SELF.isend({"a": 1}, 0, 1)
        assert future.result(20) == {"a": 1}
        send.wait()


def test_a_submitted_function_may_wait_for_another_future(vector):
    with RequestExecutor() as executor:
        first = executor.submit(SELF.Irecv, vector(), 0, 1)

        def second():
            SELF.Send(vector(), 0, 1)
            assert first.result(20).Get_tag() == 1
            executor.shutdown(wait=False)  # it still tracks what this returns
            return SELF.Isend(vector(), 0, 2)

        sent = executor.submit(second)
        SELF.Recv(vector(), 0, 2)
        sent.result(20)


def test_a_callback_that_wants_to_exit_leaves_the_executor_running(vector, caplog):
    with RequestExecutor() as executor:
        future = executor.submit(SELF.Irecv, vector(), 0, 1)
        future.add_done_callback(lambda _: exit(3))
        other = executor.submit(SELF.Irecv, vector(), 0, 2)
        SELF.Send(vector(), 0, 1)
        future.result(20)
        SELF.Send(vector(), 0, 2)
        other.result(20)
    assert "exception in a callback of a future" in caplog.text
