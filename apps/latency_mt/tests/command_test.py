#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Command line and files of latency_mt. Arguments: the program, the one with Argobots, the program on an MPI with a fault, then the
launcher and its options."""
import os
import subprocess
import sys
import unittest

APP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(APP, "../common/tests"))
from command import CommandTest, Program

PLOT = os.path.join(APP, "plot.py")
SMALL = ["--rounds", "2", "--largest", "4", "--in-flight", "2"]


class Command(CommandTest):
    program = Program(sys.argv[1], sys.argv[4:])
    argobots = Program(sys.argv[2], sys.argv[4:])
    faulty = Program(sys.argv[3], sys.argv[4:])

    def test_help_names_options_variants_and_exit_status(self):
        self.help_has("--in-flight", "threads", "waitany")

    def test_wrong_usage_is_refused(self):
        self.refuses_what_every_application_refuses(*SMALL, files=())
        self.refused("--in-flight", "0", text="--in-flight")
        self.refused("--in-flight", "1025", text="--in-flight")
        self.refused("--rounds", "many", text="--rounds")
        self.refused("--smallest", "0", text="--smallest")
        self.refused("--smallest", "8", "--largest", "4", text="8 is more than --largest 4")
        self.refused("--progress", "often", text="--progress")
        self.refused("--threads", "2", text="the variant threads has no worker threads; leave it out, or use --variant fibers")
        self.refused("--threads", "0", text="--threads")
        self.refused("--compute", "-1", text="--compute")
        self.refused("--compute", "long", text="--compute")
        self.refused("--imbalance", "5@zones:1", text="'zones' is unknown; known are rank, lanes")
        self.refused("--imbalance", "5@lanes:", text="no number after 'lanes:'")
        self.refused("--imbalance", "5@lanes:0.5", text="lanes numbers are whole, from 0")
        self.refused("--imbalance", "0.5@rank:1", text="the factor is between 1 and 1000")
        self.refused("--imbalance", "5@rank:1", text="'5@rank:1' multiplies the time of --compute, which is 0; add for example --compute 10")

    def test_an_imbalance_of_a_rank_or_lane_that_there_is_not_is_refused_once(self):
        self.refused(*SMALL, "--compute", "1", "--imbalance", "5@rank:1,2", ranks=2, text="there is no rank 2, only 0 to 1")
        self.refused(*SMALL, "--compute", "1", "--imbalance", "5@lanes:2", ranks=2, text="there is no lane 2, only 0 to 1")

    def test_more_worker_threads_than_messages_are_refused(self):
        if "\n  fibers " not in self.program("--help").stdout:
            self.skipTest("built without Boost.Fiber")
        self.refused(*SMALL, "--variant", "fibers", "--threads", "3", text="3 are more than the 2 messages of --in-flight")

    def test_another_number_of_ranks_is_refused_once(self):
        self.refused(text="needs 2 ranks and has 1; start it with mpirun -n 2")
        self.refused(ranks=3, text="needs 2 ranks and has 3")

    def test_a_file_that_cannot_be_written_is_refused_before_the_run(self):
        for file, why in ((self.file("no/such/folder.json"), "No such file"), (self.folder.name, "Is a directory")):
            self.refused(*SMALL, "--json", file, ranks=2, text=f"{file}: cannot write this file: {why}")

    def test_progress_is_drawn_where_it_is_asked_for(self):
        self.assertRegex(self.accepted(*SMALL, "--progress", "always", ranks=2).stderr, "threads .* of 3 sizes")

    def test_json_has_a_latency_for_each_size_and_is_drawn(self):
        picture = self.file("picture.png")
        found = self.report(*SMALL, ranks=2)
        self.assertEqual([row["bytes"] for row in found["latencies"]], [1, 2, 4])
        self.assertTrue(all(row["latency_us"] > 0 for row in found["latencies"]))
        self.assertEqual((found["variant"], found["in_flight"], found["contents"]), ("threads", 2, "right"))
        self.assertEqual((found["compute_us"], "imbalance" in found, "other_lanes_us" in found["latencies"][0]), (0, False, False))
        self.draws(PLOT, self.file("run.json"), "-o", picture, picture=picture)

    def test_lanes_compute_and_an_imbalance_makes_a_rank_or_a_lane_dearer(self):
        few = ["--in-flight", "2", "--rounds", "4", "--smallest", "8", "--largest", "8", "--compute", "500"]
        programs = {"threads": self.program, "waitany": self.program, "argobots": self.argobots, "argobots-yield": self.argobots}
        if "\n  fibers " in self.program("--help").stdout:
            programs.update({"fibers": self.program, "fibers-yield": self.program})
        for variant, program in programs.items():
            with self.subTest(variant=variant):
                def run(*args):
                    file = self.file("run.json")
                    text = self.accepted(*few, *args, "--variant", variant, "--json", file, ranks=2, program=program).stdout
                    found = self.read(file)
                    self.assertEqual((found["compute_us"], found.get("imbalance"), found["contents"]), (500, args[1] if args else None, "right"))
                    self.assertIn("computing 500 us, " + (f"{args[1]}, " if args else "contents"), text)
                    row, = found["latencies"]
                    self.assertEqual("other lanes us" in text, "other_lanes_us" in row)
                    return row["latency_us"], row.get("other_lanes_us")
                # Half a round trip takes at least the mean of what a lane computes on both ranks, however busy the machine is.
                even, none = run()
                self.assertGreaterEqual(even, 500)
                self.assertIsNone(none)
                dear, none = run("--imbalance", "40@rank:1")
                self.assertGreaterEqual(dear, (500 + 40 * 500) / 2)
                self.assertIsNone(none)
                dear, others = run("--imbalance", "40@lanes:1")
                self.assertGreaterEqual(dear, 40 * 500)
                self.assertGreaterEqual(others, 500)
                self.assertLessEqual(others, dear)
                self.assertIsNone(run("--imbalance", "2@lanes:0,1")[1])  # there are no others

    def test_a_wrong_byte_is_reported_by_the_rank_that_received_it(self):
        file = self.file("run.json")
        text = "rank 1: lane 0, round 0, byte 3 of 4: found "
        for variant in ("threads", "waitany"):
            output = self.refused("--variant", variant, "--rounds", "2", "--smallest", "4", "--largest", "4", "--in-flight", "2",
                                  "--json", file, ranks=2, program=self.faulty, env={"FAULT": "wrong_value"}, status=3,
                                  text=f"latency_mt: {text}")
            self.assertRegex(output, r"found (\d+), expected (\d+), difference (1|-1)\n")
            self.assertNotIn("rank 0:", output)
            self.assertIn("contents WRONG", output)
            self.assertIn(text, self.read(file)["contents"])

    def program_with_one_variant(self):
        """The program, whose fibers it calls by the name of a variant that only another program has."""
        file = self.file("other_program")
        with open(file, "w", encoding="utf-8") as script:
            script.write(f"""#!/bin/sh
if [ "$1" = --help ]; then
    printf '\\n  argobots \\n'
    exit
fi
exec {self.program.path} $(echo "$@" | sed 's/--variant argobots/--variant fibers/')
""")
        os.chmod(file, 0o755)
        return file

    def test_block_or_yield_measures_four_cases_and_draws_them(self):
        picture = self.file("picture.png")
        if "\n  fibers " not in self.program("--help").stdout:
            self.skipTest("built without Boost.Fiber")
        launch, ranks_option, *more = self.program.launcher
        drawn = self.plot(os.path.join(APP, "block_or_yield.py"), self.program.path, self.program_with_one_variant(),
                          "--rounds", "2", "--largest", "2", "--fibers", "2", "--launch", " ".join([launch, ranks_option, "2", *more]), "-o", picture)
        if "install matplotlib" in drawn.stderr:
            self.skipTest("no matplotlib")
        self.assertEqual(drawn.returncode, 0, drawn.stderr)
        for case in ("1       1  fibers ", "2       2  fibers-yield ", "1       2  fibers-yield ", "2       4  fibers ", "2       4  argobots "):
            self.assertIn(case, drawn.stdout)
        self.assertTrue(os.path.getsize(picture) > 0)

    def test_block_or_yield_uses_the_launcher_of_the_environment(self):
        if "\n  fibers " not in self.program("--help").stdout:
            self.skipTest("built without Boost.Fiber")
        launcher = self.file("launcher", b"#!/bin/sh\necho \"launched with $*, yielding $OMPI_MCA_mpi_yield_when_idle\" >&2\nexit 7\n")
        os.chmod(launcher, 0o755)
        script = [sys.executable, "-B", os.path.join(APP, "block_or_yield.py"), self.program.path]
        environment = {name: value for name, value in os.environ.items() if name != "OMPI_MCA_mpi_yield_when_idle"}
        done = subprocess.run(script, capture_output=True, text=True, check=False, cwd=self.folder.name,
                              env={**environment, "MPIEXEC": launcher})
        if "install matplotlib" in done.stderr:
            self.skipTest("no matplotlib")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, f"launched with -n 2 {self.program.path} .*, yielding 1\n")

    def test_plots_refuse_other_files(self):
        self.refuses_other_files(PLOT, ([], []))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
