#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Command line and JSON of heat_plates. Argument: the program, which runs on one rank."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)


def run(*args):
    return subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=100, check=False)


class Command(unittest.TestCase):
    def refused(self, *args, text, status=2):
        result = run(*args)
        self.assertIn(text, result.stdout + result.stderr)
        self.assertEqual(result.returncode, status, result.stderr)

    def test_help_names_options_variants_and_exit_status(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        for word in ("--plates", "--mirrored", "forkjoin", "callbacks", "coroutine", "Exit status"):
            self.assertIn(word, result.stdout)

    def test_wrong_usage_is_refused(self):
        self.refused("--variant", "magic", text="unknown")
        self.refused("--no-such-option", text="--no-such-option")
        self.refused("--imbalance", "2@area:0,0,1,inf", text="from 0 to 1")
        self.refused("--size", "big", text="'big' is not a size")
        self.refused("--plates", "0", text="--plates")
        self.refused("--iterations", "0", text="--iterations")
        self.refused("--imbalance", "5@rank:1", text="there is no rank 1")
        self.refused("--imbalance", "5@zones:1", text="'zones' is unknown")
        self.refused("--json", "/no/such/folder.json", "--size", "8x8", text="folder.json: cannot write this file: No such file")

    def test_progress_is_drawn_where_it_is_asked_for(self):
        self.assertRegex(run("--size", "8x8", "--progress", "always").stderr, "mpi .* of 10 iterations")
        self.assertEqual("", run("--size", "8x8").stderr)

    def test_imbalance_costs_processor_time(self):
        def seconds(*extra):
            before = os.times().children_user
            result = run("--progress", "never", *extra)
            self.assertEqual(result.returncode, 0, result.stderr)
            return os.times().children_user - before
        even = seconds()
        for dear in ("20@rank:0", "40@area:0,0,0.5,1"):
            self.assertGreater(seconds("--imbalance", dear), 2 * even, dear)

    def test_json_has_settings_and_result(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "run.json")
            result = run("--size", "40x50", "--plates", "3", "--block", "16", "--variant", "callbacks", "--verify",
                         "--imbalance", "2@area:0,0,0.5,1", "--json", file)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(file, encoding="utf-8") as text:
                found = json.load(text)
        expected = {"variant": "callbacks", "ranks": 1, "plates": 3, "rows": 40, "cols": 50, "block": 16, "iterations": 10,
                    "values": "identical", "simulated": False, "imbalance": "2@area:0,0,0.5,1"}
        self.assertEqual({key: found[key] for key in expected}, expected)
        self.assertGreater(found["time_s"], 0)


if __name__ == "__main__":
    unittest.main()
