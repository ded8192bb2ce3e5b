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
