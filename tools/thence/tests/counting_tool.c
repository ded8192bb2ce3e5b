/* SPDX-License-Identifier: BSD-3-Clause */
/* A tool that counts calls of MPI_Isend, and goes on to the next definition of each call that it wraps. With WRAPS_INIT
   it also says that it begins in MPI_Init, and does not wrap MPI_Init_thread. With GOES_TO_PMPI it goes on to PMPI_
   functions. With LOWERS_LEVEL it asks MPI for MPI_THREAD_FUNNELED, whatever it is asked for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

#ifdef GOES_TO_PMPI
#define NEXT(name) PMPI_##name
#else
#define NEXT(name) (__extension__(__typeof__(&MPI_##name)) dlsym(RTLD_NEXT, "MPI_" #name))
#endif

static int calls;

#ifdef WRAPS_INIT
int MPI_Init(int *argc, char ***argv) {
    fputs("tool: begins\n", stderr);
    return PMPI_Init(argc, argv);
}
#endif

#ifdef LOWERS_LEVEL
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    (void)required;
    return PMPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, provided);
}
#endif

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request *request) {
    ++calls;
    return NEXT(Isend)(buf, count, type, dest, tag, comm, request);
}

int MPI_Finalize(void) {
    fprintf(stderr, "tool: %d calls of MPI_Isend\n", calls);
    return NEXT(Finalize)();
}
