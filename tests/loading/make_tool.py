# SPDX-License-Identifier: BSD-3-Clause
"""usage: make_tool.py LIBTHENCE OUTPUT.c

Writes a tool that wraps every call of MPI that libthence interposes, and goes on to the next definition. A jump keeps all
arguments, so no signatures are needed; x86-64 only."""

import re
import subprocess
import sys

CALL = """\
static void *next_{name} __attribute__((used));
__asm__(".globl {name}\\n.type {name}, @function\\n{name}: jmp *next_{name}(%rip)\\n");
"""


def main():
    library, output = sys.argv[1:]
    listed = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    names = sorted(set(re.findall(r" T (MPI_\w+)", listed)))
    assert len(names) > 150, names
    with open(output, "w", encoding="utf-8") as to:
        to.write("#define _GNU_SOURCE\n#include <dlfcn.h>\n\n")
        to.writelines(CALL.format(name=name) for name in names)
        to.write("\n__attribute__((constructor)) static void look_up(void) {\n")
        to.writelines(f'    next_{name} = dlsym(RTLD_NEXT, "{name}");\n' for name in names)
        to.write("}\n")


main()
