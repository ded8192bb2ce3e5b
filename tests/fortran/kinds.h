! SPDX-License-Identifier: BSD-3-Clause
! Each program is built with `use mpi_f08` and, without WITH_F08, with the integers of `use mpi`.
#ifdef WITH_F08
#define MPI_MODULE mpi_f08
#define THENCE_MODULE thence_f08
#define REQUEST type(MPI_Request)
#define STATUS type(MPI_Status)
#define ONE
#define MANY(n) (n)
#define AT(s, i) s(i)
#define SOURCE_OF(s) s%MPI_SOURCE
#define TAG_OF(s) s%MPI_TAG
#define ERROR_OF(s) s%MPI_ERROR
#define SOURCE_AT(s, i) s(i)%MPI_SOURCE
#define TAG_AT(s, i) s(i)%MPI_TAG
#define HANDLE(r) r%MPI_VAL
#else
#define MPI_MODULE mpi
#define THENCE_MODULE thence
#define REQUEST integer
#define STATUS integer
#define ONE (MPI_STATUS_SIZE)
#define MANY(n) (MPI_STATUS_SIZE, n)
#define AT(s, i) s(:, i)
#define SOURCE_OF(s) s(MPI_SOURCE)
#define TAG_OF(s) s(MPI_TAG)
#define ERROR_OF(s) s(MPI_ERROR)
#define SOURCE_AT(s, i) s(MPI_SOURCE, i)
#define TAG_AT(s, i) s(MPI_TAG, i)
#define HANDLE(r) r
#endif
