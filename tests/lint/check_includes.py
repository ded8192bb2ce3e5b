#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check_includes.py ROOT

Includes point downwards. In src/ a folder includes itself and lower layers, never a higher one and never a neighbour;
no two files include each other in a circle; only src/mpi calls MPI, and src/pmpi passes calls on to it. Public headers and everything that is built on the
library (apps, bench, examples, tools) know the public headers alone.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from sources import CODE, files, without_comments  # noqa: E402

# Lowest first; folders of one line are neighbours. A new folder gets its place here.
LAYERS = [
    {"base"},
    {"mpi"},
    {"engine"},
    {"progress"},
    {"continuation", "rma", "stream", "threadcomm", "datatype"},
    {"c_api", "pmpi", "diagnose"},
]
HEIGHT = {folder: height for height, layer in enumerate(LAYERS) for folder in layer}
ABOVE_THE_LIBRARY = ("apps", "bench", "examples", "tools")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
# src/pmpi stands in front of MPI: it defines MPI_ names and passes calls on under their PMPI_ names.
MAY_CALL_MPI = {"mpi", "pmpi"}
MPI_CALL = re.compile(r"\bP?MPI_[A-Z][a-z]\w*\s*\(")


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def check_source(root, path, text, graph):
    folder = path.parts[1]
    if folder not in HEIGHT:
        yield f"{path}:1: folder src/{folder} has no place among the layers of tests/lint/check_includes.py"
        return
    for match in INCLUDE.finditer(text):
        quote, name = match.groups()
        where = f"{path}:{line_of(text, match.start())}"
        if quote == "<" or name.startswith("thence/"):
            continue
        target = Path("src") / name
        if not (root / target).exists():
            target = path.parent / name
        if not (root / target).exists() or ".." in Path(name).parts:
            yield f'{where}: "{name}" is no file of src/; write it as "folder/file.h"'
            continue
        graph.setdefault(path, []).append(target)
        other = target.parts[1]
        if other == folder:
            continue
        if HEIGHT.get(other, len(LAYERS)) > HEIGHT[folder]:
            yield f"{where}: src/{folder} includes src/{other}, which lies above it"
        elif HEIGHT[other] == HEIGHT[folder]:
            yield f"{where}: src/{folder} includes its neighbour src/{other}"
    for match in MPI_CALL.finditer(text) if folder not in MAY_CALL_MPI else ():
        yield f"{path}:{line_of(text, match.start())}: {match.group(0)}...) outside src/mpi: go through its call table"


def check_outside(root, path, text):
    """Public headers, and what is built on them: nothing but <thence/...>, their own files and other libraries."""
    for match in INCLUDE.finditer(text):
        quote, name = match.groups()
        where = f"{path}:{line_of(text, match.start())}"
        if (root / "src" / name).exists() or "src" in Path(name).parts:
            yield f"{where}: includes {name} from src/; only public headers <thence/...> may be used here"
        elif quote == '"' and path.parts[0] == "include":
            yield f'{where}: a public header includes "{name}"; write <thence/...>'
        elif quote == '"':
            beside = (root / path.parent / name).resolve()
            own = (root / path.parts[0]).resolve()
            if beside.exists() and own not in beside.parents:
                yield f'{where}: "{name}" lies outside {path.parts[0]}/'
            elif name.startswith("thence/"):
                yield f"{where}: write <{name}>"


def circles(graph):
    """One message per circle of includes."""
    state, stack = {}, []

    def visit(node):
        state[node] = "open"
        stack.append(node)
        for target in graph.get(node, []):
            if state.get(target) == "open":
                yield "circle: " + " -> ".join(str(p) for p in stack[stack.index(target):] + [target])
            elif target not in state:
                yield from visit(target)
        stack.pop()
        state[node] = "done"

    for node in sorted(graph):
        if node not in state:
            yield from visit(node)


def check(root):
    root = Path(root)
    faults, graph, seen = [], {}, 0
    for path in files(root):
        if path.suffix not in CODE or len(path.parts) < 2:
            continue
        top = path.parts[0]
        if top not in ("src", "include") + ABOVE_THE_LIBRARY:
            continue
        text = without_comments((root / path).read_text(errors="replace"))
        seen += 1
        if top == "src" and len(path.parts) > 2:
            faults += check_source(root, path, text, graph)
        elif top != "src":
            faults += check_outside(root, path, text)
    faults += circles(graph)
    return faults, seen


def main():
    faults, seen = check(sys.argv[1])
    for fault in faults:
        print(fault)
    print(f"{seen} files, {len(faults)} faults")
    return 1 if faults or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
