! SPDX-License-Identifier: BSD-3-Clause
! TAMPI for programs with `use mpi` or mpif.h. What the calls do: <TAMPI.h>. TAMPIf.h has the wrappers, TAMPI_Isend etc.
module tampi
  use mpi, only: MPI_STATUS_SIZE, MPI_THREAD_MULTIPLE
  implicit none
  private
  public :: TAMPI_Iwait, TAMPI_Iwaitall, TAMPI_Init, TAMPI_Finalize, TAMPI_Property_get, TAMPI_Property_set
  public :: TAMPI_Blocking_enabled, TAMPI_Nonblocking_enabled

  integer, parameter, public :: MPI_TASK_MULTIPLE = MPI_THREAD_MULTIPLE + 1
  integer, parameter, public :: TAMPI_PROPERTY_BLOCKING_MODE = 1
  integer, parameter, public :: TAMPI_PROPERTY_NONBLOCKING_MODE = 2
  integer, parameter, public :: TAMPI_PROPERTY_AUTO_INIT = 3
  integer, parameter, public :: TAMPI_PROPERTY_THREAD_TASKAWARE = 4

  interface ! tampi_calls.cpp
    subroutine TAMPI_Iwait(request, status_of_it, ierror)
      import
      integer, intent(inout) :: request
      integer, intent(inout), asynchronous :: status_of_it(MPI_STATUS_SIZE)
      integer, intent(out) :: ierror
    end subroutine
    subroutine TAMPI_Iwaitall(count, requests, statuses, ierror)
      import
      integer, intent(in) :: count
      integer, intent(inout) :: requests(*)
      integer, intent(inout), asynchronous :: statuses(MPI_STATUS_SIZE, *)
      integer, intent(out) :: ierror
    end subroutine
    subroutine TAMPI_Init(required, provided, ierror)
      integer, intent(in) :: required
      integer, intent(inout) :: provided
      integer, intent(out) :: ierror
    end subroutine
    subroutine TAMPI_Finalize(ierror)
      integer, intent(out) :: ierror
    end subroutine
    subroutine TAMPI_Property_get(property, value, ierror)
      integer, intent(in) :: property
      integer, intent(inout) :: value
      integer, intent(out) :: ierror
    end subroutine
    subroutine TAMPI_Property_set(property, value, ierror)
      integer, intent(in) :: property, value
      integer, intent(out) :: ierror
    end subroutine
    subroutine TAMPI_Blocking_enabled(flag, ierror)
      integer, intent(inout) :: flag
      integer, intent(out) :: ierror
    end subroutine
    subroutine TAMPI_Nonblocking_enabled(flag, ierror)
      integer, intent(inout) :: flag
      integer, intent(out) :: ierror
    end subroutine
  end interface

end module
