// SPDX-License-Identifier: BSD-3-Clause
// The two variants that couple tasks to messages as a program for TAMPI does, with MPI's calls and TAMPI.h alone:
//  - tampi-blocking: the task of a zone's messages calls MPI_Waitall, which blocks the task. Its thread runs other
//    tasks.
//  - tampi-iwait: the task ends. TAMPI_Iwaitall lets it count as complete when the messages are.
#include "solve_flow.hpp"

#include <TAMPI.h>

namespace bt_mz {
namespace {

struct Blocking {
    static void couple(int count, MPI_Request *requests) { MPI_Waitall(count, requests, MPI_STATUSES_IGNORE); }
};

struct Iwait {
    static void couple(int count, MPI_Request *requests) {
        check(TAMPI_Iwaitall(count, requests, MPI_STATUSES_IGNORE));
    }
};

} // namespace

void solve_tampi_blocking(Run &run) {
    FlowSolver<Blocking>(run).solve();
}
void solve_tampi_iwait(Run &run) {
    FlowSolver<Iwait>(run).solve();
}

} // namespace bt_mz
