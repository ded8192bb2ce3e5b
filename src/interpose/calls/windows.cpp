// SPDX-License-Identifier: BSD-3-Clause
// Calls on windows that wait for other ranks, see blocking_in_mpi.hpp. They begin and end what is outstanding
// (interpose/requests/counted_windows.hpp). In a task that can be blocked another thread makes those that synchronize:
// MPI has no nonblocking forms of them but MPI_Win_test.
#include "interpose/calls/blocking_in_mpi.hpp"
#include "interpose/requests/communicators.hpp"
#include "interpose/requests/counted_windows.hpp"
#include "interpose/waiting/blocking_tasks.hpp"
#include "interpose/waiting/other_thread.hpp"
#include "interpose/waiting/refused_windows.hpp"

using namespace thence::interpose;

namespace {

template <class Call>
int create(const char *name, MPI_Comm comm, MPI_Info info, MPI_Win *win, Call call,
           const void *where = __builtin_return_address(0)) {
    if (auto *const threads = thence::threadcomm::find_if_any(comm)) [[unlikely]] {
        return thence::pmpi::refuse_on(*threads, name);
    }
    const int code = thence::pmpi::block_with_ranks(name, comm, call, where);
    if (code != MPI_SUCCESS) [[unlikely]] {
        tell_if_level_forbids_windows(name, code);
    }
    if (observes_calls() && code == MPI_SUCCESS && win != nullptr && *win != MPI_WIN_NULL) {
        count_window(*win, info);
    }
    return code;
}

// A call that synchronizes. `where`: the code address of the user's call.
template <class Call> int synchronize(const char *name, const void *where, Call call) {
    if (is_plain()) [[likely]] {
        return call();
    }
    int code = MPI_SUCCESS;
    const auto make = [](void *made) noexcept { return (*static_cast<Call *>(made))(); };
    if (block_task_meanwhile({make, &call, name, where}, code)) {
        catch_up();
        return code;
    }
    return thence::pmpi::block_in_mpi(name, call, MPI_COMM_NULL, where);
}

} // namespace

#define CREATING_WINDOW(name, parameters, arguments)                                                                   \
    THENCE_EXPORT int MPI_##name(THENCE_UNPACK parameters) {                                                           \
        return create("MPI_" #name, comm, info, win, [&] { return THENCE_NEXT(name)(THENCE_UNPACK arguments); });      \
    }
// A call after which `then(win ...)` is done.
#define SYNCHRONIZING(name, parameters, arguments, then)                                                               \
    THENCE_EXPORT int MPI_##name(THENCE_UNPACK parameters) {                                                           \
        const int code = synchronize("MPI_" #name, __builtin_return_address(0),                                        \
                                     [&] { return THENCE_NEXT(name)(THENCE_UNPACK arguments); });                      \
        if (observes_calls() && code == MPI_SUCCESS) {                                                                 \
            then;                                                                                                      \
        }                                                                                                              \
        return code;                                                                                                   \
    }

extern "C" {

#define CREATING(c, size_t_)                                                                                           \
    CREATING_WINDOW(Win_create##c,                                                                                     \
                    (void *base, MPI_Aint size, size_t_ unit, MPI_Info info, MPI_Comm comm, MPI_Win *win),             \
                    (base, size, unit, info, comm, win))                                                               \
    CREATING_WINDOW(Win_allocate##c,                                                                                   \
                    (MPI_Aint size, size_t_ unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),             \
                    (size, unit, info, comm, base, win))                                                               \
    CREATING_WINDOW(Win_allocate_shared##c,                                                                            \
                    (MPI_Aint size, size_t_ unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),             \
                    (size, unit, info, comm, base, win))
CREATING(, int)
#if defined(THENCE_MPI_LARGE_COUNTS)
CREATING(_c, MPI_Aint)
#endif
CREATING_WINDOW(Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win *win), (info, comm, win))

THENCE_EXPORT int MPI_Win_free(MPI_Win *win) {
    const counted_window_free frees(win);
    return thence::pmpi::block_in_mpi("MPI_Win_free", [&] { return THENCE_NEXT(Win_free)(win); });
}

// It does not block, but ends the epoch that MPI_Win_post has begun.
THENCE_EXPORT int MPI_Win_test(MPI_Win win, int *flag) {
    if (!observes_calls()) [[likely]] {
        return THENCE_NEXT(Win_test)(win, flag);
    }
    const timed_call timed("MPI_Win_test", call_kind::tests);
    note_call();
    const int code = THENCE_NEXT(Win_test)(win, flag);
    if (code == MPI_SUCCESS && flag != nullptr && *flag != 0) {
        end_exposure(win);
    }
    return code;
}

SYNCHRONIZING(Win_fence, (int assert, MPI_Win win), (assert, win), count_fence(win, assert))
SYNCHRONIZING(Win_start, (MPI_Group group, int assert, MPI_Win win), (group, assert, win), end_fence(win))
SYNCHRONIZING(Win_complete, (MPI_Win win), (win), end_accesses(win))
SYNCHRONIZING(Win_post, (MPI_Group group, int assert, MPI_Win win), (group, assert, win), count_exposure(win))
// A wait that must not block in MPI tests, and pauses between two tests.
THENCE_EXPORT int MPI_Win_wait(MPI_Win win) {
    if (is_plain()) [[likely]] {
        return THENCE_NEXT(Win_wait)(win);
    }
    const wait_strategy *const how = blocking_tasks.applies()          ? &blocking_tasks
                                     : leaving_the_processor.applies() ? &leaving_the_processor
                                                                       : nullptr;
    if (how == nullptr) {
        const int code = thence::pmpi::block_in_mpi("MPI_Win_wait", [&] { return THENCE_NEXT(Win_wait)(win); });
        if (observes_calls() && code == MPI_SUCCESS) {
            end_exposure(win);
        }
        return code;
    }
    const void *const where = __builtin_return_address(0);
    const thence::interpose::blocking_call blocks({.name = "MPI_Win_wait", .where = where});
    for (polling_call call("MPI_Win_wait", where);; how->pause(call)) {
        int flag = untouched;
        const int code = PMPI_Win_test(win, &flag);
        if (code != MPI_SUCCESS || flag != 0) {
            if (observes_calls() && code == MPI_SUCCESS && flag != untouched) {
                end_exposure(win);
            }
            catch_up();
            return code;
        }
    }
}
SYNCHRONIZING(Win_lock, (int type, int rank, int assert, MPI_Win win), (type, rank, assert, win), )
SYNCHRONIZING(Win_lock_all, (int assert, MPI_Win win), (assert, win), )
SYNCHRONIZING(Win_unlock, (int rank, MPI_Win win), (rank, win), end_accesses(win, rank))
SYNCHRONIZING(Win_unlock_all, (MPI_Win win), (win), end_accesses(win))
SYNCHRONIZING(Win_flush, (int rank, MPI_Win win), (rank, win), end_accesses(win, rank))
SYNCHRONIZING(Win_flush_all, (MPI_Win win), (win), end_accesses(win))
SYNCHRONIZING(Win_flush_local, (int rank, MPI_Win win), (rank, win), end_reads(win, rank))
SYNCHRONIZING(Win_flush_local_all, (MPI_Win win), (win), end_reads(win))

// Operations without a request. They are interposed only because they are counted.
#define ACCESSING(kind, name, parameters, arguments)                                                                   \
    THENCE_EXPORT int MPI_##name(THENCE_UNPACK parameters, MPI_Win win) {                                              \
        if (!observes_calls()) [[likely]] {                                                                            \
            return THENCE_NEXT(name)(THENCE_UNPACK arguments, win);                                                    \
        }                                                                                                              \
        const timed_call timed("MPI_" #name, call_kind::starts);                                                       \
        const int code = THENCE_NEXT(name)(THENCE_UNPACK arguments, win);                                              \
        if (code == MPI_SUCCESS) {                                                                                     \
            count_access(win, rank, access::kind);                                                                     \
        }                                                                                                              \
        return code;                                                                                                   \
    }

#define ORIGIN(count_t) const void *origin, count_t count, MPI_Datatype type
#define TARGET(count_t) int rank, MPI_Aint displacement, count_t target_count, MPI_Datatype target_type
#define ACCESSES(c, count_t)                                                                                           \
    ACCESSING(writes, Put##c, (ORIGIN(count_t), TARGET(count_t)),                                                      \
              (origin, count, type, rank, displacement, target_count, target_type))                                    \
    ACCESSING(reads, Get##c, (void *origin, count_t count, MPI_Datatype type, TARGET(count_t)),                        \
              (origin, count, type, rank, displacement, target_count, target_type))                                    \
    ACCESSING(writes, Accumulate##c, (ORIGIN(count_t), TARGET(count_t), MPI_Op op),                                    \
              (origin, count, type, rank, displacement, target_count, target_type, op))                                \
    ACCESSING(                                                                                                         \
        reads, Get_accumulate##c,                                                                                      \
        (ORIGIN(count_t), void *result, count_t result_count, MPI_Datatype result_type, TARGET(count_t), MPI_Op op),   \
        (origin, count, type, result, result_count, result_type, rank, displacement, target_count, target_type, op))
ACCESSES(, int)
#if defined(THENCE_MPI_LARGE_COUNTS)
ACCESSES(_c, MPI_Count)
#endif
ACCESSING(reads, Fetch_and_op,
          (const void *origin, void *result, MPI_Datatype type, int rank, MPI_Aint displacement, MPI_Op op),
          (origin, result, type, rank, displacement, op))
ACCESSING(reads, Compare_and_swap,
          (const void *origin, const void *compare, void *result, MPI_Datatype type, int rank, MPI_Aint displacement),
          (origin, compare, result, type, rank, displacement))

} // extern "C"
