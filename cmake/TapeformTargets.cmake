# How every target of the project is built: one language level, one set of warnings, one include root per library.

include(GNUInstallDirs)

# Private flags of our own targets. Dependencies come as system includes, so the warnings meet our code only.
set(CMAKE_CXX_EXTENSIONS OFF)
add_library(tapeform_build INTERFACE)
target_compile_features(tapeform_build INTERFACE cxx_std_20)
target_compile_options(tapeform_build INTERFACE -Wall -Wextra -Wconversion $<$<BOOL:${TAPEFORM_WERROR}>:-Werror>)
# g++ collects garbage from 128 MB on, for a twentieth of the build's time; no source here needs 1 GB.
target_compile_options(tapeform_build INTERFACE "$<$<CXX_COMPILER_ID:GNU>:SHELL:--param ggc-min-heapsize=1000000>")
if(TAPEFORM_SANITIZE STREQUAL "address")
  set(tapeform_sanitize_flags -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(TAPEFORM_SANITIZE STREQUAL "fuzz")  # clang's
  set(tapeform_sanitize_flags -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(TAPEFORM_SANITIZE STREQUAL "thread")
  set(tapeform_sanitize_flags -fsanitize=thread -fno-omit-frame-pointer)
  target_compile_definitions(tapeform_build INTERFACE TAPEFORM_SANITIZE_THREAD=1)
elseif(TAPEFORM_SANITIZE AND NOT TAPEFORM_SANITIZE STREQUAL "memcheck")
  message(FATAL_ERROR "TAPEFORM_SANITIZE is '${TAPEFORM_SANITIZE}'; it may be empty, address, fuzz, thread or memcheck")
endif()
if(TAPEFORM_SANITIZE MATCHES "address|fuzz|memcheck")
  # Recycled buffers and the closure arena would hide a use after free.
  target_compile_definitions(tapeform_build INTERFACE TAPEFORM_SANITIZE_MEMORY=1)
endif()
target_compile_options(tapeform_build INTERFACE ${tapeform_sanitize_flags})
target_link_options(tapeform_build INTERFACE ${tapeform_sanitize_flags})

# tapeform_sources(VARIABLE PATTERN…) lists sources of the calling folder; a new file is picked up by the next build.
function(tapeform_sources variable)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  file(GLOB sources CONFIGURE_DEPENDS ${ARGN})
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()

# tapeform_include_root(TARGET SCOPE NAME PREFIX FOLDER [SUBFOLDER…])
# makes <build>/include/NAME/tapeform/PREFIX stand for FOLDER: a link for each of its headers and for those of the named
# subfolders, and for nothing else. What a target does not link, it does not see; what is not named is private.
function(tapeform_include_root target scope root prefix folder)
  set(include_dir ${PROJECT_BINARY_DIR}/include/${root})
  set(stale)
  file(GLOB_RECURSE stale LIST_DIRECTORIES false ${include_dir}/*)
  foreach(subfolder IN ITEMS . LISTS ARGN)
    file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${folder} ${folder}/${subfolder}/*.hpp)
    foreach(header IN LISTS headers)
      cmake_path(SET link NORMALIZE "${include_dir}/tapeform/${prefix}/${header}")
      cmake_path(GET link PARENT_PATH link_dir)
      file(MAKE_DIRECTORY ${link_dir})
      file(CREATE_LINK ${folder}/${header} ${link} SYMBOLIC COPY_ON_ERROR)
      list(REMOVE_ITEM stale ${link})
    endforeach()
    list(TRANSFORM headers PREPEND ${folder}/)
    cmake_path(SET destination NORMALIZE "${CMAKE_INSTALL_INCLUDEDIR}/tapeform/${prefix}/${subfolder}")
    install(FILES ${headers} DESTINATION ${destination})
  endforeach()
  if(stale)
    file(REMOVE ${stale})
  endif()
  file(MAKE_DIRECTORY ${include_dir})
  target_include_directories(${target} ${scope} $<BUILD_INTERFACE:${include_dir}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

# tapeform_unity(TARGET) compiles sources 24 at a time, as one. Each includes what it uses and names no helper as another does, as if it
# stood alone; TAPEFORM_UNITY=OFF proves it.
function(tapeform_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${TAPEFORM_UNITY} UNITY_BUILD_BATCH_SIZE 24)
endfunction()

# tapeform_library(NAME [PUBLIC SUBFOLDER…] [PRIVATE SUBFOLDER…]) makes the static library tapeform_NAME, alias tapeform::NAME, of the
# calling folder. Headers of PUBLIC subfolders stand under its include root; sources of PRIVATE subfolders are compiled and not seen outside.
function(tapeform_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "PUBLIC;PRIVATE")
  set(patterns *.cpp)
  foreach(subfolder IN LISTS arg_PUBLIC arg_PRIVATE)
    list(APPEND patterns ${subfolder}/*.cpp)
  endforeach()
  tapeform_sources(sources ${patterns})
  if(NOT sources)  # a folder of headers alone
    set(sources ${PROJECT_BINARY_DIR}/${name}_empty.cpp)
    file(WRITE ${sources} "")
  endif()
  set(target tapeform_${name})
  add_library(${target} STATIC ${sources})
  add_library(tapeform::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX POSITION_INDEPENDENT_CODE ON EXPORT_NAME ${name})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:tapeform_build>)
  # What a step does to every element stands in core's kernels, which are not built by this function; the rest runs once an op.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  tapeform_unity(${target})
  if(CMAKE_STRIP AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT APPLE)
    # Names of functions that no other file can call: a twentieth of what is shipped, and nothing that a program links.
    add_custom_command(TARGET ${target} POST_BUILD COMMAND ${CMAKE_STRIP} --strip-unneeded $<TARGET_FILE:${target}> VERBATIM)
  endif()
  install(TARGETS ${target} EXPORT tapeform)
  tapeform_include_root(${target} PUBLIC ${name} ${name} ${CMAKE_CURRENT_SOURCE_DIR} ${arg_PUBLIC})
endfunction()
