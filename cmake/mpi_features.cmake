# SPDX-License-Identifier: BSD-3-Clause
# What this MPI's mpi.h declares and its library exports of what not every MPI has: asked of the MPI, not read off its version,
# since Open MPI 5 has parts of MPI 4 under version 3.1. The target thence_mpi_features defines what is there.
include(CheckSymbolExists)
include(CheckSourceCompiles)

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
thence_mpi_feature(THENCE_MPI_SESSIONS PMPI_Session_init)
thence_mpi_feature(THENCE_MPI_ISENDRECV PMPI_Isendrecv_replace)
thence_mpi_feature(THENCE_MPI_IDUP_WITH_INFO PMPI_Comm_idup_with_info)
thence_mpi_feature(THENCE_MPI_FORTRAN_REQUESTS PMPI_Request_c2f)
thence_mpi_feature(THENCE_MPI_INTEGER_REQUESTS PMPI_Request_toint)
thence_mpi_feature(THENCE_MPI_BUFFER_FLUSH PMPI_Session_iflush_buffer)
thence_mpi_feature(THENCE_MPI_GET_STATUS_FORMS PMPI_Request_get_status_any)

# Combiners of datatypes, which are enumerators in some MPIs and macros in others, some of which do not compile.
function(thence_mpi_combiner name combiner)
  set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
  check_source_compiles(C "#include <mpi.h>\nint combiner = ${combiner};\nint main(void) { return combiner; }" ${name})
  if(${name})
    target_compile_definitions(thence_mpi_features INTERFACE ${name})
  endif()
endfunction()

thence_mpi_combiner(THENCE_MPI_INTEGER_COMBINERS MPI_COMBINER_HVECTOR_INTEGER)
thence_mpi_combiner(THENCE_MPI_COMBINER_VALUE_INDEX MPI_COMBINER_VALUE_INDEX)
