# step(COMMAND…): runs it; when it fails, so does the test, with what it said.
cmake_policy(VERSION 3.25)

function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${status}\n${output}")
  endif()
  set(step_output "${output}" PARENT_SCOPE)
endfunction()
