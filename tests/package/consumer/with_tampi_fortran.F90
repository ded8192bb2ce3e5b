! SPDX-License-Identifier: BSD-3-Clause
! TAMPI outside of a task: a wrapper leaves its request, and TAMPI_Iwait waits.
#include "TAMPIf.h"
program with_tampi_fortran
  use mpi
  use tampi, only: TAMPI_Iwait
  implicit none
  integer, asynchronous, save :: message = 0
  integer :: sent = 42, requests(2), message_status(MPI_STATUS_SIZE), ierror
  external :: TAMPI_Isend, TAMPI_Irecv
  call MPI_Init(ierror)
  call TAMPI_Irecv(message, 1, MPI_INTEGER, 0, 5, MPI_COMM_SELF, requests(1), MPI_STATUS_IGNORE, ierror)
  call TAMPI_Isend(sent, 1, MPI_INTEGER, 0, 5, MPI_COMM_SELF, requests(2), ierror)
  call TAMPI_Iwait(requests(1), message_status, ierror)
  call TAMPI_Iwait(requests(2), MPI_STATUS_IGNORE, ierror)
  if (message /= 42 .or. message_status(MPI_TAG) /= 5) error stop 1
  call MPI_Finalize(ierror)
end program
