# SPDX-License-Identifier: BSD-3-Clause
# Whose senders thence/execution.hpp gives to the tests, and NVIDIA's stdexec where it is found.
#
#   thence_execution          what the tests of senders link; THENCE_EXECUTION chooses: std, stdexec (found with
#                             find_package or where STDEXEC_INCLUDE_DIR points), thence; auto is what the header chooses
#                             by itself.
#   THENCE_EXECUTION_IS_OWN   whether that is thence/exec/.
#   thence_stdexec            a target with stdexec and the switch to it, if it is found; whatever the tests use.
set(THENCE_EXECUTION auto CACHE STRING "Senders for the tests: auto, std, stdexec or thence")
set_property(CACHE THENCE_EXECUTION PROPERTY STRINGS auto std stdexec thence)

# 26.05 or later has exec/split.hpp; an older one is ignored.
find_path(STDEXEC_INCLUDE_DIR exec/split.hpp HINTS ENV STDEXEC_INCLUDE_DIR DOC "Where stdexec is")
set(stdexec_folder ${STDEXEC_INCLUDE_DIR})
if(stdexec_folder AND NOT EXISTS ${stdexec_folder}/exec/split.hpp)
  message(STATUS "The stdexec in ${stdexec_folder} is left out: 26.05 or later is needed")
  set(stdexec_folder "")
endif()
find_package(stdexec CONFIG QUIET)
set(stdexec_package OFF)
if(TARGET STDEXEC::stdexec)
  get_target_property(folders STDEXEC::stdexec INTERFACE_INCLUDE_DIRECTORIES)
  string(REGEX REPLACE "\\$<BUILD_INTERFACE:([^>]*)>" "\\1" folders "${folders}")
  find_path(stdexec_split exec/split.hpp PATHS ${folders} NO_DEFAULT_PATH NO_CACHE)
  if(stdexec_split)
    set(stdexec_package ON)
  else()
    message(STATUS "The stdexec package in ${stdexec_DIR} is left out: 26.05 or later is needed")
  endif()
endif()
if(stdexec_package OR stdexec_folder)
  add_library(thence_stdexec INTERFACE)
  target_include_directories(thence_stdexec INTERFACE ${PROJECT_SOURCE_DIR}/include)
  target_compile_definitions(thence_stdexec INTERFACE THENCE_USE_STDEXEC)
  target_compile_options(thence_stdexec INTERFACE -Wno-deprecated-declarations)
  target_link_libraries(thence_stdexec INTERFACE Threads::Threads)
  if(stdexec_package)
    target_link_libraries(thence_stdexec INTERFACE STDEXEC::stdexec)
  else()
    target_include_directories(thence_stdexec SYSTEM INTERFACE ${stdexec_folder})
    find_package(TBB QUIET) # where GCC's <execution> finds oneTBB's headers it needs the library
    if(TARGET TBB::tbb)
      target_link_libraries(thence_stdexec INTERFACE TBB::tbb)
    endif()
  endif()
endif()

add_library(thence_execution INTERFACE)
target_include_directories(thence_execution INTERFACE ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(thence_execution INTERFACE Threads::Threads)
set(THENCE_EXECUTION_IS_OWN ON)
if(THENCE_EXECUTION STREQUAL "stdexec")
  set(THENCE_EXECUTION_IS_OWN OFF)
  if(NOT TARGET thence_stdexec)
    message(FATAL_ERROR "THENCE_EXECUTION=stdexec, but no stdexec of 26.05 or later is found: set STDEXEC_INCLUDE_DIR "
                        "to its include/")
  endif()
  target_link_libraries(thence_execution INTERFACE thence_stdexec)
elseif(THENCE_EXECUTION STREQUAL "thence")
  target_compile_definitions(thence_execution INTERFACE THENCE_USE_OWN_EXECUTION)
elseif(NOT THENCE_EXECUTION MATCHES "^(auto|std)$")
  message(FATAL_ERROR "THENCE_EXECUTION=${THENCE_EXECUTION}: it is one of auto, std, stdexec, thence")
else()
  include(CheckCXXSourceCompiles)
  check_cxx_source_compiles("#include <version>\n#ifndef __cpp_lib_senders\n#error none\n#endif\nint main() {}"
                            THENCE_HAVE_STD_EXECUTION)
  if(THENCE_HAVE_STD_EXECUTION)
    set(THENCE_EXECUTION_IS_OWN OFF)
  elseif(THENCE_EXECUTION STREQUAL "std")
    message(FATAL_ERROR "THENCE_EXECUTION=std, but this compiler's library has no std::execution (__cpp_lib_senders)")
  endif()
endif()
