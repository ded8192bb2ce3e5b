// SPDX-License-Identifier: BSD-3-Clause
// An endpoint: where messages for one receiver arrive (a thread of a thread communicator, a stream of a multiplex
// communicator) and are matched as MPI matches them: in the order of their senders, each by the oldest receive that
// matches, each receive with the oldest message that matches.
//
// Any thread pushes into the queue without a lock. The lists of posted receives and of unexpected messages are changed
// under the lock of the endpoint, which is almost always free: the thread that the endpoint belongs to takes it, and
// another thread only if it has to make progress for that one: a sender whose queue is full or who waits for its data
// to be taken, a completion call on a request, MPI's progress hook.
//
// Order of locks: the lock of a transport, then that of an endpoint. While an endpoint is locked, nothing enters MPI's
// progress and no operation is completed: both are noted in `deferred_work` and done after the lock is released.
//
// Invariant: no posted receive matches an unexpected message. So a message is compared with the posted receives when it
// leaves the queue, a receive with the unexpected messages when it is posted, and never again.
#pragma once

#include "core/base/free_list.hpp"
#include "core/base/spin_lock.hpp"
#include "mpix/messages/message.hpp"
#include "mpix/messages/ring.hpp"

#include <atomic>

namespace thence::messages {

// A message that nobody has asked for yet, or that a matching probe has taken out.
struct unexpected {
    envelope message;
    unexpected *next = nullptr;
    unexpected *previous = nullptr;
};

class endpoint {
public:
    endpoint() = default;
    ~endpoint();
    endpoint &operator=(endpoint &&) = delete;

    // Any thread. A full queue is emptied by the pusher.
    void push(const envelope &message) noexcept;

    // Posts a receive. Its `data` and `wanted` are set. It may be complete when this returns.
    void post(p2p_operation &receive) noexcept;
    // Matches what has arrived. Returns false if there was nothing, or another thread is at it.
    bool drive() noexcept;
    // True if drive() may find something.
    bool any_arrived() const noexcept { return queue_.any(); }

    // The oldest message that matches, which stays; false if there is none.
    bool probe(const pattern &wanted, outcome &found) noexcept;
    // The same, but takes the message out: null if there is none. receive_taken() consumes it.
    unexpected *take(const pattern &wanted, outcome &found) noexcept;
    static void receive_taken(unexpected *taken, p2p_operation &receive) noexcept;

    // What is found while the lock is held, and must be done without it.
    struct deferred_work {
        completed_list completed;
        p2p_operation *to_start = nullptr; // receives whose data MPI shall move
        void finish() noexcept;            // calls MPI
        bool empty() const noexcept { return completed.first == nullptr && to_start == nullptr; }
        // Adds what the other has, which has nothing then.
        void take(deferred_work &other) noexcept;
    };
    // Removes a receive that no message has matched. False if one has. Calls no MPI: `deferred` gets what is to be
    // done, for this receive too if a message that had arrived before has matched it, and for others.
    bool withdraw(p2p_operation &receive, deferred_work &deferred) noexcept;

    // Sets `at` of an operation that is posted here, or whose message is pushed to here.
    void assign(p2p_operation &op) noexcept;
    // The number of requests that need this endpoint to be driven: receives posted here, sends that wait here. Progress
    // drives endpoints whose number is not zero.
    void needed_by_request() noexcept;
    void not_needed_by_request() noexcept { needed_.fetch_sub(1, std::memory_order_release); }
    bool is_needed() const noexcept { return needed_.load(std::memory_order_acquire) != 0; }

private:
    static void deliver(envelope &message, p2p_operation &receive, deferred_work &deferred) noexcept;
    p2p_operation *find_posted(const envelope &message) noexcept;
    unexpected *find_unexpected(const pattern &wanted) noexcept;
    void keep(const envelope &message) noexcept;
    void unlink(p2p_operation &receive) noexcept;
    void unlink(unexpected &message) noexcept;
    bool drain(deferred_work &deferred) noexcept;

    ring<envelope, 128> queue_;
    base::spin_lock lock_; // guards the lists and popping
    p2p_operation *posted_ = nullptr, *last_posted_ = nullptr;
    unexpected *unexpected_ = nullptr, *last_unexpected_ = nullptr;
    base::free_list<unexpected> free_;
    std::atomic<long> needed_{0};
    std::atomic<bool> registered_{false};
    friend class registry;
};

// Sends a copy of the data from this thread to an endpoint of the same process. False: they are too long, or memory is
// exhausted, and nothing was sent.
bool send_copy(endpoint &to, const buffer &data, int source, int index, int tag) noexcept;
// The same with an operation, for data of any length. `send` must live until it is done; it is used only if the
// return value is false. True: the data have been copied, and the send is complete. `synchronous`: it is complete only
// once it is matched.
bool send_local(endpoint &to, p2p_operation &send, int source, int index, int tag, bool synchronous) noexcept;

// Drives all endpoints that are needed by requests. True if anything had arrived.
bool drive_needed() noexcept;
// True if this thread is in drive_needed(). No endpoint may be destroyed then.
bool is_driving() noexcept;

} // namespace thence::messages
