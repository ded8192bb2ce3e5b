// SPDX-License-Identifier: BSD-3-Clause
// Tasks of the data-flow layer by ALPI's names. A handle is a task as thence/dataflow.h has it.
#include "dataflow/alpi/alpi.hpp"

#include <thence/dataflow.h>
#include <thence/dataflow/detail/exports.hpp>

#include <cerrno>
#include <mutex>
#include <string>
#include <unordered_set>

namespace {

namespace libthence_tasks = thence::libthence_tasks;
using thence::detail::repetition;

// Whether the call is made by the body of `task`.
int check_running(const alpi_task *task) {
    const void *const running = thence_flow_current();
    if (running == nullptr) {
        return ALPI_ERR_OUTSIDE_TASK;
    }
    return running == task ? ALPI_SUCCESS : ALPI_ERR_PARAMETER;
}

// ALPI does not say how long a label stays valid, and reports may ask for it after the task. So each is kept once. A
// program that makes up a label for each task has none after these.
const char *kept(const char *label) noexcept {
    constexpr std::size_t most = 1000;
    static std::mutex mutex;
    static auto &all = *new std::unordered_set<std::string>;
    if (label == nullptr) {
        return nullptr;
    }
    try {
        const std::scoped_lock guard(mutex);
        if (all.size() < most) {
            return all.emplace(label).first->c_str();
        }
        const auto found = all.find(label);
        return found != all.end() ? found->c_str() : nullptr;
    } catch (...) {
        return nullptr;
    }
}

} // namespace

extern "C" {

int alpi_task_self(alpi_task **task) {
    if (task == nullptr) {
        return ALPI_ERR_PARAMETER;
    }
    *task = static_cast<alpi_task *>(thence_flow_current());
    return ALPI_SUCCESS;
}

int alpi_task_block(alpi_task *task) {
    const int fault = check_running(task);
    if (fault != ALPI_SUCCESS) {
        return fault;
    }
    return thence_flow_block(task) == 0 ? ALPI_SUCCESS : ALPI_ERR_OUTSIDE_TASK; // in onready
}

int alpi_task_unblock(alpi_task *task) {
    return thence_flow_unblock(task) == 0 ? ALPI_SUCCESS : ALPI_ERR_PARAMETER;
}

// Outside of tasks it blocks the thread, where ALPI has an error: TAMPI waits like this in MPI_Finalize.
int alpi_task_waitfor_ns(std::uint64_t target_ns, std::uint64_t *actual_ns) {
    return thence_flow_sleep_for(target_ns, actual_ns) == 0 ? ALPI_SUCCESS : ALPI_ERR_OUT_OF_MEMORY;
}

int alpi_task_events_increase(alpi_task *task, std::uint64_t increment) {
    const int fault = check_running(task);
    if (fault != ALPI_SUCCESS || increment == 0) {
        return fault;
    }
    return thence_flow_raise(task, increment) == 0 ? ALPI_SUCCESS : ALPI_ERR_PARAMETER;
}

int alpi_task_events_test(alpi_task *task, std::uint64_t *has_events) {
    const int fault = check_running(task);
    if (fault != ALPI_SUCCESS) {
        return fault;
    }
    if (has_events == nullptr) {
        return ALPI_ERR_PARAMETER;
    }
    *has_events = libthence_tasks::events_of(reinterpret_cast<thence::detail::dataflow_task *>(task)) != 0 ? 1 : 0;
    return ALPI_SUCCESS;
}

int alpi_task_events_decrease(alpi_task *task, std::uint64_t decrement) {
    return thence_flow_lower(task, decrement) == 0 ? ALPI_SUCCESS : ALPI_ERR_PARAMETER;
}

// There are no attributes.
int alpi_attr_create(alpi_attr **attr) {
    if (attr == nullptr) {
        return ALPI_ERR_PARAMETER;
    }
    *attr = nullptr;
    return ALPI_SUCCESS;
}
int alpi_attr_destroy(alpi_attr *) {
    return ALPI_SUCCESS;
}
int alpi_attr_init(alpi_attr *) {
    return ALPI_SUCCESS;
}
int alpi_attr_size(std::uint64_t *size) {
    if (size == nullptr) {
        return ALPI_ERR_PARAMETER;
    }
    *size = 0;
    return ALPI_SUCCESS;
}

int alpi_task_spawn(void (*body)(void *), void *body_args, void (*completion_callback)(void *), void *completion_args,
                    const char *label, const alpi_attr *) {
    if (body == nullptr || completion_callback == nullptr) {
        return ALPI_ERR_PARAMETER;
    }
    const int code = thence_flow_spawn(body, body_args, completion_callback, completion_args, kept(label));
    return code == 0 ? ALPI_SUCCESS : code == ENOMEM ? ALPI_ERR_OUT_OF_MEMORY : ALPI_ERR_UNKNOWN;
}

int alpi_task_suspend_mode_set(alpi_task *task, int mode, std::uint64_t argument) {
    const int fault = check_running(task);
    if (fault != ALPI_SUCCESS) {
        return fault;
    }
    repetition when = repetition::after_unblock;
    switch (mode) {
    case ALPI_SUSPEND_NONE:
        break;
    case ALPI_SUSPEND_SUBMIT: // what is ready goes first in both cases
        if (argument > 1) {
            return ALPI_ERR_PARAMETER;
        }
        when = repetition::at_once;
        break;
    case ALPI_SUSPEND_TIMEOUT_SUBMIT:
        when = repetition::after_pause;
        break;
    case ALPI_SUSPEND_EVENT_SUBMIT:
        when = repetition::after_events;
        break;
    default:
        return ALPI_ERR_PARAMETER;
    }
    return libthence_tasks::choose_repetition(when, argument) ? ALPI_SUCCESS : ALPI_ERR_OUTSIDE_TASK;
}

int alpi_task_suspend(alpi_task *task) {
    const int fault = check_running(task);
    if (fault != ALPI_SUCCESS) {
        return fault;
    }
    return libthence_tasks::run_again() ? ALPI_SUCCESS : ALPI_ERR_OUTSIDE_TASK;
}

} // extern "C"
