# SPDX-License-Identifier: BSD-3-Clause
"""MPI requests as futures of ``concurrent.futures``, for programs without an event loop.

    with thence.executor.RequestExecutor() as executor:
        future = executor.track(comm.Irecv(buffer, source=0))
        status = future.result(timeout=5)
"""

import concurrent.futures
import os
import select
import threading
from collections.abc import Callable
from typing import Any

from thence import _asyncio, _library
from thence._channel import Channel
from thence._library import MPI

__all__ = ["RequestExecutor", "RequestFuture"]


class RequestFuture(concurrent.futures.Future):
    """The future of an operation. Its result is the `mpi4py.MPI.Status`."""

    def __init__(self, executor):
        super().__init__()
        self._executor = executor
        self._operation = None

    def cancel(self) -> bool:
        """Ask MPI, once, to cancel the operation.

        Returns
        -------
        bool
            Whether the future is cancelled now. False: the operation has completed, or MPI cannot cancel it.
        """
        self._executor._cancel(self)
        return self.cancelled()

    def _settle(self, operation):
        # The future was never set to running, so it may still become cancelled.
        if operation.cancelled():
            super().cancel()
            self.set_running_or_notify_cancel()
            return
        try:
            self.set_result(operation.result())
        except MPI.Exception as error:
            self.set_exception(error)


class RequestExecutor(concurrent.futures.Executor):
    """Futures of operations, which a thread of this object completes.

    Callbacks of the futures run on that thread.

    Raises
    ------
    RuntimeError
        MPI was initialized below ``MPI.THREAD_MULTIPLE``, or is not active.
    """

    def __init__(self):
        if not _library.require():
            raise RuntimeError("thence.executor needs MPI.THREAD_MULTIPLE: a thread of its own calls MPI")
        self._channel = Channel()
        self._lock = threading.RLock()  # guards the channel
        self._done = []  # operations that are complete, whose futures are not; under the lock
        self._ends = os.eventfd(0, os.EFD_CLOEXEC)
        self._shut = False
        self._thread = threading.Thread(target=self._run, name="thence-executor", daemon=True)
        self._thread.start()
        _executors.add(self)

    def track(self, request: MPI.Request) -> RequestFuture:
        """Return a future for an active request.

        Parameters
        ----------
        request : mpi4py.MPI.Request
            As for `thence.wait`.

        Returns
        -------
        RequestFuture
        """
        future = RequestFuture(self)
        with self._lock:
            self._refuse_after_shutdown()
            (operation,) = self._channel.start((request,))
            future._operation = operation
            operation.completed = lambda done: self._done.append((future, done))
        if operation.error is not None:
            future._settle(operation)
        return future

    def submit(self, function: Callable[..., MPI.Request], /, *args: Any, **kwargs: Any) -> RequestFuture:
        """Start an operation and return its future: ``submit(comm.Irecv, buffer, source=0)``.

        The function is called in this thread, at once, and returns a request.
        """
        with self._lock:
            self._refuse_after_shutdown()  # before an operation starts that nobody would wait for
            return self.track(function(*args, **kwargs))

    def _refuse_after_shutdown(self):
        if self._shut:
            raise RuntimeError("cannot track a request after shutdown")

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more requests.

        Parameters
        ----------
        wait : bool
            Return only after all operations are complete.
        cancel_futures : bool
            Ask MPI to cancel those that are pending.
        """
        with self._lock:
            self._shut = True
            if cancel_futures:
                for operation in list(self._channel.pending.values()):
                    operation.cancel()
            if self._ends is not None:
                os.eventfd_write(self._ends, 1)
        if wait and threading.current_thread() is not self._thread:
            self._thread.join()

    def _cancel(self, future):
        with self._lock:
            future._operation.cancel()
        self._settle_done()

    def _settle_done(self):
        with self._lock:
            done, self._done = self._done, []
        for future, operation in done:
            future._settle(operation)

    def _run(self):
        poll = select.poll()
        poll.register(self._channel.descriptor, select.POLLIN)
        poll.register(self._ends, select.POLLIN)
        while True:
            ready = dict(poll.poll())
            with self._lock:
                self._channel.drain()
            self._settle_done()
            with self._lock:
                if self._ends in ready:
                    poll.unregister(self._ends)
                if self._shut and not self._channel.pending:
                    self._channel.close()
                    os.close(self._ends)
                    self._ends = None
                    _executors.discard(self)
                    return


_executors = set()


def _before_finalize():
    for executor in list(_executors):
        executor.shutdown(wait=False, cancel_futures=True)
    channels = [executor._channel for executor in list(_executors) if executor._channel.pending]
    _asyncio.wind_up(channels)


_library.call_before_finalize(_before_finalize)
