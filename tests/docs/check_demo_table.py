#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check_demo_table.py ROOT

Checks that the rows of the first table of docs/guide/when-it-pays.md stand in the order of the bars in the picture above it. Its last
column names the situations; docs/images/demo.json lists those of the picture, docs/images/demo.png: both are what one run of
scripts/demo.py wrote, order.json and overview.png.
"""

import json
import re
import sys
from pathlib import Path

PAGE, LIST = "docs/guide/when-it-pays.md", "docs/images/demo.json"
LAST_CELL = re.compile(r"^\|.*\|\s*`([\w-]+)`\s*\|$")


def first_table(text):
    """The lines of the first table, without its head."""
    rows = re.search(r"(?:^\|.*\n)+", text + "\n", re.MULTILINE)
    return rows[0].splitlines()[2:] if rows else []


def faults(root):
    root = Path(root)
    rows = [LAST_CELL.match(row) for row in first_table((root / PAGE).read_text(encoding="utf-8"))]
    if not rows or None in rows:
        yield f"{PAGE}: the first table has no name of a situation such as `plates` at the end of each row"
        return
    names = [row[1] for row in rows]
    drawn = [each["name"] for each in json.loads((root / LIST).read_text(encoding="utf-8"))["situations"]]
    if names != drawn:
        yield f"{PAGE}: the rows of the first table are {', '.join(names)}; in the picture, by {LIST}, they are {', '.join(drawn)}"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = list(faults(sys.argv[1]))
    for fault in found:
        print(fault)
    sys.exit(1 if found else 0)
