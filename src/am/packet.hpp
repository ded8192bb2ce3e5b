// SPDX-License-Identifier: BSD-3-Clause
// A packet is one message of MPI. It carries any number of short messages of one lane from one process to another, and
// gives back credits.
#pragma once

#include "am/pending.hpp"
#include "core/base/free_list.hpp"

#include <thence/am.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

namespace thence::am {

// The kinds of short messages. Each has receives, credits and a continuation request of its own.
enum class lane : unsigned {
    handlers,       // for handlers that may take long: handled in polls only
    short_handlers, // for those that run at once
    control         // of put and get, and credits: handled at once
};
inline constexpr unsigned lanes = 3;
constexpr unsigned index_of(lane l) noexcept {
    return static_cast<unsigned>(l);
}

struct packet_header {
    // Credits of these lanes that the receiver of this packet has again. A packet of the lane `handlers` gives back
    // none: it may wait long until a poll reads it.
    std::array<std::uint16_t, lanes> returned;
    std::uint16_t messages; // how many follow; 0: the packet has used no credit
};
static_assert(sizeof(packet_header) == 8);

struct message_header {
    std::uint32_t number; // of the handler; in the lane `control` a value of control_message
    std::uint32_t bytes;  // of the payload behind it, which is padded to 8
};
static_assert(sizeof(message_header) == 8);

enum class control_message : std::uint32_t { put, get };

// The payload of control messages. That of a put is followed by the payload for the handler.
struct announcement {
    std::uint64_t key; // of the memory
    std::uint64_t offset;
    std::uint64_t bytes;
    std::int32_t number; // a handler, or THENCE_AM_NO_HANDLER
    std::int32_t tag;    // of the message with the data
};
inline constexpr std::size_t packet_overhead = 96;
static_assert(sizeof(packet_header) + sizeof(message_header) + sizeof(announcement) + 8 <= packet_overhead);

// Some bytes.
struct piece {
    const void *from = nullptr;
    std::size_t bytes = 0;
};

constexpr std::size_t padded(std::size_t bytes) noexcept {
    return (bytes + 7) & ~std::size_t{7};
}

struct transfer;

// Told when a message has left; quiescence waits for that as for a message. In memory of its own.
struct departure_callback : pending_operation {
    departure_callback(thence_am_done *then, void *data) noexcept : pending_operation{then, data} {}
    departure_callback *next = nullptr;
};

struct packet {
    packet *next = nullptr;
    MPI_Request request = MPI_REQUEST_NULL;
    void *owner = nullptr; // the network, while it is being sent
    departure_callback *departures = nullptr;
    transfer *announced = nullptr; // the puts and gets that begin when it has left, in order
    transfer *last_announced = nullptr;
    std::size_t length = 0;
    int rank = 0;
    lane in = lane::handlers;

    unsigned char *content() noexcept { return reinterpret_cast<unsigned char *>(this + 1); }
    packet_header &head() noexcept { return *reinterpret_cast<packet_header *>(content()); }

    void begin(lane l, int to) noexcept {
        in = l;
        rank = to;
        departures = nullptr;
        announced = nullptr;
        head() = {};
        length = sizeof(packet_header);
    }
    bool has_room(std::size_t bytes, std::size_t whole) noexcept {
        return length + sizeof(message_header) + padded(bytes) <= whole && head().messages != UINT16_MAX;
    }
    void append(std::uint32_t number, piece a, piece b) noexcept {
        unsigned char *at = content() + length;
        const message_header begins{number, static_cast<std::uint32_t>(a.bytes + b.bytes)};
        std::memcpy(at, &begins, sizeof begins);
        at += sizeof begins;
        if (a.bytes != 0) {
            std::memcpy(at, a.from, a.bytes);
        }
        if (b.bytes != 0) {
            std::memcpy(at + a.bytes, b.from, b.bytes);
        }
        length += sizeof begins + padded(a.bytes + b.bytes);
        ++head().messages;
    }
};
static_assert(sizeof(packet) % 8 == 0 && std::is_trivially_destructible_v<packet>);

// The packets of an engine that are not in use.
class packet_pool {
public:
    explicit packet_pool(std::size_t whole) noexcept : whole_(whole) {}
    packet_pool &operator=(packet_pool &&) = delete;
    ~packet_pool() {
        while (packet *const unused = unused_.take()) {
            ::operator delete(unused);
        }
    }
    // Bytes of a packet's content.
    std::size_t whole() const noexcept { return whole_; }
    // Null if memory is exhausted.
    packet *take() noexcept {
        if (packet *const unused = unused_.take()) {
            return unused;
        }
        made_.fetch_add(1, std::memory_order_relaxed);
        void *const memory = ::operator new(sizeof(packet) + whole_, std::nothrow);
        return memory != nullptr ? new (memory) packet : nullptr;
    }
    std::size_t made() const noexcept { return made_.load(std::memory_order_relaxed); }
    void give(packet &unused) noexcept { unused_.give(unused); }

private:
    const std::size_t whole_;
    std::atomic<std::size_t> made_{0};
    base::shared_free_list<packet> unused_;
};

} // namespace thence::am
