#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check_extensions.py ROOT

Each test that docs/guide/mpich-extensions.md names exists. Those of the table of what the paper promises run on every MPI: the
program that has them has label `every_mpi` in tests/mpi/CMakeLists.txt, or their file runs there with 2 ranks. Each example that
the page names exists.
"""

import re
import sys
from pathlib import Path

PAGE = "docs/guide/mpich-extensions.md"
PROMISES = "## What the paper promises"
TEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)")


def tests_of(root):
    """The test programs' sources that have each test: {"suite.name": {path, ...}}."""
    found = {}
    for path in sorted((root / "tests").rglob("*.cpp")):
        for suite, name in TEST.findall(path.read_text()):
            found.setdefault(f"{suite}.{name}", set()).add(path.relative_to(root).as_posix())
    return found


def sources_on_every_mpi(root):
    """The sources in tests/mpi of programs with label `every_mpi`."""
    text = (root / "tests/mpi/CMakeLists.txt").read_text()
    lists = {name: files.split() for name, files in re.findall(r"^set\((\w+) ([^)]*\.cpp[^)]*)\)", text, re.MULTILINE)}
    found = set()
    for sources, options in re.findall(r"^rank_test\(\w+\s+(\S+)\s+([^)]*)\)", text, re.MULTILINE):
        name = re.fullmatch(r'"\$\{(\w+)\}"', sources)
        if "every_mpi" in options.split():
            found |= {f"tests/mpi/{file}" for file in (lists.get(name.group(1), []) if name else [sources])}
    for words in re.findall(r"^rank_file\(([^)]*)\)", text, re.MULTILINE): # FILE RANKS 1 2 4 [ALSO FILE ...]
        file, _, *options = words.split()
        also = options[options.index("ALSO") + 1:] if "ALSO" in options else []
        if "2" in options: # what runs with 2 ranks runs on every MPI
            found |= {f"tests/mpi/{name}.cpp" for name in [file, *also]}
    return found


def section(page, heading):
    return page.split(heading + "\n", 1)[1].split("\n## ", 1)[0] if heading + "\n" in page else ""


def named(text):
    """The tests that the last column of each row of the tables names."""
    rows = [line.rstrip().rstrip("|").split("|")[-1] for line in text.splitlines() if line.startswith("| ")]
    return [name for row in rows for name in re.findall(r"`(\w+\.\w+)`", row) if not name.endswith((".c", ".cpp"))]


def faults(root):
    page = (root / PAGE).read_text()
    tests, core = tests_of(root), sources_on_every_mpi(root)
    promises = section(page, PROMISES)
    for name in named(page):
        if name not in tests:
            yield f"{PAGE}: there is no test {name}"
    for name in named(promises):
        if name in tests and not tests[name] & core:
            yield f"{PAGE}: {name} does not run on every MPI"
    rows = [line for line in promises.splitlines() if line.startswith("| ")][1:]
    yield from (f"{PAGE}: no test in this row: {row}" for row in rows if not named(row))
    if not rows:
        yield f"{PAGE}: no table below {PROMISES}"
    for example in re.findall(r"`(examples/\w+\.\w+)`", page):
        if not (root / example).is_file():
            yield f"{PAGE}: there is no {example}"


def main():
    found = list(faults(Path(sys.argv[1])))
    print("\n".join(found) or f"{PAGE}: all tests and examples exist")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
