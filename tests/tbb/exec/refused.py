#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: refused.py COMPILER INCLUDE_DIR PROGRAM [FLAGS...]
       refused.py --mended COMPILER INCLUDE_DIR FOLDER [FLAGS...]

PROGRAM must not compile, and the compiler's output must match the regular expression after `// refused:` in its
second line. A line `// errors: N` limits the number of errors to N, so that the message is not hidden among consequential
errors. Clang may give one more, since it continues with a call after a failed assertion in its constraints.

With --mended all programs of FOLDER are compiled as one, each in a namespace, with MENDED defined. They must compile, which
shows that none has another error.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path


def compile_program(compiler, include_dir, program, *flags):
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", f"-I{include_dir}", *flags, str(program)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def umbrella(programs):
    """One source that includes all programs. Headers come first, since a program is included in a namespace. One that
    specializes a template cannot be."""
    headers, parts = {}, []
    for program in programs:
        text = program.read_text()
        for line in re.findall(r"^#include .*$", text, re.MULTILINE):
            own = re.fullmatch(r'#include "(.*)"', line)
            headers[f'#include "{(program.parent / own.group(1)).resolve()}"' if own else line] = None
        include = f'#include "{program}"'
        parts.append(include if "template <>" in text else f"namespace {program.stem} {{\n{include}\n}}")
    return "\n".join(["#define MENDED", *headers, *parts, ""])


def check_mended(compiler, include_dir, folder, *flags):
    programs = sorted(Path(folder).resolve().glob("*.cpp"))
    if not programs:
        sys.exit(f"{folder}: no programs")
    with tempfile.TemporaryDirectory() as where:
        source = Path(where) / "mended.cpp"
        source.write_text(umbrella(programs))
        mended = compile_program(compiler, include_dir, source, *flags)
    if mended.returncode:
        sys.exit(f"{folder}: the programs do not compile with -DMENDED:\n{mended.stderr}")
    print(f"{len(programs)} programs compile when they are mended")


def check_refused(compiler, include_dir, program, *flags):
    text = Path(program).read_text(encoding="utf-8")
    found = re.search(r"^// refused: (.*)$", text, re.MULTILINE)
    most = re.search(r"^// errors: (\d+)$", text, re.MULTILINE)
    if not found:
        sys.exit(f"{program}: no line `// refused: MESSAGE`")
    if "MENDED" not in text:
        sys.exit(f"{program}: nothing depends on MENDED, so --mended does not show that it has no other error")
    refused = compile_program(compiler, include_dir, program, *flags)
    if refused.returncode == 0:
        sys.exit(f"{program}: compiles")
    # Some compilers break long messages.
    if not re.search(found.group(1), " ".join(refused.stderr.split())):
        sys.exit(f"{program}: the errors do not contain `{found.group(1)}`:\n{refused.stderr}")
    errors = len(re.findall(r"\berror: ", refused.stderr))
    if most and errors > int(most.group(1)) + ("clang" in compiler):
        sys.exit(f"{program}: {errors} errors, more than `// errors:` allows:\n{refused.stderr}")


def main():
    arguments = sys.argv[1:]
    check = check_refused
    if arguments and arguments[0] == "--mended":
        check, arguments = check_mended, arguments[1:]
    if len(arguments) < 3:
        sys.exit(__doc__)
    check(*arguments)


if __name__ == "__main__":
    main()
