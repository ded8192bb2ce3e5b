// SPDX-License-Identifier: BSD-3-Clause
// What this runtime is, and the processors that run its tasks.
//
// Users of ALPI keep data per processor, which they write without a lock: no two threads that run tasks may have one
// number at a time. Threads of oneTBB are not bound to processors, so the number is that of the thread.
#include "dataflow/alpi/alpi.hpp"

#include <thence/dataflow.h>
#include <thence/dataflow/detail/exports.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <sched.h>
#include <unistd.h>

namespace {

constexpr int major_version = 1;
constexpr int minor_version = 2;
constexpr int all_features = 0xf; // blocking, events, resources, suspend

// The workers of the process' flow and one thread that waits in it need a number; further threads that wait, and
// workers of other flows, find one if the machine has more processors. Not more than it has: TAMPI 4.1 refuses a
// runtime with more processors than the machine had where TAMPI was built.
int count_processors() {
    constexpr int most_further = 16;
    const int needed = thence::libthence_tasks::workers_of(thence::libthence_tasks::default_flow()) + 1;
    return std::max(needed, std::min(static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)), needed + most_further));
}

class numbers {
public:
    static numbers &instance() {
        static numbers &only = *new numbers; // threads may end after static objects
        return only;
    }
    int count() const noexcept { return count_; }
    // @return the least number that is free, or -1.
    int take() noexcept {
        for (int i = 0; i < count_; ++i) {
            if (!taken_[static_cast<std::size_t>(i)].exchange(true, std::memory_order_acquire)) {
                return i;
            }
        }
        return -1;
    }
    void give_back(int number) noexcept {
        taken_[static_cast<std::size_t>(number)].store(false, std::memory_order_release);
    }

private:
    int count_ = count_processors();
    std::unique_ptr<std::atomic<bool>[]> taken_ =
        std::make_unique<std::atomic<bool>[]>(static_cast<std::size_t>(count_));
};

// The number of a thread that runs tasks, or -1. The thread gives it back when it stops to run tasks: threads that wait
// one after another then need one number together, also if each goes on to live.
constinit thread_local int number_of_thread = -1;

void give_back_own() noexcept {
    numbers::instance().give_back(number_of_thread);
    number_of_thread = -1;
}

int own_number() noexcept {
    if (number_of_thread < 0) {
        number_of_thread = numbers::instance().take();
        if (number_of_thread >= 0) {
            thence::libthence_tasks::when_thread_stops(give_back_own);
        }
    }
    return number_of_thread;
}

int write(char *buffer, std::size_t max_length, int *length, const char *text) {
    const int whole = std::snprintf(buffer, max_length, "%s", text);
    if (length != nullptr) {
        *length = static_cast<std::size_t>(whole) < max_length ? whole : static_cast<int>(max_length) - 1;
    }
    return ALPI_SUCCESS;
}

} // namespace

extern "C" {

const char *alpi_error_string(int error) {
    switch (error) {
    case ALPI_SUCCESS:
        return "success";
    case ALPI_ERR_VERSION:
        return "the version of ALPI that was asked for is not that of the library, ALPI 1.2";
    case ALPI_ERR_NOT_INITIALIZED:
        return "the runtime is not initialized";
    case ALPI_ERR_PARAMETER:
        return "a parameter is invalid";
    case ALPI_ERR_OUT_OF_MEMORY:
        return "no memory or threads are left";
    case ALPI_ERR_OUTSIDE_TASK:
        return "the call is not made in the body of a task";
    case ALPI_ERR_UNKNOWN:
        return "unknown error";
    case ALPI_ERR_FEATURE_UNKNOWN:
        return "a feature is unknown";
    default:
        return "no error number of ALPI";
    }
}

int alpi_info_get(int query, char *buffer, std::size_t max_length, int *length) {
    if (buffer == nullptr || max_length == 0) {
        return ALPI_ERR_PARAMETER;
    }
    switch (query) {
    case ALPI_INFO_RUNTIME_NAME:
        return write(buffer, max_length, length, "thence-tasks");
    case ALPI_INFO_RUNTIME_VENDOR:
        return write(buffer, max_length, length, "Thence");
    case ALPI_INFO_VERSION:
        return write(buffer, max_length, length, "ALPI 1.2 (thence-tasks)");
    default:
        return ALPI_ERR_PARAMETER;
    }
}

int alpi_feature_check(int features) {
    return (features & ~all_features) == 0 ? ALPI_SUCCESS : ALPI_ERR_FEATURE_UNKNOWN;
}

int alpi_version_check(int major, int minor) {
    return major == major_version && minor <= minor_version ? ALPI_SUCCESS : ALPI_ERR_VERSION;
}

int alpi_version_get(int *major, int *minor) {
    if (major == nullptr || minor == nullptr) {
        return ALPI_ERR_PARAMETER;
    }
    *major = major_version;
    *minor = minor_version;
    return ALPI_SUCCESS;
}

int alpi_cpu_count(std::uint64_t *count) {
    if (count == nullptr) {
        return ALPI_ERR_PARAMETER;
    }
    *count = static_cast<std::uint64_t>(numbers::instance().count());
    return ALPI_SUCCESS;
}

int alpi_cpu_logical_id(std::uint64_t *logical_id) {
    if (logical_id == nullptr) {
        return ALPI_ERR_PARAMETER;
    }
    if (thence_flow_current() == nullptr) {
        return ALPI_ERR_OUTSIDE_TASK;
    }
    const int number = own_number();
    if (number < 0) {
        return ALPI_ERR_UNKNOWN;
    }
    *logical_id = static_cast<std::uint64_t>(number);
    return ALPI_SUCCESS;
}

int alpi_cpu_system_id(std::uint64_t *system_id) {
    if (system_id == nullptr) {
        return ALPI_ERR_PARAMETER;
    }
    if (thence_flow_current() == nullptr) {
        return ALPI_ERR_OUTSIDE_TASK;
    }
    *system_id = static_cast<std::uint64_t>(sched_getcpu());
    return ALPI_SUCCESS;
}

} // extern "C"
