# SPDX-License-Identifier: BSD-3-Clause
"""The program on the guide's page prints what it says."""

import re
from pathlib import Path

from mpi4py import MPI

PAGE = Path(__file__).parents[4] / "docs/guide/python.md"


def test_the_program_of_the_guide_receives_the_number_of_the_rank_before(capsys):
    program = re.search(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)[1]
    exec(program, {})  # as a user would run it
    comm = MPI.COMM_WORLD
    assert capsys.readouterr().out == f"{float((comm.rank - 1) % comm.size)} from rank {(comm.rank - 1) % comm.size}\n"
