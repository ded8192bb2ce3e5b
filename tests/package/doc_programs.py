#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: doc_programs.py ROOT BUILD_DIR MPICC MPIEXEC [MPIFORT]

Every whole C program in README.md and docs/ compiles without a warning and runs on two ranks; with MPIFORT also every program in
Fortran. The environment variable SUFFIX ends the names of the libraries (THENCE_LIBRARY_SUFFIX).
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# MPICH declares statuses as arrays, so GCC takes MPI_STATUSES_IGNORE for one that is too short.
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow"]


FORTRAN_FLAGS = ["-Wall", "-Werror", "-Wno-unused-dummy-argument"]


def programs(root, language, sign):
    for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        text = page.read_text()
        for match in re.finditer(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            if sign in match.group(1):
                yield f"{page.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}", match.group(1)


def main():
    root, build, mpicc, mpiexec, *mpifort = Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]
    suffix = os.environ.get("SUFFIX", "")
    library = [f"-I{root}/include", f"-L{build}/lib", f"-lthence{suffix}", f"-lthence-core{suffix}", f"-Wl,-rpath,{build}/lib"]
    compilers = [("c", "int main(", [mpicc, *FLAGS], library)]
    if mpifort:
        linked = [f"-lthence-fortran{suffix}", "-Wl,--no-as-needed", *library[1:]]
        compile_fortran = [*mpifort, *FORTRAN_FLAGS, f"-I{build}/modules", f"-L{build}/lib"]
        compilers.append(("fortran", "end program", compile_fortran, linked))
    missing = 0
    with tempfile.TemporaryDirectory() as folder:
        for language, sign, compiler, libraries in compilers:
            seen = 0
            for where, text in programs(root, language, sign):
                seen += 1
                print(where, flush=True)
                source = Path(folder) / f"{seen}.{'c' if language == 'c' else 'f90'}"
                program = Path(folder) / str(seen)
                source.write_text(text)
                subprocess.run([*compiler, str(source), *libraries, "-o", str(program)], check=True, cwd=folder)
                subprocess.run([mpiexec, "-n", "2", str(program)], check=True, timeout=60)
            print(f"{seen} programs in {language}")
            missing += seen == 0
    return missing


if __name__ == "__main__":
    sys.exit(main())
