#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/two_hosts.py: what it refuses, what it says without root, that a message takes at least the delay, and that nothing
is left. Arguments: the launcher, and the program pingpong."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PINGPONG = sys.argv.pop()
MPIEXEC = sys.argv.pop()
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "two_hosts.py")


class Run:
    """A run of the script that has ended, and the namespaces that it left."""

    def __init__(self, *arguments):
        with subprocess.Popen([sys.executable, "-B", SCRIPT, "--mpiexec", MPIEXEC, *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as script:
            try:
                self.stdout, self.stderr = script.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                script.terminate()
                raise AssertionError(f"the script still runs after a minute: {script.communicate()}") from None
        self.returncode, self.left = script.returncode, left(script.pid)


def left(script):
    """The namespaces of a run of the script. Others may run at the same time."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False).stdout
    return [line.split()[0] for line in listed.splitlines() if line.startswith(f"two-hosts-{script}-")]


CAN_RUN = Run("--can-run")


def round_trips(*arguments):
    """Microseconds that the fastest tenth and the median of the messages take, and the two hosts."""
    done = Run(*arguments, "--", PINGPONG)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"([0-9.]+) ([0-9.]+) [0-9.]+ us between (\S+) and (\S+)", done.stdout)
    assert found, done.stdout + done.stderr
    assert done.left == [], done.left
    return float(found[1]), float(found[2]), found[3], found[4]


class Usage(unittest.TestCase):
    def refused(self, *arguments, text):
        done = Run(*arguments)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.returncode, 2, done.stderr)

    def test_help_has_all_options(self):
        done = Run("--help")
        self.assertEqual(done.returncode, 0)
        for word in ("--delay", "--bandwidth", "--ranks", "--mpiexec", "Exit status"):
            self.assertIn(word, done.stdout)

    def test_wrong_usage_is_refused(self):
        self.refused(text="no program; write it after --")
        for option, value in (("--delay", "300"), ("--delay", "-1us"), ("--bandwidth", "0MBps"), ("--bandwidth", "fast"), ("--ranks", "0"),
                              ("--ranks", "many")):
            self.refused(f"{option}={value}", "--", "true", text=f"argument {option}: '{value}' is no")

    def test_who_may_make_no_namespaces_is_told_so_in_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            refuses = os.path.join(folder, "unshare")
            with open(refuses, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\necho 'unshare: not permitted' >&2\nexit 1\n")
            os.chmod(refuses, 0o755)
            other = ["unshare", "--user"] if os.geteuid() == 0 else []  # a user namespace in which root is nobody
            if other and subprocess.run([*other, "true"], capture_output=True, check=False).returncode != 0:
                self.skipTest("this kernel has no user namespaces")
            done = subprocess.run([*other, "env", f"PATH={folder}:{os.environ['PATH']}", sys.executable, "-B", SCRIPT, "--", "true"],
                                  capture_output=True, text=True, timeout=60, check=False)
        self.assertRegex(done.stderr, "^two_hosts: skipped: needs root, since this system lets users make no namespaces "
                                      r"\(unshare [^\n]*not permitted\)\n$")
        self.assertEqual(done.returncode, 77)

    def test_another_user_than_root_can_have_two_hosts(self):
        if os.geteuid() != 0 or os.stat("/dev/net/tun").st_mode & 0o6 != 0o6:
            self.skipTest("only root can become another user, who needs /dev/net/tun")
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            for file in (SCRIPT, PINGPONG):
                shutil.copy(file, folder)
            done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "python3", "-B",
                                   os.path.join(folder, "two_hosts.py"), "--mpiexec", MPIEXEC, "--",
                                   os.path.join(folder, os.path.basename(PINGPONG))],
                                  capture_output=True, text=True, timeout=60, check=False, cwd="/", env={**os.environ, "HOME": "/tmp"})
        if done.returncode == 77:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("between two-hosts-a and two-hosts-b", done.stdout)

    def test_this_machine_can_have_two_hosts_or_one_line_says_why_not(self):
        self.assertIn(CAN_RUN.returncode, (0, 77), CAN_RUN.stderr)
        if CAN_RUN.returncode == 77:
            self.assertRegex(CAN_RUN.stderr, "^two_hosts: skipped: [^\n]+\n$")


@unittest.skipIf(CAN_RUN.returncode == 77, CAN_RUN.stderr.strip())
class TwoHosts(unittest.TestCase):
    def test_an_answer_takes_twice_the_delay(self):
        fastest, median, first, second = round_trips("--delay", "2ms")
        self.assertEqual((first, second), ("two-hosts-a", "two-hosts-b"))
        self.assertGreaterEqual(fastest, 4000)
        self.assertLess(fastest, 200_000)  # other programs may use the processors
        self.assertGreaterEqual(median, 4000)

    def test_ranks_are_distributed_in_blocks_and_the_bandwidth_bounds_a_message(self):
        fastest, _, first, second = round_trips("--ranks", "2", "--bandwidth", "300kBps")
        self.assertEqual((first, second), ("two-hosts-a", "two-hosts-b"))
        self.assertGreaterEqual(fastest, 2 * 48 / 300e3 * 1e6)  # 8 B in a packet of at least 48 B, both ways

    def test_unknown_launchers_and_programs_are_refused(self):
        for arguments, text in ((("--mpiexec", "no-such-launcher"), "no launcher no-such-launcher"),
                                (("--mpiexec", "true"), "true is the launcher of an unknown MPI")):
            done = Run(*arguments, "--", PINGPONG)
            self.assertIn(text, done.stderr)
            self.assertEqual(done.returncode, 2)
        done = Run("--", "no-such-program")
        self.assertIn("no program no-such-program", done.stderr)
        self.assertEqual(done.returncode, 2)

    def test_only_a_missing_permission_skips(self):
        for said, status, begin in (("RTNETLINK answers: Operation not permitted", 77, "two_hosts: skipped: ip netns add "),
                                    ("RTNETLINK answers: Invalid argument", 1, "two_hosts: cannot make the network: ip netns add ")):
            with tempfile.TemporaryDirectory() as folder:
                ip = os.path.join(folder, "ip")
                with open(ip, "w", encoding="utf-8") as script:
                    script.write(f"#!/bin/sh\n[ \"$*\" = 'netns list' ] || {{ echo '{said}' >&2; exit 2; }}\n")
                os.chmod(ip, 0o755)
                done = subprocess.run([sys.executable, "-B", SCRIPT, "--can-run"], capture_output=True, text=True, timeout=60, check=False,
                                      env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
            self.assertTrue(done.stderr.startswith(begin) and said in done.stderr, done.stderr)
            self.assertEqual(done.returncode, status)

    def test_a_failure_of_the_program_is_that_of_the_script(self):
        done = Run("--", "false")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.left, [])

    def test_an_interrupt_leaves_nothing(self):
        with subprocess.Popen([sys.executable, "-B", SCRIPT, "--mpiexec", MPIEXEC, "--", "sh", "-c", "echo begun; exec sleep 600"],
                              stdout=subprocess.PIPE, text=True) as script:
            try:
                self.assertEqual(script.stdout.readline(), "begun\n")
                processes = [process for name in left(script.pid)
                             for process in subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True,
                                                           check=False).stdout.split()]
                self.assertGreater(len(processes), 0)
                script.send_signal(signal.SIGINT)
                self.assertEqual(script.wait(timeout=60), 130)
            finally:
                script.kill()
        self.assertEqual(left(script.pid), [])
        end = time.monotonic() + 30
        while any(os.path.exists(f"/proc/{process}") for process in processes):
            self.assertLess(time.monotonic(), end, "processes of the program still run")
            time.sleep(0.05)


if __name__ == "__main__":
    unittest.main()
