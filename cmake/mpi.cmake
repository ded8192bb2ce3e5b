# SPDX-License-Identifier: BSD-3-Clause
# Which MPI to build with. THENCE_MPI names a row of mpis.txt; empty leaves the choice to CMake's FindMPI (the mpicc in
# PATH, or -DMPI_C_COMPILER=...).
set(THENCE_MPI "" CACHE STRING "One of the MPIs in cmake/mpis.txt, or empty for the mpicc in PATH")
set(THENCE_MPI_CACHE ${PROJECT_SOURCE_DIR}/build/mpi CACHE PATH "Folder with one Python environment per MPI wheel")

if(THENCE_MPI)
  file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/mpis.txt rows REGEX "^[a-z0-9]+\\|")
  set(row ${rows})
  list(FILTER row INCLUDE REGEX "^${THENCE_MPI}\\|")
  if(NOT row)
    list(TRANSFORM rows REPLACE "\\|.*" "")
    list(JOIN rows " " rows)
    message(FATAL_ERROR "THENCE_MPI=${THENCE_MPI} is none of: ${rows}")
  endif()
  string(REPLACE "@WHEELS@" "${THENCE_MPI_CACHE}" row "${row}")
  string(REPLACE "|" ";" row "${row}")
  list(GET row 1 compiler)
  list(GET row 2 launcher)
  if(NOT EXISTS ${compiler})
    message(FATAL_ERROR "THENCE_MPI=${THENCE_MPI}: no ${compiler}. Install it with: scripts/mpi_env.sh --install "
                        "${THENCE_MPI}  (or set THENCE_MPI_CACHE to the folder that has it)")
  endif()
  set(MPI_C_COMPILER ${compiler} CACHE FILEPATH "MPI compiler of THENCE_MPI" FORCE)
  set(MPIEXEC_EXECUTABLE ${launcher} CACHE FILEPATH "MPI launcher of THENCE_MPI" FORCE)
  if(THENCE_MPI STREQUAL "impi")
    set(ENV{I_MPI_ROOT} ${THENCE_MPI_CACHE}/impi) # without it, its mpicc prints flags with a placeholder for the path
  endif()
endif()

# The file of MPI's library, which a program may load by dlopen(); empty if the compiler names none. In wheels the name that
# the linker uses is a script.
function(thence_file_of_mpi variable)
  set(found "")
  foreach(library IN LISTS MPI_C_LIBRARIES)
    if(library MATCHES "lib(mpi|mpich|mpi_abi)\\.so")
      set(found ${library})
    endif()
  endforeach()
  if(found)
    file(GLOB versions ${found}.[0-9] ${found}.[0-9][0-9])
    if(versions)
      list(GET versions 0 found)
    endif()
  endif()
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()
