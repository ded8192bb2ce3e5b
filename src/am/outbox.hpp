// SPDX-License-Identifier: BSD-3-Clause
// What this process sends in packets: credits, and what waits for them.
//
// A process may have `window` packets of each lane at each other process that are not handled there. It has a credit
// for each one more. Invariant, for each lane and pair of processes: credits of the sender + packets that are under way
// or not handled + credits owed by the receiver + credits under way back = window.
//
// A message leaves at once, in a packet of its own, if there is a credit and nothing waits before it. Else it is
// appended to the packet that waits last. In a handler all but the first message to an idle process waits for
// flush_touched(). `lock` of a destination guards its lines; MPI is not called under it, since that may run a
// continuation that needs it.
#pragma once

#include "am/network.hpp"
#include "am/packet.hpp"

#include <atomic>
#include <cstdint>
#include <vector>

namespace thence::am {

// A credit that is given back when all that its packet has brought has ended: held messages, puts, and gets.
struct kept_credit {
    std::atomic<unsigned> references{1}; // of those, and of the packet itself
    lane in;
    int source;
};

// What is told when a message leaves. Either may be null.
struct attached {
    departure_callback *departure = nullptr;
    transfer *announced = nullptr;
};

class outbox {
public:
    outbox(network &by, packet_pool &packets) noexcept : by_(by), pool_(packets) {}
    outbox &operator=(outbox &&) = delete;
    ~outbox();
    // `most_announced`: messages in a packet of the lane `control`. False: memory is exhausted.
    bool begin(int ranks, int window, unsigned most_announced) noexcept;

    // The payload is that of `a` and behind it that of `b`. What is attached is owned from here on if
    // this succeeds. `more_follows`: flush_touched() will be called soon. Returns MPI_SUCCESS or MPI_ERR_NO_MEM.
    int send(lane in, int rank, std::uint32_t number, piece a, piece b, attached told, bool more_follows) noexcept;
    // Counts the announcements to a process.
    std::uint64_t next_serial(int rank) noexcept {
        return all_[static_cast<std::size_t>(rank)].serial.fetch_add(1, std::memory_order_relaxed);
    }
    // Bytes that wait for this process.
    std::size_t queued(int rank) const noexcept {
        return all_[static_cast<std::size_t>(rank)].queued.load(std::memory_order_relaxed);
    }
    std::size_t queued() const noexcept { return queued_.load(std::memory_order_relaxed); }
    std::uint64_t packets() noexcept;           // that were sent
    const std::uint64_t *packets_to() noexcept; // for each process; after all have left

    // This process has handled a packet that had messages: its sender gets a credit back.
    void handled(lane in, int source) noexcept;
    // In place of handled(): a part of what a packet has brought goes on. `kept` is null before the first. Null: memory
    // is exhausted, and the credit goes back early.
    static kept_credit *keep(kept_credit *&kept, lane in, int source) noexcept;
    // A part has ended, or the packet is handled but for its parts. Null: it was not kept.
    void give_back(kept_credit *kept) noexcept;
    // A packet has brought credits back.
    void returned(int from, const packet_header &head) noexcept;
    // A packet was not sent: its credit is there again, and those that it gave back are owed again. The next
    // flush_touched() sends what waits.
    void lost(packet &p) noexcept;
    // A packet to this process has left, or is lost, and all that follows from that is done.
    void left(int rank) noexcept;
    // After end(): no packet is under way from here.
    bool have_all_left() noexcept;
    // Sends what waits, as far as there are credits, and the credits that must not wait.
    void flush_touched() noexcept;
    bool any_touched() const noexcept { return touched_.load(std::memory_order_relaxed) != nullptr; }
    // After the last message. No credits are given back from now on, so no packet is begun.
    void end() noexcept { ending_.store(true); }

private:
    struct line {
        unsigned credits = 0;
        unsigned owed = 0;       // credits to give back
        packet *first = nullptr; // those that wait
        packet *last = nullptr;
    };
    struct destination {
        base::spin_lock lock;
        line lines[lanes];
        std::uint64_t packets = 0; // that were sent
        std::uint64_t leaving = 0; // of those, for which left() was not called
        std::atomic<std::size_t> queued{0};
        std::atomic<std::uint64_t> serial{0}; // does not wrap: tags would not be used in turn
        std::atomic<bool> is_touched{false};
        destination *next_touched = nullptr;
    };

    static void count(destination &d) noexcept;
    bool flush(destination &d) noexcept; // true if it owes many credits
    void touch(destination &d) noexcept;
    bool has_room(packet &p, std::size_t bytes) const noexcept;
    static void add_credits(destination &d, packet &p) noexcept;
    bool owes_many(const destination &d) const noexcept; // under its lock
    void return_credits(destination &d, int rank) noexcept;

    network &by_;
    packet_pool &pool_;
    unsigned window_ = 0;
    unsigned most_announced_ = 1;
    std::vector<destination> all_;
    std::vector<std::uint64_t> sent_to_;
    std::atomic<destination *> touched_{nullptr}; // a list that is only pushed to, and taken as a whole
    std::atomic<std::size_t> queued_{0};
    std::atomic<bool> ending_{false}; // read under the lock of a destination: have_all_left() sees all that is sent
};

} // namespace thence::am
