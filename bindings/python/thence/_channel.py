# SPDX-License-Identifier: BSD-3-Clause
"""Operations, and the channel by which their completions come from the library to one loop.

Invariant: an operation is among ``Channel.pending`` from its start until it comes out of the library's list. Until then
the channel keeps its request, and with it the buffer that MPI writes to, also if nobody waits for it any more.
"""

import ctypes

from thence import _library
from thence._library import MPI

_CAPACITY = 256


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

    __slots__ = ("_cancel_asked", "_channel", "_handle", "completed", "error", "request", "status")

    def __init__(self, request, channel):
        self.request = request
        self.status = MPI.Status()
        self.error = None
        self.completed = None  # called with the operation, by the channel
        self._channel = channel
        self._handle = None
        self._cancel_asked = False

    def done(self):
        """Return whether the operation is complete."""
        return self.error is not None

    def cancelled(self):
        """Return whether MPI has cancelled the operation."""
        return self.error == 0 and self.status.Is_cancelled()

    def result(self):
        """Return the status of the complete operation.

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

    def cancel(self):
        """Ask MPI, once, to cancel the operation, and let it make progress.

        The operation still completes, and `cancelled` then says whether MPI has cancelled it. Call it in the thread of
        the loop. No other thread may be in a call of MPI that matches the same receive: several versions of Open MPI
        crash then.

        Returns
        -------
        bool
            False if it was asked before, or the operation is complete.
        """
        if self.error is not None or self._cancel_asked:
            return False
        self._cancel_asked = True
        self._channel.cancel(self)
        return True

    def __repr__(self):
        state = "pending" if self.error is None else "cancelled" if self.cancelled() else "complete"
        return f"<thence.Operation {state} {self.request!r}>"


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
            if not isinstance(request, MPI.Request):
                raise TypeError(f"expected an mpi4py.MPI.Request, not {type(request).__name__}")
        if not self._channel:
            raise RuntimeError("MPI has been finalized")
        count = len(requests)
        made = [Operation(request, self) for request in requests]
        vector = ctypes.c_void_p * count
        handles = vector()
        errors = (ctypes.c_int * count)()
        _library.attach(
            self._channel,
            count,
            vector(*[MPI._addressof(request) for request in requests]),
            vector(*[MPI._addressof(operation.status) for operation in made]),
            bytes([isinstance(request, MPI.Prequest) for request in requests]),
            handles,
            errors,
        )
        for operation, handle, error in zip(made, handles, errors):
            if handle is None:
                operation.error = error
            else:
                operation._handle = handle
                self.pending[handle] = operation
        return made

    def drain(self):
        """Take what is complete from the library's list, and call ``completed`` of each."""
        if not self._channel:
            return
        count = _CAPACITY
        while count == _CAPACITY:
            count = _library.drain(self._channel, self._operations, self._errors, _CAPACITY)
            pop = self.pending.pop
            # `completed` may start other operations, which may have the same handles.
            done = [(pop(h), e) for h, e in zip(self._operations[:count], self._errors[:count])]
            for operation, error in done:
                operation._handle = None
                operation.error = error
            for operation, _ in done:
                if operation.completed is not None:
                    operation.completed(operation)

    def cancel(self, operation):
        _library.cancel(operation._handle)
        self.drain()

    def close(self):
        """Free the channel, if nothing is pending. Return whether it was."""
        if self._channel and not self.pending and _library.close_channel(self._channel):
            self._channel = None
        return self._channel is None
