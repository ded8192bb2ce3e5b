// SPDX-License-Identifier: BSD-3-Clause
#include "continuation/run_general.hpp"

#include "base/spin_lock.hpp"
#include "continuation/observe.hpp"
#include "continuation/request.hpp"
#include "engine/engine.hpp"

namespace thence::continuation {

std::atomic<std::uint64_t> unread_count{0};
std::atomic<std::uint64_t> *callback_count = &unread_count;

int settle(continuation &c, control_word kind) noexcept {
    int error = MPI_SUCCESS;
    for_each_operation(c, kind, [&](engine::operation &op) {
        if (op.path != engine::completion_path::done) {
            engine::current->finish(op);
        }
        error = error == MPI_SUCCESS ? op.error : error;
    });
    return error;
}

int invoke(const continuation &c, signature form, int error) noexcept {
    switch (form) {
    case signature::own:
        return reinterpret_cast<thence_callback *>(c.callback)(error, c.statuses(), c.data);
    case signature::paper:
        reinterpret_cast<void (*)(MPI_Status *, void *)>(c.callback)(c.statuses(), c.data);
        return MPI_SUCCESS;
    case signature::forum:
        return reinterpret_cast<int (*)(int, void *)>(c.callback)(error, c.data);
    }
    return MPI_SUCCESS;
}

void note_failure(const continuation &c, int error, int result) noexcept {
    this_thread.counts.failed.add();
    if (c.cr->has(THENCE_CR_REPORT_FAILED)) {
        c.cr->add_failed(c.data, result != MPI_SUCCESS ? result : error, error != MPI_SUCCESS);
    }
}

namespace {

// The continuation is still inside attach() on another thread, or a visitor looks at it. Both are brief and end with
// `attached`. A visitor may then change the phase before this thread does, so this thread needs a compare-and-swap. Our
// own take_control() has stored `free`; the attaching thread or the visitor overwrites that.
__attribute__((noinline)) control_word wait_until_attached(continuation &c) noexcept {
    base::spin_wait wait;
    for (;;) {
        const control_word seen = c.control();
        if (seen.at() == phase::attached && c.change_control(seen, phase::free)) {
            return seen;
        }
        wait();
    }
}

// True for a failed continuation whose CR keeps such for thence_get_failed(). It does not run, unless it was attached
// with THENCE_INVOKE_FAILED.
bool is_kept_as_failed(const continuation &c, control_word kind, int error) noexcept {
    return error != MPI_SUCCESS && c.cr->has(THENCE_CR_REPORT_FAILED) && !kind.is(control_word::invoke_failed);
}

} // namespace

void run_general(continuation &c, control_word kind) noexcept {
    if (kind.at() != phase::attached) [[unlikely]] {
        kind = wait_until_attached(c);
    }
    if (kind.is(control_word::pushed)) {
        c.first.path = engine::completion_path::pushed; // attach_single() does not set these, since few cases need them
        c.first.error = MPI_SUCCESS;
    }
    const int error = settle(c, kind);
    const bool runs = !is_kept_as_failed(c, kind, error);
    const std::uint64_t started = runs && observing != nullptr ? observing->begin(c) : 0;
    const int result = runs ? invoke(c, kind.form(), error) : error;
    if (observing != nullptr) [[unlikely]] {
        observing->end(c, started, result);
    }
    if (result != MPI_SUCCESS || error != MPI_SUCCESS) [[unlikely]] {
        note_failure(c, error, result);
    }
    if (!kind.is(control_word::single)) {
        groups.give(this_thread.group_stock, &c.of_group());
    }
}

void run_now(continuation &c) noexcept {
    continuation_request *cr = c.cr;
    {
        running_scope running;
        this_thread.current = cr;
        run_general(c, c.take_control().with(phase::attached));
    }
    continuations.give(this_thread.stock, &c);
    cr->release();
    this_thread.counts.completed.add();
}

void discard(continuation &c) noexcept {
    continuation_request &cr = *c.cr;
    const control_word kind = c.control();
    c.set_control(phase::free, std::memory_order_relaxed);
    if (!kind.is(control_word::single)) {
        groups.give(this_thread.group_stock, &c.of_group());
    }
    continuations.give(this_thread.stock, &c);
    cr.unregister();
}

} // namespace thence::continuation
