#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the checks: each puts one fault into a small tree, which the check must find."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_files  # noqa: E402
import check_headers  # noqa: E402
import check_includes  # noqa: E402

GOOD = {
    "include/thence/thence.h": "#include <mpi.h>\nint thence_test(int a,\n                int b);\n",
    "include/thence/detail/words.hpp": "",
    "include/thence/error.hpp": "#include <thence/detail/words.hpp>\n#include <thence/thence.h>\n",
    "include/thence/tbb.hpp": "#include <thence/error.hpp>\n",
    "include/thence/exec/detail/meta.hpp": "#include <thence/exec/env.hpp>\n",
    "include/thence/exec/env.hpp": "",
    "include/thence/exec/then.hpp": "#include <thence/exec/detail/meta.hpp>\n",
    "include/thence/exec.hpp": "#include <thence/exec/then.hpp>\n",
    "include/thence/senders/operation.hpp": "#include <thence/error.hpp>\n#include <thence/exec.hpp>\n",
    "include/thence/transform_mpi.hpp": "#include <thence/senders/operation.hpp>\n",
    "include/thence/mpi/buffer.hpp": "#include <thence/transform_mpi.hpp>\n",
    "src/core/base/queue.h": "#include <atomic>\n",
    "src/core/mpi/calls.h": '#include "core/base/queue.h"\n#include <thence/thence.h>\n',
    "src/core/mpi/calls.cpp": '#include "core/mpi/calls.h"\nint f() { return PMPI_Test(0, 0, 0); }\n',
    "src/core/engine/testsome.h": '#include "core/mpi/calls.h"\n',
    "src/core/progress/helper.h": '#include "core/engine/testsome.h"\n',
    "src/core/continuation/attach.h": '// not MPI_Test(a) but "MPI_Wait(b)"\n#include "core/progress/helper.h"\n',
    "src/interpose/requests/requests.h": '#include "core/continuation/attach.h"\n',
    "src/interpose/calls/test.cpp": '#include "interpose/requests/requests.h"\nint MPI_Test(int) { return 0; }\n',
    "src/core/api/api.cpp": '#include "core/continuation/attach.h"\nint thence_test(int a, int) { return mpi::f(a); }\n',
    "src/tbb/senders/timers.cpp": "#include <thence/senders/operation.hpp>\nint g() { return thence_test(1, 2); }\n",
    "src/core/diagnose/counters.h": '#include "core/base/queue.h"\n',
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
        self.expect({"src/core/base/pool.h": '#include "core/mpi/calls.h"\n'}, "src/core/base includes src/core/mpi, which lies above it")

    def test_an_upward_include_of_a_source_of_the_engine_is_caught(self):
        self.expect({"src/core/engine/openmpi.cpp": '#include "core/continuation/attach.h"\n'}, "lies above it")

    def test_a_sideways_include_is_caught(self):
        self.expect({"src/mpix/threadcomm/x.h": "", "src/mpix/grequest/x.cpp": '#include "mpix/threadcomm/x.h"\n'},
                    "src/mpix/grequest includes its neighbour src/mpix/threadcomm")

    def test_a_door_that_includes_a_higher_one_is_caught(self):
        self.expect({"src/core/api/x.cpp": '#include "interpose/requests/requests.h"\n'},
                    "src/core includes src/interpose, which lies above it")
        self.assertEqual(self.faults({"src/interpose/waiting/x.cpp": '#include "core/api/x.h"\n', "src/core/api/x.h": ""}), [])

    def test_a_door_that_includes_its_neighbour_is_caught(self):
        for room in ("mpix/datatype", "mpix"):
            self.expect({"src/tasks/x.h": "", f"src/{room}/x.cpp": '#include "tasks/x.h"\n'},
                        "src/mpix includes its neighbour src/tasks")

    def test_a_file_of_the_door_itself_lies_above_its_rooms(self):
        self.assertEqual(self.faults({"src/mpix/x.cpp": '#include "mpix/datatype/x.h"\n', "src/mpix/datatype/x.h": ""}), [])
        self.expect({"src/mpix/x.h": "", "src/mpix/datatype/x.cpp": '#include "mpix/x.h"\n'}, "src/mpix, which lies above it")

    def test_an_entry_point_beside_its_feature_may_call_the_c_api(self):
        self.assertEqual(self.faults({"src/tasks/api.cpp": "int g() { return thence_test(1, 2); }\n"}), [])
        self.expect({"src/tasks/events.cpp": "int g() { return thence_test(1, 2); }\n"}, "thence_test is the C API")

    def test_a_cycle_is_caught(self):
        self.expect({"src/core/base/a.h": '#include "core/base/b.h"\n', "src/core/base/b.h": '#include "core/base/a.h"\n'}, "cycle: ")

    def test_a_relative_way_around_is_caught(self):
        self.expect({"src/core/base/pool.h": '#include "../mpi/calls.h"\n'}, "is no file of src/")

    def test_an_unknown_folder_is_caught(self):
        self.expect({"src/misc/x.h": ""}, "missing in the layers")

    def test_a_call_of_mpi_outside_its_folder_is_caught(self):
        self.expect({"src/core/progress/x.cpp": "int g() { return MPI_Test(0, 0, 0); }\n"}, "outside src/core/mpi")
        self.expect({"src/core/api/x.cpp": "int g() { return PMPI_Test(0, 0, 0); }\n"}, "outside src/core/mpi")

    def test_a_call_of_the_c_api_from_below_it_is_caught(self):
        self.expect({"src/core/continuation/wait.cpp": "int g() { return thence_test(1, 2); }\n"},
                    "thence_test is the C API, which src/core/api defines")
        self.assertEqual(self.faults({"src/core/continuation/wait.cpp": "int g(int thence_tested);\n"}), [])

    def test_a_name_of_a_higher_room_is_caught(self):
        self.expect({"src/core/engine/x.cpp": "int g() { return continuation::attach(1); }\n"},
                    "continuation:: of a room that src/core/engine must not know")
        self.expect({"src/core/engine/x.cpp": "namespace thence::progress {\nvoid wake();\n}\n"},
                    "progress of a room that src/core/engine must not know")
        self.expect({"src/core/api/x.cpp": "int g() { return pmpi::check(1); }\n"},
                    "of a room that src/core/api must not know")
        self.expect({"src/core/engine/x.cpp": "using namespace thence::continuation;\n"},
                    "continuation of a room that src/core/engine must not know")
        self.assertEqual(self.faults({"src/core/engine/x.cpp": "int g(state s) { return s.progress + mpi::f(1); }\n"}), [])

    def test_knowledge_of_one_mpi_above_the_engine_is_caught(self):
        for line in ("#if defined(OPEN_MPI)\n#endif\n", "opal_progress_register(&hook);\n", "MPIX_Async_start(f, p, s);\n"):
            self.expect({"src/core/continuation/x.cpp": line}, "is known to src/core/engine and src/core/mpi")

    def test_a_library_of_its_own_that_looks_into_the_core_is_caught(self):
        self.expect({"src/tbb/workers/x.cpp": '#include "core/base/queue.h"\n'}, "public headers")

    def test_a_room_that_may_know_few_others_is_held_to_them(self):
        self.assertEqual(self.faults({"src/dataflow/x.cpp": '#include "core/base/queue.h"\nint g(task t);\n'}), [])
        self.expect({"src/dataflow/x.cpp": '#include "core/engine/testsome.h"\n'}, "it may include only core/base")
        self.expect({"src/dataflow/x.cpp": "int g() { return thence::engine::poll(); }\n"},
                    "engine of a room that src/dataflow must not know")
        self.assertEqual(self.faults({"src/dataflow/x.cpp": "int g() { return task::body_runs; }\n"}), [])

    def test_an_interposed_call_asks_interpose_and_the_c_api_alone(self):
        self.assertEqual(self.faults({"src/core/api/checks.h": "",
                                      "src/interpose/calls/x.cpp": '#include "interpose/requests/requests.h"\n#include "core/api/checks.h"\n'
                                                        "int g() { return interpose::test(1) + thence_test(1); }\n"}), [])
        self.expect({"src/interpose/calls/x.cpp": '#include "core/continuation/attach.h"\n'}, "it may include only core/api, interpose")
        self.expect({"src/interpose/calls/x.cpp": "int g() { return thence::progress::interposed; }\n"},
                    "progress of a room that src/interpose/calls must not know")
        self.expect({"src/interpose/calls/x.cpp": "int g() { return progress::interposed; }\n"},
                    "progress of a room that src/interpose/calls must not know")

    def test_an_application_that_looks_inside_is_caught(self):
        self.expect({"apps/x/x.cpp": '#include "core/mpi/calls.h"\n'}, "from src/")
        self.expect({"bench/x.cpp": '#include "../src/core/mpi/calls.h"\n'}, "from src/")
        self.expect({"tools/thence/x.cpp": '#include "core/mpi/calls.h"\n'}, "from src/")

    def test_a_public_header_that_looks_inside_is_caught(self):
        self.expect({"include/thence/mpi/x.h": '#include "core/base/queue.h"\n'}, "from src/")

    def test_an_upward_include_of_a_public_header_is_caught(self):
        self.expect({"include/thence/senders/x.hpp": "#include <thence/mpi/buffer.hpp>\n"},
                    "thence: tbb/senders includes thence: tbb/mpi, which lies above it")
        self.expect({"include/thence/detail/x.hpp": "#include <thence/thence.h>\n"}, "which lies above it")

    def test_a_sideways_include_of_a_public_header_is_caught(self):
        self.expect({"include/thence/omp.h": "#include <thence/tbb.hpp>\n"}, "thence: tasks/omp includes its neighbour")

    def test_an_upward_include_of_the_header_of_a_door_is_caught(self):
        stream = {"include/thence/stream.h": "#include <thence/thence.h>\n"}
        self.expect({**stream, "include/thence/error.hpp": "#include <thence/stream.h>\n"},
                    "thence: core includes thence: mpix, which lies above it")
        self.assertEqual(self.faults({**stream, "include/thence/host_queue.h": "#include <thence/stream.h>\n"}), [])

    def test_a_header_that_includes_that_of_the_door_beside_is_caught(self):
        self.expect({"include/thence/omp.h": "#include <thence/exec.hpp>\n"},
                    "thence: tasks includes its neighbour thence: exec")
        self.expect({"include/thence/stream.h": "#include <thence/events.h>\n", "include/thence/events.h": ""},
                    "thence: mpix includes its neighbour thence: tasks")

    def test_a_public_header_of_no_room_is_caught(self):
        self.expect({"include/thence/misc.hpp": ""}, "missing in the layers")
        self.expect({"include/thence/misc/x.hpp": ""}, "missing in the layers")

    def test_a_public_header_that_includes_what_is_not_there_is_caught(self):
        self.expect({"include/thence/pools.hpp": "#include <thence/pools/none.hpp>\n"}, "does not exist")

    def test_a_cycle_of_public_headers_is_caught(self):
        self.expect({"include/thence/exec/env.hpp": "#include <thence/exec/then.hpp>\n"}, "cycle: ")

    def test_a_cycle_of_a_folder_with_the_header_over_it_is_caught(self):
        self.expect({"include/thence/senders/x.hpp": "#include <thence/timers.hpp>\n", "include/thence/timers.hpp":
                     "#include <thence/senders/operation.hpp>\n"}, "cycle: ")


class Files(unittest.TestCase):
    def check(self, name, text):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / name).write_text(text)
            return check_files.check(folder)

    def test_a_file_without_licence_is_caught(self):
        self.assertEqual(len(self.check("a.cpp", "int a;\n")[0]), 1)
        self.assertEqual(self.check("a.cpp", f"// {check_files.SPDX}\nint a;\n")[0], [])

    def test_what_a_merge_left_is_caught(self):
        faults = self.check("a.md", "# Changes\n" + "<" * 7 + " HEAD\n")[0]
        self.assertEqual(faults, ["a.md:2: conflict marker of a merge"])
        self.assertEqual(self.check("a.md", "Title\n=======\n")[0], [])

    def test_a_thread_that_is_started_elsewhere_is_caught(self):
        for text in ("std::thread t([] {});", "std::thread thread{run};", "auto t = std::jthread(run);", "std::async(run);",
                     "pthread_create(&thread, nullptr, run, nullptr);", "std::vector<std::thread> all;"):
            self.assertEqual(len(self.check("src/core/a.cpp", f"// {check_files.SPDX}\n{text}\n")[0]), 1, text)
        for text in ("std::thread thread_;", "std::thread::id id;", "std::thread &t = *new std::thread;", "// std::thread(f)"):
            self.assertEqual(self.check("src/core/a.cpp", f"// {check_files.SPDX}\n{text}\n")[0], [], text)

    def test_a_yield_is_caught(self):
        for text in ("sched_yield();", "::sched_yield ();", "std::this_thread::yield();"):
            self.assertEqual(len(self.check("src/core/a.cpp", f"// {check_files.SPDX}\n{text}\n")[0]), 1, text)
        for text in ("boost::this_fiber::yield();", "// sched_yield()", "yield(worker);"):
            self.assertEqual(self.check("src/core/a.cpp", f"// {check_files.SPDX}\n{text}\n")[0], [], text)

    def test_a_long_line_is_caught_in_code_and_comments(self):
        head = f"// {check_files.SPDX}\n"
        for name in ("src/core/a.cpp", "apps/a.hpp", "tests/a.c"):
            for text in ("int " + "a" * 116 + ";", "// " + "a" * 118):
                self.assertEqual(self.check(name, f"{head}{text}\n")[0], [f"{name}:2: 121 columns, over 120"])
                self.assertEqual(self.check(name, head + text.replace("aa", "a", 1) + "\n")[0], [])

    def test_a_long_file_is_caught_and_comments_do_not_count(self):
        head = f"// {check_files.SPDX}\n"
        self.assertEqual(self.check("a.cpp", head + "/*\n" + "text\n" * 600 + "*/\n")[:2], ([], []))
        self.assertEqual(len(self.check("a.cpp", head + "int a;\n" * 450)[1]), 1)
        self.assertEqual(len(self.check("a.cpp", head + "int a;\n" * 501)[0]), 1)


class Headers(unittest.TestCase):
    def faults(self, text, name="x.h", standard="c11"):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / name).write_text(text)
            results = [check_headers.compile_alone(c if standard == "c11" else cxx, standard, Path(name), Path(folder),
                                                   []) for c, cxx in check_headers.compilers()]
        self.assertTrue(results)
        return [message for message, good in results if not good]

    def test_a_header_that_needs_another_first_is_caught(self):
        self.assertEqual(self.faults("#pragma once\n#include <stddef.h>\nsize_t f(void);\n"), [])
        self.assertTrue(self.faults("#pragma once\nsize_t f(void);\n"))

    def test_a_header_without_a_guard_is_caught(self):
        self.assertTrue(self.faults("struct s { int a; };\n"))

    def test_a_cpp_header_that_does_not_ask_for_cpp20_first_is_caught(self):
        error = f'#error "{check_headers.NEEDS_CPP20}"\n'
        asks = f'#pragma once\n#if __cplusplus < 202002L\n{error}#include <none>\n#endif\n'
        self.assertEqual(self.faults(asks + "concept = 1;\n", "x.hpp", "c++17"), [])
        self.assertTrue(self.faults("int a;\n", "x.hpp", "c++17"))
        self.assertTrue(self.faults("concept = 1;\n", "x.hpp", "c++17"))
        self.assertTrue(self.faults("concept = 1;\n" + asks, "x.hpp", "c++17"))
        self.assertTrue(self.faults(asks.replace("#include <none>\n", "") + "concept = 1;\n", "x.hpp", "c++17"))

    def test_a_warning_is_caught(self):
        self.assertTrue(self.faults("#pragma once\nstatic inline int f(int a, int b) { return a; }\n"))


if __name__ == "__main__":
    unittest.main()
