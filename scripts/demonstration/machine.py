# SPDX-License-Identifier: BSD-3-Clause
"""Where the demonstration runs: its programs, how they are launched, what their runs have said, and what a task and a message cost
here."""

import json
import os
import re
import subprocess
import sys
import time

import runs

LIMIT = 120  # seconds that a run may last
CONFIG = os.path.join(runs.ROOT, "apps", "heat", "configs", "sources.cfg")
SCRIPT = os.path.join(runs.ROOT, "scripts", "two_hosts.py")


def verdict(report):
    """What a program says of its values; None if it has not checked them."""
    found = report.get("field", {}).get("verdict") or report.get("values") or report.get("factors") or report.get("contents")
    return None if found == "unchecked" else found


def processors_used(before, after, allowed):
    """How many of the processors `allowed` were not idle, on average, between two texts of /proc/stat."""
    def ticks(text):
        for name, fields in re.findall(r"^cpu(\d+) (.*)$", text, re.MULTILINE):
            if int(name) in allowed:
                user, nice, system, idle, waiting, *others = [int(field) for field in fields.split()[:8]]
                yield int(name), (user + nice + system + sum(others), idle + waiting)

    first, used = dict(ticks(before)), 0.0
    for name, (busy, idle) in ticks(after):
        if name not in first:  # it was off
            continue
        busy, idle = busy - first[name][0], idle - first[name][1]
        used += busy / max(busy + idle, 1)
    return used


def processors_in_use(seconds, allowed):
    """The same for the next seconds. The load average also counts what has just ended: a build."""
    def text():
        with open("/proc/stat", encoding="ascii") as file:
            return file.read()

    before = text()
    time.sleep(seconds)
    return processors_used(before, text(), allowed)


class Machine:
    """`status` is the exit status so far; `checked` counts runs whose values were right."""

    def __init__(self, options):
        self.build, self.out, self.scale = os.path.abspath(options.build), os.path.abspath(options.out), options.scale
        self.launcher = runs.launcher(self.build)
        # The main thread of a team that waits for others would occupy the processor that they need.
        self.environment = {**runs.environment(), "OMP_WAIT_POLICY": "passive"}
        self.cores = len(os.sched_getaffinity(0))
        self.load = processors_in_use(0.5, os.sched_getaffinity(0))  # by other programs: ours have not begun
        self.progress = runs.Progress(0)
        self.status = self.checked = 0
        self.fields, self.known_variants = {}, {}

    def program(self, name):
        return os.path.join(self.build, "bin", name)

    def scaled(self, number):
        return max(1, number * self.scale // 100)

    def file(self, situation, way, kind):
        """A file of the first run of a way."""
        place = situation.ways().index(way)
        return os.path.join(self.out, f"{situation.name}-{('without', 'with')[place] if place < 2 else f'by-hand-{place - 1}'}.{kind}")

    # What can run

    def missing(self, chosen):
        """The situations whose programs or variants were not built, and why."""
        return [(s.name, why) for s in chosen if (why := self.why_not(s))]

    def can_run(self, situation):
        return not self.why_not(situation)

    def why_not(self, situation):
        for way in situation.ways():
            for word in way.command:
                if word.startswith(os.path.join(self.build, "bin")) and not os.access(word, os.X_OK):
                    return f"since there is no program {os.path.relpath(word, self.build)}"
            if "--variant" in way.command:
                variant = way.command[way.command.index("--variant") + 1]
                if variant not in self.variants(way.command[0]):
                    return f"since {os.path.basename(way.command[0])} was built without the variant {variant}"
        return None

    def variants(self, program):
        if program not in self.known_variants:
            text = subprocess.run([program, "--help"], capture_output=True, text=True, check=False).stdout
            self.known_variants[program] = set(re.findall(r"^  ([a-z][a-z-]+) ", text, re.MULTILINE))
        return self.known_variants[program]

    # Runs

    def launch(self, ranks, delay):
        """The command that starts a program on `ranks` ranks, on two hosts if there is a delay."""
        if not delay:
            return [self.launcher, "-n", str(ranks)]
        return [sys.executable, SCRIPT, "--delay", delay, "--ranks", str(ranks // 2), "--mpiexec", self.launcher, "--"]

    def run(self, situation, way, number):
        """One run; number 0 is the first. Returns its report; None if it failed or its values are wrong."""
        self.progress.step(f"{situation.name}, {way.label}" + (f", run {number}" if number else ", with a picture"))
        timeline, result = self.file(situation, way, "timeline.json"), self.file(situation, way, "json" if number == 0 else "last.json")
        more = [timeline if word == "{timeline}" else word for word in (way.later if number else way.first_run)]
        command = [*self.launch(way.ranks, situation.delay), *way.command, *more]
        if way.reports:
            command += ["--progress", "never", "--json", result]
        return self.call(f"{situation.name}, {way.label}", command, self.file(situation, way, "log"), result if way.reports else None)

    def call(self, what, command, log, result):
        """Runs a command that writes its report to `result`, or prints how long it lasted."""
        status, why = 1, ""
        report = None
        try:
            with open(log, "w", encoding="utf-8") as file:
                status = runs.call(command, LIMIT, self.environment, file)
            why = f"ended with status {status}"
            if status == 0:
                report = self.read(log, result)
        except subprocess.TimeoutExpired:
            why = f"was stopped after {LIMIT} s"
        except (OSError, ValueError) as error:
            why = f"wrote no report: {error}"
        if report is None:
            self.progress.end()
            print(f"demo: {what} {why}; the end of {log}:", file=sys.stderr)
            with open(log, encoding="utf-8", errors="replace") as file:
                print("".join(file.readlines()[-15:]), end="", file=sys.stderr, flush=True)
            self.status = max(self.status, 3 if status == 3 else 1)
            return None
        self.checked += verdict(report) is not None
        return report

    @staticmethod
    def read(log, result):
        if result:
            with open(result, encoding="utf-8") as file:
                return json.load(file)
        with open(log, encoding="utf-8") as file:
            text = file.read()
        found = re.search(r"lasted ([0-9.]+) ms.* rounds took ([0-9.]+) us", text)
        if not found:
            raise ValueError("it does not say how long it lasted")
        return {"time_s": float(found[1]) / 1000, "round_us": float(found[2])}

    @staticmethod
    def seconds(report):
        return report["time_s"] if "time_s" in report else report["latencies"][0]["latency_us"] * 1e-6

    def block(self, situation, report):
        """Seconds of a block of work of ours."""
        timeline = None
        if "{timeline}" in situation.ours.first_run:
            with open(self.file(situation, situation.ours, "timeline.json"), encoding="utf-8") as file:
                timeline = json.load(file)
        return situation.block(report, timeline)

    def field(self, program, arguments, iterations):
        """The file that the serial run of heat writes with which others are compared. It runs before the first of them."""
        file = os.path.join(self.out, f"field-{iterations}.npy")
        self.fields[file] = [program, *arguments, "--field", file, "--start", os.path.join(self.out, "start.npy")]
        return file

    def make_fields(self, situations):
        wanted = {word for s in situations for way in s.ways() for word in way.first_run if word in self.fields}
        for file in sorted(wanted):
            self.progress.step("heat, a serial run for comparison")
            result = file.replace(".npy", ".json")
            self.call("heat, serial", [*self.launch(1, ""), *self.fields[file], "--progress", "never", "--json", result], file.replace(".npy", ".log"), result)

    def measure_costs(self):
        """What a task costs beside its work, and a round of messages of 8 B between two ranks of this host, in seconds: the least of
        three runs. None where the program is missing."""
        costs = {"task_s": None, "message_s": None}
        heat, unchanged = self.program("heat"), self.program("examples/unchanged")
        log, result = os.path.join(self.out, "costs.log"), os.path.join(self.out, "costs.json")
        tiny = ["--size", "512x512", "--block", "8", "--iterations", "4", "--variant", "dataflow", "--threads", "1"]
        tasks = 64 * 64 * 4
        for what, program in (("task_s", heat), ("message_s", unchanged)):
            if not os.access(program, os.X_OK) or (program == heat and "dataflow" not in self.variants(heat)):
                continue
            found = []
            for _ in range(3):
                self.progress.step("what a task and a message cost")
                if program == heat:
                    report = self.call(what, [*self.launch(1, ""), heat, CONFIG, *tiny, "--progress", "never", "--json", result], log, result)
                    found += [(report["time_s"] - report["ranks_detail"][0]["compute_s"]) / tasks] if report else []
                else:
                    report = self.call(what, [*self.launch(2, ""), unchanged, "2000", "0", "8", "message"], log, None)
                    found += [report["round_us"] * 1e-6] if report else []
            costs[what] = min(found, default=None)
        return costs

    def verdict(self):
        """The last line of the report."""
        if self.status == 0:
            return [f"All {self.checked} runs that were checked have the right values."]
        return ["Some runs failed or have wrong values; their logs are kept."]
