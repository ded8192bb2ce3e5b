! SPDX-License-Identifier: BSD-3-Clause
! The module itself: continuations on messages between neighbours in a ring of all ranks.
#include "kinds.h"
program continuations
  use MPI_MODULE
  use THENCE_MODULE
#ifdef WITH_F08
  use thence, only: create_with_integers => thence_cr_create
#endif
  use, intrinsic :: iso_c_binding, only: c_ptr, c_loc, c_associated
  use callbacks
  use checks
  implicit none
  integer :: rank, ranks, left, right, ierror, provided
  REQUEST :: cr

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  left = modulo(rank - 1, ranks)
  right = modulo(rank + 1, ranks)
#ifdef WITH_F08
  call cr_of_the_other_module()
#endif
  call thence_cr_create(0, -1, MPI_INFO_NULL, cr, ierror)
  call check(ierror == MPI_SUCCESS .and. thence_is_cr(cr), 'a CR is created')

  call one_request()
  call complete_at_once()
  call ignored_status()
  call several_requests()
  call objects()
  call each_of_several()
  call persistent()
  call failed()
  call cancelled()
  call started()
  call queries()

  call thence_free(cr, ierror)
  call check(ierror == MPI_SUCCESS .and. cr == MPI_REQUEST_NULL, 'thence_free')
  call finish(60)

contains

  subroutine send(value, tag)
    integer, intent(in) :: value, tag
    call MPI_Barrier(MPI_COMM_WORLD, ierror) ! the receives are attached
    call MPI_Send(value, 1, MPI_INTEGER, right, tag, MPI_COMM_WORLD, ierror)
  end subroutine

#ifdef WITH_F08
  ! MPI_STATUS_IGNORE is recognized before this module has created a CR. Not in all MPIs is it that of the module mpi.
  subroutine cr_of_the_other_module()
    integer, parameter :: tag = 8765
    type(record), target, save :: seen
    integer, asynchronous, save :: value
    type(MPI_Request) :: request
    logical :: flag
    integer :: before
    call rule('a CR of the other module')
    before = MPI_STATUS_IGNORE%MPI_TAG
    call create_with_integers(0, -1, MPI_INFO_NULL%MPI_VAL, cr%MPI_VAL, ierror)
    call check(ierror == MPI_SUCCESS .and. thence_is_cr(cr), 'it is one here')
    call MPI_Irecv(value, 1, MPI_INTEGER, left, tag, MPI_COMM_WORLD, request, ierror)
    call thence_attach(request, count_only, c_loc(seen), 0, MPI_STATUS_IGNORE, cr, flag, ierror)
    call send(1, tag)
    call thence_wait(cr, MPI_STATUS_IGNORE, ierror)
    call check(ierror == MPI_SUCCESS .and. seen%calls == 1, 'the callback has run')
    call check(MPI_STATUS_IGNORE%MPI_TAG == before, 'MPI_STATUS_IGNORE is no status')
    call thence_free(cr, ierror)
  end subroutine
#endif

  subroutine one_request()
    type(record), target, save :: seen
    integer, asynchronous, save :: value
    STATUS, save :: message ONE
    REQUEST :: request
    logical :: flag
    call rule('one_request')
    call MPI_Irecv(value, 1, MPI_INTEGER, left, 1, MPI_COMM_WORLD, request, ierror)
    call thence_attach(request, note, c_loc(seen), 0, message, cr, flag, ierror)
    call check(ierror == MPI_SUCCESS .and. .not. flag, 'attached')
    call check(request == MPI_REQUEST_NULL, 'the library has the request')
    call thence_test(cr, flag, MPI_STATUS_IGNORE)
    call check(.not. flag .and. seen%calls == 0, 'not complete')
    call send(100 + rank, 1)
    call thence_wait(cr, MPI_STATUS_IGNORE, ierror)
    call check(ierror == MPI_SUCCESS .and. seen%calls == 1, 'the callback has run')
    call check(value == 100 + left, 'the message is there')
    call check(seen%error == MPI_SUCCESS .and. seen%source == left .and. seen%tag == 1, 'status in the callback')
    call check(SOURCE_OF(message) == left .and. TAG_OF(message) == 1, 'status after it')
  end subroutine

  subroutine complete_at_once()
    type(record), target, save :: seen
    REQUEST :: request
    STATUS :: message ONE
    logical :: flag
    call rule('complete_at_once')
    request = MPI_REQUEST_NULL
    call thence_attach(request, note, c_loc(seen), 0, message, cr, flag, ierror)
    call check(flag .and. seen%calls == 0, 'a null request is complete')
    call check(SOURCE_OF(message) == MPI_ANY_SOURCE, 'with an empty status')
    call thence_attach(request, note, c_loc(seen), THENCE_MAY_RUN, message, cr, flag, ierror)
    call check(.not. flag .and. seen%calls == 1, 'THENCE_MAY_RUN runs the callback')
  end subroutine

  subroutine ignored_status()
    type(record), target, save :: seen
    integer, asynchronous, save :: value
    REQUEST :: requests(2)
    logical :: flag
    call rule('ignored_status')
    call MPI_Irecv(value, 1, MPI_INTEGER, left, 2, MPI_COMM_WORLD, requests(1), ierror)
    call thence_attach(requests(1), count_only, c_loc(seen), 0, MPI_STATUS_IGNORE, cr, flag, ierror)
    requests = MPI_REQUEST_NULL
    call MPI_Irecv(value, 1, MPI_INTEGER, left, 3, MPI_COMM_WORLD, requests(2), ierror)
    call thence_attach(2, requests, count_only, c_loc(seen), 0, MPI_STATUSES_IGNORE, cr, flag, ierror)
    call check(ierror == MPI_SUCCESS .and. .not. flag, 'attached')
    call send(1, 2)
    call send(2, 3)
    call thence_wait(cr, MPI_STATUS_IGNORE, ierror)
    call check(seen%calls == 2 .and. seen%error == MPI_SUCCESS, 'both have run')
  end subroutine

  subroutine several_requests()
    integer, parameter :: n = 70 ! more than any buffer on the stack
    type(record), target, save :: seen
    integer, asynchronous, save :: values(n)
    STATUS, save :: messages MANY(n)
    REQUEST :: requests(2 * n)
    logical :: flag
    integer :: i
    call rule('several_requests')
    requests = MPI_REQUEST_NULL
    do i = 1, n
      call MPI_Irecv(values(i), 1, MPI_INTEGER, left, 10 + i, MPI_COMM_WORLD, requests(2 * i - 1), ierror)
    end do
    ! A section of the requests, of which the module takes every second.
    call thence_attach(n, requests(1::2), note, c_loc(seen), 0, messages, cr, flag, ierror)
    call check(ierror == MPI_SUCCESS .and. .not. flag .and. all_null(requests), 'a section of requests')
    do i = n, 1, -1
      call check(seen%calls == 0, 'not before all are complete')
      call send(i + 1000 * rank, 10 + i)
    end do
    call MPI_Wait(cr, MPI_STATUS_IGNORE, ierror)
    call check(seen%calls == 1 .and. seen%tag == 11, 'one callback for all')
    call check(all(values == [(i + 1000 * left, i = 1, n)]), 'all messages are there')
    do i = 1, n
      call check(TAG_AT(messages, i) == 10 + i .and. SOURCE_AT(messages, i) == left, 'each status')
    end do
  end subroutine

  logical function all_null(requests)
    REQUEST, intent(in) :: requests(:)
    integer :: i
    all_null = .true.
    do i = 1, size(requests)
      all_null = all_null .and. requests(i) == MPI_REQUEST_NULL
    end do
  end function

  subroutine objects()
    type(record), target, save :: seen
    character(8), target, save :: text = 'none 123'
    integer, asynchronous, save :: values(3)
    STATUS, save :: messages MANY(3)
    REQUEST :: requests(3)
    logical :: flag
    integer :: i
    call rule('objects')
    do i = 1, 3
      call MPI_Irecv(values(i), 1, MPI_INTEGER, left, 90 + i, MPI_COMM_WORLD, requests(i), ierror)
    end do
    call thence_attach_object(requests(1), note_object, seen, 0, AT(messages, 1), cr, flag, ierror)
    call check(ierror == MPI_SUCCESS .and. .not. flag, 'attached')
    call thence_attach_object(2, requests(2:3), note_object, text, 0, messages, cr, flag, ierror)
    do i = 1, 3
      call send(i, 90 + i)
    end do
    call thence_wait(cr, MPI_STATUS_IGNORE, ierror)
    call check(seen%calls == 1 .and. seen%error == MPI_SUCCESS, 'a type of the program')
    call check(text == 'seen 123', 'a character string keeps its length')
  end subroutine

  subroutine each_of_several()
    integer, parameter :: n = 5
    type(record), target, save :: seen(n)
    integer, asynchronous, save :: values(n)
    STATUS, save :: messages MANY(n)
    REQUEST :: requests(n)
    integer :: i, done, indices(n)
    call rule('each_of_several')
    do i = 1, n
      requests(i) = MPI_REQUEST_NULL ! the third is complete
      if (i /= 3) call MPI_Irecv(values(i), 1, MPI_INTEGER, left, 100 + i, MPI_COMM_WORLD, requests(i), ierror)
    end do
    call thence_attach_each(n, requests, note_each, c_loc(seen), 0, messages, cr, done, indices, ierror)
    call check(ierror == MPI_SUCCESS .and. done == 1 .and. indices(1) == 3, 'indices count from 1')
    do i = 1, n
      if (i /= 3) call send(i, 100 + i)
    end do
    call thence_wait(cr, MPI_STATUS_IGNORE, ierror)
    call check(all(seen%calls == [1, 1, 0, 1, 1]), 'one callback each')
    call check(all(pack(seen%tag, seen%calls == 1) == [101, 102, 104, 105]), 'each with its status')
  end subroutine

  subroutine persistent()
    type(record), target, save :: seen
    integer, asynchronous, save :: value
    STATUS, save :: message ONE
    REQUEST :: request, kept
    logical :: flag
    integer :: i
    call rule('persistent')
    call MPI_Recv_init(value, 1, MPI_INTEGER, left, 4, MPI_COMM_WORLD, request, ierror)
    kept = request
    do i = 1, 3
      call MPI_Start(request, ierror)
      call thence_attach(request, note, c_loc(seen), THENCE_PERSISTENT, message, cr, flag, ierror)
      call check(ierror == MPI_SUCCESS .and. request == kept, 'it stays usable')
      call send(i, 4)
      call thence_wait(cr, MPI_STATUS_IGNORE, ierror)
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
      call check(seen%calls == i .and. value == i, 'each time')
    end do
    call MPI_Request_free(request, ierror)
  end subroutine

  subroutine failed()
    type(record), target, save :: seen
    integer, asynchronous, save :: value
    STATUS, save :: message ONE
    type(c_ptr) :: contexts(2), of_seen
    REQUEST :: request, own
    logical :: flag
    integer :: count
    type(thence_cr_info) :: info
    call rule('failed')
    call thence_cr_create(THENCE_CR_REPORT_FAILED, -1, MPI_INFO_NULL, own, ierror)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
    call MPI_Irecv(value, 1, MPI_INTEGER, left, 5, MPI_COMM_WORLD, request, ierror)
    seen%leaves = MPI_ERR_OTHER
    call thence_attach(request, note, c_loc(seen), 0, message, own, flag, ierror)
    call send(1, 5)
    call thence_wait(own, MPI_STATUS_IGNORE, ierror)
    call check(ierror == MPI_ERR_OTHER .and. seen%calls == 1, 'what a callback leaves as error is reported')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierror)
    call thence_cr_query(own, info, ierror)
    call check(info%failed == 1 .and. iand(info%flags, THENCE_CR_REPORT_FAILED) /= 0, 'thence_cr_query')
    count = 2
    call thence_get_failed(own, count, contexts, ierror)
    call check(ierror == MPI_SUCCESS .and. count == 1, 'thence_get_failed gives one')
    of_seen = c_loc(seen)
    call check(c_associated(contexts(1), of_seen), 'its context')
    call thence_free(own, ierror)
  end subroutine

  subroutine cancelled()
    type(record), target, save :: seen
    integer, asynchronous, save :: value
    STATUS, save :: message ONE
    REQUEST :: request
    logical :: flag
    call rule('cancelled')
    call MPI_Irecv(value, 1, MPI_INTEGER, left, 6, MPI_COMM_WORLD, request, ierror)
    call thence_attach(request, note, c_loc(seen), 0, message, cr, flag, ierror)
    call thence_cancel(cr, ierror)
    call thence_wait(cr, MPI_STATUS_IGNORE, ierror)
    call MPI_Test_cancelled(message, flag, ierror)
    call check(flag .and. seen%calls == 1, 'the status says it')
  end subroutine

  subroutine started()
    type(record), target, save :: seen
    REQUEST :: request, own
    logical :: flag
    call rule('started')
    call thence_cr_create(ior(THENCE_CR_NEEDS_START, THENCE_CR_ENQUEUE_COMPLETE), -1, MPI_INFO_NULL, own, ierror)
    request = MPI_REQUEST_NULL
    call thence_attach(request, count_only, c_loc(seen), 0, MPI_STATUS_IGNORE, own, flag, ierror)
    call thence_progress(ierror)
    call check(seen%calls == 0, 'not before its start')
    call thence_start(own, ierror)
    call thence_wait(own, MPI_STATUS_IGNORE, ierror)
    call check(ierror == MPI_SUCCESS .and. seen%calls == 1, 'after it')
    call thence_free(own, ierror)
  end subroutine

  subroutine queries()
    type(thence_info) :: info
    type(thence_stats_info) :: stats
    REQUEST :: request
    integer :: count, value
    logical :: flag
    call rule('queries')
    call thence_query(info, ierror)
    call check(ierror == MPI_SUCCESS .and. info%version == '0.1.0', 'version ' // info%version)
    call check(info%interposed .and. .not. allocated(info%interposed_why), 'interposed')
    call check(info%fortran == 'calls come to libthence', 'fortran: ' // info%fortran)
    call check(info%thread_level == provided, 'thread level')
    call check(len(info%mpi) > 0 .and. len(info%engine) > 0 .and. len(info%helper) > 0, 'texts')
    call thence_stats_query(stats, ierror)
    call check(stats%outstanding == 0 .and. stats%completed >= 10, 'counters')
    call thence_progress_some(count, ierror)
    call check(ierror == MPI_SUCCESS .and. count == 0, 'thence_progress_some')
    call MPI_Irecv(value, 1, MPI_INTEGER, 0, 7, MPI_COMM_SELF, request, ierror)
    call check(.not. thence_request_is_complete(request), 'a receive that is pending')
    call thence_take_complete(request, flag, MPI_STATUS_IGNORE, ierror)
    call check(.not. flag .and. request /= MPI_REQUEST_NULL, 'cannot be taken')
    call MPI_Send(rank, 1, MPI_INTEGER, 0, 7, MPI_COMM_SELF, ierror)
    do while (request /= MPI_REQUEST_NULL)
      call thence_progress(ierror)
      call thence_take_complete(request, flag, MPI_STATUS_IGNORE, ierror)
    end do
    call check(flag .and. value == rank, 'taken')
    if (info%any_thread) then
      call thence_start_progress_thread(ierror)
      call check(ierror == MPI_SUCCESS, 'progress thread')
      call thence_stop_progress_thread(ierror)
      call check(ierror == MPI_SUCCESS, 'it is stopped')
    end if
  end subroutine

end program
