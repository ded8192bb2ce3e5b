// SPDX-License-Identifier: BSD-3-Clause
// What an engine has of MPI: communicators, receives that are posted ahead, and continuation requests.
#pragma once

#include "am/network.hpp"
#include "core/base/linked_list.hpp"

#include <atomic>
#include <thread>
#include <vector>

namespace thence::am {

// A receive that is posted ahead, and again when its packet is handled. It is not persistent: Open MPI tells when
// others complete, while each poll looks at all persistent ones.
struct receive {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status{};
    network_events *to = nullptr;
    void *owner = nullptr; // a network::state
    lane in = lane::handlers;
    std::atomic<bool> is_in_upcall{false};  // arrived(): see network::is_in_arrived()
    unsigned failures = 0;                  // in a row
    std::atomic<bool> is_unattached{false}; // though it is posted: memory was exhausted
    std::vector<std::uint64_t> content;
};

struct network::state {
    explicit state(network_events &events) noexcept : to(events) {}

    network_events &to;
    MPI_Comm packets = MPI_COMM_NULL; // a tag for each lane
    MPI_Comm data = MPI_COMM_NULL;    // each message has a tag of its own
    MPI_Comm waves = MPI_COMM_NULL;
    // One for each lane, and one for all else, which may run at once. Data that arrive have that of the lane `handlers`
    // if they are handled in polls, so that a poll makes progress once: MPI may yield the processor each time that it
    // finds nothing. Else they have that of `short_handlers`. So only receives are in these two: they can be cancelled.
    MPI_Request of_lane[lanes] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Request at_once = MPI_REQUEST_NULL;
    MPI_Request probe = MPI_REQUEST_NULL; // of in_callback(): nothing is left in it
    std::vector<receive> receives;
    std::size_t whole = 0; // bytes of a packet
    std::atomic<std::size_t> receives_left{0};
    std::atomic<std::size_t> left_of_lane[lanes] = {};
    // What could not be attached though it was started, since memory was exhausted: the next poll tries again. To wait
    // for it could be for ever, since another process may wait for this one.
    std::atomic<bool> any_unattached{false};
    base::spin_lock unattached; // guards these
    base::linked_list<packet> unattached_packets;
    base::linked_list<transfer> unattached_transfers;
    bool wave_is_unattached = false;
    std::atomic<std::uint64_t> arrived{0}; // packets
    totals mine;
    totals all;
    MPI_Request wave[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int wave_operations = 1;
    int wave_step = 0;       // on simulated ranks, as all that follows: see network_wave.cpp
    totals of_others[2];     // of the processes below this one
    int rank = 0, ranks = 1; // in `waves`
    // In end(): packets, and the one operation that it waits for. They stay here, since end() may give up.
    std::uint64_t expected = 0;
    std::vector<std::uint64_t> expected_of_all; // on simulated ranks
    std::atomic<bool> has_completed{false};
    int completed_with = MPI_SUCCESS;
    std::atomic<bool> all_are_ending{false}; // no process waits any more for what another decides
    std::atomic<bool> are_cancelled{false};  // receives of data, and of packets for handlers
    bool one_thread = false;
    bool polls_all = false; // other threads may be inside MPI, but run nothing of this engine
    std::thread::id communication_thread;

    int make_requests(unsigned flags) noexcept;
    void make_receives(const thence_am_options &in_force, std::size_t bytes); // throws std::bad_alloc
    void start(receive &r) noexcept;
    void attach(receive &r) noexcept;
    // True: it is complete, with `error`, and is not attached. False: its end is told later.
    bool attach(packet &p, int &error) noexcept;
    bool attach(transfer &t, int &error) noexcept;
    bool attach_wave(int &error) noexcept;
    void go_on_with_wave(int error) noexcept; // its operations have ended
    void attach_again() noexcept;
    bool is_cancelled(const MPI_Status &status) const noexcept;
    // True: it has failed too often. `is_lost`: a packet may be.
    bool give_up(receive &r, int error, bool is_lost) noexcept;
    void free_requests() noexcept;

    static int received(int error, MPI_Status *status, void *data) noexcept;
    static int packet_left(int error, MPI_Status *status, void *data) noexcept;
    static int data_has_left(int error, MPI_Status *status, void *data) noexcept;
    static int data_has_arrived(int error, MPI_Status *status, void *data) noexcept;
    static int wave_has_ended(int error, MPI_Status *status, void *data) noexcept;
    static int completed(int error, MPI_Status *status, void *data) noexcept; // what end() waits for
};

inline int class_of(int code) noexcept {
    int error_class = MPI_SUCCESS;
    return code == MPI_SUCCESS || MPI_Error_class(code, &error_class) != MPI_SUCCESS ? code : error_class;
}

} // namespace thence::am
