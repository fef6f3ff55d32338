# What the weft command and the tests both run: the networks that are measured, and every op as PyTorch computed it. The
# recorded file travels inside, for `weft check`.

set(recorded_json ${PROJECT_SOURCE_DIR}/tests/golden/op_golden.json)
set(recorded_source ${PROJECT_BINARY_DIR}/generated/recorded_json.c)
add_custom_command(
  OUTPUT ${recorded_source}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${recorded_source} -DINPUT=${recorded_json} -DNAME=weft_recorded_json -P
          ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake
  DEPENDS ${recorded_json} cmake/embed_text.cmake
  VERBATIM)
file(GLOB workload_files CONFIGURE_DEPENDS workloads/*.c)
add_library(weft_workloads STATIC EXCLUDE_FROM_ALL ${workload_files} ${recorded_source})
target_include_directories(weft_workloads PUBLIC workloads PRIVATE src ${UTHASH_INCLUDE_DIR})
target_link_libraries(weft_workloads PUBLIC weft_static ${dependencies})
