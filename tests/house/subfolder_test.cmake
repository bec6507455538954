# Configures consumer/ with the sources as a subfolder: the program gets libraries alone, and a compiler that knows more warnings than
# ours must not stop its build.
cmake_policy(VERSION 3.25)
set(work ${CMAKE_CURRENT_BINARY_DIR}/subfolder_test)
file(REMOVE_RECURSE ${work})
execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${work} -G Ninja -D CMAKE_CXX_COMPILER=${compiler} -D TAPEFORM_SOURCE=${root}
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${status}\n${output}")
endif()
file(READ ${work}/build.ninja rules)
if(NOT rules MATCHES "-Wconversion")
  message(FATAL_ERROR "the library's own sources are compiled with warnings; none is asked for")
endif()
foreach(unwanted IN ITEMS -Werror test_core example_)
  if(rules MATCHES "${unwanted}")
    message(FATAL_ERROR "the library as a subfolder: its build has '${unwanted}'")
  endif()
endforeach()
file(REMOVE_RECURSE ${work})
