! SPDX-License-Identifier: BSD-3-Clause
! A program with mpif.h, for a compiler that cannot read the modules of MPI.
module actions
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  implicit none
  include 'mpif.h'
  public

contains

  subroutine add_tag(error, statuses, context)
    integer, intent(inout) :: error
    integer, intent(inout) :: statuses(MPI_STATUS_SIZE, *)
    type(c_ptr), intent(in) :: context
    integer, pointer :: sum
    call c_f_pointer(context, sum)
    if (error == MPI_SUCCESS) sum = sum + statuses(MPI_TAG, 1)
  end subroutine

  subroutine add_to_object(error, statuses, context)
    integer, intent(inout) :: error
    integer, intent(inout) :: statuses(MPI_STATUS_SIZE, *)
    class(*), intent(inout) :: context
    select type (context)
    type is (integer)
      if (error == MPI_SUCCESS) context = context + statuses(MPI_TAG, 2)
    end select
  end subroutine

  subroutine add_index(index, error, status_of_it, context)
    integer, intent(in) :: index
    integer, intent(inout) :: error
    integer, intent(inout) :: status_of_it(MPI_STATUS_SIZE)
    type(c_ptr), intent(in) :: context
    integer, pointer :: sum
    call c_f_pointer(context, sum)
    sum = sum + 100 * index + status_of_it(MPI_TAG)
    if (index == 2) error = MPI_ERR_OTHER
  end subroutine

end module

program with_mpif
  use thence
  use actions
  use, intrinsic :: iso_c_binding, only: c_ptr, c_loc, c_associated
  implicit none
  integer :: ierror, i, cr, reporting, requests(6), provided, values(6), done, indices(2), count
  integer :: statuses(MPI_STATUS_SIZE, 6)
  integer, target, save :: sums(3) = 0
  type(c_ptr) :: contexts(2), expected
  type(thence_info) :: info
  logical :: flag

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
  call thence_cr_create(0, -1, MPI_INFO_NULL, cr, ierror)
  call thence_cr_create(THENCE_CR_REPORT_FAILED, -1, MPI_INFO_NULL, reporting, ierror)
  do i = 1, 6
    call MPI_Irecv(values(i), 1, MPI_INTEGER, 0, i, MPI_COMM_SELF, requests(i), ierror)
  end do
  call thence_attach(requests(1), add_tag, c_loc(sums(1)), 0, statuses(:, 1), cr, flag, ierror)
  call thence_attach(3, requests(2:4), add_tag, c_loc(sums(1)), 0, statuses(:, 2:4:2), cr, flag, ierror)
  if (ierror /= MPI_ERR_ARG) error stop 'statuses with gaps are refused'
  call thence_attach_object(3, requests(2:4), add_to_object, sums(2), 0, statuses(:, 2:4), cr, flag, ierror)
  call thence_attach_each(2, requests(5:6), add_index, c_loc(sums(3)), 0, statuses(:, 5:6), reporting, done, indices, ierror)
  if (done /= 0 .or. any(requests /= MPI_REQUEST_NULL)) error stop 'they are attached'
  do i = 1, 6
    call MPI_Send(i, 1, MPI_INTEGER, 0, i, MPI_COMM_SELF, ierror)
  end do
  call thence_wait(cr, MPI_STATUS_IGNORE, ierror)
  if (ierror /= MPI_SUCCESS) error stop 'thence_wait'
  call MPI_Wait(reporting, MPI_STATUS_IGNORE, ierror)
  if (ierror /= MPI_ERR_OTHER) error stop 'MPI_Wait reports what a callback leaves'
  if (any(sums /= [1, 3, 311])) error stop 'each callback has its status and context'
  count = 2
  call thence_get_failed(reporting, count, contexts)
  expected = c_loc(sums(3))
  if (count /= 1 .or. .not. c_associated(contexts(1), expected)) error stop 'thence_get_failed'
  call thence_query(info)
  if (info%fortran /= 'calls come to libthence') error stop 'thence_query'
  call thence_free(cr, ierror)
  call MPI_Request_free(reporting, ierror)
  call MPI_Finalize(ierror)
end program
