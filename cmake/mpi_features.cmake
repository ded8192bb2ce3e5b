# SPDX-License-Identifier: BSD-3-Clause
# What this MPI's mpi.h declares and its library exports of what not every MPI has: asked of the MPI, not read off its version,
# since Open MPI 5 has parts of MPI 4 under version 3.1. The target thence_mpi_features defines what is there.
include(CheckSymbolExists)

add_library(thence_mpi_features INTERFACE)
function(thence_mpi_feature name symbol)
  set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
  check_symbol_exists(${symbol} mpi.h ${name})
  if(${name})
    target_compile_definitions(thence_mpi_features INTERFACE ${name})
  endif()
endfunction()

thence_mpi_feature(THENCE_MPI_FILES PMPI_File_write_ordered_end)
thence_mpi_feature(THENCE_MPI_PARTITIONED PMPI_Precv_init)
thence_mpi_feature(THENCE_MPI_PERSISTENT_COLLECTIVES PMPI_Neighbor_alltoallw_init)
thence_mpi_feature(THENCE_MPI_LARGE_COUNTS PMPI_Neighbor_alltoallw_init_c)
thence_mpi_feature(THENCE_MPI_GET_STATUS_FORMS PMPI_Request_get_status_any)
