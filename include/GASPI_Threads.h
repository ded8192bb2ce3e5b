/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file GASPI_Threads.h
 *  @brief The threads that GPI-2 offers to programs. GPI-2 itself advises against them. C and C++; library
 *         libthence-gaspi. */

#include <GASPI.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @brief Begins. The calling thread is one of `num`.
 *  @param[out] num the number of processors of this process. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_threads_init(gaspi_int *num);
/** @brief Begins, with a number of threads that the program chooses. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_threads_init_user(const unsigned int num_threads);
/** @brief Starts a thread. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_threads_run(void (*function)(void *), void *arg);
/** @brief Each thread calls it first, and gets its number. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_threads_register(gaspi_int *tid);
/** @brief Waits for all threads that have registered: a barrier of all `num`. */
THENCE_GASPI_EXPORT void gaspi_threads_sync(void);
/** @brief Waits for the end of the threads that gaspi_threads_run() has started. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_threads_term(void);
/** @brief The number of the calling thread. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_threads_get_tid(gaspi_int *tid);
/** @brief The number of threads. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_threads_get_total(gaspi_int *num);
/** @brief The number of processors of this process. */
THENCE_GASPI_EXPORT gaspi_return_t gaspi_threads_get_num_cores(gaspi_int *cores);

#ifdef __cplusplus
}
#endif
