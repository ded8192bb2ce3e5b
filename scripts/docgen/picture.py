# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of docs/architecture.md. Their rows come from tests/lint/layers.py, their texts from the tables of that
page: a room that one of the two lacks is a fault."""

import html
import importlib.util
import re
from pathlib import Path

from docgen import pauses

WIDTH, MARGIN, GAP, PADDING = 760, 12, 8, 10
TITLES = 145  # width of the column of titles, where a layer has one room
LINE, TITLE = 17, 20  # height of a line of text and of a title
DOOR = 32  # height of the title of a door
CHARACTER = 6.9  # about the width of a character of the text
STYLE = """
.thence-rooms { font-family: system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; font-size: 13px; }
.thence-rooms .ground { fill: #ffffff; } .thence-rooms .box { fill: #eef4fb; stroke: #9db7d3; }
.thence-rooms .public { fill: #f3f8ec; stroke: #a9c48b; } .thence-rooms .program { fill: #f6f2fb; stroke: #bba9d6; }
.thence-rooms .frame { fill: none; stroke: #5b6672; } .thence-rooms .door { font-size: 15px; font-weight: 700; }
.thence-rooms text { fill: #1f2630; } .thence-rooms .quiet { fill: #5b6672; }
.thence-rooms .room { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-weight: 600; }
.thence-rooms .arrow { stroke: #5b6672; fill: none; }
@media (prefers-color-scheme: dark) {
.thence-rooms .ground { fill: #14181d; } .thence-rooms .box { fill: #1b2a3a; stroke: #3f6286; }
.thence-rooms .public { fill: #202b1a; stroke: #587540; } .thence-rooms .program { fill: #292236; stroke: #6c5a8c; }
.thence-rooms text { fill: #dce2e8; } .thence-rooms .quiet { fill: #9aa6b2; } .thence-rooms .arrow { stroke: #9aa6b2; }
}
"""


def layers_of(root):
    spec = importlib.util.spec_from_file_location("layers", Path(root) / "tests/lint/layers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table(text, heading, prefix):
    """[(room, what it does, third column)] of the table in the section `heading` whose first cells begin with `prefix`."""
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith(f"| `{prefix}")]
    return [(row[0].strip("`").removeprefix(prefix), row[1].replace("`", ""), row[2].replace("`", "")) for row in rows]


def existing_rooms(root, layers):
    """The rooms of src/ and of include/thence/ that there are, highest first: two lists of rows."""
    headers = Path(root) / "include/thence"
    def in_headers(room):
        return any((headers / name).exists() for name, of in layers.HEADER_ROOMS.items() if of == room)
    def in_src(room): # a door is a room too, if it has files of its own
        return any(path.suffix in (".cpp", ".hpp") for path in (Path(root) / "src" / room).glob("*"))
    def rows(doors, exists):
        found = [[room for room in layer if exists(room)] for layer in reversed(layers.rooms(doors))]
        return [row for row in found if row]
    return rows(layers.DOORS, in_src), rows(layers.HEADER_DOORS, in_headers)


def faults(rows, texts, name):
    """Yields rooms without a text, texts without a room, and rows of the table that are not in the order of the layers."""
    listed, height = [room for room, _, _ in texts], {room: n for n, row in enumerate(rows) for room in row}
    yield from (f"docs/architecture.md: {name} has no row for {room}" for row in rows for room in row if room not in listed)
    yield from (f"docs/architecture.md: {name} has a row for {room}, which does not exist" for room in listed if room not in height)
    order = [height[room] for room in listed if room in height]
    if order != sorted(order):
        yield f"docs/architecture.md: the rows of {name} are not in the order of tests/lint/layers.py"


def wrap(text, width):
    lines, most = [""], int(width / CHARACTER)
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > most:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


class Drawing:
    def __init__(self, label):
        self.label, self.parts, self.y, self.first = label, [], MARGIN, True

    def row(self, boxes, left=MARGIN, right=WIDTH - MARGIN, arrow=True):
        """One layer: boxes beside each other. `boxes`: (title, text, note, class). Without `arrow` they are neighbours of
        those above."""
        width = (right - left - (len(boxes) - 1) * GAP) / len(boxes)
        one_line = len(boxes) == 1 and width > WIDTH / 2  # the title stands before the text
        lines = [wrap(text, width - 2 * PADDING - (TITLES + CHARACTER * (len(note) + 2) if one_line else 0))
                 for _, text, note, _ in boxes]
        notes = any(note for _, _, note, _ in boxes) and not one_line
        height = 2 * PADDING - 4 + (max(len(lines[0]) * LINE, TITLE) if one_line else
                                    TITLE + LINE * (max(map(len, lines)) + notes))
        if not self.first and arrow:
            self.arrow((left + right) / 2)
        elif not self.first:
            self.y += GAP
        self.first = False
        for n, (title, _, note, kind) in enumerate(boxes):
            x = left + n * (width + GAP)
            self.parts.append(f'<rect class="{kind}" x="{x:.1f}" y="{self.y}" width="{width:.1f}" height="{height}" rx="6"/>')
            x, y = x + PADDING, self.y + PADDING + 10
            self.text(x, y, title, "room")
            below = [(x + TITLES, y + i * LINE, line) for i, line in enumerate(lines[n])] if one_line else [
                (x, y + TITLE + i * LINE, line) for i, line in enumerate(lines[n])]
            for at in below:
                self.text(*at)
            if note and one_line:
                self.text(right - PADDING, y, note, "quiet", "end")
            elif note:
                self.text(x, self.y + height - PADDING, note, "quiet")
        self.y += height

    def doors(self, doors, arrow=True):
        """Doors beside each other. `doors`: (name, rows), a row is boxes that row() draws inside a frame. Without `arrow` they
        are neighbours of those above."""
        if not self.first and arrow:
            self.arrow(WIDTH / 2)
        elif not self.first:
            self.y += GAP
        width = (WIDTH - 2 * MARGIN - (len(doors) - 1) * GAP) / len(doors)
        top, bottom = self.y, self.y
        frames = len(self.parts)
        for n, (name, rows) in enumerate(doors):
            left = MARGIN + n * (width + GAP)
            self.y, self.first = top + DOOR, True
            self.text(left + PADDING, top + 20, name, "door")
            for boxes in rows:
                most = max(1, int(width / 160)) # beside each other
                for at in range(0, len(boxes), most):
                    self.row(boxes[at:at + most], left + PADDING, left + width - PADDING, arrow=at == 0)
            bottom = max(bottom, self.y + PADDING)
        for n in range(len(doors)):
            self.parts.insert(frames, f'<rect class="frame" x="{MARGIN + n * (width + GAP):.1f}" y="{top}" width="{width:.1f}" '
                                      f'height="{bottom - top}" rx="10"/>')
        self.y, self.first = bottom, False

    def arrow(self, middle):
        self.parts.append(f'<path class="arrow" d="M{middle} {self.y + 2} v14 m-4 -5 l4 5 l4 -5"/>')
        self.y += 18

    def text(self, x, y, text, kind="", anchor=""):
        attributes = (f' class="{kind}"' if kind else "") + (f' text-anchor="{anchor}"' if anchor else "")
        self.parts.append(f'<text x="{x:.1f}" y="{y}"{attributes}>{html.escape(text)}</text>')

    def svg(self):
        height = self.y + MARGIN
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" class="thence-rooms" viewBox="0 0 {WIDTH} {height}" role="img" '
            f'aria-label="{html.escape(self.label)}">', f"<style>{STYLE}</style>",
            f'<rect class="ground" width="{WIDTH}" height="{height}"/>', *self.parts, "</svg>", ""])


def inside_door(room):
    """The name of a room in the frame of its door."""
    return room.split("/")[-1] if "/" in room else "its own files"


def pictures(root):
    """({path: SVG}, faults)"""
    root = Path(root)
    page = (root / "docs/architecture.md").read_text()
    src, headers = existing_rooms(root, layers_of(root))
    rooms, header_rooms = table(page, "The doors and their rooms", "src/"), table(page, "The public headers", "")
    found = [*faults(src, rooms, "the table of rooms"), *faults(headers, header_rooms, "the table of headers")]
    drawn = {}
    layers = layers_of(root)
    for name, label, rows, texts, doors, prefix, kind in (
            ("rooms", "The doors of src/ with their rooms, the highest first", src, rooms, layers.DOORS, "src/", "box"),
            ("headers", "The doors of include/thence/ with their rooms, the highest first", headers, header_rooms,
             layers.HEADER_DOORS, "", "public")):
        drawing = Drawing(label)
        drawing.row([("programs", "apps/, bench/, examples/, tools/, and yours: only the public headers", "", "program")])
        if prefix:
            drawing.row([("include/thence", "the public surface; any room of src/ may include it too", "", "public")])
        order = {room: n for n, (room, _, _) in enumerate(texts)}
        of = {room: rest for room, *rest in texts}
        def boxes(row):
            for room in sorted(row, key=lambda room: order.get(room, 0)):
                does, note = of.get(room, ("", ""))
                yield inside_door(room), does, note if prefix else "", kind # the names of headers are too long for a box
        def drawn_rows(door):
            return [list(boxes(row)) for row in rows if row[0].split("/")[0] == door]
        for line in reversed(doors):
            there = [door for door in reversed(line) if drawn_rows(door)]
            for at in range(0, len(there), 3):
                drawing.doors([(f"{prefix}{door}", drawn_rows(door)) for door in there[at:at + 3]], arrow=at == 0)
        drawn[f"docs/images/{name}.svg"] = drawing.svg()
    drawn["docs/images/helper_pauses.svg"] = pauses.draw(root)
    return drawn, found


def stale(root):
    """Yields the faults of the tables, and the pictures that are not what the tables give."""
    drawn, found = pictures(root)
    yield from found
    for name, text in drawn.items():
        path = Path(root) / name
        if not path.exists() or path.read_text() != text:
            yield f"{name} is not what the tables give: scripts/make_docs.py --pictures draws it"
