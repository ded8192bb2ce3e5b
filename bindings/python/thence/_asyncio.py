# SPDX-License-Identifier: BSD-3-Clause
"""The adapter to asyncio: one channel for each loop, whose eventfd the loop watches.

Where MPI has no ``MPI_THREAD_MULTIPLE`` no thread can make progress beside the loop. There the loop polls: at once for
some rounds, then with growing pauses.
"""

import asyncio
import threading
import warnings
import weakref

from thence import _library
from thence._channel import Channel

_SPINS = 50  # rounds of the loop without a pause
_FIRST_PAUSE, _LONGEST_PAUSE = 50e-6, 1e-3

_channels = weakref.WeakKeyDictionary()  # of loops that are not closed
_orphans = []  # channels of closed loops, with operations that MPI has not completed
_lock = threading.Lock()
_polling_reported = False


class NotCancelled(asyncio.CancelledError):
    """The task was cancelled, but its operation was not.

    Attributes
    ----------
    operation : Operation
        If it is ``done()``, it was completed before MPI could cancel it: the buffer of a receive has a message.
        If not, MPI cannot cancel it: it goes on, and Thence keeps its buffer until it is complete.
    """

    def __init__(self, operation):
        how = "was complete already" if operation.done() else "cannot be cancelled by MPI, and goes on"
        super().__init__(f"the operation {how}")
        self.operation = operation


class LoopChannel(Channel):
    """The channel of one asyncio loop."""

    def __init__(self, loop):
        super().__init__()
        self._loop = weakref.ref(loop)
        self._poll_handle = None
        self._misses = 0
        loop.add_reader(self.descriptor, self.drain)
        if not self.has_thread:
            _report_polling()

    def start(self, requests):
        operations = super().start(requests)
        if not self.has_thread and self.pending and self._poll_handle is None:
            self._misses = 0
            self._poll_handle = self._loop().call_soon(self._poll)
        return operations

    def _poll(self):
        self._poll_handle = None
        if _library.poll() > 0:
            self._misses = 0
        else:
            self._misses += 1
        self.drain()
        if self.pending and self._poll_handle is None:
            over = self._misses - _SPINS
            if over <= 0:
                self._poll_handle = self._loop().call_soon(self._poll)
            else:
                pause = min(_FIRST_PAUSE * over, _LONGEST_PAUSE)
                self._poll_handle = self._loop().call_later(pause, self._poll)

    async def completion(self, operation):
        """Wait until an operation is complete. Cancel it, once, if this is cancelled."""
        future = self._loop().create_future()
        operation.completed = lambda _: future.done() or future.set_result(None)
        try:
            await future
        except asyncio.CancelledError:
            operation.completed = None
            operation.cancel()
            if operation.cancelled():
                raise
            raise NotCancelled(operation) from None

    event = staticmethod(asyncio.Event)

    def raise_if_any_goes_on(self, operations):
        """After the operations were asked to be cancelled: raise NotCancelled for one that is pending nevertheless."""
        for operation in operations:
            if not operation.done():
                raise NotCancelled(operation) from None

    def run(self, function, operation):
        """Call a callback. What it raises goes to the handler of the loop."""
        try:
            function(operation)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            self._loop().call_exception_handler(
                {"message": f"exception in the callback {function!r} of {operation!r}", "exception": error}
            )

    def attach(self, operation, function):
        """Have a function called in the loop with the operation, once it is complete."""
        if operation.done():
            self._loop().call_soon(self.run, function, operation)
        else:
            operation.completed = lambda done: self.run(function, done)


def _report_polling():
    global _polling_reported
    if not _polling_reported:
        _polling_reported = True
        warnings.warn(
            "MPI was initialized below MPI.THREAD_MULTIPLE: no thread can make progress, so the event loop polls",
            RuntimeWarning,
            stacklevel=2,
        )


def adopt(channel):
    """Keep a channel whose loop has ended until its operations are complete. Nobody is told of them any more."""
    for operation in channel.pending.values():
        operation.completed = None
    _orphans.append(channel)


def _look_after_closed_loops():
    # The caller holds the lock.
    for loop, channel in list(_channels.items()):
        if loop.is_closed():
            del _channels[loop]
            if not channel.close():
                _library.report(f"an event loop was closed with {len(channel.pending)} operations pending; they go on")
                adopt(channel)
    for channel in _orphans[:]:
        channel.drain()
        if channel.close():
            _orphans.remove(channel)


def current_channel():
    """Return the channel of the running loop."""
    loop = asyncio.get_running_loop()
    channel = _channels.get(loop)
    if channel is None:
        _library.require()
        with _lock:
            _look_after_closed_loops()
            channel = _channels[loop] = LoopChannel(loop)
            weakref.finalize(loop, _forget, channel)
    elif _library._forked:
        _library.require()
    return channel


def _forget(channel):
    # The loop was collected without having been used by anybody who would have looked after it.
    if channel.pending and channel not in _orphans:
        _library.report(f"an event loop was dropped with {len(channel.pending)} operations pending; they go on")
        adopt(channel)
    channel.close()


def _before_finalize():
    """Cancel what is pending, and report it."""
    with _lock:
        channels = [*_channels.values(), *_orphans]
        _channels.clear()
        _orphans.clear()
    wind_up(channels)


def wind_up(channels):
    """Cancel the operations of channels that nobody uses any more, and free them."""
    asked = left = 0
    for channel in channels:
        for operation in list(channel.pending.values()):
            operation.completed = None
            asked += operation.cancel()
        channel.drain()
        left += len(channel.pending)
        channel.close()
    if asked:
        _library.report(
            f"MPI is finalized with {asked} operations pending; "
            + (f"MPI has not cancelled {left} of them" if left else "all of them were cancelled or have completed")
        )


_library.call_before_finalize(_before_finalize)
