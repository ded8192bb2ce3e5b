// SPDX-License-Identifier: BSD-3-Clause
// A small runtime that exports ALPI 1.2, for tests: every task is a thread, of which three run at a time, as on three
// workers. A definition names the kind: alpi_complete, alpi_version_2 (another major version), alpi_no_events (its
// functions for events are missing).
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <semaphore>
#include <thread>

namespace {

struct task {
    void (*body)(void *);
    void *argument;
    void (*completed)(void *);
    void *completed_argument;
    std::atomic<std::uint64_t> events{1}; // that of the body
    std::counting_semaphore<> unblocked{0};
};
thread_local task *self = nullptr;
constexpr int worker_count = 3;
std::counting_semaphore<> workers{worker_count}; // those that run no task
std::atomic<long> shortest_sleep_ms{0};
std::atomic<long> blocked_so_far{0};
std::atomic<long> spawned_so_far{0};
std::atomic<long> ended_so_far{0};

enum error { success, version, not_initialized, parameter, out_of_memory, outside_task };

void lower(task &of, std::uint64_t n) {
    if (of.events.fetch_sub(n) == n) {
        ++ended_so_far;
        of.completed(of.completed_argument);
        delete &of;
    }
}

#if defined(alpi_version_2)
constexpr int major_version = 2;
#else
constexpr int major_version = 1;
#endif

} // namespace

extern "C" {

const char *alpi_error_string(int error) {
    return error == success ? "success" : "an error of the tests' runtime";
}
int alpi_version_check(int major, int minor) {
    return major == major_version && minor <= 2 ? success : version;
}
int alpi_version_get(int *major, int *minor) {
    *major = major_version;
    *minor = 2;
    return success;
}
int alpi_info_get(int query, char *buffer, std::size_t size, int *length) {
    const int n = std::snprintf(buffer, size, "%s", query == 0 ? "threads of the tests" : "Thence");
    if (length != nullptr) {
        *length = n;
    }
    return success;
}
int alpi_task_self(void **current) {
    *current = self;
    return success;
}
int alpi_task_block(void *of) {
    if (self == nullptr) {
        return outside_task;
    }
    if (of != self) {
        return parameter;
    }
    ++blocked_so_far;
    workers.release();
    self->unblocked.acquire();
    workers.acquire();
    return success;
}
int alpi_task_unblock(void *of) {
    static_cast<task *>(of)->unblocked.release();
    return success;
}
int alpi_task_waitfor_ns(std::uint64_t target, std::uint64_t *actual) {
    if (self != nullptr) {
        workers.release();
    }
    std::this_thread::sleep_for(std::chrono::nanoseconds(target));
    if (self != nullptr) {
        std::this_thread::sleep_for(std::chrono::milliseconds(shortest_sleep_ms));
        workers.acquire();
    }
    if (actual != nullptr) {
        *actual = target;
    }
    return success;
}
#if !defined(alpi_no_events)
int alpi_task_events_increase(void *of, std::uint64_t n) {
    if (of != self) { // only the running task
        return parameter;
    }
    self->events.fetch_add(n);
    return success;
}
int alpi_task_events_decrease(void *of, std::uint64_t n) {
    lower(*static_cast<task *>(of), n);
    return success;
}
#endif
int alpi_task_spawn(void (*body)(void *), void *argument, void (*completed)(void *), void *completed_argument,
                    const char *, const void *) {
    if (completed == nullptr) {
        return parameter;
    }
    ++spawned_so_far;
    auto *made = new task{body, argument, completed, completed_argument};
    std::thread([made] {
        workers.acquire();
        self = made;
        made->body(made->argument);
        self = nullptr;
        workers.release();
        lower(*made, 1);
    }).detach();
    return success;
}
int alpi_cpu_count(std::uint64_t *count) {
    *count = worker_count;
    return success;
}
// For tests.
void alpi_tests_tasks(long *spawned, long *ended) {
    *spawned = spawned_so_far;
    *ended = ended_so_far;
}
// From now on a task sleeps longer than it asks for, as where all workers are busy.
void alpi_tests_sleep_longer(long ms) {
    shortest_sleep_ms = ms;
}
// How often a task was blocked.
long alpi_tests_blocked() {
    return blocked_so_far;
}

} // extern "C"
