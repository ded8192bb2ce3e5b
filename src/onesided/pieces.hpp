// SPDX-License-Identifier: BSD-3-Clause
// Data that one message cannot move go in several, of which each is an entry of the queue. Invariant: whoever learns of
// local completion learns of it when all of them are complete.
#pragma once

#include "onesided/operations.hpp"
#include "onesided/queue.hpp"

#include <mpi.h>

#include <cstdint>
#include <utility>

namespace thence::onesided {

// The entry of a queue that has the tag of an operation in several messages. It is behind these, and complete when all
// of them are; they tell it of a failure. It does not wait for other operations.
class tag_of_messages {
public:
    tag_of_messages(queue &in, const completion &how) noexcept : in_(in), is_used_(how.completions != 0) {
        made_ = is_used_ ? pending::make() : nullptr;
        if (made_ != nullptr) {
            made_->tag = how.tag;
            made_->completions = made_->entries = how.completions;
        }
    }
    tag_of_messages &operator=(tag_of_messages &&) = delete;
    ~tag_of_messages() { // not all could be started: the call tells of the error
        if (made_ != nullptr && made_->is_end) {
            made_->completions = made_->entries = 0;
            in_.add(*made_); // those that were started refer to it
        } else if (made_ != nullptr) {
            pending::drop(made_);
        }
    }

    bool is_used() const noexcept { return is_used_; }
    pending *made() const noexcept { return made_; } // null: memory is exhausted, if it is used
    void all_started() noexcept {
        if (made_ != nullptr) {
            made_->is_end = true;
            in_.add(*std::exchange(made_, nullptr));
        }
    }

private:
    queue &in_;
    bool is_used_;
    pending *made_;
};

// Transfers in pieces that fit a message: `transfer(local, bytes, remote, is_last, how)`.
template <class Byte, class Transfer>
int in_pieces(Byte *local, std::uint64_t bytes, location remote, int queue, const completion &how,
              Transfer transfer) noexcept {
    if (bytes <= most_in_message) [[likely]] {
        return transfer(local, bytes, remote, true, how);
    }
    tag_of_messages tag(queue_for(remote, queue, how), how);
    completion of_piece;
    of_piece.in = how.in;
    of_piece.end = how.end;
    of_piece.local_use = how.local_use;
    of_piece.has_room = how.has_room;
    if (tag.is_used()) {
        of_piece.end = tag.made();
        if (of_piece.end == nullptr) {
            return MPI_ERR_NO_MEM;
        }
    }
    for (; bytes > most_in_message; bytes -= most_in_message) {
        const int code = transfer(local, most_in_message, remote, false, of_piece);
        if (code != MPI_SUCCESS) {
            return code;
        }
        local += most_in_message;
        remote.offset += most_in_message;
    }
    of_piece.entries = tag.is_used() ? 0 : how.entries;
    const int code = transfer(local, bytes, remote, true, of_piece);
    if (code == MPI_SUCCESS) {
        tag.all_started();
    }
    return code;
}

} // namespace thence::onesided
