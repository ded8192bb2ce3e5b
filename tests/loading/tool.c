// SPDX-License-Identifier: BSD-3-Clause
// A tool that wraps some of MPI's calls. It goes on to PMPI_ functions, or, if GO_ON is defined, to the next
// definition. With NONE it wraps none of these, and with ONLY_ISEND that one. WRAPPED is one call more, which goes on
// to the next definition, and WRAPPED_BY_PMPI one that goes on to the PMPI_ function.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>

#define NEXT_DEFINITION(name) (__extension__(__typeof__(&MPI_##name)) dlsym(RTLD_NEXT, "MPI_" #name))
#ifdef GO_ON
#define NEXT(name) NEXT_DEFINITION(name)
#else
#define NEXT(name) PMPI_##name
#endif

#ifndef NONE
int calls_that_the_tool_has_seen;

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request *request) {
    ++calls_that_the_tool_has_seen;
    return NEXT(Isend)(buf, count, type, dest, tag, comm, request);
}
#ifndef ONLY_ISEND
int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    return NEXT(Wait)(request, status);
}
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    return NEXT(Waitall)(count, requests, statuses);
}
int MPI_Request_free(MPI_Request *request) {
    return NEXT(Request_free)(request);
}
int MPI_Finalize(void) {
    return NEXT(Finalize)();
}
#endif
#endif

// A call that is passed on by its arguments.
#define WRAP(name, next, parameters, arguments)                                                                        \
    int MPI_##name parameters {                                                                                        \
        return next(name) arguments;                                                                                   \
    }
#define PMPI(name) PMPI_##name

#define TEST(next) WRAP(Test, next, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status))
#define WAITANY(next)                                                                                                  \
    WRAP(Waitany, next, (int count, MPI_Request requests[], int *index, MPI_Status *status),                           \
         (count, requests, index, status))
#define START(next) WRAP(Start, next, (MPI_Request * request), (request))
#define STARTALL(next) WRAP(Startall, next, (int count, MPI_Request requests[]), (count, requests))
#define CANCEL(next) WRAP(Cancel, next, (MPI_Request * request), (request))
#define REQUEST_FREE(next) WRAP(Request_free, next, (MPI_Request * request), (request))
#define GREQUEST_COMPLETE(next) WRAP(Grequest_complete, next, (MPI_Request request), (request))
#define REDUCTION (const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
#define ALLREDUCE(next) WRAP(Allreduce, next, REDUCTION, (out, in, count, type, op, comm))
#define BARRIER(next) WRAP(Barrier, next, (MPI_Comm comm), (comm))
#define IBARRIER(next) WRAP(Ibarrier, next, (MPI_Comm comm, MPI_Request * request), (comm, request))
#define GATHER (const void *out, int n, MPI_Datatype type, void *in, int m, MPI_Datatype in_type, MPI_Comm comm)
#define NEIGHBOR_ALLGATHER(next) WRAP(Neighbor_allgather, next, GATHER, (out, n, type, in, m, in_type, comm))
#define COMM_RANK(next) WRAP(Comm_rank, next, (MPI_Comm comm, int *rank), (comm, rank))
#define SEND_INIT(next)                                                                                                \
    WRAP(Send_init, next,                                                                                              \
         (const void *buf, int n, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request *request),          \
         (buf, n, type, dest, tag, comm, request))
#define SEND_C(next)                                                                                                   \
    WRAP(Send_c, next, (const void *buf, MPI_Count n, MPI_Datatype type, int dest, int tag, MPI_Comm comm),            \
         (buf, n, type, dest, tag, comm))
#define COMM_CREATE(next)                                                                                              \
    WRAP(Comm_create, next, (MPI_Comm comm, MPI_Group group, MPI_Comm * made), (comm, group, made))

#ifdef WRAPPED_BY_PMPI
WRAPPED_BY_PMPI(PMPI)
#endif
#ifdef WRAPPED
WRAPPED(NEXT_DEFINITION)
#endif
