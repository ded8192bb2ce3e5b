# SPDX-License-Identifier: BSD-3-Clause
# How tests are declared, for tests/, apps/ and examples/ alike. All of it does nothing with THENCE_BUILD_TESTS=OFF.
#
#   thence_add_test(name [SOURCES a.cpp ...] [LABELS ...] [LIBRARIES ...] [TIMEOUT s])
#     GoogleTest with its own main, on the scripted fake MPI. Sees the library's inside. Label `fake` is added. Each of
#     its cases is one ctest, named suite.case, in a process of its own; TIMEOUT is that of a case. With `ctest -C suites`
#     each of its suites is one.
#
#   thence_mpi_test(name RANKS 1 2 4 [SOURCES a.cpp ...] [PROGRAM target] [LABELS every_mpi ...] [LIBRARIES ...]
#                   [TIMEOUT s] [ARGS ...])
#     One ctest per number of ranks, named name.npN, on the real MPI. Of a test labelled every_mpi only the form with 2 ranks
#     has that label, if there is one: the others run on the default MPI, and in the whole matrix. Runs the existing target PROGRAM, or builds
#     SOURCES (default name.cpp) with GoogleTest (no main) and LIBRARIES (default thence::thence). Label `mpi` is added.
#
#   thence_test_environment(name RANKS 1 2 4 VARIABLE=value ...)
#     More environment for tests of thence_mpi_test(), in each of the forms that it declares.
#
#   thence_command_test(name COMMAND ... [LABELS ...] [TIMEOUT s])   any other command as a test.
#
#   thence_refused_tests(label [MPI] [INCLUDES folder ...])
#     One test per program in refused/ beside the caller: it must not compile; and one that all compile when they are mended
#     (see tests/tbb/exec/refused.py). MPI: they see MPI's header; INCLUDES: folders besides.
#
# The variable THENCE_DOOR, which tests/CMakeLists.txt sets, is a label of every test that is declared below there.
# SOURCES default to name.cpp. A test that exits with 77 counts as skipped. Label `every_mpi` marks the tests that `make test`
# runs on every MPI, label `matrix` those that only `make test-matrix` runs. The build target tests_LABEL builds exactly the
# programs that `ctest -L LABEL` needs.

set(THENCE_MPIEXEC_FLAGS "" CACHE STRING "More arguments for the MPI launcher, as a CMake list")

file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/test_environment.txt THENCE_TEST_ENVIRONMENT REGEX "^[A-Z]")

if(THENCE_BUILD_TESTS)
  find_package(GTest)
  if(GTest_FOUND)
    enable_testing()
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
  foreach(label IN LISTS ARGN THENCE_DOOR)
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
                                          SKIP_RETURN_CODE 77 LABELS "${ARGN};${THENCE_DOOR}")
endfunction()

# The cases of a GoogleTest program of one process as tests, or its suites (see discover_tests.cmake). ctest learns them from
# a file that the build of the program writes.
function(thence_discover_tests program timeout)
  if(NOT timeout)
    set(timeout 60)
  endif()
  set(base ${CMAKE_CURRENT_BINARY_DIR}/${program})
  file(CONFIGURE OUTPUT ${base}_settings.cmake @ONLY CONTENT [=[
set(NAME @program@)
set(OUTPUT @base@_tests.cmake)
set(RESULTS @PROJECT_BINARY_DIR@/gtest)
set(TIMEOUT @timeout@)
set(LABELS [==[@ARGN@;@THENCE_DOOR@]==])
set(ENVIRONMENT [==[@THENCE_TEST_ENVIRONMENT@]==])
]=])
  file(CONFIGURE OUTPUT ${base}_include.cmake @ONLY CONTENT [=[
if(EXISTS "@base@_tests.cmake")
  include("@base@_tests.cmake")
else()
  add_test(@program@_NOT_BUILT @program@_NOT_BUILT)
endif()
]=])
  add_custom_command(TARGET ${program} POST_BUILD BYPRODUCTS ${base}_tests.cmake VERBATIM
                     COMMAND ${CMAKE_COMMAND} -D SETTINGS=${base}_settings.cmake -D PROGRAM=$<TARGET_FILE:${program}>
                             -P ${PROJECT_SOURCE_DIR}/cmake/discover_tests.cmake)
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${base}_include.cmake)
endfunction()

# The compiler takes most of the time of the suite. The libraries under test are optimized as for users. The builds with sanitizers are
# RelWithDebInfo: there a test takes a third of the time to compile so.
set(THENCE_TEST_OPTIONS $<$<CONFIG:Release>:-O1> $<$<CONFIG:RelWithDebInfo>:-O0 -g1>)

function(thence_test_program name sources)
  if(NOT sources)
    set(sources ${name}.cpp)
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${ARGN} thence_options)
  target_compile_options(${name} PRIVATE ${THENCE_TEST_OPTIONS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
endfunction()

function(thence_add_test name)
  if(NOT THENCE_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;LABELS;LIBRARIES")
  thence_test_program(${name} "${arg_SOURCES}" ${arg_LIBRARIES} thence_core_objects GTest::gtest GTest::gtest_main)
  thence_precompile_tests(${name})
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
    thence_precompile_tests(${name})
    set_target_properties(${name} PROPERTIES THENCE_DOOR "${THENCE_DOOR}")
  elseif(NOT THENCE_DOOR) # a program of a test that is declared elsewhere, or otherwise
    get_target_property(door ${arg_PROGRAM} THENCE_DOOR)
    if(door)
      set(THENCE_DOOR ${door})
    endif()
  endif()
  thence_label_target(${arg_PROGRAM} mpi ${arg_LABELS})
  foreach(ranks IN LISTS arg_RANKS)
    set(test ${name}.np${ranks})
    set(run ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${MPIEXEC_PREFLAGS} ${THENCE_MPIEXEC_FLAGS} $<TARGET_FILE:${arg_PROGRAM}>
            ${MPIEXEC_POSTFLAGS} ${arg_ARGS})
    add_test(NAME ${test} COMMAND ${MPIEXEC_EXECUTABLE} ${run})
    set(labels mpi ${arg_LABELS})
    if(2 IN_LIST arg_RANKS AND NOT ranks EQUAL 2 AND NOT THENCE_SIMULATED)
      list(REMOVE_ITEM labels every_mpi)
    endif()
    thence_test_properties(${test} "${arg_TIMEOUT}" ${labels})
    if(NOT THENCE_SIMULATED) # else all ranks are in one process, of one thread
      set_tests_properties(${test} PROPERTIES PROCESSORS ${ranks})
    endif()
    if(thence_abi_peer)
      add_test(NAME ${test}.on_impi COMMAND ${thence_abi_peer}/bin/mpiexec ${run})
      thence_test_properties(${test}.on_impi "${arg_TIMEOUT}" ${labels})
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
    thence_command_test(${label}_refused_${name} LABELS refused TIMEOUT 120 COMMAND ${Python3_EXECUTABLE} -B
                        ${PROJECT_SOURCE_DIR}/tests/tbb/exec/refused.py ${CMAKE_CXX_COMPILER} ${PROJECT_SOURCE_DIR}/include
                        ${file} ${flags})
  endforeach()
  thence_command_test(${label}_refused.mended LABELS refused TIMEOUT 120 COMMAND ${Python3_EXECUTABLE} -B
                      ${PROJECT_SOURCE_DIR}/tests/tbb/exec/refused.py --mended ${CMAKE_CXX_COMPILER}
                      ${PROJECT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR}/refused ${flags})
endfunction()
