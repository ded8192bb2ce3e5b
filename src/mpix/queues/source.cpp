// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/queues/source.hpp"

#include "core/continuation/lifetime.hpp"
#include "core/continuation/request.hpp"
#include "core/continuation/thread_state.hpp"
#include "core/progress/progress.hpp"
#include "core/progress/source.hpp"

#include <cstdio>
#include <mutex>

namespace thence::queues {

namespace {

std::mutex mutex; // guards the list
queue *all = nullptr;
unsigned removals = 0; // a queue that is removed may still be pinned, and then its link is no longer right
std::atomic<long> outstanding_count{0};
MPI_Request cr = MPI_REQUEST_NULL;

bool outstanding() noexcept {
    return outstanding_count.load(std::memory_order_seq_cst) != 0;
}

bool poll(progress::polled_from) noexcept {
    if (!outstanding()) {
        return false;
    }
    const std::unique_lock guard(mutex, std::try_to_lock); // a thread that holds it is adding, removing or polling
    if (!guard.owns_lock()) {
        return false;
    }
    for (const queue *each = all; each != nullptr; each = each->next) {
        if (each->is_triggered()) {
            return true;
        }
    }
    return false;
}

// The first triggered queue behind `after`, pinned. The pin of `after` is given up. `seen`: the removals before
// `after`.
queue *next_triggered(queue *after, unsigned &seen) noexcept {
    const std::scoped_lock guard(mutex);
    queue *each = after == nullptr ? all : seen == removals ? after->next : nullptr;
    seen = removals;
    if (after != nullptr) {
        after->unpin();
    }
    while (each != nullptr && !each->is_triggered()) {
        each = each->next;
    }
    if (each != nullptr) {
        each->pin();
    }
    return each;
}

long run(long) noexcept {
    if (!outstanding() || !continuation::free_to_run()) {
        return 0;
    }
    long begun = 0;
    unsigned seen = 0;
    for (queue *each = next_triggered(nullptr, seen); each != nullptr; each = next_triggered(each, seen)) {
        begun += each->begin_triggered();
    }
    return begun;
}

constexpr progress::source as_source{"enqueued operations", &outstanding, &poll, &run};

// MPI_Finalize: what has begun and is not complete is an outstanding continuation, which the library reports itself.
void report_not_begun() noexcept {
    const std::scoped_lock guard(mutex);
    for (queue *each = all; each != nullptr; each = each->next) {
        if (const long left = each->calls_not_begun(); left != 0) {
            const char *name = each->handle().table->name;
            std::fprintf(stderr, "thence: MPI_Finalize: %ld enqueued calls have not begun: their queue is a %s\n", left,
                         name != nullptr ? name : "queue of the program");
        }
    }
}

constinit continuation::finalize_functions at_finalize{nullptr, &report_not_begun};

} // namespace

bool add_queue(queue &added) noexcept {
    const std::scoped_lock guard(mutex);
    if (all == nullptr) {
        const unsigned flags = progress::helper_possible() && progress::require_helper() ? THENCE_CR_ANY_THREAD : 0U;
        const auto *made = continuation::continuation_request::create({flags, -1});
        if (made == nullptr) {
            return false;
        }
        if (!progress::add_source(as_source)) {
            continuation::continuation_request::of_handle(made->handle())->free_handle();
            return false;
        }
        cr = made->handle();
        continuation::add_finalize_functions(at_finalize);
    }
    added.next = all;
    all = &added;
    return true;
}

void remove_queue(queue &removed) noexcept {
    const std::scoped_lock guard(mutex);
    queue **link = &all;
    while (*link != &removed) {
        link = &(*link)->next;
    }
    *link = removed.next;
    ++removals;
    if (all == nullptr) {
        progress::remove_source(as_source);
        if (auto *request = continuation::continuation_request::of_handle(cr); request != nullptr) {
            request->free_handle();
        }
        cr = MPI_REQUEST_NULL;
    }
}

MPI_Request completions() noexcept {
    return cr;
}

void count_outstanding(long n) noexcept {
    outstanding_count.fetch_add(n, std::memory_order_seq_cst);
    if (n > 0) {
        progress::engage();
    }
}

mpi::extension_facts host_queues() noexcept {
#if defined(THENCE_HAS_HOST_QUEUES)
    return {mpi::extension_state::ours, "libthence-queues runs their functions on threads of oneTBB"};
#else
    return {mpi::extension_state::not_possible, "Thence was built without oneTBB, so there is no libthence-queues"};
#endif
}

mpi::extension_facts other_queues() noexcept {
    return {mpi::extension_state::ours,
            progress::helper_possible()
                ? "the program passes a thence_queue_table, and the helper thread starts the operations"
                : "the program passes a thence_queue_table, and makes progress itself: no helper thread can run"};
}

} // namespace thence::queues
