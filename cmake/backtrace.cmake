# SPDX-License-Identifier: BSD-3-Clause
# libbacktrace translates addresses in reports to functions and lines. GCC brings it among its own files, where neither other
# compilers nor CMake look. Without it reports have the addresses.
execute_process(COMMAND gcc -print-file-name=libbacktrace.a OUTPUT_VARIABLE archive OUTPUT_STRIP_TRAILING_WHITESPACE
                RESULT_VARIABLE failed ERROR_QUIET)
cmake_path(GET archive PARENT_PATH gcc_folder)
find_path(THENCE_BACKTRACE_INCLUDE_DIR backtrace.h HINTS ${gcc_folder}/include DOC "Header of libbacktrace")
find_library(THENCE_BACKTRACE_LIBRARY backtrace HINTS ${gcc_folder} DOC "libbacktrace")
add_library(thence_backtrace INTERFACE)
if(THENCE_BACKTRACE_INCLUDE_DIR AND THENCE_BACKTRACE_LIBRARY)
  # The header alone: other headers of GCC's folder are for GCC.
  set(header_copied ${PROJECT_BINARY_DIR}/backtrace/backtrace.h)
  configure_file(${THENCE_BACKTRACE_INCLUDE_DIR}/backtrace.h ${header_copied} COPYONLY)
  include(CheckCXXSourceCompiles)
  include(CMakePushCheckState)
  cmake_push_check_state()
  set(CMAKE_REQUIRED_FLAGS -fPIC)
  set(CMAKE_REQUIRED_INCLUDES ${PROJECT_BINARY_DIR}/backtrace)
  set(CMAKE_REQUIRED_LINK_OPTIONS -shared LINKER:-z,defs)
  set(CMAKE_REQUIRED_LIBRARIES ${THENCE_BACKTRACE_LIBRARY})
  check_cxx_source_compiles("#include <backtrace.h>
    void *f() { return backtrace_create_state(nullptr, 0, nullptr, nullptr); }" THENCE_HAVE_BACKTRACE)
  cmake_pop_check_state()
endif()
if(THENCE_HAVE_BACKTRACE)
  target_include_directories(thence_backtrace SYSTEM INTERFACE ${PROJECT_BINARY_DIR}/backtrace)
  target_compile_definitions(thence_backtrace INTERFACE THENCE_HAS_BACKTRACE)
  target_link_libraries(thence_backtrace INTERFACE ${THENCE_BACKTRACE_LIBRARY})
else()
  message(STATUS "Reports name no lines of the program, libbacktrace not found (set CMAKE_PREFIX_PATH)")
endif()
