# What the weft command and the tests both run: the networks that are measured, and every op as PyTorch computed it. The
# recorded files travel inside, for `weft check`.

file(GLOB recorded_files CONFIGURE_DEPENDS tests/golden/ops/*.golden.json)
set(recorded_source ${PROJECT_BINARY_DIR}/generated/recorded_files.c)
add_custom_command(
  OUTPUT ${recorded_source}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${recorded_source} "-DINPUTS=${recorded_files}" -DNAME=weft_recorded_files -P
          ${PROJECT_SOURCE_DIR}/cmake/embed_json.cmake
  DEPENDS ${recorded_files} cmake/embed_json.cmake
  VERBATIM)
file(GLOB workload_files CONFIGURE_DEPENDS workloads/*.c)
add_library(weft_workloads STATIC EXCLUDE_FROM_ALL ${workload_files} ${recorded_source})
target_include_directories(weft_workloads PUBLIC workloads PRIVATE src ${UTHASH_INCLUDE_DIR})
target_link_libraries(weft_workloads PUBLIC weft_static ${dependencies})
