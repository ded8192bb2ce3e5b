/* SPDX-License-Identifier: BSD-3-Clause */
/* A library that looks like that of MPI for Fortran: it has the names by which libthence knows one, and calls PMPI_
 * functions. TOOL: it lacks those that only MPI itself has. WITH_C: it has MPI's functions of C, too. WITHOUT_CALLS: it
 * calls none that libthence interposes. */
#include <mpi.h>

void mpi_init_(void) {}
#if !defined(TOOL)
void mpi_dup_fn_(void) {}
#endif
#if defined(WITH_C)
int MPI_Init(int *argc, char ***argv) {
    return PMPI_Init(argc, argv);
}
#endif

#if defined(WITHOUT_CALLS)
int test(MPI_Request *request, int *flag) {
    return (void)request, (void)flag, MPI_ERR_OTHER;
}
int wait_for(MPI_Request *request) {
    return (void)request, MPI_ERR_OTHER;
}
void *address_of_wait(void) {
    return (void *)0;
}
#else
/* The linker makes a slot for calls where a function is only called, and one for addresses where its address is
 * taken. */
int test(MPI_Request *request, int *flag) {
    return PMPI_Test(request, flag, MPI_STATUS_IGNORE);
}
int wait_for(MPI_Request *request) {
    return PMPI_Wait(request, MPI_STATUS_IGNORE);
}
void *address_of_wait(void) {
    return (void *)&PMPI_Wait;
}
#endif
/* libthence interposes no call of this name. */
void *address_of_get_version(void) {
    return (void *)&PMPI_Get_version;
}
