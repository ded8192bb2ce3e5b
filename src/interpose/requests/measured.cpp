// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/requests/measured.hpp"

#include "core/base/clock.hpp"
#include "core/base/per_thread.hpp"
#include "core/continuation/handle.hpp"
#include "core/engine/is_complete.hpp"
#include "core/mpi/handles.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <unordered_map>

namespace thence::interpose {

namespace {

using base::nanoseconds;
using base::read_clock;

// A program that computes for a shorter time between two calls has hidden nothing.
constexpr nanoseconds shortest_computation = 20'000;

struct thread_times {
    int depth = 0; // of nested calls
    call_kind kind{};
    nanoseconds begun = 0;    // of the outermost call
    nanoseconds in_calls = 0; // all that have ended
};
using own_times = base::per_thread<thread_times>;

// For how long the thread has computed until now, plus a constant of the thread.
nanoseconds computed_by(const thread_times &times) noexcept {
    return times.begun - times.in_calls;
}

struct record {
    const thread_times *thread; // that has started it; only compared
    nanoseconds started;
    nanoseconds computed; // by that thread until then
    std::int64_t bytes;
};

std::mutex mutex; // guards the records
std::unordered_map<std::uintptr_t, record> &records() {
    static auto &all = *new std::unordered_map<std::uintptr_t, record>; // used until the process ends
    return all;
}

// The members of measured_figures, in their order.
enum figure {
    starting_and_testing,
    blocking,
    waiting,
    waiting_after_computed,
    operations,
    bytes_of_all,
    early,
    early_bytes,
    count_
};
std::atomic<std::int64_t> sums[count_];

void add(figure to, std::int64_t more) noexcept {
    sums[to].fetch_add(more, std::memory_order_relaxed);
}

figure time_of(call_kind kind) noexcept {
    return kind == call_kind::blocks ? blocking : kind == call_kind::waits ? waiting : starting_and_testing;
}

// The question may make progress (engine/is_complete.hpp): then what it has moved was not complete.
bool was_complete(MPI_Request request) noexcept {
    const nanoseconds asked = read_clock();
    return engine::is_complete_now(request) && read_clock() - asked < shortest_computation;
}

} // namespace

measured_figures read_measured() noexcept {
    return {sums[starting_and_testing], sums[blocking],     sums[waiting], sums[waiting_after_computed],
            sums[operations],           sums[bytes_of_all], sums[early],   sums[early_bytes]};
}

void reset_measured() noexcept {
    std::fill(std::begin(sums), std::end(sums), 0);
    const std::scoped_lock guard(mutex);
    records().clear();
}

void timed_call::begin(call_kind kind) noexcept {
    thread_times *const times = own_times::get();
    if (times == nullptr) {
        return;
    }
    if (times->depth++ == 0) {
        times->kind = kind;
        times->begun = read_clock();
    } else if (times->kind == call_kind::tests && kind == call_kind::blocks) {
        times->kind = call_kind::waits;
    }
}

void timed_call::end() noexcept {
    thread_times *const times = own_times::existing();
    if (times != nullptr && --times->depth == 0) {
        const nanoseconds lasted = read_clock() - times->begun;
        times->in_calls += lasted;
        add(time_of(times->kind), lasted);
    }
}

void measure_start(MPI_Request request, std::int64_t bytes) noexcept {
    const thread_times *const times = own_times::existing();
    if (bytes < 0 || times == nullptr) {
        return;
    }
    add(operations, 1);
    add(bytes_of_all, bytes);
    // To ask would move other messages, too, where MPI makes progress in it.
    if (engine::can_look_without_progress() && engine::is_complete_now(request)) {
        return;
    }
    try {
        const std::scoped_lock guard(mutex);
        records()[mpi::bits(request)] = {times, read_clock(), computed_by(*times), bytes};
    } catch (const std::bad_alloc &) { // the operation is not measured
    }
}

void measure_freed(MPI_Request request) noexcept {
    const std::scoped_lock guard(mutex);
    records().erase(mpi::bits(request));
}

std::unique_ptr<measured_completion> measured_completion::make(int count, const MPI_Request requests[]) noexcept {
    const thread_times *const times = own_times::existing();
    if (times == nullptr) {
        return nullptr;
    }
    try {
        auto made = std::make_unique<measured_completion>();
        made->entries_.reserve(static_cast<std::size_t>(count));
        const std::scoped_lock guard(mutex);
        for (int i = 0; i < count; ++i) {
            const MPI_Request each = requests[i];
            const bool known = each != MPI_REQUEST_NULL && !continuation::is_cr_handle(each) &&
                               records().find(mpi::bits(each)) != records().end();
            made->entries_.push_back({known ? each : MPI_REQUEST_NULL, known && was_complete(each)});
        }
        made->begun_ = times->begun;
        made->computed_ = computed_by(*times);
        return made;
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

void measured_completion::ended(int i) noexcept {
    entries_[static_cast<std::size_t>(i)].ended = true;
}

void measured_completion::end(const MPI_Request requests[]) noexcept {
    const thread_times *const times = own_times::existing();
    nanoseconds could_move = -1; // since the start of the operation that was started last
    const std::scoped_lock guard(mutex);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        const entry &each = entries_[i];
        if (each.request == MPI_REQUEST_NULL || (!each.ended && requests[i] != MPI_REQUEST_NULL)) {
            continue;
        }
        const auto at = records().find(mpi::bits(each.request));
        if (at == records().end()) { // another thread has completed it
            continue;
        }
        const record known = at->second;
        records().erase(at);
        // Where another thread has started it, nobody knows how long the program has computed.
        const nanoseconds computed = known.thread == times ? computed_ - known.computed : begun_ - known.started;
        if (!each.complete) {
            could_move = could_move < 0 ? computed : std::min(could_move, computed);
        } else if (computed >= shortest_computation) {
            add(early, 1);
            add(early_bytes, known.bytes);
        }
    }
    if (times != nullptr && times->kind == call_kind::waits && could_move >= shortest_computation) {
        add(waiting_after_computed, std::min(read_clock() - begun_, could_move));
    }
}

} // namespace thence::interpose
