! SPDX-License-Identifier: BSD-3-Clause
! Calls with bad arguments: each gives an error of its class and changes nothing.
#include "kinds.h"
module hosts
  use THENCE_MODULE
  use MPI_MODULE
  use, intrinsic :: iso_c_binding, only: c_ptr, c_associated, c_null_ptr
  implicit none
  private
  public :: attach_internal
  STATUS, save :: one_status ONE

contains

  subroutine attach_internal(request, cr, ierror)
    REQUEST, intent(inout) :: request
    REQUEST, intent(in) :: cr
    integer, intent(out) :: ierror
    integer :: calls ! a variable of the host: so the compiler gives `internal` code of its own on the stack
    logical :: flag
    calls = 0
    call thence_attach(request, internal, c_null_ptr, 0, one_status, cr, flag, ierror)
    if (calls /= 0) print *, 'it has run'
  contains
    subroutine internal(error, given, context)
      integer, intent(inout) :: error
      STATUS, intent(inout) :: given MANY(*)
      type(c_ptr), intent(in) :: context
      if (c_associated(context) .and. error == TAG_AT(given, 1)) calls = calls + 1
    end subroutine
  end subroutine

end module

program bad_input
  use MPI_MODULE
  use THENCE_MODULE
  use, intrinsic :: iso_c_binding, only: c_ptr, c_loc, c_associated, c_f_pointer
  use callbacks
  use checks
  use hosts
  implicit none
  integer :: ierror, provided, done, indices(4)
  REQUEST :: cr, freed, requests(4), request
  STATUS, save :: statuses MANY(8), one_status ONE
  type(record), target, save :: seen
  integer, asynchronous, save :: values(4)
  logical :: flag
  integer :: i
  type(thence_stats_info) :: before, after

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierror)
  call thence_cr_create(0, -1, MPI_INFO_NULL, cr, ierror)
  freed = MPI_REQUEST_NULL
  do i = 1, 4
    call MPI_Irecv(values(i), 1, MPI_INTEGER, 0, i, MPI_COMM_SELF, requests(i), ierror)
  end do
  call thence_stats_query(before)

  call rule('thence_cr_create')
  call thence_cr_create(2**20, -1, MPI_INFO_NULL, freed, ierror)
  call check(class_of(ierror) == MPI_ERR_ARG .and. freed == MPI_REQUEST_NULL, 'unknown flags')
  call thence_cr_create(0, -2, MPI_INFO_NULL, freed, ierror)
  call check(class_of(ierror) == MPI_ERR_ARG .and. freed == MPI_REQUEST_NULL, 'max_poll')

  call rule('thence_attach')
  call attach_internal(requests(1), cr, ierror)
  call check(class_of(ierror) == MPI_ERR_ARG .and. requests(1) /= MPI_REQUEST_NULL, 'an internal procedure')
#ifdef WITH_F08
  call thence_attach(4, requests, note, c_loc(seen), 0, statuses(::2), cr, flag, ierror)
#else
  call thence_attach(4, requests, note, c_loc(seen), 0, statuses(:, ::2), cr, flag, ierror)
#endif
  call check(class_of(ierror) == MPI_ERR_ARG .and. requests(4) /= MPI_REQUEST_NULL, 'statuses with gaps')
  call thence_attach(5, requests, note, c_loc(seen), 0, statuses, cr, flag, ierror)
  call check(class_of(ierror) == MPI_ERR_ARG, 'fewer requests than count')
#ifdef WITH_F08
  call thence_attach(4, requests, note, c_loc(seen), 0, statuses(1:3), cr, flag, ierror)
#else
  call thence_attach(4, requests, note, c_loc(seen), 0, statuses(:, 1:3), cr, flag, ierror)
#endif
  call check(class_of(ierror) == MPI_ERR_ARG, 'fewer statuses than count')
  call thence_attach(-1, requests, note, c_loc(seen), 0, statuses, cr, flag, ierror)
  call check(class_of(ierror) == MPI_ERR_ARG, 'a negative count')
  call thence_attach(requests(1), note, c_loc(seen), 2**20, one_status, cr, flag, ierror)
  call check(class_of(ierror) == MPI_ERR_ARG, 'unknown flags')
  call thence_attach(requests(1), note, c_loc(seen), 0, one_status, requests(2), flag, ierror)
  call check(class_of(ierror) == MPI_ERR_REQUEST .and. requests(1) /= MPI_REQUEST_NULL, 'no CR')
  call thence_cr_create(0, -1, MPI_INFO_NULL, freed, ierror)
  request = freed
  call thence_free(freed, ierror)
  call thence_attach(requests(1), note, c_loc(seen), 0, one_status, request, flag, ierror)
  call check(class_of(ierror) == MPI_ERR_REQUEST .and. requests(1) /= MPI_REQUEST_NULL, 'a CR that is freed')
  call thence_attach(cr, note, c_loc(seen), 0, one_status, cr, flag, ierror)
  call check(class_of(ierror) == MPI_ERR_REQUEST, 'a CR with itself')
  call thence_attach_object(requests(1), note_object, seen, 0, one_status, requests(2), flag, ierror)
  call check(class_of(ierror) == MPI_ERR_REQUEST .and. requests(1) /= MPI_REQUEST_NULL, 'no CR, with an object')
  done = -7
  call thence_attach_each(4, requests, note_each, c_loc(seen), 0, statuses, requests(2), done, indices, ierror)
  call check(class_of(ierror) == MPI_ERR_REQUEST .and. done == -7, 'thence_attach_each, no CR')
#ifdef WITH_F08
  call thence_attach_each(2, requests, note_each, c_loc(seen), 0, statuses(::3), cr, done, indices, ierror)
#else
  call thence_attach_each(2, requests, note_each, c_loc(seen), 0, statuses(:, ::3), cr, done, indices, ierror)
#endif
  call check(class_of(ierror) == MPI_ERR_ARG .and. done == -7, 'thence_attach_each, statuses with gaps')
#if defined(HANDLES_ARE_CHECKED)
  HANDLE(request) = 123456789
  call thence_attach(request, note, c_loc(seen), 0, one_status, cr, flag, ierror)
  call check(class_of(ierror) == MPI_ERR_REQUEST .and. HANDLE(request) == 123456789, 'a handle that MPI does not know')
#endif

  call rule('other calls')
  request = MPI_REQUEST_NULL
  call thence_wait(request, MPI_STATUS_IGNORE, ierror)
  call check(class_of(ierror) == MPI_ERR_REQUEST, 'thence_wait')
  call thence_test(requests(1), flag, MPI_STATUS_IGNORE, ierror)
  call check(class_of(ierror) == MPI_ERR_REQUEST .and. .not. flag, 'thence_test')
  call thence_start(requests(1), ierror)
  call check(class_of(ierror) == MPI_ERR_REQUEST, 'thence_start')
  call thence_cancel(requests(1), ierror)
  call check(class_of(ierror) == MPI_ERR_REQUEST, 'thence_cancel')
  call thence_free(requests(1), ierror)
  call check(class_of(ierror) == MPI_ERR_REQUEST .and. requests(1) /= MPI_REQUEST_NULL, 'thence_free')

  call rule('nothing has happened')
  call thence_stats_query(after)
  call check(after%attached == before%attached .and. seen%calls == 0, 'nothing is attached')
  do i = 1, 4
    call MPI_Send(i, 1, MPI_INTEGER, 0, i, MPI_COMM_SELF, ierror)
  end do
  call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierror)
  call check(ierror == MPI_SUCCESS .and. all(values == [1, 2, 3, 4]), 'the requests are those of the program')
  call thence_free(cr, ierror)
  call finish(20)

contains

  integer function class_of(code)
    integer, intent(in) :: code
    integer :: failed
    call MPI_Error_class(code, class_of, failed)
  end function

end program
