# SPDX-License-Identifier: BSD-3-Clause
"""Operations, and the channel by which their completions come from the library to one loop.

Invariant: an operation is among ``Channel.pending`` from its start until it comes out of the library's list. Until then
the channel keeps its request, and with it the buffer that MPI writes to, also if nobody waits for it any more.
"""

import concurrent.futures
import contextlib
import ctypes
import threading
from collections.abc import Callable

from thence import _library
from thence._library import MPI

_CAPACITY = 256
# Of one request: by whether it is persistent, and may complete soon.
_FLAGS = [[bytes([persistent | soon]) for soon in (0, _library.FLAG_SOON)] for persistent in (0, _library.FLAG_PERSISTENT)]
_closing = threading.RLock()  # garbage collection may close another channel inside


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
            False if it was asked before, the operation is complete, or this process was forked.
        """
        if self.error is not None or self._cancel_asked or _library.forked():
            return False
        self._cancel_asked = True
        self._channel.cancel(self)
        return True

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
        self.has_thread = _library.require()
        descriptor = ctypes.c_int(-1)
        self._channel = _library.open_channel(ctypes.byref(descriptor))
        if not self._channel:
            raise OSError("the system has refused an eventfd")
        self.descriptor = descriptor.value
        self.pending = {}
        self._operations = (ctypes.c_void_p * _CAPACITY)()
        self._errors = (ctypes.c_int * _CAPACITY)()
        self._one = _Arrays(1)

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
        flags = bytes([isinstance(request, MPI.Prequest) for request in requests])
        _library.attach(self._channel, len(requests), *arrays.inputs, flags, *arrays.outputs)
        for operation, handle, code in zip(made, arrays.handles, arrays.errors):
            self._started(operation, handle, code)
        self._engage()
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
        one = self._one
        one.requests[0] = MPI._addressof(request)
        one.statuses[0] = MPI._addressof(made.status)
        flags = _FLAGS[isinstance(request, MPI.Prequest)][soon and self.has_thread]
        _library.attach(self._channel, 1, *one.inputs, flags, *one.outputs)
        self._started(made, one.handles[0], one.errors[0])
        self._engage()
        return made

    def _check(self, request):
        if not isinstance(request, MPI.Request):
            raise TypeError(f"expected an mpi4py.MPI.Request, not {type(request).__name__}")
        if not self._channel:
            _library.require()
            raise RuntimeError("MPI has been finalized")

    def _started(self, operation, handle, code):
        if handle is None:
            operation.error = code
        else:
            operation._handle = handle
            self.pending[handle] = operation

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
        raised = []
        count = _CAPACITY
        while count == _CAPACITY and self._channel:  # `completed` may have finalized MPI
            count = _library.drain(self._channel, self._operations, self._errors, _CAPACITY)
            pop = self.pending.pop
            # `completed` may start other operations, which may have the same handles.
            done = [(pop(h), e) for h, e in zip(self._operations[:count], self._errors[:count])]
            for operation, code in done:
                operation._handle = None
                operation.error = code
            for operation, _ in done:
                if operation.completed is not None:
                    try:
                        operation.completed(operation)
                    except BaseException as error:
                        raised.append(error)
        for each in raised[1:]:
            _library.logger.error("exception at the completion of an operation", exc_info=each)
        if raised:
            raise raised[0]

    def cancel(self, operation):
        _library.cancel(operation._handle)
        self.drain()

    def close(self):
        """Free the channel, if nothing is pending. Return whether it was. It may be called twice, by any threads.

        A process that was forked has nothing to free.
        """
        if _library.forked():
            return True
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
            except Exception:
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
                done.set_result(Channel.wind_up(self))

        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            schedule(call)
            concurrent.futures.wait([done], 1)
        return (len(self.pending), len(self.pending)) if done.cancel() else done.result()
