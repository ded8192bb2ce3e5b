#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_symbols.py catches what it is there to catch: each test plants one fault in what it compares."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_symbols  # noqa: E402

HEADER = """/* THENCE_EXPORT int thence_not_this(void); */
#define MPIX_Continue thence_mpix_continue
THENCE_EXPORT int thence_a(void);
THENCE_EXPORT int MPIX_Continue(int flag,
                                int count);
"""
MAP = """# a comment; with *
THENCE_0.1 {
    global:
        thence_a;
        thence_mpix_continue; # one more
    local:
        *;
};
THENCE_PRIVATE {
    global:
        extern "C++" {
            thence::*;
        };
};
"""
CORE = {"thence_a": "THENCE_0.1", "thence_mpix_continue": "THENCE_0.1", "_ZN6thence4testEv": "THENCE_PRIVATE"}
ALWAYS, SOMETIMES = {"MPI_Test", "MPI_Send"}, {"MPI_Precv_init"}
INTERPOSING = {"MPI_Test": "", "MPI_Send": "", "MPI_Send_c": ""}


class Symbols(unittest.TestCase):
    def map_faults(self, header=HEADER, text=MAP, version="0.1.0"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x.h"
            path.write_text(header)
            public = check_symbols.declared([path])
        return list(check_symbols.map_faults(public, check_symbols.nodes_of(text), version))

    def core_faults(self, **changes):
        core = {name: node for name, node in {**CORE, **changes}.items() if node is not None}
        return list(check_symbols.core_faults(core, check_symbols.nodes_of(MAP)))

    def interposing_faults(self, **changes):
        names = {name: node for name, node in {**INTERPOSING, **changes}.items() if node is not None}
        return list(check_symbols.interposing_faults(names, ALWAYS, SOMETIMES))

    def expect(self, faults, words):
        self.assertEqual(len(faults), 1, faults)
        self.assertIn(words, faults[0])

    def test_fortran(self):
        good = {"mpi_fortran_status_ignore_": "", "__thence_MOD_thence_cr_create": "", "__thence_f08_MOD_thence_cr_create": ""}
        self.assertEqual(list(check_symbols.fortran_faults(good)), [])
        self.expect(list(check_symbols.fortran_faults({**good, "thence_f_free": ""})), "exports thence_f_free")
        self.expect(list(check_symbols.fortran_faults({**good, "__thence_MOD_thence_free": "V"})), "thence_free@V")
        self.expect(list(check_symbols.fortran_faults({})), "does not export thence_cr_create")

    def test_tampi_fortran(self):
        good = {"tampi_iwait_": "", "tampi_isend_internal_": "", "mpi_fortran_bottom_": ""}
        self.assertEqual(list(check_symbols.tampi_fortran_faults(good)), [])
        self.expect(list(check_symbols.tampi_fortran_faults({**good, "other_": ""})), "exports other_")
        self.expect(list(check_symbols.tampi_fortran_faults({})), "does not export tampi_iwait_")

    def test_tagaspi_fortran(self):
        good = {"__tagaspi_MOD_gaspi_notification_ignore": ""}
        self.assertEqual(list(check_symbols.tagaspi_fortran_faults(good)), [])
        self.expect(list(check_symbols.tagaspi_fortran_faults({**good, "tagaspi_write": ""})), "exports tagaspi_write")

    def test_plain_names(self):
        good = {"TAMPI_Iwait": "", "MPI_Init": "", "MPI_Init_thread": ""}
        self.assertEqual(list(check_symbols.plain_faults("tampi", good, {"TAMPI_Iwait", "MPI_Init", "MPI_Init_thread"}, "TAMPI.h")), [])
        self.expect(list(check_symbols.plain_faults("tampi", {**good, "other": ""}, {"TAMPI_Iwait", "MPI_Init", "MPI_Init_thread"}, "TAMPI.h")), "exports other")
        self.expect(list(check_symbols.plain_faults("tampi", good, {"TAMPI_Iwait", "TAMPI_Wait", "MPI_Init", "MPI_Init_thread"}, "TAMPI.h")), "does not export TAMPI_Wait")
        self.expect(list(check_symbols.plain_faults("tampi", {**good, "MPI_Init": "V"}, {"TAMPI_Iwait", "MPI_Init", "MPI_Init_thread"}, "TAMPI.h")), "MPI_Init@V")

    def test_alpi(self):
        good = {name: "THENCE_ALPI_0.1" for name in check_symbols.ALPI_1_2}
        self.assertEqual(len(good), 22)
        self.assertEqual(list(check_symbols.alpi_faults(good, "0.1.0")), [])
        self.expect(list(check_symbols.alpi_faults({**good, "other": "THENCE_ALPI_0.1"}, "0.1.0")), "exports other")
        self.expect(list(check_symbols.alpi_faults({**good, "alpi_cpu_count": ""}, "0.1.0")), "alpi_cpu_count@,")
        del good["alpi_task_spawn"]
        self.expect(list(check_symbols.alpi_faults(good, "0.1.0")), "does not export alpi_task_spawn")

    def test_without_a_fault_there_is_none(self):
        self.assertEqual(self.map_faults(), [])
        self.assertEqual(self.core_faults(), [])
        self.assertEqual(self.interposing_faults(), [])
        self.assertEqual(self.interposing_faults(MPI_Precv_init=""), [])

    def test_a_function_that_the_map_lacks_is_caught(self):
        self.expect(self.map_faults(header=HEADER + "THENCE_EXPORT void thence_new(void);\n"), "thence_new is declared")

    def test_a_name_that_no_header_declares_is_caught(self):
        self.expect(self.map_faults(text=MAP.replace("thence_a;", "thence_a; thence_old;")), "the map lists thence_old")

    def test_a_pattern_in_place_of_names_is_caught(self):
        faults = self.map_faults(text=MAP.replace("thence_a;", "thence_*;"))
        self.assertIn("the map has the pattern thence_* in THENCE_0.1: list each name", faults)

    def test_a_name_in_two_nodes_is_caught(self):
        self.expect(self.map_faults(text=MAP + "THENCE_0.0 {\n global: thence_a;\n};\n"), "thence_a twice")

    def test_a_private_c_name_is_caught(self):
        faults = self.map_faults(text=MAP.replace('        extern "C++"', '        thence_x;\n        extern "C++"'))
        self.assertTrue(any("thence_x private" in fault for fault in faults), faults)

    def test_a_node_that_is_no_version_so_far_is_caught(self):
        self.expect(self.map_faults(text=MAP.replace("THENCE_0.1", "THENCE_0.2")), "this is Thence 0.1.0")
        self.assertEqual(self.map_faults(text=MAP.replace("THENCE_0.1", "THENCE_0.2"), version="0.10.0"), [])
        self.expect(self.map_faults(text=MAP.replace("THENCE_0.1", "THENCE_OLD")), "THENCE_OLD")

    def test_a_symbol_that_leaks_is_caught(self):
        self.expect(self.core_faults(helper="THENCE_0.1"), "helper@THENCE_0.1")
        self.expect(self.core_faults(_ZN3abc4testEv="THENCE_PRIVATE"), "_ZN3abc4testEv@THENCE_PRIVATE")

    def test_a_function_that_is_not_exported_is_caught(self):
        self.expect(self.core_faults(thence_a=None), "thence_a with version None")

    def test_a_name_of_another_namespace_is_caught(self):
        good = {"_ZN6thence16libthence_things3endEv": "THENCE_THINGS_0.1"}
        self.assertEqual(list(check_symbols.cxx_faults("things", good, "0.1.0")), [])
        self.expect(list(check_symbols.cxx_faults("things", {**good, "_ZN6thence3endEv": "THENCE_THINGS_0.1"}, "0.1.0")),
                    "_ZN6thence3endEv")
        self.expect(list(check_symbols.cxx_faults("things", good, "0.2.0")), "THENCE_THINGS_0.2")
        self.expect(list(check_symbols.cxx_faults("things", {}, "0.1.0")), "nothing")

    def test_an_interposed_call_that_is_not_listed_is_caught(self):
        self.expect(self.interposing_faults(MPI_Bcast=""), "MPI_Bcast, which interposed.txt does not list")

    def test_an_interposed_call_that_is_gone_is_caught(self):
        self.expect(self.interposing_faults(MPI_Send=None), "lists MPI_Send")

    def test_a_version_on_an_interposed_call_is_caught(self):
        self.expect(self.interposing_faults(MPI_Test="THENCE_0.1"), "MPI_Test@THENCE_0.1")


if __name__ == "__main__":
    sys.exit(unittest.main())
