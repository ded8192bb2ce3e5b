# SPDX-License-Identifier: BSD-3-Clause
"""MPI requests as futures of ``concurrent.futures``, for programs without an event loop.

    with thence.executor.RequestExecutor() as executor:
        future = executor.track(comm.Irecv(buffer, source=0))
        status = future.result(timeout=5)
"""

import concurrent.futures
import contextlib
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from thence import _library
from thence._channel import Channel, Operation, deliver
from thence._library import MPI

__all__ = ["RequestExecutor", "RequestFuture"]


class RequestFuture(concurrent.futures.Future[MPI.Status]):
    """The future of an operation. Its result is the `mpi4py.MPI.Status`."""

    _operation: Operation

    def __init__(self, executor: "RequestExecutor") -> None:
        super().__init__()
        self._executor = executor

    def cancel(self) -> bool:
        """Ask MPI, once, to cancel the operation.

        Returns
        -------
        bool
            Whether the future is cancelled now. False: the operation has completed, or MPI cannot cancel it.
        """
        self._executor._cancel(self)
        while self._operation.done() and not self.done() and not _library.forked():
            time.sleep(0)  # another thread is about to set the state
        return self.cancelled()

    def _settle(self, operation):
        # The future was never set to running, so it may still become cancelled.
        if operation.cancelled():
            super().cancel()
            self.set_running_or_notify_cancel()
            return
        try:
            result = self._result_of(operation)
        except MPI.Exception as error:
            self.set_exception(error)
        else:
            self.set_result(result)

    def _result_of(self, operation):
        return operation.result()


class _ObjectFuture(RequestFuture):
    def _result_of(self, operation):
        deliver(operation.request, operation.result())
        return operation.request.wait()


class RequestExecutor(concurrent.futures.Executor):
    """Futures of operations, which a thread of this object completes.

    Callbacks of the futures run on that thread.

    Raises
    ------
    RuntimeError
        MPI was initialized below ``MPI.THREAD_MULTIPLE``, or is not active.
    """

    def __init__(self) -> None:
        if not _library.require():
            raise RuntimeError("thence.executor needs MPI.THREAD_MULTIPLE: a thread of its own calls MPI")
        self._channel = Channel()
        self._lock = threading.RLock()  # guards the channel
        self._done: deque[RequestFuture] = deque()  # futures that are not complete, of operations that are; under the lock
        self._wake: Any = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._shut = False
        self._admissions = 0  # calls that may start an operation
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
        with self._admitted():
            return self._track(RequestFuture(self), request)

    def receive(self, request: MPI.Request) -> "concurrent.futures.Future[Any]":
        """Return a future for a request of mpi4py's ``irecv`` or ``imrecv``, whose result is the object that was sent.

        Parameters
        ----------
        request : mpi4py.MPI.Request
            As for `thence.receive`.

        Returns
        -------
        RequestFuture
        """
        with self._admitted():
            return self._track(_ObjectFuture(self), request)

    def _track(self, future, request):
        with self._lock:
            operation = self._channel.start_one(request)
            future._operation = operation
            operation.completed = lambda _: self._done.append(future)
        if operation.error is not None:
            future._settle(operation)
        return future

    # The function returns a request in place of the result.
    def submit(  # type: ignore[override]
        self, function: Callable[..., MPI.Request], /, *args: Any, **kwargs: Any
    ) -> RequestFuture:
        """Start an operation and return its future: ``submit(comm.Irecv, buffer, source=0)``.

        Parameters
        ----------
        function : callable
            Called in this thread, at once. It returns a request, as for `thence.wait`. It may wait for other futures.
        *args, **kwargs
            Its arguments.

        Returns
        -------
        RequestFuture
        """
        with self._admitted():
            return self._track(RequestFuture(self), function(*args, **kwargs))

    @contextlib.contextmanager
    def _admitted(self):
        # Refused after shutdown(), before an operation starts that nobody would wait for. The thread does not end inside.
        _library.require()  # before the lock, which another thread may have held when the process was forked
        with self._lock:
            if self._shut:
                raise RuntimeError("cannot track a request after shutdown")
            self._admissions += 1
        try:
            yield
        finally:
            with self._lock:
                self._admissions -= 1
                if self._shut:
                    self._wake_thread()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more requests.

        Parameters
        ----------
        wait : bool
            Return only after all operations are complete.
        cancel_futures : bool
            Ask MPI to cancel those that are pending.
        """
        if _library.forked():
            return
        with self._lock:
            self._shut = True
            if cancel_futures:
                for operation in list(self._channel.pending.values()):
                    operation.cancel()
            self._wake_thread()
        if wait and threading.current_thread() is not self._thread:
            self._thread.join()

    def _cancel(self, future):
        if _library.forked():
            return
        with self._lock:
            future._operation.cancel()
            self._wake_thread()  # which ends, if this was the last operation after shutdown()
        self._settle_done()

    def _wake_thread(self):
        # The caller holds the lock.
        if self._wake is not None:
            os.eventfd_write(self._wake, 1)

    def _settle_done(self):
        # One by one: while a callback of a future runs, the others are in the list, for whoever cancels one of them.
        while True:
            with self._lock:
                if not self._done:
                    return
                future = self._done.popleft()
            future._settle(future._operation)

    def _run(self):
        poll = select.poll()
        poll.register(self._channel.descriptor, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        while True:
            poll.poll()
            with self._lock:
                with contextlib.suppress(BlockingIOError):
                    os.eventfd_read(self._wake)
                self._channel.drain()
            try:
                self._settle_done()
            except BaseException:  # of a callback of a future, which are called here: such as SystemExit
                _library.logger.exception("exception in a callback of a future of thence.executor")
                with self._lock:
                    self._wake_thread()
            with self._lock:
                if self._shut and not self._channel.pending and not self._done and not self._admissions:
                    self._channel.close()
                    os.close(self._wake)
                    self._wake = None
                    _executors.discard(self)
                    return

    def _wind_up(self):
        with self._lock:
            self._shut = True
            asked, left = self._channel.wind_up()
            self._wake_thread()
        if left == 0 and threading.current_thread() is not self._thread:
            self._thread.join()
        return asked, left


_executors: set[RequestExecutor] = set()


_library.call_before_finalize(lambda: _library.add_up(executor._wind_up() for executor in list(_executors)))
