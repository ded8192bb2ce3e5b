# SPDX-License-Identifier: BSD-3-Clause
"""Programs that end badly, each in a process of its own: what they report, and that they end."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

LAUNCHER = os.environ["MPI_LAUNCHER"].split()
BEGIN = """
import asyncio, os, sys
import numpy as np
from mpi4py import MPI
import thence
SELF = MPI.COMM_SELF
"""


def run_program(text, launcher=LAUNCHER):
    """Run a program on one rank. Returns its exit code, output and error output."""
    command = [*launcher, sys.executable, "-c", textwrap.dedent(text)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    return done.returncode, done.stdout, done.stderr


def test_a_loop_that_is_closed_with_operations_pending():
    code, out, err = run_program(
        BEGIN
        + """
buffer = np.zeros(1)
operations = []
async def leave():
    operations.append(thence.attach(SELF.Irecv(buffer, 0, 1), print))
loop = asyncio.new_event_loop()
loop.run_until_complete(leave())
loop.close()
async def go_on():
    await thence.wait(SELF.Isend(np.full(1, 5.0), 0, 1))
    await thence.wait(SELF.Ibarrier())
for _ in range(100):
    asyncio.run(go_on()) if _ == 0 else asyncio.run(asyncio.sleep(0.001))
asyncio.run(thence.wait(MPI.Request()))
print("arrived", buffer[0], operations[0].done())
"""
    )
    assert code == 0, err
    assert "thence: an event loop was closed with 1 operations pending; they go on" in err
    assert out == "arrived 5.0 True\n"


@pytest.mark.parametrize("finalize", ["", "MPI.Finalize()"])
def test_finalize_with_pending_awaits(finalize):
    code, _, err = run_program(
        BEGIN
        + f"""
async def leave():
    for tag in range(3):
        asyncio.ensure_future(thence.wait(SELF.Irecv(np.zeros(1), 0, tag)))
    await asyncio.sleep(0.01)
loop = asyncio.new_event_loop()
loop.run_until_complete(leave())
{finalize}
"""
    )
    assert code == 0, err
    assert "thence: MPI is finalized with 3 operations pending; all of them were cancelled or have completed" in err


def test_finalize_in_a_loop_that_runs():
    code, out, err = run_program(
        BEGIN
        + """
async def main():
    waits = asyncio.ensure_future(thence.wait(SELF.Irecv(np.zeros(1), 0, 1)))
    await asyncio.sleep(0.01)
    descriptor = thence._asyncio.current_channel().descriptor
    MPI.Finalize()
    loop = asyncio.get_running_loop()
    print("stale reader:", loop.remove_reader(descriptor))
    print("cancelled:", (await asyncio.wait_for(waits, 10)) is not None)
asyncio.run(main())
"""
    )
    assert code == 0, err
    assert out == "stale reader: False\ncancelled: True\n"
    assert "thence: MPI is finalized with 1 operations pending; all of them were cancelled or have completed" in err


def test_finalize_while_a_loop_runs_in_another_thread():
    code, out, err = run_program(
        BEGIN
        + """
import threading
waits = threading.Event()
async def main():
    task = asyncio.ensure_future(thence.wait(SELF.Irecv(np.zeros(1), 0, 1)))
    await asyncio.sleep(0.01)
    waits.set()
    await task
    print("ended", flush=True)
thread = threading.Thread(target=asyncio.run, args=(main(),))
thread.start()
waits.wait()
MPI.Finalize()
thread.join()
"""
    )
    assert code == 0, err
    assert out == "ended\n"


def finalize_in_a_run_of_trio(beside=""):
    """Run a program that finalizes MPI while a task waits, after the lines ``beside``. Return what it printed as an error."""
    pytest.importorskip("trio", reason="trio is not installed")
    code, out, err = run_program(
        BEGIN
        + f"""
import time
import trio
async def main():
    async with trio.open_nursery() as nursery:
        nursery.start_soon(thence.wait, SELF.Irecv(np.zeros(1), 0, 1))
        await trio.sleep(0.01)
{textwrap.indent(beside, " " * 8)}
        MPI.Finalize()
    print("ended")
trio.run(main)
"""
    )
    assert code == 0, err
    assert out == "ended\n"
    return err


def test_finalize_in_a_run_of_trio():
    err = finalize_in_a_run_of_trio()
    assert "thence: MPI is finalized with 1 operations pending; all of them were cancelled or have completed" in err


@pytest.mark.parametrize("attempt", range(3))  # trio runs one of the two tasks that are ready first, by chance
def test_finalize_beside_a_completion_in_a_run_of_trio(attempt):
    finalize_in_a_run_of_trio(
        """
SELF.Send(np.zeros(1), 0, 1)
time.sleep(0.05)  # the descriptor becomes readable
await trio.lowlevel.checkpoint()
"""
    )


def test_finalize_with_futures_pending():
    code, out, err = run_program(
        BEGIN
        + """
from thence.executor import RequestExecutor
executor = RequestExecutor()
future = executor.submit(SELF.Irecv, np.zeros(1), 0, 1)
MPI.Finalize()
print(future.cancelled(), executor._thread.is_alive())
"""
    )
    assert code == 0, err
    assert out == "True False\n"
    assert "thence: MPI is finalized with 1 operations pending; all of them were cancelled or have completed" in err


def test_a_forked_process_leaves_executor_and_operations_alone():
    code, out, err = run_program(
        BEGIN
        + """
from thence.executor import RequestExecutor
executor = RequestExecutor()
request = SELF.Irecv(np.zeros(1), 0, 1)
future = executor.submit(SELF.Irecv, np.zeros(1), 0, 2)
async def main():
    operation = thence.attach(SELF.Irecv(np.zeros(1), 0, 3), print)
    channel = thence._asyncio.current_channel()
    executor._lock.acquire()
    child = os.fork()
    if child == 0:
        def calls_mpi(*_): print("MPI was called")
        for name in ("attach", "cancel", "drain", "close_channel", "open_channel"):
            setattr(thence._library, name, calls_mpi)
        for refused in (lambda: executor.track(request), lambda: executor.submit(SELF.Irecv, np.zeros(1), 0, 4),
                        lambda: channel.start([request]), RequestExecutor):
            try:
                refused()
            except RuntimeError as error:
                print(str(error)[:40], flush=True)
        print(operation.cancel(), future.cancel(), executor.shutdown(), flush=True)
        channel.drain()
        channel.close()
        os._exit(0)
    executor._lock.release()
    assert os.waitpid(child, 0)[1] == 0
    operation.cancel()
    request.Cancel()
    request.Wait()
    assert future.cancel()
asyncio.run(main())
"""
    )
    assert code == 0, err
    lines = out.splitlines()
    assert lines[:4] == ["thence cannot be used in a process that "] * 4
    assert lines[4] == "False False None"
    assert len(lines) == 6  # the operation of the parent, which was cancelled
    assert "<thence.Operation cancelled" in lines[5]


def test_after_finalize():
    code, out, err = run_program(
        BEGIN
        + """
asyncio.run(thence.wait(MPI.Request()))
MPI.Finalize()
try:
    asyncio.run(thence.gather())
except RuntimeError as error:
    print(error)
"""
    )
    assert code == 0, err
    assert out == "thence needs MPI between MPI.Init() and MPI.Finalize()\n"


def test_a_forked_process_is_refused():
    code, out, err = run_program(
        BEGIN
        + """
asyncio.run(thence.wait(SELF.Ibarrier()))
child = os.fork()
if child == 0:
    try:
        asyncio.run(thence.gather())
    except RuntimeError as error:
        print(error, flush=True)
    os._exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
asyncio.run(thence.wait(SELF.Ibarrier()))
"""
    )
    assert code == 0, err
    assert out.startswith("thence cannot be used in a process that was forked after MPI was initialized")
    assert out.endswith("\n3\n")


@pytest.mark.parametrize("level", ["funneled", "serialized"])
def test_below_thread_multiple_the_loop_polls_and_says_so(level):
    code, out, err = run_program(
        f"import mpi4py\nmpi4py.rc.thread_level = '{level}'\n"
        + BEGIN
        + """
async def main():
    buffer = np.zeros(1)
    receive = asyncio.ensure_future(thence.wait(SELF.Irecv(buffer, 0, 1)))
    await asyncio.sleep(0.05)
    await thence.wait(SELF.Isend(np.full(1, 4.0), 0, 1))
    await receive
    try:
        async with asyncio.timeout(0.05):
            await thence.wait(SELF.Irecv(buffer, 0, 2))
    except TimeoutError:
        print(thence.progress(), buffer[0])
asyncio.run(main())
from thence.executor import RequestExecutor
try:
    RequestExecutor()
except RuntimeError as error:
    print(error)
"""
    )
    assert code == 0, err
    assert "RuntimeWarning: MPI was initialized below MPI.THREAD_MULTIPLE" in err
    assert out.splitlines()[0] == "loop 4.0"
    assert out.splitlines()[1].startswith("thence.executor needs MPI.THREAD_MULTIPLE")


def test_import_without_mpi4py(tmp_path):
    (tmp_path / "mpi4py.py").write_text("raise ImportError('there is none')\n")
    code, _, err = run_program(f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport thence", launcher=[])
    assert code == 1
    assert "ImportError: thence needs mpi4py and an MPI that it can load (pip install mpi4py): there is none" in err


def test_import_with_another_mpi_than_it_was_built_for(tmp_path):
    package = Path(os.environ["PYTHONPATH"]) / "thence"
    (tmp_path / "thence" / "lib" / "mpivapour").mkdir(parents=True)
    (tmp_path / "thence" / "lib" / "mpivapour" / "libthence-python.so").touch()
    for each in package.glob("*.py"):
        (tmp_path / "thence" / each.name).symlink_to(each.resolve())
    code, _, err = run_program(f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport thence")
    assert code != 0
    assert "ImportError: this installation of thence is for the ABI of mpivapour, but mpi4py uses " in err


def test_an_interrupt_right_behind_a_call_of_the_library():
    code, out, err = run_program(
        BEGIN
        + """
import signal
from thence import _library
real = {name: getattr(_library, name) for name in ("attach", "drain")}
def interrupted(name):
    def call(*arguments):
        setattr(_library, name, real[name])
        try:
            return real[name](*arguments)
        finally:
            signal.raise_signal(signal.SIGINT)
    setattr(_library, name, call)
def run(coroutine):
    try:
        return loop.run_until_complete(coroutine)
    except KeyboardInterrupt:
        print("interrupted")
buffers = [np.zeros(1) for _ in range(3)]
async def attach(tag):
    tasks.append(asyncio.ensure_future(thence.wait(SELF.Irecv(buffers[tag], 0, tag))))
    await asyncio.sleep(0.01)
tasks = []
loop = asyncio.new_event_loop()
run(attach(0))
interrupted("attach")
run(attach(1))
channel = thence._asyncio._recent[1]
print(len(channel.pending), _library.outstanding())
run(attach(2))
interrupted("drain")
async def send():
    for tag in range(3):
        SELF.Send(np.full(1, tag + 1.0), 0, tag)
    async with asyncio.timeout(10):
        await asyncio.wait([tasks[0], tasks[-1]])
run(send())
async def rest():
    async with asyncio.timeout(10):
        await asyncio.wait([tasks[0], tasks[-1]])
run(rest())
print(*(float(each[0]) for each in buffers), len(channel.pending), _library.outstanding())
"""
    )
    assert code == 0, err
    assert out == "interrupted\n2 2\ninterrupted\n1.0 2.0 3.0 0 0\n", err


def test_a_gather_that_is_collected_after_its_loop_goes_on():
    code, out, err = run_program(
        BEGIN
        + """
buffer = np.zeros(1)
async def leave():
    asyncio.ensure_future(thence.gather(SELF.Irecv(buffer, 0, 1), SELF.Irecv(np.zeros(1), 0, 2)))
    await asyncio.sleep(0.01)
loop = asyncio.new_event_loop()
loop.run_until_complete(leave())
loop.close()
del loop
asyncio.run(thence.wait(MPI.Request()))
import gc
gc.collect()
async def send():
    await thence.gather(SELF.Isend(np.full(1, 5.0), 0, 1), SELF.Isend(np.full(1, 5.0), 0, 2))
asyncio.run(send())
while buffer[0] == 0:
    SELF.Iprobe()
print(buffer[0])
"""
    )
    assert (code, out) == (0, "5.0\n"), err


def test_what_a_run_of_trio_leaves_pending_is_cancelled_before_finalize():
    pytest.importorskip("trio")
    code, _, err = run_program(
        BEGIN
        + """
import trio
async def main():
    thence.attach(SELF.Irecv(np.zeros(1), 0, 1), print)
trio.run(main)
"""
    )
    assert code == 0, err
    assert "a run of trio has ended with 1 operations pending; they go on" in err
    assert "MPI is finalized with 1 operations pending; all of them were cancelled or have completed" in err


def test_a_callback_that_wants_to_exit_does_not_stop_finalize():
    code, out, err = run_program(
        BEGIN
        + """
import threading, time
ready = threading.Event()
async def main():
    thence.attach(SELF.Irecv(np.zeros(1), 0, 1), lambda _: sys.exit(3))
    ready.set()
    await asyncio.sleep(10)
threading.Thread(target=lambda: asyncio.run(main()), daemon=True).start()
ready.wait()
time.sleep(0.05)
MPI.Finalize()
print("finalized")
"""
    )
    assert (code, out) == (0, "finalized\n"), err
    assert "MPI is finalized with 1 operations pending; all of them" in err


def test_at_exit_a_loop_that_lives_is_reported_once():
    code, _, err = run_program(
        BEGIN
        + """
async def leave():
    asyncio.ensure_future(thence.wait(SELF.Irecv(np.zeros(1), 0, 1)))
    await asyncio.sleep(0.01)
loop = asyncio.new_event_loop()
loop.run_until_complete(leave())
"""
    )
    assert code == 0, err
    assert err.count("thence: ") == 1 and "all of them were cancelled or have completed" in err, err


@pytest.mark.parametrize(
    "level, reason",
    [("funneled", "only an event loop of the main thread may call it"), ("serialized", "an event loop of another thread")],
)
def test_below_thread_multiple_one_thread_polls(level, reason):
    code, out, err = run_program(
        f"import mpi4py\nmpi4py.rc.thread_level = '{level}'\n"
        + BEGIN
        + """
import threading
def other():
    try:
        asyncio.run(thence.wait(SELF.Isend(np.zeros(1), 0, 1)))
    except RuntimeError as error:
        print(error)
async def main():
    receive = asyncio.ensure_future(thence.wait(SELF.Irecv(np.zeros(1), 0, 2)))
    await asyncio.sleep(0)
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    await thence.wait(SELF.Isend(np.zeros(1), 0, 2))
    await receive
asyncio.run(main())
"""
    )
    assert code == 0, err
    assert reason in out, (out, err)
