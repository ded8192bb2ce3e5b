! SPDX-License-Identifier: BSD-3-Clause
! The types of GASPI as kinds, and its constants. Fortran has no unsigned integers: a kind has the width of the type in C, and
! GASPI_BLOCK its bits.
module gaspi_types
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_float, c_int, c_long, c_short, c_signed_char
  implicit none

  integer, parameter :: gaspi_char = c_char
  integer, parameter :: gaspi_short = c_short
  integer, parameter :: gaspi_int = c_int
  integer, parameter :: gaspi_long = c_long
  integer, parameter :: gaspi_float = c_float
  integer, parameter :: gaspi_double = c_double
  integer, parameter :: gaspi_rank_t = c_short
  integer, parameter :: gaspi_segment_id_t = c_signed_char
  integer, parameter :: gaspi_queue_id_t = c_signed_char
  integer, parameter :: gaspi_group_t = c_signed_char
  integer, parameter :: gaspi_notification_id_t = c_int
  integer, parameter :: gaspi_notification_t = c_int
  integer, parameter :: gaspi_number_t = c_int
  integer, parameter :: gaspi_statistic_counter_t = c_int
  integer, parameter :: gaspi_size_t = c_long
  integer, parameter :: gaspi_offset_t = c_long
  integer, parameter :: gaspi_timeout_t = c_long
  integer, parameter :: gaspi_atomic_value_t = c_long
  integer, parameter :: gaspi_cycles_t = c_long
  integer, parameter :: gaspi_time_t = c_float
  integer, parameter :: gaspi_memory_description_t = c_int

  integer, parameter :: gaspi_return_t = c_int
  integer, parameter :: gaspi_operation_t = c_int
  integer, parameter :: gaspi_datatype_t = c_int
  integer, parameter :: gaspi_network_t = c_int
  integer, parameter :: gaspi_alloc_t = c_int
  integer, parameter :: gaspi_state_t = c_int
  integer, parameter :: gaspi_statistic_argument_t = c_int
  integer, parameter :: gaspi_topology_t = c_int

  integer(gaspi_group_t), parameter :: GASPI_GROUP_ALL = 0
  integer(gaspi_timeout_t), parameter :: GASPI_BLOCK = -1 ! all bits, as in C
  integer(gaspi_timeout_t), parameter :: GASPI_TEST = 0

  integer(gaspi_return_t), parameter :: GASPI_ERROR = -1, GASPI_SUCCESS = 0, GASPI_TIMEOUT = 1, &
    GASPI_ERR_EMFILE = 2, GASPI_ERR_ENV = 3, GASPI_ERR_SN_PORT = 4, GASPI_ERR_CONFIG = 5, &
    GASPI_ERR_NOINIT = 6, GASPI_ERR_INITED = 7, GASPI_ERR_NULLPTR = 8, GASPI_ERR_INV_SEGSIZE = 9, &
    GASPI_ERR_INV_SEG = 10, GASPI_ERR_INV_GROUP = 11, GASPI_ERR_INV_RANK = 12, GASPI_ERR_INV_QUEUE = 13, &
    GASPI_ERR_INV_LOC_OFF = 14, GASPI_ERR_INV_REM_OFF = 15, GASPI_ERR_INV_COMMSIZE = 16, &
    GASPI_ERR_INV_NOTIF_VAL = 17, GASPI_ERR_INV_NOTIF_ID = 18, GASPI_ERR_INV_NUM = 19, &
    GASPI_ERR_INV_SIZE = 20, GASPI_ERR_MANY_SEG = 21, GASPI_ERR_MANY_GRP = 22, GASPI_QUEUE_FULL = 23, &
    GASPI_ERR_UNALIGN_OFF = 24, GASPI_ERR_ACTIVE_COLL = 25, GASPI_ERR_DEVICE = 26, GASPI_ERR_SN = 27, &
    GASPI_ERR_MEMALLOC = 28
  integer(gaspi_operation_t), parameter :: GASPI_OP_MIN = 0, GASPI_OP_MAX = 1, GASPI_OP_SUM = 2, &
    GASPI_OP_READ = 16, GASPI_OP_WRITE = 17, GASPI_OP_NOTIFY = 18, GASPI_OP_WRITE_NOTIFY = 19, &
    GASPI_OP_READ_LIST = 20, GASPI_OP_WRITE_LIST = 21, GASPI_OP_WRITE_LIST_NOTIFY = 22
  integer(gaspi_datatype_t), parameter :: GASPI_TYPE_INT = 0, GASPI_TYPE_UINT = 1, GASPI_TYPE_FLOAT = 2, &
    GASPI_TYPE_DOUBLE = 3, GASPI_TYPE_LONG = 4, GASPI_TYPE_ULONG = 5
  integer(gaspi_network_t), parameter :: GASPI_IB = 0, GASPI_ROCE = 1, GASPI_ETHERNET = 2, GASPI_GEMINI = 3, &
    GASPI_ARIES = 4, GASPI_OFI = 5
  integer(gaspi_alloc_t), parameter :: GASPI_MEM_UNINITIALIZED = 0, GASPI_MEM_INITIALIZED = 1, &
    GASPI_ALLOC_DEFAULT = 0
  integer(gaspi_state_t), parameter :: GASPI_STATE_HEALTHY = 0, GASPI_STATE_CORRUPT = 1
  integer(gaspi_statistic_argument_t), parameter :: GASPI_STATISTIC_ARGUMENT_NONE = 0, &
    GASPI_STATISTIC_ARGUMENT_RANK = 1
  integer(gaspi_topology_t), parameter :: GASPI_TOPOLOGY_NONE = 0, GASPI_TOPOLOGY_STATIC = 1, &
    GASPI_TOPOLOGY_DYNAMIC = 2

end module
