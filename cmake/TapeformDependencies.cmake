# What the library links, for its own build and for programs that find the installed package; xtensor and nlohmann-json are only for the former.
# Examples and tests look up their own in their folders.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(hwy REQUIRED)
find_package(ZLIB REQUIRED)

# Any CBLAS: OpenBLAS by pkg-config, otherwise what FindBLAS finds together with a cblas.h.
if(TARGET tapeform::blas)
  return()
endif()
add_library(tapeform::blas INTERFACE IMPORTED)
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND AND NOT BLA_VENDOR)
  pkg_check_modules(OPENBLAS QUIET IMPORTED_TARGET openblas)
endif()
if(TARGET PkgConfig::OPENBLAS)
  target_link_libraries(tapeform::blas INTERFACE PkgConfig::OPENBLAS)
else()
  find_package(BLAS REQUIRED)
  find_path(TAPEFORM_CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas REQUIRED)
  target_link_libraries(tapeform::blas INTERFACE BLAS::BLAS)
  target_include_directories(tapeform::blas INTERFACE ${TAPEFORM_CBLAS_INCLUDE_DIR})
endif()
