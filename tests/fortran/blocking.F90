! SPDX-License-Identifier: BSD-3-Clause
! Blocking calls that blocking_tasks.cpp makes in tasks.
#include "kinds.h"
module blocking
  use MPI_MODULE
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none

contains

  ! Returns the value, or -1.
  integer(c_int) function fortran_receive(source, tag) bind(c)
    integer(c_int), value :: source, tag
    integer :: ierror
    STATUS :: message ONE
    call MPI_Recv(fortran_receive, 1, MPI_INTEGER, source, tag, MPI_COMM_WORLD, message, ierror)
    if (ierror /= MPI_SUCCESS .or. TAG_OF(message) /= tag .or. SOURCE_OF(message) /= source) fortran_receive = -1
  end function

  ! The same with a receive that is started and waited for.
  integer(c_int) function fortran_wait(source, tag) bind(c)
    integer(c_int), value :: source, tag
    integer :: ierror
    integer, asynchronous :: value
    REQUEST :: requests(2)
    requests = MPI_REQUEST_NULL
    call MPI_Irecv(value, 1, MPI_INTEGER, source, tag, MPI_COMM_WORLD, requests(2), ierror)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
    fortran_wait = merge(value, -1, ierror == MPI_SUCCESS .and. requests(2) == MPI_REQUEST_NULL)
  end function

end module
