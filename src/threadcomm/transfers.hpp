// SPDX-License-Identifier: BSD-3-Clause
// What collectives are made of: several messages of one operation at a time, and temporary buffers for reductions.
#pragma once

#include "threadcomm/collectives.hpp"
#include "threadcomm/internal.hpp"

#include <deque>
#include <memory>

namespace thence::threadcomm {

// Messages of one collective operation. Errors are kept: error() is the class of the first. May throw std::bad_alloc.
class transfers {
public:
    explicit transfers(member &me) : me_(me), tag_(begin_operation(me)) {}
    ~transfers() { finish(); }
    transfers(const transfers &) = delete;
    transfers &operator=(const transfers &) = delete;

    void receive(int source, const endpoint::buffer &data);
    void send(int dest, const endpoint::buffer &data);
    // Waits for all that were started.
    void finish() noexcept;

    // Describes data; an error is kept, and the data are empty then.
    endpoint::buffer data(const void *base, MPI_Count count, MPI_Datatype type);
    endpoint::buffer block(const blocks &of, int rank);
    void note(int error) noexcept { error_ = error_ == MPI_SUCCESS ? error : error_; }
    int error() const noexcept { return error_; }

private:
    struct started {
        endpoint::operation op;
        int dest = -1; // of a send
    };
    member &me_;
    int tag_;
    int error_ = MPI_SUCCESS;
    std::deque<started> open_; // operations do not move
};

// Room for elements of a datatype, which may have gaps and a lower bound.
class scratch {
public:
    scratch(MPI_Count count, MPI_Datatype type);
    void *base() const noexcept { return base_; }
    void swap(scratch &other) noexcept {
        room_.swap(other.room_);
        std::swap(base_, other.base_);
    }

private:
    std::unique_ptr<unsigned char[]> room_;
    void *base_;
};

} // namespace thence::threadcomm
