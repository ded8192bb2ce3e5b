# SPDX-License-Identifier: BSD-3-Clause
"""The adapter to trio: one channel for each run, whose eventfd a system task watches."""

import weakref
from typing import Any

import trio

from thence import _asyncio, _library
from thence._channel import Channel
from thence._library import MPI

_channel: trio.lowlevel.RunVar[Any] = trio.lowlevel.RunVar("thence_channel")
_channels: weakref.WeakSet[Any] = weakref.WeakSet()  # of runs that have not ended


class RunChannel(Channel):
    """The channel of one run of trio."""

    def __init__(self):
        super().__init__()
        self._work = trio.Event()
        self._has_ended = False
        self._is_unwatched = False  # the descriptor may be closed, and another file have its number
        self._token = trio.lowlevel.current_trio_token()
        _channels.add(self)
        trio.lowlevel.spawn_system_task(self._watch if self.has_thread else self._poll)
        if not self.has_thread:
            _asyncio._report_polling()

    def _engage(self):
        self._work.set()

    async def _watch(self):
        try:
            while not self._is_unwatched:
                await trio.lowlevel.wait_readable(self.descriptor)
                self.drain()
        except trio.ClosedResourceError:
            pass  # MPI has been finalized
        finally:
            self._end()

    async def _poll(self):
        try:
            pause = 0.0
            while not MPI.Is_finalized():
                if not self.pending:
                    self._work = trio.Event()
                    await self._work.wait()
                    pause = 0
                pause = 0 if _library.poll() > 0 else min(pause + _asyncio._FIRST_PAUSE, _asyncio._LONGEST_PAUSE)
                self.drain()
                await trio.sleep(pause)
        finally:
            self._end()

    def unwatch(self):
        self._is_unwatched = True
        if self.has_thread and trio.lowlevel.in_trio_run():
            trio.lowlevel.notify_closing(self.descriptor)

    def wind_up(self):
        if self._has_ended:
            return super().wind_up()
        if not self.is_current():
            return self.wind_up_by(self._token.run_sync_soon)
        return super().wind_up()

    def _end(self):
        self._has_ended = True
        _channels.discard(self)
        if not self.close():
            _library.report(f"a run of trio has ended with {len(self.pending)} operations pending; they go on")
            _asyncio.adopt(self)

    async def completion(self, operation):
        """Wait until an operation is complete. Cancel it, once, if this is cancelled.

        If it was complete already, its result is delivered, as trio's own calls do: the next checkpoint is cancelled.
        """
        task = trio.lowlevel.current_task()
        operation.completed = lambda _: trio.lowlevel.reschedule(task)

        def abort(_raise_cancel):
            completed, operation.completed = operation.completed, None
            operation.cancel()
            if operation.done() and not operation.cancelled():
                completed(operation)
                return trio.lowlevel.Abort.FAILED
            return trio.lowlevel.Abort.SUCCEEDED

        try:
            await trio.lowlevel.wait_task_rescheduled(abort)
        except trio.Cancelled as error:
            self.leave(error, [operation])
            raise

    event = staticmethod(trio.Event)

    async def turn(self):
        """Let trio run other tasks."""
        await trio.lowlevel.checkpoint()

    def is_current(self):
        """Return whether the run is that of this thread."""
        return trio.lowlevel.in_trio_run() and trio.lowlevel.current_trio_token() is self._token

    def leave(self, error, operations):
        # The scope that was cancelled swallows the error, with its notes. So those that are pending are logged, too.
        super().leave(error, operations)
        for operation in error.operations:
            if not operation.done():
                _library.logger.warning("MPI cannot cancel %r: it goes on", operation)

    def run(self, function, operation):
        """Call a callback. What it raises is logged: trio has no handler for it."""
        try:
            function(operation)
        except Exception:
            _library.logger.exception("exception in the callback %r of %r", function, operation)

    def attach(self, operation, function):
        """Have a function called in the run with the operation, once it is complete."""
        if operation.done():
            trio.lowlevel.current_trio_token().run_sync_soon(self.run, function, operation)
        else:
            operation.completed = lambda done: self.run(function, done)


def current_channel():
    """Return the channel of this run."""
    _library.require()
    try:
        return _channel.get()
    except LookupError:
        _asyncio.look_after_closed_loops()
        channel = RunChannel()
        _channel.set(channel)
        return channel


_library.call_before_finalize(lambda: _library.add_up(channel.wind_up() for channel in list(_channels)))
