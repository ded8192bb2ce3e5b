# SPDX-License-Identifier: BSD-3-Clause
"""Makes the site: HTML pages of the Markdown in docs/ and of the API reference from the headers."""

import re
from pathlib import Path

TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title} - Thence</title><style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222 }}
nav a {{ margin-right: 1rem }} nav {{ border-bottom: 1px solid #ccc; padding-bottom: .5rem }}
pre {{ background: #f5f5f5; padding: .8rem; overflow-x: auto }} code {{ font-size: .92em }}
table {{ border-collapse: collapse }} td, th {{ border: 1px solid #ccc; padding: .3rem .6rem; text-align: left; vertical-align: top }}
</style></head><body><nav>{nav}</nav>
{body}
</body></html>
"""
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")


def link_calls(text, anchors):
    """Turns calls() into links to the reference."""
    text = re.sub(r"(?<![:\w])::(?=\w)", "", text)
    return re.sub(r"(?<![\w`])(\w+)\(\)", lambda m: f"[`{m.group(1)}()`](#{anchors[m.group(1)]})"
                  if m.group(1) in anchors else f"`{m.group(1)}()`", text)


def anchor(header, item):
    return re.sub(r"\W+", "-", f"{header.name}-{item.name}").strip("-").lower()


def reference(headers):
    """The API reference as Markdown."""
    anchors = {}
    for header in headers:
        for item in header.functions():
            anchors.setdefault(item.name, anchor(header, item))
    out = ["# API reference", "", "Made from the comments of the public headers.", ""]
    out += [f"- [`<{h.name}>`](#{re.sub(r'[^a-z0-9]+', '-', h.name.lower())}): {link_calls(h.comment.brief, anchors)}"
            for h in headers]
    for header in headers:
        out += ["", f'<a id="{re.sub(r"[^a-z0-9]+", "-", header.name.lower())}"></a>', f"## `<{header.name}>`", "",
                link_calls(header.comment.brief, anchors), ""]
        out += [p for paragraph in header.comment.body for p in (link_calls(paragraph, anchors), "")]
        for item in header.items:
            out += reference_item(header, item, anchors)
    return "\n".join(out) + "\n"


def reference_item(header, item, anchors):
    comment = item.comment
    title = item.name or (", ".join(c.split()[0] for c, _ in item.members[:2]) + ", ..." if item.members else item.kind)
    out = [f'<a id="{anchor(header, item)}"></a>', f"### `{title}`", ""]
    if item.kind not in ("enum", "macros", "struct", "union"):
        out += ["```c" if header.name.endswith(".h") else "```cpp", item.prototype() + ";", "```", ""]
    out += [link_calls(comment.brief, anchors), ""]
    out += [p for paragraph in comment.body for p in (link_calls(paragraph, anchors), "")]
    if item.members:
        out += ["| | |", "|---|---|"]
        out += [f"| `{c}` | {link_calls(t, anchors)} |".replace("||", "\\|\\|") for c, t in item.members] + [""]
    if comment.params:
        out += ["| parameter | |", "|---|---|"]
        out += [f"| `{n}`{f' ({d})' if d else ''} | {link_calls(t, anchors)} |" for n, d, t in comment.params] + [""]
    if comment.returns:
        out += [f"**Returns** {link_calls(comment.returns, anchors)}", ""]
    return out + [p for note in comment.notes for p in (link_calls(note, anchors), "")]


def dead_links(root):
    """Yields the relative links of README.md and docs/ whose target does not exist."""
    root = Path(root)
    for source in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        text = re.sub(r"```.*?```", "", source.read_text(), flags=re.DOTALL)
        for match in LINK.finditer(text):
            target = match.group(2).partition("#")[0]
            if not target or "://" in target or target == "api.md" or target.endswith("/api.md"):
                continue
            if not (source.parent / target).exists():
                yield f"{source.relative_to(root)}: link to {match.group(2)}, which does not exist"


def write(root, headers, output):
    """Writes the HTML of every page below `output`; returns the number of pages."""
    import markdown  # Debian: python3-markdown

    docs = Path(root) / "docs"
    sources = {p.relative_to(docs): p.read_text() for p in sorted(docs.rglob("*.md"))}
    sources[Path("api.md")] = reference(headers)
    for path, text in sources.items():
        up = "../" * (len(path.parts) - 1)
        nav = " ".join(f'<a href="{up}{target}">{name}</a>' for name, target in
                       [("Thence", "index.html"), ("API reference", "api.html")])
        body = markdown.markdown(re.sub(r"\]\(((?!\w+://)[^)#]+)\.md(#[^)]*)?\)", r"](\1.html\2)", text),
                                 extensions=["tables", "fenced_code", "toc"])
        title = re.search(r"^# (.+)$", text, re.MULTILINE)
        target = (Path(output) / path).with_suffix(".html")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(TEMPLATE.format(title=title.group(1) if title else path.stem, nav=nav, body=body))
    return len(sources)
