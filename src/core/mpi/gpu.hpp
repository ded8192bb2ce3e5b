// SPDX-License-Identifier: BSD-3-Clause
// Whether MPI takes buffers in device memory. There is no standard query, so MPIs have functions of their own.
#pragma once

#include "core/mpi/extension.hpp"

namespace thence::mpi {

enum class gpu { cuda, ze, hip };
inline constexpr int gpu_kinds = 3;

// False, too, if MPI has no such query.
bool takes_memory_of(gpu kind) noexcept;

extension_facts gpu_queries() noexcept;

} // namespace thence::mpi
