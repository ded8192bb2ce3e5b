// SPDX-License-Identifier: BSD-3-Clause
// What GASPI knows in this process, between gaspi_proc_init() and gaspi_proc_term(): a space over all processes, whose
// segments are made one by one, its queues and groups.
//
// A number of a segment has one object (`view`) from the moment on when this process makes its part or learns of that
// of another. The object stays: deleting a part drops that part alone.
#pragma once

#include "onesided/operations.hpp"
#include "onesided/space.hpp"

#include <GASPI_Ext.h>
#include <GASPI_Lowlevel.h>
#include <mpi.h>
#include <thence/backoff.h>
#include <thence/thence.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

namespace thence::gaspi {

static_assert(sizeof(unsigned long) == 8 && sizeof(void *) == 8,
              "GASPI's sizes, offsets and atomic values are unsigned long: systems where that has 64 bits (LP64)");

inline constexpr int most_queues = 16;
inline constexpr int own_queue = most_queues; // of packets that belong to no queue of the program
inline constexpr int most_segments = 255;
inline constexpr unsigned most_counters = 12;

enum class counter : unsigned {
    writes,
    reads,
    notifications,
    bytes_written,
    bytes_read,
    barriers,
    allreduces,
    atomics,
    passive_sent,
    passive_received,
    passive_bytes,
    bytes_by_messages
};

// What packets of kind `other` are for.
enum class subject : std::uint32_t { part = 1, part_answer, collective, ping, pong };

// An atomic operation whose call has timed out: a call with the same arguments, on any thread, goes on with it.
struct unfinished {
    wire::kind what;
    gaspi_segment_id_t segment;
    gaspi_offset_t offset;
    gaspi_rank_t rank;
    std::uint64_t operands[2];
    MPI_Request request = MPI_REQUEST_NULL;
    std::uint64_t old = 0; // MPI writes to it
    std::uint32_t serial = 0;

    bool has_arguments_of(const unfinished &other) const noexcept {
        return what == other.what && segment == other.segment && offset == other.offset && rank == other.rank &&
               operands[0] == other.operands[0] && operands[1] == other.operands[1];
    }
};

struct process {
    std::unique_ptr<onesided::space> world;
    MPI_Comm passive = MPI_COMM_NULL;
    int rank = 0;
    int size = 0;

    std::atomic<std::uint64_t> last_ping{0};
    std::unique_ptr<std::atomic<std::uint64_t>[]> last_pong; // the greatest number that each rank has answered

    std::mutex unfinished_mutex; // guards the list
    std::list<unfinished> unfinished_atomics;

    // What each operation asks is read without the mutex, which guards its changes. A view has its part before
    // `has_part` says so.
    std::mutex mutex;
    std::array<std::unique_ptr<onesided::segment>, most_segments> views;
    std::array<std::atomic<onesided::segment *>, most_segments> known_views{};
    std::array<std::atomic<bool>, most_segments> has_part{};
    std::array<std::atomic<bool>, most_queues> has_queue{};
};

// Null outside of init and term.
extern std::atomic<process *> THENCE_INTERNAL current;
extern gaspi_config_t configuration;
extern std::array<std::atomic<unsigned long>, most_counters> counters;

inline void count(counter which, unsigned long n = 1) noexcept {
    counters[static_cast<unsigned>(which)].fetch_add(n, std::memory_order_relaxed);
}
inline unsigned long number_of(gaspi_rank_t rank) noexcept {
    return rank;
}

// The end of a time-out.
class deadline {
public:
    explicit deadline(gaspi_timeout_t timeout_ms) noexcept : timeout_(timeout_ms) {
        if (timeout_ != GASPI_BLOCK && timeout_ != GASPI_TEST) {
            constexpr gaspi_timeout_t longest = 1000UL * 3600 * 24 * 365;
            end_ =
                std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ < longest ? timeout_ : longest);
        }
    }
    // What is left of it.
    gaspi_timeout_t left() const noexcept {
        if (timeout_ == GASPI_BLOCK || timeout_ == GASPI_TEST) {
            return timeout_;
        }
        const auto now = std::chrono::steady_clock::now();
        return now >= end_
                   ? GASPI_TEST
                   : static_cast<gaspi_timeout_t>(std::chrono::ceil<std::chrono::milliseconds>(end_ - now).count());
    }
    bool has_passed() const noexcept {
        return timeout_ == GASPI_TEST || (timeout_ != GASPI_BLOCK && std::chrono::steady_clock::now() >= end_);
    }
    // False: the time is over. It makes no progress.
    bool lock(std::unique_lock<std::timed_mutex> &guard) const {
        if (timeout_ == GASPI_BLOCK) {
            guard.lock();
            return true;
        }
        return timeout_ == GASPI_TEST ? guard.try_lock() : guard.try_lock_until(end_);
    }

private:
    gaspi_timeout_t timeout_;
    std::chrono::steady_clock::time_point end_;
};

// Makes progress, also of reads with a notification.
THENCE_INTERNAL void make_progress(process &self) noexcept;

// Waits until `done()`. False: the time is over. `done` fails where it waits for a rank that is gone, which polls find.
template <class Done> bool wait_until(process &self, const deadline &end, Done done) {
    thence_backoff backoff = THENCE_BACKOFF_INIT;
    backoff.longest = 20'000;
    while (!done()) {
        make_progress(self);
        if (done()) {
            return true;
        }
        if (end.has_passed()) {
            return false;
        }
        thence_backoff_pause(&backoff);
    }
    return true;
}

// What a packet of kind `other` has. More data than a packet holds are sent in several, in their order.
struct content {
    subject about;
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    const void *data = nullptr;
    std::size_t bytes = 0;
    bool failed = false; // header: serial
};
gaspi_return_t send(process &self, int rank, const content &sent) noexcept;

// Each takes its packets, in a poll.
void take_part(process &self, const wire::packet &p) noexcept;
void take_part_answer(const wire::packet &p) noexcept;
void take_collective(const wire::packet &p) noexcept;
// Forget all of a process that ends.
void forget_segments() noexcept;
void forget_groups() noexcept;
gaspi_return_t begin_groups(process &self);
// From the first call on time is counted.
std::chrono::steady_clock::time_point begin_of_time() noexcept;
void begin_segments(const process &self);
void begin_passive(const process &self);
// False: a process is gone, or MPI has failed.
bool end_passive(process &self) noexcept;
// Until no atomic operation is unfinished. False: the time is over.
bool finish_atomics(process &self, const deadline &end) noexcept;

// Which segment, null if there is none. `view_of`: made if there was none; null if memory is exhausted.
inline onesided::segment *find_view(process &self, gaspi_segment_id_t number) noexcept {
    return number < most_segments ? self.known_views[number].load(std::memory_order_acquire) : nullptr;
}
onesided::segment *view_of(process &self, int number) noexcept;

// What is wrong with arguments. `wrong_local`: of a call that uses the part of this process; null: there is none.
gaspi_return_t wrong_local(const onesided::segment *view, gaspi_offset_t offset, gaspi_size_t bytes) noexcept;
gaspi_return_t wrong_remote(process &self, gaspi_segment_id_t number, gaspi_rank_t rank, gaspi_offset_t offset,
                            gaspi_size_t bytes) noexcept;
THENCE_INTERNAL gaspi_return_t wrong_queue(process &self, gaspi_queue_id_t queue) noexcept;

// The part of this process of a segment. It is not deleted while this exists.
class own_part {
public:
    own_part(process &self, gaspi_segment_id_t number) noexcept : segment_(find_view(self, number)) {
        if (segment_ != nullptr) {
            segment_->begin_use();
        }
    }
    own_part &operator=(own_part &&) = delete;
    ~own_part() {
        if (segment_ != nullptr) {
            segment_->end_use();
        }
    }
    bool exists() const noexcept { return segment_ != nullptr && segment_->find_own() != nullptr; }
    onesided::segment *view() const noexcept { return segment_; } // null: never known
    // If it exists.
    const wire::local_part *operator->() const noexcept { return &segment_->own(); }

private:
    onesided::segment *segment_;
};

} // namespace thence::gaspi

// The name gaspi_NAME is weak, so that a tool may replace it, and go on to pgaspi_NAME.
#define THENCE_GASPI_ALIAS(name)                                                                                       \
    THENCE_GASPI_EXPORT __attribute__((weak, alias("pgaspi_" #name))) decltype(pgaspi_##name) gaspi_##name

// Returns from a call if something is wrong.
#define THENCE_GASPI_CHECK(expression)                                                                                 \
    do {                                                                                                               \
        if (const gaspi_return_t wrong_ = (expression); wrong_ != GASPI_SUCCESS) {                                     \
            return wrong_;                                                                                             \
        }                                                                                                              \
    } while (false)
// The process, or returns.
#define THENCE_GASPI_SELF()                                                                                            \
    ::thence::gaspi::process *const self_ = ::thence::gaspi::current.load(std::memory_order_acquire);                  \
    if (self_ == nullptr) {                                                                                            \
        return GASPI_ERR_NOINIT;                                                                                       \
    }                                                                                                                  \
    ::thence::gaspi::process &self = *self_
#define THENCE_GASPI_NOT_NULL(pointer)                                                                                 \
    if ((pointer) == nullptr) {                                                                                        \
        return GASPI_ERR_NULLPTR;                                                                                      \
    }
