# SPDX-License-Identifier: BSD-3-Clause
# SimGrid's SMPI in place of an MPI: all ranks are simulated in one process, and MPI_Wtime() is simulated time. smpirun loads a
# copy of the program for each rank. So a program is a shared object that exports main(), the libraries are part of it, and
# thread-local variables are ordinary ones (-ftls-model=initial-exec has no room for many copies). Threads inside of a rank are
# not simulated, and calls are not interposed: programs link thence::core.
#
# This file does what FindMPI does for the other MPIs. smpicc itself is not used: it includes smpi_helpers.h before everything
# else, whose macros malloc, free, exit and others break C++ sources.
find_path(THENCE_SMPI_HEADERS mpi.h PATH_SUFFIXES smpi NO_DEFAULT_PATH PATHS /usr/include /usr/local/include
          DOC "Folder with the mpi.h of SimGrid")
find_library(THENCE_SIMGRID_LIBRARY simgrid DOC "Library of SimGrid")
if(NOT THENCE_SMPI_HEADERS OR NOT THENCE_SIMGRID_LIBRARY)
  message(FATAL_ERROR "THENCE_MPI=smpi: no mpi.h or no library of SimGrid found (Debian: libsimgrid-dev)")
endif()

set(THENCE_SIMULATED ON)
set(THENCE_LIBRARY_TYPE STATIC)
set(MPI_C_INCLUDE_DIRS ${THENCE_SMPI_HEADERS})
set(MPIEXEC_NUMPROC_FLAG -np)
set(simulated ${PROJECT_SOURCE_DIR}/tests/simulated)
# smpi/test is explained in src/core/mpi/simulated.cpp.
set(MPIEXEC_PREFLAGS -platform ${simulated}/cluster.xml -hostfile ${simulated}/hosts.txt --cfg=smpi/simulate-computation:no
    --cfg=smpi/test:0 --cfg=smpi/iprobe:1e-6 --cfg=smpi/grow-injected-times:no --log=root.thresh:error)

add_library(MPI::MPI_C INTERFACE IMPORTED)
target_include_directories(MPI::MPI_C SYSTEM INTERFACE ${THENCE_SMPI_HEADERS})
# Its header uses useconds_t, and misspells three names that its library has and that its own macros use.
target_compile_definitions(MPI::MPI_C INTERFACE THENCE_SIMULATED _DEFAULT_SOURCE
    smpi_MPI_MPI_CXX_FLOAT_COMPLEX=smpi_MPI_CXX_FLOAT_COMPLEX smpi_MPI_MPI_CXX_DOULE_COMPLEX=smpi_MPI_CXX_DOUBLE_COMPLEX
    smpi_MPI_MPI_CXX_LONG_DOUBLE_COMPLEX=smpi_MPI_CXX_LONG_DOUBLE_COMPLEX)
# Else all copies of a program would share the static variables of its templates and inline functions.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
target_compile_options(MPI::MPI_C INTERFACE -fPIC $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-fvisibility=default>)
target_link_libraries(MPI::MPI_C INTERFACE ${THENCE_SIMGRID_LIBRARY})
target_link_options(MPI::MPI_C INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-shared>)
