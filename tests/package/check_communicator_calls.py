#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check_communicator_calls.py TABLE PAGE LIBTHENCE COMPILER...
       check_communicator_calls.py --write TABLE PAGE

TABLE (communicator_calls.txt) says of each function of MPI with an argument of type MPI_Comm what happens to it on a thread
communicator. This checks that
- each such function that the MPI's mpi.h declares, as COMPILER -E finds it, is in TABLE, once;
- of those, libthence exports the ones that TABLE calls intercepted, counted or refused, and no others;
- PAGE, for users, has the same table. --write writes it there.
"""

import re
import subprocess
import sys
from pathlib import Path

HEADS = {"intercepted": "Thence does it", "counted": "MPI does it, Thence counts it", "passed": "MPI does it", "refused": "`MPI_ERR_COMM`"}


def read_table(text):
    """{section: [names]}"""
    text = re.sub(r"#.*", "", text)
    parts = re.split(r"^\[(\w+)\]\s*$", text, flags=re.MULTILINE)
    return {name: names.split() for name, names in zip(parts[1::2], parts[2::2])}


def without_c(name):
    return re.sub(r"_c$", "", name)


def declared(preprocessed):
    """Names of the functions MPI_X with a parameter of type MPI_Comm, among them those with large counts."""
    text = re.sub(r"^#.*$", "", preprocessed, flags=re.MULTILINE)
    found = set()
    for name, parameters in re.findall(r"\b(MPI_\w+)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)[^;{}]*;", text):
        if re.search(r"\bMPI_Comm\b", parameters) and not name.endswith(("_function", "_fn", "_FN")):
            found.add(name)
    return found


def rows(table):
    return [f"| {HEADS[section]} | " + ", ".join(f"`{name.removeprefix('MPI_')}`" for name in sorted(names)) + " |"
            for section, names in table.items()]


def table_faults(table, declares, exports, page):
    section_of = {}
    for section, names in table.items():
        for name in names:
            if name in section_of:
                yield f"the table has {name} twice"
            section_of[name] = section
    for name in sorted(declares):
        section = section_of.get(without_c(name))
        if section is None:
            yield f"mpi.h declares {name}, which the table does not have"
        elif (name in exports) != (section != "passed"):
            yield f"the table says that {name} is {section}, but libthence {'exports' if name in exports else 'does not export'} it"
    for row in rows(table):
        if row not in page:
            yield f"the page lacks the row {row[:60]}...; write it with --write"


def write(table, page):
    lines = page.read_text().splitlines()
    for row in rows(table):
        head = row[:row.index("|", 1)]
        lines = [row if line.startswith(head) else line for line in lines]
    page.write_text("\n".join(lines) + "\n")


def main():
    if sys.argv[1:2] == ["--write"]:
        write(read_table(Path(sys.argv[2]).read_text()), Path(sys.argv[3]))
        return 0
    table, page, library, *compiler = sys.argv[1:]
    source = subprocess.run([*compiler, "-E", "-x", "c", "-"], input="#include <mpi.h>\n", text=True, check=True,
                            stdout=subprocess.PIPE).stdout
    symbols = subprocess.check_output(["nm", "-D", "--defined-only", library], text=True)
    exports = {line.split()[-1] for line in symbols.splitlines()}
    declares = declared(source)
    faults = list(table_faults(read_table(Path(table).read_text()), declares, exports, Path(page).read_text().splitlines()))
    if len(declares) < 100:
        faults.append(f"only {len(declares)} functions with a communicator found in mpi.h")
    print(*faults, f"{len(declares)} functions with a communicator", sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
