# SPDX-License-Identifier: BSD-3-Clause
"""The functions of the package. They are the same for asyncio and trio, and so for anyio."""

import asyncio
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Literal, overload

from thence import _asyncio, _library
from thence._channel import Operation, deliver, not_cancelled
from thence._library import MPI


def _current_channel():
    if asyncio._get_running_loop() is not None:
        return _asyncio.current_channel()
    if "trio" in sys.modules:
        from thence import _trio

        if _trio.trio.lowlevel.in_trio_run():
            return _trio.current_channel()
    raise RuntimeError("thence needs a running event loop, of asyncio or trio; without one use thence.executor")


async def wait(request: MPI.Request) -> MPI.Status:
    """Wait until an operation is complete, and let the event loop run meanwhile.

    In C: ``thence_attach`` with one request.

    Parameters
    ----------
    request : mpi4py.MPI.Request
        An active request of any kind. On return it is ``MPI.REQUEST_NULL``, unless it is persistent: then it can be
        started again. For a request of ``irecv``, which receives an object, use `receive`.

    Returns
    -------
    mpi4py.MPI.Status
        Of the operation. That of a null or inactive request is empty.

    Raises
    ------
    mpi4py.MPI.Exception
        The operation has failed.
    asyncio.CancelledError or trio.Cancelled
        The task was cancelled. `not_cancelled` says whether the operation was not.
    RuntimeError
        No event loop runs, MPI is not active, or the process was forked.

    Notes
    -----
    If the task is cancelled, Thence asks MPI once to cancel the operation. Its buffer is kept until MPI has completed
    it. An operation that is complete already, or within 30 microseconds, needs no turn of the loop; but with each 64th
    that needs none the loop gets one. After a time in vain the next calls do not wait: 1 of them, then 3, up to 63.
    """
    channel = _current_channel()
    operation = channel.start_one(request, soon=True)
    if operation.error is None:
        await channel.completion(operation)
    elif channel.is_turn_due():
        await _turn(channel, [operation])
    return operation.result()


async def receive(request: MPI.Request, status: MPI.Status | None = None) -> Any:
    """Wait for a request of mpi4py's ``irecv`` or ``imrecv``, and return the object that was sent.

    Parameters
    ----------
    request : mpi4py.MPI.Request
        What ``comm.irecv()`` has returned.
    status : mpi4py.MPI.Status, optional
        Set to the status of the receive.

    Returns
    -------
    object
        What ``request.wait()`` would return.

    Raises
    ------
    mpi4py.MPI.Exception
        The receive has failed: for example, the message was larger than the buffer of ``irecv``, 32 KiB by default.

    Notes
    -----
    mpi4py alone can unpickle what it has received, in the wait of its own request. So the request is replaced by a
    generalized request that is complete and has the status of the receive. `wait` describes cancellation and the other
    exceptions. If the object had arrived when the task was cancelled (`not_cancelled` has its operation, which is done),
    ``request.wait()`` returns it.
    """
    try:
        received = await wait(request)
    except BaseException as error:
        for operation in not_cancelled(error):
            if operation.error == 0:
                deliver(request, operation.status)
        raise
    deliver(request, received)
    return request.wait(status)


def _leave(channel, error, operations):
    # The wait for these has ended before they were complete. Where its coroutine was collected after its loop, or by
    # another thread, they go on as their channel does.
    for operation in operations:
        operation.completed = None
    if isinstance(error, GeneratorExit) and not channel.is_current():
        return
    for operation in operations:
        operation.cancel()
    channel.leave(error, operations)


async def _turn(channel, operations):
    # All of these are complete.
    try:
        await channel.turn()
    except BaseException as error:
        channel.leave(error, operations)
        raise


async def _all_of(channel, operations):
    pending = [operation for operation in operations if operation.error is None]
    if not pending:
        if channel.is_turn_due():
            await _turn(channel, operations)
        return
    left = len(pending)
    event = channel.event()

    def completed(_):
        nonlocal left
        left -= 1
        if left == 0:
            event.set()

    for operation in pending:
        operation.completed = completed
    try:
        await event.wait()
    except BaseException as error:  # the task is cancelled
        _leave(channel, error, operations)
        raise


@overload
async def gather(*requests: MPI.Request, return_exceptions: Literal[False] = False) -> list[MPI.Status]: ...
@overload
async def gather(*requests: MPI.Request, return_exceptions: bool) -> list[MPI.Status | MPI.Exception]: ...


async def gather(*requests: MPI.Request, return_exceptions: bool = False) -> Any:
    """Wait until all of several operations are complete.

    In C: ``thence_attach_each``.

    Parameters
    ----------
    *requests : mpi4py.MPI.Request
        As for `wait`. They are attached in one call of the library.
    return_exceptions : bool
        Return exceptions of operations that have failed among the statuses, in place of raising the first.

    Returns
    -------
    list of mpi4py.MPI.Status
        In the order of the requests.

    Raises
    ------
    mpi4py.MPI.Exception
        An operation has failed. It is raised after all are complete, as ``MPI_Waitall`` does.

    Notes
    -----
    If the task is cancelled, those that are pending are cancelled as `wait` describes. `not_cancelled` returns those
    that were not, in the order of the requests, with those that had completed before.
    """
    channel = _current_channel()
    operations = channel.start(requests)
    await _all_of(channel, operations)
    results = []
    for operation in operations:
        try:
            results.append(operation.result())
        except MPI.Exception as error:
            if not return_exceptions:
                raise
            results.append(error)
    return results


async def completions(requests: Sequence[MPI.Request]) -> AsyncIterator[tuple[int, MPI.Status]]:
    """Iterate over operations in the order in which they complete.

    Parameters
    ----------
    requests : sequence of mpi4py.MPI.Request
        As for `wait`.

    Yields
    ------
    index : int
        Which request it is.
    status : mpi4py.MPI.Status
        Of the operation.

    Raises
    ------
    mpi4py.MPI.Exception
        The next operation to complete has failed. Its attribute ``index`` says which.

    Notes
    -----
    When the iteration ends early, the operations that are pending are cancelled. An ``async for`` that a ``break``
    leaves does not end it at once: use ``contextlib.aclosing``. If it ends by an exception, `not_cancelled` returns the
    operations that it has not yielded, and that were not cancelled.
    """
    channel = _current_channel()
    operations = channel.start(list(requests))
    index_of = {operation: index for index, operation in enumerate(operations)}
    ready = deque(operation for operation in operations if operation.error is not None)
    event = channel.event()

    def completed(operation):
        ready.append(operation)
        event.set()

    for operation in operations:
        operation.completed = completed
    try:
        for _ in operations:
            if ready and channel.is_turn_due():
                await channel.turn()
            while not ready:
                event = channel.event()
                await event.wait()
            operation = ready.popleft()
            index = index_of[operation]
            try:
                status = operation.result()
            except MPI.Exception as error:
                error.index = index  # type: ignore[attr-defined]
                raise
            del index_of[operation]  # it is yielded
            yield index, status
    except BaseException as error:
        _leave(channel, error, list(index_of))
        raise


def attach(request: MPI.Request, function: Callable[[Operation], object]) -> Operation:
    """Have a function called in the running event loop, once an operation is complete.

    In C: ``thence_attach``.

    Parameters
    ----------
    request : mpi4py.MPI.Request
        As for `wait`.
    function : callable
        Called once, in the thread of the loop, with the operation: its ``result()`` returns the status, or raises what
        MPI has reported. It is never called inside of this call. What it raises goes to the exception handler of the
        asyncio loop, or under trio into the log ``thence``.

    Returns
    -------
    Operation
        The same object. Its ``cancel()`` asks MPI to cancel the operation; the function is called also then.

    Raises
    ------
    RuntimeError
        As for `wait`. If MPI refuses the request, the function is called, and ``result()`` raises that.
    """
    channel = _current_channel()
    operation = channel.start_one(request)
    channel.attach(operation, function)
    return operation
