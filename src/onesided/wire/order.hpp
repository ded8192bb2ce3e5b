// SPDX-License-Identifier: BSD-3-Clause
// What the target of packets does with them, in the order of each process and queue. MPI completes long messages out of
// order, so what came behind one waits for it where it has to.
//
// A stream is what one process sends on one queue. Invariants of a stream:
//   - its packets are started in order, and a notification is set when all packets before are done and its own data are
//     here;
//   - two puts whose data overlap are not under way at the same time; other puts may be;
//   - a get and an atomic operation start when all before are done, and what follows them starts when their reply has
//     left.
// All functions are called by one thread at a time, the one that polls the transport.
#pragma once

#include "onesided/notification/slots.hpp"
#include "onesided/wire/transport.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

namespace thence::wire {

// The part of a segment that this process has.
struct local_part {
    unsigned char *memory;
    std::size_t bytes;
    notification::slots notifications;
};

// What the space knows.
class local_parts {
public:
    // Null: there is no such segment.
    virtual const local_part *find(int segment) noexcept = 0;
    // A packet of kind `other` is next. It is given back after this.
    virtual void other(packet &p) noexcept = 0;
    // One more packet of this process is done.
    virtual void done(int process) noexcept = 0;

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

private:
    struct entry {
        packet *p;
        MPI_Request moving = MPI_REQUEST_NULL; // the data of a put, or a reply
        bool is_done = false;
        std::unique_ptr<unsigned char[]> room; // of data for which there is no place
    };
    struct stream {
        std::deque<entry> entries;
        std::size_t started = 0; // the first so many
    };
    struct movement {
        stream *of;
        entry *what;
    };
    static constexpr std::size_t most_started = 64; // of one stream

    stream *stream_of(const packet &p) noexcept;
    const local_part *part_for(const header &h) noexcept;
    void put_inside(const packet &p) noexcept;
    void notify(const header &h) noexcept;
    bool may_start(const stream &in, const entry &next) const noexcept;
    void start(stream &in, entry &next) noexcept;
    void start_put(stream &in, entry &next) noexcept;
    void reply(stream &in, entry &next, const void *from, std::uint64_t bytes) noexcept;
    void start_atomic(stream &in, entry &next) noexcept;
    void move(stream &in, entry &next, int code) noexcept;
    void finish(packet &p) noexcept;
    void advance(stream &in) noexcept;

    local_parts &parts_;
    transport *from_ = nullptr;
    std::size_t queues_ = 0;
    std::vector<std::unique_ptr<stream>> streams_; // of each process its queues
    std::vector<movement> moving_;
};

} // namespace thence::wire
