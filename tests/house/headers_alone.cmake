# folder: core, nn, optim or pages. Each of its headers includes what it uses.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)

public_headers(headers ${folder})
list(REMOVE_ITEM headers tapeform/core/xtensor.hpp)  # needs xtensor, by its purpose
foreach(header IN LISTS headers)
  compile(status errors "#include <${header}>")
  if(NOT status EQUAL 0)
    message(SEND_ERROR "${header} does not compile alone:\n${errors}")
  endif()
endforeach()
