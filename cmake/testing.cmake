# SPDX-License-Identifier: BSD-3-Clause
# How tests are declared, for tests/, apps/ and examples/ alike. All of it does nothing with THENCE_BUILD_TESTS=OFF.
#
#   thence_add_test(name [SOURCES a.cpp ...] [LABELS ...] [LIBRARIES ...] [TIMEOUT s])
#     GoogleTest with its own main, on the scripted fake MPI. Sees the library's inside. Label `fake` is added. Each of
#     its cases is one ctest, named suite.case, in a process of its own; TIMEOUT is that of a case.
#
#   thence_mpi_test(name RANKS 1 2 4 [SOURCES a.cpp ...] [PROGRAM target] [LABELS core ...] [LIBRARIES ...]
#                   [TIMEOUT s] [ARGS ...])
#     One ctest per number of ranks, named name.npN, on the real MPI. Runs the existing target PROGRAM, or builds
#     SOURCES (default name.cpp) with GoogleTest (no main) and LIBRARIES (default thence::thence). Label `mpi` is added.
#
#   thence_test_environment(name RANKS 1 2 4 VARIABLE=value ...)
#     More environment for tests of thence_mpi_test(), in each of the forms that it declares.
#
#   thence_command_test(name COMMAND ... [LABELS ...] [TIMEOUT s])   any other command as a test.
#
#   thence_refused_tests(label [MPI] [INCLUDES folder ...])
#     One test per program in refused/ beside the caller: it must not compile (see tests/exec/refused.py). MPI: it sees MPI's
#     header; INCLUDES: folders besides.
#
# SOURCES default to name.cpp. A test that exits with 77 counts as skipped. Label `core` marks the tests that every MPI
# of the matrix runs; the build target tests_LABEL builds exactly the programs that `ctest -L LABEL` needs.

set(THENCE_MPIEXEC_FLAGS "" CACHE STRING "More arguments for the MPI launcher, as a CMake list")

file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/test_environment.txt THENCE_TEST_ENVIRONMENT REGEX "^[A-Z]")

if(THENCE_BUILD_TESTS)
  find_package(GTest)
  if(GTest_FOUND)
    enable_testing()
    include(GoogleTest)
  else()
    message(STATUS "GoogleTest not found, so no tests are built (Debian: libgtest-dev)")
    set(THENCE_BUILD_TESTS OFF)
  endif()
endif()

# A library file built for the standard ABI runs on any MPI that has it: the tests of that build run twice, on the MPICH
# they were linked with and on Intel MPI.
if(THENCE_MPI STREQUAL "abi" AND EXISTS ${THENCE_MPI_CACHE}/impi/lib/libmpi_abi.so.1)
  set(thence_abi_peer ${THENCE_MPI_CACHE}/impi)
endif()

function(thence_label_target target)
  foreach(label IN LISTS ARGN)
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} ${target})
  endforeach()
endfunction()

function(thence_test_properties test timeout)
  if(NOT timeout)
    set(timeout 60)
  endif()
  set_tests_properties(${test} PROPERTIES ENVIRONMENT "${THENCE_TEST_ENVIRONMENT}" TIMEOUT ${timeout}
                                          SKIP_RETURN_CODE 77 LABELS "${ARGN}")
endfunction()

# Each case of a GoogleTest program of one process as a test. ctest learns the cases from a file that the build of the
# program writes, and their properties from another one: lists do not pass through gtest_discover_tests().
function(thence_discover_tests program timeout)
  if(NOT timeout)
    set(timeout 60)
  endif()
  gtest_discover_tests(${program} NO_PRETTY_VALUES DISCOVERY_TIMEOUT 120 TEST_LIST ${program}_cases)
  set(properties ${CMAKE_CURRENT_BINARY_DIR}/${program}_properties.cmake)
  file(CONFIGURE OUTPUT ${properties} @ONLY CONTENT [=[
if(@program@_cases)
  set_tests_properties(${@program@_cases} PROPERTIES ENVIRONMENT [==[@THENCE_TEST_ENVIRONMENT@]==] TIMEOUT @timeout@
                                                     LABELS [==[@ARGN@]==])
endif()
]=])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${properties})
endfunction()

function(thence_test_program name sources)
  if(NOT sources)
    set(sources ${name}.cpp)
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${ARGN} thence_options)
  # The compiler takes most of the time of the suite. The libraries under test are optimized as for users.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
endfunction()

function(thence_add_test name)
  if(NOT THENCE_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;LABELS;LIBRARIES")
  thence_test_program(${name} "${arg_SOURCES}" ${arg_LIBRARIES} thence_core_objects GTest::gtest GTest::gtest_main)
  thence_discover_tests(${name} "${arg_TIMEOUT}" fake ${arg_LABELS})
  thence_label_target(${name} fake ${arg_LABELS})
endfunction()

function(thence_mpi_test name)
  if(NOT THENCE_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT;PROGRAM" "SOURCES;LABELS;LIBRARIES;ARGS;RANKS")
  if(NOT arg_RANKS)
    message(FATAL_ERROR "thence_mpi_test(${name}): say how many RANKS")
  endif()
  if(NOT arg_PROGRAM)
    set(arg_PROGRAM ${name})
    if(NOT arg_LIBRARIES)
      set(arg_LIBRARIES thence::thence)
    endif()
    thence_test_program(${name} "${arg_SOURCES}" ${arg_LIBRARIES} GTest::gtest)
  endif()
  thence_label_target(${arg_PROGRAM} mpi ${arg_LABELS})
  foreach(ranks IN LISTS arg_RANKS)
    set(test ${name}.np${ranks})
    set(run ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${MPIEXEC_PREFLAGS} ${THENCE_MPIEXEC_FLAGS} $<TARGET_FILE:${arg_PROGRAM}>
            ${MPIEXEC_POSTFLAGS} ${arg_ARGS})
    add_test(NAME ${test} COMMAND ${MPIEXEC_EXECUTABLE} ${run})
    thence_test_properties(${test} "${arg_TIMEOUT}" mpi ${arg_LABELS})
    if(NOT THENCE_SIMULATED) # else all ranks are in one process, of one thread
      set_tests_properties(${test} PROPERTIES PROCESSORS ${ranks})
    endif()
    if(thence_abi_peer)
      add_test(NAME ${test}.on_impi COMMAND ${thence_abi_peer}/bin/mpiexec ${run})
      thence_test_properties(${test}.on_impi "${arg_TIMEOUT}" mpi ${arg_LABELS})
      set_tests_properties(${test}.on_impi PROPERTIES PROCESSORS ${ranks} ENVIRONMENT_MODIFICATION
                           "LD_LIBRARY_PATH=path_list_prepend:${thence_abi_peer}/lib")
    endif()
  endforeach()
endfunction()

function(thence_test_environment name)
  if(NOT THENCE_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "RANKS")
  set(settings ${ARGN})
  list(FILTER settings INCLUDE REGEX "^[A-Za-z_][A-Za-z0-9_]*=")
  list(FILTER arg_RANKS EXCLUDE REGEX "=")
  if(NOT settings OR NOT arg_RANKS)
    message(FATAL_ERROR "thence_test_environment(${name}): say RANKS and VARIABLE=value")
  endif()
  foreach(ranks IN LISTS arg_RANKS)
    set_property(TEST ${name}.np${ranks} APPEND PROPERTY ENVIRONMENT ${settings})
    if(thence_abi_peer)
      set_property(TEST ${name}.np${ranks}.on_impi APPEND PROPERTY ENVIRONMENT ${settings})
    endif()
  endforeach()
endfunction()

function(thence_command_test name)
  if(NOT THENCE_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "COMMAND;LABELS")
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  thence_test_properties(${name} "${arg_TIMEOUT}" ${arg_LABELS})
endfunction()

function(thence_refused_tests label)
  if(NOT THENCE_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "MPI" "" "INCLUDES")
  find_package(Python3 COMPONENTS Interpreter)
  set(flags ${arg_INCLUDES})
  if(arg_MPI)
    list(PREPEND flags ${MPI_C_INCLUDE_DIRS})
  endif()
  list(REMOVE_ITEM flags ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
  list(TRANSFORM flags PREPEND "-isystem")
  if(arg_MPI)
    foreach(definition IN LISTS THENCE_MPI_DEFINITIONS)
      list(APPEND flags -D${definition})
    endforeach()
  endif()
  file(GLOB refused CONFIGURE_DEPENDS refused/*.cpp)
  foreach(file IN LISTS refused)
    cmake_path(GET file STEM name)
    thence_command_test(${label}_refused_${name} LABELS ${label} TIMEOUT 120 COMMAND ${Python3_EXECUTABLE} -B
                        ${PROJECT_SOURCE_DIR}/tests/exec/refused.py ${CMAKE_CXX_COMPILER} ${PROJECT_SOURCE_DIR}/include
                        ${file} ${flags})
  endforeach()
endfunction()
