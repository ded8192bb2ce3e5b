#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check_includes.py ROOT

Checks that includes and calls go to lower layers, by the tables of layers.py. src/ and include/thence/ have doors, and a
door has rooms. A door may include itself and lower doors, but no higher door and no neighbour; inside a door the same
holds for rooms. Files and folders must not include each other in a cycle. A room of src/ must not use names that only a
higher room or a neighbour defines: neither its namespace nor, below src/core/api, the C API. Only src/core/mpi calls MPI,
and src/interpose/calls forwards calls to it. Code that uses the library (apps,
bench, bindings, examples, tools) may include only public headers.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from layers import (ALSO_CLASSES, C_API_CALLERS, C_API_FILE, C_API_ROOM, DOORS, HEADER_DOORS, HEADER_ROOMS, NAMESPACES,  # noqa: E402
                    RESERVED_NAMES, SRC_ONLY, SRC_OVER_PUBLIC_HEADERS, heights)
from sources import CODE, files, without_comments  # noqa: E402

ABOVE_THE_LIBRARY = ("apps", "bench", "bindings", "examples", "tools")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
PUBLIC = Path("include/thence")
SRC_HEIGHT = heights(DOORS)
HEADER_HEIGHT = heights(HEADER_DOORS)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def room_of_source(path):
    """DOOR/ROOM, or DOOR for a file in the door's own folder."""
    return "/".join(path.parts[1:-1])


def door_of(room):
    return room.split("/")[0]


def namespace_of(room):
    return NAMESPACES.get(room, room.split("/")[-1])


def is_above(room, other):
    """True if `room` of src/ must not know `other`: it is higher or a neighbour."""
    if door_of(room) != door_of(other):
        return SRC_HEIGHT[other][0] >= SRC_HEIGHT[room][0]
    return other != room and SRC_HEIGHT[other][1] >= SRC_HEIGHT[room][1]


def room_of_header(path):
    """The room of a header; None if the tables do not have it."""
    room = HEADER_ROOMS.get(path.relative_to(PUBLIC).parts[0])
    return room if room in HEADER_HEIGHT else None


def upwards(prefix, room, other, height):
    """Yields a message if `room` must not include `other`. `height`: of the rooms, or of doors."""
    if height.get(other, len(height)) > height[room]:
        yield f"{prefix}{room} includes {prefix}{other}, which lies above it"
    elif other != room and height[other] == height[room]:
        yield f"{prefix}{room} includes its neighbour {prefix}{other}"


def upwards_by_door(prefix, room, other, heights_of_rooms):
    """The same: doors first, then the rooms inside a door."""
    if other not in heights_of_rooms:
        return
    if door_of(room) != door_of(other):
        doors = {door_of(r): height for r, (height, _) in heights_of_rooms.items()}
        yield from upwards(prefix, door_of(room), door_of(other), doors)
    else:
        inside = {r: height for r, (_, height) in heights_of_rooms.items() if door_of(r) == door_of(room)}
        yield from upwards(prefix, room, other, inside)


def check_include_of_source(root, path, match, graph):
    room = room_of_source(path)
    name = match.group(2)
    target = Path("src") / name
    if not (root / target).exists():
        target = path.parent / name
    if not (root / target).exists() or ".." in Path(name).parts:
        yield f'"{name}" is no file of src/; write it as "door/room/file.h"'
        return
    graph.setdefault(path, []).append(target)
    other = room_of_source(target)
    if other != room and SRC_OVER_PUBLIC_HEADERS & {room, other} and other not in SRC_ONLY.get(room, ()):
        yield f"src/{room} includes src/{other}: the core and a separate library may include only public headers of each other"
    elif other != room and other not in SRC_ONLY.get(room, {other}):
        yield f"src/{room} includes src/{other}: it may include only {', '.join(sorted(SRC_ONLY[room]))}"
    else:
        yield from upwards_by_door("src/", room, other, SRC_HEIGHT)


def check_source(root, path, text, graph, c_api):
    room = room_of_source(path)
    if room not in SRC_HEIGHT:
        yield f"{path}:1: folder src/{room} is missing in the layers of tests/lint/layers.py"
        return
    for match in INCLUDE.finditer(text):
        if match.group(1) == '"' and not match.group(2).startswith("thence/"):
            where = f"{path}:{line_of(text, match.start())}"
            yield from (f"{where}: {fault}" for fault in check_include_of_source(root, path, match, graph))
    yield from check_names(path, text, room, c_api)


def check_names(path, text, room, c_api):
    """Yields a message for each use of a name that the room must not use."""
    def namespaces(unknown):
        """Those of rooms that are unknown, but none that a known room has too."""
        known = {namespace_of(other) for other in SRC_HEIGHT if other not in unknown}
        own_classes = {name for name, doors in ALSO_CLASSES.items() if door_of(room) in doors}
        return sorted({namespace_of(other) for other in unknown} - known - own_classes)

    above = namespaces({other for other in SRC_HEIGHT if other != room and is_above(room, other)})
    unknown = namespaces({other for other in SRC_HEIGHT if other != room and other not in SRC_ONLY.get(room, {other})})
    rules = [(pattern, why) for pattern, rooms, why in RESERVED_NAMES if room not in rooms]
    if above:
        # `continuation::`, `namespace thence::continuation {` or `using namespace thence::continuation;`, but not a
        # variable of that name.
        rooms = "|".join(above)
        rules.append((re.compile(rf"(?<![\w.>])(?:{rooms})(?:::(?=\w)|(?=\s*\{{))|"
                                 rf"(?<=namespace thence::)(?:{rooms})(?=\s*;)"),
                      f"of a room that src/{room} must not know"))
    if unknown:
        alone = "|".join(name for name in unknown if name not in ALSO_CLASSES)
        rules.append((re.compile(rf"(?<=\bthence::)(?:{'|'.join(unknown)})\b|(?<![\w.>:])(?:{alone})(?=::\w)"),
                      f"of a room that src/{room} must not know"))
    if c_api and room not in C_API_CALLERS and not C_API_FILE.search(path.stem):
        rules.append((re.compile(rf"\b(?:{'|'.join(sorted(c_api))})\b(?=\s*\()"),
                      f"is the C API, which src/{C_API_ROOM} defines, above src/{room}"))
    for pattern, why in rules:
        for match in pattern.finditer(text):
            dots = "...)" if match.group(0).endswith("(") else ""
            yield f"{path}:{line_of(text, match.start())}: {match.group(0)}{dots} {why}"


def check_header(root, path, text, graph):
    """Checks a public header: it may include only public headers of its own and of lower rooms."""
    room = room_of_header(path)
    if room is None:
        yield f"{path}:1: this header is missing in the layers of tests/lint/layers.py"
        return
    for match in INCLUDE.finditer(text):
        where = f"{path}:{line_of(text, match.start())}"
        target = Path("include") / match.group(2)
        if not match.group(2).startswith("thence/") or match.group(1) == '"':
            continue
        if not (root / target).exists():
            yield f"{where}: <{match.group(2)}> does not exist"
            continue
        graph.setdefault(path, []).append(target)
        other = room_of_header(target)
        if other is not None:  # otherwise that header has its own fault
            yield from (f"{where}: {fault}" for fault in upwards_by_door("thence: ", room, other, HEADER_HEIGHT))


def check_outside(root, path, text):
    """Checks public headers and their users: they may include <thence/...>, their own files and other libraries."""
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


def cycles(graph):
    """Yields one message per cycle of includes."""
    state, stack = {}, []

    def visit(node):
        state[node] = "open"
        stack.append(node)
        for target in graph.get(node, []):
            if state.get(target) == "open":
                yield "cycle: " + " -> ".join(str(p) for p in stack[stack.index(target):] + [target])
            elif target not in state:
                yield from visit(target)
        stack.pop()
        state[node] = "done"

    for node in sorted(graph):
        if node not in state:
            yield from visit(node)


def folders(graph):
    """The same between folders. `detail` is a part of the folder above it, a header beside the folders stands alone."""
    def folder(path):
        inside = path.relative_to(PUBLIC).parts if PUBLIC in path.parents else None
        if inside is None:
            return path.parent
        return PUBLIC / inside[0]

    found = {}
    for path, targets in graph.items():
        for target in targets:
            if folder(path) != folder(target):
                found.setdefault(folder(path), set()).add(folder(target))
    return {source: sorted(targets) for source, targets in found.items()}


def c_api_names(root):
    """The functions that the C headers declare."""
    names = set()
    for header in sorted((root / PUBLIC).glob("*.h")):
        text = without_comments(header.read_text(errors="replace"))
        declaration = r"^(?!static\b)(?!\s)[\w *]*?\b((?:thence|MPIX)_\w+)\s*\([^{;]*\)\s*;"
        names |= set(re.findall(declaration, text, re.MULTILINE))
    return names


def check(root):
    root = Path(root)
    faults, graph, seen = [], {}, 0
    c_api = c_api_names(root)
    for path in files(root):
        if path.suffix not in CODE or len(path.parts) < 2:
            continue
        top = path.parts[0]
        if top not in ("src", "include") + ABOVE_THE_LIBRARY:
            continue
        text = without_comments((root / path).read_text(errors="replace"))
        seen += 1
        if top == "src" and len(path.parts) > 2:
            faults += check_source(root, path, text, graph, c_api)
        elif top != "src":
            faults += check_outside(root, path, text)
        if PUBLIC in path.parents:
            faults += check_header(root, path, text, graph)
    faults += cycles(graph)
    return faults or list(cycles(folders(graph))), seen  # a cycle of files is reported once


def main():
    faults, seen = check(sys.argv[1])
    for fault in faults:
        print(fault)
    print(f"{seen} files, {len(faults)} faults")
    return 1 if faults or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
