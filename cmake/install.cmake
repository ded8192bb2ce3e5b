# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` puts where: libraries, headers, the CMake package `thence`, thence.pc and thence-core.pc, man
# pages, and the programs that a user gets.
include(CMakePackageConfigHelpers)

foreach(lib IN ITEMS thence_core thence thence_senders)
  # Installed libraries find each other beside themselves, and MPI where it was at build time.
  set_target_properties(${lib} PROPERTIES INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
endforeach()
install(TARGETS thence_core thence thence_senders EXPORT thenceTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/thence DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/thence)
install(EXPORT thenceTargets NAMESPACE thence:: DESTINATION ${package_dir})
configure_package_config_file(cmake/thenceConfig.cmake.in ${PROJECT_BINARY_DIR}/package/thenceConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/thenceConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/thenceConfig.cmake ${PROJECT_BINARY_DIR}/package/thenceConfigVersion.cmake
        DESTINATION ${package_dir})

# The prefix is written relative to the .pc file, so that an installed tree can be moved.
file(RELATIVE_PATH PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
set(PC_NAME thence)
set(PC_DESCRIPTION "${PROJECT_DESCRIPTION}")
# Needed even where the program itself calls nothing interposed: libraries of it may.
set(PC_LIBS "-Wl,--push-state,--no-as-needed -lthence -Wl,--pop-state -lthence-core")
configure_file(cmake/thence.pc.in ${PROJECT_BINARY_DIR}/package/thence.pc @ONLY)
set(PC_NAME thence-core)
set(PC_DESCRIPTION "${PROJECT_DESCRIPTION} (without interposing MPI calls)")
set(PC_LIBS "-lthence-core")
configure_file(cmake/thence.pc.in ${PROJECT_BINARY_DIR}/package/thence-core.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/thence.pc ${PROJECT_BINARY_DIR}/package/thence-core.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET man)
  if(NOT TARGET thence_cli) # without the command, no page for it
    set(without PATTERN man1 EXCLUDE)
  endif()
  install(DIRECTORY ${PROJECT_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR} ${without})
endif()
install(FILES LICENSE README.md CHANGELOG.md CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})
