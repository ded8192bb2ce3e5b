! SPDX-License-Identifier: BSD-3-Clause
! TAMPI in Fortran, with mpif.h: each rank starts a task for each other rank, which receives a message with TAMPI_Irecv and
! returns. The task is complete when its message has arrived; then its result is added up. The tasks are those of the
! data-flow layer, started through its C interface. Usage: mpirun -n N fortran_tampi (any N, no arguments). Link
! thence-tampi-fortran and thence-tasks.
#include "TAMPIf.h"
module receivers
  use, intrinsic :: iso_c_binding, only: c_ptr, c_funptr, c_int, c_char, c_f_pointer
  implicit none
  integer, parameter :: most_ranks = 64
  integer, target, save :: source(0:most_ranks - 1)
  integer, asynchronous, save :: message(0:most_ranks - 1)
  logical, volatile, save :: complete(0:most_ranks - 1) = .false.

  interface
    type(c_ptr) function thence_flow_task_runtime() bind(c)
      import
    end function
    integer(c_int) function thence_task_runtime_add(table) bind(c)
      import
      type(c_ptr), value :: table
    end function
    integer(c_int) function thence_flow_spawn(body, argument, when_complete, its_argument, label) bind(c)
      import
      type(c_funptr), value :: body, when_complete
      type(c_ptr), value :: argument, its_argument
      character(kind=c_char), intent(in) :: label(*)
    end function
    subroutine TAMPI_Irecv(buffer, count, datatype, source, tag, comm, request, status_of_it, ierror)
      import
      integer, intent(inout), asynchronous :: buffer
      integer, intent(in) :: count, datatype, source, tag, comm
      integer, intent(inout) :: request, status_of_it(*)
      integer, intent(out) :: ierror
    end subroutine
  end interface

contains

  subroutine receive(argument) bind(c)
    include 'mpif.h'
    type(c_ptr), value :: argument
    integer, pointer :: rank
    integer :: request, ierror
    call c_f_pointer(argument, rank)
    call TAMPI_Irecv(message(rank), 1, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, request, MPI_STATUS_IGNORE, ierror)
    if (ierror /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  end subroutine

  subroutine note_complete(argument) bind(c)
    type(c_ptr), value :: argument
    integer, pointer :: rank
    call c_f_pointer(argument, rank)
    complete(rank) = .true.
  end subroutine

end module

program fortran_tampi
  use receivers
  use, intrinsic :: iso_c_binding, only: c_loc, c_funloc, c_null_char
  implicit none
  include 'mpif.h'
  integer :: rank, ranks, provided, i, ierror, total

  ierror = thence_task_runtime_add(thence_flow_task_runtime())
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, ierror)
  if (provided < MPI_THREAD_MULTIPLE) error stop 'this MPI does not provide MPI_THREAD_MULTIPLE'
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  if (ranks > most_ranks) error stop 'at most 64 ranks'

  do i = 0, ranks - 1
    source(i) = i
    ierror = thence_flow_spawn(c_funloc(receive), c_loc(source(i)), c_funloc(note_complete), c_loc(source(i)), &
                               'receive' // c_null_char)
    if (ierror /= 0) error stop 'no task'
  end do
  do i = 0, ranks - 1
    call MPI_Send(100 * rank + i, 1, MPI_INTEGER, i, 0, MPI_COMM_WORLD, ierror)
  end do
  do while (.not. all(complete(0:ranks - 1))) ! a program has better things to do
    call MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, provided, MPI_STATUS_IGNORE, ierror)
  end do

  total = sum(message(0:ranks - 1))
  if (total /= 100 * (ranks * (ranks - 1)) / 2 + ranks * rank) error stop 1
  if (rank == 0) print '(i0,a)', ranks, ' messages to each rank: correct'
  call MPI_Finalize(ierror)
end program
