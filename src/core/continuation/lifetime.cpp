// SPDX-License-Identifier: BSD-3-Clause
#include "core/continuation/lifetime.hpp"

#include "core/base/settings.hpp"
#include "core/continuation/complete.hpp"
#include "core/continuation/observe.hpp"
#include "core/continuation/run.hpp"
#include "core/continuation/thread_state.hpp"
#include "core/engine/engine.hpp"
#include "core/engine/watched.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/error_code.hpp"
#include "core/progress/interposed.hpp"
#include "core/progress/progress.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>
#include <utility>

namespace thence::continuation {

std::atomic<bool> others_may_attach{false};
std::atomic<bool> is_set_up{false}; // changes under the mutex
void (*report_outstanding)(const char *when) = nullptr;
void (*observer_set_up)() = nullptr;
void (*observer_tear_down)() = nullptr;
const observer *observing = nullptr;

namespace {

std::mutex mutex;
std::mutex finalize_functions_mutex;
finalize_functions *first_finalize_functions = nullptr;                            // in the order of their addition
std::array<finalize_function *, most_finalize_functions> functions_of_libraries{}; // from the front; null: none
int keyval = MPI_KEYVAL_INVALID; // of the attribute whose deletion ends the library
std::atomic<bool> ended{false};  // that has happened; changes under the mutex

void visit_operations(engine::operation_visitor visit, void *context) {
    for_each_attached([&](continuation &c, control_word kind) {
        for_each_operation(c, kind, [&](engine::operation &op) {
            if (engine::is_watched(op)) {
                visit(op, context);
            }
        });
    });
}

finalize_functions *read_with_mutex(finalize_functions *const &link) noexcept {
    const std::scoped_lock guard(finalize_functions_mutex);
    return link;
}

// Without the mutex, since a function may add others, which are called too.
void call_finalize_functions(void (*finalize_functions::*function)() noexcept) noexcept {
    for (const finalize_functions *each = read_with_mutex(first_finalize_functions); each != nullptr;
         each = read_with_mutex(each->next)) {
        if (each->*function != nullptr) {
            (each->*function)();
        }
    }
}

// With the mutex.
void forget_finalize_functions() noexcept {
    while (first_finalize_functions != nullptr) {
        first_finalize_functions = std::exchange(first_finalize_functions->next, nullptr);
    }
    functions_of_libraries.fill(nullptr);
}

// Each is taken out before it is called, outside the mutex, since it may come back here.
void call_functions_of_libraries() noexcept {
    for (;;) {
        finalize_function *last = nullptr;
        {
            const std::scoped_lock guard(finalize_functions_mutex);
            const auto found = std::find_if(functions_of_libraries.rbegin(), functions_of_libraries.rend(),
                                            [](finalize_function *each) { return each != nullptr; });
            if (found != functions_of_libraries.rend()) {
                last = std::exchange(*found, nullptr);
            }
        }
        if (last == nullptr) {
            return;
        }
        last();
    }
}

// Runs the continuations whose operations are complete, before MPI ends. Their CR may be freed, so no test would run
// them. One poll looks at some operations only, so several polls are needed to see that none is complete.
void run_the_rest() noexcept {
    long unsuccessful = 0; // polls in a row
    while (is_set_up.load(std::memory_order_acquire) && continuation_request::any_registered() && free_to_run() &&
           unsuccessful <= engine::engine::polls_to_see_all(continuation_request::registered_in_all())) {
        unsuccessful = make_progress() != 0 ? 0 : unsuccessful + 1;
    }
}

// `for_good`: MPI ends, so from the moment on in which the library is not set up, no thread sets it up again.
void tear_down(bool for_good) noexcept {
    busy_scope tearing_down;
    if (is_set_up.load(std::memory_order_acquire)) {
        call_finalize_functions(&finalize_functions::tear_down);
        {
            const std::scoped_lock none(finalize_functions_mutex);
            forget_finalize_functions();
        }
        progress::remove_source(as_source);
        progress::tear_down(); // joins the helper, whose callbacks may call set_up(), so the mutex must be free
    }
    std::scoped_lock guard(mutex);
    keyval = MPI_KEYVAL_INVALID;
    ended.store(for_good);
    if (!is_set_up) {
        return;
    }
    if (report_outstanding != nullptr) {
        report_outstanding("MPI_Finalize");
    }
    if (observer_tear_down != nullptr) {
        observer_tear_down();
    }
    engine::for_each_watched([](engine::operation &op) { engine::current->abandon(op); });
    continuation_request::close_all();
    mpi::forget_error_codes();
    is_set_up = false;
}

// MPI_Finalize first deletes the attributes of MPI_COMM_SELF, the last one first, and so calls this function.
int at_finalize(MPI_Comm, int, void *, void *) {
    if (this_thread.in_callback()) { // libthence refuses such a call before MPI_Finalize begins
        std::fputs("thence: MPI_Finalize: called inside a callback, and without libthence it cannot be refused: the"
                   " program will fail. Call it after the callback has returned\n",
                   stderr);
    }
    finalizing();
    return MPI_SUCCESS;
}

// With the mutex.
void end_with_attribute() noexcept {
    if (keyval == MPI_KEYVAL_INVALID) {
        mpi::table.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &at_finalize, &keyval, nullptr);
        mpi::table.Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
    }
}

} // namespace

void mpi_initialized() noexcept {
    const std::scoped_lock guard(mutex);
    end_with_attribute();
}

bool has_ended() noexcept {
    return ended.load(std::memory_order_relaxed);
}

setting_up set_up_first() noexcept {
    std::scoped_lock guard(mutex);
    if (is_set_up) {
        return setting_up::done;
    }
    if (!mpi::usable()) {
        return setting_up::mpi_is_inactive;
    }
    if (has_ended()) {
        return setting_up::library_has_ended;
    }
    progress::find_interposition();
    const busy_scope busy;
    const base::settings &chosen = base::read_settings();
    mpi::load_extensions();
    mpi::empty_status();
    engine::visit_watched = &visit_operations;
    if (!progress::add_source(as_source)) {
        return setting_up::no_source_left;
    }
    engine::choose({&operation_complete, &request_complete, progress::interposed.calls});
    progress::set_up(progress::interposed.finalize);
    others_may_attach.store(mpi::thread_multiple(), std::memory_order_relaxed);
    callback_count = mpi::waiting_threads_share_progress() ? &progress::slow_path_reasons : &unread_count;
    if (!progress::hook_runs()) {
        progress::slow_path_reasons.fetch_or(progress::no_hook_runs, std::memory_order_relaxed);
    }
    end_with_attribute();
    is_set_up = true;
    if (observer_set_up != nullptr) {
        observer_set_up();
    }
    if (chosen.helper_wanted && !progress::require_helper()) {
        std::fprintf(stderr, "thence: THENCE_PROGRESS=thread: no helper thread, %s\n", progress::helper_state());
    }
    return setting_up::done;
}

void add_finalize_functions(finalize_functions &added) noexcept {
    const std::scoped_lock guard(finalize_functions_mutex);
    finalize_functions **link = &first_finalize_functions;
    while (*link != nullptr && *link != &added) {
        link = &(*link)->next;
    }
    *link = &added;
}

bool add_finalize_function(finalize_function *added) noexcept {
    const std::scoped_lock guard(finalize_functions_mutex);
    const auto free_entry = std::ranges::find_if(
        functions_of_libraries, [&](finalize_function *each) { return each == nullptr || each == added; });
    if (free_entry == functions_of_libraries.end()) {
        return false;
    }
    *free_entry = added;
    return true;
}

void tear_down() noexcept {
    tear_down(false);
}

void finalizing() noexcept {
    if (is_set_up.load(std::memory_order_acquire)) {
        call_functions_of_libraries();
        call_finalize_functions(&finalize_functions::finalizing);
    }
    run_the_rest();
    tear_down(true);
}

} // namespace thence::continuation
