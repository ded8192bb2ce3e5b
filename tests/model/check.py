#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check.py MODEL.pml

Checks a model with Spin in all interleavings. The model must hold. For each mutation that its first comment lists, Spin
must find a violation; otherwise the model could not detect that fault. Exits with 77, which counts as skipped, if Spin
or a C compiler is missing (Debian: spin).
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77


def run(command, where):
    done = subprocess.run(command, cwd=where, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def violated(model, mutation, compiler):
    """Returns whether Spin finds a violation, the number of states, and Spin's output."""
    with tempfile.TemporaryDirectory() as where:
        defines = [f"-D{mutation}"] if mutation else []
        code, text = run(["spin", *defines, "-a", str(model)], where)
        if code != 0 or not (Path(where) / "pan.c").exists():
            sys.exit(f"{model.name} {mutation}: spin cannot parse the model\n{text}")
        code, text = run([compiler, "-O2", "-DSAFETY", "-DCOLLAPSE", "-o", "pan", "pan.c"], where)
        if code != 0:
            sys.exit(f"{model.name} {mutation}: the verifier does not compile\n{text}")
        code, text = run(["./pan", "-m1000000"], where)
        errors = re.search(r"errors: (\d+)", text)
        states = re.search(r"(\S+) states, stored", text)
        if code != 0 and not errors or "max search depth too small" in text:
            sys.exit(f"{model.name} {mutation}: the search did not end\n{text}")
        return int(errors.group(1)) != 0, states.group(1), text


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0 if "--help" in sys.argv or "-h" in sys.argv else 2
    model = Path(sys.argv[1]).resolve()
    compiler = next((c for c in ("gcc", "cc", "clang") if shutil.which(c)), None)
    if shutil.which("spin") is None or compiler is None:
        print(f"skipped: {model.name} needs the model checker Spin and a C compiler (Debian: apt install spin gcc)")
        return SKIPPED
    comment = model.read_text().split("Mutations, each of which must be found:")[1].split("*/")[0]
    mutations = re.findall(r"^ \*   ([A-Z_]+) ", comment, re.MULTILINE)
    if not mutations:
        sys.exit(f"{model.name} lists no mutations")
    wrong = 0
    found, states, text = violated(model, "", compiler)
    print(f"{model.name}: {'VIOLATED' if found else 'holds'}, {states} states")
    if found:
        print(text)
        wrong += 1
    for mutation in mutations:
        found, states, _ = violated(model, mutation, compiler)
        print(f"{model.name} with {mutation}: {'violation found' if found else 'NOT FOUND'}, {states} states")
        wrong += 0 if found else 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
