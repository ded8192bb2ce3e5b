#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: doc_programs.py ROOT BUILD_DIR MPICC MPIEXEC

Every whole C program in README.md and docs/ compiles without a warning and runs on two ranks.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

# MPICH declares statuses as arrays, so GCC takes MPI_STATUSES_IGNORE for one that is too short.
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-stringop-overflow"]


def programs(root):
    for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        text = page.read_text()
        for match in re.finditer(r"^```c\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            if "int main(" in match.group(1):
                yield f"{page.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}", match.group(1)


def main():
    root, build, mpicc, mpiexec = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]
    library = [f"-I{root}/include", f"-L{build}/lib", "-lthence", "-lthence-core", f"-Wl,-rpath,{build}/lib"]
    seen = 0
    with tempfile.TemporaryDirectory() as folder:
        for where, text in programs(root):
            seen += 1
            print(where, flush=True)
            source, program = Path(folder) / f"{seen}.c", Path(folder) / str(seen)
            source.write_text(text)
            subprocess.run([mpicc, *FLAGS, str(source), *library, "-o", str(program)], check=True)
            subprocess.run([mpiexec, "-n", "2", str(program)], check=True, timeout=60)
    print(f"{seen} programs")
    return 0 if seen else 1


if __name__ == "__main__":
    sys.exit(main())
