// SPDX-License-Identifier: BSD-3-Clause
// A ring of receives that are posted ahead, from any process with one tag. They are tested from the oldest on, so that
// messages of one process are handed on in the order in which it sent them. MPI matches them in this order, too.
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
            if (!take_after(0, may_be_complete, arrived, [](Message &) {})) {
                break;
            }
            some = true;
        }
        return some;
    }

    // Hands on the first message that has come of all receives. MPI has matched those before it, which are given to
    // `late(message)`: it owns them, and MPI their memory. True if a receive has ended.
    template <class MayBeComplete, class Arrived, class Late>
    bool take_any(MayBeComplete may_be_complete, Arrived arrived, Late late) noexcept {
        for (std::size_t before = 0; before < size - missing_; ++before) {
            if (take_after(before, may_be_complete, arrived, late)) {
                return true;
            }
        }
        return false;
    }
    // MPI has matched all that are posted.
    template <class Late> void all_are_late(Late late) noexcept { remove_oldest(size - missing_, late); }

    bool none_posted() const noexcept { return missing_ == size; }
    // Null: there is none.
    std::array<Message *, size> &messages() noexcept { return ring_; }

private:
    // Takes the message of the receive behind so many others, which are late if it has come.
    template <class MayBeComplete, class Arrived, class Late>
    bool take_after(std::size_t before, MayBeComplete may_be_complete, Arrived arrived, Late late) noexcept {
        Message *&slot = ring_[(oldest_ + before) % size];
        if (!may_be_complete(slot->request)) {
            return false;
        }
        int flag = 0;
        MPI_Status status;
        const int code = table.Test(&slot->request, &flag, &status);
        if (flag == 0 && slot->request != MPI_REQUEST_NULL) {
            return false;
        }
        remove_oldest(before, late);
        oldest_ = (oldest_ + 1) % size;
        ++missing_;
        if (code == MPI_SUCCESS) {
            arrived(*std::exchange(slot, nullptr), status);
        }
        return true;
    }
    template <class Late> void remove_oldest(std::size_t number, Late late) noexcept {
        for (; number != 0; --number) {
            late(*std::exchange(ring_[oldest_], nullptr));
            oldest_ = (oldest_ + 1) % size;
            ++missing_;
        }
    }

    std::array<Message *, size> ring_{};
    std::size_t oldest_ = 0;     // of those that are posted
    std::size_t missing_ = size; // not posted: those before the oldest
};

} // namespace thence::mpi
