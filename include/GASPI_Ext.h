/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file GASPI_Ext.h
 *  @brief Calls that GPI-2 has beside those of the GASPI standard. C and C++; library libthence-gaspi. */

#include <GASPI.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @brief 1 between gaspi_proc_init() and gaspi_proc_term(). */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_initialized(gaspi_number_t *initialized);

/** @brief The rank of this process among those of its node. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_proc_local_rank(gaspi_rank_t *local_rank);

/** @brief The number of processes on this node. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_proc_local_num(gaspi_rank_t *local_num);

/** @brief Of the processor, in MHz. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_cpu_frequency(gaspi_float *cpu_mhz);

/** @brief The socket that this thread runs on. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_numa_socket(gaspi_uchar *socket);

/** @brief Binds the process to the processors of a socket. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_set_socket_affinity(gaspi_uchar socket);

/** @brief Asks another process for an answer. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_proc_ping(gaspi_rank_t rank, gaspi_timeout_t timeout_ms);

/** @brief The lowest number that no segment of this process has. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_segment_avail_local(gaspi_segment_id_t *avail_seg_id);

/** @brief The length of the part of a process. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_segment_size(gaspi_segment_id_t segment_id, gaspi_rank_t rank,
                                                      gaspi_size_t *size);

/** @brief How many pieces a list has at most. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_rw_list_elem_max(gaspi_number_t *elem_max);

/** @brief The text of a code. */
THENCE_GASPI_EXPORT gaspi_string_t gaspi_error_str(gaspi_return_t error_code);

/** @brief As printf, with the rank in front. */
THENCE_GASPI_EXPORT void gaspi_printf(const char *fmt, ...);

/** @brief As gaspi_printf(); the line is printed by this process, and names the rank that it is for. */
THENCE_GASPI_EXPORT void gaspi_printf_to(gaspi_rank_t rank, const char *fmt, ...);

/** @brief Prints on which processors this process may run. */
THENCE_GASPI_EXPORT void gaspi_print_affinity_mask(void);

/** @brief A short pause in a loop that tests. */
THENCE_GASPI_EXPORT void gaspi_delay(void);

#ifdef __cplusplus
}
#endif
