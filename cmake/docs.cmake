# The target `docs` builds the API reference in docs/html of the build folder; a warning fails it, and so does a machine
# without Doxygen.
find_program(DOXYGEN_PROGRAM doxygen)
if(DOXYGEN_PROGRAM)
  add_custom_target(
    docs
    COMMAND ${CMAKE_COMMAND} -E env WEFT_VERSION=${PROJECT_VERSION} WEFT_DOCS_DIR=${PROJECT_BINARY_DIR}/docs
            ${DOXYGEN_PROGRAM} ${PROJECT_SOURCE_DIR}/docs/Doxyfile
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    VERBATIM)
else()
  add_custom_target(
    docs
    COMMAND ${CMAKE_COMMAND} -E echo "The API reference needs doxygen: install the package of that name, and configure again"
    COMMAND ${CMAKE_COMMAND} -E false
    VERBATIM)
endif()

# The target `man` writes a page for each program to man1 of the build folder; that of the command is installed, if it is
# there.
find_program(HELP2MAN_PROGRAM help2man)
set(man_folder ${PROJECT_BINARY_DIR}/man1)
function(weft_add_man_pages)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE files)
  if(HELP2MAN_PROGRAM)
    add_custom_target(
      man
      COMMAND sh ${PROJECT_SOURCE_DIR}/cmake/make_man_pages.sh ${HELP2MAN_PROGRAM} ${PROJECT_VERSION} ${man_folder} ${files}
      DEPENDS ${ARGN}
      VERBATIM)
  else()
    add_custom_target(
      man
      COMMAND ${CMAKE_COMMAND} -E echo "Man pages need help2man: install the package of that name, and configure again"
      COMMAND ${CMAKE_COMMAND} -E false
      VERBATIM)
  endif()
  install(FILES ${man_folder}/weft.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
endfunction()
