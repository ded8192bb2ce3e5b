#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: list_calls_refused_on_queues.py COMMUNICATOR_CALLS_PY TABLE OUTPUT COMPILER...

Writes X(MPI_...) for each function of the MPI's mpi.h that communicates on a communicator and is neither enqueued nor done at
once where that has a queue. TABLE is communicator_calls.txt, which a test compares with mpi.h."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

COLLECTIVES = ("Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw Reduce Allreduce "
               "Scan Exscan Reduce_scatter Reduce_scatter_block Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall "
               "Neighbor_alltoallv Neighbor_alltoallw")
ENQUEUED = {f"MPI_{name}" for name in f"Send Recv Isend Irecv {COLLECTIVES}".split()}
ASKS_OR_CREATES = re.compile("MPI_(Attr_|Comm_|Cart|Graph|Dist_graph_|Topo_|Intercomm_|Win_|File_)")


def main():
    module, table, output, *compiler = sys.argv[1:]
    spec = importlib.util.spec_from_file_location("communicator_calls", module)
    calls = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(calls)
    sections = calls.read_table(Path(table).read_text())
    handled = set(sections["intercepted"]) | set(sections["refused"])
    preprocessed = subprocess.run([*compiler, "-E", "-x", "c", "-"], input="#include <mpi.h>\n", check=True,
                                  stdout=subprocess.PIPE, text=True).stdout
    refused = [name for name in sorted(calls.declared(preprocessed)) if calls.without_c(name) in handled - ENQUEUED
               and not ASKS_OR_CREATES.match(name)]
    Path(output).write_text("".join(f"X({name})\n" for name in refused))


main()
