! SPDX-License-Identifier: BSD-3-Clause
! GASPI, and TAGASPI from tasks of the data-flow layer: a task that waits for a notification is complete when that has arrived,
! a task that reads when it has the data.
module tasks
  use tagaspi
  use, intrinsic :: iso_c_binding, only: c_char, c_f_pointer, c_funloc, c_funptr, c_int, c_loc, c_null_char, c_ptr
  implicit none
  integer, parameter :: many = 8 ! notifications, and tasks that wait for them
  integer(gaspi_segment_id_t), parameter :: segment = 1
  integer(gaspi_queue_id_t), parameter :: queue = 0
  integer(gaspi_size_t), parameter :: block = 8 ! bytes
  integer, target, save :: numbers(many)
  integer(gaspi_notification_t), target, save :: seen(many) = 0
  integer(gaspi_rank_t), save :: left, right
  logical, volatile, save :: has_run(many) = .false., complete(many) = .false.
  integer, save :: wrong = 0

  interface
    integer(c_int) function thence_flow_spawn(body, args, completed, completed_args, label) bind(c)
      import
      type(c_funptr), value :: body, completed
      type(c_ptr), value :: args, completed_args
      character(kind=c_char), intent(in) :: label(*)
    end function
    type(c_ptr) function thence_flow_task_runtime() bind(c)
      import
    end function
    integer(c_int) function thence_task_runtime_add(table) bind(c)
      import
      type(c_ptr), value :: table
    end function
    integer(c_int) function usleep(microseconds) bind(c)
      import
      integer(c_int), value :: microseconds
    end function
  end interface

contains

  subroutine wait_for_notification(argument) bind(c)
    type(c_ptr), value :: argument
    integer, pointer :: i
    call c_f_pointer(argument, i)
    if (tagaspi_notify_iwait(segment, i, c_loc(seen(i))) /= GASPI_SUCCESS) wrong = wrong + 1
    has_run(i) = .true.
  end subroutine

  ! Block i of the left rank, behind the blocks that others write to.
  subroutine read_block(argument) bind(c)
    type(c_ptr), value :: argument
    integer, pointer :: i
    integer(gaspi_offset_t) :: to
    call c_f_pointer(argument, i)
    to = (many + i - 1) * block
    if (tagaspi_read(segment, to, left, segment, to - many * block, block, queue) /= GASPI_SUCCESS) wrong = wrong + 1
    has_run(i) = .true.
  end subroutine

  subroutine completed(argument) bind(c)
    type(c_ptr), value :: argument
    integer, pointer :: i
    call c_f_pointer(argument, i)
    complete(i) = .true.
  end subroutine

  ! Starts `many` tasks, and returns when their bodies have run.
  logical function start_tasks(body)
    interface
      subroutine body(argument) bind(c)
        import
        type(c_ptr), value :: argument
      end subroutine
    end interface
    integer :: i
    has_run = .false.
    complete = .false.
    start_tasks = .true.
    do i = 1, many
      numbers(i) = i
      start_tasks = start_tasks .and. thence_flow_spawn(c_funloc(body), c_loc(numbers(i)), c_funloc(completed), &
                                                        c_loc(numbers(i)), 'task' // c_null_char) == 0
    end do
    start_tasks = start_tasks .and. all_become_true(has_run)
  end function

  ! Waits up to 50 seconds.
  logical function all_become_true(flags)
    logical, volatile, intent(inout) :: flags(:)
    integer :: n, code
    all_become_true = .false.
    do n = 1, 50000
      if (all(flags)) then
        all_become_true = .true.
        return
      end if
      code = usleep(1000)
    end do
  end function

end module

program tagaspi_test
  use mpi
  use tasks
  use checks
  implicit none
  integer :: provided, ierror, i, code
  integer(gaspi_rank_t) :: rank, ranks
  integer(gaspi_notification_id_t) :: first
  integer(gaspi_notification_t) :: value
  integer(gaspi_number_t) :: number
  integer(gaspi_size_t), pointer :: values(:)
  type(c_ptr) :: memory

  code = thence_task_runtime_add(thence_flow_task_runtime())
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, ierror)
  if (provided < MPI_THREAD_MULTIPLE) then
    call MPI_Finalize(ierror)
    stop 77
  end if

  call rule('beginning')
  call check(gaspi_proc_rank(rank) == GASPI_ERR_NOINIT, 'a call before it')
  call check(tagaspi_proc_init(GASPI_BLOCK) == GASPI_SUCCESS, 'tagaspi_proc_init')
  call check(gaspi_proc_rank(rank) == GASPI_SUCCESS .and. gaspi_proc_num(ranks) == GASPI_SUCCESS, 'ranks')
  left = int(modulo(rank - 1, int(ranks)), gaspi_rank_t)
  right = int(modulo(rank + 1, int(ranks)), gaspi_rank_t)
  call check(gaspi_segment_create(segment, 3 * many * block, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED) &
             == GASPI_SUCCESS, 'a segment')
  call check(gaspi_segment_ptr(segment, memory) == GASPI_SUCCESS, 'its address')
  call c_f_pointer(memory, values, [3 * many])
  call check(all(values == 0), 'its memory')
  call check(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK) == GASPI_SUCCESS, 'a barrier') ! before a neighbour writes

  call rule('GASPI')
  values(2 * many + 1) = 100 + rank
  call check(gaspi_write_notify(segment, 2 * many * block, right, segment, 0_gaspi_offset_t, block, 5, 7, queue, &
                                GASPI_BLOCK) == GASPI_SUCCESS, 'gaspi_write_notify')
  call check(gaspi_notify_waitsome(segment, 0, 10, first, GASPI_BLOCK) == GASPI_SUCCESS .and. first == 5, 'it arrives')
  call check(gaspi_notify_reset(segment, first, value) == GASPI_SUCCESS .and. value == 7, 'with its value')
  call check(values(1) == 100 + left, 'and data')
  call check(gaspi_wait(queue, GASPI_BLOCK) == GASPI_SUCCESS, 'gaspi_wait')
  call check(gaspi_notify_waitsome(segment, 0, 10, first, GASPI_TEST) == GASPI_TIMEOUT, 'GASPI_TEST does not wait')
  call check(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK) == GASPI_SUCCESS, 'GASPI_BLOCK waits')
  call check(gaspi_segment_num(number) == GASPI_SUCCESS .and. number == 1, 'a number')
  call check(gaspi_segment_delete(9_gaspi_segment_id_t) == GASPI_ERR_INV_SEG, 'a segment that does not exist')
  call check(gaspi_notify(segment, right, 1, 0, queue, GASPI_BLOCK) == GASPI_ERR_INV_NOTIF_VAL, 'the value 0')

  call rule('tasks that wait for notifications')
  call check(start_tasks(wait_for_notification), 'their bodies return')
  code = usleep(20000)
  call check(.not. any(complete) .and. wrong == 0, 'none is complete before its notification')
  call check(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK) == GASPI_SUCCESS, 'a barrier')
  do i = many, 1, -1
    values(2 * many + i) = 1000 * rank + i
    call check(tagaspi_write_notify(segment, (2 * many + i - 1) * block, right, segment, (i - 1) * block, block, i, 10 * i, &
                                    queue) == GASPI_SUCCESS, 'tagaspi_write_notify outside of a task')
  end do
  call check(all_become_true(complete), 'then all are')
  call check(all(seen == [(10 * i, i = 1, many)]), 'with the values')
  call check(all(values(:many) == [(1000 * left + i, i = 1, many)]), 'and data')
  call check(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK) == GASPI_SUCCESS, 'a barrier')

  call rule('tasks that read')
  call check(start_tasks(read_block), 'their bodies return')
  call check(all_become_true(complete) .and. wrong == 0, 'they become complete')
  call check(all(values(many + 1:2 * many) == [(1000 * modulo(left - 1, int(ranks)) + i, i = 1, many)]), 'with the data')

  call rule('the end')
  call check(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK) == GASPI_SUCCESS, 'a barrier')
  call check(tagaspi_proc_term(GASPI_BLOCK) == GASPI_SUCCESS, 'tagaspi_proc_term')
  call finish(35)
end program
