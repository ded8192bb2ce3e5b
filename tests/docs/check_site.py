#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check_site.py ROOT

Makes the site in a folder of its own and checks every link, in the Markdown files and in the HTML, and the files and
functions that the Markdown files name.
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(sys.argv[1]).resolve()
sys.path.insert(0, str(ROOT / "scripts"))
from docgen import links  # noqa: E402
from docgen.headers import parse_headers  # noqa: E402
from docgen.site import Site  # noqa: E402


def main():
    faults = [*links.faults_of_sources(ROOT), *links.faults_of_names(ROOT)]
    with tempfile.TemporaryDirectory() as folder:
        site = Site(ROOT, parse_headers(ROOT / "include"), "0")
        count = site.write(folder)
        faults += site.faults + list(links.faults_of_site(folder))
        made = {path.relative_to(folder).as_posix() for path in Path(folder).rglob("*.html")}
    # One page for every Markdown file, every header and every call of the C API.
    expected = {"readme.html", "changelog.html", "api.html", "man.html", "man/thence_attach.3.html", "man/thence.1.html",
                *(path.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for path in (ROOT / "docs").rglob("*.md")),
                *("api/" + path.relative_to(ROOT / "include").as_posix().replace("/", "-") + ".html"
                  for path in (ROOT / "include").rglob("*.h*") if "detail" not in path.parts)}
    faults += [f"no page {name}" for name in sorted(expected - made)]
    for fault in faults:
        print(fault)
    print(f"{count} pages, {len(faults)} faults")
    return 1 if faults or count < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
