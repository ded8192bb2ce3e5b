// SPDX-License-Identifier: BSD-3-Clause
// The two variants that exchange messages as a program for TAMPI does, with MPI's calls and TAMPI.h alone:
//  - tampi-blocking: a task per message calls MPI_Send or MPI_Recv, which block the task. Its thread runs other tasks.
//  - tampi-iwait: a task per message starts it and ends. TAMPI_Iwait lets it count as complete when the message is.
#include "solve_flow.hpp"

#include <TAMPI.h>

namespace heat {
namespace {

struct Blocking {
    static constexpr bool blocking = true;
    static constexpr Receiving receiving = Receiving::in_own_task;
};

struct Iwait {
    static constexpr bool blocking = false;
    static constexpr Receiving receiving = Receiving::in_own_task;
    void bind(MPI_Request request) { check(TAMPI_Iwait(&request, MPI_STATUS_IGNORE)); }
};

} // namespace

void solve_tampi_blocking(Run &run) {
    FlowSolver<Blocking>(run).solve();
}
void solve_tampi_iwait(Run &run) {
    FlowSolver<Iwait>(run).solve();
}

} // namespace heat
