# SPDX-License-Identifier: BSD-3-Clause
# Precompiled headers, where THENCE_PRECOMPILE_HEADERS is on. With them GCC needed 43 % less time for
# six tests, and 59 % less for ten sources of the library.
#
#   thence_precompile(target)         the headers of the library, for a target with many sources
#   thence_precompile_tests(program)  those of the tests, which all programs share; for one that is linked with MPI
#
# Off by default, since a source that lacks an include compiles with them; scripts/run_tests.py says which
# configurations are built without. A compiler other than GCC and Clang does without.
set(thence_precompiles OFF)
if(THENCE_PRECOMPILE_HEADERS AND CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang)$")
  set(thence_precompiles ON)
endif()
# Clang writes the times of the headers into its precompiled header, so that ccache never knew the sources again.
set(thence_precompile_option "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")

function(thence_precompile target)
  if(thence_precompiles)
    target_precompile_headers(${target} PRIVATE
                              $<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/cmake/precompiled/library.hpp>)
    target_compile_options(${target} PRIVATE ${thence_precompile_option})
  endif()
endfunction()

# The compiler takes the header only if it was compiled with the same options as the source, so a program has it that is compiled
# as the tests are: not one with OpenMP, whose option changes what the compiler predefines.
function(thence_precompile_tests program)
  get_target_property(sources ${program} SOURCES)
  get_target_property(libraries ${program} LINK_LIBRARIES)
  if(NOT thence_precompiles OR sources MATCHES "\\.c(;|$)" OR libraries MATCHES "OpenMP::") # a header for C++ alone
    return()
  endif()
  if(NOT TARGET thence_precompiled_tests)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled_tests.cpp CONTENT "int main() {}\n")
    add_executable(thence_precompiled_tests EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/precompiled_tests.cpp)
    target_link_libraries(thence_precompiled_tests PRIVATE MPI::MPI_C Threads::Threads GTest::gtest thence_options)
    target_compile_options(thence_precompiled_tests PRIVATE ${THENCE_TEST_OPTIONS} ${thence_precompile_option})
    target_precompile_headers(thence_precompiled_tests PRIVATE
                              $<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/cmake/precompiled/tests.hpp>)
  endif()
  target_precompile_headers(${program} REUSE_FROM thence_precompiled_tests)
  target_compile_options(${program} PRIVATE ${thence_precompile_option})
endfunction()
