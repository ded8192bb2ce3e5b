#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: refused.py COMPILER INCLUDE_DIR PROGRAM [FLAGS...]

PROGRAM must not compile, and the compiler's output must match the regular expression after `// refused:` in its
second line. With -DMENDED it must compile, which shows that it has no other error. A line `// errors: N` limits the
number of errors to N, so that the message is not hidden among consequential errors. Clang may give one more, since it
continues with a call after a failed assertion in its constraints.
"""

import re
import subprocess
import sys


def compile_program(compiler, include_dir, program, *flags):
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", f"-I{include_dir}", *flags, program]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    compiler, include_dir, program = sys.argv[1:4]
    more = sys.argv[4:]
    with open(program, encoding="utf-8") as source:
        text = source.read()
    found = re.search(r"^// refused: (.*)$", text, re.MULTILINE)
    most = re.search(r"^// errors: (\d+)$", text, re.MULTILINE)
    if not found:
        sys.exit(f"{program}: no line `// refused: MESSAGE`")
    mended = compile_program(compiler, include_dir, program, "-DMENDED", *more)
    if mended.returncode:
        sys.exit(f"{program}: does not compile with -DMENDED:\n{mended.stderr}")
    refused = compile_program(compiler, include_dir, program, *more)
    if refused.returncode == 0:
        sys.exit(f"{program}: compiles")
    # Some compilers break long messages.
    if not re.search(found.group(1), " ".join(refused.stderr.split())):
        sys.exit(f"{program}: the errors do not contain `{found.group(1)}`:\n{refused.stderr}")
    errors = len(re.findall(r"\berror: ", refused.stderr))
    if most and errors > int(most.group(1)) + ("clang" in compiler):
        sys.exit(f"{program}: {errors} errors, more than `// errors:` allows:\n{refused.stderr}")


if __name__ == "__main__":
    main()
