#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check_app_pages.py ROOT

Checks the pages of applications, docs/guide/app-*.md, against the sources:

- Each number in a table `variant | file | lines` is that of the files in its row, without blank lines and comments. Several
  files are summed. Of a file that is followed by functions, such as `a.cpp` `f()` `g()`, only these count.
- Each C++ block is from one of these files. White space may differ, all comments may be left out, and `...` stands for other
  parts that are left out. What remains stands in the file in that order.

File names are relative to the first folder of applications that the page links to.
"""

import difflib
import re
import sys
from pathlib import Path

FOLDER = re.compile(r"\[(apps/[\w/]+)\]")
ROW = re.compile(r"^\|[^|]*\|([^|]*)\|\s*(\d+)\s*\|$")
HEAD = re.compile(r"^\|\s*variant\s*\|\s*file\s*\|\s*lines\s*\|$")
NAME = re.compile(r"`([\w./]+\.[ch]pp)`|`(\w+)\(\)`")
FENCE = re.compile(r"^(\s*)```(.*)$")
LITERAL_OR_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)\')|//[^\n]*|/\*.*?\*/', re.DOTALL)
CODE_END = re.compile(r"[;{}]\s*$", re.MULTILINE)


def without_comments(text):
    """The text with comments as blanks, so that lines keep their numbers."""
    return LITERAL_OR_COMMENT.sub(lambda m: m.group(1) or re.sub(r"[^\n]", " ", m.group(0)), text)


def normal(text):
    """The text without white space and continued lines; words that follow each other keep a blank."""
    out = ""
    for match in re.finditer(r"\w+|\S", re.sub(r"\\$", " ", text, flags=re.MULTILINE)):
        if out and re.match(r"\w\w", out[-1:] + match[0]):
            out += " "
        out += match[0]
    return out


def function(code, name):
    """The definition of a function that begins in the first column; an empty text if there is none."""
    found = re.search(rf"^[^\s#}}][^\n;]*\b{name}\([^;{{]*\{{.*?^\}}", code, re.MULTILINE | re.DOTALL)
    return found[0] if found else ""


def count(text):
    return sum(1 for line in text.splitlines() if line.strip())


class Page:
    def __init__(self, root, path):
        self.root, self.name = root, path.relative_to(root).as_posix()
        self.lines = path.read_text().splitlines()
        folder = FOLDER.search("\n".join(self.lines))
        self.folder = folder.group(1) if folder else None
        self.sources = {}  # name in the table -> text
        self.rows = self.blocks = 0

    def fault(self, line, text):
        return f"{self.name}:{line}: {text}"

    def check(self):
        if self.folder is None:
            yield self.fault(1, "no link to the folder of the application, such as [apps/heat](../../apps/heat/README.md)")
            return
        yield from self.check_tables()
        if not self.rows:
            yield self.fault(1, "no table with the head | variant | file | lines |")
        yield from self.check_blocks()
        if not self.blocks:
            yield self.fault(1, "no C++ block: the lines that differ between the variants")

    def check_tables(self):
        inside = False
        for number, line in enumerate(self.lines, 1):
            inside = bool(HEAD.match(line)) or inside and line.startswith("|")
            row = ROW.match(line) if inside else None
            if row:
                self.rows += 1
                yield from self.check_row(number, row.group(1), int(row.group(2)))
            elif inside and not HEAD.match(line) and not re.fullmatch(r"[|\s:-]+", line):
                yield self.fault(number, f"expected | variant | file | number of lines |, found {line}")

    def check_row(self, number, cell, stated):
        named, sizes = [], []  # named: [file, functions of it that count, or none if all of it does]
        for file, name in NAME.findall(cell):
            if file:
                named.append([file, []])
            elif named:
                named[-1][1].append(name)
        if not named:
            yield self.fault(number, f"no source file in the column `file`: {cell.strip()}")
            return
        for file, functions in named:
            path = self.root / self.folder / file
            if not path.is_file():
                yield self.fault(number, f"there is no {self.folder}/{file}")
                return
            self.sources[file] = path.read_text()
            code = without_comments(self.sources[file])
            missing = [name for name in functions if not function(code, name)]
            if missing:
                yield self.fault(number, f"{self.folder}/{file} has no function {missing[0]}() that begins in the first column")
                return
            sizes.append(sum(count(function(code, name)) for name in functions) if functions else count(code))
        if sum(sizes) != stated:
            what = ", ".join(" ".join([file, *(f"{name}()" for name in functions)]) for file, functions in named)
            sum_of = f" ({' + '.join(map(str, sizes))})" if len(sizes) > 1 else ""
            yield self.fault(number, f"{what}: expected {sum(sizes)} lines{sum_of}, the page says {stated}")

    def check_blocks(self):
        """Blocks of C++ are fenced and say so; others, such as commands, must not look like it."""
        opened = None  # (line, what stands after the backticks, width of the indent)
        block, indented = [], []
        for number, line in enumerate([*self.lines, ""], 1):
            fence = FENCE.match(line)
            if fence and opened:
                if opened[1] == "cpp":
                    self.blocks += 1
                    yield from self.check_block(opened[0] + 1, block)
                elif CODE_END.search("\n".join(block)):
                    yield self.fault(opened[0], "a block of code that is not checked: begin it with ```cpp")
                opened = None
            elif fence:
                opened, block = (number, fence.group(2).strip(), len(fence.group(1))), []
            elif opened:
                block.append(line)
            elif line.startswith("    "):
                indented.append((number, line))
            elif line.strip() and indented or number > len(self.lines):
                if CODE_END.search("\n".join(text for _, text in indented)):
                    yield self.fault(indented[0][0], "an indented block of code that is not checked: write it between ```cpp and ```")
                indented = []
        if opened:
            yield self.fault(opened[0], "a fenced block without an end")

    def check_block(self, first, lines):
        if not any(line.strip(" .") for line in lines):
            yield self.fault(first, "a block without code")
            return
        fitting = max((fit(lines, code) for text in self.sources.values() for code in (text, without_comments(text))), default=0)
        if fitting < len(lines):
            wrong = lines[fitting].strip()
            yield self.fault(first + fitting, f"no source has this line after those before it in the block: {wrong}\n"
                             f"    expected is a line such as {self.nearest(wrong)}")

    def nearest(self, wrong):
        """The line of the sources that is most like one of the page."""
        lines = {line.strip(): f"{self.folder}/{file}:{number}" for file, text in self.sources.items()
                 for number, line in enumerate(text.splitlines(), 1)}
        found = difflib.get_close_matches(wrong, lines, 1, 0.0)
        return f"that of {lines[found[0]]}: {found[0]}" if found else "one of a file in the tables, which name none"


def fit(lines, code):
    """How many of the first lines stand in the code, in that order."""
    text = normal(code)
    piece, begin, end = "", 0, 0  # lines since the last `...`, where they may begin, and where they end in the code
    for number, line in enumerate(lines):
        for n, part in enumerate(line.split("...")):
            if n > 0:
                piece, begin = "", end
            if not part.strip():
                continue
            piece += "\n" + part
            wanted = normal(piece)
            found = re.compile(r"\b" * wanted[0].isalnum() + re.escape(wanted) + r"\b" * wanted[-1].isalnum()).search(text, begin)
            if not found:
                return number
            end = found.end()
    return len(lines)


def check(root):
    """The faults of all pages, and the numbers of pages, rows and blocks."""
    root = Path(root)
    faults, rows, blocks = [], 0, 0
    paths = sorted((root / "docs/guide").glob("app-*.md"))
    for path in paths:
        page = Page(root, path)
        faults += page.check()
        rows, blocks = rows + page.rows, blocks + page.blocks
    return faults, len(paths), rows, blocks


def main():
    faults, pages, rows, blocks = check(Path(sys.argv[1]).resolve())
    for fault in faults:
        print(fault)
    print(f"{pages} pages of applications, {rows} numbers of lines, {blocks} blocks of code, {len(faults)} faults")
    return 1 if faults or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
