// SPDX-License-Identifier: BSD-3-Clause
// What the target of packets does with them, in the order of each process and queue. MPI completes long messages out of
// order, so what came behind one waits for it where it has to.
//
// A stream is what one process sends on one queue. Invariants of a stream:
//   - its packets are started in order, and a notification is set when all packets before are done and its own data are
//     here;
//   - the notification of a list of puts is not set if one of these has failed;
//   - two puts whose data overlap are not under way at the same time; other puts may be. They overlap in memory: two
//     segments may be made on the same;
//   - a notification whose data are not here, since MPI has lost them or the segment was deleted, is not set, and the
//     process that has sent a put that has no effect, or not all, is told;
//   - whoever waits for a message that MPI has not moved is told;
//   - a get and an atomic operation start when all before are done, and what follows them starts when their reply has
//     left.
// All functions are called by one thread at a time, the one that polls the transport. Nothing is allocated but the room
// for data that have no place: what is known of a packet is in the packet.
#pragma once

#include "core/base/linked_list.hpp"
#include "onesided/notification/slots.hpp"
#include "onesided/wire/transport.hpp"

#include <atomic>
#include <cstddef>
#include <memory>

namespace thence::wire {

// The part of a segment that this process has. It does not change.
struct local_part {
    unsigned char *memory = nullptr;
    std::size_t bytes = 0;
    notification::slots notifications;
    mutable std::atomic<long> uses{0}; // messages that MPI moves to or from its memory
};

// What the space knows.
class local_parts {
public:
    // Null: there is no such segment. What it returns stays during this poll, and while it is used.
    virtual const local_part *find(int segment) noexcept = 0;
    // A packet of kind `other` is next. It is given back after this.
    virtual void other(packet &p) noexcept = 0;
    // One more packet of a process is done.
    virtual void done(int process, bool is_operation) noexcept = 0;
    // A process has done so many packets of this one.
    virtual void credit(int process, std::uint64_t packets) noexcept = 0;
    // A put has had no effect, or not all, or a reply was not sent. It tells the process that waits for that, and owns
    // the packet.
    virtual void refuse(packet &p) noexcept = 0;
    // A process has told that of a packet of this one. It owns what tells it.
    virtual void refused(packet &p) noexcept = 0;
    // See receiver. It gives the packet back.
    virtual void lost(packet &p, bool was_told) noexcept = 0;

protected:
    ~local_parts() = default;
};

class THENCE_INTERNAL order final : public receiver {
public:
    explicit order(local_parts &parts) noexcept : parts_(parts) {}
    ~order();
    order &operator=(order &&) = delete;
    // False if memory is exhausted.
    bool begin(transport &from, int processes, int queues) noexcept;

    void arrived(packet &p) noexcept override;
    bool poll() noexcept override;
    void lost(packet &p, bool was_told) noexcept override { parts_.lost(p, was_told); }

private:
    struct stream {
        base::linked_list<packet> packets;
        packet *next = nullptr;  // the first that is not started
        std::size_t started = 0; // those before it
        // A list of which a put has failed and the last one has not come; 0: none. If there are several, no list up to
        // the greatest of the others sets a notification.
        std::uint64_t failed_list = 0;
        std::uint64_t failed_lists_before = 0;
    };
    static constexpr std::size_t most_started = 64; // of one stream

    stream &stream_of(const packet &p) noexcept;
    const local_part *part_for(const header &h) noexcept;
    void put_inside(packet &p) noexcept;
    bool notify(const header &h) noexcept;
    static bool fails_with_list(stream &in, const packet &p) noexcept;
    bool may_start(const stream &in, const packet &next) noexcept;
    void start(packet &next) noexcept;
    void start_put(packet &next) noexcept;
    void reply(packet &next, const void *from, std::uint64_t bytes, const local_part *part) noexcept;
    void start_atomic(packet &next) noexcept;
    void move(packet &next, const local_part *part, int code) noexcept;
    void finish(packet &p) noexcept;
    void advance(stream &in) noexcept;

    local_parts &parts_;
    transport *from_ = nullptr;
    std::size_t queues_ = 0;
    std::unique_ptr<stream[]> streams_; // of each process its queues
    std::size_t number_of_streams_ = 0;
    packet *moving_ = nullptr; // linked by next_moving
};

} // namespace thence::wire
