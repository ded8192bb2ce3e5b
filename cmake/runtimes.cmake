# SPDX-License-Identifier: BSD-3-Clause
# The task runtimes that adapters adapt to: OpenMP, oneTBB, Boost.Fiber, Argobots and Qthreads. Each is found once,
# here. Whoever needs one asks whether its target is there: OpenMP::OpenMP_C, OpenMP::OpenMP_CXX, TBB::tbb,
# Boost::fiber, Argobots::argobots, Qthreads::qthreads. Only tests and examples need the last two: their headers are
# installed in any case.
set(THENCE_OPENMP AUTO CACHE STRING "OpenMP adapter, thence::omp: AUTO (if OpenMP is found), ON or OFF")
set(THENCE_TBB AUTO CACHE STRING "oneTBB: thence::tbb, thence::pools, thence::tasks: AUTO, ON or OFF")
set(THENCE_FIBER AUTO CACHE STRING "Boost.Fiber adapter, thence::fiber: AUTO, ON or OFF")
set_property(CACHE THENCE_OPENMP THENCE_TBB THENCE_FIBER PROPERTY STRINGS AUTO ON OFF)
set(THENCE_TBB_VERSION 2021.6)
set(THENCE_BOOST_VERSION 1.71)

# Targets of a project that has this one as a part must see them too.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
macro(thence_find_runtime switch name) # name, further arguments of find_package...
  if(NOT ${switch} STREQUAL AUTO AND ${switch})
    find_package(${name} ${ARGN} REQUIRED)
  elseif(${switch} STREQUAL AUTO)
    find_package(${name} ${ARGN} QUIET)
  endif()
endmacro()
thence_find_runtime(THENCE_OPENMP OpenMP COMPONENTS C CXX)
thence_find_runtime(THENCE_TBB TBB ${THENCE_TBB_VERSION})
thence_find_runtime(THENCE_FIBER Boost ${THENCE_BOOST_VERSION} CONFIG COMPONENTS fiber)

# Argobots has a .pc file. Qthreads has a CMake package from 1.20 on, and before that a .pc file.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(argobots QUIET IMPORTED_TARGET argobots)
endif()
find_package(qthread CONFIG QUIET)
if(PkgConfig_FOUND AND NOT TARGET qthread)
  pkg_check_modules(qthread QUIET IMPORTED_TARGET qthread)
endif()
function(thence_name_runtime name) # targets that stand for it: the first that exists does
  foreach(target IN LISTS ARGN)
    if(TARGET ${target} AND NOT TARGET ${name})
      add_library(${name} INTERFACE IMPORTED GLOBAL)
      target_link_libraries(${name} INTERFACE ${target})
    endif()
  endforeach()
endfunction()
thence_name_runtime(Argobots::argobots PkgConfig::argobots)
thence_name_runtime(Qthreads::qthreads qthread PkgConfig::qthread)
unset(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL)
