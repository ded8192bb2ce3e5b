// SPDX-License-Identifier: BSD-3-Clause
// MPI_Init with MPI_THREAD_MULTIPLE, for a program that may not call MPI_Init_thread in its place.
#pragma once

#include "core/base/visibility.hpp"

#include <array>
#include <optional>
#include <string>

namespace thence::mpi {

// While it lives, MPI_Init of Open MPI, and of MPICH and its kin, gives MPI_THREAD_MULTIPLE: variables of the
// environment say so. No other thread may read or change the environment.
class THENCE_INTERNAL raised_init {
public:
    raised_init();
    ~raised_init();
    raised_init &operator=(raised_init &&) = delete;

private:
    std::array<std::optional<std::string>, 2> before_;
};

} // namespace thence::mpi
