#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of scripts/run_tests.py: what it builds and runs, and what the end of its output says about failed tests."""

import importlib.util
import json
import sys
import tempfile
import unittest
from pathlib import Path

PATH = Path(__file__).resolve().parents[2] / "scripts" / "run_tests.py"
SPEC = importlib.util.spec_from_file_location("run_tests", PATH)
run_tests = importlib.util.module_from_spec(SPEC)
sys.modules["run_tests"] = run_tests  # dataclasses look their module up
SPEC.loader.exec_module(run_tests)

REPORT = """<testsuite>
<testcase name="good" status="run"/>
<testcase name="bad" status="fail" time="2.4"><failure message="Failed"/><system-out>[ RUN      ] a.b
../a.cpp:3: Failure
Expected: 1
Actual: 2
</system-out></testcase>
<testcase name="left_out" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
<testcase name="not_built" status="notrun"><skipped message="Unable to find executable"/></testcase>
</testsuite>"""


class Summary(unittest.TestCase):
    def test_failed_tests_stand_between_the_table_and_the_sum(self):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "junit.xml"
            report.write_text(REPORT)
            counted = run_tests.count(report)
        good = run_tests.Result(passed=3)
        lines = run_tests.summarize([(run_tests.MATRIX[0], good), (run_tests.MATRIX[4], counted)]).splitlines()
        self.assertEqual(lines[2:], ["failed: mpich5: bad: Failed after 2 s: ../a.cpp:3: Failure | Expected: 1 | Actual: 2",
                                     "failed: mpich5: not_built: Unable to find executable",
                                     "4 passed, 2 failed, 1 skipped"])

    def test_the_cases_of_a_suite_are_counted(self):
        with tempfile.TemporaryDirectory() as folder:
            report, suites = Path(folder) / "junit.xml", Path(folder) / "gtest"
            suites.mkdir()
            report.write_text('<testsuite><testcase name="program/good" status="run"/><testcase name="program/bad" status="fail">'
                              '<failure message="Failed"/></testcase><testcase name="program/dead" status="fail">'
                              '<failure message="SEGFAULT"/></testcase><testcase name="a_command" status="run"/></testsuite>')
            case = '<testcase name="{}" classname="s" status="run">{}</testcase>'
            (suites / "program.good.xml").write_text(f"<testsuites>{case.format('a', '') * 3}</testsuites>")
            (suites / "program.bad.xml").write_text("<testsuites>" + case.format("a", "") + case.format(
                "b", '<failure message="a.cpp:3&#x0A;Expected: 1"/>') + '<testcase name="c" status="notrun"/></testsuites>')
            (suites / "program.dead.xml").write_text("<testsuites><testcase")  # the process ended in the middle
            counted = run_tests.count(report, suites)
        self.assertEqual((counted.passed, counted.failed), (3 + 1 + 1, 2))
        self.assertEqual(counted.failures[0], "s.b: a.cpp:3 | Expected: 1")
        self.assertIn("program/dead: SEGFAULT", counted.failures[1])

    def test_a_failure_of_a_rank_that_reports_nothing_else_is_named(self):
        case = run_tests.ElementTree.fromstring(
            '<testcase name="two_ranks" status="fail" time="1"><failure message="Failed"/><system-out>[ RUN      ] a.b\n'
            'rank 1: a.b: ../a.cpp:3: Expected: 1, actual: 2\n[       OK ] a.b (1 ms)\n[  PASSED  ] 1 test.\n</system-out></testcase>')
        self.assertTrue(run_tests.reason_of(case).startswith("Failed after 1 s: rank 1: a.b: ../a.cpp:3: Expected"))

    def test_a_failed_build_is_named(self):
        lines = run_tests.summarize([(run_tests.MATRIX[0], run_tests.broken("the build failed"))]).splitlines()
        self.assertEqual(lines[1:], ["failed: release: the build failed", "0 passed, 1 failed"])


class Selection(unittest.TestCase):
    def test_only_the_whole_matrix_runs_tests_labelled_matrix(self):
        for configuration in run_tests.MATRIX + run_tests.OTHERS + run_tests.SANITIZERS:
            for labels in {configuration.labels, "", "core"}:
                for stage in run_tests.stages_of(configuration, labels, False):
                    self.assertIn("matrix", stage[1][stage[1].index("-LE") + 1])
                for stage in run_tests.stages_of(configuration, labels, True):
                    self.assertNotIn("matrix", " ".join(stage[1]))

    def test_what_checks_sources_runs_on_one_mpi(self):
        for configuration in run_tests.MATRIX:
            left_out = [select[select.index("-LE") + 1] for _, select in run_tests.stages_of(configuration, "", True)
                        if "-LE" in select]
            for label in ("lint", "model"):
                self.assertEqual(all(label in labels for labels in left_out), configuration.mpi != "", configuration.name)

    def test_no_simulated_program_is_expected_to_run_on_the_fake_mpi(self):
        [simulated] = (each for each in run_tests.MATRIX if each.mpi == "smpi")
        self.assertEqual([labels for labels, _ in run_tests.stages_of(simulated, "", True)], [""])

    def test_sanitizers_run_the_tests_that_their_presets_name(self):
        presets = json.loads((PATH.parents[1] / "CMakePresets.json").read_text())
        for configuration in run_tests.SANITIZERS:
            tests, build = (next(each for each in presets[kind] if each["name"] == configuration.name)
                            for kind in ("testPresets", "buildPresets"))
            self.assertEqual(tests["filter"]["include"]["label"], run_tests.pattern(configuration.labels))
            self.assertEqual(build["targets"], [f"tests_{label}" for label in configuration.labels.split()])


class Builds(unittest.TestCase):
    def test_the_whole_suite_runs_on_open_mpi_5_with_shared_libraries(self):
        for configuration in (each for each in run_tests.MATRIX if each.mpi == "openmpi5"):
            self.assertIn("-DBUILD_SHARED_LIBS=OFF", run_tests.cmake_arguments(configuration, configuration.labels))
            self.assertIn("-DBUILD_SHARED_LIBS=ON", run_tests.cmake_arguments(configuration, ""))

    def test_every_option_of_a_part_is_set_back_for_the_whole(self):
        for configuration in run_tests.MATRIX:
            part, whole = ({argument.split("=")[0] for argument in run_tests.cmake_arguments(configuration, labels)}
                           for labels in (configuration.labels, ""))
            self.assertEqual(part, whole)


if __name__ == "__main__":
    unittest.main()
