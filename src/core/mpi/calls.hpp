// SPDX-License-Identifier: BSD-3-Clause
// The call table: every MPI function that the library calls, as a pointer that a test can replace.
//
// The library always calls PMPI_ entry points, so its own calls are never interposed. Extensions that only some MPIs
// export are null elsewhere; `load_extensions` looks them up at run time.
#pragma once

#include "core/base/visibility.hpp"

#include <mpi.h>

namespace thence::mpi {

// The functions of the table that every MPI has.
// clang-format off
#define THENCE_MPI_CALLS(X)                                                                                     \
    X(Initialized) X(Finalized) X(Query_thread) X(Get_library_version) X(Abort) X(Test) X(Wait) X(Testsome)           \
    X(Testall) X(Testany) X(Request_get_status) X(Request_free) X(Cancel) X(Start) X(Irecv) X(Isend) X(Recv_init)     \
    X(Iprobe) X(Get_count) X(Test_cancelled) X(Comm_dup) X(Comm_split) X(Comm_free) X(Comm_rank)                      \
    X(Comm_set_errhandler) X(Comm_get_errhandler) X(Errhandler_free) X(Comm_call_errhandler) X(Comm_create_keyval)    \
    X(Comm_free_keyval) X(Comm_set_attr) X(Comm_get_attr) X(Error_class) X(Error_string) X(Info_get)                  \
    X(Add_error_code) X(Add_error_string) X(Grequest_start) X(Grequest_complete)
// Those of datatypes.
#define THENCE_MPI_TYPE_CALLS(X)                                                                                      \
    X(Type_get_envelope) X(Type_get_contents) X(Type_get_extent) X(Type_size) X(Type_free) X(Type_create_keyval)      \
    X(Type_get_attr) X(Type_set_attr)
// Those of messages between threads (src/mpix/messages, src/mpix/threadcomm).
#define THENCE_MPI_MESSAGE_CALLS(X)                                                                                   \
    X(Status_set_elements) X(Status_set_elements_x) X(Status_set_cancelled) X(Issend) X(Ibarrier) X(Allgather)        \
    X(Allreduce) X(Comm_size) X(Comm_test_inter) X(Comm_delete_attr) X(Type_get_true_extent) X(Reduce_local)          \
    X(Op_free)
// Those of streams, and MPI_Type_dup, which nonblocking collectives of thread communicators call. The fake MPI has
// none.
#define THENCE_MPI_STREAM_CALLS(X)                                                                                    \
    X(Comm_dup_with_info) X(Comm_set_info) X(Info_create) X(Info_set) X(Info_free) X(Info_get_nkeys)                  \
    X(Info_get_nthkey) X(Type_dup) X(Type_contiguous) X(Type_free_keyval)
// Those that are enqueued, besides Isend, Irecv and Ibarrier. The fake MPI has none.
#define THENCE_MPI_COLLECTIVES(X)                                                                                     \
    X(Ibcast) X(Igather) X(Igatherv) X(Iscatter) X(Iscatterv) X(Iallgather) X(Iallgatherv)                            \
    X(Ialltoall) X(Ialltoallv) X(Ialltoallw) X(Ineighbor_allgather) X(Ineighbor_allgatherv)                           \
    X(Ineighbor_alltoall) X(Ineighbor_alltoallv) X(Ineighbor_alltoallw) X(Ireduce) X(Iallreduce) X(Iscan)             \
    X(Iexscan) X(Ireduce_scatter_block) X(Ireduce_scatter)
#if defined(THENCE_MPI_LARGE_COUNTS)
#define THENCE_MPI_LARGE(X)                                                                                           \
    X(Isend_c) X(Irecv_c) X(Ibcast_c) X(Igather_c) X(Igatherv_c) X(Iscatter_c) X(Iscatterv_c) X(Iallgather_c)         \
    X(Iallgatherv_c) X(Ialltoall_c) X(Ialltoallv_c) X(Ialltoallw_c) X(Ineighbor_allgather_c)                          \
    X(Ineighbor_allgatherv_c) X(Ineighbor_alltoall_c) X(Ineighbor_alltoallv_c) X(Ineighbor_alltoallw_c)               \
    X(Ireduce_c) X(Iallreduce_c) X(Iscan_c) X(Iexscan_c) X(Ireduce_scatter_block_c) X(Ireduce_scatter_c)
#else
#define THENCE_MPI_LARGE(X)
#endif
// MPI's tool interface, see request_poll_frequency.cpp. The fake MPI has none.
#if defined(MPICH_VERSION) && !defined(I_MPI_VERSION)
#define THENCE_MPI_TOOL_CALLS(X)                                                                                      \
    X(T_init_thread) X(T_cvar_get_index) X(T_cvar_handle_alloc) X(T_cvar_read) X(T_cvar_write) X(T_cvar_handle_free)
#else
#define THENCE_MPI_TOOL_CALLS(X)
#endif
#define THENCE_MPI_TABLE(X)                                                                                           \
    THENCE_MPI_CALLS(X) THENCE_MPI_TYPE_CALLS(X) THENCE_MPI_MESSAGE_CALLS(X) THENCE_MPI_STREAM_CALLS(X)               \
    THENCE_MPI_COLLECTIVES(X) THENCE_MPI_LARGE(X) THENCE_MPI_TOOL_CALLS(X)
// clang-format on

// What progress hooks are called, after the function of MPI that registers them.
inline constexpr const char *registered_hook = "opal_progress_register"; // progress_register
inline constexpr const char *async_hook = "MPIX_Async_start";            // async_start
inline constexpr int stream_null = 0x3c000000;                           // MPIX_STREAM_NULL of MPICH

struct calls {
#define X(name) decltype(&PMPI_##name) name;
    THENCE_MPI_TABLE(X)
#undef X

    // Open MPI.
    void (*opal_progress)() = nullptr;
    // A function that is registered here runs inside every call that makes progress.
    int (*progress_register)(int (*)()) = nullptr;
    int (*progress_unregister)(int (*)()) = nullptr;
    const bool *opal_uses_threads = nullptr; // true if it takes locks
    const char *pml_component = nullptr;     // the description of the selected component of the framework `pml`
    // The request that Open MPI returns for every operation that is complete when its call returns, such as a short
    // send. It is never released.
    const void *ompi_request_empty = nullptr;
    // Open MPI and MPICH: 1 if MPI takes buffers in the memory of CUDA, Level Zero and HIP.
    int (*query_gpu_support[3])() = {};
    // MPICH 4.3 and later, native handles only; MPIX_Stream has the size of an int there.
    int (*request_is_complete)(MPI_Request) = nullptr;
    int (*async_start)(int (*poll)(void *thing), void *state, int stream) = nullptr;
    int (*stream_progress)(int stream) = nullptr;
    // MPI 4 and later. Only these describe datatypes that were made with large counts. Set by load_type_calls().
    int (*type_get_envelope_c)(MPI_Datatype, MPI_Count *integers, MPI_Count *addresses, MPI_Count *counts,
                               MPI_Count *types, int *combiner) = nullptr;
    int (*type_get_contents_c)(MPI_Datatype, MPI_Count integers, MPI_Count addresses, MPI_Count counts, MPI_Count types,
                               int integers_of[], MPI_Aint addresses_of[], MPI_Count counts_of[],
                               MPI_Datatype types_of[]) = nullptr;
    int (*stream_create)(MPI_Info info, int *stream) = nullptr;
    int (*stream_free)(int *stream) = nullptr;
    int (*stream_comm_create)(MPI_Comm comm, int stream, MPI_Comm *newcomm) = nullptr;
    int (*comm_get_parent)(MPI_Comm *parent) = nullptr; // not of simulated MPI
};

// The table in use. A test replaces its entries before the library's first use.
extern THENCE_HIDDEN calls table;

// Looks up the extensions of the MPI that this process runs on.
void load_extensions() noexcept;
// The same for the calls that describe datatypes.
void load_type_calls() noexcept;

// Reports `code` through the error handler of MPI_COMM_WORLD and returns it.
int report(int code) noexcept;

// Tests an operation whose status nobody wants. True if it has ended: it is complete, or MPI has returned an error,
// `code`.
inline bool has_ended(MPI_Request &request, int &code) noexcept {
    int flag = 0;
    code = table.Test(&request, &flag, MPI_STATUS_IGNORE);
    return code != MPI_SUCCESS || flag != 0;
}
inline bool has_ended(MPI_Request &request) noexcept {
    int code = MPI_SUCCESS;
    return has_ended(request, code);
}

// An empty status as the standard defines it (MPI 4.1, section 3.7.3). Valid after MPI_Init.
const MPI_Status &empty_status() noexcept;

// True between MPI_Init and MPI_Finalize. Outside of that, MPI must not be called.
bool usable() noexcept;
bool thread_multiple() noexcept;
// True if threads that wait in MPI rely on each other: one makes progress, the others sleep until it wakes them. Open
// MPI does that above MPI_THREAD_SINGLE. In other MPIs each waiting thread makes progress itself.
bool waiting_threads_share_progress() noexcept;
// The same, and another thread can help them by calling progress(). Open MPI only.
bool can_progress_for_others() noexcept;
// Lets MPI make progress. Open MPI only.
void progress() noexcept;
// Lets an MPI make progress that has no function for it. A probe that finds a message at once makes none, so the tag is
// one that hardly any message has. Not on MPI_COMM_SELF: there MPICH looks at no message of another process.
void progress_by_probe() noexcept;

} // namespace thence::mpi
