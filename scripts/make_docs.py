#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes man pages, API reference and site from the public headers and docs/."""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from docgen import man, picture  # noqa: E402
from docgen.headers import parse_headers  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent


def version():
    """The version, read from the macros of thence/thence.h."""
    text = (ROOT / "include/thence/thence.h").read_text()
    return ".".join(text.split(f"THENCE_VERSION_{part} ")[1].split()[0] for part in ("MAJOR", "MINOR", "PATCH"))


def write_man(headers, output):
    pages = man.pages(headers, version(), ROOT)
    shutil.rmtree(output, ignore_errors=True)
    for name, text in pages.items():
        path = Path(output) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return pages


def settings_faults():
    """Yields variables that the sources read but the table of settings lacks, and the other way round."""
    read = {match for folder in ("src", "include") for path in (ROOT / folder).rglob("*.?pp")
            for match in re.findall(r'"(THENCE_[A-Z_]+)"', path.read_text())}
    table = (ROOT / "docs/guide/settings.md").read_text().split("\n## ")[0]
    listed = set(re.findall(r"^\| `(THENCE_[A-Z_]+)`", table, re.MULTILINE))
    yield from (f"docs/guide/settings.md: no row for {name}, which the sources read" for name in sorted(read - listed))
    yield from (f"docs/guide/settings.md: a row for {name}, which no source reads" for name in sorted(listed - read))


def check(headers):
    """Returns the faults: public functions without a comment or man page, warnings of groff, stale tables and pictures."""
    faults = [f"{h.name}: {name} has no documentation comment" for h in headers for name in h.undocumented]
    faults += [f"{h.name}: no @file comment with a brief" for h in headers if not h.comment.brief]
    faults += settings_faults()
    faults += picture.stale(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        pages = write_man(headers, folder)
        names = {function.name for h in headers if h.name.endswith(".h") for function in h.functions()}
        faults += [f"{name}: no man page" for name in sorted(names) if f"man3/{name}.3" not in pages]
        faults += [f"man1/thence.1: nothing about {row[0]}" for row in man.setting_rows(ROOT)
                   if row[0] not in pages["man1/thence.1"].replace("\\", "")]
        if not shutil.which("groff"):
            print("groff is not installed, so the layout of the man pages is not checked (Debian: groff)")
        else:
            for name in pages:
                done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", str(Path(folder) / name)],
                                      capture_output=True, text=True, check=False)
                faults += [f"{name}: {line}" for line in done.stderr.splitlines()]
    return faults, len(pages)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", help="write the site below this folder")
    parser.add_argument("--man", help="write only the man pages, below this folder")
    parser.add_argument("--pictures", action="store_true", help="draw the pictures of docs/architecture.md")
    parser.add_argument("--check", action="store_true", help="fail if a public function has no comment, or a table or picture "
                        "of the documentation is not what the sources say")
    options = parser.parse_args()
    if not (options.output or options.man or options.pictures or options.check):
        parser.error("nothing to do: give --output, --man, --pictures or --check")
    if options.pictures:
        for name, text in picture.pictures(ROOT)[0].items():
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_text(text)
    headers = parse_headers(ROOT / "include")
    if options.man:
        print(f"{len(write_man(headers, options.man))} man pages in {options.man}")
    if options.output:
        from docgen import site  # only here, since it needs packages that no build needs

        pages = site.write(ROOT, headers, version(), options.output)
        print(f"{pages} pages: {options.output}/index.html")
    if options.check:
        faults, count = check(headers)
        for fault in faults:
            print(fault)
        print(f"{len(headers)} headers, {count} man pages, {len(faults)} faults")
        return 1 if faults else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
