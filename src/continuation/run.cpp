// SPDX-License-Identifier: BSD-3-Clause
#include "continuation/run.hpp"

#include "continuation/run_one.hpp"
#include "engine/engine.hpp"
#include "mpi/calls.hpp"
#include "progress/progress.hpp"

#include <climits>

namespace thence::continuation {

namespace {

// From a hook we borrow a thread that wanted something else: give it back soon.
constexpr long most_in_hook = 64;

// Continuations of one CR in a row give their references back together: the CR cannot become idle before the last of
// them has run anyway.
class reference_holder {
public:
    void hold(continuation_request *cr) noexcept {
        release();
        cr_ = cr;
        this_thread.current = cr;
    }
    void release() noexcept {
        if (cr_ != nullptr) {
            const long n = this_thread.held();
            this_thread.ran_before = this_thread.ran;
            cr_->release(n);
        }
    }
    continuation_request *cr() const noexcept { return cr_; }

private:
    continuation_request *cr_ = nullptr;
};

template <bool bounded>
[[gnu::always_inline]] inline void run_some(base::ready_queue<continuation> &queue, long limit) {
    reference_holder holder;
    do {
        continuation *c = queue.pop();
        if (c == nullptr) [[unlikely]] {
            break;
        }
        if (c->cr != holder.cr()) [[unlikely]] {
            holder.hold(c->cr);
        }
        run_one(*c);
        ++this_thread.ran;
    } while ((!bounded || this_thread.ran != limit) && !queue.empty());
    continuations.level(this_thread.stock, static_cast<unsigned>(this_thread.ran));
    holder.release();
}

} // namespace

long run_queue(base::ready_queue<continuation> &queue, long limit) noexcept {
    running_scope running;
    this_thread.ran = 0;
    this_thread.ran_before = 0;
    if (limit == LONG_MAX) {
        run_some<false>(queue, limit);
    } else {
        run_some<true>(queue, limit);
    }
    this_thread.counts.completed.add(static_cast<unsigned long long>(this_thread.ran));
    return this_thread.ran;
}

long run_some_ready(long limit) noexcept {
    if (!free_to_run()) {
        return 0;
    }
    long ran = 0;
    if (application_queue.glance() != 0 && !this_thread.helper) {
        ran = run_from(application_queue, limit);
    }
    if (any_thread_queue.glance() != 0 && ran != limit) {
        ran += run_from(any_thread_queue, limit - ran);
    }
    return ran;
}

namespace {

void find_more() noexcept {
    if (!engine::current->quiet()) {
        const busy_scope polling;
        engine::current->poll();
    }
}

__attribute__((noinline)) int find_and_run() noexcept {
    find_more();
    const long ran = run_ready(most_in_hook);
    if (ran == 0) {
        progress::hook_found_nothing();
    }
    return static_cast<int>(ran);
}

} // namespace

// MPI calls this each time it looks for messages, hundreds of times for each that comes. While we wait ourselves it
// must not even look at what is ready: that comes as a surprise to the processor, and costs as much as all else here.
int on_progress() noexcept {
    if (this_thread.enlisted() && !this_thread.free_to_run()) {
        return 0;
    }
    if (something_to_do() && free_to_run()) [[unlikely]] {
        return find_and_run();
    }
    progress::hook_found_nothing();
    return 0;
}

void find() noexcept {
    if (free_to_run()) {
        if (!engine::current->poll_progresses()) {
            find_more();
        }
        progress::hook_found_nothing();
    }
}

void let_mpi_progress(bool may_complete) noexcept {
    if (this_thread.in_completion()) [[unlikely]] {
        return;
    }
    if (!engine::push_enabled || !may_complete) {
        const busy_scope polling;
        engine::current->progress();
        return;
    }
    {
        const progress_scope in_mpi; // and in no lock of the engine's
        mpi::table.opal_progress();
    }
    if (this_thread.completed != nullptr) [[unlikely]] {
        give_back_completed();
    }
    find_more();
}

long progress() noexcept {
    const unsigned long long before = this_thread.counts.completed.get();
    let_mpi_progress();
    return static_cast<long>(this_thread.counts.completed.get() - before) + run_ready(LONG_MAX);
}

long run_some_own(continuation_request &cr) noexcept {
    if (!free_to_run()) {
        return 0;
    }
    const long limit = cr.max_poll() < 0 ? LONG_MAX : cr.max_poll();
    long ran = 0;
    if (cr.has(THENCE_CR_POLL_ONLY) && !cr.own_queue().empty() && limit != 0) {
        ran = run_queue(cr.own_queue(), limit);
    }
    return ran + run_ready(limit - ran);
}

} // namespace thence::continuation
