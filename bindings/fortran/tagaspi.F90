! SPDX-License-Identifier: BSD-3-Clause
! TAGASPI for Fortran, for tasks in C or Fortran. What the calls do: <TAGASPI.h>. The values of notifications are stored when
! the task's events are done: they are given by address (`c_loc`), or are not wanted (GASPI_NOTIFICATION_IGNORE).
module tagaspi
  use gaspi
  use, intrinsic :: iso_c_binding, only: c_int, c_null_ptr, c_ptr, c_signed_char
  implicit none

  integer, parameter :: gaspi_queue_group_id_t = c_signed_char
  integer, parameter :: gaspi_queue_group_policy_t = c_int
  integer(gaspi_queue_group_policy_t), parameter :: GASPI_QUEUE_GROUP_POLICY_DEFAULT = 0
  integer(gaspi_queue_group_policy_t), parameter :: GASPI_QUEUE_GROUP_POLICY_CPU_RR = 1
  type(c_ptr), parameter :: GASPI_NOTIFICATION_IGNORE = c_null_ptr

  interface
    integer(gaspi_return_t) function tagaspi_proc_init(timeout_ms) bind(c)
      import
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function tagaspi_proc_term(timeout_ms) bind(c)
      import
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function tagaspi_write(segment_id_local, offset_local, rank, segment_id_remote, &
        offset_remote, size, queue) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id_local, segment_id_remote
      integer(gaspi_offset_t), value :: offset_local, offset_remote
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_size_t), value :: size
      integer(gaspi_queue_id_t), value :: queue
    end function
    integer(gaspi_return_t) function tagaspi_read(segment_id_local, offset_local, rank, segment_id_remote, &
        offset_remote, size, queue) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id_local, segment_id_remote
      integer(gaspi_offset_t), value :: offset_local, offset_remote
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_size_t), value :: size
      integer(gaspi_queue_id_t), value :: queue
    end function
    integer(gaspi_return_t) function tagaspi_write_list(num, segment_id_local, offset_local, rank, &
        segment_id_remote, offset_remote, size, queue) bind(c)
      import
      integer(gaspi_number_t), value :: num
      type(c_ptr), value :: segment_id_local, offset_local, segment_id_remote, offset_remote, size
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_queue_id_t), value :: queue
    end function
    integer(gaspi_return_t) function tagaspi_read_list(num, segment_id_local, offset_local, rank, &
        segment_id_remote, offset_remote, size, queue) bind(c)
      import
      integer(gaspi_number_t), value :: num
      type(c_ptr), value :: segment_id_local, offset_local, segment_id_remote, offset_remote, size
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_queue_id_t), value :: queue
    end function
    integer(gaspi_return_t) function tagaspi_notify(segment_id_remote, rank, notification_id, &
        notification_value, queue) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id_remote
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_notification_id_t), value :: notification_id
      integer(gaspi_notification_t), value :: notification_value
      integer(gaspi_queue_id_t), value :: queue
    end function
    integer(gaspi_return_t) function tagaspi_write_notify(segment_id_local, offset_local, rank, &
        segment_id_remote, offset_remote, size, notification_id, notification_value, queue) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id_local, segment_id_remote
      integer(gaspi_offset_t), value :: offset_local, offset_remote
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_size_t), value :: size
      integer(gaspi_notification_id_t), value :: notification_id
      integer(gaspi_notification_t), value :: notification_value
      integer(gaspi_queue_id_t), value :: queue
    end function
    integer(gaspi_return_t) function tagaspi_write_list_notify(num, segment_id_local, offset_local, rank, &
        segment_id_remote, offset_remote, size, segment_id_notification, notification_id, notification_value, &
        queue) bind(c)
      import
      integer(gaspi_number_t), value :: num
      type(c_ptr), value :: segment_id_local, offset_local, segment_id_remote, offset_remote, size
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_segment_id_t), value :: segment_id_notification
      integer(gaspi_notification_id_t), value :: notification_id
      integer(gaspi_notification_t), value :: notification_value
      integer(gaspi_queue_id_t), value :: queue
    end function
    integer(gaspi_return_t) function tagaspi_read_notify(segment_id_local, offset_local, rank, &
        segment_id_remote, offset_remote, size, notification_id, queue) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id_local, segment_id_remote
      integer(gaspi_offset_t), value :: offset_local, offset_remote
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_size_t), value :: size
      integer(gaspi_notification_id_t), value :: notification_id
      integer(gaspi_queue_id_t), value :: queue
    end function
    integer(gaspi_return_t) function tagaspi_read_list_notify(num, segment_id_local, offset_local, rank, &
        segment_id_remote, offset_remote, size, segment_id_notification, notification_id, queue) bind(c)
      import
      integer(gaspi_number_t), value :: num
      type(c_ptr), value :: segment_id_local, offset_local, segment_id_remote, offset_remote, size
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_segment_id_t), value :: segment_id_notification
      integer(gaspi_notification_id_t), value :: notification_id
      integer(gaspi_queue_id_t), value :: queue
    end function
    integer(gaspi_return_t) function tagaspi_notify_iwait(segment_id_local, notification_id, &
        old_notification_value) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id_local
      integer(gaspi_notification_id_t), value :: notification_id
      type(c_ptr), value :: old_notification_value
    end function
    integer(gaspi_return_t) function tagaspi_notify_iwaitall(segment_id_local, notification_begin, num, &
        old_notification_values) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id_local
      integer(gaspi_notification_id_t), value :: notification_begin
      integer(gaspi_number_t), value :: num
      type(c_ptr), value :: old_notification_values
    end function
    integer(gaspi_return_t) function tagaspi_notify_async_wait(segment_id_local, notification_id, &
        old_notification_value) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id_local
      integer(gaspi_notification_id_t), value :: notification_id
      type(c_ptr), value :: old_notification_value
    end function
    integer(gaspi_return_t) function tagaspi_notify_async_waitall(segment_id_local, notification_begin, num, &
        old_notification_values) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id_local
      integer(gaspi_notification_id_t), value :: notification_begin
      integer(gaspi_number_t), value :: num
      type(c_ptr), value :: old_notification_values
    end function
    integer(gaspi_return_t) function tagaspi_queue_group_create(queue_group, queue_begin, queue_num, policy) bind(c)
      import
      integer(gaspi_queue_group_id_t), value :: queue_group
      integer(gaspi_queue_id_t), value :: queue_begin
      integer(gaspi_number_t), value :: queue_num
      integer(gaspi_queue_group_policy_t), value :: policy
    end function
    integer(gaspi_return_t) function tagaspi_queue_group_delete(queue_group) bind(c)
      import
      integer(gaspi_queue_group_id_t), value :: queue_group
    end function
    integer(gaspi_return_t) function tagaspi_queue_group_get_queue(queue_group, queue) bind(c)
      import
      integer(gaspi_queue_group_id_t), value :: queue_group
      integer(gaspi_queue_id_t), intent(inout) :: queue
    end function
    integer(gaspi_return_t) function tagaspi_queue_group_max(queue_group_max) bind(c)
      import
      integer(gaspi_number_t), intent(inout) :: queue_group_max
    end function
  end interface

end module
