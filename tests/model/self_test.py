#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of check.py: which sources a model names, and that a name which does not say which file is meant is an error."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check  # noqa: E402


class SourcesOfAModel(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name in ("src/core/request.cpp", "src/mpix/request.cpp"):
            (self.root / name).parent.mkdir(parents=True)
            (self.root / name).write_text("int f();\n")

    def sources(self, comment):
        model = self.root / "test.pml"
        model.write_text(f"/* {comment} */\n")
        return check.sources_of(model, self.root)

    def test_a_path_names_one_file_though_another_has_the_same_name(self):
        self.assertEqual(self.sources("As in src/core/request.cpp (run)."), [self.root / "src/core/request.cpp"])

    def test_a_name_without_its_folder_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "request.cpp, which is no path"):
            self.sources("As in request.cpp (run).")

    def test_a_missing_file_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "src/tbb/request.cpp, which is no path"):
            self.sources("As in src/core/request.cpp and src/tbb/request.cpp.")

    def test_a_model_without_a_source_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "no source"):
            self.sources("A protocol.")


if __name__ == "__main__":
    unittest.main()
