// SPDX-License-Identifier: BSD-3-Clause
// The engine for MPICH 4.3 and later. MPIX_Request_is_complete reads whether a request is complete, without a lock and
// without making progress. That costs a few instructions, and MPI_Test is called only for requests that are complete.
#include "core/engine/engine.hpp"

#include "core/mpi/calls.hpp"

namespace thence::engine {
namespace {

using mpi::table;

bool is_complete(MPI_Request request) noexcept {
    return table.request_is_complete(request) != 0;
}

class mpich final : public engine {
public:
    explicit mpich(const sinks &to) noexcept {
        polled_.configure(to.complete, to.results_wanted,
                          {.read_complete = table.request_is_complete, .check_on_add = table.request_is_complete});
    }
    const char *name() const noexcept override { return "mpich"; }
    const char *why() const noexcept override {
        return "MPIX_Request_is_complete is there and distinguished a pending request from a complete one";
    }

    outcome watch(operation &op, bool persistent) noexcept override {
        return (persistent ? polled_.add_persistent(op) : polled_.add(op)) ? outcome::complete : outcome::pending;
    }
    void finish(operation &) noexcept override {}
    int take_complete(MPI_Request &request, int &flag, MPI_Status *status) noexcept override {
        flag = 0;
        if (request != MPI_REQUEST_NULL && !is_complete(request)) {
            return MPI_SUCCESS;
        }
        return table.Test(&request, &flag, status);
    }
    void poll() noexcept override { polled_.poll(); }
    void progress() noexcept override {
        if (!polled_.empty()) {
            polled_.poll(true);
            return;
        }
        if (table.stream_progress != nullptr) {
            table.stream_progress(mpi::stream_null);
        } else {
            mpi::progress_by_probe();
        }
    }
    void cancel(operation &op) noexcept override { polled_.cancel(op); }
    void abandon(operation &op) noexcept override { polled_.remove(op); }
};

// Checks that a receive on a private communicator is reported first pending and then complete.
bool works() noexcept {
    MPI_Comm self = MPI_COMM_NULL;
    if (table.Comm_split(MPI_COMM_SELF, 0, 0, &self) != MPI_SUCCESS) { // without the user's attributes
        return false;
    }
    char in = 0;
    const char out = 1;
    MPI_Request receive = MPI_REQUEST_NULL;
    MPI_Request send = MPI_REQUEST_NULL;
    table.Irecv(&in, 1, MPI_CHAR, 0, 0, self, &receive);
    const bool pending_seen = !is_complete(receive);
    table.Isend(&out, 1, MPI_CHAR, 0, 0, self, &send);
    table.Wait(&send, MPI_STATUS_IGNORE);
    int flag = 0;
    table.Request_get_status(receive, &flag, MPI_STATUS_IGNORE);
    while (flag == 0) {
        table.Request_get_status(receive, &flag, MPI_STATUS_IGNORE);
    }
    const bool complete_seen = is_complete(receive);
    table.Wait(&receive, MPI_STATUS_IGNORE);
    table.Comm_free(&self);
    return pending_seen && complete_seen;
}

} // namespace

engine *make_mpich(const sinks &to, const char **reason) {
    if (table.request_is_complete == nullptr) {
        *reason = "this MPI has no MPIX_Request_is_complete";
        return nullptr;
    }
    if (!works()) {
        *reason = "MPIX_Request_is_complete did not distinguish a pending request from a complete one";
        return nullptr;
    }
    return new mpich(to);
}

} // namespace thence::engine
