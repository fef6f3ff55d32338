# What the weft command and the tests both run: the networks that are measured, every op as PyTorch computed it, and the tuner. The
# recorded files travel inside, for `weft check`.

file(GLOB recorded_files CONFIGURE_DEPENDS tests/golden/ops/*.golden.json)
set(recorded_source ${PROJECT_BINARY_DIR}/generated/recorded_files.c)
add_custom_command(
  OUTPUT ${recorded_source}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${recorded_source} "-DINPUTS=${recorded_files}" -DNAME=weft_recorded_files -P
          ${PROJECT_SOURCE_DIR}/cmake/embed_json.cmake
  DEPENDS ${recorded_files} cmake/embed_json.cmake
  VERBATIM)
file(GLOB workload_files CONFIGURE_DEPENDS workloads/*.c workloads/random/*.c workloads/tuner/*.c workloads/oracle/oracle_*.c workloads/oracle/draw_*.c)

# The float64 arrays and functions of the oracle, which all tests use, know nothing of the library.
file(GLOB reference_files CONFIGURE_DEPENDS workloads/oracle/reference*.c workloads/oracle/dtype_values.c)
add_library(weft_oracle STATIC EXCLUDE_FROM_ALL ${reference_files})
target_include_directories(weft_oracle PUBLIC workloads PRIVATE src ${UTHASH_INCLUDE_DIR})
target_link_libraries(weft_oracle PUBLIC weft_static ${dependencies})

add_library(weft_workloads STATIC EXCLUDE_FROM_ALL ${workload_files} ${recorded_source})
target_include_directories(weft_workloads PUBLIC workloads PRIVATE src ${UTHASH_INCLUDE_DIR})
target_link_libraries(weft_workloads PUBLIC weft_oracle weft_static ${dependencies})
if(onnx_found)
  target_include_directories(weft_workloads SYSTEM PUBLIC ${onnx_folder})
  target_compile_definitions(weft_workloads PUBLIC WEFT_WITH_ONNX)
endif()
