# SPDX-License-Identifier: BSD-3-Clause
"""Man pages: one per public C function, thence(7) as their index, and thence(1) for the command."""

import re
from pathlib import Path


def escape(text):
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def inline(text):
    """`code` and calls() in bold; ::names plain."""
    text = escape(re.sub(r"(?<![:\w])::(?=\w)", "", text))
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    text = re.sub(r"\*(\w[^*]*)\*", r"\\fI\1\\fR", text)
    return re.sub(r"(?<![\w\\])(\w+)\(\)", r"\\fB\1\\fR()", text)


def block(text):
    """Lines for a paragraph, a list after it, a table or a piece of code; see headers.paragraph()."""
    if text.startswith("    "):
        return [".nf", *escape(text).splitlines(), ".fi"]
    if text.startswith("|"):
        rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in text.splitlines()[2:]]
        return [line for head, *rest in rows for line in (".TP", inline(head), inline("; ".join(filter(None, rest))))]
    first, *items = re.split(r"(?:\n|^)- ", text)
    lines = [inline(first)] if first else []
    for item in items:
        lines += [r".IP \(bu 2", inline(item)]
    return lines


def section(title, lines):
    return [f".SH {title}", *lines] if lines else []


def variant(item):
    lines = section("SYNOPSIS", [".nf", rf"\fB#include <{item.header}>\fR", "", escape(item.prototype()) + ";", ".fi"])
    comment = item.comment
    body = block(comment.brief)
    for paragraph in comment.body:
        body += [".PP", *block(paragraph)]
    lines += section("DESCRIPTION", body)
    params = []
    for name, direction, text in comment.params:
        mark = f" ({direction})" if direction else ""
        params += [".TP", rf"\fI{escape(name)}\fR{mark}", *block(text)]
    lines += section("PARAMETERS", params)
    lines += section("RETURN VALUE", block(comment.returns) if comment.returns else [])
    notes = []
    for note in comment.notes:
        notes += [".PP", *block(note)]
    return lines + section("NOTES", notes[1:])


def related(item, headers):
    """Enumerations whose comment names the function, and structures in its prototype."""
    lines = []
    for header in headers:
        for other in header.items:
            by_name = other.kind in ("enum", "macros") and re.search(rf"\b{item.name}\(\)", other.comment.text())
            by_type = other.kind == "struct" and re.search(rf"\b{other.name}\b", item.code)
            if other.members and (by_name or by_type):
                title = "OPTIONS" if by_name else f"STRUCT {other.name}"
                lines += [f".SH {escape(title)}", inline(other.comment.brief)]
                for code, text in other.members:
                    lines += [".TP", rf"\fB{escape(code)}\fR", inline(text)]
    return lines


def page(name, items, headers, version):
    lines = ['.\\" Made from the comments of the public headers.', f'.TH "{name}" 3 "" "Thence {version}" "Thence"',
             *section("NAME", [rf"{escape(name)} \- {inline(summary(items[0]))}"])]
    for n, item in enumerate(items):
        if len(items) > 1:
            lines += [f".SH WITH {escape(item.header.upper())}"] if n else []
        lines += variant(item)
    lines += related(items[0], headers)
    neighbours = sorted({f.name for h in headers for i in items if h.name == i.header for f in h.functions()} - {name})
    lines += section("SEE ALSO", [r"\fBthence\fR(7)" + "".join(rf", \fB{escape(n)}\fR(3)" for n in neighbours)])
    return "\n".join(lines) + "\n"


def summary(item):
    """The first sentence of the brief, as a phrase."""
    first = re.split(r"(?<=[.:])\s", item.comment.brief)[0].rstrip(".:")
    return first[:1].lower() + first[1:] if first[1:2].islower() else first


def overview(headers, version):
    core = headers[0]
    lines = ['.\\" Made from the comments of the public headers.', f'.TH "thence" 7 "" "Thence {version}" "Thence"',
             *section("NAME", [rf"thence \- {inline(core.comment.brief.rstrip('.'))}"])]
    body = []
    for paragraph in core.comment.body:
        body += [".PP", *block(paragraph)]
    lines += section("DESCRIPTION", body[1:])
    for header in headers:
        functions = header.functions() if header.name.endswith(".h") else []
        entries = []
        for function in functions:
            entries += [".TP", rf"\fB{escape(function.name)}\fR(3)", inline(summary(function))]
        lines += section(escape(f"CALLS OF <{header.name}>"), entries)
    lines += section("SEE ALSO", [r"\fBthence\fR(1)"])
    return "\n".join(lines) + "\n"


def setting_rows(root):
    """(name, values, default, effect) of every environment variable in the guide's table."""
    table = (Path(root) / "docs/guide/settings.md").read_text().split("\n## ")[0]
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table.splitlines()
            if line.startswith("| `THENCE_")]
    return [(name.strip("`"), *rest) for name, *rest in rows]


def command(root, version):
    """thence(1), from its source in docs/man."""
    environment = []
    for name, values, default, effect in setting_rows(root):
        environment += [".TP", rf"\fB{escape(name)}\fR", inline(f"{values}. Default: {default}."),
                        inline(effect[:1].upper() + effect[1:] + ".")]
    source = (Path(root) / "docs/man/thence.1.in").read_text().splitlines()
    text = "\n".join(line for line in source if not line.startswith('.\\" Source')) + "\n"
    return text.replace("@VERSION@", version).replace("@ENVIRONMENT@", "\n".join(environment))


def pages(headers, version, root):
    """{relative path: text} of every page."""
    functions = {}
    for header in headers:
        if header.name.endswith(".h"):
            for item in header.functions():
                functions.setdefault(item.name, []).append(item)
    result = {f"man3/{name}.3": page(name, items, headers, version) for name, items in functions.items()}
    result["man7/thence.7"] = overview(headers, version)
    result["man1/thence.1"] = command(root, version)
    return result
