// SPDX-License-Identifier: BSD-3-Clause
// A tool that wraps some of MPI's calls. It goes on to PMPI_ functions, or, if GO_ON is defined, to the next
// definition. With ONLY_NONBLOCKING it wraps none that waits. With PMPI_IN_TEST or
// PMPI_IN_WAITANY it also wraps that call, and there goes on to the PMPI_ function.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>

#ifdef GO_ON
#define NEXT(name) (__extension__(__typeof__(&MPI_##name)) dlsym(RTLD_NEXT, "MPI_" #name))
#else
#define NEXT(name) PMPI_##name
#endif

int calls_that_the_tool_has_seen;

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request *request) {
    ++calls_that_the_tool_has_seen;
    return NEXT(Isend)(buf, count, type, dest, tag, comm, request);
}
#ifndef ONLY_NONBLOCKING
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
#ifdef PMPI_IN_TEST
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    return PMPI_Test(request, flag, status);
}
#endif
#ifdef PMPI_IN_WAITANY
int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status) {
    return PMPI_Waitany(count, requests, index, status);
}
#endif
