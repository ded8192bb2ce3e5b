#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check_headers.py gcc|clang INCLUDE_DIR MPI_INCLUDE_DIR...

Checks that every public header compiles alone and without a warning, also if it is included twice: .h as C11, C++17 and
C++20, .hpp as C++20, with GCC or the newest Clang. As C++17, an .hpp must give the error of
thence/detail/cxx20.hpp and no other. Exits with 77 if that compiler or its OpenMP runtime is missing.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-fsyntax-only", "-DOMPI_SKIP_MPICXX",
         "-DMPICH_SKIP_MPICXX"]

SKIPPED = 77
NEEDS_CPP20 = "Thence's headers need C++20: compile with -std=c++20"


def compilers():
    """[(C compiler, C++ compiler)]: gcc, and the newest Clang."""
    found = [("gcc", "g++")] if shutil.which("gcc") and shutil.which("g++") else []
    for suffix in [""] + [f"-{version}" for version in range(30, 13, -1)]:
        if shutil.which("clang" + suffix) and shutil.which("clang++" + suffix):
            return found + [("clang" + suffix, "clang++" + suffix)]
    return found


def compile_alone(compiler, standard, header, include_dir, system_dirs):
    language = "c" if standard == "c11" else "c++"
    extra = []
    text = (include_dir / header).read_text()
    if re.search(r"#\s*pragma omp|include <omp.h>|_OPENMP", text):
        extra = ["-fopenmp"]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / ("alone.c" if language == "c" else "alone.cpp")
        source.write_text(f"#include <{header}>\n#include <{header}>\ntypedef int not_empty;\n")
        command = [compiler, f"-std={standard}", "-x", language, *FLAGS, *extra, f"-I{include_dir}"]
        command += [argument for d in system_dirs for argument in ("-isystem", d)] + [str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if standard == "c++17" and header.suffix == ".hpp":
        return refusal(compiler, header, done.stderr)
    if done.returncode and "omp.h" in done.stderr and "not found" in done.stderr and extra:
        return f"skipped: {compiler} has no OpenMP runtime for {header} (Debian: libomp-dev)", True
    first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip())
    return (f"{compiler} -std={standard}: {header}: {first}", False) if done.returncode else ("", True)


def refusal(compiler, header, errors):
    """Checks the output of a C++17 compiler for an .hpp: one error that says what to do, and the end of compilation."""
    found = [line for line in errors.splitlines() if "error: " in line]
    if len(found) == 2 and NEEDS_CPP20 in found[0] and "fatal error: " in found[1]:
        return "", True
    return f"{compiler} -std=c++17: {header}: expected `#error \"{NEEDS_CPP20}\"` and no other error, got {found}", False


def main():
    wanted, include_dir, system_dirs = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
    headers = sorted(p.relative_to(include_dir) for p in include_dir.rglob("*") if p.suffix in (".h", ".hpp"))
    chosen = [(c, cxx) for c, cxx in compilers() if c.startswith(wanted)]
    if not chosen:
        print(f"skipped: no {wanted} in PATH (Debian: {'clang-19' if wanted == 'clang' else 'gcc g++'})")
        return SKIPPED
    jobs = []
    for c, cxx in chosen:
        for header in headers:
            if header.suffix == ".h":
                jobs.append((c, "c11", header, include_dir, system_dirs))
            for standard in ("c++17", "c++20"):
                jobs.append((cxx, standard, header, include_dir, system_dirs))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda job: compile_alone(*job), jobs))
    for message in filter(None, (message for message, _ in results)):
        print(message)
    faults = sum(1 for _, good in results if not good)
    print(f"{len(headers)} headers, {len(jobs)} compilations with {' '.join(c for c, _ in chosen)}, {faults} faults")
    if faults or not jobs:
        return 1
    return SKIPPED if any(message for message, _ in results) else 0


if __name__ == "__main__":
    sys.exit(main())
