#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check_library_names.py HEADER LIBRARY

A library besides the core (libthence-senders, libthence-pools, libthence-tasks) exports what its HEADER declares in the
namespace that has the library's name, and no other C++ name. A shared object that hides its symbols finds all of it there, and a linker that
misses a name tells which library to link.
"""

import re
import subprocess
import sys
from pathlib import Path


def declared(text):
    """(namespace, names of the functions and variables declared in it)."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    space, body = re.search(r"^namespace (thence::libthence_\w+) \{\n(.*?)^\} // *", text + "} // ",
                            flags=re.MULTILINE | re.DOTALL).groups()
    body = re.sub(r"^struct \w+ \{.*?^\};", "", body, flags=re.MULTILINE | re.DOTALL)
    names = set(re.findall(r"^[\w:][\w:<>*& ]*?[ *&](\w+)\(", body, flags=re.MULTILINE))
    names |= set(re.findall(r"^extern [^;(]*?(\w+)(?: \[\[[^;]*\]\])?;", body, flags=re.MULTILINE))
    return space, names


def exported(library):
    """Demangled names of what the library defines, without arguments and without the version nodes."""
    text = subprocess.check_output(["nm", "-DC", "--defined-only", library], text=True)
    found = (line.split(maxsplit=2)[1:] for line in text.splitlines())
    return {re.sub(r"\(.*", "", name.partition("@")[0]) for kind, name in found if kind != "A"}


def main():
    header, library = sys.argv[1:3]
    space, names = declared(re.sub(r"\} // namespace[^\n]*", "} //", Path(header).read_text()))
    promised = {f"{space}::{name}" for name in names}
    found = {name for name in exported(library) if "::" in name}  # check_symbols.py knows the C names
    for name in sorted(promised - found):
        print(f"fault: {header} declares {name}, which {library} does not export")
    for name in sorted(found - promised):
        print(f"fault: {library} exports {name}, which {header} does not declare")
    print(f"{len(promised)} names in {space}, {len(found)} symbols in {Path(library).name}")
    return 1 if promised != found or not promised else 0


if __name__ == "__main__":
    sys.exit(main())
