// SPDX-License-Identifier: BSD-3-Clause
// The variant dataflow: a block that needs a message starts the receive in its onready function, and is swept when the
// message is there. A task that sends is complete when its message is.
#include "solve_flow.hpp"

#include <thence/task_runtime.h>
#include <thence/thence.h>

namespace heat {
namespace {

class OnReady {
public:
    static constexpr bool blocking = false;
    static constexpr Receiving receiving = Receiving::in_onready;

    OnReady() { check(thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &cr)); }
    ~OnReady() {
        check(thence_wait(&cr, MPI_STATUS_IGNORE));
        check(thence_free(&cr));
    }
    OnReady(const OnReady &) = delete;
    OnReady &operator=(const OnReady &) = delete;

    void bind(MPI_Request request) {
        check(thence_task_attach(1, &request, 0, MPI_STATUSES_IGNORE, thence_task_with_events(), cr));
    }

private:
    MPI_Request cr = MPI_REQUEST_NULL;
};

} // namespace

void solve_dataflow(Run &run) {
    FlowSolver<OnReady>(run).solve();
}

} // namespace heat
