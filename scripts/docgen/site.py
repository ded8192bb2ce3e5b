# SPDX-License-Identifier: BSD-3-Clause
"""The site: every page of the documentation as HTML with one navigation, and the index for its search.

The navigation is made from the lists of docs/index.md. Nothing in the site refers to the network, and it needs no server.
"""

import html
import json
import os
import posixpath
import re
import shutil
import subprocess
from pathlib import Path

from . import fortran_reference, man, python_reference
from .page import read
from .reference import Reference

FILES = Path(__file__).resolve().parent / "site_files"
OWN_SCHEME = re.compile(r"[a-z][a-z+.-]*:")


def target_of(source):
    """The path in the site of a Markdown file."""
    if source == "docs/index.md":
        return "index.html"
    name = source.removesuffix(".md")
    return (name.removeprefix("docs/") if name.startswith("docs/") else name.lower()) + ".html"


def sources(root, headers):
    """{path below the root: Markdown} of all pages but the man pages. Those of the reference exist in the site only."""
    root = Path(root)
    at_top = [root / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    paths = [*(path for path in at_top if path.exists()), *sorted((root / "docs").rglob("*.md"))]
    result = {path.relative_to(root).as_posix(): path.read_text() for path in paths}
    result.update({f"docs/{name}": text for name, text in Reference(headers).pages().items()})
    result[f"docs/{python_reference.PAGE}"] = python_reference.page(root)
    result[f"docs/{fortran_reference.PAGE}"] = fortran_reference.page(root)
    result["docs/api.md"] += (f"## Fortran\n\n- [`thence_f08`, `thence`]({fortran_reference.PAGE}): continuations\n\n"
                              f"## Python\n\n- [`thence`]({python_reference.PAGE}): `await` on the requests of mpi4py\n")
    return result


def man_page(text, names):
    """A man page as HTML. `names`: {thence_attach.3, ...}, of the pages that can be linked."""
    done = subprocess.run(["mandoc", "-Thtml", "-Ofragment"], input=text, capture_output=True, text=True, check=True)
    body = re.sub(r'<table class="(?:head|foot)">.*?</table>\s*', "", done.stdout, flags=re.DOTALL)
    body = re.sub(r"\n<br/>\n", "\n", body)
    body = re.sub(r"<(/?)h([12])\b", lambda m: f"<{m[1]}h{int(m[2]) + 1}", body)
    return re.sub(r"<b>(\w+)</b>\((\d)\)", lambda m: f'<a href="{m[1]}.{m[2]}.html"><b>{m[1]}</b>({m[2]})</a>'
                  if f"{m[1]}.{m[2]}" in names else m[0], body)


def man_overview(pages):
    lines = ["# Man pages", "", "They are installed with the library. The text of those of section 3 is that of the "
             "[API reference](api.md).", ""]
    for name, text in sorted(pages.items(), key=lambda pair: (pair[0][3] == "3", pair[0])):
        page = Path(name).name
        about = re.search(r"^\.SH NAME\n(.*?)$", text, re.MULTILINE).group(1).partition(r" \- ")[2]
        about = re.sub(r"\\f.", "", about).replace("\\", "")
        lines.append(f"- [{page.rpartition('.')[0]}({page[-1]})](man/{page}.md): {about}")
    return "\n".join(lines) + "\n"


class Site:
    def __init__(self, root, headers, version):
        self.root, self.version = Path(root), version
        self.sources = sources(root, headers)
        man_pages = man.pages(headers, version, root)
        self.sources["docs/man.md"] = man_overview(man_pages)
        self.man = {f"docs/man/{Path(name).name}.md": text for name, text in man_pages.items()}
        self.targets = {source: target_of(source) for source in [*self.sources, *self.man]}
        self.copied = {}  # path in the site -> file of the repository
        self.faults = []
        self.pages = [self.page(source, text) for source, text in self.sources.items()]
        names = {Path(name).name for name in man_pages}
        self.pages += [self.man_page(source, text, names) for source, text in self.man.items()]

    def page(self, source, text):
        page = read(source, self.targets[source], text, lambda destination: self.resolve(source, destination))
        if source == "README.md":
            page.title = "README"  # its heading is that of the start page
        return page

    def man_page(self, source, text, names):
        name = Path(source).stem
        title = f"{name.rpartition('.')[0]}({name[-1]})"
        page = read(source, self.targets[source], f"# {title}\n")
        body = man_page(text, names)
        page.sections[0].text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())
        page.body += body
        return page

    def resolve(self, source, destination):
        """The destination of a link of `source`, as seen from its page of the site."""
        if OWN_SCHEME.match(destination) or destination.startswith("#"):
            return destination
        path, mark, anchor = destination.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        target = self.targets.get(path)
        if target is None:
            if path.startswith("..") or not (self.root / path).is_file():
                self.faults.append(f"{source}: link to {destination}, which does not exist in the repository")
                return destination
            target = f"files/{path}"
            self.copied[target] = self.root / path
        return posixpath.relpath(target, posixpath.dirname(self.targets[source]) or ".") + mark + anchor

    def navigation(self):
        """[(heading, [(text, target)])], as in docs/index.md."""
        result, current = [], None
        for line in self.sources["docs/index.md"].splitlines():
            if line.startswith("## "):
                current = (line[3:], [])
                result.append(current)
            elif current and (match := re.match(r"- \[([^\]]+)\]\(([^)]+)\)", line)):
                path = posixpath.normpath(posixpath.join("docs", match.group(2)))
                current[1].append((match.group(1), self.targets.get(path, path)))
        result[-1][1].extend([("API reference", "api.html"), ("Man pages", "man.html")])
        return result

    def navigation_html(self, page, up):
        out = []
        for heading, links in self.navigation():
            out.append(f"<h2>{html.escape(heading)}</h2><ul>")
            for text, target in links:
                folder = target.removesuffix(".html") + "/"
                here = ' aria-current="page"' if target == page.target else ""
                inside = ' class="inside"' if page.target.startswith(folder) else ""
                out.append(f'<li><a href="{up}{target}"{here}{inside}>{html.escape(text)}</a></li>')
            out.append("</ul>")
        return "\n".join(out)

    @staticmethod
    def contents_html(page):
        man_sections = re.findall(r'<h2 class="Sh" id="([^"]+)">.*?>([^<]+)</a>', page.body)
        links = {s.heading: s.anchor for s in reversed(page.sections) if s.level == 2}  # of overloads, the first
        links = dict(reversed(links.items())) or {heading.capitalize(): anchor for anchor, heading in man_sections}
        if len(links) < 2:
            return ""
        items = "".join(f'<li><a href="#{html.escape(a)}">{html.escape(t)}</a></li>' for t, a in links.items())
        return f'<nav class="contents" aria-label="On this page"><h2>On this page</h2><ul>{items}</ul></nav>'

    def inline_pictures(self, page):
        """SVG files as part of the page, so that they are searched and selected like text."""
        def replace(match):
            name = posixpath.normpath(posixpath.join(posixpath.dirname(page.target), html.unescape(match[1])))
            text = self.copied[name].read_text()
            return f'<div class="picture" role="figure" aria-label="{match[2]}">{text[text.index("<svg"):]}</div>'
        return re.sub(r'<p><img src="([^"]+\.svg)" alt="([^"]*)"[^>]*></p>', replace, page.body)

    def write(self, output):
        output = Path(output)
        template = (FILES / "page.html").read_text()
        for page in self.pages:
            up = "../" * page.target.count("/")
            path = output / page.target
            path.parent.mkdir(parents=True, exist_ok=True)
            title = "Thence" if page.target == "index.html" else f"{page.title} - Thence"
            values = {"title": html.escape(title), "up": up, "navigation": self.navigation_html(page, up),
                      "contents": self.contents_html(page), "body": self.inline_pictures(page), "version": self.version}
            path.write_text(re.sub(r"@(\w+)@", lambda m: values.get(m[1], m[0]), template))
        for target, file in self.copied.items():
            path = output / target
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, path)
        for name in ("site.css", "search.js"):
            shutil.copyfile(FILES / name, output / name)
        (output / "search-index.js").write_text(self.index())
        return len(self.pages)

    def index(self):
        """The texts that the search looks through, as a script, since a page from a file must not read other files."""
        entries = [[n, s.heading, s.anchor, " ".join(s.text.split())]
                   for n, page in enumerate(self.pages) for s in page.sections]
        data = {"pages": [[page.target, page.title] for page in self.pages], "entries": entries}
        return "window.thenceIndex = " + json.dumps(data, ensure_ascii=False, separators=(",", ":")) + ";\n"


def write(root, headers, version, output):
    """Writes the site below `output`, and removes pages of an earlier one. Returns the number of pages."""
    output = Path(output)
    for folder, _, files in os.walk(output):
        for name in files:
            if name.endswith(".html"):
                (Path(folder) / name).unlink()
    return Site(root, headers, version).write(output)
