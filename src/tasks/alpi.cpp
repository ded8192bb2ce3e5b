// SPDX-License-Identifier: BSD-3-Clause
// A runtime that exports ALPI, the tasking interface of nOS-V and Nanos6, as a table. Its functions are looked up by
// name when the table is first asked for. A function of ALPI returns 0 or an error number.
#include "tasks/runtime.hpp"

#include <cstdint>
#include <cstdio>
#include <dlfcn.h>
#include <mutex>

namespace thence::task {

namespace {

struct functions {
    const char *(*error_string)(int error);
    int (*version_check)(int major, int minor);
    int (*version_get)(int *major, int *minor);
    int (*info_get)(int query, char *buffer, std::size_t size, int *length); // ALPI 1.2; may be missing
    int (*task_self)(void **task);
    int (*task_block)(void *task);
    int (*task_unblock)(void *task);
    int (*task_waitfor_ns)(std::uint64_t target, std::uint64_t *actual);
    int (*task_events_increase)(void *task, std::uint64_t n);
    int (*task_events_decrease)(void *task, std::uint64_t n);
    int (*task_spawn)(void (*body)(void *), void *argument, void (*completed)(void *), void *completed_argument,
                      const char *label, const void *attributes);
    int (*cpu_count)(std::uint64_t *count);
} alpi_;

template <class Function> bool look_up(Function &function, const char *name) noexcept {
    function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
    return function != nullptr;
}

void *current_task() {
    void *task = nullptr;
    return alpi_.task_self(&task) == 0 ? task : nullptr;
}
int raise_events(void *task, std::uint64_t n) {
    return alpi_.task_events_increase(task, n);
}
int lower_events(void *task, std::uint64_t n, int) {
    return alpi_.task_events_decrease(task, n);
}
void no_completion(void *) {}
int spawn(void (*body)(void *), void *argument, void (*completed)(void *), void *completed_argument,
          const char *label) { // ALPI wants a function
    return alpi_.task_spawn(body, argument, completed != nullptr ? completed : &no_completion, completed_argument,
                            label, nullptr);
}
int workers() {
    std::uint64_t count = 0;
    return alpi_.cpu_count(&count) == 0 && count > 0 ? static_cast<int>(count) : 1;
}

thence_task_runtime table_{sizeof(thence_task_runtime),
                           "ALPI",
                           &current_task,
                           nullptr,
                           nullptr,
                           &raise_events,
                           &lower_events,
                           &spawn,
                           nullptr,
                           &workers,
                           nullptr,
                           nullptr,
                           nullptr};
char text_[200];

const char *find() noexcept {
    if (!look_up(alpi_.version_check, "alpi_version_check")) {
        return "no library of this process exports alpi_version_check";
    }
    int major = 0;
    int minor = 0;
    if (!look_up(alpi_.version_get, "alpi_version_get") || alpi_.version_get(&major, &minor) != 0) {
        return "it does not say which version of ALPI it has";
    }
    if (alpi_.version_check(1, 0) != 0) {
        std::snprintf(text_, sizeof text_, "it has ALPI %d.%d, and Thence needs 1.0 or a later 1.x", major, minor);
        return text_;
    }
    const char *missing =
        !look_up(alpi_.task_self, "alpi_task_self")                         ? "alpi_task_self"
        : !look_up(alpi_.task_events_increase, "alpi_task_events_increase") ? "alpi_task_events_increase"
        : !look_up(alpi_.task_events_decrease, "alpi_task_events_decrease") ? "alpi_task_events_decrease"
        : !look_up(alpi_.task_spawn, "alpi_task_spawn")                     ? "alpi_task_spawn"
        : !look_up(alpi_.cpu_count, "alpi_cpu_count")                       ? "alpi_cpu_count"
                                                                            : nullptr;
    if (missing != nullptr) {
        std::snprintf(text_, sizeof text_, "it has ALPI %d.%d, but no %s", major, minor, missing);
        return text_;
    }
    if (look_up(alpi_.task_block, "alpi_task_block") && look_up(alpi_.task_unblock, "alpi_task_unblock")) {
        table_.block = alpi_.task_block;
        table_.unblock = alpi_.task_unblock;
    }
    if (look_up(alpi_.task_waitfor_ns, "alpi_task_waitfor_ns")) {
        table_.sleep_for = alpi_.task_waitfor_ns;
    }
    char name[100] = "a runtime without a name";
    if (look_up(alpi_.info_get, "alpi_info_get")) {
        constexpr int runtime_name = 0; // ALPI_INFO_RUNTIME_NAME
        alpi_.info_get(runtime_name, name, sizeof name, nullptr);
        name[sizeof name - 1] = '\0';
    }
    std::snprintf(text_, sizeof text_, "%s, ALPI %d.%d%s", name, major, minor,
                  table_.block == nullptr ? ", without blocking of tasks" : "");
    return nullptr;
}

} // namespace

const thence_task_runtime *alpi(const char *&why) noexcept {
    static std::mutex mutex;
    static bool found = false;
    const std::scoped_lock guard(mutex);
    if (!found) { // a runtime may be loaded later, so a failure is not kept
        if (const char *fault = find(); fault != nullptr) {
            why = fault;
            return nullptr;
        }
        found = true;
    }
    why = text_;
    return &table_;
}

} // namespace thence::task
