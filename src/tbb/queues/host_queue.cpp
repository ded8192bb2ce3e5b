// SPDX-License-Identifier: BSD-3-Clause
// Host queues (thence/host_queue.h): a list of entries, which at most one task of oneTBB works off at a time.
//
// Under the mutex of a queue, it is in one of three states:
//   - idle: no entry, and no task;
//   - running: one task, which takes all entries at once and runs them outside of the mutex;
//   - suspended: no task. The first entry is a wait whose word has not been set.
// A thread that changes `idle` or `suspended` to `running` starts the task. Whoever sets the word of a wait calls
// wake() afterwards, which takes the mutex; the task looks at the word under the mutex before it suspends the queue. So
// no wake is lost. tests/model/host_queue.pml checks this.
#include "core/base/free_list.hpp"
#include "tbb/workers/arena_implementation.hpp"

#include <thence/backoff.h>
#include <thence/detail/atomic.hpp>
#include <thence/error.hpp>
#include <thence/host_queue.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace {

struct entry {
    entry *next;
    void (*function)(void *); // null: a wait, or what is left of a call with a wait
    void *data;
    std::uint32_t *word; // null: no wait behind the call
    std::uint32_t value;
    bool of_user; // the function may release it, so it is not touched after the call
};
static_assert(sizeof(entry) <= sizeof(thence_host_queue_entry) && alignof(entry) <= alignof(thence_host_queue_entry));

bool is_set(std::uint32_t *word, std::uint32_t value) noexcept {
    return static_cast<std::int32_t>(std::atomic_ref(*word).load(std::memory_order_seq_cst) - value) >= 0;
}

// Never destroyed: a program may end while queues exist.
thence::workers::arena &arena() {
    using thence::workers::arena;
    static arena &shared = *new arena(std::make_unique<arena::implementation>());
    return shared;
}

thread_local constinit const thence_host_queue *queue_of_thread = nullptr;

enum class state { idle, running, suspended };

} // namespace

struct thence_host_queue {
    // `added`: memory of the user, or null.
    int push(const entry &to_add, entry *added = nullptr) noexcept {
        bool starts = false;
        {
            const std::scoped_lock guard(mutex);
            if (added == nullptr && (added = unused.take_or_make()) == nullptr) {
                return MPI_ERR_NO_MEM;
            }
            *added = to_add;
            added->next = nullptr;
            *end = added;
            end = &added->next;
            starts = current == state::idle;
            if (starts) {
                current = state::running;
            }
        }
        if (starts) {
            start_task();
        }
        return MPI_SUCCESS;
    }

    void wake() noexcept {
        if (!suspended.load(std::memory_order_seq_cst)) {
            return; // a task that suspends the queue looks at the word once more after it has set this
        }
        {
            const std::scoped_lock guard(mutex);
            if (current != state::suspended || !is_set(first->word, first->value)) {
                return;
            }
            current = state::running;
            suspended.store(false, std::memory_order_relaxed);
        }
        start_task();
    }

    void start_task() {
        arena().call([](void *self) noexcept { static_cast<thence_host_queue *>(self)->run(); }, this);
    }

    // The task.
    void run() noexcept {
        const thence_host_queue *outer = std::exchange(queue_of_thread, this);
        entry *finished = nullptr; // given back together
        entry **finished_end = &finished;
        entry *todo = nullptr;
        for (;;) {
            if (todo == nullptr || (todo->function == nullptr && !is_set(todo->word, todo->value))) {
                const std::scoped_lock guard(mutex);
                give_back(finished, finished_end);
                if (todo == nullptr) {
                    todo = std::exchange(first, nullptr);
                    end = &first;
                    if (todo == nullptr) {
                        current = state::idle;
                        break;
                    }
                    continue;
                }
                suspended.store(true, std::memory_order_seq_cst);
                if (is_set(todo->word, todo->value)) {
                    suspended.store(false, std::memory_order_relaxed);
                } else { // what is left comes before what was enqueued meanwhile
                    entry *last = todo;
                    while (last->next != nullptr) {
                        last = last->next;
                    }
                    last->next = first;
                    if (first == nullptr) {
                        end = &last->next;
                    }
                    first = todo;
                    current = state::suspended;
                    break;
                }
            }
            entry *ran = todo;
            if (ran->of_user) {
                todo = ran->next;
                ran->function(ran->data); // NOLINT(clang-analyzer-core.CallAndMessage): the user's entries are no waits
                continue;
            }
            if (auto *function = std::exchange(ran->function, nullptr); function != nullptr) {
                function(ran->data);
                if (ran->word != nullptr && !is_set(ran->word, ran->value)) {
                    continue; // a wait is left of it
                }
            }
            todo = ran->next;
            ran->next = nullptr;
            *finished_end = ran;
            finished_end = &ran->next;
        }
        queue_of_thread = outer;
        // The queue may be destroyed from here on.
    }

    // Under the mutex.
    void give_back(entry *&list, entry **&list_end) noexcept {
        if (list != nullptr) {
            unused.give_all(list, *list_end);
            list = nullptr;
            list_end = &list;
        }
    }

    bool is_idle() noexcept {
        const std::scoped_lock guard(mutex);
        return current == state::idle;
    }

    // Waits until `condition` is true, and lets MPI make progress meanwhile.
    template <class Condition> static void wait(Condition condition) noexcept {
        for (thence_backoff backoff = THENCE_BACKOFF_INIT; !condition(); thence_backoff_pause(&backoff)) {
            if (thence::detail::mpi_inactive_reason() == nullptr) {
                int is_main = 1;
                int level = 0;
                MPI_Query_thread(&level);
                MPI_Is_thread_main(&is_main);
                if (level >= MPI_THREAD_SERIALIZED || is_main != 0) {
                    thence_progress();
                }
            }
        }
    }

    ~thence_host_queue() { unused.delete_all(); }

    thence::detail::spin_lock mutex; // guards what follows but `users`; held for a few instructions
    entry *first = nullptr;
    entry **end = &first;
    thence::base::free_list<entry> unused;
    state current = state::idle;
    std::atomic<bool> suspended{false}; // `current` is or becomes `suspended`; changes under the mutex
    std::atomic<int> users{0};          // streams of this queue
};

namespace {

thence_host_queue &queue_of(void *handle) noexcept {
    return *static_cast<thence_host_queue *>(handle);
}

int launch(void *handle, void (*function)(void *), void *data) noexcept {
    return queue_of(handle).push({nullptr, function, data, nullptr, 0, false});
}

int launch_and_wait(void *handle, void (*function)(void *), void *data, std::uint32_t *word,
                    std::uint32_t value) noexcept {
    return queue_of(handle).push({nullptr, function, data, word, value, false});
}

int wait(void *handle, std::uint32_t *word, std::uint32_t value) noexcept {
    return queue_of(handle).push({nullptr, nullptr, nullptr, word, value, false});
}

void wake(void *handle) noexcept {
    queue_of(handle).wake();
}

int use(void *handle, int on) noexcept {
    queue_of(handle).users.fetch_add(on != 0 ? 1 : -1);
    return 0;
}

constexpr thence_queue_table table = {sizeof(thence_queue_table),
                                      "host queue",
                                      THENCE_QUEUE_CALLS_MPI,
                                      &launch,
                                      nullptr, // a launched function starts the operation at once
                                      &wait,
                                      &wake,
                                      nullptr,
                                      nullptr,
                                      nullptr,
                                      nullptr,
                                      &use,
                                      &launch_and_wait};

} // namespace

extern "C" {

int thence_host_queue_create(thence_host_queue **queue) {
    if (queue == nullptr) {
        return MPI_ERR_ARG;
    }
    auto *made = new (std::nothrow) thence_host_queue;
    if (made == nullptr) {
        return MPI_ERR_NO_MEM;
    }
    *queue = made;
    return MPI_SUCCESS;
}

int thence_host_queue_destroy(thence_host_queue **queue) {
    if (queue == nullptr || *queue == nullptr) {
        return MPI_ERR_ARG;
    }
    thence_host_queue *destroyed = *queue;
    if (queue_of_thread == destroyed) {
        return MPI_ERR_PENDING;
    }
    if (destroyed->users.load() != 0) {
        return MPI_ERR_OTHER;
    }
    thence_host_queue::wait([&] { return destroyed->is_idle(); });
    delete destroyed;
    *queue = nullptr;
    return MPI_SUCCESS;
}

int thence_host_queue_enqueue(thence_host_queue *queue, void (*function)(void *data), void *data) {
    if (queue == nullptr || function == nullptr) {
        return MPI_ERR_ARG;
    }
    return launch(queue, function, data);
}

int thence_host_queue_enqueue_entry(thence_host_queue *queue, thence_host_queue_entry *room,
                                    void (*function)(void *data), void *data) {
    if (queue == nullptr || room == nullptr || function == nullptr) {
        return MPI_ERR_ARG;
    }
    return queue->push({nullptr, function, data, nullptr, 0, true}, new (room) entry);
}

int thence_host_queue_synchronize(thence_host_queue *queue) {
    if (queue == nullptr) {
        return MPI_ERR_ARG;
    }
    if (queue_of_thread == queue) {
        return MPI_ERR_PENDING;
    }
    // A marker of its own, since the counters are of whole rounds of the task.
    std::atomic<bool> reached{false};
    const int code = launch(
        queue, [](void *flag) { static_cast<std::atomic<bool> *>(flag)->store(true); }, &reached);
    if (code == MPI_SUCCESS) {
        thence_host_queue::wait([&] { return reached.load(std::memory_order_acquire); });
    }
    return code;
}

int thence_host_queue_query(thence_host_queue *queue, int *idle) {
    if (queue == nullptr || idle == nullptr) {
        return MPI_ERR_ARG;
    }
    *idle = queue->is_idle() ? 1 : 0;
    return MPI_SUCCESS;
}

thence_queue thence_host_queue_handle(thence_host_queue *queue) {
    return {&table, queue};
}

} // extern "C"
