# What other programs find the installed library by: find_package and pkg-config. Neither holds the prefix, so an installation may be moved.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tapeform)
install(EXPORT tapeform NAMESPACE tapeform:: FILE tapeform-targets.cmake DESTINATION ${package_dir})
configure_file(cmake/tapeform-config.cmake.in tapeform-config.cmake @ONLY)
write_basic_package_version_file(tapeform-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tapeform-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/tapeform-config-version.cmake
  cmake/TapeformDependencies.cmake DESTINATION ${package_dir})

cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX} OUTPUT_VARIABLE libdir_from_prefix)
cmake_path(SET pc_dir NORMALIZE "${libdir_from_prefix}/pkgconfig")
string(REGEX REPLACE "[^/]+" ".." prefix_from_pc "${pc_dir}")
set(pc_blas_package "")
set(pc_blas_libraries "")
if(TARGET PkgConfig::OPENBLAS)
  set(pc_blas_package " openblas")
else()
  foreach(library IN LISTS BLAS_LIBRARIES BLAS_LINKER_FLAGS)
    string(APPEND pc_blas_libraries " ${library}")
  endforeach()
endif()
configure_file(cmake/tapeform.pc.in tapeform.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tapeform.pc DESTINATION ${pc_dir})
