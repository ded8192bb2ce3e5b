! SPDX-License-Identifier: BSD-3-Clause
! MPI's own calls in Fortran on continuation requests, alone and among other requests.
#include "kinds.h"
program interposed
  use MPI_MODULE
  use THENCE_MODULE
  use, intrinsic :: iso_c_binding, only: c_loc
  use callbacks
  use checks
  implicit none
  integer :: rank, ranks, left, right, ierror, provided
  REQUEST :: cr, requests(3)
  STATUS :: status_of_it ONE, statuses MANY(3)
  type(record), target, save :: seen
  integer, asynchronous, save :: values(3)
  integer :: index, count, indices(3), turns, first
  logical :: flag

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  left = modulo(rank - 1, ranks)
  right = modulo(rank + 1, ranks)
  call thence_cr_create(0, -1, MPI_INFO_NULL, cr, ierror)
  first = first_index()

  call rule('MPI_Test and MPI_Wait')
  call MPI_Test(cr, flag, status_of_it, ierror)
  call check(ierror == MPI_SUCCESS .and. flag, 'inactive')
  call attach(1)
  call MPI_Test(cr, flag, status_of_it, ierror)
  call check(.not. flag .and. seen%calls == 0, 'active')
  call MPI_Request_get_status(cr, flag, MPI_STATUS_IGNORE, ierror)
  call check(ierror == MPI_SUCCESS .and. .not. flag, 'MPI_Request_get_status')
  call send(1)
  call MPI_Wait(cr, status_of_it, ierror)
  call check(ierror == MPI_SUCCESS .and. seen%calls == 1 .and. values(1) == 1 + left, 'MPI_Wait')
  call check(thence_is_cr(cr), 'it stays usable, with the same handle')
  call check(SOURCE_OF(status_of_it) == MPI_ANY_SOURCE .and. TAG_OF(status_of_it) == MPI_ANY_TAG, 'empty status')

  call rule('MPI_Test in a loop')
  call attach(1)
  call send(1)
  flag = .false.
  turns = 0
  do while (.not. flag)
    call MPI_Test(cr, flag, MPI_STATUS_IGNORE, ierror)
    turns = turns + 1
  end do
  call check(seen%calls == 2 .and. turns > 0, 'completes it')

  call rule('arrays')
  requests(1:2) = both(2)
  call MPI_Waitall(2, requests, statuses, ierror)
  call check(ierror == MPI_SUCCESS .and. seen%calls == 3 .and. values(2) == 2 + left, 'MPI_Waitall')
  call check(TAG_AT(statuses, 1) == MPI_ANY_TAG .and. TAG_AT(statuses, 2) == 2, 'its statuses')
  requests(1:2) = both(2)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  call check(ierror == MPI_SUCCESS .and. seen%calls == 4, 'MPI_Waitall without statuses')

  requests(1:2) = both(2)
  flag = .false.
  do while (.not. flag)
    call MPI_Testall(2, requests, flag, statuses, ierror)
  end do
  call check(seen%calls == 5 .and. requests(1) == cr .and. requests(2) == MPI_REQUEST_NULL, 'MPI_Testall')

  requests(1:2) = both(2)
  count = 0
  do while (count < 2)
    call MPI_Waitany(2, requests, index, status_of_it, ierror)
    call check(index == first .or. index == first + 1, 'MPI_Waitany')
    if (index == first) requests(1) = MPI_REQUEST_NULL
    count = count + 1
  end do
  call check(seen%calls == 6, 'MPI_Waitany completes both')

  requests(1:2) = both(2)
  count = 0
  do while (count < 2)
    call MPI_Testany(2, requests, index, flag, MPI_STATUS_IGNORE, ierror)
    if (flag .and. index == first) requests(1) = MPI_REQUEST_NULL
    if (flag) count = count + 1
  end do
  call check(seen%calls == 7 .and. requests(2) == MPI_REQUEST_NULL, 'MPI_Testany')

  requests(1:2) = both(2)
  turns = 0
  do while (turns < 2)
    call MPI_Waitsome(2, requests, count, indices, statuses, ierror)
    call check(count >= 1 .and. all(indices(1:count) >= first .and. indices(1:count) <= first + 1), 'MPI_Waitsome')
    if (any(indices(1:count) == first)) requests(1) = MPI_REQUEST_NULL
    turns = turns + count
  end do
  call check(seen%calls == 8, 'MPI_Waitsome completes both')

  requests(1:2) = both(2)
  turns = 0
  do while (turns < 2)
    call MPI_Testsome(2, requests, count, indices, MPI_STATUSES_IGNORE, ierror)
    if (any(indices(1:count) == first)) requests(1) = MPI_REQUEST_NULL
    turns = turns + count
  end do
  call check(seen%calls == 9, 'MPI_Testsome')

  call rule('MPI_Start, MPI_Cancel and MPI_Request_free')
  call MPI_Request_free(cr, ierror)
  call check(ierror == MPI_SUCCESS .and. cr == MPI_REQUEST_NULL, 'MPI_Request_free')
  call thence_cr_create(ior(THENCE_CR_NEEDS_START, THENCE_CR_ENQUEUE_COMPLETE), -1, MPI_INFO_NULL, cr, ierror)
  call attach(1)
  call send(1)
  call MPI_Start(cr, ierror)
  call check(ierror == MPI_SUCCESS, 'MPI_Start')
  call MPI_Wait(cr, MPI_STATUS_IGNORE, ierror)
  call check(seen%calls == 10, 'after the start')
  call attach(1)
  requests(1) = cr
  call MPI_Startall(1, requests, ierror)
  call check(ierror == MPI_SUCCESS .and. requests(1) == cr, 'MPI_Startall')
  call MPI_Cancel(cr, ierror)
  call check(ierror == MPI_SUCCESS, 'MPI_Cancel')
  call MPI_Wait(cr, MPI_STATUS_IGNORE, ierror)
  call check(seen%calls == 11, 'the continuation of a cancelled receive runs')
  call MPI_Request_free(cr, ierror)
  call finish(25)

contains

  ! The index of the first request. The standard says 1; the module mpi_f08 of MPICH 4.0 gives 0, without Thence too.
  integer function first_index()
    REQUEST :: one(1)
    integer, asynchronous :: value
    integer :: found
    call MPI_Irecv(value, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, one(1), ierror)
    call MPI_Send(rank, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, ierror)
    call MPI_Waitany(1, one, found, MPI_STATUS_IGNORE, ierror)
    first_index = found
  end function

  subroutine attach(tag)
    integer, intent(in) :: tag
    REQUEST :: receive
    call MPI_Irecv(values(1), 1, MPI_INTEGER, left, tag, MPI_COMM_WORLD, receive, ierror)
    call thence_attach(receive, count_only, c_loc(seen), 0, MPI_STATUS_IGNORE, cr, flag, ierror)
    call check(ierror == MPI_SUCCESS .and. .not. flag, 'attached')
  end subroutine

  subroutine send(tag)
    integer, intent(in) :: tag
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Send(tag + rank, 1, MPI_INTEGER, right, tag, MPI_COMM_WORLD, ierror)
  end subroutine

  ! The CR with a receive, and a receive of its own; both will complete.
  function both(tag) result(two)
    integer, intent(in) :: tag
    REQUEST :: two(2)
    two(1) = cr
    call MPI_Irecv(values(2), 1, MPI_INTEGER, left, tag, MPI_COMM_WORLD, two(2), ierror)
    call attach(1)
    call send(tag)
    call send(1)
  end function

end program
