// SPDX-License-Identifier: BSD-3-Clause
// The interface of ALPI 1.2, the tasking interface of nOS-V and Nanos6, as this library exports it. Users of ALPI bring
// their own alpi.h. Functions return 0 or an error number.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

struct alpi_task;
struct alpi_attr;

enum alpi_error_t {
    ALPI_SUCCESS = 0,
    ALPI_ERR_VERSION,
    ALPI_ERR_NOT_INITIALIZED,
    ALPI_ERR_PARAMETER,
    ALPI_ERR_OUT_OF_MEMORY,
    ALPI_ERR_OUTSIDE_TASK,
    ALPI_ERR_UNKNOWN,
    ALPI_ERR_FEATURE_UNKNOWN,
    ALPI_ERR_MAX
};

enum alpi_info_t { ALPI_INFO_RUNTIME_NAME, ALPI_INFO_RUNTIME_VENDOR, ALPI_INFO_VERSION };

enum alpi_suspend_mode_t {
    ALPI_SUSPEND_NONE = 0,
    ALPI_SUSPEND_SUBMIT,         // argument: 0, or 1 to let others go first
    ALPI_SUSPEND_TIMEOUT_SUBMIT, // argument: nanoseconds
    ALPI_SUSPEND_EVENT_SUBMIT
};

#pragma GCC visibility push(default)

const char *alpi_error_string(int error);
int alpi_info_get(int query, char *buffer, std::size_t max_length, int *length);
int alpi_feature_check(int features);
int alpi_version_check(int major, int minor);
int alpi_version_get(int *major, int *minor);

int alpi_task_self(alpi_task **task);
int alpi_task_block(alpi_task *task);
int alpi_task_unblock(alpi_task *task);
int alpi_task_waitfor_ns(std::uint64_t target_ns, std::uint64_t *actual_ns);
int alpi_task_events_increase(alpi_task *task, std::uint64_t increment);
int alpi_task_events_test(alpi_task *task, std::uint64_t *has_events);
int alpi_task_events_decrease(alpi_task *task, std::uint64_t decrement);

int alpi_attr_create(alpi_attr **attr);
int alpi_attr_destroy(alpi_attr *attr);
int alpi_attr_init(alpi_attr *attr);
int alpi_attr_size(std::uint64_t *size);
int alpi_task_spawn(void (*body)(void *), void *body_args, void (*completion_callback)(void *), void *completion_args,
                    const char *label, const alpi_attr *attr);

int alpi_cpu_count(std::uint64_t *count);
int alpi_cpu_logical_id(std::uint64_t *logical_id);
int alpi_cpu_system_id(std::uint64_t *system_id);

int alpi_task_suspend_mode_set(alpi_task *task, int mode, std::uint64_t argument);
int alpi_task_suspend(alpi_task *task);

#pragma GCC visibility pop

} // extern "C"
