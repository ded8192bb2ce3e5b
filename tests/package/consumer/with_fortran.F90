! SPDX-License-Identifier: BSD-3-Clause
! The module for integers, from an installed tree: a continuation on a message to this rank itself.
module callback_of_program
  use mpi
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  implicit none
contains
  subroutine arrived(error, statuses, context)
    integer, intent(inout) :: error
    integer, intent(inout) :: statuses(MPI_STATUS_SIZE, *)
    type(c_ptr), intent(in) :: context
    integer, pointer :: calls
    call c_f_pointer(context, calls)
    if (error == MPI_SUCCESS .and. statuses(MPI_TAG, 1) == 5) calls = calls + 1
  end subroutine
end module

program with_fortran
  use mpi
  use thence
  use callback_of_program
  use, intrinsic :: iso_c_binding, only: c_loc
  implicit none
  integer, target, save :: calls = 0
  integer, asynchronous, save :: message = 0
  integer, save :: message_status(MPI_STATUS_SIZE)
  integer :: cr, receive, ierror
  logical :: flag
  call MPI_Init(ierror)
  call thence_cr_create(THENCE_CR_ENQUEUE_COMPLETE, -1, MPI_INFO_NULL, cr)
  call MPI_Irecv(message, 1, MPI_INTEGER, 0, 5, MPI_COMM_SELF, receive, ierror)
  call thence_attach(receive, arrived, c_loc(calls), 0, message_status, cr, flag)
  call MPI_Send(42, 1, MPI_INTEGER, 0, 5, MPI_COMM_SELF, ierror)
  call MPI_Wait(cr, MPI_STATUS_IGNORE, ierror)
  call MPI_Request_free(cr, ierror)
  if (calls /= 1 .or. message /= 42) error stop 1
  call MPI_Finalize(ierror)
end program
