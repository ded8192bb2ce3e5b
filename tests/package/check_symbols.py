#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check_symbols.py HEADERS_DIR CORE_MAP LIBTHENCE_CORE LIBTHENCE VERSION [NAME=LIBRARY...]

The libraries export what they promise and nothing else:
- the map of libthence-core lists, each by its name, the functions that the public headers declare, and no others;
- libthence-core exports each of them with the version of its node, which is a version of Thence, at most VERSION;
- whatever else libthence-core exports is a C++ name of ours with version THENCE_PRIVATE;
- libthence exports, without a version, the MPI_ names that interposed.txt lists, and no others;
- libthence-tampi exports, without a version, the functions that TAMPI.h declares, MPI_Init and MPI_Init_thread, and no others;
- libthence-gaspi and libthence-tagaspi export, without a version, the functions that their headers declare; the first also
  names of thence::gaspi, which the second uses;
- libthence-alpi exports the functions of ALPI 1.2 with the version of its node, and no others;
- each other libthence-NAME exports names of the namespace thence::libthence_NAME only, with the version of its node;
  libthence-tasks also the functions that a header declares with THENCE_FLOW_EXPORT, and each of them;
  libthence-queues the functions that a header declares with THENCE_QUEUES_EXPORT, and no others;
- the file name that a program asks for at run time (soname) ends with the major and minor version until 1.0.
"""

import re
import subprocess
import sys
from pathlib import Path

PRIVATE = "THENCE_PRIVATE"

ALPI_1_2 = {f"alpi_{name}" for name in """
    attr_create attr_destroy attr_init attr_size cpu_count cpu_logical_id cpu_system_id error_string feature_check info_get
    task_block task_events_decrease task_events_increase task_events_test task_self task_spawn task_suspend
    task_suspend_mode_set task_unblock task_waitfor_ns version_check version_get""".split()}


def exported(library):
    """{name: version} of what the library defines; the names of the version nodes themselves are left out."""
    text = subprocess.check_output(["nm", "-D", "--defined-only", "--with-symbol-versions", library], text=True)
    symbols = {}
    for line in text.splitlines():
        _, kind, name = line.split(maxsplit=2)
        name, _, version = name.replace("@@", "@").partition("@")
        if kind != "A":
            symbols[name] = version
    return symbols


def soname(library):
    text = subprocess.check_output(["readelf", "-d", library], text=True)
    return re.search(r"\(SONAME\).*\[(.*)\]", text).group(1)


def declared(headers, word="THENCE_EXPORT"):
    """Linker names of the functions that public headers declare with that word."""
    names = set()
    for header in headers:
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)
        text = re.sub(r"__typeof__\(\w+\) (\w+);", r"\1();", text)  # PGASPI.h
        renamed = dict(re.findall(r"^#define (MPIX_\w+|\w+) (thence_\w+)$", text, flags=re.MULTILINE))
        for name in re.findall(rf"^{word}\b[^;(]*?(\w+)\s*\(", text, flags=re.MULTILINE):
            names.add(renamed.get(name, name))
    return names


def nodes_of(text):
    """{node: [C names and patterns that it makes global]} of a version script."""
    text = re.sub(r"#.*|/\*.*?\*/", "", text)
    nodes = {}
    for name, body in re.findall(r"^(\w[\w.]*)\s*\{(.*?)^\}", text, flags=re.MULTILINE | re.DOTALL):
        body = re.sub(r'extern\s+"C\+\+"\s*\{.*?\}\s*;', "", body, flags=re.DOTALL)
        globals_ = re.sub(r"\blocal:.*", "", body.replace("global:", ""), flags=re.DOTALL)
        nodes[name] = re.findall(r"[^\s;]+", globals_)
    return nodes


def as_numbers(version):
    return [int(part) for part in version.split(".")]


def map_faults(public, nodes, version):
    """Faults of a map, given the names that the headers declare and the version of Thence."""
    listed = {}
    for node, names in nodes.items():
        number = re.fullmatch(r"THENCE_(\d+\.\d+)", node)
        if node != PRIVATE and not number:
            yield f"the map has a node {node}: a node is THENCE_ and a version, or {PRIVATE}"
        elif number and as_numbers(number.group(1)) > as_numbers(version)[:2]:
            yield f"the map has a node {node}, but this is Thence {version}"
        for name in names:
            if node == PRIVATE:
                yield f"the map makes the C name {name} private; C names are public, or not exported"
            elif not re.fullmatch(r"\w+", name):
                yield f"the map has the pattern {name} in {node}: list each name"
            elif name in listed:
                yield f"the map has {name} twice, in {listed[name]} and in {node}"
            listed[name] = node
    for name in sorted(public - set(listed)):
        yield f"{name} is declared with THENCE_EXPORT, but the map does not list it"
    for name in sorted(set(listed) - public):
        yield f"the map lists {name}, but no public header declares it with THENCE_EXPORT"


def core_faults(core, nodes):
    """Faults of what libthence-core exports, given the map."""
    version_of = {name: node for node, names in nodes.items() for name in names}
    for name, node in sorted(version_of.items()):
        if core.get(name) != node:
            yield f"libthence-core exports {name} with version {core.get(name)!r}; the map says {node}"
    for name, node in sorted(core.items()):
        if name not in version_of and not (node == PRIVATE and "6thence" in name):
            yield f"libthence-core exports {name}@{node}, which the map does not list"


def interposed_names(text):
    """(names on every MPI, names on some)."""
    sections = re.split(r"^\[.*\]\n", re.sub(r"#.*", "", text), flags=re.MULTILINE)
    return set(sections[1].split()), set(sections[2].split())


def interposing_faults(interposing, always, sometimes):
    """Faults of what libthence exports, given the names of interposed.txt."""
    for name, version in sorted(interposing.items()):
        if version:
            yield f"libthence exports {name}@{version}; it may export plain MPI_ names only"
        elif re.sub(r"_c$", "", name) not in always | sometimes:
            yield f"libthence exports {name}, which interposed.txt does not list"
    for name in sorted(always - set(interposing)):
        yield f"interposed.txt lists {name}, which libthence does not export"


def plain_faults(library, symbols, expected, headers):
    """Faults of what a library exports that has the names of another interface, given those that its headers declare."""
    for name, version in sorted(symbols.items()):
        if not version and library == "gaspi" and "6thence5gaspi" in name:
            continue
        if version or name not in expected:
            yield f"libthence-{library} exports {name}@{version}, which is no plain name that {headers} declares"
    for name in sorted(expected - set(symbols)):
        yield f"libthence-{library} does not export {name}"


def alpi_faults(symbols, version):
    """Faults of what libthence-alpi exports."""
    node = f"THENCE_ALPI_{'.'.join(version.split('.')[:2])}"
    for name, its_node in sorted(symbols.items()):
        if its_node != node or name not in ALPI_1_2:
            yield f"libthence-alpi exports {name}@{its_node}, which is no function of ALPI 1.2 with {node}"
    for name in sorted(ALPI_1_2 - set(symbols)):
        yield f"libthence-alpi does not export {name}"


def fortran_faults(symbols):
    """Faults of what libthence-fortran exports: the procedures of its modules, thence and thence_f08, and MPI's common blocks,
    without a version."""
    for name, version in sorted(symbols.items()):
        if version or not re.match(r"__thence(_f08)?_MOD_|thence(_f08)?_mp_|_QM\w*thence|thence_(attach_one|wait)_f(08)?_$|mpi\w*_$", name):
            yield f"libthence-fortran exports {name}@{version}, which is no plain name of a module"
    if not any("thence_cr_create" in name for name in symbols):
        yield "libthence-fortran does not export thence_cr_create"


def tampi_fortran_faults(symbols):
    """Faults of what libthence-tampi-fortran exports: names of TAMPI as Fortran spells them, and MPI's common blocks."""
    for name, version in sorted(symbols.items()):
        if version or not re.match(r"tampi_\w*_$|__tampi(_f08)?_MOD_|tampi(_f08)?_mp_|_QM\w*tampi|mpi\w*_$", name):
            yield f"libthence-tampi-fortran exports {name}@{version}, which is no plain name of TAMPI"
    if "tampi_iwait_" not in symbols:
        yield "libthence-tampi-fortran does not export tampi_iwait_"


def tagaspi_fortran_faults(symbols):
    """Faults of what libthence-tagaspi-fortran exports: constants of its modules. The calls are those of C."""
    for name, version in sorted(symbols.items()):
        if version or not re.match(r"__tagaspi_MOD_|\w*tagaspi_mp_|_QM\w*tagaspi", name):
            yield f"libthence-tagaspi-fortran exports {name}@{version}, which is no plain name of its modules"


def cxx_faults(name, symbols, version, c_names=frozenset()):
    """Faults of what libthence-NAME exports, whose header declares these C names."""
    node = f"THENCE_{name.upper()}_{'.'.join(version.split('.')[:2])}"
    namespace = f"libthence_{name}"
    if not symbols:
        yield f"libthence-{name} exports nothing"
    for symbol, its_node in sorted(symbols.items()):
        if its_node != node or not (symbol in c_names or f"6thence{len(namespace)}{namespace}" in symbol):
            yield f"libthence-{name} exports {symbol}@{its_node}; it may export names of thence::{namespace} with {node}"
    for missing in sorted(c_names - set(symbols)):
        yield f"libthence-{name} does not export {missing}, which a header declares"


def main():
    headers, map_file, core_file, interposing_file, version = sys.argv[1:6]
    others = dict(word.split("=", 1) for word in sys.argv[6:])
    core, interposing = exported(core_file), exported(interposing_file)
    public = declared(sorted(Path(headers).rglob("*.h*")))
    flow_names = declared(sorted(Path(headers).rglob("*.h*")), "THENCE_FLOW_EXPORT")
    am_names = declared(sorted(Path(headers).rglob("*.h*")), "THENCE_AM_EXPORT")
    queue_names = declared(sorted(Path(headers).rglob("*.h*")), "THENCE_QUEUES_EXPORT")
    nodes = nodes_of(Path(map_file).read_text())
    faults = []
    if len(public) < 10:
        faults.append(f"only {len(public)} public functions found in {headers}: is the pattern still right?")
    faults += map_faults(public, nodes, version)
    faults += core_faults(core, nodes)
    faults += interposing_faults(interposing, *interposed_names(Path(__file__).with_name("interposed.txt").read_text()))
    numbers = version.split(".")
    ending = ".so." + (".".join(numbers[:2]) if numbers[0] == "0" else numbers[0])
    if "tampi" in others:
        header = Path(headers).parent / "TAMPI.h"
        names = declared([header], "TAMPI_EXPORT_") | {"MPI_Init", "MPI_Init_thread"}
        faults += plain_faults("tampi", exported(others["tampi"]), names, "TAMPI.h")
    if "gaspi" in others:
        names = declared(sorted(set(Path(headers).parent.glob("*GASPI*.h")) - {Path(headers).parent / "TAGASPI.h"}),
                         "THENCE_GASPI_EXPORT")
        faults += plain_faults("gaspi", exported(others["gaspi"]), names, "GASPI.h or another header of GASPI")
    if "tagaspi" in others:
        names = declared([Path(headers).parent / "TAGASPI.h"], "THENCE_GASPI_EXPORT")
        faults += plain_faults("tagaspi", exported(others["tagaspi"]), names, "TAGASPI.h")
    for name, library in others.items():
        if name in {"tampi", "gaspi", "tagaspi"}:
            continue
        if name == "tampi-fortran":
            faults += tampi_fortran_faults(exported(library))
            continue
        if name == "tagaspi-fortran":
            faults += tagaspi_fortran_faults(exported(library))
            continue
        if name == "fortran":
            faults += fortran_faults(exported(library))
            continue
        if name == "alpi":
            faults += alpi_faults(exported(library), version)
            continue
        faults += cxx_faults(name, exported(library), version, {"tasks": flow_names, "queues": queue_names, "am": am_names}.get(name, frozenset()))
    for library in (core_file, interposing_file, *others.values()):
        if not soname(library).endswith(ending):
            faults.append(f"{library} has the soname {soname(library)}; it should end with {ending}")
    print(f"{len(public)} public functions, {len(core)} symbols in libthence-core, {len(interposing)} in libthence")
    for fault in faults:
        print("fault:", fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
