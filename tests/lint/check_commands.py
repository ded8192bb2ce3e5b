#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The ctest commands of a documentation page select tests of this build. One with a dot in its -R, or with GTEST_FILTER,
is documented to run one rule, and selects no second one."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path


def commands(page):
    """Each ctest command of the page, as its words, with assignments before it."""
    for line in page.splitlines():
        for text in re.findall(r"`([^`]+)`", line) or [line]:
            if re.match(r"\s*(\w+=\S+\s+)*ctest\s", text):
                yield shlex.split(text)


def rule(name):
    """A ctest's name without the parameter of the case."""
    return re.sub(r"/[^/.]*$", "", name)


def cases(command, gtest_filter):
    """The cases that a test's program would run with this filter."""
    done = subprocess.run(command + ["--gtest_list_tests"], text=True, check=True, stdin=subprocess.DEVNULL,
                          capture_output=True, env=os.environ | {"GTEST_FILTER": gtest_filter})
    return {line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ")}


def check(words, build):
    """What is wrong with a command; empty if nothing is."""
    assigned = dict(word.split("=", 1) for word in words[:words.index("ctest")])
    options = words[words.index("ctest") + 1:]
    if options[:1] != ["--test-dir"]:
        return "says no --test-dir"
    # A ctest that runs this tells its own configuration to those that it starts.
    environment = {name: value for name, value in os.environ.items() if name != "CMAKE_CONFIG_TYPE"}
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1", *options[2:]], text=True, check=True, env=environment,
                            capture_output=True)
    tests = json.loads(listed.stdout)["tests"]
    if not tests:
        return "selects no test"
    selected = options[options.index("-R") + 1] if "-R" in options else ""
    if "GTEST_FILTER" in assigned:
        found = cases(tests[0]["command"], assigned["GTEST_FILTER"])
        return "" if len(tests) == 1 and len(found) == 1 else f"selects {len(tests)} tests with {len(found)} cases"
    rules = {rule(test["name"]) for test in tests}
    return f"selects {len(rules)} rules" if "." in selected and len(rules) != 1 else ""


def main():
    build, *pages = sys.argv[1:]
    failed = seen = 0
    os.environ.pop("GTEST_FILTER", None)
    for page in pages:
        for words in commands(Path(page).read_text()):
            seen += 1
            if fault := check(words, build):
                failed += 1
                print(f"{page}: {shlex.join(words)}: {fault}")
    if not seen:
        print("no ctest command found")
    return 1 if failed or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
