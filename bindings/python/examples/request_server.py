#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: mpiexec -n 4 python3 request_server.py

Rank 0 serves TCP connections. A client sends a line `RANK NUMBER`; the server passes the number to that rank over MPI,
which answers with its square, and meanwhile the server talks to other clients. Eight clients of this program ask at the
same time, and one that asks nothing stays connected. If a rank does not answer within 5 seconds, the client gets an
error.
"""

import asyncio
import itertools
import sys

import thence
from mpi4py import MPI

COMM = MPI.COMM_WORLD
QUESTION, FIRST_ANSWER = 1, 100
CLIENTS, QUESTIONS = 8, 10
tags = itertools.count(FIRST_ANSWER)  # each question has a tag of its own, for its answer


async def ask(rank: int, number: int) -> int:
    tag = next(tags)
    answer = COMM.irecv(source=rank, tag=tag)
    async with asyncio.timeout(5):
        await thence.wait(COMM.isend((number, tag), rank, QUESTION))
        squared: int = await thence.receive(answer)
        return squared


async def serve_client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        rank, number = map(int, line.split())
        try:
            writer.write(b"%d\n" % await ask(rank, number))
        except TimeoutError:
            writer.write(b"rank %d does not answer\n" % rank)
        await writer.drain()
    writer.close()


async def be_client(port: int, client: int) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    right = 0
    for number in range(QUESTIONS):
        rank = (client + number) % COMM.size
        writer.write(b"%d %d\n" % (rank, number))
        right += int(await reader.readline()) == number * number
    writer.close()
    return right


async def answer_questions() -> int:
    """Every rank, 0 too: answer until told to stop."""
    while (question := await thence.receive(COMM.irecv(source=0, tag=QUESTION))) is not None:
        number, tag = question
        await thence.wait(COMM.isend(number * number, 0, tag))
    return 0


async def serve() -> int:
    answering = asyncio.create_task(answer_questions())
    server = await asyncio.start_server(serve_client, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    _, silent = await asyncio.open_connection("127.0.0.1", port)
    right = sum(await asyncio.gather(*[be_client(port, client) for client in range(CLIENTS)]))
    silent.close()
    server.close()
    for rank in range(COMM.size):
        await thence.wait(COMM.isend(None, rank, QUESTION))
    await answering
    print(f"{right} of {CLIENTS * QUESTIONS} answers are right")
    return 0 if right == CLIENTS * QUESTIONS else 1


def main() -> int:
    return asyncio.run(serve() if COMM.rank == 0 else answer_questions())


if __name__ == "__main__":
    sys.exit(main())
