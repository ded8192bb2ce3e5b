# SPDX-License-Identifier: BSD-3-Clause
"""Operations, and the channel by which their completions come from the library to one loop.

Invariant: an operation is among ``Channel.pending`` from its start until it comes out of the library's list. Until then
the channel keeps its request, and with it the buffer that MPI writes to, also if nobody waits for it any more. A
``KeyboardInterrupt`` may come behind every call of the library. So what a call will return is noted before it, and taken
up behind it or, if that is interrupted too, before the next call.
"""

import concurrent.futures
import contextlib
import ctypes
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from thence import _library
from thence._library import MPI

_CAPACITY = 256
_NOT_CALLED = -1  # no error code of MPI
# Of one request: by whether it is persistent, and may complete soon.
_FLAGS = [[bytes([persistent | soon]) for soon in (0, _library.FLAG_SOON)] for persistent in (0, _library.FLAG_PERSISTENT)]
_closing = threading.RLock()  # garbage collection may close another channel inside
_polling: weakref.WeakSet["Channel"] = weakref.WeakSet()  # channels whose loops poll: no thread of the library does


class Operation:
    """One active request that was given to Thence.

    Attributes
    ----------
    request : mpi4py.MPI.Request
        The request. It is ``MPI.REQUEST_NULL`` by now, unless it is persistent.
    status : mpi4py.MPI.Status
        Set once the operation is complete.
    error : int or None
        The error code of MPI, ``None`` while the operation is pending.
    """

    __slots__ = ("_cancel_asked", "_cancelled", "_channel", "_handle", "completed", "error", "request", "status")

    def __init__(self, request: MPI.Request, channel: "Channel") -> None:
        self.request = request
        self.status = MPI.Status()
        self.error: int | None = None
        self.completed: Callable[[Operation], object] | None = None  # called with the operation, by the channel
        self._channel = channel
        self._handle = None
        self._cancel_asked = False
        self._cancelled: bool | None = None

    def done(self) -> bool:
        """Return whether the operation is complete."""
        return self.error is not None

    def cancelled(self) -> bool:
        """Return whether MPI has cancelled the operation."""
        if self._cancelled is None:
            if self.error != 0 or MPI.Is_finalized():
                return False
            self._cancelled = self.status.Is_cancelled()
        return self._cancelled

    def result(self) -> MPI.Status:
        """Give the result of the complete operation.

        Returns
        -------
        mpi4py.MPI.Status

        Raises
        ------
        mpi4py.MPI.Exception
            The operation has failed.
        RuntimeError
            It is not complete.
        """
        if self.error == 0:
            return self.status
        if self.error is None:
            raise RuntimeError("the operation is not complete")
        raise MPI.Exception(self.error)

    def cancel(self) -> bool:
        """Ask MPI, once, to cancel the operation, and let it make progress.

        The operation still completes, and `cancelled` then says whether MPI has cancelled it. Call it in the thread of
        the loop. No other thread may be in a call of MPI that matches the same receive: several versions of Open MPI
        crash then.

        Returns
        -------
        bool
            False if it was asked before, the operation is complete, this process was forked, or MPI has no continuation
            request of its own left for it (65,536 can exist).
        """
        if self.error is not None or self._cancel_asked or _library.forked():
            return False
        self._cancel_asked = True
        return self._channel.cancel(self)

    def __repr__(self) -> str:
        state = "pending" if self.error is None else "cancelled" if self.cancelled() else "complete"
        return f"<thence.Operation {state} {self.request!r}>"


def not_cancelled(error: BaseException | None) -> tuple[Operation, ...]:
    """Return the operations that a cancelled `wait`, `gather` or `completions` leaves behind.

    Parameters
    ----------
    error : BaseException
        A ``CancelledError`` of asyncio or a ``Cancelled`` of trio; or what was raised from one, as the ``TimeoutError``
        of ``asyncio.timeout`` is.

    Returns
    -------
    tuple of Operation
        Those that MPI has not cancelled. One that is ``done()`` has completed: the buffer of a receive has a message.
        The others cannot be cancelled by MPI. They go on, and Thence keeps their buffers until they are complete.
    """
    while error is not None:
        operations: tuple[Operation, ...] | None = getattr(error, "operations", None)
        if operations is not None:
            return operations
        error = error.__cause__ or error.__context__
    return ()


def deliver(request, status):
    """Put a request in place that is complete, with this status, so that its ``wait()`` returns what was received.

    A persistent request is left as it is.
    """
    if request == MPI.REQUEST_NULL:
        error = _library.deliver(MPI._addressof(request), MPI._addressof(status))
        if error:
            raise MPI.Exception(error)


class _Arrays:
    """What the library reads and writes when requests are attached, and its addresses: those of arrays that are used
    again are converted once.
    """

    def __init__(self, count):
        vector = ctypes.c_void_p * count
        self.requests, self.statuses, self.handles = vector(), vector(), vector()
        self.errors = (ctypes.c_int * count)()
        self.inputs = ctypes.addressof(self.requests), ctypes.addressof(self.statuses)
        self.outputs = ctypes.addressof(self.handles), ctypes.addressof(self.errors)


class Channel:
    """The operations of one loop. All methods are called in the thread of the loop, or under a lock."""

    def __init__(self):
        self._channel = None
        self.has_thread = _library.require()
        self._thread = threading.get_ident()
        if not self.has_thread:
            self._require_to_poll()
        descriptor = ctypes.c_int(-1)
        self._channel = _library.open_channel(ctypes.byref(descriptor))
        if not self._channel:
            raise OSError("the system has refused an eventfd")
        self.descriptor = descriptor.value
        self.pending = {}
        self._operations = (ctypes.c_void_p * _CAPACITY)()  # null follows those that are not taken up
        self._errors = (ctypes.c_int * _CAPACITY)()
        self._ready: deque[Operation] = deque()  # operations that are complete, whose `completed` was not called
        self._starting: list[Any] = []  # operations and arrays of calls that are not taken up
        self._one: _Arrays | None = _Arrays(1)  # None: in use
        self._at_once = 0  # operations in a row that were complete at once

    def _require_to_poll(self):
        if MPI.Query_thread() < MPI.THREAD_SERIALIZED and not MPI.Is_thread_main():
            raise RuntimeError(
                "MPI was initialized below MPI.THREAD_SERIALIZED: only an event loop of the main thread may call it; "
                "ask for MPI.THREAD_MULTIPLE (mpi4py.rc.thread_level, its default)"
            )
        with _closing:
            if any(other._channel and other._thread != self._thread for other in _polling):
                raise RuntimeError(
                    "MPI was initialized below MPI.THREAD_MULTIPLE, and an event loop of another thread polls it; "
                    "ask for MPI.THREAD_MULTIPLE (mpi4py.rc.thread_level, its default)"
                )
            _polling.add(self)

    def start(self, requests):
        """Attach requests. Those that are complete already are done when this returns, and `completed` is not called.

        Parameters
        ----------
        requests : sequence of mpi4py.MPI.Request

        Returns
        -------
        list of Operation
        """
        for request in requests:
            self._check(request)
        _library.require()
        made = [Operation(request, self) for request in requests]
        arrays = _Arrays(len(requests))
        arrays.requests[:] = [MPI._addressof(request) for request in requests]
        arrays.statuses[:] = [MPI._addressof(operation.status) for operation in made]
        self._attach(made, arrays, bytes([isinstance(request, MPI.Prequest) for request in requests]))
        return made

    def start_one(self, request, soon=False):
        """Do the same for one request, in less time.

        Parameters
        ----------
        request : mpi4py.MPI.Request
        soon : bool
            Poll for a short time whether it completes.

        Returns
        -------
        Operation
        """
        self._check(request)
        _library.require()
        made = Operation(request, self)
        arrays, self._one = self._one or _Arrays(1), None  # a signal handler may start another
        arrays.requests[0] = MPI._addressof(request)
        arrays.statuses[0] = MPI._addressof(made.status)
        self._attach((made,), arrays, _FLAGS[isinstance(request, MPI.Prequest)][soon and self.has_thread])
        self._one = arrays
        return made

    def _attach(self, operations, arrays, flags):
        if self._starting or self._operations[0] is not None:
            self._recover()
        if not operations:
            return
        arrays.errors[0] = _NOT_CALLED
        start = operations, arrays
        self._starting.append(start)
        try:
            _library.attach(self._channel, len(operations), *arrays.inputs, flags, *arrays.outputs)
        finally:
            self._take_up(start, over=True)
        self._engage()

    def _take_up(self, start, over=False):
        operations, arrays = start
        if start not in self._starting:
            return
        if arrays.errors[0] == _NOT_CALLED:
            if over:
                self._starting.remove(start)
            return
        for operation, handle, code in zip(operations, arrays.handles, arrays.errors):
            if handle is None:
                operation.error = code
            elif operation._handle is None and operation.error is None:
                self.pending[handle] = operation
                operation._handle = handle
        self._starting.remove(start)

    def _recover(self):
        """Take up what an interrupt has left. Until then no operation is attached, since handles are used again."""
        for start in self._starting[:]:
            self._take_up(start)
        if self._operations[0] is not None:
            self._collect()

    def _check(self, request):
        if not isinstance(request, MPI.Request):
            raise TypeError(f"expected an mpi4py.MPI.Request, not {type(request).__name__}")
        if not self._channel:
            _library.require()
            raise RuntimeError("MPI has been finalized")

    def _engage(self):
        """Called after operations have been started."""

    def drain(self):
        """Take what is complete from the library's list, and call ``completed`` of each.

        Raises
        ------
        BaseException
            What the first ``completed`` has raised, after all were called. What others have raised is logged.
        """
        if _library.forked():
            return
        self._recover()
        raised = []
        more = True
        while more and self._channel:  # `completed` may have finalized MPI
            more = False
            try:
                more = _library.drain(self._channel, self._operations, self._errors, _CAPACITY) == _CAPACITY
            except BaseException as error:  # an interrupt behind the call
                raised.append(error)
            self._collect()
            while self._ready:  # `completed` may start other operations, which may have the same handles
                operation = self._ready.popleft()
                if operation.completed is not None:
                    try:
                        operation.completed(operation)
                    except BaseException as error:
                        raised.append(error)
        for each in raised[1:]:
            _library.logger.error("exception at the completion of an operation", exc_info=each)
        if raised:
            raise raised[0]

    def _collect(self):
        for handle, code in zip(self._operations, self._errors):
            if handle is None:
                break
            operation = self.pending.pop(handle, None)
            if operation is not None:
                operation._handle = None
                operation.error = code
                self._ready.append(operation)
        self._operations[0] = None

    def cancel(self, operation):
        """Ask MPI to cancel an operation. Return whether it was asked."""
        asked = _library.cancel(operation._handle) != MPI.ERR_UNSUPPORTED_OPERATION
        self.drain()
        return asked

    def is_turn_due(self):
        """Return whether the loop must get a turn: 64 operations in a row were complete at once."""
        self._at_once = (self._at_once + 1) % 64
        return self._at_once == 0

    def close(self):
        """Free the channel, if nothing is pending. Return whether it was. It may be called twice, by any threads.

        A process that was forked has nothing to free.
        """
        if _library.forked():
            return True
        self._recover()
        if self.pending:
            return False
        with _closing:
            channel, self._channel = self._channel, None
        if channel is not None:
            self.unwatch()
            if not _library.close_channel(channel):
                self._channel = channel
        return self._channel is None

    def unwatch(self):
        """Have the loop watch the descriptor no longer, which is about to be closed."""

    def leave(self, error, operations):
        """Note in the error of a cancelled task which of its operations were not cancelled, after MPI was asked to."""
        error.operations = tuple(operation for operation in operations if not operation.cancelled())
        for operation in error.operations:
            how = "was complete already" if operation.done() else "cannot be cancelled by MPI, and goes on"
            error.add_note(f"{operation!r} {how}")

    def forget(self):
        """Tell nobody of the operations any more."""
        for operation in self.pending.values():
            operation.completed = None

    def wind_up(self):
        """Cancel what is pending before MPI is finalized, and free the channel.

        Returns
        -------
        tuple of int
            How many operations were pending, and how many are.
        """
        operations = list(self.pending.values())
        for ask in [*(operation.cancel for operation in operations), self.drain]:
            try:
                ask()
            except BaseException:  # also SystemExit: MPI must be finalized
                _library.logger.exception("exception at the completion of an operation, before MPI is finalized")
        for operation in operations:
            operation.cancelled()  # MPI cannot say so afterwards
        self.close()
        return len(operations), len(self.pending)

    def wind_up_by(self, schedule):
        """Do that in the thread of the loop, which ``schedule`` has call a function. Give up after 1 s."""
        done: concurrent.futures.Future[tuple[int, int]] = concurrent.futures.Future()

        def call():
            if done.set_running_or_notify_cancel():
                try:
                    done.set_result(Channel.wind_up(self))
                except BaseException as error:
                    done.set_exception(error)

        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            schedule(call)
            concurrent.futures.wait([done], 1)
        return (len(self.pending), len(self.pending)) if done.cancel() else done.result()
