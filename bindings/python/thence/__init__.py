# SPDX-License-Identifier: BSD-3-Clause
"""``await`` on MPI requests: completions of mpi4py's requests in asyncio and trio.

    status = await thence.wait(comm.Irecv(buffer, source=0))

A thread of the library makes progress and wakes the event loop through an eventfd, so the loop does not poll.
"""

from thence._api import attach, completions, gather, receive, wait
from thence._channel import Operation, not_cancelled
from thence._library import ABI, progress

__version__ = "0.1.0"
__all__ = ["ABI", "Operation", "attach", "completions", "gather", "not_cancelled", "progress", "receive", "wait"]
