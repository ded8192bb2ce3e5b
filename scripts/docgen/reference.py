# SPDX-License-Identifier: BSD-3-Clause
"""The API reference as Markdown: an overview, and one page for each public header."""

import re

OVERVIEW = """# API reference

Made from the comments of the public headers, one page for each. The C API has [man pages](man.md) too.

"""
GROUPS = [
    ("C", lambda name: name.endswith(".h")),
    ("C++: adapters to runtimes", lambda name: name in
     ("thence/adapter.hpp", "thence/error.hpp", "thence/fiber.hpp", "thence/future.hpp", "thence/tbb.hpp", "thence/threads.hpp")),
    ("C++: senders without MPI", lambda name: name.startswith("thence/exec")),
    ("C++: MPI operations as senders", lambda name: True),
]
# Code spans and ::names stay as they are; in the rest, what Markdown would read as a link or as emphasis is escaped.
PIECE = re.compile(r"(?P<code>`[^`]*`)|(?<![:\w])::(?=\w)|(?P<call>(?<!\w)(?:\w+::)*(?P<name>\w+)\(\))|(?P<special>[\[\]<_])")


def page_name(header):
    return "api/" + header.name.replace("/", "-") + ".md"


def slug(item):
    """The anchor of an item: its name, which is unique in its header or made so by the renderer."""
    return re.sub(r"\W+", "-", title(item)).strip("-").lower()


def title(item):
    if item.name:
        return f"{item.scope}::{item.name}" if item.scope else item.name
    return re.split(r"[,:.](?: |$)", item.comment.brief)[0]  # a row of macros


class Reference:
    def __init__(self, headers):
        self.headers = headers
        self.targets = {}  # name -> {page: anchor}
        for header in headers:
            for item in header.items:
                if item.kind in ("function", "class", "struct", "type") and item.name:
                    self.targets.setdefault(item.name, {}).setdefault(page_name(header), slug(item))

    def target(self, name, here):
        """Where a link to `name` goes from the page `here`: to the same page, or to the only one that has the name."""
        pages = self.targets.get(name, {})
        if here in pages:
            return "#" + pages[here]
        if len(pages) != 1 and not name.startswith("thence_"):
            return None
        page, anchor = next(iter(pages.items()), (None, None))
        return page and f"{page.removeprefix('api/') if here.startswith('api/') else page}#{anchor}"

    def text(self, text, here):
        """The text of a comment as Markdown, with links for calls()."""
        def replace(match):
            if match["code"]:
                return match["code"]
            if match["special"]:
                return "\\" + match["special"]
            if not match["call"]:
                return ""
            target = self.target(match["name"], here)
            return f"[`{match['call']}`]({target})" if target else f"`{match['call']}`"
        if text.startswith("    "):
            return "```cpp\n" + re.sub(r"^    ", "", text, flags=re.MULTILINE) + "\n```"
        return PIECE.sub(replace, text)

    def pages(self):
        """{path below docs/: Markdown}, the overview first."""
        result = {"api.md": self.overview()}
        for header in self.headers:
            result[page_name(header)] = self.header_page(header)
        return result

    def overview(self):
        out, left = [OVERVIEW], list(self.headers)
        for name, belongs in GROUPS:
            out += [f"## {name}", ""]
            for header in [h for h in left if belongs(h.name)]:
                left.remove(header)
                out.append(f"- [`<{header.name}>`]({page_name(header)}): {self.text(header.comment.brief, 'api.md')}")
            out.append("")
        return "\n".join(out)

    def header_page(self, header):
        here = page_name(header)
        out = [f"# `<{header.name}>`", "", self.text(header.comment.brief, here), ""]
        out += [p for paragraph in header.comment.body for p in (self.text(paragraph, here), "")]
        for item in header.items:
            out += self.item(header, item, here)
        return "\n".join(out) + "\n"

    def item(self, header, item, here):
        comment = item.comment
        shown = f"`{title(item)}`" if item.name else title(item)
        out = [f"## {shown} {{#{slug(item)}}}", ""]
        if item.kind not in ("enum", "macros", "struct", "union"):
            out += ["```c" if header.name.endswith(".h") else "```cpp", item.prototype() + ";", "```", ""]
        out += [self.text(comment.brief, here), ""]
        out += [p for paragraph in comment.body for p in (self.text(paragraph, here), "")]
        if item.members:
            out += self.table(("name", "meaning"), [(f"`{c}`", self.text(t, here)) for c, t in item.members])
        if comment.params:
            out += self.table(("parameter", "meaning"), [(f"`{n}`{f' ({d})' if d else ''}", self.text(t, here))
                                                         for n, d, t in comment.params])
        if comment.returns:
            out += [f"**Returns** {self.text(comment.returns, here)}", ""]
        return out + [p for note in comment.notes for p in (self.text(note, here), "")]

    @staticmethod
    def table(head, rows):
        lines = [head, ("---",) * len(head), *[tuple(cell.replace("|", "\\|").replace("\n- ", " • ") for cell in row) for row in rows]]
        return ["| " + " | ".join(line) + " |" for line in lines] + [""]
