// SPDX-License-Identifier: BSD-3-Clause
// thence/omp.h in strict C, for which the C library declares nothing about signals. The thread that tests calls
// test_of_strict_c() instead. With -fopenmp GCC defines _REENTRANT, for which glibc declares them after all; Clang does
// not.
#undef _REENTRANT
#include <thence/thence.h>

int test_of_strict_c(MPI_Request *cr, int *flag, MPI_Status *status);
int taskwait_in_strict_c(MPI_Request cr);

#define thence_test test_of_strict_c
#include <thence/omp.h>
#undef thence_test

#ifdef _POSIX_C_SOURCE
#error "this is not strict C"
#endif

int taskwait_in_strict_c(MPI_Request cr) {
    return thence_omp_taskwait(cr);
}
