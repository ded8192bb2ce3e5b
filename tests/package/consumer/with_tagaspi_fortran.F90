! SPDX-License-Identifier: BSD-3-Clause
! GASPI and TAGASPI outside of a task: a notification arrives, and is taken.
program with_tagaspi_fortran
  use tagaspi
  use, intrinsic :: iso_c_binding, only: c_loc
  implicit none
  integer(gaspi_segment_id_t), parameter :: segment = 0
  integer(gaspi_queue_id_t), parameter :: queue = 0
  integer(gaspi_rank_t) :: rank
  integer(gaspi_notification_t), target :: seen
  if (tagaspi_proc_init(GASPI_BLOCK) /= GASPI_SUCCESS) error stop 'tagaspi_proc_init'
  if (gaspi_proc_rank(rank) /= GASPI_SUCCESS) error stop 'gaspi_proc_rank'
  if (gaspi_segment_create(segment, 64_gaspi_size_t, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED) &
      /= GASPI_SUCCESS) error stop 'gaspi_segment_create'
  if (tagaspi_notify(segment, rank, 3, 42, queue) /= GASPI_SUCCESS) error stop 'tagaspi_notify'
  if (tagaspi_notify_iwait(segment, 3, c_loc(seen)) /= GASPI_SUCCESS) error stop 'tagaspi_notify_iwait'
  if (seen /= 42) error stop 'the notification has another value'
  if (tagaspi_proc_term(GASPI_BLOCK) /= GASPI_SUCCESS) error stop 'tagaspi_proc_term'
end program
