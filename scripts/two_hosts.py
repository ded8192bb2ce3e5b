#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs an MPI program on two "hosts" of this machine, with TCP between them and a delay that you choose.

Each host is a network namespace with a name of its own. A TUN device in each is the only network between them, and this
script carries the packets from one to the other, each at its time: so no kernel module such as netem is needed. Ranks of one
host use shared memory as usual. Needs /dev/net/tun, and root or a system that lets users make namespaces."""

import argparse
import collections
import ctypes
import errno
import fcntl
import os
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

SKIPPED = 77  # the exit status by which CTest and Automake know a skipped test
DEVICE = "twohosts"
HOSTS = ("two-hosts-a", "two-hosts-b")
ADDRESSES = ("10.77.0.1", "10.77.0.2")
MTU = 9000
AS_ROOT = ("unshare", "--user", "--map-root-user", "--net", "--mount")
EPILOG = """examples:
  scripts/two_hosts.py --delay 300us -- build/release/bin/bt_mz W --variant omp-tasks --threads 1
  scripts/two_hosts.py --delay 50us --ranks 2 --bandwidth 100MBps --mpiexec mpiexec.mpich -- ./program

The delay is one way, so an answer takes twice as long. To it comes what TCP and the MPI take.

Exit status: that of the launcher; 1 the network cannot be made; 2 wrong usage; 77 skipped, since a program or /dev/net/tun is
missing or the system permits no namespaces (one line says what)."""


def fail(message, status=2):
    print(f"two_hosts: {message}", file=sys.stderr)
    sys.exit(status)


def quantity(what, units, example):
    """A reader of numbers with a unit."""
    def read(text):
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(" + "|".join(units) + ")", text)
        if not match or (not float(match[1]) and what == "bandwidth"):
            raise argparse.ArgumentTypeError(f"'{text}' is no {what}; write for example {example}")
        return float(match[1]) * units[match[2]]
    return read


def number_of_ranks(text):
    if not re.fullmatch(r"[1-9][0-9]{0,3}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of ranks; write for example 2 (1 to 9999)")
    return int(text)


def missing():
    """Why this machine cannot have two hosts; None if nothing is missing."""
    for program in ("ip", "unshare", "hostname"):
        if not shutil.which(program):
            return f"needs the program {program}; on Debian: apt install iproute2 util-linux hostname"
    if os.geteuid() != 0:
        why = run(*AS_ROOT, "true")
        if why:
            return f"needs root, since this system lets users make no namespaces ({why})"
    try:
        os.close(os.open("/dev/net/tun", os.O_RDWR))
    except OSError as error:
        return f"needs /dev/net/tun: {error.strerror}"
    return None


def become_root():
    """A user who is not root becomes root of namespaces in which this script begins again. Outside of these nothing changes."""
    if os.geteuid() != 0:
        os.execvp(AS_ROOT[0], [*AS_ROOT, "sh", "-c", "mount -t tmpfs none /run && exec \"$@\"", "sh",  # where ip keeps the names
                               sys.executable, *sys.argv])


def run(*command):
    """Runs a command of the system. Returns an empty text, or what it said when it failed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"{' '.join(command)}: {done.stderr.strip()}"


def remove_stale():
    """Deletes the namespaces of scripts that were killed. Their processes and devices have ended, or go with them."""
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False).stdout
    for name in re.findall(r"^two-hosts-[0-9]+-[ab]", listed, re.MULTILINE):
        if not os.path.exists(f"/proc/{name.split('-')[2]}"):
            remove(name)


def remove(namespace):
    """Ends the processes that the launcher has left in a namespace, and deletes it."""
    left = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=False).stdout.split()
    for process in left:
        try:
            os.kill(int(process), signal.SIGKILL)
        except ProcessLookupError:
            pass
    subprocess.run(["ip", "netns", "del", namespace], capture_output=True, check=False)


class NoNetwork(Exception):
    """Why there is no network, and whether the system only does not permit one."""

    def __init__(self, why, denied):
        super().__init__(why)
        self.denied = denied


class Network:
    """The two namespaces, and a TUN device in each. `close` removes everything."""

    def __init__(self):
        remove_stale()
        self.names = [f"two-hosts-{os.getpid()}-{letter}" for letter in "ab"]
        self.files = []

    def open(self):
        """Throws NoNetwork."""
        for name, address in zip(self.names, ADDRESSES):
            device = f"tun{os.getpid()}{name[-1]}"
            try:
                tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
                self.files.append(tun)
                # TUNSETIFF; IFF_TUN (1) and IFF_NO_PI (0x1000): whole IP packets, nothing before them
                fcntl.ioctl(tun, 0x400454ca, struct.pack("16sH22x", device.encode(), 0x1001))
            except OSError as error:
                raise NoNetwork(f"/dev/net/tun: {error.strerror}", error.errno == errno.EPERM) from None
            for command in (("ip", "netns", "add", name),
                            ("ip", "link", "set", device, "netns", name, "name", DEVICE),
                            ("ip", "-n", name, "link", "set", "lo", "up"),
                            ("ip", "-n", name, "link", "set", DEVICE, "mtu", str(MTU), "txqueuelen", "10000"),
                            ("ip", "-n", name, "addr", "add", f"{address}/24", "dev", DEVICE),
                            ("ip", "-n", name, "link", "set", DEVICE, "up")):
                wrong = run(*command)
                if wrong:
                    raise NoNetwork(wrong, os.strerror(errno.EPERM) in wrong)

    def close(self):
        for name in self.names:
            remove(name)
        for file in self.files:
            os.close(file)
        self.files = []


def relay(files, delay, bandwidth, stop):
    """Carries packets between the two devices until `stop` is readable. A packet leaves when the one before it has left
    (bandwidth), and arrives `delay` seconds later. Runs in a process of its own: nothing may hold it up."""
    for urgent in (lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)), lambda: os.nice(-20)):
        try:
            urgent()
            break
        except OSError:
            pass
    ctypes.CDLL(None).prctl(29, 1, 0, 0, 0)  # PR_SET_TIMERSLACK, 1 ns: sleep no longer than asked
    clock = time.monotonic
    other = {files[0]: files[1], files[1]: files[0]}
    waiting = {file: collections.deque() for file in files}  # by destination, in order of arrival
    free_at = {file: 0.0 for file in files}
    watched = [*files, stop]
    while True:
        due = min((queue[0][0] for queue in waiting.values() if queue), default=None)
        ready = select.select(watched, [], [], None if due is None else max(0.0, due - clock()))[0]
        if stop in ready:
            return
        for source in ready:
            for _ in range(16):
                try:
                    packet = os.read(source, MTU + 100)
                except BlockingIOError:
                    break
                target = other[source]
                free_at[target] = max(free_at[target], clock()) + (len(packet) / bandwidth if bandwidth else 0.0)
                waiting[target].append((free_at[target] + delay, packet))
        for target, queue in waiting.items():
            while queue and queue[0][0] <= clock():
                try:
                    os.write(target, queue.popleft()[1])
                except OSError:  # a device that is not up yet, or a full queue: a lost packet, which TCP sends again
                    pass


class Relay:
    """The process that runs `relay`."""

    def __init__(self, files, delay, bandwidth):
        self.stop_read, self.stop_write = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            status = 1
            try:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                os.close(self.stop_write)  # so that it also ends when this script is killed
                relay(files, delay, bandwidth, self.stop_read)
                status = 0
            finally:
                os._exit(status)
        os.close(self.stop_read)

    def close(self):
        os.close(self.stop_write)
        os.waitpid(self.process, 0)


def family(launcher):
    """Which launcher it is: openmpi, hydra or intel; None if it is unknown."""
    try:
        done = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=False, timeout=60,
                              env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = done.stdout + done.stderr
    for word, name in (("Open MPI", "openmpi"), ("OpenRTE", "openmpi"), ("Intel", "intel"), ("HYDRA", "hydra")):
        if word in text:
            return name
    return None


def known_family(launcher, give_up):
    """As family(); calls give_up() with the reason if the launcher is missing, or that of an unknown MPI."""
    if not shutil.which(launcher):
        give_up(f"no launcher {launcher}; choose one with --mpiexec")
    kind = family(launcher)
    if kind is None:
        give_up(f"{launcher} is the launcher of an unknown MPI; known are Open MPI, MPICH and Intel MPI")
    return kind


def enter(namespace, host):
    """The command that runs another one, which follows it, on a host. ip also mounts /sys of the namespace, which MPIs
    read."""
    return ["ip", "netns", "exec", namespace, "unshare", "--uts", "sh", "-c", f"hostname {host} && exec \"$@\"", "sh"]


def write_agent(folder, namespaces):
    """A stand-in for ssh: AGENT [OPTIONS] HOST COMMAND."""
    agent = os.path.join(folder, "agent")
    cases = "".join(f"{address}) exec {shlex.join(enter(namespace, host))} sh -c \"$*\" ;;\n"
                    for namespace, host, address in zip(namespaces, HOSTS, ADDRESSES))
    with open(agent, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nwhile [ \"${{1#-}}\" != \"$1\" ]; do shift; done\nhost=$1\nshift\ncase $host in\n{cases}esac\n"
                   "echo \"two_hosts: unknown host $host\" >&2\nexit 1\n")
    os.chmod(agent, 0o755)
    return agent


def launch(kind, launcher, ranks, agent):
    """The environment and the arguments by which a launcher uses both hosts, TCP between them, and the agent."""
    environment = {"UCX_TLS": "self,sysv,posix,tcp", "UCX_NET_DEVICES": DEVICE, "FI_PROVIDER": "tcp", "FI_TCP_IFACE": DEVICE}
    if kind == "openmpi":
        environment.update({
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_plm_rsh_agent": agent, "PRTE_MCA_plm_ssh_agent": agent, "OMPI_MCA_pml": "ob1",
            "OMPI_MCA_btl": "^openib,usnic,uct", "OMPI_MCA_btl_tcp_if_include": DEVICE, "OMPI_MCA_osc": "^ucx"})
        return environment, [launcher, "--oversubscribe", "--bind-to", "none", "--host",
                             ",".join(f"{address}:{ranks}" for address in ADDRESSES), "-n", str(2 * ranks)]
    # UCX takes both hosts for one, since they have one kernel: between ranks of MPICH on UCX it must not use shared memory.
    environment["UCX_TLS"] = "self,tcp"
    if kind == "hydra":
        # With libfabric's provider tcp alone, ranks of MPICH 5 whose threads send at the same time wait for ever.
        environment["FI_PROVIDER"] = "tcp;ofi_rxm"
    prefix = "I_MPI_HYDRA_BOOTSTRAP" if kind == "intel" else "HYDRA_LAUNCHER"
    environment.update({prefix: "rsh", f"{prefix}_EXEC": agent})
    if kind == "intel":
        environment.update({"I_MPI_HYDRA_IFACE": DEVICE, "I_MPI_PIN": "0", "I_MPI_FABRICS": "shm:ofi", "I_MPI_OFI_PROVIDER": "tcp"})
    return environment, [launcher, "-iface", DEVICE, "-hosts", ",".join(ADDRESSES), "-ppn", str(ranks), "-n", str(2 * ranks)]


def stop(*_):
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser(description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--delay", type=quantity("time", {"us": 1e-6, "ms": 1e-3}, "300us"), default=0.0, metavar="TIME",
                        help="one-way delay of each packet, such as 300us or 1ms [0us]")
    parser.add_argument("--bandwidth", type=quantity("bandwidth", {"kBps": 1e3, "MBps": 1e6, "GBps": 1e9}, "100MBps"),
                        default=None, metavar="RATE", help="in each direction, such as 100MBps [what the relay can carry]")
    parser.add_argument("--ranks", type=number_of_ranks, default=1, metavar="N", help="ranks per host [1]")
    parser.add_argument("--mpiexec", default="mpiexec", metavar="PROGRAM", help="launcher of Open MPI, MPICH or Intel MPI [mpiexec]")
    parser.add_argument("--can-run", action="store_true", help="only check whether this machine can have two hosts: status 0 or 77")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- PROGRAM [ARGUMENT ...]")
    options = parser.parse_args()
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command and not options.can_run:
        parser.error("no program; write it after --")
    why = missing()
    if why:
        fail(f"skipped: {why}", SKIPPED)
    become_root()
    kind = None
    if command:
        kind = known_family(options.mpiexec, fail)
        if not shutil.which(command[0]):
            fail(f"no program {command[0]}")

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGHUP, stop)
    network, carrier, launcher = Network(), None, None
    try:
        try:
            network.open()
        except NoNetwork as error:
            if error.denied:
                fail(f"skipped: {error}", SKIPPED)
            fail(f"cannot make the network: {error}", 1)
        if options.can_run:
            return 0
        carrier = Relay(network.files, options.delay, options.bandwidth)
        with tempfile.TemporaryDirectory() as folder:
            environment, start = launch(kind, shutil.which(options.mpiexec), options.ranks,
                                        write_agent(folder, network.names))
            launcher = subprocess.Popen([*enter(network.names[0], HOSTS[0]), *start, shutil.which(command[0]), *command[1:]],
                                        env={**os.environ, **environment})
            status = launcher.wait()
            return status if status >= 0 else 128 - status
    except KeyboardInterrupt:
        if launcher is not None and launcher.poll() is None:
            launcher.send_signal(signal.SIGTERM)
            try:
                launcher.wait(timeout=5)
            except subprocess.TimeoutExpired:
                launcher.kill()
                launcher.wait()
        return 128 + signal.SIGINT
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if carrier is not None:
            carrier.close()
        network.close()


if __name__ == "__main__":
    sys.exit(main())
