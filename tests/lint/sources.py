# SPDX-License-Identifier: BSD-3-Clause
"""Finds the source files of this project and removes comments from their text; shared by the checks."""

import os
import re
from pathlib import Path

SKIPPED_FOLDERS = {"build", ".git", "__pycache__"}
CODE = {".c", ".h", ".cpp", ".hpp"}


def files(root):
    """Yields the paths of all files below `root` that may be sources, relative to it."""
    root = Path(root)
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = sorted(s for s in subfolders if s not in SKIPPED_FOLDERS and not s.startswith("_"))
        for name in sorted(names):
            yield (Path(folder) / name).relative_to(root)


def without_comments(text):
    """C or C++ text with comments replaced by spaces and literals emptied; the number of lines is unchanged."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL)

    def blank(match):
        token = match.group(0)
        if token[0] == "/":
            return re.sub(r"[^\n]", " ", token)
        return token if "#include" in match.string[match.string.rfind("\n", 0, match.start()) + 1:match.start()] else '""'

    return pattern.sub(blank, text)
