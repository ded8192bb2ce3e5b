#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/scaling.py at small size: the shapes that it runs, its values, its files, and what it refuses. Arguments: the
launcher, then heat, heat_plates, bt_mz and wavefront."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

LAUNCHER, HEAT, PLATES, BT_MZ, WAVEFRONT = (sys.argv.pop(1) for _ in range(5))
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SCRIPT = os.path.join(ROOT, "scripts", "scaling.py")
SMALL = {HEAT: [os.path.join(ROOT, "apps/heat/configs/sources.cfg"), "--size", "64x64", "--block", "16", "--iterations", "5"],
         PLATES: ["--size", "64x64", "--iterations", "5"], BT_MZ: ["S"], WAVEFRONT: ["--grid", "200x50"]}


def variants(program):
    text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  ([a-z][a-z-]+) ", text.partition("Variants:")[2], re.MULTILINE)


class Scaling(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.file = os.path.join(self.folder, "scaling.json")

    def scaling(self, *arguments, python=sys.executable):
        return subprocess.run([python, "-B", SCRIPT, *arguments], capture_output=True, text=True, check=False, timeout=200)

    def points(self, program, *arguments):
        done = self.scaling(program, "--mpiexec", LAUNCHER, "--rounds", "1", "--oversubscribe", "--json", self.file, *arguments,
                            "--", *SMALL[program])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(self.file, encoding="utf-8") as text:
            return json.load(text)["points"], done

    def refused(self, *arguments, text, status=2):
        done = self.scaling(*arguments)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def stand_in(self, *lines):
        """A wavefront that does what lines of sh say; $report is the file of --json."""
        program = os.path.join(self.folder, "wavefront")
        with open(program, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nif [ \"$1\" = --help ]; then printf 'Variants:\\n  mpi  x\\n\\nExamples:\\n'; exit; fi\n"
                       "while [ $# -gt 1 ]; do [ \"$1\" = --json ] && report=$2; shift; done\n" + "\n".join(lines) + "\n")
        os.chmod(program, 0o755)
        return [program, "--mpiexec", LAUNCHER, "--rounds", "1", "--cores", "1"]

    def test_one_thread_per_rank_makes_ranks_of_cores(self):
        for program, value in ((PLATES, "identical"), (WAVEFRONT, "right"), (BT_MZ, "verified")):
            found, done = self.points(program, "--variants", "mpi,callbacks", "--cores", "1,2")
            shapes = [(point["variant"], point["cores"], point["ranks"], point["threads"]) for point in found]
            self.assertEqual(shapes, [("mpi", 1, 1, 1), ("mpi", 2, 2, 1), ("callbacks", 1, 1, 1), ("callbacks", 2, 2, 1)])
            self.assertEqual({point["values"] for point in found}, {value})
            self.assertIn(f"All 4 runs have right values ({value})", done.stdout)
            self.assertIn("[4/4] round 1: callbacks, 2 x 1", done.stderr)

    def test_without_arguments_there_is_work_for_a_rank_on_each_core(self):
        once = os.path.join(self.folder, "heat")  # heat with a single iteration
        with open(once, "w", encoding="utf-8") as file:
            file.write(f"""#!/usr/bin/env python3
import os, sys
words = sys.argv[1:]
if "--iterations" in words:
    words[words.index("--iterations") + 1] = "1"
os.execv({HEAT!r}, [{HEAT!r}, *words])
""")
        os.chmod(once, 0o755)
        done = self.scaling(once, "--mpiexec", LAUNCHER, "--rounds", "1", "--cores", "1,8", "--oversubscribe", "--json", self.file)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(self.file, encoding="utf-8") as text:
            result = json.load(text)
        shapes = [(point["variant"], point["ranks"]) for point in result["points"] if point["variant"] == "mpi"]
        self.assertEqual(shapes, [("mpi", 1), ("mpi", 8)])
        self.assertEqual({point["values"] for point in result["points"]}, {"identical"})
        self.assertIn("--size", result["arguments"])

    def test_without_arguments_bt_mz_has_a_zone_for_each_rank(self):
        sys.path.insert(0, os.path.dirname(SCRIPT))
        import scaling
        classes = [scaling.APPLICATIONS["bt_mz"][1](ranks) for ranks in (1, 16, 17, 64, 65)]
        self.assertEqual(classes, [["W"], ["W"], ["B"], ["B"], ["C"]])

    def test_threads_of_a_variant_divide_the_cores(self):
        threaded = [name for name in ("omp-tasks", "tbb") if name in variants(HEAT)]
        if not threaded:
            self.skipTest("heat was built without tasks")
        name = threaded[0]
        found, done = self.points(HEAT, "--variants", f"serial,mpi,{name}:2,{name}:all", "--cores", "1,2,4")
        shapes = {(point["variant"], point["cores"]): (point["ranks"], point["threads"]) for point in found}
        self.assertEqual(shapes, {("serial", 1): (1, 1), ("mpi", 1): (1, 1), ("mpi", 2): (2, 1), ("mpi", 4): (4, 1),
                                  (f"{name}:2", 1): (1, 1), (f"{name}:2", 2): (1, 2), (f"{name}:2", 4): (2, 2),
                                  (f"{name}:all", 1): (1, 1), (f"{name}:all", 2): (1, 2), (f"{name}:all", 4): (1, 4)})
        if len(os.sched_getaffinity(0)) < 4:
            self.assertIn("say nothing about scaling", done.stdout)

    def test_speed_and_efficiency_are_those_of_the_medians(self):
        program = self.stand_in('echo \'{"ranks": 1, "time_s": \'$(date +%N | cut -c5)\'.5, "values": "right"}\' > "$report"')
        done = self.scaling(*program, "--rounds", "3", "--json", self.file)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.file, encoding="utf-8") as text:
            result = json.load(text)
        times = result["points"][0]["times_s"]
        self.assertEqual(len(times), 3)
        self.assertEqual(result["points"][0]["median_s"], sorted(times)[1])
        result["points"].append({"variant": "mpi", "cores": 4, "ranks": 4, "threads": 1, "values": "right",
                                 "times_s": [sorted(times)[1] / 2] * 3})
        with open(self.file, "w", encoding="utf-8") as text:
            json.dump(result, text)
        self.assertRegex(self.scaling("--from", self.file).stdout, r"mpi +4 +4 x 1 +[0-9.]+ +2\.00 +0\.50 ")

    def test_draws_a_plot_now_or_later(self):
        python = next((name for name in (sys.executable, "/usr/bin/python3") if shutil.which(name) and subprocess.run(
            [name, "-c", "import matplotlib"], capture_output=True, check=False).returncode == 0), None)
        if python is None:
            self.skipTest("no matplotlib")
        self.points(WAVEFRONT, "--variants", "mpi,callbacks", "--cores", "1,2")
        plot = os.path.join(self.folder, "scaling.svg")
        done = self.scaling("--from", self.file, "--plot", plot, python=python)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(plot, encoding="utf-8") as text:
            self.assertIn("<svg", text.read())
        done = self.scaling("--from", self.file, "--plot", os.path.join(self.folder, "scaling.what"), python=python)
        self.assertEqual((done.returncode, "--plot" in done.stderr), (2, True), done.stderr)

    def test_a_run_that_fails_or_has_wrong_values_ends_the_script(self):
        self.refused(*self.stand_in("echo no luck; exit 9"), text="no luck", status=1)
        self.refused(*self.stand_in("echo value 7; exit 3"), text="value 7", status=3)
        self.refused(*self.stand_in("exit 0"), text="wrote no report", status=1)
        self.refused(*self.stand_in('echo \'{"ranks": 1, "time_s": 1, "values": "wrong"}\' > "$report"'), text="not right: wrong",
                     status=3)
        self.refused(*self.stand_in("sleep 100"), "--timeout", "1", text="did not end within 1 s; --timeout", status=1)

    def test_wrong_usage_is_refused(self):
        self.refused(text="name a program, or a file with --from")
        self.refused("no/such/heat", text="no program")
        self.refused("/bin/ls", text="ls is unknown; this script runs heat, ")
        for option, value in (("--cores", "0"), ("--cores", "1-4"), ("--rounds", "0"), ("--timeout", "x")):
            self.refused(PLATES, f"{option}={value}", text=f"argument {option}: '{value}' is no")
        mpi = ("--mpiexec", LAUNCHER)
        self.refused(PLATES, *mpi, "--cores", "9999", text="or add --oversubscribe")
        self.refused(PLATES, *mpi, "--cores", "1", "--variants", "magic", text="no variant 'magic'; it has mpi, forkjoin, ")
        self.refused(PLATES, *mpi, "--cores", "1", "--variants", "mpi:x", text="write NAME, NAME:THREADS or NAME:all")
        self.refused(PLATES, *mpi, "--cores", "1", "--variants", "mpi:2", text="heat_plates has one thread per rank; write mpi")
        self.refused(BT_MZ, *mpi, "--cores", "2", "--oversubscribe", "--variants", "mpi:2", "--", "S",
                     text="mpi has one thread per rank; write mpi")
        if "forkjoin" in variants(BT_MZ):
            self.refused(BT_MZ, *mpi, "--cores", "3", "--oversubscribe", "--variants", "forkjoin:2", "--", "S",
                         text="no multiple of its threads")
        self.refused(BT_MZ, *mpi, "--cores", "1", "--variants", "mpi", "--", "S", "--steps", "2",
                     text="cannot check its values with these arguments")
        self.refused(PLATES, "--mpiexec", "/no/launcher", text="no launcher /no/launcher; choose one with --mpiexec")
        self.refused(PLATES, "--mpiexec", "true", text="launcher of an unknown MPI")
        self.refused(PLATES, "--json", "/no/such/folder/x.json", text="cannot write this file")
        self.refused("--from", SCRIPT, text="no file of --json")
        with open(self.file, "w", encoding="utf-8") as file:
            json.dump({"points": [{"variant": "mpi", "cores": 1, "ranks": 1, "threads": 1, "times_s": [1]}]}, file)
        self.refused("--from", self.file, text="no file of --json")


if __name__ == "__main__":
    unittest.main()
