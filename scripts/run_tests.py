#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the test suite: all tests on the MPI in PATH, a part of them on the other MPIs, and the tests of senders also with
Clang and with stdexec. The build for the standard ABI runs on MPICH 5 and on Intel MPI; what is built with their own
headers is run with --full, or by name. The output ends with a table of the configurations, the names of failed tests, and the sum: N passed,
N failed, N skipped. docs/developing.md says what runs where."""

import argparse
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass
class Configuration:
    """One build with one MPI, and the part of the suite that it runs."""

    name: str  # a preset of CMakePresets.json
    mpi: str  # a row of cmake/mpis.txt; empty: the mpicc in PATH
    what: str
    labels: str  # runs tests that have one of these ctest labels; empty: all but those labelled `matrix`
    full: str = ""  # the labels in the whole matrix; empty: all tests for an MPI of the matrix, else the same
    options: tuple[str, ...] = ()  # of CMake
    off_in_part: tuple[str, ...] = ()  # options of CMake: OFF where only a part of the suite is run, ON where all of it is
    targets: str = ""  # built besides those of the labels
    full_only: bool = False  # run with --full or by name: another configuration runs the same tests on the same library
    precompiles: bool = True  # headers; without, a source that lacks an include does not compile
    program: str = ""  # the configuration is skipped if this program is not in PATH
    folder: str = ""  # ... or if this environment variable, which CMake gets, too, is not set


# Two configurations are also the builds that the tests of packages need: with a suffix beside `release`, and static. With
# --full the latter has shared libraries, which `thence run` and its tests need.
LIBRARIES_AND_COMMAND = ("THENCE_BUILD_APPS", "THENCE_BUILD_BENCH")
MATRIX = [
    Configuration("release", "", "the MPI in PATH", ""),
    Configuration("openmpi", "openmpi", "Open MPI 4.1", "every_mpi"),
    Configuration("mpich", "mpich", "MPICH 4.0, installed beside the first", "every_mpi other_build",
                  options=("-DTHENCE_LIBRARY_SUFFIX=-mpich", f"-DTHENCE_BESIDE={ROOT}/build/release"),
                  off_in_part=LIBRARIES_AND_COMMAND, targets="programs", precompiles=False),
    Configuration("openmpi5", "openmpi5", "Open MPI 5, static libraries; with --full shared ones", "every_mpi other_build",
                  off_in_part=(*LIBRARIES_AND_COMMAND, "BUILD_SHARED_LIBS"), targets="programs"),
    Configuration("mpich5", "mpich5", "MPICH 5", "every_mpi", full_only=True),
    Configuration("impi", "impi", "Intel MPI", "every_mpi", full_only=True),
    Configuration("abi", "abi", "MPI 5 standard ABI", "every_mpi"),
    Configuration("smpi", "smpi", "SimGrid's SMPI, simulated ranks", "every_mpi", program="smpicc"),
]
OTHERS = [
    Configuration("clang", "", "senders with Clang 19", "exec senders_on_fake", "exec refused senders pools example",
                  program="clang++-19"),
    Configuration("stdexec", "", "NVIDIA's stdexec in place of thence/exec/", "exec senders pools",
                  folder="STDEXEC_INCLUDE_DIR"),
]
SANITIZERS = [
    Configuration("asan", "", "address and undefined-behaviour sanitizers", "fake exec dataflow"),
    Configuration("tsan", "", "thread sanitizer", "fake exec dataflow"),
]


@dataclass
class Result:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)  # names of tests, each with the reason
    note: str = ""
    seconds: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)  # how long each part took, in seconds

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures
        self.note = self.note or other.note


def say(text):
    print(text, flush=True)


def run(result, part, *command):
    """Runs the command, and adds its time to a part of the result. Returns its exit status."""
    say("+ " + " ".join(command))
    started = time.monotonic()
    status = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode
    took = time.monotonic() - started
    result.parts[part] = result.parts.get(part, 0) + took
    say(f"= {part}: {took:.0f} s")
    return status


def is_default(name):
    """True if `name` is the MPI in PATH, which the configuration `release` tests already."""
    if name not in ("openmpi", "mpich"):
        return False
    try:
        resolved = {Path(subprocess.check_output(["sh", "-c", f"command -v {compiler}"], text=True).strip()).resolve()
                    for compiler in ("mpicc", f"mpicc.{name}")}
    except subprocess.CalledProcessError:
        return False
    return len(resolved) == 1


def install(mpi, script="mpi_env.sh"):
    """Installs the MPI if it is missing. Returns an empty string, or the reason why that failed."""
    done = subprocess.run([f"scripts/{script}", "--install", *mpi.split()], cwd=ROOT, text=True, check=False,
                          stdin=subprocess.DEVNULL, capture_output=True)
    if done.stdout.strip():
        say(done.stdout.strip())
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or ["no reason given"])[-1]


def reason_of(case):
    """Why a test of a JUnit file failed: what ctest says of it, and the lines of its output that say most."""
    failure = case.find("failure")
    if failure is None:
        return case.find("skipped").get("message", "") if case.find("skipped") is not None else "no reason given"
    lines = [line.strip() for line in (case.findtext("system-out") or "").splitlines() if line.strip()]
    first = next((i for tells in (lambda line: line.endswith(": Failure"), lambda line: line.startswith("rank "),
                                  lambda line: "rror" in line)
                  for i, line in enumerate(lines) if tells(line)), len(lines) - 4)
    told = " | ".join(lines[max(first, 0):][:4])[:400]
    return f"{failure.get('message')} after {float(case.get('time') or 0):.0f} s: {told}"


def cases_of(report):
    """(passed, failed cases as text) of the file that GoogleTest wrote for a suite; None if it did not get as far."""
    try:
        root = ElementTree.parse(report).getroot()
    except (OSError, ElementTree.ParseError):
        return None
    failed = [f"{case.get('classname')}.{case.get('name')}: {(case.find('failure').get('message') or '').strip()[:400]}"
              .replace("\n", " | ") for case in root.iter("testcase") if case.find("failure") is not None]
    return sum(case.get("status") == "run" for case in root.iter("testcase")) - len(failed), failed


def count(report, suites=None):
    """The counts of one ctest run, from its JUnit file. `suites`: the folder where each suite of GoogleTest left its file; its
    cases count, not the suite."""
    result = Result()
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        skip = case.find("skipped")  # ctest writes this for a missing program, too, but with another message
        cases = cases_of(suites / (case.get("name").replace("/", ".") + ".xml")) if suites else None
        if case.get("status") == "run":
            result.passed += cases[0] if cases else 1
        elif case.get("status") == "disabled" or (skip is not None and "SKIP_" in skip.get("message", "")):
            result.skipped += 1
            say(f"  skipped: {case.get('name')}")
        elif cases and cases[1]:
            result.passed += cases[0]
            result.failed += len(cases[1])
            result.failures += cases[1]
        else:
            result.failed += 1
            result.failures.append(f"{case.get('name')}: {reason_of(case)}")
    for failure in result.failures:
        say(f"  failed: {failure}")
    return result


def install_mpi4py(configuration):
    """Installs what the tests of the Python package need. If that fails, they are skipped."""
    if reason := install("abi" if configuration.mpi == "abi" else "", script="python_with.sh"):
        say(f"{reason}: the tests of the Python package need another Python that has mpi4py for this MPI")


def missing(configuration):
    """An empty string if all that the configuration needs besides an MPI exists, else what is missing."""
    if configuration.program and shutil.which(configuration.program) is None:
        return f"missing: install {configuration.program}"
    if configuration.folder and configuration.folder not in os.environ:
        return f"missing: set {configuration.folder}"
    return ""


def broken(note):
    return Result(failed=1, note=note)


# A part of the suite is built with less optimization: the compiler takes most of its time.
FLAGS_OF_PART = "-O1 -DNDEBUG"
FLAGS = "-O3 -DNDEBUG"  # CMake's own

# Tests at a time, as a multiple of the processes that build: a launcher of MPI waits for most of the time that a short
# test takes (with Open MPI 5 a test of 1.2 s uses 0.25 s of a processor).
TESTS_PER_JOB = 2


# The tests of the first stage: quick, and they find most faults. The others follow when these have run.
FIRST = "fake exec"


def run_stage(configuration, result, build, jobs, labels, select):
    """Builds the programs of the labels (empty: all), and runs the tests that `select` gives."""
    targets = [f"tests_{label}" for label in labels.split()] or ["all"]
    if run(result, "build", "cmake", "--build", str(build), "--parallel", str(jobs), "--target", *targets,
           *configuration.targets.split()):
        return broken("the build failed")
    report, suites = build / "junit.xml", build / "gtest"
    report.unlink(missing_ok=True)
    shutil.rmtree(suites, ignore_errors=True)
    # One process for each suite of GoogleTest: a process for each of its cases takes ten times as long.
    status = run(result, "tests", "ctest", "--test-dir", str(build), "-C", "suites", "--output-on-failure", "--no-tests=error",
                 "--parallel", str(TESTS_PER_JOB * jobs), "--output-junit", str(report), *select)
    if not report.exists():
        return broken("ctest wrote no report: it found no tests")
    counted = count(report, suites)
    if counted.passed + counted.failed == 0:
        return broken("no test ran")
    if status and not counted.failed:
        return broken(f"ctest exited with {status}")
    return counted


def pattern(labels):
    return f"^({'|'.join(labels.split())})$"


def cmake_arguments(configuration, labels):
    """They name every option that they have ever set: the build folder remembers those of the last run."""
    arguments = []
    if configuration.mpi:
        arguments = subprocess.check_output(["scripts/mpi_env.sh", "--cmake", configuration.mpi], cwd=ROOT,
                                            text=True).split()
    is_part = labels and configuration.labels  # a door of `release` is built as the whole is
    arguments.append("-DCMAKE_CXX_FLAGS_RELEASE=" + (FLAGS_OF_PART if is_part else FLAGS))
    arguments += configuration.options
    arguments += [f"-D{name}={'OFF' if is_part else 'ON'}" for name in configuration.off_in_part]
    arguments.append("-DTHENCE_PRECOMPILE_HEADERS=" + ("ON" if configuration.precompiles else "OFF"))
    if configuration.folder:
        arguments.append(f"-D{configuration.folder}={os.environ[configuration.folder]}")
    return arguments


def stages_of(configuration, labels, with_matrix):
    """The stages of a run: the labels of the programs to build, and by which arguments ctest selects the tests."""
    left_out = [] if with_matrix else ["matrix"]
    if configuration.mpi and not labels:
        left_out += ["lint", "model"]  # they check sources, which are the same for every MPI
    without = ["-LE", pattern(" ".join(left_out))] if left_out else []
    if labels:
        return [(labels, ["-L", pattern(labels), *without])]
    rest = ["-LE", pattern(" ".join([FIRST, *left_out]))]
    if configuration.mpi == "smpi":  # a program of SimGrid has no other MPI, so none with the fake one
        return [("", rest)]
    return [(FIRST, ["-L", pattern(FIRST), *without]), ("", rest)]


def test(configuration, labels, jobs, with_matrix):
    """`with_matrix`: also the tests that only the whole matrix runs."""
    build = ROOT / "build" / configuration.name
    result = Result()
    if run(result, "configure", "cmake", "--preset", configuration.name, *cmake_arguments(configuration, labels)):
        result.add(broken("the configuration failed"))
        return result
    runs_python = configuration.mpi != "smpi" and (configuration.mpi != "abi" or with_matrix)
    if configuration in MATRIX and runs_python and (labels == "python" or labels not in DOORS):
        install_mpi4py(configuration)
    for stage in stages_of(configuration, labels, with_matrix):
        result.add(run_stage(configuration, result, build, jobs, *stage))
    return result


DOORS = ("core", "interpose", "tasks", "onesided", "am", "mpix", "tbb", "dataflow", "python")


def choose(names, full):
    known = {c.name: c for c in MATRIX + OTHERS + SANITIZERS}
    if names:
        return [known[name] for name in names]
    return [c for c in MATRIX + OTHERS if not is_default(c.name) and (full or not c.full_only)]


def parts_of(result):
    """How long building and running the tests took; empty if neither began."""
    if "build" not in result.parts:
        return ""
    return f" (build {result.parts['build']:.0f} s, tests {result.parts.get('tests', 0):.0f} s)"


def summarize(results):
    """The table, the tests that failed, and the sum, in this order: a log that keeps only its end keeps the names."""
    lines = [f"{configuration.name:10} {r.passed:5} passed {r.failed:4} failed {r.skipped:4} skipped {r.seconds:7.0f} s"
             f"{parts_of(r)}  {r.note or configuration.what}" for configuration, r in results]
    for configuration, r in results:
        lines += [f"failed: {configuration.name}: {name}" for name in r.failures or ([r.note] if r.failed else [])]
    passed, failed, skipped = (sum(getattr(r, name) for _, r in results) for name in ("passed", "failed", "skipped"))
    return "\n".join(lines + [f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    known = [c.name for c in MATRIX + OTHERS + SANITIZERS]
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help=f"run only these: {' '.join(known)} (default: all but asan and tsan, and without --full but mpich5 and impi)")
    parser.add_argument("--door", metavar="DOOR", help=f"only the tests of one door of src/, on the MPI in PATH: {' '.join(DOORS)}")
    parser.add_argument("--full", action="store_true", help="all tests on every MPI")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time (default: all cores)")
    options = parser.parse_args()
    if options.door and (options.names or options.full or options.door not in DOORS):
        parser.error(f"--door takes one of {' '.join(DOORS)}, without names and --full")
    for name in options.names:
        if name not in known:
            parser.error(f"no configuration {name}; there are: {' '.join(known)}")

    # The Makefile sets these, too, but a tool that `make test` has just installed was not there when it began.
    if shutil.which("ccache"):
        os.environ.setdefault("CMAKE_C_COMPILER_LAUNCHER", "ccache")
        os.environ.setdefault("CMAKE_CXX_COMPILER_LAUNCHER", "ccache")
    if shutil.which("ninja"):
        os.environ.setdefault("CMAKE_GENERATOR", "Ninja")

    # Results of the compiler's cache serve every clone of this repository, wherever it lies.
    os.environ.setdefault("CCACHE_BASEDIR", str(ROOT))
    os.environ.setdefault("CCACHE_NOHASHDIR", "1")
    os.environ.setdefault("CCACHE_SLOPPINESS", "pch_defines,time_macros")  # it serves sources with precompiled headers

    # In CI a missing MPI is a failure, unless THENCE_MATRIX_OPTIONAL=1, which is for runs without a network.
    must_have_all = os.environ.get("CI") == "true" and os.environ.get("THENCE_MATRIX_OPTIONAL") != "1"
    results = []
    for configuration in choose(["release"] if options.door else options.names, options.full):
        labels = options.door or configuration.labels
        if options.full:
            labels = configuration.full or ("" if configuration in MATRIX else labels)
        say(f"\n=== {configuration.name}: {configuration.what}, {labels or 'all'} tests")
        started = time.monotonic()
        reason = install(configuration.mpi) if configuration.mpi else ""
        if absent := missing(configuration):
            say(absent)
            result = Result(skipped=1, note=absent)
        elif reason:
            say(reason)
            result = broken(reason) if must_have_all else Result(skipped=1, note=reason)
        else:
            result = test(configuration, labels, options.jobs, options.full)
        result.seconds = time.monotonic() - started
        results.append((configuration, result))

    say("")
    summary = summarize(results)
    say(summary)
    (ROOT / "build" / "summary.txt").write_text(summary + "\n")
    failed, passed = (sum(getattr(r, name) for _, r in results) for name in ("failed", "passed"))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
