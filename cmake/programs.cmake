# The weft command, the samples and the programs, in bin/. samples/05_train_digits.c becomes bin/train_digits.
# The samples see the public headers only; the command may use what is inside the library.

file(GLOB sample_files CONFIGURE_DEPENDS samples/*.c)
set(samples "")
foreach(file IN LISTS sample_files)
  get_filename_component(name ${file} NAME_WE)
  string(REGEX REPLACE "^[0-9]+_" "" name ${name})
  add_executable(${name} ${file})
  target_link_libraries(${name} PRIVATE weft_static m)
  target_compile_definitions(${name} PRIVATE WEFT_SOURCE_DATA_DIR="${PROJECT_SOURCE_DIR}/data")
  list(APPEND samples ${name})
endforeach()

# programs/train_cifar.c becomes bin/train_cifar; what the programs share is linked into each. They see the public
# headers and each other's, as a user's would.
set(programs train_cifar classify)
foreach(name IN LISTS programs)
  add_executable(${name} programs/${name}.c programs/command_line.c programs/image_network.c programs/json_text.c
                         programs/stopping.c)
  target_link_libraries(${name} PRIVATE weft_static m)
  target_compile_definitions(${name} PRIVATE WEFT_SOURCE_DATA_DIR="${PROJECT_SOURCE_DIR}/data")
endforeach()

file(GLOB command_files CONFIGURE_DEPENDS tools/*.c)
if(command_files)
  add_executable(weft_command ${command_files})
  set_target_properties(weft_command PROPERTIES OUTPUT_NAME weft)
  target_include_directories(weft_command PRIVATE src tools ${UTHASH_INCLUDE_DIR})
  target_link_libraries(weft_command PRIVATE weft_workloads weft_static ${dependencies})
  install(TARGETS weft_command)
endif()

if("train_digits" IN_LIST samples)
  add_custom_target(
    run_demo
    COMMAND train_digits --model cnn --data ${PROJECT_SOURCE_DIR}/data/digits --epochs 20
    USES_TERMINAL VERBATIM
    COMMENT "Training a convolutional network on real handwritten digits")
endif()
