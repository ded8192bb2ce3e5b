# SPDX-License-Identifier: BSD-3-Clause
# One target and one .pc file per capability, with all that a user of its header has to pass to compiler and linker:
# thence::senders, thence::tampi, thence::gaspi, thence::tagaspi, thence::am, thence::omp, thence::tbb, thence::fiber,
# thence::pools, thence::queues, thence::tasks, thence::alpi. Each but the last two brings thence::core, and thence::tampi,
# thence::gaspi and thence::tagaspi bring thence::thence. Any other program that hands continuation requests to MPI's own
# calls links thence::thence as well.
#
#   thence_capability(name DESCRIPTION text [C] [ALONE] [LIBRARIES target...] [PC_REQUIRES name...] [PC_CFLAGS flag...]
#                     [PC_LIBS flag...])
#     The target is thence_NAME: a library of src/, else one made here that consists of headers alone. C: its header is for
#     C too, so it does not ask for C++20. LIBRARIES: targets that the headers need besides thence::core. PC_REQUIRES: other
#     .pc files of Thence, without `thence-`. ALONE: without thence-core. PC_CFLAGS, PC_LIBS: the flags that stand for the
#     targets of other packages; generator expressions are evaluated.
#   thence_package(name DESCRIPTION text [PC_REQUIRES ...] [PC_CFLAGS ...] [PC_LIBS ...])
#     The .pc file alone. NAME is empty for that of libthence.

set(package_folder ${PROJECT_BINARY_DIR}/package)
# The prefix is written relative to the .pc file, so that an installed tree can be moved.
file(RELATIVE_PATH pc_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)

function(thence_package name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DESCRIPTION" "PC_REQUIRES;PC_CFLAGS;PC_LIBS")
  set(PC_NAME thence${name}${THENCE_LIBRARY_SUFFIX})
  set(PC_DESCRIPTION ${arg_DESCRIPTION})
  list(TRANSFORM arg_PC_REQUIRES REPLACE "(.+)" "thence-\\1${THENCE_LIBRARY_SUFFIX} = ${PROJECT_VERSION}")
  list(JOIN arg_PC_REQUIRES ", " PC_REQUIRES)
  list(TRANSFORM THENCE_MPI_DEFINITIONS PREPEND -D OUTPUT_VARIABLE definitions)
  list(JOIN definitions " " definitions)
  list(JOIN arg_PC_CFLAGS " " PC_CFLAGS)
  string(PREPEND PC_CFLAGS "-I\${includedir} ${definitions} ")
  string(STRIP "${PC_CFLAGS}" PC_CFLAGS)
  list(JOIN arg_PC_LIBS " " PC_LIBS)
  string(STRIP "-L\${libdir} ${PC_LIBS}" PC_LIBS)
  set(PC_PREFIX ${pc_prefix})
  configure_file(cmake/thence.pc.in ${package_folder}/pc/${PC_NAME}.pc.in @ONLY)
  file(GENERATE OUTPUT ${package_folder}/${PC_NAME}.pc INPUT ${package_folder}/pc/${PC_NAME}.pc.in)
  install(FILES ${package_folder}/${PC_NAME}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

function(thence_capability name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "C;ALONE" "DESCRIPTION" "LIBRARIES;PC_REQUIRES;PC_CFLAGS;PC_LIBS")
  if(NOT arg_C)
    list(PREPEND arg_PC_CFLAGS -std=c++20 -pthread)
    list(APPEND arg_PC_LIBS -pthread)
  endif()
  set(target thence_${name})
  if(TARGET ${target})
    list(PREPEND arg_PC_LIBS -lthence-${name}${THENCE_LIBRARY_SUFFIX})
  else()
    add_library(${target} INTERFACE)
    add_library(thence::${name} ALIAS ${target})
    set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
    target_link_libraries(${target} INTERFACE thence_core ${arg_LIBRARIES})
    if(NOT arg_C)
      target_compile_features(${target} INTERFACE cxx_std_20)
      target_link_libraries(${target} INTERFACE Threads::Threads)
    endif()
  endif()
  # A set of its own: a program that has no use for it needs not have its runtime.
  install(TARGETS ${target} EXPORT thence_${name}_targets ${THENCE_INSTALL_LIBRARIES})
  install(EXPORT thence_${name}_targets NAMESPACE thence:: DESTINATION ${THENCE_PACKAGE_DIR} FILE ${name}Targets.cmake)
  if(NOT arg_ALONE)
    list(PREPEND arg_PC_REQUIRES core)
  endif()
  thence_package(-${name} DESCRIPTION "${PROJECT_DESCRIPTION} (${arg_DESCRIPTION})" PC_REQUIRES ${arg_PC_REQUIRES}
                 PC_CFLAGS ${arg_PC_CFLAGS} PC_LIBS ${arg_PC_LIBS})
  set_property(GLOBAL APPEND PROPERTY thence_capabilities ${name})
endfunction()

function(thence_flags_of target result_cflags result_libs) # of a target of another package, for a .pc file
  set(includes "$<FILTER:$<TARGET_PROPERTY:${target},INTERFACE_INCLUDE_DIRECTORIES>,EXCLUDE,^/usr/include$>")
  set(${result_cflags} "$<$<BOOL:${includes}>:-I$<JOIN:${includes}, -I>>" PARENT_SCOPE)
  set(${result_libs} "-L$<TARGET_LINKER_FILE_DIR:${target}>" PARENT_SCOPE)
endfunction()

thence_capability(senders DESCRIPTION "operations as senders and coroutines")
if(TARGET OpenMP::OpenMP_CXX OR TARGET OpenMP::OpenMP_C)
  set(openmp_flags ${OpenMP_CXX_FLAGS})
  if(NOT TARGET OpenMP::OpenMP_CXX)
    set(openmp_flags ${OpenMP_C_FLAGS})
  endif()
  thence_capability(omp C DESCRIPTION "adapter to OpenMP" PC_CFLAGS ${openmp_flags} PC_LIBS ${openmp_flags}
                    LIBRARIES $<TARGET_NAME_IF_EXISTS:OpenMP::OpenMP_C> $<TARGET_NAME_IF_EXISTS:OpenMP::OpenMP_CXX>)
endif()
if(TARGET TBB::tbb)
  thence_flags_of(TBB::tbb cflags libs)
  thence_capability(tbb DESCRIPTION "adapter to oneTBB" LIBRARIES TBB::tbb PC_CFLAGS ${cflags} PC_LIBS ${libs} -ltbb)
  thence_capability(pools DESCRIPTION "pools of oneTBB for senders" LIBRARIES thence_senders TBB::tbb PC_REQUIRES senders
                    PC_CFLAGS ${cflags} PC_LIBS ${libs} -ltbb)
  thence_capability(queues C DESCRIPTION "host queues" LIBRARIES TBB::tbb PC_CFLAGS ${cflags} PC_LIBS ${libs} -ltbb)
  thence_capability(tasks ALONE DESCRIPTION "tasks with data dependences" LIBRARIES TBB::tbb
                    PC_CFLAGS ${cflags} PC_LIBS ${libs} -ltbb)
  if(TARGET thence_alpi) # no headers, and nothing in a program calls it: the linker must not drop it
    thence_package(-alpi DESCRIPTION "${PROJECT_DESCRIPTION} (the data-flow layer as a runtime with ALPI)"
                   PC_LIBS -Wl,--push-state,--no-as-needed -lthence-alpi${THENCE_LIBRARY_SUFFIX} -Wl,--pop-state)
    install(TARGETS thence_alpi EXPORT thence_alpi_targets ${THENCE_INSTALL_LIBRARIES})
    install(EXPORT thence_alpi_targets NAMESPACE thence:: DESTINATION ${THENCE_PACKAGE_DIR} FILE alpiTargets.cmake)
    set_property(GLOBAL APPEND PROPERTY thence_capabilities alpi)
  endif()
endif()
if(TARGET Boost::fiber)
  thence_flags_of(Boost::headers cflags unused)
  thence_flags_of(Boost::fiber unused libs)
  thence_capability(fiber DESCRIPTION "adapter to Boost.Fiber" LIBRARIES Boost::fiber
                    PC_CFLAGS ${cflags} PC_LIBS ${libs} -lboost_fiber -lboost_context)
endif()
