! SPDX-License-Identifier: BSD-3-Clause
! A program that knows nothing of Thence. The test preloads libthence with THENCE_PROGRESS=always and THENCE_WAIT=sleep:
! MPI has a higher level of threads than the program asked for and is told, and a rank that waits a second in MPI_Recv
! leaves the processor. Another test asks for a report, and counts the seven nonblocking operations of each rank there.
#include "kinds.h"
program unchanged
  use MPI_MODULE
  use, intrinsic :: iso_c_binding, only: c_int
  use checks
  implicit none
  interface
    integer(c_int) function usleep(microseconds) bind(c)
      import
      integer(c_int), value :: microseconds
    end function
    ! The function of C itself, which libthence does not interpose.
    integer(c_int) function level_of_mpi(level) bind(c, name="PMPI_Query_thread")
      import
      integer(c_int), intent(inout) :: level
    end function
  end interface
  integer :: rank, ierror, told, value, other, round
  integer, asynchronous :: sent, got
  integer(c_int) :: code, level
  real :: before, after
  STATUS :: message ONE
  STATUS :: messages MANY(2)
  REQUEST :: requests(2)

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call rule('a higher level')
  level = -1
  code = level_of_mpi(level)
  call MPI_Query_thread(told, ierror)
  call check(level == MPI_THREAD_MULTIPLE, 'MPI has it')
  call check(told == MPI_THREAD_SINGLE, 'the program is told what it asked for')

  call rule('a rank that waits leaves the processor')
  value = 0
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call cpu_time(before)
  if (rank == 0) then
    code = usleep(999999)
    call MPI_Send(42, 1, MPI_INTEGER, 1, 0, MPI_COMM_WORLD, ierror)
  else if (rank == 1) then
    call MPI_Recv(value, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, message, ierror)
    call cpu_time(after)
    call check(value == 42 .and. SOURCE_OF(message) == 0, 'the message is there')
    call check(after - before < 0.5, 'in MPI_Recv')
  end if

  call rule('nonblocking operations of two ranks')
  other = 1 - rank
  do round = 1, 3
    sent = 10 * rank + round
    got = -1
    call MPI_Irecv(got, 1, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Isend(sent, 1, MPI_INTEGER, other, 1, MPI_COMM_WORLD, requests(2), ierror)
    call MPI_Waitall(2, requests, messages, ierror)
    call check(got == 10 * other + round, 'the message is there')
  end do
  call MPI_Ibarrier(MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Wait(requests(1), message, ierror)
  call finish(5)
end program
