# Installation and export: `find_package(DSV4)` gives the targets
# DSV4::<library> for every library of this build. Included last, when all
# targets exist.

include(CMakePackageConfigHelpers)

set(DSV4_INSTALL_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/DSV4)

# The libraries on MLIR announce themselves; the runtime knows nothing of them.
get_property(dsv4_libraries GLOBAL PROPERTY DSV4_EXPORTED_TARGETS)
if(TARGET dsv4rt)
  list(APPEND dsv4_libraries dsv4rt)
  target_include_directories(dsv4rt INTERFACE
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endif()
list(REMOVE_DUPLICATES dsv4_libraries)

install(TARGETS ${dsv4_libraries}
  EXPORT DSV4Targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# Installed tools find the installed runtime and the MLIR they were linked with.
foreach(tool dsv4-opt dsv4-translate dsv4-run dsv4-example)
  if(TARGET ${tool})
    set_target_properties(${tool} PROPERTIES
      INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}"
      INSTALL_RPATH_USE_LINK_PATH ON)
  endif()
endforeach()

# Public headers, generated headers, and the TableGen sources beside them.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.td")
foreach(folder dialect passes)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/${folder}/dsv4
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.inc")
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/dialect/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dsv4/IR
  FILES_MATCHING PATTERN "*.td")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/passes/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dsv4/Passes
  FILES_MATCHING PATTERN "*.td" PATTERN "decompose" EXCLUDE PATTERN "runtime" EXCLUDE)
foreach(file LICENSE README.md)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${file})
    install(FILES ${PROJECT_SOURCE_DIR}/${file} DESTINATION ${CMAKE_INSTALL_DOCDIR})
  endif()
endforeach()

install(EXPORT DSV4Targets
  NAMESPACE DSV4::
  DESTINATION ${DSV4_INSTALL_CMAKE_DIR})
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/DSV4Config.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/DSV4Config.cmake
  INSTALL_DESTINATION ${DSV4_INSTALL_CMAKE_DIR}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/cmake/DSV4ConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/cmake/DSV4Config.cmake
  ${PROJECT_BINARY_DIR}/cmake/DSV4ConfigVersion.cmake
  DESTINATION ${DSV4_INSTALL_CMAKE_DIR})
