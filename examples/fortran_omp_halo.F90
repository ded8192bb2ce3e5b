! SPDX-License-Identifier: BSD-3-Clause
! OpenMP detached tasks in Fortran: a ring of cells, split among ranks and blocks. The task that exchanges the halo is
! detached: its thread updates other blocks meanwhile, and the blocks at the border start when the messages have arrived.
! No task ever waits. Usage: mpirun -n N fortran_omp_halo (any N, no arguments; any OMP_NUM_THREADS). Compile with
! -fopenmp and link thence-fortran.
module halo
  use mpi_f08
  use thence_f08
  use omp_lib, only: omp_event_handle_kind, omp_fulfill_event
  use, intrinsic :: iso_c_binding, only: c_ptr, c_null_ptr
  implicit none

  integer, parameter :: blocks = 4, block_size = 64, local = blocks * block_size, steps = 40
  ! Two generations; cell(0, g) and cell(local + 1, g) are the halo.
  integer, asynchronous, save :: cell(0:local + 1, 0:1) = 0
  integer, save :: left, right
  type(MPI_Request), save :: cr

contains

  pure integer function next_value(from_left, self, from_right)
    integer, intent(in) :: from_left, self, from_right
    next_value = modulo(3 * from_left + 5 * self + 7 * from_right + 1, 65536)
  end function

  pure integer function first_value(global)
    integer, intent(in) :: global
    first_value = modulo(40503 * (global + 1), 65536)
  end function

  ! The callback: what depends on the task may start.
  subroutine fulfil(error, statuses, context)
    integer, intent(inout) :: error
    type(MPI_Status), intent(inout) :: statuses(*)
    type(c_ptr), intent(in) :: context
    integer :: ierror
    if (error /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, error, ierror)
    call omp_fulfill_event(transfer(context, 0_omp_event_handle_kind))
  end subroutine

  subroutine exchange(g, event)
    integer, intent(in) :: g
    integer(omp_event_handle_kind), intent(in) :: event
    type(MPI_Request) :: requests(4)
    logical :: complete
    call MPI_Irecv(cell(0, g), 1, MPI_INTEGER, left, 0, MPI_COMM_WORLD, requests(1))
    call MPI_Irecv(cell(local + 1, g), 1, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(2))
    call MPI_Isend(cell(local, g), 1, MPI_INTEGER, right, 0, MPI_COMM_WORLD, requests(3))
    call MPI_Isend(cell(1, g), 1, MPI_INTEGER, left, 1, MPI_COMM_WORLD, requests(4))
    call thence_attach(4, requests, fulfil, transfer(event, c_null_ptr), 0, MPI_STATUSES_IGNORE, cr, complete)
    if (complete) call omp_fulfill_event(event)
  end subroutine

  subroutine update(g, b)
    integer, intent(in) :: g, b
    integer :: i
    do i = (b - 1) * block_size + 1, b * block_size
      cell(i, 1 - g) = next_value(cell(i - 1, g), cell(i, g), cell(i + 1, g))
    end do
  end subroutine

  ! All tasks of all steps; their dependences order them. dep(0, g) and dep(blocks + 1, g) stand for the halo.
  subroutine create_tasks()
    integer, save :: dep(0:blocks + 1, 0:1)
    integer :: step, g, h, b
    integer(omp_event_handle_kind) :: event
    do step = 0, steps - 1
      g = modulo(step, 2)
      h = 1 - g
      !$omp task detach(event) firstprivate(g) depend(in: dep(1, g), dep(blocks, g)) &
      !$omp & depend(out: dep(0, g), dep(blocks + 1, g))
      call exchange(g, event)
      !$omp end task
      do b = 1, blocks
        !$omp task firstprivate(g, b) depend(in: dep(b - 1, g), dep(b, g), dep(b + 1, g)) depend(out: dep(b, h))
        call update(g, b)
        !$omp end task
      end do
    end do
  end subroutine

  ! The same steps on the whole ring, without MPI: the number of cells of this rank that differ.
  integer function count_wrong(rank, ranks)
    integer, intent(in) :: rank, ranks
    integer, allocatable :: ring(:)
    integer :: i, step
    allocate(ring(0:ranks * local - 1))
    ring = [(first_value(i), i = 0, ranks * local - 1)]
    do step = 1, steps
      ring = next_values(cshift(ring, -1), ring, cshift(ring, 1))
    end do
    count_wrong = count(cell(1:local, modulo(steps, 2)) /= ring(rank * local:(rank + 1) * local - 1))
  end function

  elemental integer function next_values(from_left, self, from_right)
    integer, intent(in) :: from_left, self, from_right
    next_values = next_value(from_left, self, from_right)
  end function

end module

program fortran_omp_halo
  use halo
  implicit none
  integer :: rank, ranks, provided, wrong, i

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided)
  if (provided < MPI_THREAD_MULTIPLE) error stop 'this MPI does not provide MPI_THREAD_MULTIPLE'
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  left = modulo(rank - 1, ranks)
  right = modulo(rank + 1, ranks)
  cell(1:local, 0) = [(first_value(rank * local + i - 1), i = 1, local)]

  ! The helper thread of the library makes progress while all OpenMP threads wait.
  call thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, cr)
  !$omp parallel
  !$omp single
  call create_tasks()
  !$omp end single
  !$omp end parallel
  call MPI_Wait(cr, MPI_STATUS_IGNORE)
  call MPI_Request_free(cr)

  wrong = count_wrong(rank, ranks)
  if (wrong > 0) print '(a,i0,a,i0,a)', 'rank ', rank, ': ', wrong, ' cells are wrong'
  if (wrong == 0 .and. rank == 0) print '(i0,a,i0,a)', ranks * local, ' cells, ', steps, ' steps: correct'
  call MPI_Finalize()
  if (wrong > 0) error stop 1
end program
