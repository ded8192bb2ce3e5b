// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/requests/measured.hpp"

#include "core/base/clock.hpp"
#include "core/base/per_thread.hpp"
#include "core/diagnose/traced_calls.hpp"
#include "core/engine/is_complete.hpp"
#include "core/mpi/handles.hpp"
#include "core/mpi/implementation.hpp"

#include <algorithm>
#include <atomic>

namespace thence::interpose {

namespace {

using base::nanoseconds;
using base::read_clock;

// A program that computes for a shorter time between two calls has hidden nothing.
constexpr nanoseconds shortest_computation = 20'000;

std::uint64_t next_thread() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

struct thread_times {
    std::uint64_t number = next_thread(); // no later thread has it, as it may have the address
    int depth = 0;                        // of nested calls
    call_kind kind{};
    described_call call{};    // the outermost one
    nanoseconds begun = 0;    // of the outermost call
    nanoseconds in_calls = 0; // all that have ended
};
using own_times = base::per_thread<thread_times>;

// For how long the thread has computed until now, plus a constant of the thread.
nanoseconds computed_by(const thread_times &times) noexcept {
    return times.begun - times.in_calls;
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

} // namespace

measured_figures read_measured() noexcept {
    return {sums[starting_and_testing], sums[blocking],     sums[waiting], sums[waiting_after_computed],
            sums[operations],           sums[bytes_of_all], sums[early],   sums[early_bytes]};
}

void reset_measured() noexcept {
    std::fill(std::begin(sums), std::end(sums), 0);
    forget_measured();
}

void timed_call::begin(const described_call &call, call_kind kind) noexcept {
    thread_times *const times = own_times::get();
    if (times == nullptr) {
        return;
    }
    if (times->depth++ == 0) {
        times->kind = kind;
        times->call = call;
        times->begun = read_clock();
    } else if (times->kind == call_kind::tests && kind == call_kind::blocks) {
        times->kind = call_kind::waits;
        times->call = call; // the same one, with more about it
    }
}

void timed_call::end() noexcept {
    thread_times *const times = own_times::existing();
    if (times != nullptr && --times->depth == 0) {
        const nanoseconds now = read_clock();
        times->in_calls += now - times->begun;
        add(time_of(times->kind), now - times->begun);
        if (progress::traces_calls()) {
            diagnose::trace_call(times->call, times->begun, now, progress::operations_outstanding());
        }
    }
}

measured_start measure_start(MPI_Request request, std::int64_t bytes, bool on_file) noexcept {
    const thread_times *const times = own_times::existing();
    if (bytes < 0 || times == nullptr) {
        return {};
    }
    add(operations, 1);
    add(bytes_of_all, bytes);
    if (on_file && !engine::can_look_without_progress() && mpi::asking_breaks_file_requests()) {
        return {};
    }
    if (mpi::is_of_complete_operations(request)) {
        return {};
    }
    // To ask would move other messages, too, where MPI makes progress in it.
    if (engine::can_look_without_progress() && engine::is_complete_now(request)) {
        return {};
    }
    return {times->number, read_clock(), computed_by(*times), bytes};
}

measured_call::measured_call() noexcept {
    if (const thread_times *const times = own_times::existing(); times != nullptr) {
        thread_ = times->number;
        begun_ = times->begun;
        computed_ = computed_by(*times);
    }
}

bool measured_call::is_complete(MPI_Request request) noexcept {
    const nanoseconds asked = read_clock();
    return engine::is_complete_now(request) && read_clock() - asked < shortest_computation;
}

void measured_call::ended(const measured_start &start, bool was_complete) noexcept {
    if (thread_ == 0) {
        return;
    }
    // Where another thread has started it, nobody knows how long the program has computed.
    const nanoseconds computed = start.thread == thread_ ? computed_ - start.computed : begun_ - start.at;
    if (!was_complete) {
        could_move_ = could_move_ < 0 ? computed : std::min(could_move_, computed);
    } else if (computed >= shortest_computation) {
        add(early, 1);
        add(early_bytes, start.bytes);
    }
}

void measured_call::finish() noexcept {
    const thread_times *const times = own_times::existing();
    if (times != nullptr && times->kind == call_kind::waits && could_move_ >= shortest_computation) {
        add(waiting_after_computed, std::min(read_clock() - begun_, could_move_));
    }
}

} // namespace thence::interpose
