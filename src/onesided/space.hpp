// SPDX-License-Identifier: BSD-3-Clause
// A space: the processes of a communicator, how each is reached, their segments and queues.
//
// Processes of one node map memory of each other. Messages (wire/) begin when some process cannot be reached so, and
// stay: then all processes have them.
//
// Order between the two ways: a direct operation takes effect when it is called. So it may follow messages to the same
// process only when that process has done all of them, which it counts in memory that this process has mapped. Else the
// operation is a message, too.
//
// Packets that are on their way to one process, or wait there, are bounded: an operation waits while that process has
// not done the last `most_on_their_way`. (A user whose calls have time-outs waits itself, once for a list.) It counts
// them in mapped memory, and tells others by a credit now and then.
#pragma once

#include "core/base/spin_lock.hpp"
#include "onesided/health.hpp"
#include "onesided/list_request.hpp"
#include "onesided/memory/shared_block.hpp"
#include "onesided/queue.hpp"
#include "onesided/segment.hpp"
#include "onesided/wire/order.hpp"
#include "onesided/wire/transport.hpp"

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace thence::onesided {

// Why a part is reached as it is.
namespace text {
inline constexpr const char *own = "the memory is that of this process";
inline constexpr const char *mapped = "the process is on this node, and its memory is mapped";
inline constexpr const char *copied =
    "the process is on this node; the memory is the program's, so the system copies (process_vm_writev)";
inline constexpr const char *other_node = "the process is on another node";
#if defined(SMPI_H)
inline constexpr const char *by_setting = "the processes are simulated, and only messages take simulated time";
#else
inline constexpr const char *by_setting = "THENCE_ONESIDED=messages";
#endif
inline constexpr const char *not_mapped =
    "the process is on this node, but the system does not let this process map its memory (memfd_create, /proc)";
inline constexpr const char *not_copied =
    "the process is on this node, but the system refuses process_vm_writev for memory of the program";
} // namespace text

// Another process.
struct peer {
    int process = 0;           // its number in the system
    bool is_on_node = false;   // of this process, which is on it too
    bool is_here = false;      // the same, and its memory can be mapped
    bool is_copied_to = false; // the system copies to its memory
    const char *why = nullptr; // messages are used
    memory::shared_block control;
    // Packets of this process that it has done, and the operations of these; in `control`.
    const std::atomic<std::uint64_t> *done = nullptr;
    const std::atomic<std::uint64_t> *operations_done = nullptr;
};

// Takes packets of kind `other`.
using other_function = void(void *data, wire::packet &p) noexcept;

class THENCE_INTERNAL space final : public wire::local_parts {
public:
    // Collective; see thence_space_create(). `always_messages`: the space begins with messages.
    static int create(MPI_Comm comm, int queues, bool always_messages, std::unique_ptr<space> &made) noexcept;
    // After end(), or if its user could not begin: then nothing was sent, and it is polled no more.
    ~space();
    space &operator=(space &&) = delete;

    int rank() const noexcept { return rank_; }
    int size() const noexcept { return size_; }
    MPI_Comm comm() const noexcept { return comm_; }
    bool only_messages() const noexcept { return only_messages_; }

    // Collective. What create() and free() of a segment do.
    int create_segment(void *memory, std::size_t bytes, unsigned notifications, segment *&made) noexcept;
    int free_segment(segment &freed) noexcept;
    // Collective: MPI_ERR_PENDING if the space is used. Else nothing of it is under way on return.
    // `with_segments`: those that are left go with it.
    int end(bool with_segments = false) noexcept;

    // For a user of the space whose segments are made one by one, and whose parts may be told anew: exists while an
    // operation looks at parts.
    class use {
    public:
        explicit use(space &world) noexcept : world_(world) { world_.users_.fetch_add(1, std::memory_order_seq_cst); }
        use &operator=(use &&) = delete;
        ~use() { world_.users_.fetch_sub(1, std::memory_order_seq_cst); }

    private:
        space &world_;
    };
    bool is_in_use() const noexcept { return users_.load(std::memory_order_seq_cst) != 0; }
    bool add_segment(segment &added) noexcept;
    void remove_segment(const segment &removed) noexcept;
    segment *segment_of(int number) noexcept;
    void set_other(other_function *function, void *data) noexcept {
        other_ = function;
        other_data_ = data;
    }

    // Whether an operation on this part may be direct now: all that went by messages are done. Other packets do not
    // matter, such as those of a barrier: else a stream of writes that begins behind one would go by messages as long
    // as it lasts, since each of them is the reason for the next.
    bool may_be_direct(int rank) const noexcept {
        if (!has_messages()) {
            return true;
        }
        const std::uint64_t sent = wires_->operations_sent_to(rank);
        return sent == 0 || sent == operations_done_by(rank);
    }
    // Whether one more packet may be sent to this process. If not, polls and looks again.
    bool has_room_for(int rank) noexcept;
    // Waits until it may. False: the process is gone. Calls no callbacks.
    bool wait_for_room(int rank) noexcept;
    bool has_messages() const noexcept { return has_messages_.load(std::memory_order_acquire); }
    wire::transport &wires() noexcept { return *wires_; }
    health &health_of(int rank) noexcept { return health_[static_cast<std::size_t>(rank)]; }
    bool is_gone(int rank) noexcept { return health_of(rank).gone.load(std::memory_order_acquire); }
    bool any_is_gone() noexcept;
    // An operation begins. True for one in 64. Two threads may count as one: that delays a look a little.
    bool look_is_due() noexcept {
        const std::uint32_t count = operations_.load(std::memory_order_relaxed) + 1;
        operations_.store(count, std::memory_order_relaxed);
        return count % 64 == 0;
    }
    // Asks the system which processes of this node are gone. Costs a call of the system for each. Polls do it in a
    // space with messages, else operations, if no thread has asked for so long.
    static constexpr std::uint32_t milliseconds_of_look = 50;
    void look_who_is_gone() noexcept;
    // Called by polls, at each such look while some process will not answer. It may not call MPI nor callbacks. For
    // a user of the space whose operations leave requests.
    void set_hopeless(void (*function)(space &)) noexcept { hopeless_.store(function, std::memory_order_release); }
    queue &queue_of(int number) noexcept { return queues[static_cast<std::size_t>(number)]; }

    // A list of operations that was started, not all of which are complete.
    void add_list(list_request &added) noexcept;

    // What a poll does for this space. True if anything has happened.
    bool poll() noexcept;
    bool may_have_arrived() noexcept;
    void look(notification::arrived_list &ready) noexcept;

    const wire::local_part *find(int segment) noexcept override;
    void other(wire::packet &p) noexcept override;
    void done(int process, bool is_operation) noexcept override;
    void credit(int process, std::uint64_t packets) noexcept override;
    void refuse(wire::packet &p) noexcept override;
    void refused(wire::packet &p) noexcept override;
    void lost(wire::packet &p, bool was_told) noexcept override;

    std::vector<peer> peers;
    std::vector<queue> queues;

private:
    static constexpr std::uint64_t most_on_their_way = 4096;
    static constexpr std::uint64_t packets_of_credit = 512;
    static constexpr unsigned polls_of_look = 8;

    space(MPI_Comm comm, MPI_Comm collective) noexcept; // which are its own
    struct greeting;
    bool make_own(int queues) noexcept;
    void meet(int rank, const greeting &said, const greeting &own) noexcept;
    int begin_messages() noexcept;
    void leave_list() noexcept;
    bool look_if_due() noexcept;
    void look_now_and_then() noexcept;
    void look_at_lists() noexcept;
    int agree(int mine, int &all) noexcept;
    template <class Start> int call_all(Start start) noexcept;
    int error_if_pending(bool mine) noexcept;
    int exchange_counts(const std::atomic<std::uint64_t> arrived[]) noexcept;
    bool wait_until_packets_have_left() noexcept;
    int drain() noexcept;
    int wait_for_uncounted() noexcept;
    void will_not_complete(wire::packet &p) noexcept;
    void send_uncounted(wire::packet &p, int process) noexcept;
    void has_arrived_uncounted(int process) noexcept;
    void lost_after_its_call(wire::packet &p, health &target_health) noexcept;
    int free_number() const noexcept;
    std::uint64_t done_by(int rank) const noexcept;
    // Of a process whose memory can be mapped.
    std::uint64_t operations_done_by(int rank) const noexcept {
        const std::atomic<std::uint64_t> *const there = peers[static_cast<std::size_t>(rank)].operations_done;
        return (there != nullptr ? there : &operations_done_[rank_])->load(std::memory_order_acquire);
    }

    std::atomic<long> users_{0};
    MPI_Comm comm_; // a duplicate, for messages of the transport
    MPI_Comm collective_;
    int rank_ = 0;
    int size_ = 0;
    bool only_messages_ = false;
    bool is_listed_ = false;                // polls find it
    std::atomic<bool> has_messages_{false}; // a poll may look while a segment is being made
    memory::shared_block control_;
    std::atomic<std::uint64_t> *done_ = nullptr;            // packets of each process that were done here; in control_
    std::atomic<std::uint64_t> *operations_done_ = nullptr; // of these; behind them
    std::unique_ptr<health[]> health_;                      // of each process
    std::atomic<bool> has_lost_{false};                     // the health of some process keeps a packet
    std::atomic<void (*)(space &)> hopeless_{nullptr};
    unsigned polls_ = 0; // since the last look; one thread polls at a time
    std::atomic<std::uint32_t> last_look_{0};
    std::atomic<std::uint32_t> operations_{0};
    // For collective calls, which cannot fail in one process alone. After one that was given up MPI has this memory,
    // and none is begun any more.
    int agreed_[2] = {}; // what this process gives; the greatest of all
    part_description mine_{};
    std::vector<part_description> told_;
    std::unique_ptr<std::uint64_t[]> counts_; // of each process, twice: what it is told, what it has told
    // Of each other process. Packets of this process that it has done, as its last credit says; packets that do not
    // count among these (wire::is_counted()) which were sent to it and not lost, and which came from it.
    std::unique_ptr<std::atomic<std::uint64_t>[]> credits_;
    std::unique_ptr<std::atomic<std::uint64_t>[]> uncounted_sent_;
    std::unique_ptr<std::atomic<std::uint64_t>[]> uncounted_here_;
    std::optional<wire::transport> wires_;
    wire::order arriving_;
    bool are_ready_ = false; // both, in this process
    other_function *other_ = nullptr;
    void *other_data_ = nullptr;

    base::spin_lock lists_lock_;                             // guards the two lists, of list_request
    base::linked_list<notification::waiter> lists_;          // a poll takes them out while it looks
    base::linked_list<notification::waiter> complete_lists_; // their requests are not complete yet
    std::atomic<int> lists_number_{0};                       // of all three kinds
    std::atomic<bool> any_list_is_complete_{false};

    mutable base::spin_lock lock_;    // guards the segments
    std::vector<segment *> segments_; // by number; null: none
};

// For a loop that waits for all processes of a space: says when one of them is gone, so that it has no end. It asks the
// system now and then; after that the loop goes on for a while, since what the process has sent may not have been seen.
class THENCE_INTERNAL watch_over_all {
public:
    explicit watch_over_all(space &world) noexcept;
    // True: one is gone.
    bool gives_up() noexcept;

private:
    static constexpr std::uint32_t milliseconds_of_look = 50;
    static constexpr std::uint32_t milliseconds_after = 200;
    static constexpr unsigned turns_after = 1000;

    space &world_;
    std::uint32_t since_; // the last look, or when one was found gone
    unsigned turns_ = 0;
    bool is_one_gone_;
};

// Waits for a request of a collective call while all else makes progress. Returns the error of the call. `world`: it is
// given up, and MPI has its memory, if a process of this space is gone. Null: their processes are not known.
int complete(MPI_Request &request, space *world) noexcept;

} // namespace thence::onesided
