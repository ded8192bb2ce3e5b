// SPDX-License-Identifier: BSD-3-Clause
// Data that one message cannot move go in several, of which each is an entry of the queue. Invariant: whoever learns of
// local completion learns of it when all of them are complete.
#pragma once

#include "onesided/end_of_several.hpp"
#include "onesided/operations.hpp"

#include <mpi.h>

#include <cstdint>

namespace thence::onesided {

// Transfers in pieces that fit a message: `transfer(local, bytes, remote, is_last, how)`.
template <class Byte, class Transfer>
int in_pieces(Byte *local, std::uint64_t bytes, location remote, int queue, const completion &how,
              Transfer transfer) noexcept {
    if (bytes <= most_in_message) [[likely]] {
        return transfer(local, bytes, remote, true, how);
    }
    // The tag of an operation in several messages is that of their end, which does not wait for other operations.
    const bool has_tag = how.completions != 0;
    end_of_several end(queue_for(remote, queue, how), has_tag);
    completion of_piece;
    of_piece.in = how.in;
    of_piece.end = how.end;
    of_piece.local_use = how.local_use;
    of_piece.has_room = how.has_room;
    if (has_tag) {
        of_piece.end = end.made();
        if (of_piece.end == nullptr) {
            return MPI_ERR_NO_MEM;
        }
        of_piece.end->tag = how.tag;
        of_piece.end->completions = of_piece.end->entries = how.completions;
    }
    for (; bytes > most_in_message; bytes -= most_in_message) {
        const int code = transfer(local, most_in_message, remote, false, of_piece);
        if (code != MPI_SUCCESS) {
            return code;
        }
        local += most_in_message;
        remote.offset += most_in_message;
    }
    of_piece.entries = has_tag ? 0 : how.entries;
    const int code = transfer(local, bytes, remote, true, of_piece);
    if (code == MPI_SUCCESS && has_tag) {
        end.all_started();
    }
    return code;
}

} // namespace thence::onesided
