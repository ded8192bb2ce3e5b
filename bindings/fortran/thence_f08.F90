! SPDX-License-Identifier: BSD-3-Clause
! Continuations for programs with `use mpi_f08`. The calls have the names, arguments and errors of those in C
! (<thence/thence.h>), with `ierror` last and optional.
#define REQUEST type(MPI_Request)
#define STATUS type(MPI_Status)
#define INFO type(MPI_Info)
#define HANDLE(r) r%MPI_VAL
#define HANDLES_FROM(handles, requests, n) handles = requests(1:n)%MPI_VAL
#define HANDLES_TO(requests, handles, n) requests(1:n)%MPI_VAL = handles
#define ONE
#define MANY(n) (n)
#define SHAPED (:)
#define STATUS_COUNT(s) size(s)
#define IGNORED_ONE MPI_STATUS_IGNORE
#define IGNORED_MANY MPI_STATUSES_IGNORE
#define ATTACH_ONE thence_attach_one_f08
#define WAIT_FOR thence_wait_f08
#define IN_F08 1
#define NAMED(n) "thence_f08_" // n
module thence_f08
  use mpi_f08, only: MPI_Request, MPI_Status, MPI_Info, MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE
#include "module.inc"
end module
