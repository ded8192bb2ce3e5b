// SPDX-License-Identifier: BSD-3-Clause
// All that an engine does with MPI, by continuations: one continuation request for each class of messages. Tests of one
// process replace network.cpp and network_begin.cpp.
//
// Each upcall of an operation comes exactly once, with or without an error. Where may_call() is false nothing here may
// be called but rank(), size() and may_call().
#pragma once

#include "am/packet.hpp"

#include <thence/am.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace thence::am {

struct kept_credit;

// A message with long data, of a put or a get.
struct transfer : pending_operation {
    enum class kind {
        put,          // the data leave
        answer,       // the data leave, for the get of another process
        incoming_put, // the data arrive, of a put of another process
        get           // the data arrive
    };

    transfer *next = nullptr;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status{};
    void *owner = nullptr;      // the network, while it is under way
    bool in_polls_only = false; // its end is told there
    kind what = kind::put;
    int rank = 0;
    int tag = 0;
    int number = THENCE_AM_NO_HANDLER; // the handler of a put
    void *data = nullptr;
    std::size_t bytes = 0;
    bool is_void = false;          // there is no such memory
    kept_credit *credit = nullptr; // of the packet that has announced it
    std::size_t payload_bytes = 0;

    unsigned char *payload() noexcept { return reinterpret_cast<unsigned char *>(this + 1); }
    bool leaves() const noexcept { return what == kind::put || what == kind::answer; }
};

// What all processes have together.
struct totals {
    std::uint64_t sent = 0;
    std::uint64_t handled = 0;
};

class network_events {
public:
    virtual void arrived(lane in, int source, unsigned char *content, std::size_t length) noexcept = 0;
    virtual void left(packet &p, int error) noexcept = 0;
    virtual void data_left(transfer &t, int error) noexcept = 0;
    virtual void data_arrived(transfer &t, int error, std::size_t bytes) noexcept = 0;
    virtual void wave_ended(int error, totals all) noexcept = 0;
    // A receive for packets has failed. It is posted again, but not if that has failed too often. `cannot_go_on`: a
    // packet may be lost, so that the end of all messages would never be found; or no receive of its lane is left.
    virtual void receive_failed(int error, bool cannot_go_on) noexcept = 0;
    // Another process has called say_broken().
    virtual void other_is_broken(int rank) noexcept = 0;

protected:
    ~network_events() = default;
};

inline int largest_tag(MPI_Comm comm) noexcept {
    int *largest = nullptr;
    int flag = 0;
    MPI_Comm_get_attr(comm, MPI_TAG_UB, &largest, &flag);
    return flag != 0 ? *largest : 32767;
}

class network {
public:
    explicit network(network_events &to); // throws std::bad_alloc
    network &operator=(network &&) = delete;
    ~network();
    // Frees what MPI has for it, once it has ended without an error.
    void free() noexcept;

    // Collective. Returns the error code of this process. `whole`: bytes of a packet's content.
    int begin(MPI_Comm comm, const thence_am_options &in_force, std::size_t whole) noexcept;
    // Collective, after it. Posts the receives if `code` is no error in any process. Returns an error code, in all
    // processes or none.
    int start(MPI_Comm comm, int code) noexcept;
    // Collective, when no message is under way but packets that only return credits, and those of this process have
    // left. `packets_to`: how many packets this process has sent to each other. Waits for those that have not arrived
    // here, and ends the receives. Returns `broken` once it is an error.
    int end(const std::uint64_t packets_to[], const std::atomic<int> &broken) noexcept;

    int rank() const noexcept { return rank_; }
    int size() const noexcept { return size_; }
    // Messages with data may have tags from 0 up to this.
    int largest_data_tag() const noexcept { return largest_data_tag_; }
    // This thread may call MPI.
    bool may_call() const noexcept;
    // This thread is in a callback of a continuation: no other would run before it returns.
    bool in_callback() noexcept;

    void send(packet &p) noexcept;                               // left()
    bool send_data(transfer &t, int &error) noexcept;            // true: it has left already. Else data_left()
    void receive_data(transfer &t, bool in_polls_only) noexcept; // data_arrived()
    // Asks MPI to cancel the receives of data, and those of packets that have the same continuation requests. Upcalls
    // of data come all the same.
    void cancel_receives() noexcept;
    // In place of data that cannot be sent: an empty message, so that the other process does not wait for ever.
    int send_no_data(int rank, int tag) noexcept;
    // A thread is in arrived(). One that comes there later sees what this thread has stored before.
    bool is_in_arrived() noexcept;
    // Tells another process that this one cannot go on. Needs no memory and no credit, since there may be none.
    int say_broken(int rank) noexcept;
    void begin_wave(totals mine) noexcept; // wave_ended()
    // Makes progress, and handles what is handled in polls only. One thread at a time. `MPI_ERR_PENDING`: called in a
    // callback, which must return before anything else can happen.
    int poll() noexcept;
    // Makes progress only.
    int progress() noexcept;

private:
    struct state;
    std::unique_ptr<state> state_;
    network_events &to_;
    int rank_ = 0;
    int size_ = 0;
    int largest_data_tag_ = 0;
};

} // namespace thence::am
