# tapeform_catch_tests(TARGET PREFIX) makes a CTest test of every Catch2 case in TARGET, after each link of it. Unlike Catch2's own
# discovery it takes names with semicolons, labels [slow] cases, and lets a case without an assertion fail.
# This file is also the script that runs after the link.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(tapeform_catch_tests_script ${CMAKE_CURRENT_LIST_FILE})

  function(tapeform_catch_tests target prefix)
    set(list_file ${CMAKE_CURRENT_BINARY_DIR}/${target}_tests.cmake)
    add_custom_command(
      TARGET ${target} POST_BUILD
      BYPRODUCTS ${list_file}
      COMMAND ${CMAKE_COMMAND} -D program=$<TARGET_FILE:${target}> -D prefix=${prefix} -D list_file=${list_file} -D catch=${Catch2_VERSION}
              -P ${tapeform_catch_tests_script}
      VERBATIM)
    # Before the first build CTest shall say that the program is missing, not pass without its tests.
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake
      "if(EXISTS [==[${list_file}]==])\n  include([==[${list_file}]==])\nelse()\n  add_test(${target}_NOT_BUILT ${target}_NOT_BUILT)\nendif()\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake)
  endfunction()
  return()
endif()

cmake_policy(VERSION 3.25)
if(catch VERSION_LESS 3)
  set(list_arguments --list-test-names-only)
else()
  set(list_arguments --list-tests --verbosity quiet)
endif()

# Names as a list in which a semicolon of a name stands as a control character, which no name holds.
string(ASCII 1 semicolon)
string(ASCII 2 open)
string(ASCII 3 close)
function(list_cases variable spec)
  execute_process(COMMAND ${program} ${list_arguments} ${spec} OUTPUT_VARIABLE names ERROR_VARIABLE errors RESULT_VARIABLE status)
  if(NOT status MATCHES "^[0-9]+$" OR (names STREQUAL "" AND NOT errors STREQUAL ""))
    message(FATAL_ERROR "${program} could not list its tests (${status}): ${errors}")
  endif()
  string(REPLACE ";" "${semicolon}" names "${names}")
  string(REPLACE "[" "${open}" names "${names}")
  string(REPLACE "]" "${close}" names "${names}")
  string(REPLACE "\n" ";" names "${names}")
  list(FILTER names EXCLUDE REGEX "^$")
  set(${variable} "${names}" PARENT_SCOPE)
endfunction()

list_cases(all "")
list_cases(slow "[slow]")
set(script "")
foreach(name IN LISTS all)
  set(labels "")
  if(name IN_LIST slow)
    set(labels " LABELS slow")
  endif()
  string(REGEX REPLACE "([\\,])" "\\\\\\1" spec "${name}")
  string(REPLACE "${open}" "\\[" spec "${spec}")
  string(REPLACE "${open}" "[" title "${prefix}: ${name}")
  string(REPLACE "${close}" "]" title "${title}")
  string(REPLACE "${close}" "]" spec "${spec}")
  string(REPLACE "${semicolon}" ";" title "${title}")
  string(REPLACE "${semicolon}" ";" spec "${spec}")
  string(APPEND script "add_test([==[${title}]==] [==[${program}]==] [==[${spec}]==] -w NoAssertions)\n")
  string(APPEND script "set_tests_properties([==[${title}]==] PROPERTIES TIMEOUT 600 FAIL_REGULAR_EXPRESSION \"No test cases matched\"
  SKIP_REGULAR_EXPRESSION \"(^|\n)skipped: \"${labels})\n")
endforeach()
file(WRITE ${list_file} "${script}")
