# What the library itself links. Examples and tests look up their own in their folders.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(hwy REQUIRED)
find_package(xtensor REQUIRED)

# Any CBLAS: OpenBLAS by pkg-config, otherwise what FindBLAS finds together with a cblas.h.
add_library(tapeform_blas INTERFACE)
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND AND NOT BLA_VENDOR)
  pkg_check_modules(OPENBLAS QUIET IMPORTED_TARGET openblas)
endif()
if(TARGET PkgConfig::OPENBLAS)
  target_link_libraries(tapeform_blas INTERFACE PkgConfig::OPENBLAS)
else()
  find_package(BLAS REQUIRED)
  find_path(TAPEFORM_CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas REQUIRED)
  target_link_libraries(tapeform_blas INTERFACE BLAS::BLAS)
  target_include_directories(tapeform_blas SYSTEM INTERFACE ${TAPEFORM_CBLAS_INCLUDE_DIR})
endif()
