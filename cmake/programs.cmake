# The weft command, the samples and the programs, in bin/. samples/05_train_digits.c becomes bin/train_digits.
# The samples see the public headers only; the command may use what is inside the library.

# Samples have numbers; the files without one are what samples and programs share.
set(console samples/console_posix.c)
if(WIN32)
  set(console samples/console_windows.c)
endif()
add_library(sample_support STATIC samples/command_line.c ${console} samples/wrong_answers.c samples/progress.c samples/progress_text.c
                                  samples/stopping.c samples/trace.c samples/training_loop.c)
target_include_directories(sample_support PUBLIC samples)
target_link_libraries(sample_support PUBLIC weft_static m)
if(WIN32) # console_windows.c: main gets UTF-8; threads and main have stacks of 8 MB, as on Linux
  target_link_options(sample_support PUBLIC -municode LINKER:--stack,8388608)
endif()
# Programs find the data of this tree; those for Windows, which are packed, the folder data of the folder in which they run.
set(data_dir WEFT_SOURCE_DATA_DIR="${PROJECT_SOURCE_DIR}/data")
if(WIN32)
  set(data_dir "")
endif()
file(GLOB sample_files CONFIGURE_DEPENDS samples/[0-9]*.c)
set(samples "")
foreach(file IN LISTS sample_files)
  get_filename_component(name ${file} NAME_WE)
  string(REGEX REPLACE "^[0-9]+_" "" name ${name})
  add_executable(${name} ${file})
  target_link_libraries(${name} PRIVATE sample_support)
  target_compile_definitions(${name} PRIVATE ${data_dir})
  list(APPEND samples ${name})
endforeach()

# samples/cpp/cpp_gan.cpp becomes bin/cpp_gan.
if(WEFT_CXX)
  file(GLOB cpp_samples CONFIGURE_DEPENDS samples/cpp/*.cpp)
  foreach(file IN LISTS cpp_samples)
    get_filename_component(name ${file} NAME_WE)
    add_executable(${name} ${file})
    target_link_libraries(${name} PRIVATE weft_static)
  endforeach()
endif()

# programs/train_cifar.c becomes bin/train_cifar; what the programs share is linked into each. They see the public
# headers, each other's and the samples', as a user's would.
set(programs train_cifar classify)
foreach(name IN LISTS programs)
  add_executable(${name} programs/${name}.c programs/image_network.c programs/json_text.c)
  target_link_libraries(${name} PRIVATE sample_support)
  target_compile_definitions(${name} PRIVATE ${data_dir})
endforeach()

file(GLOB command_files CONFIGURE_DEPENDS tools/*.c)
list(FILTER command_files EXCLUDE REGEX "_${other_system}[.]c$")
if(NOT onnx_found) # then the command says that it was built without ONNX
  list(FILTER command_files EXCLUDE REGEX "/onnx_(check|info|network|options|results|run|train)[.]c$")
endif()
if(command_files)
  add_executable(weft_command ${command_files})
  set_target_properties(weft_command PROPERTIES OUTPUT_NAME weft)
  target_include_directories(weft_command PRIVATE src tools samples ${UTHASH_INCLUDE_DIR})
  target_link_libraries(weft_command PRIVATE sample_support weft_workloads weft_static ${dependencies})
  if(WEFT_INSTALL)
    install(TARGETS weft_command)
  endif()
endif()

if(TARGET weft_command AND PROJECT_IS_TOP_LEVEL)
  weft_add_man_pages(weft_command ${samples} ${programs})
endif()

if("train_digits" IN_LIST samples)
  add_custom_target(
    run_demo
    COMMAND train_digits --model cnn --data ${PROJECT_SOURCE_DIR}/data/digits --epochs 20
    USES_TERMINAL VERBATIM
    COMMENT "Training a convolutional network on real handwritten digits")
  # All that the README names is there after the demo, which nothing should disturb.
  add_dependencies(run_demo ${samples} ${programs})
  if(TARGET weft_command)
    add_dependencies(run_demo weft_command)
  endif()
endif()
