#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The checks catch what they are there to catch: each test plants one fault in a small tree."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_files  # noqa: E402
import check_headers  # noqa: E402
import check_includes  # noqa: E402

GOOD = {
    "include/thence/thence.h": "#include <mpi.h>\n",
    "src/base/queue.h": "#include <atomic>\n",
    "src/mpi/calls.h": '#include "base/queue.h"\n#include <thence/thence.h>\n',
    "src/mpi/calls.cpp": '#include "mpi/calls.h"\nint f() { return PMPI_Test(0, 0, 0); }\n',
    "src/engine/testsome.h": '#include "mpi/calls.h"\n',
    "src/progress/helper.h": '#include "engine/testsome.h"\n',
    "src/continuation/attach.h": '// not MPI_Test(a) but "MPI_Wait(b)"\n#include "progress/helper.h"\n',
    "src/pmpi/test.cpp": '#include "continuation/attach.h"\nint MPI_Test(int) { return 0; }\n',
    "src/c_api/api.cpp": '#include "continuation/attach.h"\n',
    "src/diagnose/counters.h": '#include "base/queue.h"\n',
    "apps/heat/heat.cpp": '#include "grid.h"\n#include <thence/thence.h>\n',
    "apps/heat/grid.h": "",
}


class Includes(unittest.TestCase):
    def faults(self, changes):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**GOOD, **changes}.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check_includes.check(folder)[0]

    def expect(self, changes, words):
        faults = self.faults(changes)
        self.assertEqual(len(faults), 1, faults)
        self.assertIn(words, faults[0])

    def test_a_good_tree_has_no_fault(self):
        self.assertEqual(self.faults({}), [])

    def test_an_upward_include_is_caught(self):
        self.expect({"src/base/pool.h": '#include "mpi/calls.h"\n'}, "src/base includes src/mpi, which lies above it")

    def test_an_upward_include_of_a_source_of_the_engine_is_caught(self):
        self.expect({"src/engine/openmpi.cpp": '#include "continuation/attach.h"\n'}, "lies above it")

    def test_a_sideways_include_is_caught(self):
        self.expect({"src/pmpi/wait.cpp": '#include "diagnose/counters.h"\n'}, "its neighbour src/diagnose")

    def test_a_circle_is_caught(self):
        self.expect({"src/base/a.h": '#include "base/b.h"\n', "src/base/b.h": '#include "base/a.h"\n'}, "circle: ")

    def test_a_relative_way_around_is_caught(self):
        self.expect({"src/base/pool.h": '#include "../mpi/calls.h"\n'}, "is no file of src/")

    def test_an_unknown_folder_is_caught(self):
        self.expect({"src/misc/x.h": ""}, "no place among the layers")

    def test_a_call_of_mpi_outside_its_folder_is_caught(self):
        self.expect({"src/progress/x.cpp": "int g() { return MPI_Test(0, 0, 0); }\n"}, "outside src/mpi")
        self.expect({"src/c_api/x.cpp": "int g() { return PMPI_Test(0, 0, 0); }\n"}, "outside src/mpi")

    def test_an_application_that_looks_inside_is_caught(self):
        self.expect({"apps/x/x.cpp": '#include "mpi/calls.h"\n'}, "from src/")
        self.expect({"bench/x.cpp": '#include "../src/mpi/calls.h"\n'}, "from src/")
        self.expect({"tools/thence/x.cpp": '#include "mpi/calls.h"\n'}, "from src/")

    def test_a_public_header_that_looks_inside_is_caught(self):
        self.expect({"include/thence/x.h": '#include "base/queue.h"\n'}, "from src/")


class Files(unittest.TestCase):
    def check(self, name, text):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / name).write_text(text)
            return check_files.check(folder)

    def test_a_file_without_licence_is_caught(self):
        self.assertEqual(len(self.check("a.cpp", "int a;\n")[0]), 1)
        self.assertEqual(self.check("a.cpp", f"// {check_files.SPDX}\nint a;\n")[0], [])

    def test_what_a_merge_left_is_caught(self):
        faults = self.check("a.md", "# Changes\n" + "<" * 7 + " HEAD\n")[0]
        self.assertEqual(faults, ["a.md:2: left by a merge"])
        self.assertEqual(self.check("a.md", "Title\n=======\n")[0], [])

    def test_a_long_file_is_caught_and_comments_do_not_count(self):
        head = f"// {check_files.SPDX}\n"
        self.assertEqual(self.check("a.cpp", head + "/*\n" + "text\n" * 600 + "*/\n")[:2], ([], []))
        self.assertEqual(len(self.check("a.cpp", head + "int a;\n" * 450)[1]), 1)
        self.assertEqual(len(self.check("a.cpp", head + "int a;\n" * 501)[0]), 1)


class Headers(unittest.TestCase):
    def faults(self, text, name="x.h", standard="c11"):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / name).write_text(text)
            results = [check_headers.compile_alone(c if standard == "c11" else cxx, standard, Path(name), Path(folder), [])
                       for c, cxx in check_headers.compilers()]
        self.assertTrue(results)
        return [message for message, good in results if not good]

    def test_a_header_that_needs_another_first_is_caught(self):
        self.assertEqual(self.faults("#pragma once\n#include <stddef.h>\nsize_t f(void);\n"), [])
        self.assertTrue(self.faults("#pragma once\nsize_t f(void);\n"))

    def test_a_header_without_a_guard_is_caught(self):
        self.assertTrue(self.faults("struct s { int a; };\n"))

    def test_a_cpp_header_that_does_not_ask_for_cpp20_first_is_caught(self):
        asks = '#pragma once\n#if __cplusplus < 202002L\n#error "x.hpp needs C++20: compile with -std=c++20"\n#else\n'
        self.assertEqual(self.faults(asks + "concept = 1;\n#endif\n", "x.hpp", "c++17"), [])
        self.assertTrue(self.faults("int a;\n", "x.hpp", "c++17"))
        self.assertTrue(self.faults("concept = 1;\n", "x.hpp", "c++17"))
        self.assertTrue(self.faults(asks.replace("x.hpp", "y.hpp") + "#endif\n", "x.hpp", "c++17"))
        self.assertTrue(self.faults(asks + "#endif\nconcept = 1;\n", "x.hpp", "c++17"))

    def test_a_warning_is_caught(self):
        self.assertTrue(self.faults("#pragma once\nstatic inline int f(int a, int b) { return a; }\n"))


if __name__ == "__main__":
    unittest.main()
