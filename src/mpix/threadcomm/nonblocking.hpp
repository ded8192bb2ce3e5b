// SPDX-License-Identifier: BSD-3-Clause
// How an algorithm (algorithm.hpp) is run: to its end in a blocking call; in a nonblocking one as far as it goes at
// once, and the rest by threads that make progress.
//
// A nonblocking operation has a request (mpix/messages/requests.hpp). Until its end it counts as a request that needs
// the collective endpoint of its rank, so progress drives that endpoint: the rank need not call anything for its
// messages to be received, and its communicator is not deleted.
#pragma once

#include "mpix/messages/requests.hpp"
#include "mpix/messages/scheduled.hpp"
#include "mpix/threadcomm/algorithm.hpp"
#include "mpix/threadcomm/message_calls.hpp"

#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace thence::threadcomm {

class nonblocking final : public messages::scheduled {
public:
    // `begin`: as in run(). Sets the request of the call. Returns an error class.
    template <class Begin> static int start(collective_call &call, member &me, Begin begin) {
        auto op = std::make_unique<messages::p2p_operation>();
        std::unique_ptr<nonblocking> made(new nonblocking(me, call));
        if (const int error = messages::start_request(*op); error != MPI_SUCCESS) {
            return error;
        }
        nonblocking &started = *made.release(); // end() deletes it, and its request the operation
        started.op_ = op.release();
        *call.request = started.op_->request;
        me.collective.needed_by_request();
        started.begin(begin);
        if (started.advance()) {
            started.end();
        } else {
            messages::add_scheduled(started);
        }
        return MPI_SUCCESS;
    }

    ~nonblocking() = default;

    bool advance() noexcept override {
        while (all_ && !all_->done() && collective_.are_complete()) {
            collective_.suspended().resume();
        }
        return (!all_ || all_->done()) && collective_.are_complete();
    }
    void end() noexcept override;

private:
    nonblocking(member &me, collective_call &call)
        : me_(me), kept_(call.name, call.comm, nullptr), collective_(me, collective_operation::kind::nonblocking) {
        kept_.types_.swap(call.types_);
        for (int i : {0, 1}) {
            kept_.lists_[i].swap(call.lists_[i]);
        }
        kept_.operation_ = std::move(call.operation_);
    }
    template <class Begin> void begin(Begin &begin) noexcept {
        try {
            all_.emplace(begin(collective_));
        } catch (const std::exception &) {
            collective_.note(MPI_ERR_NO_MEM);
        }
    }

    member &me_;
    messages::p2p_operation *op_ = nullptr;
    collective_call kept_; // its datatypes and its operation
    collective_operation collective_;
    std::optional<algorithm> all_;
};

// Reports an error of an operation that was begun.
int fail_at_end(const collective_call &call, int error_class) noexcept;

// Runs the algorithm that `begin(collective_operation &)` starts. `root`: `all_ranks` if the call has none.
template <class Begin> int run(collective_call &call, int root, Begin begin) noexcept {
    int code = MPI_SUCCESS;
    member *const me = check_self(call.name, call.comm, code);
    if (me == nullptr) {
        return code;
    }
    if (root != all_ranks && (root < 0 || root >= call.comm.size())) {
        return fail(call.comm.handle, call.name, MPI_ERR_ROOT, "root is no rank of the thread communicator");
    }
    int error = MPI_SUCCESS;
    try {
        if (call.lacks_memory()) {
            error = MPI_ERR_NO_MEM;
        } else if (!call.is_blocking()) {
            error = nonblocking::start(call, *me, std::move(begin));
        } else {
            collective_operation op(*me, collective_operation::kind::blocking);
            const algorithm all = begin(op);
            op.finish();
            error = op.error();
        }
    } catch (const std::exception &) {
        error = MPI_ERR_NO_MEM;
    }
    return error == MPI_SUCCESS ? int{MPI_SUCCESS} : fail_at_end(call, error);
}

// To be awaited by another algorithm.
algorithm broadcast_from(collective_operation &op, data_argument data, int root);

} // namespace thence::threadcomm
