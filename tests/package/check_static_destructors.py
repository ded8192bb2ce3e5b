#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check_static_destructors.py OBJECTS_DIR

No static object of the libraries has a destructor. It would run in exit(), when the helper thread and threads of the program
may still use the object: a process may exit without MPI_Finalize. Write `type &name = *new type;` in its place, and why.

The compiler registers such a destructor by __cxa_atexit, which is then an undefined symbol of the object file.
"""

import subprocess
import sys
from pathlib import Path

def registering(objects):
    """Those that register a destructor."""
    text = subprocess.check_output(["nm", "-A", "--undefined-only", *map(str, objects)], text=True)
    if not text:
        sys.exit("nm finds no symbols: the objects are not those of the compiler, such as with -flto")
    return {Path(line.split(":")[0]) for line in text.splitlines() if line.endswith(" __cxa_atexit")}


def main(folder):
    objects = [path for path in sorted(folder.rglob("*.o")) if ".dir/" in path.as_posix()]
    if not objects:
        sys.exit(f"{folder} has no object files")
    found = sorted(registering(objects))
    for path in found:
        source = path.as_posix().split(".dir/", 1)[-1].removesuffix(".o")
        print(f"src/{source}: a static object has a destructor, which runs in exit() beside the helper thread")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
