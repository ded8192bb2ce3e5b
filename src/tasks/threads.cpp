// SPDX-License-Identifier: BSD-3-Clause
// Plain threads as a task runtime: a thread is a task that can be blocked.
#include "core/base/clock.hpp"
#include "core/base/per_thread.hpp"
#include "tasks/runtime.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace thence::task {

namespace {

// The state of one thread. It is destroyed when the thread ends, so unblock() notifies under the lock: the thread
// cannot go on before unblock() has done with it.
struct blocked_thread {
    std::mutex mutex;
    std::condition_variable changed;
    bool unblocked = false;
};

// Without memory for its state, a thread is no task, and blocks in MPI.
void *current_thread() {
    return base::rare_per_thread<blocked_thread>::get();
}

int block(void *task) {
    auto &self = *static_cast<blocked_thread *>(task);
    std::unique_lock lock(self.mutex);
    self.changed.wait(lock, [&] { return self.unblocked; });
    self.unblocked = false;
    return 0;
}

int unblock(void *task) {
    auto &blocked = *static_cast<blocked_thread *>(task);
    const std::scoped_lock lock(blocked.mutex);
    blocked.unblocked = true;
    blocked.changed.notify_one();
    return 0;
}

int sleep_for(std::uint64_t nanoseconds, std::uint64_t *slept) {
    const base::nanoseconds begun = base::read_clock();
    std::this_thread::sleep_for(std::chrono::nanoseconds(nanoseconds));
    if (slept != nullptr) {
        *slept = static_cast<std::uint64_t>(base::read_clock() - begun);
    }
    return 0;
}

} // namespace

const thence_task_runtime threads{sizeof(thence_task_runtime),
                                  "plain threads",
                                  &current_thread,
                                  &block,
                                  &unblock,
                                  nullptr,
                                  nullptr,
                                  nullptr,
                                  &sleep_for,
                                  nullptr,
                                  nullptr,
                                  nullptr,
                                  nullptr};

} // namespace thence::task
