! SPDX-License-Identifier: BSD-3-Clause
! TAMPI for programs with `use mpi_f08`: TAMPI_Iwait and TAMPI_Iwaitall for its types, with `ierror` optional. The other
! calls are those of the module tampi.
module tampi_f08
  use mpi_f08, only: MPI_Request, MPI_Status, MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE
  use, intrinsic :: iso_c_binding, only: c_int, c_char, c_null_char
  use tampi, only: TAMPI_Init, TAMPI_Finalize, TAMPI_Property_get, TAMPI_Property_set, TAMPI_Blocking_enabled, &
                   TAMPI_Nonblocking_enabled, MPI_TASK_MULTIPLE, TAMPI_PROPERTY_BLOCKING_MODE, &
                   TAMPI_PROPERTY_NONBLOCKING_MODE, TAMPI_PROPERTY_AUTO_INIT, TAMPI_PROPERTY_THREAD_TASKAWARE
  implicit none
  private ! naming MPI_STATUS_IGNORE here would make gfortran look for it in this library alone
  public :: TAMPI_Iwait, TAMPI_Iwaitall, TAMPI_Init, TAMPI_Finalize, TAMPI_Property_get, TAMPI_Property_set
  public :: TAMPI_Blocking_enabled, TAMPI_Nonblocking_enabled, MPI_TASK_MULTIPLE, TAMPI_PROPERTY_BLOCKING_MODE
  public :: TAMPI_PROPERTY_NONBLOCKING_MODE, TAMPI_PROPERTY_AUTO_INIT, TAMPI_PROPERTY_THREAD_TASKAWARE

  interface ! tampi_calls.cpp
    integer(c_int) function f_iwait(request, status_of_it, ignored) bind(c, name="thence_tampi_f_iwait")
      import
      integer(c_int), intent(inout) :: request
      type(MPI_Status), intent(inout) :: status_of_it, ignored
    end function
    integer(c_int) function f_iwaitall(count, requests, statuses, ignored) bind(c, name="thence_tampi_f_iwaitall")
      import
      integer(c_int), value :: count
      integer(c_int), intent(inout) :: requests(*)
      type(MPI_Status), intent(inout) :: statuses(*), ignored(*)
    end function
    integer(c_int) function f_same(first, second) bind(c, name="thence_tampi_f_same")
      import
      type(MPI_Status), intent(inout) :: first(*), second(*)
    end function
    integer(c_int) function f_refuse(call_name, why) bind(c, name="thence_tampi_f_refuse")
      import
      character(kind=c_char), intent(in) :: call_name(*), why(*)
    end function
  end interface
#include "refusals.inc"

contains

  subroutine TAMPI_Iwait(request, status_of_it, ierror)
    type(MPI_Request), intent(inout) :: request
    type(MPI_Status), intent(inout), asynchronous :: status_of_it
    integer, optional, intent(out) :: ierror
    integer :: code
    code = f_iwait(request%MPI_VAL, status_of_it, MPI_STATUS_IGNORE)
    if (present(ierror)) ierror = code
  end subroutine

  ! In a task the statuses are written after this call has returned: a section with gaps is refused, since the compiler
  ! would pass a copy.
  subroutine TAMPI_Iwaitall(count, requests, statuses, ierror)
    integer, intent(in) :: count
    type(MPI_Request), intent(inout) :: requests(*)
    type(MPI_Status), intent(inout), asynchronous :: statuses(:)
    integer, optional, intent(out) :: ierror
    integer :: handles(max(count, 0)), code
    logical :: is_short
    is_short = count > size(statuses)
    if (is_short) is_short = f_same(statuses, MPI_STATUSES_IGNORE) == 0
    if (is_short .or. (count > 0 .and. .not. is_contiguous(statuses))) then
      if (is_short) code = f_refuse("TAMPI_Iwaitall" // c_null_char, short_array)
      if (.not. is_short) code = f_refuse("TAMPI_Iwaitall" // c_null_char, sections)
      if (present(ierror)) ierror = code
      return
    end if
    handles = requests(1:count)%MPI_VAL
    code = f_iwaitall(count, handles, statuses, MPI_STATUSES_IGNORE)
    requests(1:count)%MPI_VAL = handles
    if (present(ierror)) ierror = code
  end subroutine

end module
