# SPDX-License-Identifier: BSD-3-Clause
# Run by the build after a GoogleTest program was linked: cmake -D SETTINGS=file -P discover_tests.cmake
#
# Writes the file by which ctest learns the tests of the program: one test for each case, named suite.case, or, with
# `ctest -C suites`, one test for each suite, named program/suite, which writes the results of its cases to a file in
# RESULTS. The second is what CI runs: a process for each suite takes a tenth of the time of a process for each case.
# SETTINGS sets PROGRAM, NAME, OUTPUT, RESULTS, TIMEOUT, LABELS and ENVIRONMENT.
include(${SETTINGS})
execute_process(COMMAND ${PROGRAM} --gtest_list_tests RESULT_VARIABLE code OUTPUT_VARIABLE listed ERROR_VARIABLE errors
                TIMEOUT 120)
if(NOT code EQUAL 0)
  file(REMOVE ${OUTPUT})
  message(FATAL_ERROR "${NAME} --gtest_list_tests: ${code}\n${listed}${errors}")
endif()

# A line is "Suite.  # comment", or "  case  # comment" for a case of the last suite.
string(REPLACE ";" "," listed "${listed}")
string(REPLACE "\n" ";" lines "${listed}")
set(cases "")
set(suites "")
foreach(line IN LISTS lines)
  string(REGEX REPLACE " *#.*$" "" line "${line}")
  if(line MATCHES "^([A-Za-z0-9_/]+)\\.$")
    set(suite ${CMAKE_MATCH_1})
    set(has_cases NO)
  elseif(line MATCHES "^  ([^ ].*)$")
    set(case ${CMAKE_MATCH_1})
    if(case MATCHES "^DISABLED_")
      continue()
    endif()
    set(test "${suite}.${case}")
    string(APPEND cases "  one([==[${test}]==] [==[--gtest_filter=${test}]==] ${TIMEOUT})\n")
    if(NOT has_cases)
      set(has_cases YES)
      string(REPLACE "/" "." file ${NAME}.${suite})
      string(APPEND suites "  one([==[${NAME}/${suite}]==] [==[--gtest_filter=${suite}.*]==] 600"
                           " [==[--gtest_output=xml:${RESULTS}/${file}.xml]==])\n")
    endif()
  endif()
endforeach()
file(WRITE ${OUTPUT} "macro(one name filter timeout)
  add_test(\"\${name}\" [==[${PROGRAM}]==] \"\${filter}\" \${ARGN})
  set_tests_properties(\"\${name}\" PROPERTIES ENVIRONMENT [==[${ENVIRONMENT}]==] TIMEOUT \${timeout} LABELS [==[${LABELS}]==])
endmacro()
if(CTEST_CONFIGURATION_TYPE STREQUAL \"suites\")
${suites}else()
${cases}endif()
")
