# A user's project with an op, a module and tests of its own: built and run against an installed copy of build tree `tree`, and
# configured with the sources as a subfolder.
include(${CMAKE_CURRENT_LIST_DIR}/steps.cmake)
set(work ${CMAKE_CURRENT_BINARY_DIR}/custom_op_test)
file(REMOVE_RECURSE ${work})

set(project ${root}/examples/custom_op)
step(${CMAKE_COMMAND} --install ${tree} --prefix ${work}/prefix)
step(${CMAKE_COMMAND} -S ${project} -B ${work}/build -G Ninja -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_PREFIX_PATH=${work}/prefix
  -D CMAKE_BUILD_TYPE=Release)
step(${CMAKE_COMMAND} --build ${work}/build)
step(${CMAKE_CTEST_COMMAND} --test-dir ${work}/build --output-on-failure --no-tests=error)

step(${CMAKE_COMMAND} -S ${project} -B ${work}/subfolder -G Ninja -D CMAKE_CXX_COMPILER=${compiler} -D TAPEFORM_SOURCE=${root})
file(READ ${work}/subfolder/build.ninja rules)
if(NOT rules MATCHES "build snake_test: .*libtapeform_core.a")
  message(FATAL_ERROR "the custom op's test does not link the library of the subfolder")
endif()
file(REMOVE_RECURSE ${work})
