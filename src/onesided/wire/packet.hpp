// SPDX-License-Identifier: BSD-3-Clause
// What processes send to each other: a header, and behind it up to `capacity` bytes of data. Longer data are a message
// of their own, with a tag that the header names.
#pragma once

#include "core/base/visibility.hpp"

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace thence::wire {

enum class kind : std::uint32_t {
    put,          // data, and maybe a notification after them
    get,          // asks for data, which are the reply
    fetch_add,    // the reply is the old value
    compare_swap, // the reply is the old value
    other,        // for a user of the space (gaspi)
    credit,       // how many packets of the receiver the sender has done
    // A put of the receiver on this queue has had no effect, or not all: the sender has no such part, or MPI has not
    // received the data there.
    refused,
    no_reply // the sender's MPI has not sent a reply
};
// Whether packets of this kind count as sent and done. Others belong to no stream.
constexpr bool is_counted(kind what) noexcept {
    return what != kind::credit && what != kind::refused && what != kind::no_reply;
}
// Whether they are operations of a queue: what comes after them takes effect after them, by memory too.
constexpr bool is_operation(kind what) noexcept {
    return is_counted(what) && what != kind::other;
}

struct header {
    kind what;
    std::uint32_t queue;
    std::int32_t segment;       // the number of the segment in the space
    std::uint32_t notification; // set after the data, if `value` is not zero
    std::uint32_t value;
    // Of a put: the number of the message with the data; 0: the data are behind the header. Of `refused`: that one, if
    // MPI has not received the data; else 0. Of all others: the number of the reply.
    std::uint32_t serial;
    std::uint64_t offset;
    std::uint64_t bytes;
    // What is added; what is expected, what is set. Of a put: the segment of the notification; the number of its list
    // (transport::next_list()), 0: it belongs to none.
    std::uint64_t operands[2];
    std::uint64_t number; // of those that this process has sent to the other one; see sequence.hpp
};
static_assert(sizeof(header) == 64);

struct packet {
    static constexpr std::size_t whole = 8192;
    static constexpr std::size_t capacity = whole - sizeof(header);

    packet *next;
    MPI_Request request;
    std::size_t length; // bytes in use
    int process;        // where it comes from, or goes to
    // What order.hpp does with it.
    packet *next_moving;
    MPI_Request moving;      // the data of a put, or a reply
    unsigned char *to;       // where the data of a put go
    unsigned char *room;     // of data for which there is no place
    std::atomic<long> *uses; // of the part that it is moved to or from, or null
    bool is_done;
    bool has_failed; // its data are not here, or its reply was not sent
    bool is_unmoved; // since MPI has returned an error: the other process may wait for ever
    header head;
    unsigned char data[capacity];

    void *buffer() noexcept { return &head; }
};
static_assert(offsetof(packet, data) - offsetof(packet, head) == sizeof(header));

// The packets of the process that are not in use. Null if memory is exhausted.
THENCE_INTERNAL packet *take_packet() noexcept;
THENCE_INTERNAL void give_packet(packet *unused) noexcept;

} // namespace thence::wire
