// SPDX-License-Identifier: BSD-3-Clause
// The native engine for stock Open MPI. MPI reports each completion through the callback slot of the request, so
// nothing is scanned, and a poll costs the same for one operation as for ten thousand. push.hpp states the protocol.
#include "core/engine/engine.hpp"

#if defined(OPEN_MPI)

#include "core/engine/openmpi_requests.hpp"
#include "core/engine/push.hpp"
#include "core/engine/watched.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/cancel.hpp"

namespace thence::engine {
namespace {

using mpi::table;
using openmpi::pending;
using openmpi::request_view;

class openmpi_engine final : public engine {
public:
    explicit openmpi_engine(const sinks &to) noexcept : sink_(to.complete), pushed_(to.pushed) {
        polled_.configure(to.complete, to.results_wanted, openmpi::read_requests);
        push_enabled = true;
        can_read_requests = true;
    }
    ~openmpi_engine() override {
        push_enabled = false;
        lost_sync.count.store(lost_mark);
    }
    const char *name() const noexcept override { return "openmpi"; }
    const char *why() const noexcept override {
        return "this Open MPI's requests have the known layout, proved on live requests";
    }

    outcome watch(operation &op, bool persistent) noexcept override {
        if (!persistent) {
            op.path = completion_path::pushed;
            if (can_push(op.request) && push(op.request, pushed_, &op)) {
                return outcome::pending;
            }
            if (try_finish_complete(op.request, op.status)) {
                op.path = completion_path::done;
                return outcome::complete;
            }
        }
        // It is complete already, or persistent, or MPI itself uses its callback slot (some nonblocking collectives).
        return (persistent ? polled_.add_persistent(op) : polled_.add(op)) ? outcome::complete : outcome::pending;
    }

    // The completion of generalized requests, I/O, RMA and collectives needs more work, and for a failed operation the
    // error handler of its object must be called. MPI's own completion call does both.
    void finish(operation &op) noexcept override {
        if (op.path != completion_path::pushed) {
            return;
        }
        op.path = completion_path::done;
        if (try_finish(op.request, op.status)) {
            return;
        }
        MPI_Status status = mpi::empty_status();
        op.error = table.Wait(&op.request, &status);
        status.MPI_ERROR = op.error;
        if (wanted(op.status)) {
            *op.status = status;
        }
    }

    int take_complete(MPI_Request &request, int &flag, MPI_Status *status) noexcept override {
        return openmpi::take_complete(request, flag, status);
    }

    void poll() noexcept override {
        if (any_lost()) [[unlikely]] {
            search();
        }
        if (!polled_.empty()) {
            polled_.poll();
        }
    }

    void let_mpi_progress() noexcept override { table.opal_progress(); }

    void progress() noexcept override {
        let_mpi_progress();
        poll();
    }

    void cancel(operation &op) noexcept override {
        if (op.path != completion_path::pushed) {
            polled_.cancel(op);
        } else if (!is_complete(op.request) && openmpi::may_cancel(op.request, false)) {
            mpi::cancel(op.request);
        }
    }

    // See uses_ob1(). Below MPI_THREAD_MULTIPLE, progress inside of progress may deliver a message twice.
    bool runs_in_completion() const noexcept override {
        return mpi::thread_multiple() && openmpi::uses_ob1(table.pml_component);
    }

    bool known_complete(const operation &op) const noexcept override {
        return path_of(op) == completion_path::pushed ? is_complete(op.request) : engine::known_complete(op);
    }

    unsigned long long recovered() const noexcept override { return recovered_.load(std::memory_order_relaxed); }

    void abandon(operation &op) noexcept override {
        if (op.path != completion_path::pushed) {
            polled_.remove(op);
            return;
        }
        request_view request(op.request);
        request.callback().store(nullptr);
        void *expected = &lost_sync;
        request.complete().compare_exchange_strong(expected, pending);
    }

private:
    void search() noexcept {
        if (!search_lock_.try_lock()) {
            return;
        }
        lost_sync.status = MPI_SUCCESS;
        lost_sync.count.store(lost_mark, std::memory_order_seq_cst);
        for_each_watched([this](operation &op) {
            if (op.path != completion_path::pushed) {
                return;
            }
            request_view request(op.request);
            if (is_complete(op.request) && claim_lost(request)) {
                recovered_.fetch_add(1, std::memory_order_relaxed);
                sink_(op);
            }
        });
        search_lock_.unlock();
    }

    completion_sink sink_;
    push_callback pushed_;
    base::spin_lock search_lock_;
    std::atomic<unsigned long long> recovered_{0};
};

} // namespace

constinit openmpi::wait_sync lost_sync{{lost_mark}, 0, {}};
bool push_enabled = false;

engine *make_openmpi(const sinks &to, const char **reason) {
    if (table.opal_progress == nullptr) {
        *reason = "this MPI exports no opal_progress";
        return nullptr;
    }
    if (const char *fault = openmpi::prove_layout()) {
        *reason = fault;
        return nullptr;
    }
    lost_sync.count.store(lost_mark);
    return new openmpi_engine(to);
}

} // namespace thence::engine

#endif
