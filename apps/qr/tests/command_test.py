#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The command line of qr, its report and its files, and whether wrong factors are found. Arguments: qr, the same on an MPI with a
fault (or none), then the launcher for two ranks."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM, FAULTY, *LAUNCHER = sys.argv[1:]


def run(*arguments, launcher=(), program=PROGRAM, fault=None):
    environment = {**os.environ, **({"FAULT": fault} if fault else {})}
    return subprocess.run([*launcher, program, *arguments, "--progress", "never"], capture_output=True, text=True, timeout=100,
                          check=False, env=environment)


def expect(result, code, text):
    assert result.returncode == code and text in result.stdout + result.stderr, (code, text, result)


expect(run("--help"), 0, "Variants:")
expect(run("--matrix", "10x20"), 2, "not more columns than rows")
expect(run("--matrix", "10"), 2, "is no matrix")
expect(run("--grid", "2"), 2, "is no grid")
expect(run("--grid", "3x1"), 2, "is not the number of ranks")
expect(run("--variant", "none"), 2, "--variant")
with tempfile.TemporaryDirectory() as folder:
    report = Path(folder) / "run.json"
    timeline = Path(folder) / "run.timeline.json"
    arguments = ["--matrix", "64x48", "--tile", "16", "--threads", "1", "--json", str(report), "--timeline", str(timeline)]
    expect(run(*arguments, launcher=LAUNCHER), 0, "right")
    found = json.loads(report.read_text())
    assert found["factors"] == "right" and found["ranks"] == 2 and found["residual"] < 1e-13, found
    assert found["messages"] > 0 and found["tasks"] == 20, found
    spans = json.loads(timeline.read_text())
    assert len(spans["spans"]) >= found["tasks"], len(spans["spans"])
    # One value of each tile that rank 0 sends is wrong, and nothing else.
    arguments = ["--matrix", "192x128", "--tile", "48", "--threads", "1", "--json", str(report)]
    for variant in ("forkjoin", "reference", "messages", "messages-alone") if FAULTY != "none" else ():
        expect(run(*arguments, "--variant", variant, launcher=LAUNCHER, program=FAULTY, fault="wrong_data"), 3, "WRONG")
        assert json.loads(report.read_text())["factors"] == "WRONG", variant
    if FAULTY != "none":
        expect(run(*arguments, launcher=LAUNCHER, program=FAULTY), 0, "right")
