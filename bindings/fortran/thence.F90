! SPDX-License-Identifier: BSD-3-Clause
! Continuations for programs with `use mpi` or mpif.h, whose handles are integers. The calls have the names, arguments
! and errors of those in C (<thence/thence.h>), with `ierror` last and optional.
#define REQUEST integer
#define STATUS integer
#define INFO integer
#define HANDLE(r) r
#define HANDLES_FROM(handles, requests, n) handles = requests(1:n)
#define HANDLES_TO(requests, handles, n) requests(1:n) = handles
#define ONE (MPI_STATUS_SIZE)
#define MANY(n) (MPI_STATUS_SIZE, n)
#define SHAPED (:, :)
#define STATUS_COUNT(s) size(s, 2)
#define IGNORED_ONE MPI_STATUS_IGNORE
#define IGNORED_MANY MPI_STATUSES_IGNORE
#define ATTACH_ONE thence_attach_one_f
#define WAIT_FOR thence_wait_f
#define IN_F08 0
#define NAMED(n) "thence_f_" // n
#ifdef THENCE_WITH_MPIF
module thence_mpif ! for a compiler that cannot read the module mpi of this MPI
  implicit none
  include 'mpif.h'
end module
#define MPI_MODULE thence_mpif
#else
#define MPI_MODULE mpi
#endif
module thence
  use MPI_MODULE, only: MPI_STATUS_SIZE, MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE
#include "module.inc"
end module
