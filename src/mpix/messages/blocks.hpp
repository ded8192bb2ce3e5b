// SPDX-License-Identifier: BSD-3-Clause
// Blocks: the buffers in which messages of middle size wait for their receiver, and in which headers travel between
// processes. A block belongs to one thing at a time: a message in a queue, a receive or a send of MPI, or its pool.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

namespace thence::messages {

// What a message between two processes begins with. Both run the same build, so it travels as bytes.
struct wire_header {
    std::uint64_t context; // which communicator, see transport.hpp
    std::uint64_t bytes;   // of the data
    std::int32_t dest;     // the receiver's number there
    std::int32_t source;
    std::int32_t index; // the sender's second number, see message.hpp
    std::int32_t tag;
    std::int32_t serial; // if not zero, the data are in a message of their own with this tag
    std::int32_t channel;
};

struct block {
    static constexpr std::size_t whole = 4096 + 64;
    static constexpr std::size_t capacity = whole - sizeof(wire_header);

    void *buffer() noexcept { return bytes; }
    unsigned char *data() noexcept { return bytes + sizeof(wire_header); }

    block *next = nullptr;
    MPI_Request request = MPI_REQUEST_NULL; // of MPI's operation on it
    alignas(16) unsigned char bytes[whole]; // a header, then data
};

// Null if memory is exhausted.
block *take_block() noexcept;
void give_block(block *given) noexcept;
// Returns the blocks that this thread keeps for itself. Called when it has no more messages to send.
void retire_blocks() noexcept;

} // namespace thence::messages
