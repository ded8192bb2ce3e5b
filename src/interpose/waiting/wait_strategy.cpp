// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/waiting/wait_strategy.hpp"

#include "core/continuation/lifetime.hpp"
#include "core/continuation/run.hpp"
#include "core/engine/engine.hpp"
#include "core/engine/shared_persistent.hpp"
#include "core/mpi/calls.hpp"
#include "core/progress/backoff.hpp"
#include "core/progress/catch_up.hpp"
#include "core/progress/plain_operations.hpp"
#include "core/progress/progress.hpp"
#include "core/progress/reaches_libthence.hpp"
#include "core/progress/source.hpp"
#include "interpose/requests/requests.hpp"
#include "interpose/waiting/blocking_tasks.hpp"
#include "interpose/waiting/unchanged.hpp"
#include "mpix/grequest/source.hpp"
#include "mpix/messages/requests.hpp"
#include "onesided/source.hpp"

#include <thence/detail/start_thread.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <thread>

namespace thence::interpose {

using continuation::busy_scope;
using continuation::this_thread;

namespace {

bool has_reason(std::uint64_t reason) noexcept {
    return (progress::slow_path_reasons.load(std::memory_order_relaxed) & reason) != 0;
}

// A call must not block inside MPI if it is made in a callback, or if our polls may complete a persistent request,
// since they do so under a lock that the completion of the call needs. If no hook runs callbacks, a blocked call must
// run them.
bool must_test() noexcept {
    if (this_thread.in_callback() ||
        (has_reason(progress::persistent_attached) && engine::shared_persistent::any_waited_for())) {
        return true;
    }
    if (!has_reason(progress::no_hook_runs)) {
        return false;
    }
    // If there may be another thread, it may attach while this one is blocked, even if nothing is outstanding now.
    // Not in a program that does not use Thence: there the helper alone made MPI take several threads.
    return (continuation::others_may_attach.load(std::memory_order_relaxed) &&
            !progress::observes_unchanged_program()) ||
           progress::any_outstanding();
}

void pause(polling_call &call) noexcept {
    ++call.turns;
    progress::poll_and_run_some();
    progress::pause_and_catch_up(call.backoff);
}

int complete_by_testing(MPI_Request *request, MPI_Status *status, const void *) noexcept {
    return complete_by_tests(request, status, &pause);
}

// In the order in which they are asked. Those that are added stand before these.
const wait_strategy *strategies[most_strategies] = {&blocking_tasks, &leaving_the_processor, &testing};

} // namespace

const wait_strategy testing{"test in a loop", &must_test, &complete_by_testing, &pause, nullptr, true};

int complete_by_tests(MPI_Request *request, MPI_Status *status, void (*pause)(polling_call &call)) noexcept {
    for (polling_call call(nullptr, nullptr);; pause(call)) {
        int flag = untouched;
        const int code = mpi::table.Test(request, &flag, status);
        if (flag != 0 || code != MPI_SUCCESS) {
            if (call.turns == 0) {
                catch_up();
            }
            return code;
        }
    }
}

bool add_strategy(const wait_strategy &added) noexcept {
    if (strategies[most_strategies - 1] != nullptr) {
        return false;
    }
    std::move_backward(strategies, strategies + most_strategies - 1, strategies + most_strategies);
    strategies[0] = &added;
    progress::add_way_to_wait();
    return true;
}

void remove_strategy(const wait_strategy &removed) noexcept {
    const wait_strategy **const end = std::remove(strategies, strategies + most_strategies, &removed);
    std::fill(end, strategies + most_strategies, nullptr);
    progress::remove_way_to_wait();
}

const wait_strategy *find_strategy(const char *call) noexcept {
    progress::note_if_probing();
    for (const wait_strategy *each : strategies) {
        if (each == nullptr) {
            break;
        }
        if (each->applies()) {
            report_if_in_completion(call);
            return each;
        }
    }
    return nullptr;
}

void catch_up() noexcept {
    if (has_reason(progress::no_hook_runs) && engine::current != nullptr &&
        (continuation::something_to_do() || grequest::any_polled() || messages::any_open_request() ||
         onesided::any_waits())) {
        progress::poll_and_run_some();
    }
}

void report_if_in_completion(const char *call) noexcept {
    if (this_thread.in_completion()) {
        std::fprintf(stderr,
                     "thence: a callback has called %s, which blocks, and its continuation request was created with"
                     " THENCE_CR_IN_COMPLETION (senders: thence::in_completion), which promises that it never does:"
                     " create it without, or start the operation and attach a continuation\n",
                     call);
        refuse(call, MPI_ERR_PENDING,
               "called in a callback that may run in MPI's completion path, where no call may block");
    }
}

struct progress_beside::helper {
    std::atomic<bool> stop{false};
    std::thread thread = detail::start_thread([this] {
        for (thence_backoff backoff = THENCE_BACKOFF_INIT; !stop.load(std::memory_order_relaxed);
             progress::pause(backoff)) {
            const busy_scope progressing; // it only makes progress: no callback runs on this thread
            mpi::progress();
        }
    });
};

progress_beside::progress_beside(const char *call) noexcept {
    report_if_in_completion(call);
    if (this_thread.in_callback() && mpi::can_progress_for_others()) {
        try {
            helper_ = new helper;
        } catch (const std::exception &) { // no memory or no thread: the call blocks as it does without us
            helper_ = nullptr;
        }
    }
}

progress_beside::~progress_beside() {
    if (helper_ != nullptr) {
        helper_->stop.store(true, std::memory_order_relaxed);
        helper_->thread.join();
        delete helper_;
    }
}

} // namespace thence::interpose
