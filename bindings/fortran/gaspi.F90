! SPDX-License-Identifier: BSD-3-Clause
! GASPI for Fortran: each call is the function in C, whose arguments are passed as it wants them. What the calls do:
! <GASPI.h>. Buffers and arrays are addresses (`c_loc`), since they are in use after a call has returned. The configuration
! (gaspi_config_get, gaspi_config_set) is for C.
module gaspi
  use gaspi_types
  use, intrinsic :: iso_c_binding, only: c_float, c_funptr, c_long, c_ptr
  implicit none

  interface
    integer(gaspi_return_t) function gaspi_version(version) bind(c)
      import
      real(c_float), intent(inout) :: version
    end function
    integer(gaspi_return_t) function gaspi_proc_init(timeout_ms) bind(c)
      import
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_proc_term(timeout_ms) bind(c)
      import
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_proc_rank(rank) bind(c)
      import
      integer(gaspi_rank_t), intent(inout) :: rank
    end function
    integer(gaspi_return_t) function gaspi_proc_num(proc_num) bind(c)
      import
      integer(gaspi_rank_t), intent(inout) :: proc_num
    end function
    integer(gaspi_return_t) function gaspi_proc_kill(rank, timeout_ms) bind(c)
      import
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_connect(rank, timeout_ms) bind(c)
      import
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_disconnect(rank, timeout_ms) bind(c)
      import
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_group_create(group) bind(c)
      import
      integer(gaspi_group_t), intent(inout) :: group
    end function
    integer(gaspi_return_t) function gaspi_group_delete(group) bind(c)
      import
      integer(gaspi_group_t), value :: group
    end function
    integer(gaspi_return_t) function gaspi_group_add(group, rank) bind(c)
      import
      integer(gaspi_group_t), value :: group
      integer(gaspi_rank_t), value :: rank
    end function
    integer(gaspi_return_t) function gaspi_group_commit(group, timeout_ms) bind(c)
      import
      integer(gaspi_group_t), value :: group
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_group_num(group_num) bind(c)
      import
      integer(gaspi_number_t), intent(inout) :: group_num
    end function
    integer(gaspi_return_t) function gaspi_group_size(group, group_size) bind(c)
      import
      integer(gaspi_group_t), value :: group
      integer(gaspi_number_t), intent(inout) :: group_size
    end function
    integer(gaspi_return_t) function gaspi_group_ranks(group, group_ranks) bind(c)
      import
      integer(gaspi_group_t), value :: group
      integer(gaspi_rank_t), intent(inout) :: group_ranks
    end function
    integer(gaspi_return_t) function gaspi_group_max(group_max) bind(c)
      import
      integer(gaspi_number_t), intent(inout) :: group_max
    end function
    integer(gaspi_return_t) function gaspi_segment_alloc(segment_id, size, alloc_policy) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id
      integer(gaspi_size_t), value :: size
      integer(gaspi_alloc_t), value :: alloc_policy
    end function
    integer(gaspi_return_t) function gaspi_segment_delete(segment_id) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id
    end function
    integer(gaspi_return_t) function gaspi_segment_register(segment_id, rank, timeout_ms) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_segment_create(segment_id, size, group, timeout_ms, alloc_policy) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id
      integer(gaspi_size_t), value :: size
      integer(gaspi_group_t), value :: group
      integer(gaspi_timeout_t), value :: timeout_ms
      integer(gaspi_alloc_t), value :: alloc_policy
    end function
    integer(gaspi_return_t) function gaspi_segment_bind(segment_id, pointer, size, memory_description) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id
      type(c_ptr), value :: pointer
      integer(gaspi_size_t), value :: size
      integer(gaspi_memory_description_t), value :: memory_description
    end function
    integer(gaspi_return_t) function gaspi_segment_use(segment_id, pointer, size, group, timeout_ms, &
        memory_description) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id
      type(c_ptr), value :: pointer
      integer(gaspi_size_t), value :: size
      integer(gaspi_group_t), value :: group
      integer(gaspi_timeout_t), value :: timeout_ms
      integer(gaspi_memory_description_t), value :: memory_description
    end function
    integer(gaspi_return_t) function gaspi_segment_num(segment_num) bind(c)
      import
      integer(gaspi_number_t), intent(inout) :: segment_num
    end function
    integer(gaspi_return_t) function gaspi_segment_list(num, segment_id_list) bind(c)
      import
      integer(gaspi_number_t), value :: num
      type(c_ptr), value :: segment_id_list
    end function
    integer(gaspi_return_t) function gaspi_segment_ptr(segment_id, ptr) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id
      type(c_ptr), intent(inout) :: ptr
    end function
    integer(gaspi_return_t) function gaspi_segment_max(segment_max) bind(c)
      import
      integer(gaspi_number_t), intent(inout) :: segment_max
    end function
    integer(gaspi_return_t) function gaspi_write(segment_id_local, offset_local, rank, segment_id_remote, &
        offset_remote, size, queue, timeout_ms) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id_local, segment_id_remote
      integer(gaspi_offset_t), value :: offset_local, offset_remote
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_size_t), value :: size
      integer(gaspi_queue_id_t), value :: queue
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_read(segment_id_local, offset_local, rank, segment_id_remote, &
        offset_remote, size, queue, timeout_ms) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id_local, segment_id_remote
      integer(gaspi_offset_t), value :: offset_local, offset_remote
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_size_t), value :: size
      integer(gaspi_queue_id_t), value :: queue
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_write_list(num, segment_id_local, offset_local, rank, &
        segment_id_remote, offset_remote, size, queue, timeout_ms) bind(c)
      import
      integer(gaspi_number_t), value :: num
      type(c_ptr), value :: segment_id_local, offset_local, segment_id_remote, offset_remote, size
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_queue_id_t), value :: queue
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_read_list(num, segment_id_local, offset_local, rank, &
        segment_id_remote, offset_remote, size, queue, timeout_ms) bind(c)
      import
      integer(gaspi_number_t), value :: num
      type(c_ptr), value :: segment_id_local, offset_local, segment_id_remote, offset_remote, size
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_queue_id_t), value :: queue
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_notify(segment_id_remote, rank, notification_id, &
        notification_value, queue, timeout_ms) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id_remote
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_notification_id_t), value :: notification_id
      integer(gaspi_notification_t), value :: notification_value
      integer(gaspi_queue_id_t), value :: queue
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_write_notify(segment_id_local, offset_local, rank, &
        segment_id_remote, offset_remote, size, notification_id, notification_value, queue, timeout_ms) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id_local, segment_id_remote
      integer(gaspi_offset_t), value :: offset_local, offset_remote
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_size_t), value :: size
      integer(gaspi_notification_id_t), value :: notification_id
      integer(gaspi_notification_t), value :: notification_value
      integer(gaspi_queue_id_t), value :: queue
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_write_list_notify(num, segment_id_local, offset_local, rank, &
        segment_id_remote, offset_remote, size, segment_id_notification, notification_id, notification_value, &
        queue, timeout_ms) bind(c)
      import
      integer(gaspi_number_t), value :: num
      type(c_ptr), value :: segment_id_local, offset_local, segment_id_remote, offset_remote, size
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_segment_id_t), value :: segment_id_notification
      integer(gaspi_notification_id_t), value :: notification_id
      integer(gaspi_notification_t), value :: notification_value
      integer(gaspi_queue_id_t), value :: queue
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_read_notify(segment_id_local, offset_local, rank, &
        segment_id_remote, offset_remote, size, notification_id, queue, timeout_ms) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id_local, segment_id_remote
      integer(gaspi_offset_t), value :: offset_local, offset_remote
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_size_t), value :: size
      integer(gaspi_notification_id_t), value :: notification_id
      integer(gaspi_queue_id_t), value :: queue
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_read_list_notify(num, segment_id_local, offset_local, rank, &
        segment_id_remote, offset_remote, size, segment_id_notification, notification_id, queue, timeout_ms) bind(c)
      import
      integer(gaspi_number_t), value :: num
      type(c_ptr), value :: segment_id_local, offset_local, segment_id_remote, offset_remote, size
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_segment_id_t), value :: segment_id_notification
      integer(gaspi_notification_id_t), value :: notification_id
      integer(gaspi_queue_id_t), value :: queue
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_wait(queue, timeout_ms) bind(c)
      import
      integer(gaspi_queue_id_t), value :: queue
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_notify_waitsome(segment_id_local, notification_begin, num, &
        first_id, timeout_ms) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id_local
      integer(gaspi_notification_id_t), value :: notification_begin
      integer(gaspi_number_t), value :: num
      integer(gaspi_notification_id_t), intent(inout) :: first_id
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_notify_reset(segment_id_local, notification_id, &
        old_notification_val) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id_local
      integer(gaspi_notification_id_t), value :: notification_id
      integer(gaspi_notification_t), intent(inout) :: old_notification_val
    end function
    integer(gaspi_return_t) function gaspi_queue_size(queue, queue_size) bind(c)
      import
      integer(gaspi_queue_id_t), value :: queue
      integer(gaspi_number_t), intent(inout) :: queue_size
    end function
    integer(gaspi_return_t) function gaspi_queue_num(queue_num) bind(c)
      import
      integer(gaspi_number_t), intent(inout) :: queue_num
    end function
    integer(gaspi_return_t) function gaspi_queue_size_max(queue_size_max) bind(c)
      import
      integer(gaspi_number_t), intent(inout) :: queue_size_max
    end function
    integer(gaspi_return_t) function gaspi_queue_max(queue_max) bind(c)
      import
      integer(gaspi_number_t), intent(inout) :: queue_max
    end function
    integer(gaspi_return_t) function gaspi_queue_create(queue, timeout_ms) bind(c)
      import
      integer(gaspi_queue_id_t), intent(inout) :: queue
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_queue_delete(queue) bind(c)
      import
      integer(gaspi_queue_id_t), value :: queue
    end function
    integer(gaspi_return_t) function gaspi_queue_purge(queue, timeout_ms) bind(c)
      import
      integer(gaspi_queue_id_t), value :: queue
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_passive_send(segment_id_local, offset_local, rank, size, timeout_ms) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id_local
      integer(gaspi_offset_t), value :: offset_local
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_size_t), value :: size
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_passive_receive(segment_id_local, offset_local, rem_rank, size, &
        timeout_ms) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id_local
      integer(gaspi_offset_t), value :: offset_local
      integer(gaspi_rank_t), intent(inout) :: rem_rank
      integer(gaspi_size_t), value :: size
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_atomic_fetch_add(segment_id, offset, rank, val_add, val_old, &
        timeout_ms) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id
      integer(gaspi_offset_t), value :: offset
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_atomic_value_t), value :: val_add
      integer(gaspi_atomic_value_t), intent(inout) :: val_old
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_atomic_compare_swap(segment_id, offset, rank, comparator, val_new, &
        val_old, timeout_ms) bind(c)
      import
      integer(gaspi_segment_id_t), value :: segment_id
      integer(gaspi_offset_t), value :: offset
      integer(gaspi_rank_t), value :: rank
      integer(gaspi_atomic_value_t), value :: comparator, val_new
      integer(gaspi_atomic_value_t), intent(inout) :: val_old
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_atomic_max(max_value) bind(c)
      import
      integer(gaspi_atomic_value_t), intent(inout) :: max_value
    end function
    integer(gaspi_return_t) function gaspi_barrier(group, timeout_ms) bind(c)
      import
      integer(gaspi_group_t), value :: group
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_allreduce(buffer_send, buffer_receive, num, operation, datatype, &
        group, timeout_ms) bind(c)
      import
      type(c_ptr), value :: buffer_send, buffer_receive
      integer(gaspi_number_t), value :: num
      integer(gaspi_operation_t), value :: operation
      integer(gaspi_datatype_t), value :: datatype
      integer(gaspi_group_t), value :: group
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_allreduce_user(buffer_send, buffer_receive, num, element_size, &
        reduce_operation, reduce_state, group, timeout_ms) bind(c)
      import
      type(c_ptr), value :: buffer_send, buffer_receive, reduce_state
      integer(gaspi_number_t), value :: num
      integer(gaspi_size_t), value :: element_size
      type(c_funptr), value :: reduce_operation
      integer(gaspi_group_t), value :: group
      integer(gaspi_timeout_t), value :: timeout_ms
    end function
    integer(gaspi_return_t) function gaspi_transfer_size_min(transfer_size_min) bind(c)
      import
      integer(gaspi_size_t), intent(inout) :: transfer_size_min
    end function
    integer(gaspi_return_t) function gaspi_transfer_size_max(transfer_size_max) bind(c)
      import
      integer(gaspi_size_t), intent(inout) :: transfer_size_max
    end function
    integer(gaspi_return_t) function gaspi_notification_num(notification_num) bind(c)
      import
      integer(gaspi_number_t), intent(inout) :: notification_num
    end function
    integer(gaspi_return_t) function gaspi_passive_transfer_size_min(passive_transfer_size_min) bind(c)
      import
      integer(gaspi_size_t), intent(inout) :: passive_transfer_size_min
    end function
    integer(gaspi_return_t) function gaspi_passive_transfer_size_max(passive_transfer_size_max) bind(c)
      import
      integer(gaspi_size_t), intent(inout) :: passive_transfer_size_max
    end function
    integer(gaspi_return_t) function gaspi_allreduce_buf_size(buf_size) bind(c)
      import
      integer(gaspi_size_t), intent(inout) :: buf_size
    end function
    integer(gaspi_return_t) function gaspi_allreduce_elem_max(elem_max) bind(c)
      import
      integer(gaspi_number_t), intent(inout) :: elem_max
    end function
    integer(gaspi_return_t) function gaspi_network_type(network_type) bind(c)
      import
      integer(gaspi_network_t), intent(inout) :: network_type
    end function
    integer(gaspi_return_t) function gaspi_build_infrastructure(build_infrastructure) bind(c)
      import
      integer(gaspi_number_t), intent(inout) :: build_infrastructure
    end function
    integer(gaspi_return_t) function gaspi_time_ticks(ticks) bind(c)
      import
      integer(gaspi_cycles_t), intent(inout) :: ticks
    end function
    integer(gaspi_return_t) function gaspi_time_get(wtime) bind(c)
      import
      real(gaspi_time_t), intent(inout) :: wtime
    end function
    integer(gaspi_return_t) function gaspi_print_error(error_code, error_message) bind(c)
      import
      integer(gaspi_return_t), value :: error_code
      type(c_ptr), intent(inout) :: error_message
    end function
    integer(gaspi_return_t) function gaspi_state_vec_get(state_vector) bind(c)
      import
      type(c_ptr), value :: state_vector
    end function
    integer(gaspi_return_t) function gaspi_statistic_verbosity_level(verbosity_level) bind(c)
      import
      integer(gaspi_number_t), value :: verbosity_level
    end function
    integer(gaspi_return_t) function gaspi_statistic_counter_max(counter_max) bind(c)
      import
      integer(gaspi_number_t), intent(inout) :: counter_max
    end function
    integer(gaspi_return_t) function gaspi_statistic_counter_info(counter, counter_argument, counter_name, &
        counter_description, verbosity_level) bind(c)
      import
      integer(gaspi_statistic_counter_t), value :: counter
      integer(gaspi_statistic_argument_t), intent(inout) :: counter_argument
      type(c_ptr), intent(inout) :: counter_name, counter_description
      integer(gaspi_number_t), intent(inout) :: verbosity_level
    end function
    integer(gaspi_return_t) function gaspi_statistic_counter_get(counter, argument, value) bind(c)
      import
      integer(gaspi_statistic_counter_t), value :: counter
      integer(gaspi_number_t), value :: argument
      integer(c_long), intent(inout) :: value
    end function
    integer(gaspi_return_t) function gaspi_statistic_counter_reset(counter) bind(c)
      import
      integer(gaspi_statistic_counter_t), value :: counter
    end function
  end interface

end module
