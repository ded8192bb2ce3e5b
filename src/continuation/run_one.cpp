// SPDX-License-Identifier: BSD-3-Clause
#include "continuation/run_one.hpp"

#include "continuation/observe.hpp"
#include "engine/engine.hpp"

namespace thence::continuation {

namespace {

// Still inside thence_attach() on another thread, or under a visitor's eyes: both are brief and end with `attached`.
// From there another visitor may be quicker than we are, so it takes a compare-and-swap. Ours was the exchange that
// left `free` behind; attacher and visitor store over it.
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

void run_group(continuation &c, control_word kind) noexcept {
    const int error = settle(c, kind);
    int result = error;
    if (error == MPI_SUCCESS || kind.is(control_word::invoke_failed) || !c.cr->has(THENCE_CR_REPORT_FAILED)) {
        const std::uint64_t started = observing != nullptr ? observing->begin(c) : 0;
        result = invoke(c, kind.form(), error);
        if (observing != nullptr) {
            observing->end(c, started, result);
        }
    } else if (observing != nullptr) {
        observing->end(c, 0, error);
    }
    if (result != MPI_SUCCESS || error != MPI_SUCCESS) {
        note_failure(c, error, result);
    }
    if (!kind.is(control_word::single)) {
        groups.give(this_thread.group_stock, &c.of_group());
    }
}

} // namespace

void note_failure(const continuation &c, int error, int result) {
    this_thread.counts.failed.add();
    if (c.cr->has(THENCE_CR_REPORT_FAILED)) {
        c.cr->add_failed(c.data, result != MPI_SUCCESS ? result : error, error != MPI_SUCCESS);
    }
}

void run_other(continuation &c, control_word kind) noexcept {
    if (kind.at() != phase::attached) [[unlikely]] {
        kind = wait_until_attached(c);
    }
    const bool finished = kind.is(control_word::pushed) ? engine::try_finish(c.first.request, c.first.status)
                                                        : c.first.how == engine::tending::done;
    if (kind.is(control_word::pushed)) {
        c.first.how = finished ? engine::tending::done : engine::tending::pushed;
        c.first.error = MPI_SUCCESS;
    }
    if (!kind.is(control_word::single) || !finished || c.first.error != MPI_SUCCESS) {
        run_group(c, kind);
    } else if (const int result = invoke(c, kind.form(), MPI_SUCCESS); result != MPI_SUCCESS) [[unlikely]] {
        note_failure(c, MPI_SUCCESS, result);
    }
}

int settle(continuation &c, control_word kind) noexcept {
    int error = MPI_SUCCESS;
    for_each_operation(c, kind, [&](engine::operation &op) {
        if (op.how != engine::tending::done) {
            engine::current->finish(op);
        }
        error = error == MPI_SUCCESS ? op.error : error;
    });
    return error;
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

void run(continuation &c) noexcept {
    c.set_control(c.control().with(phase::attached), std::memory_order_release);
    continuation_request *cr = c.cr;
    running_scope running;
    run_alone(c, cr);
    cr->release();
    this_thread.counts.completed.add();
}

// The callback alone. What remains is left to give_back_completed(): a request that is released here may be the last
// that holds its communicator, and MPI goes on to use that.
bool run_in_completion(continuation &c) noexcept {
    const control_word kind = c.control();
    if (!this_thread.only_in_progress() || !engine::is_plain(c.first.request) || kind.at() != phase::attached ||
        !c.change_control(kind, phase::free)) {
        return false;
    }
    this_thread.current = c.cr;
    {
        running_scope running;
        engine::try_take(c.first.request, c.first.status);
        if (const int result = invoke(c, kind.form(), MPI_SUCCESS); result != MPI_SUCCESS) [[unlikely]] {
            note_failure(c, MPI_SUCCESS, result);
        }
    }
    c.next = nullptr;
    (this_thread.completed == nullptr ? this_thread.completed : this_thread.last_completed->next) = &c;
    this_thread.last_completed = &c;
    return true;
}

void give_back_completed() noexcept {
    const busy_scope giving_back; // what frees a communicator may call functions of the user's
    continuation *c = this_thread.completed;
    this_thread.completed = nullptr;
    for (continuation *next = nullptr; c != nullptr; c = next) {
        next = c->next;
        continuation_request *cr = c->cr;
        engine::release(c->first.request);
        continuations.give(this_thread.stock, c);
        cr->release();
        this_thread.counts.completed.add();
    }
}

} // namespace thence::continuation
