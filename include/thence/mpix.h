/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef THENCE_MPIX_H
#define THENCE_MPIX_H

/** @file mpix.h
 *  @brief MPICH's extensions under MPICH's names, on any stock MPI.
 *
 *  A program that was written for MPICH's extensions includes this header and links `-lthence`. The names are macros
 *  for symbols and types of this library. So they do not conflict with what an MPI has under the same names: this
 *  header may follow MPICH's `mpi.h`, and a source file that does not include it uses those of MPICH. What each call
 *  does is said in the header that is named beside it.
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

#endif
