# SPDX-License-Identifier: BSD-3-Clause
"""One page: Markdown to HTML, with the anchors, links and texts in it. Needs markdown-it and Pygments."""

import html
import re
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

EXPLICIT_ID = re.compile(r" \{#([\w-]+)\}$")


@dataclass
class Section:
    """What stands below one heading, up to the next heading of any level."""
    level: int
    anchor: str
    heading: str
    text: str = ""


@dataclass
class Page:
    source: str  # path below the root of the repository
    target: str  # path below the root of the site
    title: str = ""
    body: str = ""
    sections: list = field(default_factory=list)
    links: list = field(default_factory=list)  # (destination as written, True for an image)


def slug(text):
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def colour(code, language, _attributes):
    if not language:
        return ""
    return highlight(code, get_lexer_by_name(language), HtmlFormatter(nowrap=True))


def plain(inline):
    return "".join(" " if t.type in ("softbreak", "hardbreak") else t.content for t in inline.children or []
                   if t.type in ("text", "code_inline", "softbreak", "hardbreak"))


def anchors_of(tokens):
    """Gives each heading its anchor; yields (token, anchor, text)."""
    seen = {}
    for n, token in enumerate(tokens):
        if token.type != "heading_open":
            continue
        inline = tokens[n + 1]
        explicit = EXPLICIT_ID.search(inline.children[-1].content) if inline.children else None
        if explicit:
            inline.children[-1].content = inline.children[-1].content[:explicit.start()]
        text = plain(inline).strip()
        base = explicit.group(1) if explicit else slug(text)
        seen[base] = seen.get(base, -1) + 1
        anchor = f"{base}-{seen[base]}" if seen[base] else base
        token.attrSet("id", anchor)
        yield n, anchor, text


def code_span(_renderer, tokens, n, *_):
    """A code span; a short one is kept on one line, since a browser would break it at each hyphen."""
    text = tokens[n].content
    short = ' class="short"' if len(text) <= 22 else ""
    return f"<code{short}>{html.escape(text)}</code>"


def parser():
    markdown = MarkdownIt("commonmark", {"html": False, "highlight": colour}).enable("table")
    markdown.add_render_rule("table_open", lambda *_: '<div class="table"><table>\n')
    markdown.add_render_rule("table_close", lambda *_: "</table></div>\n")
    markdown.add_render_rule("code_inline", code_span)
    return markdown


def set_side_by_side(tokens):
    """Marks each list of which every item ends with a block of code: the site shows its items next to each other."""
    lists = []  # open lists: (token, what ends each item)
    for previous, token in zip([None, *tokens], tokens):
        if token.type in ("bullet_list_open", "ordered_list_open"):
            lists.append((token, []))
        elif token.type == "list_item_close":
            lists[-1][1].append(previous.type)
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            opened, ends = lists.pop()
            if opened.type == "bullet_list_open" and len(ends) > 1 and set(ends) <= {"fence", "code_block"}:
                opened.attrSet("class", "side-by-side")


def links_of(tokens):
    """Yields (token, attribute) of every link and image."""
    for token in tokens:
        for child in token.children or []:
            if child.type == "link_open":
                yield child, "href"
            elif child.type == "image":
                yield child, "src"


def read(source, target, text, resolve=lambda destination: destination):
    """Reads a page. `resolve` turns a destination of the source into one of the site."""
    markdown = parser()
    tokens = markdown.parse(text)
    set_side_by_side(tokens)
    page = Page(source, target)
    headings = {n: Section(int(tokens[n].tag[1]), anchor, heading) for n, anchor, heading in anchors_of(tokens)}
    current = None
    for n, token in enumerate(tokens):
        if n in headings:
            current = headings[n]
            page.sections.append(current)
        elif current and token.type == "inline" and n - 1 not in headings:
            current.text += plain(token) + " "
        elif current and token.type in ("fence", "code_block"):
            current.text += token.content + " "
    page.title = page.sections[0].heading if page.sections else source
    for token, attribute in links_of(tokens):
        destination = token.attrGet(attribute)
        page.links.append((destination, attribute == "src"))
        token.attrSet(attribute, resolve(destination))
    page.body = re.sub(r'<h([1-6]) id="([^"]+)">(.*?)</h\1>', lambda m: (
        f'<h{m[1]} id="{m[2]}">{m[3]} <a class="permalink" href="#{html.escape(m[2])}" '
        f'aria-label="Link to this heading">#</a></h{m[1]}>'), markdown.renderer.render(tokens, markdown.options, {}))
    return page
