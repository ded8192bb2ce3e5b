/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/** @file extensions.h
 *  @brief Which of MPICH's extensions the process has and from whom, and whether MPI takes buffers in device memory.
 *
 *  The extensions themselves are in headers of their own. `mpix.h` gives all of them under MPICH's names. */

#include <thence/thence.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @brief One of MPICH's extensions in this process. Filled in by thence_extension_query(). */
typedef struct thence_extension_info {
    size_t size;       /**< bytes that the call has set, see thence_info */
    const char *name;  /**< what it is, such as `GPU queries`; null if there is no extension with this index */
    const char *state; /**< `native`: this MPI has it, and Thence calls that; `ours`: Thence does it; `not possible` */
    const char *why;   /**< one sentence: why it is so */
} thence_extension_info;

/** @brief Go through MPICH's extensions, and say whose each is in this process.
 *  @param index     0 for the first, and so on.
 *  @param[out] info filled in; beyond the last extension `name` is null. The texts stay valid until `MPI_Finalize`.
 *  @param size      `sizeof(thence_extension_info)`; no byte beyond is written.
 *  @return `MPI_ERR_ARG` (negative index, null `info`, or `size` is smaller than in the first version);
 *          `MPI_ERR_OTHER` before `MPI_Init` and after `MPI_Finalize`.
 *  @note Threads: any. The call for CUDA streams loads the CUDA driver, if there is one. */
THENCE_EXPORT int thence_extension_query(int index, thence_extension_info *info, size_t size);

/** A kind of device memory, for thence_gpu_query_support(): that of NVIDIA. */
#define THENCE_GPU_CUDA 0
/** That of Intel (Level Zero). */
#define THENCE_GPU_ZE 1
/** That of AMD. */
#define THENCE_GPU_HIP 2

/** @brief Say whether MPI takes buffers that lie in this kind of device memory.
 *  @param gpu_type     ::THENCE_GPU_CUDA, ::THENCE_GPU_ZE or ::THENCE_GPU_HIP.
 *  @param[out] is_supported 1 if MPI says that it does, else 0. An MPI that has no such query counts as 0.
 *  @return `MPI_ERR_ARG` (another `gpu_type`, null `is_supported`); `MPI_ERR_OTHER` before `MPI_Init` and after
 *          `MPI_Finalize`.
 *  @note Threads: any. Source: MPICH's `MPIX_GPU_query_support`, and `MPIX_Query_cuda_support` of Open MPI. */
THENCE_EXPORT int thence_gpu_query_support(int gpu_type, int *is_supported);

/** @brief 1 if MPI says that it takes buffers in CUDA's device memory, else 0. While MPI is not active it is 0.
 *  Threads: any. */
THENCE_EXPORT int thence_query_cuda_support(void);
/** @brief 1 if MPI says that it takes buffers in Level Zero's device memory, else 0, as above. Threads: any. */
THENCE_EXPORT int thence_query_ze_support(void);
/** @brief 1 if MPI says that it takes buffers in HIP's device memory, else 0, as above. Threads: any. */
THENCE_EXPORT int thence_query_hip_support(void);

#ifdef __cplusplus
}
#endif
