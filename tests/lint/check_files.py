#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check_files.py ROOT

Every source has an SPDX licence line among its first three lines. A C or C++ file with more than 400 lines of code
gives a warning, with more than 500 a fault. Its lines have at most 120 columns. No file has conflict markers of a merge. In the
libraries one file starts threads, and one yields its processor.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from sources import CODE, files, without_comments  # noqa: E402

SPDX = "SPDX-License-Identifier: BSD-3-Clause"
SOURCE_SUFFIXES = CODE | {".py", ".sh", ".cmake", ".map", ".pml", ".in"}
SOURCE_NAMES = {"CMakeLists.txt", "Makefile", "run"}
WITHOUT = {"thence.pc.in"}  # installed together with the LICENSE
WARN, FAIL = 400, 500
COLUMNS = 120
# Threads of the library block the signals of the program, so they are started in one place; omp.h is C.
STARTS_THREADS = {"include/thence/detail/start_thread.hpp", "src/tasks/api.cpp"}
THREAD_START = re.compile(r"\bstd::j?thread\s*\w*\s*[({]|<\s*std::j?thread\s*>|\bstd::async\b|\b(?:pthread|thrd)_create\b")
# Beside a thread that computes a yield costs a time slice of it; see include/thence/backoff.h.
YIELDS = {"src/interpose/waiting/unchanged.cpp"}  # for users who ask for it with THENCE_WAIT
YIELD = re.compile(r"\b(?:sched_yield|pthread_yield|thrd_yield)\s*\(|\bthis_thread::yield\b")
CONFLICT_MARKER = re.compile(r"^(<{7}|>{7}) ", re.MULTILINE)


def is_source(path):
    return (path.suffix in SOURCE_SUFFIXES or path.name in SOURCE_NAMES) and path.name not in WITHOUT


def code_lines(text):
    return sum(1 for line in without_comments(text).splitlines() if line.strip())


def check(root):
    faults, warnings, seen = [], [], 0
    for path in files(root):
        text = (Path(root) / path).read_text(errors="replace")
        if left := CONFLICT_MARKER.search(text):
            faults.append(f"{path}:{text.count(chr(10), 0, left.start()) + 1}: conflict marker of a merge")
        if not is_source(path):
            continue
        seen += 1
        if SPDX not in "\n".join(text.splitlines()[:3]):
            faults.append(f"{path}:1: no line `{SPDX}` among the first three")
        if path.suffix in CODE:
            code = without_comments(text)
            if str(path).startswith(("src/", "include/")) and str(path) not in STARTS_THREADS:
                faults += [f"{path}:{code.count(chr(10), 0, start.start()) + 1}: starts a thread; use start_thread() of "
                           "thence/detail/start_thread.hpp, which blocks the program's signals in it"
                           for start in THREAD_START.finditer(code)]
            faults += [f"{path}:{number}: {len(line)} columns, over {COLUMNS}"
                       for number, line in enumerate(text.splitlines(), 1) if len(line) > COLUMNS]
            if str(path).startswith(("src/", "include/")) and str(path) not in YIELDS:
                faults += [f"{path}:{code.count(chr(10), 0, at.start()) + 1}: yields its processor; pause as "
                           "thence/backoff.h or spin_wait does, which spins and then sleeps"
                           for at in YIELD.finditer(code)]
            length = code_lines(text)
            if length > FAIL:
                faults.append(f"{path}: {length} lines of code; split it, at most {FAIL}")
            elif length > WARN:
                warnings.append(f"{path}: {length} lines of code, over {WARN}")
    return faults, warnings, seen


def main():
    faults, warnings, seen = check(sys.argv[1])
    for text in warnings:
        print("warning:", text)
    for text in faults:
        print(text)
    print(f"{seen} files, {len(faults)} faults")
    return 1 if faults or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
