# Pieces of the scripts beside this file. They get: compiler, root (of the sources), dirs (include directories, a list).
cmake_policy(VERSION 3.25)

# public_headers(VARIABLE FOLDER): headers of a library's folder as a program spells them, tapeform/core/tape.hpp
function(public_headers variable folder)
  file(GLOB headers RELATIVE ${root} ${root}/${folder}/*.hpp)
  if(folder STREQUAL "core")
    file(GLOB more RELATIVE ${root} ${root}/core/ops/*.hpp ${root}/core/io/*.hpp)
    list(APPEND headers ${more})
  endif()
  list(TRANSFORM headers PREPEND tapeform/)
  set(${variable} ${headers} PARENT_SCOPE)
endfunction()

# compile(STATUS ERRORS LINE): what the compiler says of a file that holds this line, seeing `dirs` alone
function(compile status_variable errors_variable line)
  set(include_flags)
  list(REMOVE_ITEM dirs "")  # CMake's lists of include directories have holes
  foreach(dir IN LISTS dirs)
    list(APPEND include_flags -I${dir})
  endforeach()
  string(SHA1 name "${line}${dirs}")
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/house_${name}.cpp "${line}\n")
  execute_process(
    COMMAND ${compiler} -std=c++20 -Wall -Wextra -Wconversion -Werror -fsyntax-only ${include_flags} ${CMAKE_CURRENT_BINARY_DIR}/house_${name}.cpp
    RESULT_VARIABLE status ERROR_VARIABLE errors OUTPUT_QUIET)
  file(REMOVE ${CMAKE_CURRENT_BINARY_DIR}/house_${name}.cpp)
  set(${status_variable} ${status} PARENT_SCOPE)
  set(${errors_variable} "${errors}" PARENT_SCOPE)
endfunction()
