# find_package(tapeform) gives tapeform::tapeform (the whole library), tapeform::core, tapeform::nn and tapeform::optim;
# and tapeform::pages, which draws.
include(${CMAKE_CURRENT_LIST_DIR}/TapeformDependencies.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/tapeform-targets.cmake)
