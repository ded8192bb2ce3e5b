// SPDX-License-Identifier: BSD-3-Clause
// Packets between the processes of a space, on a communicator of its own, and the messages with long data.
//
// A window of receives is posted for packets. A receive is late if MPI has matched it and its data do not come, since
// their process is stopped, or gone. It leaves the window, so that it does not hold up other processes.
//
// All packets have one tag. The message with the data of a put has an even tag, a reply an odd one, so that both go
// between the same two processes without being mistaken.
//
// Whoever waits polls. `polling_` is only tried, never waited for: a poll inside MPI's progress inside a poll does
// nothing. What the receiving side has (the window, order.hpp) is guarded by it. `lock_` guards the packets that were
// sent since the last poll. MPI is not called under `lock_`.
#pragma once

#include "core/base/linked_list.hpp"
#include "core/base/spin_lock.hpp"
#include "core/base/visibility.hpp"
#include "core/engine/is_complete.hpp"
#include "core/mpi/posted_receives.hpp"
#include "onesided/wire/packet.hpp"
#include "onesided/wire/sequence.hpp"

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace thence::wire {

// Takes a packet, and gives it back when it is done. Called by a poll, by one thread at a time, but for lost().
class receiver {
public:
    virtual void arrived(packet &p) noexcept = 0;
    // Looks what has completed. True if anything has.
    virtual bool poll() noexcept = 0;
    // A packet was lost, and is given to the receiver. `was_told`: send() has returned the error. Any thread.
    virtual void lost(packet &p, bool was_told) noexcept = 0;

protected:
    ~receiver() = default;
};

// False where MPI's request says, without progress, that it is pending. Then MPI_Test need not be called.
inline bool may_be_complete(MPI_Request request) noexcept {
    return !engine::can_read_requests || engine::read_complete(request);
}

class THENCE_INTERNAL transport {
public:
    // `comm` stays the caller's, and belongs to the transport alone. It returns errors.
    transport(MPI_Comm comm, receiver &to) noexcept : comm_(comm), to_(to), arrived_(to) {}
    transport &operator=(transport &&) = delete;
    ~transport();

    // Posts the window. Returns an error code.
    int begin() noexcept;
    // Sends empty packets to itself, one for each receive of the window, and waits for all. No other packet is under
    // way to this process. (A receive that is cancelled is lost by some MPIs.)
    void end() noexcept;

    // Sends a packet, and owns it from then on. Returns an error code: then it was not sent.
    int send(packet &p, int process) noexcept;
    // Of a message that will not complete: the other process is gone, or does not learn of it. False: it is matched
    // already, or was not cancelled, and MPI may still use its memory.
    static bool abandon(MPI_Request &request) noexcept;
    // The same for a send. To a process that is gone it is not cancelled: that ends a process of MPICH 5 with UCX.
    static bool abandon_send(MPI_Request &request, bool is_receiver_gone) noexcept;
    // A number for a message with data, or for a reply: not 0. Unique among those that are under way, unless MPI has
    // fewer tags than that.
    std::uint32_t next_serial() noexcept;
    // A number for several puts, of which the last one sets a notification: not 0, and never given again.
    std::uint64_t next_list() noexcept { return last_list_.fetch_add(1, std::memory_order_relaxed) + 1; }
    // The two messages that a serial names. `bytes` fit an int.
    int send_data(const void *from, std::uint64_t bytes, int process, std::uint32_t serial,
                  MPI_Request &request) noexcept;
    int receive_data(void *to, std::uint64_t bytes, int process, std::uint32_t serial, MPI_Request &request) noexcept;
    int send_reply(const void *from, std::uint64_t bytes, int process, std::uint32_t serial,
                   MPI_Request &request) noexcept;
    int receive_reply(void *to, std::uint64_t bytes, int process, std::uint32_t serial, MPI_Request &request) noexcept;

    // True if anything has happened.
    bool poll() noexcept;
    // Calls `function` while no poll is under way. Polls that begin after it see what it has done.
    template <class Function> void between_polls(Function function) noexcept {
        for (base::spin_wait wait; !polling_.try_lock(); wait()) {
        }
        function();
        polling_.unlock();
    }
    // True if packets that were sent have not left.
    bool any_under_way() const noexcept { return under_way_.load(std::memory_order_acquire) != 0; }

    // How many packets were sent to a process, of those that are counted and were not lost.
    std::uint64_t sent_to(int process) const noexcept { return sent_[process].load(std::memory_order_seq_cst); }
    // Of these the operations.
    std::uint64_t operations_sent_to(int process) const noexcept {
        return operations_sent_[process].load(std::memory_order_seq_cst);
    }

private:
    static constexpr std::size_t window = 16;
    static constexpr int packet_tag = 0;
    // Polls that take nothing for so long look for late receives. One that is only slow costs the memory of a packet.
    static constexpr std::uint32_t milliseconds_to_first = 100;
    static constexpr std::uint32_t milliseconds_to_next = 8; // while there are some
    static constexpr unsigned polls_of_clock = 8;

    int data_tag(std::uint32_t serial) const noexcept { return static_cast<int>(2 * (serial % serials_)) + 2; }
    int reply_tag(std::uint32_t serial) const noexcept { return data_tag(serial) + 1; }
    bool post() noexcept;
    bool has_ended() noexcept;
    bool take_arrived() noexcept;
    void take(packet &p, const MPI_Status &status, bool any_late) noexcept;
    bool take_late() noexcept;
    bool has_taken_nothing_for_long() noexcept;
    bool look_for_late() noexcept;
    void look_at_sent() noexcept;
    void count_sent(const packet &p, int process, std::uint64_t change) noexcept;
    void has_left(packet &p, int code, bool in_send) noexcept;

    MPI_Comm comm_;
    receiver &to_;
    int rank_ = 0;
    std::uint32_t serials_ = 16382; // how many different serials the tags of this MPI allow
    std::atomic<std::uint32_t> last_serial_{0};
    std::atomic<std::uint64_t> last_list_{0};
    std::vector<std::atomic<std::uint64_t>> sent_;
    std::vector<std::atomic<std::uint64_t>> operations_sent_;
    std::vector<std::atomic<std::uint64_t>> numbers_; // of packets to each process: the next one

    base::spin_lock polling_; // guards these
    mpi::posted_receives<packet, window> window_;
    bool ending_ = false;            // none is posted again
    base::linked_list<packet> late_; // those that are late
    std::size_t late_number_ = 0;
    sequence arrived_;
    unsigned idle_polls_ = 0; // since one has taken a packet
    std::uint32_t idle_since_ = 0;

    base::spin_lock lock_; // guards what is being sent
    base::linked_list<packet> sending_;
    std::atomic<std::size_t> under_way_{0}; // how many are being sent
};

} // namespace thence::wire
