/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file mpix.h
 *  @brief MPICH's extensions under MPICH's names, on any stock MPI.
 *
 *  A program that was written for MPICH's extensions includes this header and links `-lthence`. The names
 *  are macros for symbols and types of this library. So they do not conflict with what an MPI has under the same names:
 *  this header may follow MPICH's `mpi.h`, and a source file that does not include it uses those of MPICH. What each
 *  call does is said in the header that is named beside it.
 *
 *  The calls and signatures are those of MPICH 5 (Zhou et al., "Designing and Prototyping Extensions to MPI in MPICH").
 *  thence_extension_query() and `thence info` say for each extension whose it is. */

#include <mpi.h>

/* GPU queries */
#include <thence/extensions.h>
#undef MPIX_GPU_SUPPORT_CUDA
#define MPIX_GPU_SUPPORT_CUDA THENCE_GPU_CUDA
#undef MPIX_GPU_SUPPORT_ZE
#define MPIX_GPU_SUPPORT_ZE THENCE_GPU_ZE
#undef MPIX_GPU_SUPPORT_HIP
#define MPIX_GPU_SUPPORT_HIP THENCE_GPU_HIP
#define MPIX_GPU_query_support thence_gpu_query_support
#define MPIX_Query_cuda_support thence_query_cuda_support
#define MPIX_Query_ze_support thence_query_ze_support
#define MPIX_Query_hip_support thence_query_hip_support

/* Streams */
#include <thence/stream.h>
#define MPIX_Stream thence_stream
#undef MPIX_STREAM_NULL
#define MPIX_STREAM_NULL THENCE_STREAM_NULL
#define MPIX_Stream_create thence_stream_create
#define MPIX_Stream_free thence_stream_free
#define MPIX_Stream_comm_create thence_stream_comm_create
#define MPIX_Stream_comm_create_multiplex thence_stream_comm_create_multiplex
#define MPIX_Comm_get_stream thence_comm_get_stream
#define MPIX_Stream_send thence_stream_send
#define MPIX_Stream_send_c thence_stream_send_c
#define MPIX_Stream_isend thence_stream_isend
#define MPIX_Stream_isend_c thence_stream_isend_c
#define MPIX_Stream_recv thence_stream_recv
#define MPIX_Stream_recv_c thence_stream_recv_c
#define MPIX_Stream_irecv thence_stream_irecv
#define MPIX_Stream_irecv_c thence_stream_irecv_c
#define MPIX_Info_set_hex thence_info_set_hex

/* Enqueue: MPICH has those up to MPIX_Allreduce_enqueue_c, the others have the same form. */
#include <thence/enqueue.h>
#define MPIX_Send_enqueue thence_send_enqueue
#define MPIX_Send_enqueue_c thence_send_enqueue_c
#define MPIX_Recv_enqueue thence_recv_enqueue
#define MPIX_Recv_enqueue_c thence_recv_enqueue_c
#define MPIX_Isend_enqueue thence_isend_enqueue
#define MPIX_Isend_enqueue_c thence_isend_enqueue_c
#define MPIX_Irecv_enqueue thence_irecv_enqueue
#define MPIX_Irecv_enqueue_c thence_irecv_enqueue_c
#define MPIX_Wait_enqueue thence_wait_enqueue
#define MPIX_Waitall_enqueue thence_waitall_enqueue
#define MPIX_Allreduce_enqueue thence_allreduce_enqueue
#define MPIX_Allreduce_enqueue_c thence_allreduce_enqueue_c
#define MPIX_Barrier_enqueue thence_barrier_enqueue
#define MPIX_Bcast_enqueue thence_bcast_enqueue
#define MPIX_Bcast_enqueue_c thence_bcast_enqueue_c
#define MPIX_Gather_enqueue thence_gather_enqueue
#define MPIX_Gather_enqueue_c thence_gather_enqueue_c
#define MPIX_Gatherv_enqueue thence_gatherv_enqueue
#define MPIX_Gatherv_enqueue_c thence_gatherv_enqueue_c
#define MPIX_Scatter_enqueue thence_scatter_enqueue
#define MPIX_Scatter_enqueue_c thence_scatter_enqueue_c
#define MPIX_Scatterv_enqueue thence_scatterv_enqueue
#define MPIX_Scatterv_enqueue_c thence_scatterv_enqueue_c
#define MPIX_Allgather_enqueue thence_allgather_enqueue
#define MPIX_Allgather_enqueue_c thence_allgather_enqueue_c
#define MPIX_Allgatherv_enqueue thence_allgatherv_enqueue
#define MPIX_Allgatherv_enqueue_c thence_allgatherv_enqueue_c
#define MPIX_Alltoall_enqueue thence_alltoall_enqueue
#define MPIX_Alltoall_enqueue_c thence_alltoall_enqueue_c
#define MPIX_Alltoallv_enqueue thence_alltoallv_enqueue
#define MPIX_Alltoallv_enqueue_c thence_alltoallv_enqueue_c
#define MPIX_Alltoallw_enqueue thence_alltoallw_enqueue
#define MPIX_Alltoallw_enqueue_c thence_alltoallw_enqueue_c
#define MPIX_Neighbor_allgather_enqueue thence_neighbor_allgather_enqueue
#define MPIX_Neighbor_allgather_enqueue_c thence_neighbor_allgather_enqueue_c
#define MPIX_Neighbor_allgatherv_enqueue thence_neighbor_allgatherv_enqueue
#define MPIX_Neighbor_allgatherv_enqueue_c thence_neighbor_allgatherv_enqueue_c
#define MPIX_Neighbor_alltoall_enqueue thence_neighbor_alltoall_enqueue
#define MPIX_Neighbor_alltoall_enqueue_c thence_neighbor_alltoall_enqueue_c
#define MPIX_Neighbor_alltoallv_enqueue thence_neighbor_alltoallv_enqueue
#define MPIX_Neighbor_alltoallv_enqueue_c thence_neighbor_alltoallv_enqueue_c
#define MPIX_Neighbor_alltoallw_enqueue thence_neighbor_alltoallw_enqueue
#define MPIX_Neighbor_alltoallw_enqueue_c thence_neighbor_alltoallw_enqueue_c
#define MPIX_Reduce_enqueue thence_reduce_enqueue
#define MPIX_Reduce_enqueue_c thence_reduce_enqueue_c
#define MPIX_Scan_enqueue thence_scan_enqueue
#define MPIX_Scan_enqueue_c thence_scan_enqueue_c
#define MPIX_Exscan_enqueue thence_exscan_enqueue
#define MPIX_Exscan_enqueue_c thence_exscan_enqueue_c
#define MPIX_Reduce_scatter_block_enqueue thence_reduce_scatter_block_enqueue
#define MPIX_Reduce_scatter_block_enqueue_c thence_reduce_scatter_block_enqueue_c
#define MPIX_Reduce_scatter_enqueue thence_reduce_scatter_enqueue
#define MPIX_Reduce_scatter_enqueue_c thence_reduce_scatter_enqueue_c

/* Segments of datatypes */
#include <thence/type_iov.h>
#define MPIX_Iov thence_iov
#define MPIX_Type_iov_len thence_type_iov_len
#define MPIX_Type_iov thence_type_iov

/* Generalized requests that MPI polls: MPICH's names of the types, and those of the paper (`_fn`). A wait function may
 * have either form. */
#include <thence/mpix_grequest.h>
#define MPIX_Grequest_poll_fn thence_grequest_poll_function
#define MPIX_Grequest_wait_fn thence_mpix_grequest_wait_fn
#define MPIX_Grequest_poll_function thence_grequest_poll_function
#define MPIX_Grequest_wait_function thence_grequest_wait_function
#define MPIX_Grequest_class thence_grequest_class
#define MPIX_Grequest_start thence_mpix_grequest_start
#define MPIX_Grequest_class_create thence_mpix_grequest_class_create
#define MPIX_Grequest_class_allocate thence_grequest_class_allocate

/* Explicit progress */
#include <thence/progress.h>
#define MPIX_Stream_progress thence_stream_progress
#define MPIX_Start_progress_thread thence_start_progress_thread
#define MPIX_Stop_progress_thread thence_stop_progress_thread
#define MPIX_Async_thing thence_async_thing
#define MPIX_ASYNC_NOPROGRESS THENCE_ASYNC_NOPROGRESS
#define MPIX_ASYNC_DONE THENCE_ASYNC_DONE
#define MPIX_Async_poll_function thence_async_poll_function
#define MPIX_Async_start thence_async_start
#define MPIX_Async_get_state thence_async_get_state
#define MPIX_Async_spawn thence_async_spawn
#define MPIX_Request_is_complete thence_request_is_complete

/* Thread communicators */
#include <thence/threadcomm.h>
#define MPIX_Threadcomm_init thence_threadcomm_init
#define MPIX_Threadcomm_start thence_threadcomm_start
#define MPIX_Threadcomm_finish thence_threadcomm_finish
#define MPIX_Threadcomm_free thence_threadcomm_free
#define MPIX_Comm_test_threadcomm thence_comm_test_threadcomm
