! SPDX-License-Identifier: BSD-3-Clause
! Checks of the test programs: each that fails prints its line, and the program ends with 1.
module checks
  use mpi
  implicit none
  private
  public :: check, rule, finish
  integer :: failures = 0, made = 0
  character(80) :: current = ''

contains

  subroutine rule(name) ! what the next checks hold
    character(*), intent(in) :: name
    current = name
  end subroutine

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    integer :: rank, ierror
    made = made + 1
    if (holds) return
    failures = failures + 1
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    print '(4a,i0,a)', 'FAILED ', trim(current), ': ', what // ' (rank ', rank, ')'
  end subroutine

  subroutine finish(least) ! `least`: how many checks there are at least
    integer, intent(in) :: least
    integer :: ierror, worst
    if (made < least) failures = failures + 1
    if (made < least) print '(a,i0,a,i0)', 'FAILED: checks made ', made, ' of ', least
    call MPI_Allreduce(failures, worst, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierror)
    call MPI_Finalize(ierror)
    if (worst /= 0) error stop 1
  end subroutine

end module
