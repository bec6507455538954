# Builds and runs consumer/ from sources alone, which have been moved: fetched as an archive, and as a subfolder. Both ways compile the
# same files in the same place, so the second is quick.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)
set(work ${CMAKE_CURRENT_BINARY_DIR}/sources_test)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})
file(GLOB entries RELATIVE ${root} ${root}/*)
list(REMOVE_ITEM entries build tests examples docs)
execute_process(COMMAND ${CMAKE_COMMAND} -E tar czf ${work}/tapeform.tar.gz ${entries} WORKING_DIRECTORY ${root} COMMAND_ERROR_IS_FATAL ANY)

set(configure ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${work}/build -G Ninja -D CMAKE_CXX_COMPILER=${compiler}
  -D CMAKE_CXX_FLAGS=-O0)
step(${configure} -D TAPEFORM_FROM=fetch -D TAPEFORM_SOURCE=${work}/tapeform.tar.gz)
step(${CMAKE_COMMAND} --build ${work}/build)
step(${work}/build/consumer)

file(REMOVE ${work}/build/consumer)
step(${configure} -D TAPEFORM_FROM=subfolder -D TAPEFORM_SOURCE=${work}/build/_deps/tapeform-src)
step(${CMAKE_COMMAND} --build ${work}/build)
step(${work}/build/consumer)
file(REMOVE_RECURSE ${work})
