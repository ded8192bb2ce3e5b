// SPDX-License-Identifier: BSD-3-Clause
// The variant dataflow: a task binds its messages to itself by a continuation.
#include "solve_flow.hpp"

#include <thence/task_runtime.h>

namespace bt_mz {
namespace {

class Events {
public:
    Events() { check(thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &cr)); }
    ~Events() {
        check(thence_wait(&cr, MPI_STATUS_IGNORE));
        check(thence_free(&cr));
    }
    Events(const Events &) = delete;
    Events &operator=(const Events &) = delete;

    void couple(int count, MPI_Request *requests) {
        check(thence_task_attach(count, requests, 0, MPI_STATUSES_IGNORE, thence_task_with_events(), cr));
    }

private:
    MPI_Request cr = MPI_REQUEST_NULL;
};

} // namespace

void solve_dataflow(Run &run) {
    FlowSolver<Events>(run).solve();
}

} // namespace bt_mz
