// SPDX-License-Identifier: BSD-3-Clause
#include "core/progress/plain_operations.hpp"

#include "core/base/clock.hpp"
#include "core/mpi/implementation.hpp"
#include "core/progress/progress.hpp"

#include <algorithm>
#include <mutex>

namespace thence::progress {

constinit plain_operations plain;
constinit std::array<call_counts, 16> all_call_counts;

namespace {

std::mutex file_times_mutex; // guards changes of plain.open_files, and the next two
base::nanoseconds kept_out_since = 0;
base::nanoseconds kept_out_for = 0; // by files that are closed

void observe(unsigned why) noexcept {
    if (plain.observed.fetch_or(why) == 0) {
        add_own_communicators(); // calls that start operations leave their fast path
        add_way_to_wait();       // and so do calls that complete them, and those that block
    }
    allow_only_to_count(plain.observed.load() == for_helper && plain.in_mpi.load());
}

void leave_fast_path_to_calls() noexcept {
    remove_own_communicators();
    remove_way_to_wait();
}

// Nobody else will end them.
void end_all_operations() noexcept {
    for (call_counts &each : all_call_counts) {
        while (each.end_one()) {
        }
    }
}

// What changes with each call, and how many threads are in calls that may block.
struct calls_seen {
    std::uint64_t changes = 0;
    std::uint64_t blocked = 0;
};
calls_seen see_calls() noexcept {
    calls_seen seen;
    for (const call_counts &each : all_call_counts) {
        const std::uint64_t calls = each.calls.load(std::memory_order_acquire);
        seen.blocked += calls & call_counts::blocked_mask;
        seen.changes += calls / call_counts::one_call + static_cast<std::uint64_t>(each.all_begun()) +
                        static_cast<std::uint64_t>(each.ended.load(std::memory_order_relaxed));
    }
    return seen;
}

} // namespace

long operations_outstanding() noexcept {
    std::int64_t all = 0;
    for (const call_counts &each : all_call_counts) {
        const std::int64_t ended = each.ended.load(std::memory_order_acquire); // first, since it is never more
        all += each.all_begun() - ended;
    }
    return all;
}

void operation_ended_elsewhere() noexcept {
    if (looks_for_operations()) { // none is counted
        return;
    }
    const auto ends_one = [] {
        return std::any_of(all_call_counts.begin(), all_call_counts.end(),
                           [](call_counts &each) { return each.end_one(); });
    };
    // Meanwhile others may end what it has not reached yet, and begin what it has passed. Then it looks again.
    while (!ends_one() && operations_outstanding() != 0) {
    }
}

bool begin_helper_rest() noexcept {
    plain.helper_rests.store(true, std::memory_order_seq_cst);
    bool outstanding = false;
    for (call_counts &each : all_call_counts) {
        const std::int64_t begun = each.begun.fetch_or(call_counts::resting, std::memory_order_acq_rel);
        outstanding = outstanding || begun != each.ended.load(std::memory_order_acquire);
    }
    if ((outstanding && counts_operations()) || must_look()) {
        end_helper_rest();
        return false;
    }
    return true;
}

void end_helper_rest() noexcept {
    for (call_counts &each : all_call_counts) {
        each.begun.fetch_and(~call_counts::resting, std::memory_order_acq_rel);
    }
    plain.helper_rests.store(false, std::memory_order_relaxed);
}

void window_created() noexcept {
    note_call();
    plain.windows.fetch_add(1, std::memory_order_seq_cst);
    if (plain.helper_rests.load(std::memory_order_seq_cst)) {
        wake_helper_for_operations();
    }
}

void window_freed() noexcept {
    long before = plain.windows.load(std::memory_order_relaxed);
    while (before > 0 && !plain.windows.compare_exchange_weak(before, before - 1, std::memory_order_relaxed)) {
    }
}

void keep_helper_out() noexcept {
    {
        const std::scoped_lock guard(file_times_mutex);
        if (plain.open_files.fetch_add(1, std::memory_order_seq_cst) == 0) {
            kept_out_since = base::read_clock();
        }
    }
    const std::scoped_lock until_helper_has_left(helper_in_progress);
}

void let_helper_in() noexcept {
    const std::scoped_lock guard(file_times_mutex);
    if (plain.open_files.fetch_sub(1, std::memory_order_seq_cst) == 1) {
        kept_out_for += base::read_clock() - kept_out_since;
    }
}

std::int64_t helper_was_kept_out() noexcept {
    const std::scoped_lock guard(file_times_mutex);
    return kept_out_for + (helper_is_kept_out() ? base::read_clock() - kept_out_since : 0);
}

void file_opens() noexcept {
    if (mpi::files_forbid_other_threads()) {
        keep_helper_out();
    }
}

void file_closed() noexcept {
    if (mpi::files_forbid_other_threads()) {
        let_helper_in();
    }
}

void program_watch::look() noexcept {
    computed_ = computes();
    const calls_seen seen = see_calls();
    blocked_ = seen.blocked != 0;
    outstanding_ = any_plain_operation();
    must_look_ = progress::must_look();
    const base::nanoseconds now = base::read_clock();
    if (seen.changes != calls_) {
        calls_ = seen.changes;
        called_ = now;
    }
    quiet_ = now - called_;
}

void wake_helper_for_operations() noexcept {
    if (plain.helper_rests.exchange(false, std::memory_order_seq_cst)) {
        helper_wake();
    }
}

const char *count_operations() noexcept {
    if (!require_helper()) {
        return helper_state();
    }
    observe(for_helper);
    return nullptr;
}

void measure_calls() noexcept {
    observe(for_report);
}

void list_calls() noexcept {
    observe(for_stalls);
}

void trace_calls() noexcept {
    observe(for_trace);
}

void program_uses_thence() noexcept {
    unsigned before = plain.observed.load();
    unsigned after = 0;
    do {
        after = (before & (for_helper | for_looks)) != 0 ? for_looks : 0;
    } while (before != after && !plain.observed.compare_exchange_weak(before, after));
    if (before == after) {
        return;
    }
    allow_only_to_count(false);
    plain.stopped.store(base::read_clock());
    if (after == 0) {
        leave_fast_path_to_calls();
        plain.windows.store(0);
    }
    end_all_operations();
    if (plain.helper_rests.load()) {
        wake_helper_for_operations();
    }
}

void stop_observing_calls() noexcept {
    allow_only_to_count(false);
    if (const unsigned before = plain.observed.exchange(0); before != 0) {
        if ((before & for_looks) == 0) {
            plain.stopped.store(base::read_clock());
        }
        leave_fast_path_to_calls();
        end_all_operations();
        plain.windows.store(0);
    }
}

} // namespace thence::progress
