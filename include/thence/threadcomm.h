/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file threadcomm.h
 *  @brief Thread communicators: communicators whose ranks are threads.
 *
 *  A thread communicator is made of a communicator of processes. Each process says how many threads it has. Between
 *  thence_threadcomm_start() and thence_threadcomm_finish() each of these threads is a rank: it calls `MPI_Send`,
 *  `MPI_Recv` and so on with the thread communicator, for messages to threads of its own process and of others. The
 *  threads are the program's own: OpenMP, `std::thread`, oneTBB.
 *
 *  The ranks are numbered process by process. Inside a process a thread gets the index that it asked for; else the one
 *  that it had in the last region; else, if the OpenMP thread numbers of all differ, its OpenMP thread number; else the
 *  lowest that is left, in the order of arrival.
 *
 *  The calls of MPI on a thread communicator need libthence, which interposes them. (Zhou et al., "Designing and
 *  Prototyping Extensions to MPI in MPICH", section on thread communicators.) `mpix.h` gives MPICH's names. */

#include <thence/thence.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @brief Make a thread communicator. Collective over the processes of `comm`; one thread of each calls it.
 *  @param comm               an intracommunicator of processes.
 *  @param num_threads        the number of threads of this process, 0 or more; processes may have different numbers.
 *  @param[out] newthreadcomm the thread communicator. No thread has started it.
 *  @return `MPI_ERR_COMM` (null, an intercommunicator, or a thread communicator); `MPI_ERR_ARG` (a process gives a
 *          negative number, or `newthreadcomm` is null); `MPI_ERR_UNSUPPORTED_OPERATION` (a process has several threads
 *          and not `MPI_THREAD_MULTIPLE`; or libthence is not linked); `MPI_ERR_NO_MEM`; `MPI_ERR_OTHER` before
 *          `MPI_Init` and after `MPI_Finalize`.
 *  @note Threads: any. */
THENCE_EXPORT int thence_threadcomm_init(MPI_Comm comm, int num_threads, MPI_Comm *newthreadcomm);

/** @brief Begin to be a rank. Blocks until `num_threads` threads of this process have called it.
 *  @param threadcomm from thence_threadcomm_init().
 *  @return `MPI_ERR_COMM` (no thread communicator, or one that was derived from another by `MPI_Comm_dup` or
 *          `MPI_Comm_split`; this thread has started it already; more than `num_threads` threads start it);
 *          `MPI_ERR_RANK` (another thread asked for an index that is taken); `MPI_ERR_NO_MEM`; `MPI_ERR_OTHER` (this
 *          thread has started 8 thread communicators). After an error this thread is no rank.
 *  @note Threads: any. While threads are missing for longer than `THENCE_STALL`, that is reported. */
THENCE_EXPORT int thence_threadcomm_start(MPI_Comm threadcomm);

/** @brief The same, with a chosen rank.
 *  @param threadcomm from thence_threadcomm_init().
 *  @param index      0 to `num_threads` - 1: the rank is that of the first thread of this process plus `index`.
 *  @return as thence_threadcomm_start(), and `MPI_ERR_RANK` for an index outside of that.
 *  @note Threads: any. Some threads may choose and others not. */
THENCE_EXPORT int thence_threadcomm_start_as(MPI_Comm threadcomm, int index);

/** @brief End being a rank. Blocks until all threads of this process that have started have called it. The attributes
 *         that this thread has set on the thread communicator are deleted.
 *  @param threadcomm from thence_threadcomm_init(). It may be started again, by the same threads or by others.
 *  @return `MPI_ERR_COMM` (no thread communicator, or this thread has not started it).
 *  @note Threads: any. While threads are missing for longer than `THENCE_STALL`, that is reported. */
THENCE_EXPORT int thence_threadcomm_finish(MPI_Comm threadcomm);

/** @brief Free a thread communicator. Collective over the processes; one thread of each calls it.
 *  @param[in,out] threadcomm from thence_threadcomm_init(), which no thread has started; becomes `MPI_COMM_NULL`.
 *  @return `MPI_ERR_COMM` (no thread communicator, threads have started it, or a communicator that was derived from it
 *          is not freed); `MPI_ERR_PENDING` (a request of one of its ranks is not complete, or a message that a
 *          matching probe has taken is not received); `MPI_ERR_ARG` (null). After an error it is as before.
 *  @note Threads: any. */
THENCE_EXPORT int thence_threadcomm_free(MPI_Comm *threadcomm);

/** @brief Say whether a communicator is a thread communicator, or was derived from one.
 *  @param comm      any communicator.
 *  @param[out] flag 1 or 0.
 *  @return `MPI_ERR_ARG` (null `flag`).
 *  @note Threads: any. */
THENCE_EXPORT int thence_comm_test_threadcomm(MPI_Comm comm, int *flag);

#ifdef __cplusplus
}
#endif
