// SPDX-License-Identifier: BSD-3-Clause
// A ring of receives that are posted ahead, from any process with one tag. They are tested from the oldest on, so that
// messages of one process are handed on in the order in which it sent them.
//
// One thread at a time. `Message` has `request`, `whole` (bytes that fit) and `buffer()`. The owner gives the messages,
// and takes them back at the end: MPI may still write to those that are posted.
#pragma once

#include "core/mpi/calls.hpp"

#include <mpi.h>

#include <array>
#include <cstddef>
#include <utility>

namespace thence::mpi {

template <class Message, std::size_t size> class posted_receives {
public:
    // In the order of the ring. `make()` gives a message, null if memory is exhausted. False: some could not be posted;
    // they are left to the next call.
    template <class Make> bool post(MPI_Comm comm, int tag, Make make) noexcept {
        for (; missing_ != 0; --missing_) {
            Message *&slot = ring_[(oldest_ + size - missing_) % size];
            if (slot == nullptr && (slot = make()) == nullptr) {
                return false;
            }
            slot->request = MPI_REQUEST_NULL;
            if (table.Irecv(slot->buffer(), static_cast<int>(Message::whole), MPI_BYTE, MPI_ANY_SOURCE, tag, comm,
                            &slot->request) != MPI_SUCCESS) {
                slot->request = MPI_REQUEST_NULL;
                return false;
            }
        }
        return true;
    }

    // Hands on at most `most` messages by `arrived(message, status)`, which owns them and may post. `may_be_complete`:
    // false where it is known without a call of MPI that a request is not. True if a receive has ended; one that has
    // failed is posted again.
    template <class MayBeComplete, class Arrived>
    bool take(std::size_t most, MayBeComplete may_be_complete, Arrived arrived) noexcept {
        bool some = false;
        for (std::size_t taken = 0; taken < most && missing_ < size; ++taken) {
            Message *&slot = ring_[oldest_];
            if (!may_be_complete(slot->request)) {
                break;
            }
            int flag = 0;
            MPI_Status status;
            const int code = table.Test(&slot->request, &flag, &status);
            if (flag == 0 && slot->request != MPI_REQUEST_NULL) {
                break;
            }
            some = true;
            oldest_ = (oldest_ + 1) % size;
            ++missing_;
            if (code == MPI_SUCCESS) {
                arrived(*std::exchange(slot, nullptr), status);
            }
        }
        return some;
    }

    bool none_posted() const noexcept { return missing_ == size; }
    // Null: there is none.
    std::array<Message *, size> &messages() noexcept { return ring_; }

private:
    std::array<Message *, size> ring_{};
    std::size_t oldest_ = 0;     // of those that are posted
    std::size_t missing_ = size; // not posted: those before the oldest
};

} // namespace thence::mpi
