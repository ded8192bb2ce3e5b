#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check_errors.py ROOT

Every text that the sources can give to a user is in docs/guide/errors.md: the failures of the C API in src/, what the
libraries and headers throw or print, and what the command prints when it fails.

In include/ and src/ each string of three words or more counts, but for those of OTHER, and but for static_assert, whose text
is the cure. In programs only strings that are thrown or printed as errors count. Where a text is put together from pieces,
each piece has to be there.
"""

import re
import sys
from pathlib import Path

LITERAL = r'"(?:[^"\\\n]|\\.)*"'
STRINGS = re.compile(rf"{LITERAL}(?:\s*{LITERAL})*")
COMMENT = re.compile(rf"({LITERAL}|'(?:[^'\\\n]|\\.)')|/\*.*?\*/|//[^\n]*", re.DOTALL)
# A statement of a program that gives an error: to its end, or to the value that it returns.
ERROR_STATEMENT = re.compile(r"\b(?:throw|fail|std::cerr|fprintf\(stderr)\b[^;]*;")

LIBRARIES = ("include", "src")
PROGRAMS = ("tools/thence", "bench/command", "bench/measure")
OTHER = {
    "src/core/base/settings.hpp": "the table of settings: settings.md has it",
    "src/core/diagnose/report.cpp": "the lines of the stall report: diagnose.md explains them",
    "src/core/diagnose/waiting_tasks.cpp": "as those of report.cpp",
    "src/dataflow/report.cpp": "the states of waiting tasks: dataflow.md explains them",
}
# Strings that are no errors.
NO_ERROR = re.compile(r"need C\+\+20: compile with|^\s*(?:counting|running) |\\\"|^kept as failed$|^test in a loop$|^block the task$|^test and pause$|^enqueue on [\w ]+$")


def without_comments(text):
    return COMMENT.sub(lambda match: match.group(1) or " ", text)


def balanced(text, start):
    depth = 0
    for n in range(start, len(text)):
        depth += (text[n] == "(") - (text[n] == ")")
        if depth == 0 and text[n] == ")":
            return n + 1
    return len(text)


def without_static_asserts(text):
    out, at = [], 0
    for match in re.finditer(r"\bstatic_assert\s*\(", text):
        if match.start() >= at:
            out.append(text[at:match.start()])
            at = balanced(text, match.end() - 1)
    return "".join(out) + text[at:]


def pieces(strings):
    """The constant parts of adjacent string literals: what is left of format directives and line ends."""
    joined = "".join(literal[1:-1] for literal in re.findall(LITERAL, strings))
    return [" ".join(piece.split()) for piece in re.split(r"%\.?\*?[.\d]*[a-z]+|\\n", joined)]


def texts_of(code, is_program):
    """Yields the texts of a source file that the page must have."""
    code = without_static_asserts(without_comments(code))
    parts = [match.group(0) for match in ERROR_STATEMENT.finditer(code)] if is_program else [code]
    for part in parts:
        for strings in STRINGS.finditer(part):
            if not NO_ERROR.search(strings.group(0)[1:-1]):
                yield from (piece for piece in pieces(strings.group(0)) if len(piece.split()) >= 3)


def reasons_of(code):
    """The texts of {class, "text"}."""
    rows = re.findall(rf"\{{\s*MPI_\w+,\s*((?:{LITERAL}\s*)+)\}}", without_comments(code))
    return ["".join(literal[1:-1] for literal in re.findall(LITERAL, row)) for row in rows]


def with_own_names(text):
    """{NAME} in a reason is a name of thence.h, which the page has."""
    return re.sub(r"\{([^{}]+)\}", r"\1", text)


def searchable(page):
    return " ".join(re.sub(r"^>", "", page.replace("`", ""), flags=re.MULTILINE).split())


def sources(root, folders):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".hpp", ".cpp") and "tests" not in path.relative_to(root).parts:
                yield path.relative_to(root).as_posix(), path.read_text()


def check(root):
    page = searchable((root / "docs/guide/errors.md").read_text())
    expected = [(name, text) for name, code in sources(root, ("src",)) for text in reasons_of(code)]
    count = len(expected)
    for folders, is_program in ((LIBRARIES, False), (PROGRAMS, True)):
        expected += [(name, text) for name, code in sources(root, folders) if name not in OTHER
                     for text in texts_of(code, is_program)]
    faults = dict.fromkeys(f"{name}: docs/guide/errors.md has no cause and cure for: {text}" for name, text in expected
                           if with_own_names(text) not in page)
    return list(faults), count, len(expected)


def main():
    faults, reasons, texts = check(Path(sys.argv[1]).resolve())
    for fault in faults:
        print(fault)
    print(f"{reasons} reasons of the C API, {texts} texts, {len(faults)} without a cure")
    return 1 if faults or reasons < 20 or texts < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
