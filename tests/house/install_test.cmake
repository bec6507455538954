# Installs build tree `tree` into a fresh prefix, then configures, builds and runs consumer/, which knows nothing but that prefix.
cmake_policy(VERSION 3.25)
set(work ${CMAKE_CURRENT_BINARY_DIR}/install_test)
file(REMOVE_RECURSE ${work})

function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${status}\n${output}")
  endif()
endfunction()

step(${CMAKE_COMMAND} --install ${tree} --prefix ${work}/prefix)
step(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${work}/build -G Ninja -D CMAKE_CXX_COMPILER=${compiler}
  -D CMAKE_PREFIX_PATH=${work}/prefix -D CMAKE_BUILD_TYPE=Release)
step(${CMAKE_COMMAND} --build ${work}/build)
step(${work}/build/consumer)
file(REMOVE_RECURSE ${work})
