// SPDX-License-Identifier: BSD-3-Clause
// The engine for any MPI: it calls MPI_Testsome on bounded windows. These calls also make MPI progress. On Open MPI it
// reads requests and tests those that are complete (openmpi_requests.hpp says why), and lets MPI make progress itself.
#include "core/engine/engine.hpp"

#if defined(OPEN_MPI)
#include "core/engine/openmpi_requests.hpp"
#endif
#include "core/mpi/calls.hpp"
#include "core/mpi/request_poll_frequency.hpp"

namespace thence::engine {
namespace {

#if defined(OPEN_MPI)
// Open MPI 4.1 frees a persistent request when it reports its failure, and the handle that it sets to null is our copy.
// So a failure is read without that. The request stays as it is until the user's own call finds the failure, too.
int test_persistent(MPI_Request *request, int *flag, MPI_Status *status) noexcept {
    MPI_Status read = mpi::empty_status();
    if (const int code = mpi::table.Request_get_status(*request, flag, &read); code != MPI_SUCCESS || *flag == 0) {
        return code;
    }
    if (read.MPI_ERROR != MPI_SUCCESS) {
        *status = read;
        return read.MPI_ERROR;
    }
    return mpi::table.Test(request, flag, status);
}
#endif

polled_set::methods choose_methods() noexcept {
    polled_set::methods how;
#if defined(OPEN_MPI)
    how.test_each = mpi::table.opal_progress != nullptr;
    can_read_requests = how.test_each && openmpi::prove_fields() == nullptr;
    if (can_read_requests) {
        return openmpi::read_requests;
    }
    how.test_persistent = &test_persistent;
#endif
    how.check_on_add = mpi::table.request_is_complete;
    return how;
}

class testsome final : public engine {
public:
    testsome(const sinks &to, const char *why) noexcept : why_(why) {
        const polled_set::methods how = choose_methods();
        reads_ = how.read_complete != nullptr;
        polled_.configure(to.complete, to.results_wanted, how);
    }
    const char *name() const noexcept override { return "testsome"; }
    const char *why() const noexcept override { return why_; }

    outcome watch(operation &op, bool persistent) noexcept override {
        return (persistent ? polled_.add_persistent(op) : polled_.add(op)) ? outcome::complete : outcome::pending;
    }
    void finish(operation &) noexcept override {} // the poll has taken the results
    int take_complete(MPI_Request &request, int &flag, MPI_Status *status) noexcept override {
#if defined(OPEN_MPI)
        if (reads_) {
            return openmpi::take_complete(request, flag, status);
        }
#endif
        return mpi::table.Test(&request, &flag, status);
    }
    void poll() noexcept override {
        polled_.poll();
    }
    bool poll_progresses() const noexcept override {
        return !reads_;
    }
    void progress() noexcept override {
        if (reads_) {
            mpi::progress();
        } else if (polled_.empty()) {
            mpi::progress_by_probe();
        }
        polled_.poll();
    }
    void cancel(operation &op) noexcept override {
        polled_.cancel(op);
    }
    void abandon(operation &op) noexcept override {
        polled_.remove(op);
    }

private:
    const char *why_;
    bool reads_ = false; // a poll reads requests, and makes no progress
};

} // namespace

engine *make_testsome(const sinks &to, const char *why) {
    mpi::set_request_poll_frequency(2 * polled_set::tested_per_poll); // MPI polls once in each of our calls
    return new testsome(to, why);
}

} // namespace thence::engine
