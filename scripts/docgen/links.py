# SPDX-License-Identifier: BSD-3-Clause
"""Checks the links of the documentation: in its sources as a reader of the repository meets them, and in the site."""

import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from .page import read

SCHEME = re.compile(r"[a-z][a-z+.-]*:")
ROW_AS_TEXT = re.compile(r"<p>(\|.*)")


def markdown_files(root):
    root = Path(root)
    at_top = [root / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    return [path for path in (*at_top, *sorted((root / "docs").rglob("*.md"))) if path.exists()]


def faults_of_sources(root):
    """Yields links whose file or anchor is not in the repository."""
    root = Path(root).resolve()
    pages = {path.resolve(): read(str(path), "", path.read_text()) for path in markdown_files(root)}
    for path, page in pages.items():
        for destination, _ in page.links:
            where = f"{path.relative_to(root)}: link to {destination}"
            if SCHEME.match(destination):
                continue
            name, _, anchor = unquote(destination).partition("#")
            target = (path.parent / name).resolve() if name else path
            if not target.is_relative_to(root) or not target.exists():
                yield f"{where}, which does not exist in the repository"
            elif anchor and anchor not in {section.anchor for section in pages[target].sections if target in pages}:
                yield f"{where}: {target.name} has no heading with that anchor"


FILE = re.compile(r"`((?:src|include|tests|scripts|cmake|examples|bench|tools|apps|packaging|docs)/[\w./-]*)`")
STEP = re.compile(r"`([\w/-]+[./][\w./-]+)`|`(\w+)\(\)`")


def faults_of_names(root):
    """Yields files of the repository that a page names and that do not exist. In the tables of steps of architecture.md:
    functions that are not in the file before them."""
    root = Path(root).resolve()
    for path in markdown_files(root):
        text, name = path.read_text(), path.relative_to(root).as_posix()
        yield from (f"{name}: there is no {file}" for file in dict.fromkeys(FILE.findall(text)) if not (root / file).exists())
        if path.name != "architecture.md":
            continue
        for place in re.findall(r"^\| \d+ \| ([^|]+) \|", text, re.MULTILINE):
            file = None
            for is_file, function in STEP.findall(place):
                if is_file:
                    file = root / is_file if "/" in is_file or file is None else file.parent / is_file
                    if not file.is_file():
                        yield f"{name}: a step is in {is_file}, which does not exist"
                        break
                elif file and not re.search(rf"\b{function}\s*\(", file.read_text()):
                    yield f"{name}: a step calls {function}(), which is not in {file.relative_to(root)}"


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.twice, self.links = set(), set(), []  # links: (attribute, destination)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                (self.twice if value in self.ids else self.ids).add(value)
            elif name in ("href", "src", "action", "data", "poster", "srcset") and value is not None:
                self.links.append((tag, value))

    @classmethod
    def of(cls, path):
        parsed = cls()
        parsed.feed(path.read_text())
        return parsed


def faults_of_site(folder):
    """Yields links in the HTML below `folder` that lead nowhere, pages that no page leads to, things that a page would
    fetch from the network, and rows of tables that have no head: they would be shown as text."""
    folder = Path(folder).resolve()
    pages = {path: Links.of(path) for path in sorted(folder.rglob("*.html"))}
    linked = {folder / "index.html"}
    for path, page in pages.items():
        name = path.relative_to(folder)
        yield from (f"{name}: a row of a table without a head: {row}" for row in ROW_AS_TEXT.findall(path.read_text()))
        yield from (f"{name}: the anchor {anchor} stands there twice" for anchor in sorted(page.twice))
        for tag, destination in page.links:
            if SCHEME.match(destination):
                if tag != "a":
                    yield f"{name}: <{tag}> would fetch {destination}"
                continue
            file, _, anchor = unquote(destination).partition("#")
            target = Path(os.path.normpath(path.parent / file)) if file else path
            if not target.is_relative_to(folder):
                yield f"{name}: link to {destination}, which is outside of the site"
            elif not target.is_file():
                yield f"{name}: link to {destination}, which does not exist"
            elif anchor and anchor not in (pages[target].ids if target in pages else ()):
                yield f"{name}: link to {destination}: no such anchor"
            linked.add(target)
    yield from (f"{path.relative_to(folder)}: no page links to it" for path in sorted(set(pages) - linked))
    yield from faults_of_index(folder, pages)


def faults_of_index(folder, pages):
    """Yields entries of the search's index that lead nowhere."""
    text = (folder / "search-index.js").read_text()
    index = json.loads(text[text.index("{"):text.rindex("}") + 1])
    for number, heading, anchor, _ in index["entries"]:
        name = index["pages"][number][0]
        if folder / name not in pages or anchor not in pages[folder / name].ids:
            yield f"search-index.js: {heading!r} leads to {name}#{anchor}, which does not exist"
