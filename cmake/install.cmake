# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` puts where: libraries, headers, the CMake package `thence`, a .pc file per capability. Programs
# and man pages are installed where they are declared.
include(CMakePackageConfigHelpers)

set(package thence${THENCE_LIBRARY_SUFFIX})
set(THENCE_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/${package})
set(THENCE_INSTALL_LIBRARIES LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS thence_core EXPORT thenceTargets ${THENCE_INSTALL_LIBRARIES})
if(THENCE_LIBRARY_TYPE STREQUAL SHARED)
  # The name that -lthence stands for brings the core, too, which has the functions that programs call.
  install(TARGETS thence EXPORT thenceTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_SKIP
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  get_target_property(thence_so_version thence SOVERSION)
  set(interposing_name libthence${THENCE_LIBRARY_SUFFIX}.so.${thence_so_version})
  set(core_name libthence-core${THENCE_LIBRARY_SUFFIX}.so.${thence_so_version})
  file(CONFIGURE OUTPUT package/libthence${THENCE_LIBRARY_SUFFIX}.so @ONLY
       CONTENT "/* GNU ld script */\nINPUT(@interposing_name@ AS_NEEDED(@core_name@))\n")
  install(FILES ${PROJECT_BINARY_DIR}/package/libthence${THENCE_LIBRARY_SUFFIX}.so DESTINATION ${CMAKE_INSTALL_LIBDIR})
else()
  install(TARGETS thence EXPORT thenceTargets ${THENCE_INSTALL_LIBRARIES})
endif()
if(TARGET thence_archive)
  install(TARGETS thence_archive EXPORT thenceTargets ${THENCE_INSTALL_LIBRARIES})
endif()
install(EXPORT thenceTargets NAMESPACE thence:: DESTINATION ${THENCE_PACKAGE_DIR})
install(DIRECTORY include/thence DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES include/TAMPI.h include/TAGASPI.h include/GASPI.h include/GASPI_Ext.h include/GASPI_Lowlevel.h include/GASPI_Threads.h
              include/GASPI_types.h include/PGASPI.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

include(cmake/capabilities.cmake)
# Needed even where the program itself calls nothing interposed: libraries of it may.
set(interposing_libs -Wl,--push-state,--no-as-needed -lthence${THENCE_LIBRARY_SUFFIX} -Wl,--pop-state)
set(runtime_libs "")
if(THENCE_LIBRARY_TYPE STREQUAL STATIC) # as src/CMakeLists.txt does it for CMake; a C program needs C++'s library too
  set(interposing_libs -Wl,--whole-archive -lthence${THENCE_LIBRARY_SUFFIX} -Wl,--no-whole-archive)
  set(runtime_libs -lstdc++)
  if("c++" IN_LIST CMAKE_CXX_IMPLICIT_LINK_LIBRARIES)
    set(runtime_libs -lc++)
  endif()
  list(TRANSFORM CMAKE_DL_LIBS PREPEND -l OUTPUT_VARIABLE dl_libs)
  list(APPEND runtime_libs -pthread ${dl_libs})
endif()
thence_package("" DESCRIPTION "${PROJECT_DESCRIPTION}" PC_REQUIRES core PC_LIBS ${interposing_libs})
thence_package(-core DESCRIPTION "${PROJECT_DESCRIPTION} (without interposing MPI calls)"
               PC_LIBS -lthence-core${THENCE_LIBRARY_SUFFIX} ${runtime_libs})
thence_capability(tampi C DESCRIPTION "the interface of TAMPI" PC_LIBS ${interposing_libs})
thence_capability(am C DESCRIPTION "active messages")
thence_capability(gaspi C DESCRIPTION "the interface of GASPI" PC_LIBS ${interposing_libs})
thence_capability(tagaspi C DESCRIPTION "the interface of TAGASPI" PC_REQUIRES gaspi)
if(THENCE_LIBRARY_SUFFIX STREQUAL "") # under the name that TAMPI itself uses
  file(CONFIGURE OUTPUT package/tampi.pc @ONLY CONTENT "Name: tampi
Description: the interface of TAMPI, by Thence
Version: 3.0.1
Requires: thence-tampi = @PROJECT_VERSION@
")
  install(FILES ${PROJECT_BINARY_DIR}/package/tampi.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
if(TARGET thence_fortran) # a module fits one compiler and one MPI
  thence_capability(fortran C DESCRIPTION "modules for Fortran" PC_CFLAGS -I\${libdir}/${THENCE_MODULE_FOLDER}
                    PC_LIBS ${interposing_libs})
  thence_capability(tampi-fortran C DESCRIPTION "the interface of TAMPI for Fortran" PC_REQUIRES tampi
                    PC_CFLAGS -I\${libdir}/${THENCE_MODULE_FOLDER})
  thence_capability(tagaspi-fortran C DESCRIPTION "the interfaces of GASPI and TAGASPI for Fortran" PC_REQUIRES tagaspi
                    PC_CFLAGS -I\${libdir}/${THENCE_MODULE_FOLDER})
  install(FILES bindings/fortran/TAMPIf.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(FILES ${THENCE_MODULE_FILES} ${THENCE_TAMPI_MODULE_FILES} ${THENCE_TAGASPI_MODULE_FILES}
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/${THENCE_MODULE_FOLDER})
endif()

get_property(THENCE_CAPABILITIES GLOBAL PROPERTY thence_capabilities)
configure_package_config_file(cmake/thenceConfig.cmake.in ${PROJECT_BINARY_DIR}/package/${package}Config.cmake
                              INSTALL_DESTINATION ${THENCE_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/${package}ConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/${package}Config.cmake
              ${PROJECT_BINARY_DIR}/package/${package}ConfigVersion.cmake DESTINATION ${THENCE_PACKAGE_DIR})

install(FILES LICENSE README.md CHANGELOG.md CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})
