// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/type_dup.hpp"

namespace thence::mpi {

decltype(&PMPI_Type_dup) type_dup = &PMPI_Type_dup;

} // namespace thence::mpi
