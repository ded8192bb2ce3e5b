// SPDX-License-Identifier: BSD-3-Clause
// MPI_Init and MPI_Init_thread start the library, unless the program does, and the end of MPI_COMM_SELF stops it.
// libthence's MPI_Finalize has reported by then which operations of tasks are outstanding.
#include "tasks/tampi/tampi.hpp"

#include <TAMPI.h>
#include <thence/task_runtime.h>
#include <thence/thence.h>

#include <dlfcn.h>

namespace thence::tampi {

MPI_Request requests_of_tasks = MPI_REQUEST_NULL;
constinit std::atomic<bool> nonblocking{false};
constinit std::atomic<bool> blocking{false};
constinit std::atomic<bool> left_a_request{false};

namespace {

constexpr api::failure null_pointer{MPI_ERR_ARG, "the pointer to the result is null"};
constexpr api::failure no_property{MPI_ERR_ARG, "there is no such property"};
constexpr api::failure auto_init{MPI_ERR_OTHER, "TAMPI_PROPERTY_AUTO_INIT is 1, so MPI_Init and MPI_Finalize do it"};

constinit std::atomic<bool> starts_with_mpi{true}; // TAMPI_PROPERTY_AUTO_INIT
// Between TAMPI_Init and TAMPI_Finalize, also where the thread level allows no mode.
constinit std::atomic<bool> started_by_hand{false};

bool any_blocks() noexcept {
    const thence_task_runtime *each = nullptr;
    for (int i = 0; thence_task_runtime_get(i, &each) == MPI_SUCCESS && each != nullptr; ++i) {
        if (each->block != nullptr) {
            return true;
        }
    }
    return false;
}

// The next MPI_X after ours, which may be libthence's or that of another tool; else `pmpi`, in a program with static
// libraries.
template <class Function> Function *next(const char *name, Function *pmpi) noexcept {
    void *const found = dlsym(RTLD_NEXT, name);
    return found != nullptr ? reinterpret_cast<Function *>(found) : pmpi;
}

int at_finalize(MPI_Comm, int, void *, void *) noexcept {
    stop();
    return MPI_SUCCESS;
}

void stop_at_finalize() noexcept {
    int keyval = MPI_KEYVAL_INVALID;
    if (MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &at_finalize, &keyval, nullptr) == MPI_SUCCESS) {
        MPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
        MPI_Comm_free_keyval(&keyval); // freed with the attribute
    }
}

bool mpi_was_initialized() noexcept {
    int flag = 0;
    MPI_Initialized(&flag);
    return flag != 0;
}

bool mpi_was_finalized() noexcept {
    int flag = 0;
    MPI_Finalized(&flag);
    return flag != 0;
}

// After MPI's own function has returned `code`.
int initialized(int code, int required, int *provided) noexcept {
    if (code == MPI_SUCCESS && starts_with_mpi) {
        int level = MPI_THREAD_SINGLE;
        MPI_Query_thread(&level);
        level = start(required, level);
        if (provided != nullptr) {
            *provided = level;
        }
    }
    return code;
}

} // namespace

int start(int required, int level) noexcept {
    if (level != MPI_THREAD_MULTIPLE) {
        return level;
    }
    thence_info info{};
    if (thence_query(&info, sizeof info) != MPI_SUCCESS) {
        return level;
    }
    thence_task_runtimes_use_();
    const bool by_helper = info.any_thread != 0 && thence_tasks_poll_() == 0;
    if (thence_cr_create(by_helper ? unsigned{THENCE_CR_ANY_THREAD} : 0U, -1, MPI_INFO_NULL, &requests_of_tasks) !=
        MPI_SUCCESS) {
        thence_task_runtimes_release_();
        return level;
    }
    stop_at_finalize();
    left_a_request = false;
    nonblocking = true;
    blocking =
        required == MPI_TASK_MULTIPLE && any_blocks() && thence_task_blocking_calls(requests_of_tasks) == MPI_SUCCESS;
    return blocking ? MPI_TASK_MULTIPLE : level;
}

void stop() noexcept {
    if (!nonblocking.exchange(false)) {
        return;
    }
    if (blocking.exchange(false)) {
        thence_task_blocking_calls(MPI_REQUEST_NULL);
    }
    if (thence_is_cr(requests_of_tasks) != 0) {
        thence_free(&requests_of_tasks);
    }
    thence_task_runtimes_release_();
}

} // namespace thence::tampi

using namespace thence::tampi;

extern "C" {

THENCE_EXPORT int MPI_Init(int *argc, char ***argv) {
    return initialized(next("MPI_Init", &PMPI_Init)(argc, argv), MPI_THREAD_SINGLE, nullptr);
}

THENCE_EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    const int level = required == MPI_TASK_MULTIPLE ? int{MPI_THREAD_MULTIPLE} : required;
    return initialized(next("MPI_Init_thread", &PMPI_Init_thread)(argc, argv, level, provided), required, provided);
}

int TAMPI_Init(int required, int *provided) {
    constexpr const char *call = "TAMPI_Init";
    if (provided == nullptr) {
        return fail(call, null_pointer);
    }
    if (starts_with_mpi) {
        return fail(call, auto_init);
    }
    if (!mpi_was_initialized() || mpi_was_finalized()) {
        return fail(call, thence::api::reason::mpi_inactive);
    }
    if (started_by_hand) {
        return fail(call, {MPI_ERR_OTHER, "TAMPI_Init was called already"});
    }
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    *provided = start(required, level);
    started_by_hand = true;
    return MPI_SUCCESS;
}

int TAMPI_Finalize(void) {
    constexpr const char *call = "TAMPI_Finalize";
    if (starts_with_mpi) {
        return fail(call, auto_init);
    }
    if (!started_by_hand) {
        return fail(call, {MPI_ERR_OTHER, "TAMPI_Init was not called"});
    }
    // All tasks may be complete while a callback that has lowered an event has not yet returned: that is no error.
    int idle = 1;
    if (nonblocking && thence_task_wait_callbacks(requests_of_tasks, &idle) == MPI_SUCCESS && idle == 0) {
        return fail(call, {MPI_ERR_PENDING, "operations of tasks are outstanding, and the tasks would never end"});
    }
    stop();
    started_by_hand = false;
    return MPI_SUCCESS;
}

int TAMPI_Property_get(int property, int *value) {
    constexpr const char *call = "TAMPI_Property_get";
    if (value == nullptr) {
        return fail(call, null_pointer);
    }
    switch (property) {
    case TAMPI_PROPERTY_BLOCKING_MODE:
        *value = blocking ? 1 : 0;
        return MPI_SUCCESS;
    case TAMPI_PROPERTY_NONBLOCKING_MODE:
        *value = nonblocking ? 1 : 0;
        return MPI_SUCCESS;
    case TAMPI_PROPERTY_AUTO_INIT:
        *value = starts_with_mpi ? 1 : 0;
        return MPI_SUCCESS;
    case TAMPI_PROPERTY_THREAD_TASKAWARE:
        return thence_task_thread_aware(-1, value);
    default:
        return fail(call, no_property);
    }
}

int TAMPI_Property_set(int property, int value) {
    constexpr const char *call = "TAMPI_Property_set";
    if (property == TAMPI_PROPERTY_BLOCKING_MODE || property == TAMPI_PROPERTY_NONBLOCKING_MODE) {
        return fail(call, {MPI_ERR_ARG, "this property is read only"});
    }
    if (property != TAMPI_PROPERTY_AUTO_INIT && property != TAMPI_PROPERTY_THREAD_TASKAWARE) {
        return fail(call, no_property);
    }
    if (value != 0 && value != 1) {
        return fail(call, {MPI_ERR_ARG, "the value is neither 0 nor 1"});
    }
    if (property == TAMPI_PROPERTY_THREAD_TASKAWARE) {
        return thence_task_thread_aware(value, nullptr);
    }
    if (mpi_was_initialized()) {
        return fail(call, {MPI_ERR_OTHER, "TAMPI_PROPERTY_AUTO_INIT can be set only before MPI_Init"});
    }
    starts_with_mpi = value == 1;
    return MPI_SUCCESS;
}

int TAMPI_Blocking_enabled(int *flag) {
    return flag == nullptr ? fail("TAMPI_Blocking_enabled", null_pointer)
                           : TAMPI_Property_get(TAMPI_PROPERTY_BLOCKING_MODE, flag);
}

int TAMPI_Nonblocking_enabled(int *flag) {
    return flag == nullptr ? fail("TAMPI_Nonblocking_enabled", null_pointer)
                           : TAMPI_Property_get(TAMPI_PROPERTY_NONBLOCKING_MODE, flag);
}

} // extern "C"
