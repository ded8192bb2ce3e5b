# SPDX-License-Identifier: BSD-3-Clause
"""The adapter to asyncio: one channel for each loop, whose eventfd the loop watches.

Where MPI has no ``MPI_THREAD_MULTIPLE`` no thread can make progress beside the loop. There the loop polls: at once for
some rounds, then with growing pauses.
"""

import asyncio
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from thence import _library
from thence._channel import Channel
from thence._library import MPI

_SPINS = 50  # rounds of the loop without a pause
_FIRST_PAUSE, _LONGEST_PAUSE = 50e-6, 1e-3

_channels: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()  # of loops that are not closed
_orphans: list[Channel] = []  # channels of closed loops, with operations that MPI has not completed
_recent: tuple[Callable[[], Any], Any] = (lambda: None), None  # a loop and its channel: the last that was asked for
_lock = threading.Lock()
_polling_reported = False


class LoopChannel(Channel):
    """The channel of one asyncio loop."""

    def __init__(self, loop):
        super().__init__()
        self._loop: Callable[[], Any] = weakref.ref(loop)
        self._poll_handle = None
        self._misses = 0
        loop.add_reader(self.descriptor, self.drain)
        if not self.has_thread:
            _report_polling()

    def _engage(self):
        if not self.has_thread and self.pending and self._poll_handle is None:
            self._misses = 0
            self._poll_handle = self._loop().call_soon(self._poll)

    def _poll(self):
        self._poll_handle = None
        if _library.poll() > 0:
            self._misses = 0
        else:
            self._misses += 1
        try:
            self.drain()
        finally:
            if self.pending and self._poll_handle is None and not MPI.Is_finalized():
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
        except asyncio.CancelledError as error:
            operation.completed = None
            operation.cancel()
            self.leave(error, [operation])
            raise

    event = staticmethod(asyncio.Event)

    async def turn(self):
        """Let the loop run other tasks."""
        await asyncio.sleep(0)

    def is_current(self):
        """Return whether the loop runs in this thread."""
        running = asyncio._get_running_loop()
        return running is not None and running is self._loop()

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

    def unwatch(self):
        loop = self._loop()
        if loop is not None and not loop.is_closed():
            loop.remove_reader(self.descriptor)

    def wind_up(self):
        loop = self._loop()
        if loop is None or loop.is_closed() or not loop.is_running():
            self.forget()
        elif asyncio._get_running_loop() is not loop:
            return self.wind_up_by(loop.call_soon_threadsafe)
        return super().wind_up()


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
    channel.forget()
    _orphans.append(channel)


def look_after_closed_loops():
    """Free the channels of loops that have ended, or take what is complete of them."""
    with _lock:
        for loop, channel in list(_channels.items()):
            if loop.is_closed():
                del _channels[loop]
                if not channel.close():
                    left = len(channel.pending)
                    _library.report(f"an event loop was closed with {left} operations pending; they go on")
                    adopt(channel)
        for channel in _orphans[:]:
            channel.drain()
            if channel.close():
                _orphans.remove(channel)


def current_channel():
    """Return the channel of the running loop."""
    global _recent
    loop = asyncio.get_running_loop()
    recent_loop, channel = _recent
    if recent_loop() is loop:
        return channel
    channel = _channels.get(loop)
    if channel is None:
        _library.require()
        look_after_closed_loops()
        with _lock:
            channel = _channels[loop] = LoopChannel(loop)
            # At exit the channels of loops that live are wound up by _before_finalize().
            weakref.finalize(loop, _forget, channel).atexit = False
    _recent = weakref.ref(loop), channel
    return channel


def _forget(channel):
    # The loop was collected without having been used by anybody who would have looked after it.
    if not channel.close() and channel not in _orphans:
        _library.report(f"an event loop was dropped with {len(channel.pending)} operations pending; they go on")
        adopt(channel)


def _before_finalize():
    with _lock:
        channels = [*_channels.values(), *_orphans]
        _channels.clear()
        _orphans.clear()
    return _library.add_up(channel.wind_up() for channel in channels)


_library.call_before_finalize(_before_finalize)
