// SPDX-License-Identifier: BSD-3-Clause
// Tasks that end with an event of their runtime, such as detached tasks of OpenMP, as a task runtime. The runtime
// itself does not say which task runs on a thread, so the body of each task says it, from detached_begin() to
// detached_end(), but for the time from detached_pause() to detached_resume(), in which the thread may run others.
//
// A task is one of these objects while its body runs or events are outstanding. It is taken from a list of its thread
// and given back, by whoever lowers the last event, to the list of that thread.
#include "core/base/free_list.hpp"
#include "core/base/per_thread.hpp"
#include "tasks/events.hpp"
#include "tasks/runtime.hpp"

#include <new>
#include <utility>

namespace thence::task {

namespace {

struct detached {
    thence_events events;
    void (*complete)(void *event);
    void *event;
    detached *next; // while the body runs: the task around it; else the list
};

// The cache of one thread. It is bounded, since one thread may begin tasks and another end them.
struct thread_cache {
    static constexpr int most = 64;
    base::free_list<detached> list;
    int count = 0;
    ~thread_cache() { list.delete_all(); }
};
using spare = base::per_thread<thread_cache>;
thread_local constinit detached *innermost = nullptr; // the task whose body this thread runs

void give_back(detached *unused) noexcept {
    thread_cache *const mine = spare::get();
    if (mine == nullptr || mine->count == thread_cache::most) {
        delete unused;
        return;
    }
    mine->list.give(*unused);
    ++mine->count;
}

void complete(thence_events *, int, void *owner) {
    auto *self = static_cast<detached *>(owner);
    auto *const function = self->complete;
    void *const event = self->event;
    give_back(self);
    function(event);
}

void *current_detached() {
    return innermost;
}
int raise_detached(void *task, std::uint64_t n) {
    return raise(static_cast<detached *>(task)->events, n) == raising::done ? 0 : 1;
}
int lower_detached(void *task, std::uint64_t n, int error) {
    return lower(static_cast<detached *>(task)->events, n, error) ? 0 : 1;
}

} // namespace

const thence_task_runtime detached_tasks{sizeof(thence_task_runtime),
                                         "detached tasks",
                                         &current_detached,
                                         nullptr,
                                         nullptr,
                                         &raise_detached,
                                         &lower_detached,
                                         nullptr,
                                         nullptr,
                                         nullptr,
                                         nullptr,
                                         nullptr,
                                         nullptr};

bool detached_begin(void (*function)(void *event), void *event) noexcept {
    thread_cache *const mine = spare::existing();
    detached *made = mine != nullptr ? mine->list.take() : nullptr;
    if (made != nullptr) {
        --mine->count;
    } else if (made = new (std::nothrow) detached; made == nullptr) {
        return false;
    }
    *made = {{1, &complete, made, MPI_SUCCESS}, function, event, innermost};
    innermost = made;
    return true;
}

bool detached_end() noexcept {
    detached *ended = innermost;
    if (ended == nullptr) {
        return false;
    }
    innermost = ended->next;
    lower(ended->events, 1, MPI_SUCCESS);
    return true;
}

void *detached_pause() noexcept {
    return std::exchange(innermost, nullptr);
}

bool detached_resume(void *paused) noexcept {
    if (innermost != nullptr) {
        return false;
    }
    innermost = static_cast<detached *>(paused);
    return true;
}

} // namespace thence::task
