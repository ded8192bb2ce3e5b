#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: doc_programs.py --root DIR --launch COMMAND --runtimes HEADER=FLAGS... --compile COMMAND... --link ARGUMENT...

Every C++ program in the pages PAGES of docs/guide must compile without a warning and exit with 0 on the ranks that
COMMAND launches. A program is skipped if it includes a header of thence/ that is not among the runtimes. The adapter
that docs/guide/your-own-runtime.md shows must be that of examples/own_runtime.cpp, character for character, and the
table of docs/guide/task-table.md that of examples/task_table.cpp.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

OPTIONS = ("--root", "--launch", "--runtimes", "--compile", "--link")
# What an example has between two equal marks stands in a page: (page, example, mark).
EXCERPTS = (("your-own-runtime.md", "own_runtime.cpp", "// [adapter]\n"),
            ("task-table.md", "task_table.cpp", "// [table]\n"))
PAGES = ("runtimes.md", "senders.md", "pools.md", "dataflow.md", "which-interface.md", "type-iov.md")


def arguments(words):
    result, current = {name: [] for name in OPTIONS}, None
    for word in words:
        if word in OPTIONS:
            current = result[word]
        elif current is None:
            sys.exit(__doc__)
        else:
            current.append(word)
    return result


def blocks(page):
    text = page.read_text()
    for match in re.finditer(r"^```cpp\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        yield f"{page.name}:{text.count(chr(10), 0, match.start()) + 1}", match.group(1)


def run(where, text, runtimes, options, folder):
    """True if it ran, False if its runtime is missing."""
    headers = re.findall(r"#include <thence/([a-z_.]+)>", text)
    missing = [header for header in headers if header not in runtimes]
    if missing:
        print(f"{where}: skipped, no runtime for {' '.join(missing)}")
        return False
    print(where, *headers, flush=True)
    (Path(folder) / "program.cpp").write_text(text)
    flags = [flag for header in headers for flag in shlex.split(runtimes[header])]
    compiler, *always = options["--compile"]
    cache = shlex.split(os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER", ""))
    subprocess.run([*cache, compiler, *always, *flags, "-c", "program.cpp", "-o", "program.o"], check=True, cwd=folder)
    subprocess.run([compiler, "program.o", *flags, *options["--link"], "-o", "program"], check=True, cwd=folder)
    subprocess.run([*shlex.split(" ".join(options["--launch"])), f"{folder}/program"], check=True, timeout=60)
    return True


def main():
    options = arguments(sys.argv[1:])
    root = Path(options["--root"][0])
    runtimes = dict(entry.split("=", 1) for entry in options["--runtimes"])
    for page, example, mark in EXCERPTS:
        parts = (root / "examples" / example).read_text().split(mark)
        if len(parts) != 3 or parts[1].strip() not in [text.strip() for _, text in blocks(root / "docs/guide" / page)]:
            sys.exit(f"docs/guide/{page} does not show the text between the marks {mark.strip()!r} of examples/{example}")
    # Below the build, so that a compiler cache finds what another clone has compiled.
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        programs = [(where, text) for page in PAGES
                    for where, text in blocks(root / "docs/guide" / page) if "int main(" in text]
        ran = [run(where, text, runtimes, options, folder) for where, text in programs]
    print(f"{sum(ran)} of {len(ran)} programs")
    return 0 if any(ran) else 1


if __name__ == "__main__":
    sys.exit(main())
