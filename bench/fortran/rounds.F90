! SPDX-License-Identifier: BSD-3-Clause
! What fortran_attach counts: rounds of a receive from self, completed with MPI_Wait or with a continuation, through
! mpi_f08 and thence_f08. The same in C is in fortran_attach.cpp.
module rounds
  use mpi_f08
  use thence_f08
  use, intrinsic :: iso_c_binding, only: c_ptr, c_long, c_null_ptr
  implicit none

contains

  subroutine nothing(error, statuses, context)
    integer, intent(inout) :: error
    type(MPI_Status), intent(inout) :: statuses(*)
    type(c_ptr), intent(in) :: context
  end subroutine

  subroutine send(out)
    integer, intent(in) :: out
    type(MPI_Request) :: request
    call MPI_Isend(out, 1, MPI_INTEGER, 0, 0, MPI_COMM_SELF, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
  end subroutine

  subroutine fortran_wait_rounds(iterations) bind(c)
    integer(c_long), value :: iterations
    integer, asynchronous :: message
    type(MPI_Request) :: receive
    integer(c_long) :: i
    do i = 1, iterations
      call MPI_Irecv(message, 1, MPI_INTEGER, 0, 0, MPI_COMM_SELF, receive)
      call send(7)
      call MPI_Wait(receive, MPI_STATUS_IGNORE)
    end do
  end subroutine

  subroutine fortran_attach_rounds(iterations) bind(c)
    integer(c_long), value :: iterations
    integer, asynchronous :: message
    type(MPI_Request) :: receive
    type(MPI_Request), save :: cr
    logical, save :: created = .false.
    logical :: complete
    integer(c_long) :: i
    if (.not. created) call thence_cr_create(0, -1, MPI_INFO_NULL, cr)
    created = .true.
    do i = 1, iterations
      call MPI_Irecv(message, 1, MPI_INTEGER, 0, 0, MPI_COMM_SELF, receive)
      call thence_attach(receive, nothing, c_null_ptr, 0, MPI_STATUS_IGNORE, cr, complete)
      call send(7)
      call thence_wait(cr, MPI_STATUS_IGNORE)
    end do
  end subroutine

end module
