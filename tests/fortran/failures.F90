! SPDX-License-Identifier: BSD-3-Clause
! Continuation requests that report failures keep the contexts of failed continuations. Each context that is given back is
! that of its own continuation, and later continuations get theirs. Messages between neighbours in a ring, since one that is
! too long is no error everywhere if a process sends it to itself.
#include "kinds.h"
program failures
  use MPI_MODULE
  use THENCE_MODULE
  use, intrinsic :: iso_c_binding, only: c_ptr, c_loc, c_associated
  use callbacks
  use checks
  implicit none
  integer :: ierror, provided, rank, ranks, left, right
  REQUEST :: plain
  integer, asynchronous, save :: values(8)
  integer, save :: lengths(8) = 1 ! integers in the message with each tag

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  left = modulo(rank - 1, ranks)
  right = modulo(rank + 1, ranks)
  call thence_cr_create(0, -1, MPI_INFO_NULL, plain, ierror)
  call of_callbacks()
  call of_operations()
  call of_invoked_callbacks()
  call of_each()
  call unread()
  call of_handles_that_are_used_again()
  call thence_free(plain, ierror)
  call finish(20)

contains

  ! A receive of one integer, whose message has `length` of them: more than one is an error.
  subroutine receive(tag, length, request)
    integer, intent(in) :: tag, length
    REQUEST, intent(inout) :: request
    call MPI_Irecv(values(tag), 1, MPI_INTEGER, left, tag, MPI_COMM_WORLD, request, ierror)
    lengths(tag) = length
  end subroutine

  subroutine send(first, last)
    integer, intent(in) :: first, last
    integer :: tag
    integer, parameter :: two(2) = 7
    call MPI_Barrier(MPI_COMM_WORLD, ierror) ! the receives are attached
    do tag = first, last
      call MPI_Send(two, lengths(tag), MPI_INTEGER, right, tag, MPI_COMM_WORLD, ierror)
    end do
  end subroutine

  ! Two continuations of another CR, which are under way at the same time, get their own contexts.
  subroutine check_others(what)
    character(*), intent(in) :: what
    type(record), target, save :: seen(2)
    REQUEST :: request
    logical :: flag
    integer :: i
    do i = 1, 2
      seen(i) = record()
      call receive(6 + i, 1, request)
      call thence_attach(request, count_only, c_loc(seen(i)), 0, MPI_STATUS_IGNORE, plain, flag, ierror)
    end do
    call send(7, 8)
    call thence_wait(plain, MPI_STATUS_IGNORE, ierror)
    call check(all(seen%calls == 1), what)
  end subroutine

  logical function gives(cr, seen)
    REQUEST, intent(in) :: cr
    type(record), target, intent(in) :: seen(:)
    type(c_ptr) :: contexts(8), expected
    integer :: count, i
    count = 8
    call thence_get_failed(cr, count, contexts, ierror)
    gives = ierror == MPI_SUCCESS .and. count == size(seen)
    do i = 1, min(count, size(seen))
      expected = c_loc(seen(i))
      gives = gives .and. c_associated(contexts(i), expected)
    end do
  end function

  subroutine of_callbacks()
    type(record), target, save :: seen(2), between
    REQUEST :: cr, other, request
    logical :: flag
    integer :: i
    call rule('errors that callbacks leave')
    call thence_cr_create(THENCE_CR_REPORT_FAILED, -1, MPI_INFO_NULL, cr, ierror)
    call thence_cr_create(0, -1, MPI_INFO_NULL, other, ierror)
    seen%leaves = MPI_ERR_OTHER
    do i = 1, 2
      call receive(i, 1, request)
      call thence_attach(request, leave_error, c_loc(seen(i)), 0, MPI_STATUS_IGNORE, cr, flag, ierror)
    end do
    call send(1, 2)
    call thence_wait(cr, MPI_STATUS_IGNORE, ierror)
    call check(ierror == MPI_ERR_OTHER .and. all(seen%calls == 1), 'they run, and the error is reported')
    call receive(3, 1, request)
    call thence_attach(request, count_only, c_loc(between), 0, MPI_STATUS_IGNORE, other, flag, ierror)
    call check(gives(cr, seen), 'the contexts, although others are attached since')
    call check_others('contexts of others, afterwards')
    call send(3, 3)
    call thence_wait(other, MPI_STATUS_IGNORE, ierror)
    call check(between%calls == 1, 'and of one attached before they were read')
    call thence_free(cr, ierror)
    call thence_free(other, ierror)
  end subroutine

  subroutine of_operations()
    type(record), target, save :: seen(2)
    REQUEST :: cr, request
    logical :: flag
    integer :: i
    call rule('failed operations')
    call thence_cr_create(THENCE_CR_REPORT_FAILED, -1, MPI_INFO_NULL, cr, ierror)
    do i = 1, 2
      call receive(i, 2, request)
      call thence_attach(request, count_only, c_loc(seen(i)), 0, MPI_STATUS_IGNORE, cr, flag, ierror)
    end do
    call send(1, 2)
    call thence_wait(cr, MPI_STATUS_IGNORE, ierror)
    call check(ierror /= MPI_SUCCESS .and. all(seen%calls == 0), 'the error is reported, no callback runs')
    call check(gives(cr, seen), 'the contexts')
    call check_others('contexts of others')
    call thence_free(cr, ierror)
  end subroutine

  subroutine of_invoked_callbacks()
    type(record), target, save :: seen(2)
    REQUEST :: cr, request
    logical :: flag
    integer :: i
    call rule('THENCE_INVOKE_FAILED')
    call thence_cr_create(THENCE_CR_REPORT_FAILED, -1, MPI_INFO_NULL, cr, ierror)
    do i = 1, 2
      call receive(i, 2, request)
      call thence_attach(request, count_only, c_loc(seen(i)), THENCE_INVOKE_FAILED, MPI_STATUS_IGNORE, cr, flag, ierror)
    end do
    call send(1, 2)
    call thence_wait(cr, MPI_STATUS_IGNORE, ierror)
    call check(all(seen%calls == 1) .and. all(seen%error /= MPI_SUCCESS), 'the callbacks run with the error')
    call check_others('contexts of others, before')
    call check(gives(cr, seen), 'the contexts')
    call check_others('contexts of others, after')
    call thence_free(cr, ierror)
  end subroutine

  ! Two callbacks that leave an error; or one that does, and an operation that fails and whose callback does not run.
  subroutine of_each()
    type(record), target, save :: seen(3)
    REQUEST :: cr, requests(3)
    integer :: i, length, done, indices(3)
    call rule('thence_attach_each')
    do i = 1, 6
      call thence_cr_create(THENCE_CR_REPORT_FAILED, -1, MPI_INFO_NULL, cr, ierror)
      seen = record()
      seen%leaves = MPI_ERR_OTHER
      length = merge(1, 2, mod(i, 2) == 0)
      call receive(1, 1, requests(1))
      call receive(2, length, requests(2))
      requests(3) = MPI_REQUEST_NULL
      call thence_attach_each(3, requests, leave_error_of_each, c_loc(seen), 0, MPI_STATUSES_IGNORE, cr, done, indices, ierror)
      call check(ierror == MPI_SUCCESS .and. done == 1 .and. indices(1) == 3, 'attached')
      call check(requests(1) == MPI_REQUEST_NULL .and. requests(2) == MPI_REQUEST_NULL, 'the library has the requests')
      call send(1, 2)
      call thence_wait(cr, MPI_STATUS_IGNORE, ierror)
      call check(ierror /= MPI_SUCCESS .and. all(seen%calls == [1, 2 - length, 0]), 'the error is reported')
      call check_others('contexts of others')
      if (i > 1) call check_all(cr, 2, seen)
      call thence_free(cr, ierror)
    end do
    call thence_cr_create(THENCE_CR_REPORT_FAILED, -1, MPI_INFO_NULL, cr, ierror)
    requests(1) = MPI_REQUEST_NULL
    requests(2) = cr
    call thence_attach_each(2, requests, leave_error_of_each, c_loc(seen), 0, MPI_STATUSES_IGNORE, cr, done, indices, ierror)
    call check(ierror /= MPI_SUCCESS .and. requests(2) == cr, 'a CR with itself is refused')
    call thence_free(cr, ierror)
  end subroutine

  ! All that failed have the one context of thence_attach_each.
  subroutine check_all(cr, failed, seen)
    REQUEST, intent(in) :: cr
    integer, intent(in) :: failed
    type(record), target, intent(in) :: seen(:)
    type(c_ptr) :: contexts(8), expected
    integer :: count, i
    count = 8
    expected = c_loc(seen)
    call thence_get_failed(cr, count, contexts, ierror)
    call check(count == failed, 'how many have failed')
    do i = 1, count
      call check(c_associated(contexts(i), expected), 'each has the context')
    end do
  end subroutine

  ! A CR that is freed while it keeps failures, by the call of MPI and by ours.
  subroutine unread()
    type(record), target, save :: seen(2)
    REQUEST :: cr, request
    logical :: flag
    integer :: i
    call rule('a CR that is freed with failures')
    do i = 1, 40
      seen = record()
      seen%leaves = MPI_ERR_OTHER
      call thence_cr_create(THENCE_CR_REPORT_FAILED, -1, MPI_INFO_NULL, cr, ierror)
      call receive(1, 2, request)
      call thence_attach(request, leave_error, c_loc(seen(1)), 0, MPI_STATUS_IGNORE, cr, flag, ierror)
      call receive(2, 1, request)
      call thence_attach(request, leave_error, c_loc(seen(2)), 0, MPI_STATUS_IGNORE, cr, flag, ierror)
      call send(1, 2)
      call thence_wait(cr, MPI_STATUS_IGNORE, ierror)
      call check(ierror /= MPI_SUCCESS .and. all(seen%calls == [0, 1]), 'it reports them')
      if (mod(i, 2) == 0) call thence_free(cr, ierror)
      if (mod(i, 2) == 1) call MPI_Request_free(cr, ierror)
      call check(ierror == MPI_SUCCESS, 'it is freed')
      call check_others('contexts of others')
    end do
  end subroutine

  subroutine of_handles_that_are_used_again()
    type(record), target, save :: seen(1)
    REQUEST :: cr, request
    logical :: flag
    integer :: i
    call rule('a CR in the place of another')
    do i = 1, 4
      seen = record()
      seen%leaves = MPI_ERR_OTHER
      call thence_cr_create(merge(0, THENCE_CR_REPORT_FAILED, mod(i, 2) == 1), -1, MPI_INFO_NULL, cr, ierror)
      call receive(1, 1, request)
      call thence_attach(request, leave_error, c_loc(seen(1)), 0, MPI_STATUS_IGNORE, cr, flag, ierror)
      call send(1, 1)
      call thence_wait(cr, MPI_STATUS_IGNORE, ierror)
      call check_others('contexts of others')
      call check(gives(cr, seen(1:merge(0, 1, mod(i, 2) == 1))), 'its own option holds')
      call thence_free(cr, ierror)
    end do
  end subroutine

end program
