#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check.py [--unless-recorded | --record] MODEL.pml...

Checks a model with Spin in all interleavings. The model must hold. For each mutation that its first comment lists, Spin
must find a violation; otherwise the model could not detect that fault. Exits with 77, which counts as skipped, if Spin
or a C compiler is missing (Debian: spin).

A model that holds need not be checked again before it or a source that it models changes. checked.txt has a hash of each
model that was checked, with the sources that it names, without their comments. A model names each source by its path from
the root of the repository. --unless-recorded: a model with the recorded hash is not checked. --record: checks the models
that have another hash, and records those that hold.
"""

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
ROOT = Path(__file__).resolve().parents[2]
RECORD = Path(__file__).with_name("checked.txt")
COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|/\*.*?\*/|//[^\n]*', re.DOTALL)


def recorded():
    return dict(reversed(line.split()) for line in RECORD.read_text().splitlines()) if RECORD.exists() else {}


def sources_of(model, root=ROOT):
    """The sources that a model names."""
    names = sorted(set(re.findall(r"[\w./-]+\.[ch]pp\b", model.read_text())))
    lost = [name for name in names if not (root / name).is_file()]
    if lost or not names:
        sys.exit(f"{model.name} names {', '.join(lost) or 'no source'}"
                 f"{', which is no path of a file from the root of the repository' if lost else ''}")
    return [root / name for name in names]


def hash_of(model):
    text = model.read_text()
    for source in sources_of(model):
        text += " ".join(COMMENT.sub(lambda match: match.group(1) or " ", source.read_text()).split())
    return hashlib.sha256(text.encode()).hexdigest()[:32]


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


def check(model, compiler):
    """Returns how many runs of Spin ended otherwise than they must."""
    comment = model.read_text().split("Mutations, each of which must be found:")[1].split("*/")[0]
    mutations = re.findall(r"^ \*   ([A-Z_]+) ", comment, re.MULTILINE)
    if not mutations:
        sys.exit(f"{model.name} lists no mutations")
    wrong = 0
    found, states, text = violated(model, "", compiler)
    print(f"{model.name}: {'VIOLATED' if found else 'holds'}, {states} states", flush=True)
    if found:
        print(text)
        wrong += 1
    for mutation in mutations:
        found, states, _ = violated(model, mutation, compiler)
        print(f"{model.name} with {mutation}: {'violation found' if found else 'NOT FOUND'}, {states} states", flush=True)
        wrong += 0 if found else 1
    return wrong


def main():
    arguments = sys.argv[1:]
    how = arguments.pop(0) if arguments and arguments[0] in ("--unless-recorded", "--record") else ""
    if not arguments or arguments[0].startswith("-"):
        print(__doc__)
        return 0 if arguments[:1] in (["--help"], ["-h"]) else 2
    models = [Path(argument).resolve() for argument in arguments]
    known = recorded() if how else {}
    left = []
    for model in models:
        if known.get(model.name) == hash_of(model):
            print(f"{model.name}: holds, as {RECORD.name} says of this model and its sources")
        else:
            left.append(model)
    compiler = next((c for c in ("gcc", "cc", "clang") if shutil.which(c)), None)
    if left and (shutil.which("spin") is None or compiler is None):
        print(f"skipped: {left[0].name} needs the model checker Spin and a C compiler (Debian: apt install spin gcc)")
        return SKIPPED
    wrong = 0
    for model in left:
        faults = check(model, compiler)
        wrong += faults
        if faults == 0 and how == "--record":
            known[model.name] = hash_of(model)
        elif faults == 0 and how == "--unless-recorded":
            print(f"{model.name} or its sources have changed: tests/model/check.py --record {model.relative_to(ROOT)} records it")
    if how == "--record":
        RECORD.write_text("".join(f"{value} {name}\n" for name, value in sorted(known.items())))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
