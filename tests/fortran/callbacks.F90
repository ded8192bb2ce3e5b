! SPDX-License-Identifier: BSD-3-Clause
! The callbacks of the test programs. Each writes what it got into its context.
#include "kinds.h"
module callbacks
  use MPI_MODULE
  use, intrinsic :: iso_c_binding, only: c_ptr, c_loc, c_associated, c_f_pointer
  implicit none
  private
  public :: record, note, count_only, leave_error, note_object, note_each, leave_error_of_each

  type :: record
    integer :: calls = 0, error = -1, source = -1, tag = -1
    integer :: leaves = 0 ! what the callback leaves as its error
  end type

contains

  subroutine note(error, statuses, context)
    integer, intent(inout) :: error
    STATUS, intent(inout) :: statuses MANY(*)
    type(c_ptr), intent(in) :: context
    type(record), pointer :: seen
    call c_f_pointer(context, seen)
    seen%calls = seen%calls + 1
    seen%error = error
    seen%source = SOURCE_AT(statuses, 1)
    seen%tag = TAG_AT(statuses, 1)
    if (seen%leaves /= 0) error = seen%leaves
  end subroutine

  subroutine count_only(error, statuses, context) ! there are no statuses
    integer, intent(inout) :: error
    STATUS, intent(inout) :: statuses MANY(*)
    type(c_ptr), intent(in) :: context
    type(record), pointer :: seen
    if (.false.) print *, SOURCE_AT(statuses, 1)
    call c_f_pointer(context, seen)
    seen%calls = seen%calls + 1
    seen%error = error
  end subroutine

  subroutine leave_error(error, statuses, context) ! there are no statuses
    integer, intent(inout) :: error
    STATUS, intent(inout) :: statuses MANY(*)
    type(c_ptr), intent(in) :: context
    type(record), pointer :: seen
    call count_only(error, statuses, context)
    call c_f_pointer(context, seen)
    error = seen%leaves
  end subroutine

  subroutine note_object(error, statuses, context)
    integer, intent(inout) :: error
    STATUS, intent(inout) :: statuses MANY(*)
    class(*), intent(inout) :: context
    select type (context)
    type is (record)
      context%calls = context%calls + 1
      context%error = error
      context%tag = TAG_AT(statuses, 1)
    type is (character(*))
      context = 'seen' // context(5:)
    end select
  end subroutine

  subroutine note_each(index, error, status_of_it, context)
    integer, intent(in) :: index
    integer, intent(inout) :: error
    STATUS, intent(inout) :: status_of_it ONE
    type(c_ptr), intent(in) :: context
    type(record), pointer :: seen(:)
    call c_f_pointer(context, seen, [index])
    seen(index)%calls = seen(index)%calls + 1
    seen(index)%error = error
    seen(index)%tag = TAG_OF(status_of_it)
  end subroutine

  subroutine leave_error_of_each(index, error, status_of_it, context) ! there is no status
    integer, intent(in) :: index
    integer, intent(inout) :: error
    STATUS, intent(inout) :: status_of_it ONE
    type(c_ptr), intent(in) :: context
    type(record), pointer :: seen(:)
    call c_f_pointer(context, seen, [index])
    seen(index)%calls = seen(index)%calls + 1
    error = seen(index)%leaves
  end subroutine

end module
