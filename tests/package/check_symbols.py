#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check_symbols.py HEADERS_DIR LIBTHENCE_CORE LIBTHENCE

The libraries export what they promise and nothing else:
- every function that a public header declares is in libthence-core with version THENCE_0.1, and nothing else has it;
- whatever else libthence-core exports is a C++ name of ours with version THENCE_PRIVATE;
- libthence exports MPI_ names only, without a version, each of which MPI has as PMPI_ too.
"""

import re
import subprocess
import sys
from pathlib import Path


def exported(library):
    """{name: version} of what the library defines; the names of the version nodes themselves are left out."""
    text = subprocess.check_output(["nm", "-D", "--defined-only", "--with-symbol-versions", library], text=True)
    symbols = {}
    for line in text.splitlines():
        _, kind, name = line.split(maxsplit=2)
        name, _, version = name.replace("@@", "@").partition("@")
        if kind != "A":
            symbols[name] = version
    return symbols


def declared(headers):
    """Linker names of the functions that public headers declare with THENCE_EXPORT."""
    names = set()
    for header in headers:
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)
        renamed = dict(re.findall(r"^#define (MPIX_\w+|\w+) (thence_\w+)$", text, flags=re.MULTILINE))
        for name in re.findall(r"^THENCE_EXPORT\b[^;(]*?(\w+)\s*\(", text, flags=re.MULTILINE):
            names.add(renamed.get(name, name))
    return names


def main():
    headers, core_file, interposing_file = sys.argv[1:4]
    core, interposing = exported(core_file), exported(interposing_file)
    public = declared(sorted(Path(headers).rglob("*.h*")))
    faults = []
    if len(public) < 10:
        faults.append(f"only {len(public)} public functions found in {headers}: is the pattern still right?")
    for name in sorted(public):
        if core.get(name) != "THENCE_0.1":
            faults.append(f"{name} is declared but exported as {core.get(name)!r}; it belongs to THENCE_0.1")
    for name, version in sorted(core.items()):
        if version == "THENCE_0.1" and name not in public:
            faults.append(f"{name} has version THENCE_0.1, but no public header declares it with THENCE_EXPORT")
        elif version != "THENCE_0.1" and not (version == "THENCE_PRIVATE" and "6thence" in name):
            faults.append(f"libthence-core exports {name}@{version}")
    for name, version in sorted(interposing.items()):
        if version or not name.startswith("MPI_"):
            faults.append(f"libthence exports {name}@{version}; it may export plain MPI_ names only")
    if "MPI_Test" not in interposing:
        faults.append("libthence does not interpose MPI_Test")
    print(f"{len(public)} public functions, {len(core)} symbols in libthence-core, {len(interposing)} in libthence")
    for fault in faults:
        print("fault:", fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
