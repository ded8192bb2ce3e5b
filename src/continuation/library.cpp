// SPDX-License-Identifier: BSD-3-Clause
#include "continuation/library.hpp"

#include "continuation/attach.hpp"
#include "continuation/interposing.hpp"
#include "continuation/observe.hpp"
#include "continuation/run.hpp"
#include "continuation/thread_state.hpp"
#include "engine/engine.hpp"
#include "engine/watched.hpp"
#include "mpi/calls.hpp"
#include "mpi/error_code.hpp"
#include "progress/progress.hpp"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>

namespace thence::continuation {

std::atomic<std::uint64_t> attention{0};
static std::atomic<std::uint64_t> unread{0};
std::atomic<std::uint64_t> *running_count = &attention;
bool is_interposed = false;
std::atomic<bool> others_may_attach{false};
std::atomic<bool> is_set_up{false}; // changes under the mutex
void (*report_outstanding)(const char *when) = nullptr;
void (*observer_set_up)() = nullptr;
void (*observer_tear_down)() = nullptr;
const observer *observing = nullptr;

namespace {

std::mutex mutex;
int keyval = MPI_KEYVAL_INVALID;

bool outstanding() noexcept {
    return continuation_request::any_registered();
}

// The helper thread's turn. It marks itself on its first turn.
bool help() noexcept {
    this_thread.helper = true;
    const bool was_ready = !any_thread_queue.empty();
    {
        const busy_scope polling;
        const std::scoped_lock guard(progress::helper_in_progress);
        engine::current->progress();
    }
    return run_ready(LONG_MAX) != 0 || was_ready;
}

void visit_operations(engine::operation_visitor visit, void *context) {
    for_each_attached([&](continuation &c, control_word kind) {
        for_each_operation(c, kind, [&](engine::operation &op) {
            const engine::tending how = engine::how(op);
            if (how != engine::tending::done && how != engine::tending::waiting) {
                visit(op, context);
            }
        });
    });
}

// What is complete runs while it still may: nobody else would come, since its CR may be freed. A poll looks at some
// operations only.
void run_the_rest() noexcept {
    long vain = 0;
    while (is_set_up.load(std::memory_order_acquire) && outstanding() && free_to_run() &&
           vain <= continuation_request::registered_in_all() / engine::polled_set::window + 1) {
        vain = progress() != 0 ? 0 : vain + 1;
    }
}

// MPI_Finalize deletes the attributes of MPI_COMM_SELF before anything else: no interposition is needed to be told.
int at_finalize(MPI_Comm, int, void *, void *) {
    if (this_thread.in_callback()) { // libthence refuses that before MPI has begun to end
        std::fputs("thence: MPI_Finalize was called inside a callback, and without libthence it cannot be refused: the"
                   " program will fail. Call it after the callback has returned\n",
                   stderr);
    }
    finalizing();
    return MPI_SUCCESS;
}

bool wants_helper() noexcept {
    const char *setting = std::getenv("THENCE_PROGRESS");
    if (setting == nullptr) {
        return false;
    }
    const std::string_view way(setting);
    if (way != "thread" && way != "off" && way != "0" && !way.empty()) {
        std::fprintf(
            stderr,
            "thence: THENCE_PROGRESS=%s: no such way. Write thread (the library's own thread makes progress too)"
            " or off (MPI calls alone do). It is off.\n",
            setting);
    }
    return way == "thread";
}

} // namespace

int set_up_first() {
    std::scoped_lock guard(mutex);
    if (is_set_up) {
        return MPI_SUCCESS;
    }
    if (!mpi::usable()) {
        return MPI_ERR_OTHER;
    }
    busy_scope setting_up;
    mpi::load_extensions();
    mpi::empty_status();
    engine::visit_watched = &visit_operations;
    engine::polled_set::results_wanted = is_interposed;
    engine::choose({&operation_complete, &request_complete});
    progress::set_up({&on_progress, &find, &help, &outstanding}, is_interposed);
    others_may_attach.store(mpi::thread_multiple(), std::memory_order_relaxed);
    running_count = mpi::waiting_threads_meet() ? &attention : &unread;
    if (!progress::hook_runs()) {
        attention.fetch_or(attention_hookless, std::memory_order_relaxed);
    }
    mpi::table.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &at_finalize, &keyval, nullptr);
    mpi::table.Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
    is_set_up = true;
    if (observer_set_up != nullptr) {
        observer_set_up();
    }
    if (wants_helper() && !progress::require_helper()) {
        std::fprintf(stderr, "thence: THENCE_PROGRESS=thread: no helper thread, %s\n", progress::helper_state());
    }
    return MPI_SUCCESS;
}

void tear_down() noexcept {
    busy_scope tearing_down;
    if (is_set_up.load(std::memory_order_acquire)) {
        progress::tear_down(); // joins the helper, whose callbacks may call set_up(): not under the mutex
    }
    std::scoped_lock guard(mutex);
    if (!is_set_up) {
        return;
    }
    if (outstanding() && report_outstanding != nullptr) {
        report_outstanding("MPI_Finalize");
    }
    if (observer_tear_down != nullptr) {
        observer_tear_down();
    }
    engine::for_each_watched([](engine::operation &op) { engine::current->abandon(op); });
    mpi::forget_error_codes();
    is_set_up = false;
}

void finalizing() noexcept {
    run_the_rest();
    tear_down();
}

} // namespace thence::continuation
