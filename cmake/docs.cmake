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
