// SPDX-License-Identifier: BSD-3-Clause
// The native engine for stock Open MPI: completion pushes to us through the request's own callback slot, so nothing is
// scanned and a poll costs the same for one operation as for ten thousand.
//
// Open MPI completes a request in three steps, without a lock: (1) read the callback slot, (2) if it was set, clear it
// and call it, and stop there if the call returns 1, (3) swap `completed` into req_complete and count down the
// wait-sync object that stood there, if any. watch() runs against it:
//   (a) store data and callback, (b) compare-and-swap req_complete from `pending` to the shared wait-sync `lost_`.
// Invariant: every watched operation is reported once, since exactly one of these holds:
//   - (1) saw the callback: on_complete() marks the request completed, reports it and returns 1, so (3) never runs;
//   - (1) saw none and (3) ran before (b): the swap in (b) fails, the callback is still in its slot, and watch()
//     returns `complete`;
//   - (1) saw none and (3) ran after (b): (3) counts `lost_` down, with the callback still in its slot. poll()
//     sees the count off its mark and search() reports every watched request that is completed with our callback in
//     its slot. The count is set back before the search, so a loss during it is found by the next poll.
// tests/model/openmpi_attach.pml checks this against all interleavings.
#include "engine/engine.hpp"

#if defined(OPEN_MPI)

#include "engine/openmpi_layout.hpp"
#include "engine/push.hpp"
#include "engine/watched.hpp"
#include "mpi/calls.hpp"

namespace thence::engine {
namespace {

using mpi::table;
using openmpi::completed;
using openmpi::pending;
using openmpi::request_view;

constexpr std::int32_t lost_mark = 1 << 30;
constinit openmpi::wait_sync lost_{{lost_mark}, 0, {}};
constinit completion_sink sink_ = nullptr;

int on_complete(void *object) noexcept {
    request_view request(object);
    auto &op = *static_cast<operation *>(request.callback_data().load(std::memory_order_relaxed));
    // Marked before it is reported: whoever runs the continuation may release the request at once.
    request.complete().store(completed, std::memory_order_release);
    sink_(op);
    return 1;
}

bool peek(MPI_Request request) noexcept {
    return request_view(request).complete().load(std::memory_order_acquire) == completed;
}

class openmpi_engine final : public engine {
public:
    openmpi_engine() noexcept {
        polled.configure(sink_, &peek);
        push = {true, reinterpret_cast<void *>(&on_complete), &lost_};
    }
    ~openmpi_engine() override { push.enabled = false; }
    const char *name() const noexcept override { return "openmpi"; }
    const char *why() const noexcept override {
        return "this Open MPI's requests have the known layout, proved on live requests";
    }

    outcome watch(operation &op, bool persistent) noexcept override {
        if (!persistent && try_push(op) == pushing::accepted) [[likely]] {
            return outcome::pending;
        }
        // Complete already, persistent, or a callback slot that MPI itself uses (some nonblocking collectives).
        persistent = persistent || request_view(op.request).persistent();
        return polled.add(op, persistent) ? outcome::complete : outcome::pending;
    }

    // Generalized requests, I/O, RMA and collectives have more to do on completion, and a failed operation must
    // meet the error handler of its object: MPI's own completion call knows.
    void finish(operation &op) noexcept override {
        if (op.how != tending::pushed || try_finish(op)) {
            return;
        }
        MPI_Status status = mpi::empty_status();
        op.how = tending::done;
        op.error = table.Wait(&op.request, &status);
        status.MPI_ERROR = op.error;
        if (op.status != nullptr) {
            *op.status = status;
        }
    }

    void poll() noexcept override {
        if (lost_.count.load(std::memory_order_relaxed) != lost_mark) [[unlikely]] {
            search();
        }
        if (!polled.empty()) {
            polled.poll();
        }
    }

    void progress() noexcept override {
        table.opal_progress();
        poll();
    }

    bool quiet() const noexcept override {
        return lost_.count.load(std::memory_order_relaxed) == lost_mark && polled.empty();
    }

    void cancel(operation &op) noexcept override {
        if (op.how != tending::pushed) {
            polled.cancel(op);
        } else if (!peek(op.request)) {
            MPI_Request request = op.request;
            table.Cancel(&request);
        }
    }

    bool is_persistent(MPI_Request request) const noexcept override { return request_view(request).persistent(); }
    bool detects_persistent() const noexcept override { return true; }
    unsigned long long recovered() const noexcept override { return recovered_.load(std::memory_order_relaxed); }

    void abandon(operation &op) noexcept override {
        if (op.how != tending::pushed) {
            polled.remove(op);
            return;
        }
        request_view request(op.request);
        request.callback().store(nullptr);
        void *expected = &lost_;
        request.complete().compare_exchange_strong(expected, pending);
    }

private:
    void search() noexcept {
        if (!search_lock_.try_lock()) {
            return;
        }
        lost_.status = MPI_SUCCESS;
        lost_.count.store(lost_mark, std::memory_order_seq_cst);
        for_each_watched([this](operation &op) {
            if (op.how != tending::pushed) {
                return;
            }
            request_view request(op.request);
            if (request.complete().load(std::memory_order_acquire) == completed &&
                request.callback().load(std::memory_order_acquire) == push.callback) {
                request.callback().store(nullptr, std::memory_order_relaxed);
                recovered_.fetch_add(1, std::memory_order_relaxed);
                sink_(op);
            }
        });
        search_lock_.unlock();
    }

    base::spin_lock search_lock_;
    std::atomic<unsigned long long> recovered_{0};
};

} // namespace

push_state push;

engine *make_openmpi(completion_sink sink, const char **reason) {
    if (table.opal_progress == nullptr) {
        *reason = "this MPI exports no opal_progress";
        return nullptr;
    }
    if (const char *fault = openmpi::prove_layout()) {
        *reason = fault;
        return nullptr;
    }
    sink_ = sink;
    lost_.count.store(lost_mark);
    return new openmpi_engine;
}

} // namespace thence::engine

#endif
