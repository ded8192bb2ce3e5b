! SPDX-License-Identifier: BSD-3-Clause
! TAMPI from tasks of the data-flow layer: a task whose body has returned is complete when its messages have arrived.
#include "kinds.h"
#ifndef WITH_F08
#include "TAMPIf.h"
#endif
module tasks
  use MPI_MODULE
#ifdef WITH_F08
  use tampi_f08, only: TAMPI_Iwait, TAMPI_Iwaitall
#else
  use tampi, only: TAMPI_Iwait, TAMPI_Iwaitall
#endif
  use, intrinsic :: iso_c_binding, only: c_ptr, c_funptr, c_int, c_char, c_null_char, c_f_pointer, c_loc, c_funloc
  implicit none
  integer, parameter :: many = 9 ! tasks
  integer, target, save :: numbers(many)
  integer, asynchronous, save :: values(3 * many) = -1
  STATUS, save :: statuses MANY(3 * many)
  logical, volatile, save :: has_run(many) = .false., complete(many) = .false.
  integer, save :: left, wrong = 0
#ifndef WITH_F08
  external :: TAMPI_Irecv
#endif

  interface
    integer(c_int) function thence_flow_spawn(body, args, completed, completed_args, label) bind(c)
      import
      type(c_funptr), value :: body, completed
      type(c_ptr), value :: args, completed_args
      character(kind=c_char), intent(in) :: label(*)
    end function
    type(c_ptr) function thence_flow_task_runtime() bind(c)
      import
    end function
    integer(c_int) function thence_task_runtime_add(table) bind(c)
      import
      type(c_ptr), value :: table
    end function
    integer(c_int) function usleep(microseconds) bind(c)
      import
      integer(c_int), value :: microseconds
    end function
  end interface

contains

  ! Task i receives three messages: one bound alone, two bound together.
  subroutine body(argument) bind(c)
    type(c_ptr), value :: argument
    integer, pointer :: i
    integer :: ierror, first
    REQUEST :: requests(3)
    call c_f_pointer(argument, i)
    first = 3 * i - 2
#ifdef WITH_F08
    call MPI_Irecv(values(first), 1, MPI_INTEGER, left, first, MPI_COMM_WORLD, requests(1), ierror)
    call TAMPI_Iwait(requests(1), AT(statuses, first), ierror)
#else
    call TAMPI_Irecv(values(first), 1, MPI_INTEGER, left, first, MPI_COMM_WORLD, requests(1), AT(statuses, first), ierror)
#endif
    if (ierror /= MPI_SUCCESS .or. requests(1) /= MPI_REQUEST_NULL) wrong = wrong + 1
    call MPI_Irecv(values(first + 1), 1, MPI_INTEGER, left, first + 1, MPI_COMM_WORLD, requests(2), ierror)
    call MPI_Irecv(values(first + 2), 1, MPI_INTEGER, left, first + 2, MPI_COMM_WORLD, requests(3), ierror)
    if (mod(i, 3) == 0) then
      call TAMPI_Iwaitall(2, requests(2:3), MPI_STATUSES_IGNORE, ierror)
    else
#ifdef WITH_F08
      call TAMPI_Iwaitall(2, requests(2:3), statuses(first + 1:), ierror)
#else
      call TAMPI_Iwaitall(2, requests(2:3), statuses(:, first + 1:), ierror)
#endif
    end if
    if (ierror /= MPI_SUCCESS .or. requests(2) /= MPI_REQUEST_NULL .or. requests(3) /= MPI_REQUEST_NULL) wrong = wrong + 1
    has_run(i) = .true.
  end subroutine

  subroutine completed(argument) bind(c)
    type(c_ptr), value :: argument
    integer, pointer :: i
    call c_f_pointer(argument, i)
    complete(i) = .true.
  end subroutine

  ! Waits up to 20 seconds.
  logical function all_become_true(flags)
    logical, volatile, intent(inout) :: flags(:)
    integer :: n, code
    all_become_true = .false.
    do n = 1, 20000
      if (all(flags)) then
        all_become_true = .true.
        return
      end if
      code = usleep(1000)
    end do
  end function

end module

program tampi_test
  use MPI_MODULE
#ifdef WITH_F08
  use tampi_f08
#else
  use tampi
#endif
  use tasks
  use checks
  implicit none
  integer :: rank, ranks, provided, ierror, flag, i, code
  REQUEST :: request
#ifdef WITH_F08
  REQUEST :: pair(2)
#endif
  STATUS :: message ONE

  code = thence_task_runtime_add(thence_flow_task_runtime())
#ifdef WITH_F08
  call MPI_Init_thread(MPI_TASK_MULTIPLE, provided)
#else
  call MPI_Init_thread(MPI_TASK_MULTIPLE, provided, ierror)
#endif
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  left = modulo(rank - 1, ranks)

  call rule('modes')
  call check(provided == MPI_THREAD_MULTIPLE + 1, 'MPI_Init_thread comes to libthence-tampi')
  call TAMPI_Blocking_enabled(flag, ierror)
  call check(ierror == MPI_SUCCESS .and. flag == 1, 'blocking mode')
  call TAMPI_Nonblocking_enabled(flag, ierror)
  call check(ierror == MPI_SUCCESS .and. flag == 1, 'nonblocking mode')
  call TAMPI_Property_get(TAMPI_PROPERTY_THREAD_TASKAWARE, flag, ierror)
  call check(ierror == MPI_SUCCESS .and. flag == 1, 'a property')

  call rule('tasks')
  do i = 1, many
    numbers(i) = i
    code = thence_flow_spawn(c_funloc(body), c_loc(numbers(i)), c_funloc(completed), c_loc(numbers(i)), &
                             'receive' // c_null_char)
    call check(code == 0, 'a task is started')
  end do
  call check(all_become_true(has_run), 'all bodies return')
  code = usleep(20000)
  call check(.not. any(complete) .and. wrong == 0, 'no task is complete before its messages')
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  do i = 3 * many, 1, -1
    call MPI_Send(i + 1000 * rank, 1, MPI_INTEGER, modulo(rank + 1, ranks), i, MPI_COMM_WORLD, ierror)
  end do
  call check(all_become_true(complete), 'then all are')
  call check(all(values == [(i + 1000 * left, i = 1, 3 * many)]), 'with their messages')
  do i = 1, 3 * many
    if (mod((i + 2) / 3, 3) /= 0 .or. mod(i, 3) == 1) then
      call check(TAG_AT(statuses, i) == i .and. SOURCE_AT(statuses, i) == left, 'and statuses')
    end if
  end do

  call rule('outside of a task')
  call MPI_Irecv(code, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, request, ierror)
  call MPI_Send(rank, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, ierror)
  call TAMPI_Iwait(request, message, ierror)
  call check(ierror == MPI_SUCCESS .and. code == rank .and. TAG_OF(message) == 1, 'TAMPI_Iwait waits')
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
  call TAMPI_Property_set(TAMPI_PROPERTY_BLOCKING_MODE, 1, ierror)
  call check(ierror /= MPI_SUCCESS, 'a property that is read only')
#ifdef WITH_F08
  call rule('statuses that the compiler would copy')
  do i = 1, 2
    call MPI_Irecv(values(i), 1, MPI_INTEGER, 0, i, MPI_COMM_SELF, pair(i), ierror)
  end do
  call TAMPI_Iwaitall(2, pair, statuses(1:4:2), ierror)
  call check(ierror == MPI_ERR_ARG .and. pair(1) /= MPI_REQUEST_NULL, 'a section with gaps')
  call TAMPI_Iwaitall(2, pair, statuses(1:1), ierror)
  call check(ierror == MPI_ERR_ARG .and. pair(1) /= MPI_REQUEST_NULL, 'fewer than count')
  do i = 1, 2
    call MPI_Send(rank, 1, MPI_INTEGER, 0, i, MPI_COMM_SELF, ierror)
  end do
  call TAMPI_Iwaitall(2, pair, statuses(3:5), ierror)
  call check(ierror == MPI_SUCCESS .and. TAG_AT(statuses, 4) == 2, 'a section without')
#endif
  call finish(35)
end program
