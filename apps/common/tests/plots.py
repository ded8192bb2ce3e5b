# SPDX-License-Identifier: BSD-3-Clause
"""What the plots of all applications have to refuse, for their command tests."""
import subprocess
import sys

OTHER_FILES = (("{}", "has no variant"), ("[1]", "is no object"), ('{"variant": 5}', "variant is no str"), ("P5", "Expecting value"))


def refuse_other_files(test, plot, other, commands):
    """`commands`: the commands of the program `plot` that draw a file; `other`: a path that may be overwritten."""
    for content, text in OTHER_FILES:
        with open(other, "w", encoding="utf-8") as file:
            file.write(content)
        for command in commands:
            drawn = subprocess.run([sys.executable, "-B", plot, command, other], capture_output=True, text=True, check=False)
            test.assertIn(f"plot.py: {other}", drawn.stderr)
            test.assertIn(text, drawn.stderr)
            test.assertEqual((drawn.returncode, drawn.stderr.count("\n")), (1, 1), drawn.stderr)
