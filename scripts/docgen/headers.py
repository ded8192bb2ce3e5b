# SPDX-License-Identifier: BSD-3-Clause
"""Reads the documentation comments of the public headers.

A comment `/** ... */` documents the declaration after it, `/**< ... */` the enumerator, member or macro before it. The
comment with `@file` documents the header. Commands: @brief, @param, @return, @note, @see.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

COMMAND = re.compile(r"(?<![`\w])@(file|brief|param|tparam|return|note|see|throws)\b(?:\[([a-z,]+)\])?[ \t]*")
MEMBER = re.compile(r"^[ \t]*(?:#define[ \t]+)?(?P<code>[^/\n]+?),?;?[ \t]*/\*\*<(?P<text>.*?)\*/", re.DOTALL | re.MULTILINE)


@dataclass
class Comment:
    brief: str = ""
    body: list = field(default_factory=list)  # paragraphs
    params: list = field(default_factory=list)  # (name, direction, text)
    returns: str = ""
    notes: list = field(default_factory=list)
    see: list = field(default_factory=list)
    file: str = ""

    def text(self):
        parts = [self.brief, *self.body, self.returns, *self.notes, *(t for _, _, t in self.params)]
        return "\n".join(parts)


@dataclass
class Item:
    kind: str  # function, type, enum, macros, struct, other
    name: str
    code: str  # the declaration, on one line for a function
    comment: Comment
    header: str
    scope: str = ""  # the class that it is a member of
    members: list = field(default_factory=list)  # (code, text) of an enum, struct or row of macros

    def prototype(self):
        """The declaration with one parameter a line when it is long."""
        code = re.sub(r"(\)(?: noexcept)?) : \w.*$", r"\1", self.code)  # without what a constructor initializes
        if len(code) > 76 and "(" in code:
            head, _, rest = code.partition("(")
            parts, depth, current = [], 0, ""
            for c in rest.rstrip():
                depth += (c == "(") - (c == ")")
                if c == "," and depth == 0:
                    parts.append(current.strip())
                    current = ""
                else:
                    current += c
            parts.append(current.strip())
            return head + "(\n    " + ",\n    ".join(parts)
        return code


@dataclass
class Header:
    name: str  # as it is included: thence/thence.h
    comment: Comment
    items: list
    undocumented: list  # names of public functions without a comment

    def functions(self):
        return [item for item in self.items if item.kind == "function"]


def strip_stars(text):
    return "\n".join(re.sub(r"^[ \t]*\*?[ \t]?", "", line) if n else line.strip()
                     for n, line in enumerate(text.splitlines()))


def paragraph(text):
    """A paragraph, or a list with "- " before each item, on one line each; or a table, with | at the beginning of each
    row; or a piece of code, indented by 4."""
    lines = text.strip("\n").splitlines()
    indent = min(len(line) - len(line.lstrip()) for line in lines)
    if indent >= 4:
        return "\n".join("    " + line[indent:].rstrip() for line in lines)
    if all(line.lstrip().startswith("|") for line in lines):
        return "\n".join(line.strip() for line in lines)
    return re.sub(r"\s*\n\s*(?!\s*- )", " ", re.sub(r"\n\s*- ", "\n- ", text)).strip()


def paragraphs(text):
    return [paragraph(p) for p in re.split(r"\n[ \t]*\n", text) if p.strip()]


def parse_comment(text):
    text = strip_stars(text).strip()
    comment = Comment()
    marks = list(COMMAND.finditer(text))
    head = paragraphs(text[:marks[0].start()] if marks else text)
    for n, mark in enumerate(marks):
        end = marks[n + 1].start() if n + 1 < len(marks) else len(text)
        first, *rest = paragraphs(text[mark.end():end]) or [""]
        command, direction = mark.group(1), mark.group(2) or ""
        if command == "file":
            comment.file = first
        elif command == "brief":
            comment.brief = first
        elif command in ("param", "tparam"):
            name, _, what = first.partition(" ")
            comment.params.append((name, direction, what.strip()))
        elif command == "return":
            comment.returns = first
        elif command == "see":
            comment.see.append(first)
        else:
            comment.notes.append("Throws " + first if command == "throws" else first)
        comment.body += rest  # an empty line ends a command
    if not comment.brief and head:
        comment.brief, head = head[0], head[1:]
    comment.body = head + comment.body
    return comment


def blank_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.DOTALL)


def declaration(code):
    """The first declaration of `code` (without comments), and where it ends: at its `;`, or before its body."""
    depth = 0
    for n, c in enumerate(code):
        if c in "({[":
            if c == "{" and depth == 0 and not re.match(r"\s*(typedef\s+)?(enum|struct|union)\b", code):
                return code[:n], n
            depth += 1
        elif c in ")}]":
            depth -= 1
        elif c == ";" and depth == 0:
            return code[:n], n
    return code, len(code)


def classify(code):
    """Kind and name of a declaration."""
    flat = re.sub(r"\[\[\w+\]\] ", "", " ".join(code.split()))
    flat = re.sub(r"^(template <[^<>]*(?:<[^<>]*(?:<[^<>]*>[^<>]*)*>[^<>]*)*> )+", "", flat)
    if match := re.match(r"concept (\w+)|(?:requires .*? )?using (\w+) =", flat):
        return "other", match.group(1) or match.group(2)
    if match := re.match(r"[\w:<> ]*?(\w+) = ", flat):
        return "other", match.group(1)
    if match := re.match(r"(?:typedef )?(enum|struct|union|class)(?: class)? ?(\w*)", flat):
        if "{" in flat and flat.startswith("typedef"):
            return match.group(1), flat.rsplit("}", 1)[1].strip() or match.group(2)
        if "{" in flat or not re.search(r"\w+\(", flat):
            return match.group(1), match.group(2)
    if match := re.match(r"typedef .*?\(\*?(\w+)\)\s*\(", flat):
        return "type", match.group(1)
    if flat.startswith("typedef"):
        return "type", flat.split()[-1]
    if match := re.match(r"[\w ]+?\**\s*\(\*(\w+)\)\s*\(", flat):
        return "other", match.group(1)  # a member that points to a function
    if match := re.search(r"(operator \w+|\w+|operator\W+)\s*\(", re.sub(r"__attribute__\s*\(\(.*?\)\)", "", flat)):
        return "function", match.group(1)
    return "other", flat[:60]


def blocks(text, opening):
    """(where it begins, where it ends, match) of each block whose beginning, with its brace, matches `opening`."""
    for match in re.finditer(opening, text):
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += (text[end] == "{") - (text[end] == "}")
            end += 1
        yield match.start(), end, match


DETAIL = r"\bnamespace [\w:]*\bdetail \{"
CLASS = r"\b(?<!enum )(?:class|struct) (?:\[\[\w+\]\] )?(\w+)(?: final)?(?: : [^;{}()]*)? \{"


def innermost(classes, position):
    """(name, start) of the smallest class around a position."""
    around = [(end - start, match.group(1), start) for start, end, match in classes if start < position < end]
    return min(around)[1:] if around else ("", 0)


def is_private(text, start, position):
    """True if the last access specifier between the start of a class and a member is not `public`."""
    specifiers = re.findall(r"^ *(public|protected|private):", text[start:position], re.MULTILINE)
    return bool(specifiers) and specifiers[-1] != "public"


EXPORT = "THENCE_EXPORT|TAMPI_EXPORT_|THENCE_GASPI_EXPORT"
PUBLIC_FUNCTION = re.compile(rf"^(?:{EXPORT}|static inline|THENCE_INLINE)\b([^;{{(]*?)(\w+)\s*\(", re.MULTILINE)


MACRO = r"#define[ \t]+\w+[ \t]+[^\n]*?[ \t]*/\*\*<.*?\*/[ \t]*\n"
MACRO_GROUP = re.compile(rf"(?:/\*(?!\*<)(?P<text>(?:(?!\*/).)*)\*/[ \t]*\n)?(?P<macros>(?:^{MACRO})+)", re.DOTALL | re.MULTILINE)


def macro_groups(raw, name):
    """(position, item) of rows of documented macros, with the comment before them as their common text."""
    for group in MACRO_GROUP.finditer(raw):
        members = []
        for match in re.finditer(r"#define[ \t]+(\w+)[ \t]+([^\n]*?)[ \t]*/\*\*<(.*?)\*/", group["macros"], re.DOTALL):
            members.append((match.group(1), " ".join(strip_stars(match.group(3)).split())))
        comment = parse_comment((group["text"] or "").lstrip("*")) if group["text"] else Comment(brief="Options.")
        yield group.start(), Item("macros", "", "", comment, name, members=members)


def parse_header(path, include_dir):
    """A C or C++ header, without `namespace detail`. Only C headers are searched for functions without a comment; a
    trailing underscore marks one that is not for users, and a pgaspi_ function is documented under its name without p."""
    name = str(path.relative_to(include_dir))
    raw = re.sub(r"^(?:/\* It would break [^\n]*\n)?/\* clang-format \w+ \*/\n", "", path.read_text(), flags=re.MULTILINE)
    blank = blank_comments(raw)
    header = Header(name, Comment(), [], [])
    found_at = list(macro_groups(raw, name))
    internal = list(blocks(blank, DETAIL))
    classes = list(blocks(blank, CLASS))
    for match in re.finditer(r"/\*\*(?!<)(.*?)\*/", raw, re.DOTALL):
        if any(start < match.start() < end for start, end, _ in internal):
            continue
        comment = parse_comment(match.group(1))
        if "@file" in match.group(1):
            header.comment = comment
            continue
        after = blank[match.end():]
        code, end = declaration(after)
        span = raw[match.end():match.end() + end + 1]
        kind, item_name = classify(re.sub(r"^\s*#[^\n]*$", "", code, flags=re.MULTILINE))
        flat = re.sub(rf"\b(?:{EXPORT}) ", "", " ".join(code.split()))
        scope, start = innermost(classes, match.start())
        if scope and is_private(blank, start, match.start()):
            continue
        item = Item(kind, item_name, flat, comment, name, scope)
        if kind in ("enum", "struct", "union"):
            opening = span.find("{")
            item.members = [(" ".join(m["code"].split()), " ".join(strip_stars(m["text"]).split()))
                            for m in MEMBER.finditer(span[opening + 1:])]
        found_at.append((match.start(), item))
    header.items = [item for _, item in sorted(found_at, key=lambda pair: pair[0])]
    if path.suffix == ".h":
        documented = {item.name for item in header.functions() if item.comment.brief}
        found = [m.group(2) for m in PUBLIC_FUNCTION.finditer(blank)]
        header.undocumented = [n for n in found if n not in documented and not n.endswith("_") and not n.startswith("pgaspi_")]
    return header


def parse_headers(include_dir):
    include_dir = Path(include_dir)
    paths = sorted(p for p in include_dir.rglob("*") if p.suffix in (".h", ".hpp") and "detail" not in p.parts)
    paths.sort(key=lambda p: p.name != "thence.h")  # the core first
    return [parse_header(p, include_dir) for p in paths]
