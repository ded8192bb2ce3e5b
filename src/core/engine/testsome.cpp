// SPDX-License-Identifier: BSD-3-Clause
// The engine for any MPI: it calls MPI_Testsome on bounded windows. These calls also make MPI progress.
#include "core/engine/engine.hpp"

#if defined(OPEN_MPI)
#include "core/engine/openmpi_layout.hpp"
#endif
#include "core/mpi/calls.hpp"
#include "core/mpi/poll_rarely.hpp"

namespace thence::engine {
namespace {

#if defined(OPEN_MPI)
// MPI_Test checks a pending request twice, MPI_Request_get_status once.
int get_status(MPI_Request request) noexcept {
    int flag = 0;
    return mpi::table.Request_get_status(request, &flag, MPI_STATUS_IGNORE) | flag;
}

// MPI_Request_get_status of a generalized request that is complete calls its query function, and MPI_Test calls it
// again. The query function may have effects and must be called once per completion, so such a request is only read
// here.
int may_be_complete(MPI_Request request) noexcept {
    const openmpi::request_view view(request);
    if (view.type() == openmpi::type_generalized) [[unlikely]] {
        return view.complete().load(std::memory_order_acquire) == openmpi::completed ? 1 : 0;
    }
    return get_status(request);
}

// Open MPI 4.1 frees a persistent request when it reports its failure. Only the user's own call may do that. So
// MPI_Test is not called for a pending request, which might fail during the call, nor for a failed one.
int test_persistent(MPI_Request *request, int *flag, MPI_Status *status) noexcept {
    const openmpi::request_view view(*request);
    if (get_status(*request) == 0) {
        *flag = 0;
        return MPI_SUCCESS;
    }
    if (view.state() == openmpi::state_active && view.status().MPI_ERROR != MPI_SUCCESS) {
        *flag = 1;
        *status = view.status();
        return view.status().MPI_ERROR;
    }
    return mpi::table.Test(request, flag, status);
}
#endif

polled_set::methods methods_here() noexcept {
    polled_set::methods how;
#if defined(OPEN_MPI)
    requests_tell_persistent = openmpi::prove_fields() == nullptr;
    if (requests_tell_persistent) { // then the type of a request can be read too
        how.check_on_add = &may_be_complete;
        how.test_persistent = &test_persistent;
        how.may_cancel = &openmpi::may_cancel;
    }
#else
    how.check_on_add = mpi::table.request_is_complete;
#endif
    return how;
}

class testsome final : public engine {
public:
    testsome(const sinks &to, const char *why) noexcept : why_(why) {
        polled_.configure(to.complete, to.results_wanted, methods_here());
    }
    const char *name() const noexcept override { return "testsome"; }
    const char *why() const noexcept override { return why_; }

    outcome watch(operation &op, bool persistent) noexcept override {
        return (persistent ? polled_.add_persistent(op) : polled_.add(op)) ? outcome::complete : outcome::pending;
    }
    void finish(operation &) noexcept override {} // the poll has taken the results
    int take_complete(MPI_Request &request, int &flag, MPI_Status *status) noexcept override {
        return mpi::table.Test(&request, &flag, status);
    }
    void poll() noexcept override { polled_.poll(); }
    bool poll_progresses() const noexcept override { return true; }
    void progress() noexcept override {
        if (polled_.empty()) {
            // Not on MPI_COMM_SELF: there MPICH looks at no message of another process.
            int flag = 0;
            mpi::table.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        } else {
            polled_.poll();
        }
    }
    void cancel(operation &op) noexcept override { polled_.cancel(op); }
    bool detects_persistent() const noexcept override { return false; }
    void abandon(operation &op) noexcept override { polled_.remove(op); }

private:
    const char *why_;
};

} // namespace

engine *make_testsome(const sinks &to, const char *why) {
    mpi::poll_rarely_in_tests(2 * polled_set::tested_per_poll); // MPI polls once in each of our calls
    return new testsome(to, why);
}

} // namespace thence::engine
