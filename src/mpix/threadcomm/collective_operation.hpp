// SPDX-License-Identifier: BSD-3-Clause
// One collective operation on one rank: its messages, several at a time, and its temporary buffers.
#pragma once

#include "mpix/threadcomm/collective_channel.hpp"
#include "mpix/threadcomm/collectives.hpp"

#include <coroutine>
#include <deque>
#include <memory>

namespace thence::threadcomm {

// Errors are kept: error() is the class of the first. May throw std::bad_alloc.
class collective_operation {
public:
    enum class kind { blocking, nonblocking };

    collective_operation(member &me, kind how) : me_(me), tag_(begin_operation(me)), how_(how) {}
    ~collective_operation() { finish(); }
    collective_operation &operator=(collective_operation &&) = delete;

    int rank() const noexcept { return me_.rank; }
    int size() const noexcept { return me_.comm->size(); }

    void receive(int source, const messages::buffer &data);
    void send(int dest, const messages::buffer &data);
    // Waits for all that were started.
    void finish() noexcept;
    // True if all that were started are complete.
    bool are_complete() noexcept;

    // To be awaited by the algorithm (algorithm.hpp): goes on once all that were started are complete.
    struct awaiter {
        collective_operation &op;
        bool await_ready() const noexcept {
            if (op.how_ == kind::blocking) {
                op.finish();
                return true;
            }
            return op.are_complete();
        }
        void await_suspend(std::coroutine_handle<> suspended) const noexcept { op.suspended_ = suspended; }
        void await_resume() const noexcept {}
    };
    awaiter all_complete() noexcept { return {*this}; }
    // The part of the algorithm that awaits finished().
    std::coroutine_handle<> suspended() const noexcept { return suspended_; }

    // Describes data; an error is kept, and the data are empty then.
    messages::buffer data(const void *base, MPI_Count count, MPI_Datatype type);
    messages::buffer block(const blocks &all, int rank);
    void note(int error) noexcept { error_ = error_ == MPI_SUCCESS ? error : error_; }
    int error() const noexcept { return error_; }

    // Buffers that stay until this object is destroyed. The second is for elements of a datatype, which may have gaps
    // and a lower bound.
    unsigned char *temporary(std::size_t bytes);
    void *temporary(MPI_Count count, MPI_Datatype type);

private:
    struct started {
        messages::p2p_operation op;
        bool is_send = false;
        messages::endpoint *receiver = nullptr; // of a send to a rank of this process
    };
    member &me_;
    const int tag_;
    const kind how_;
    int error_ = MPI_SUCCESS;
    std::coroutine_handle<> suspended_;
    std::deque<std::unique_ptr<unsigned char[]>> temporaries_;
    std::deque<started> open_; // operations do not move
};

} // namespace thence::threadcomm
