# The target `docs` builds the API reference in docs/html of the build folder, `site` the reference and all documents in site/html, and `man` a
# page for each program in man1; that of the command is installed, if it is there. A warning fails them, and so does a machine without their
# program.

# weft_add_documents(TARGET PROGRAM WHAT ARGUMENT...): the target runs the arguments, which need the program.
function(weft_add_documents target program what)
  find_program(WEFT_DOCUMENTS_${program} ${program})
  if(WEFT_DOCUMENTS_${program})
    add_custom_target(${target} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
  else()
    add_custom_target(
      ${target}
      COMMAND ${CMAKE_COMMAND} -E echo "${what} need ${program}: install the package of that name, and configure again"
      COMMAND ${CMAKE_COMMAND} -E false
      VERBATIM)
  endif()
endfunction()

weft_add_documents(
  docs doxygen "The pages of the API reference" sh cmake/make_reference.sh ${PROJECT_VERSION} ${PROJECT_BINARY_DIR}/docs)
weft_add_documents(site doxygen "The pages of the site" sh cmake/make_site.sh ${PROJECT_VERSION} ${PROJECT_BINARY_DIR}/site)

# The tarball of a release: the files that git tracks, as they are in the tree.
add_custom_target(dist COMMAND sh cmake/make_tarball.sh ${PROJECT_VERSION} ${PROJECT_BINARY_DIR} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)

function(weft_add_man_pages)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE files)
  set(folder ${PROJECT_BINARY_DIR}/man1)
  weft_add_documents(man help2man "Man pages" sh cmake/make_man_pages.sh ${PROJECT_VERSION} ${folder} ${files})
  add_dependencies(man ${ARGN})
  install(FILES ${folder}/weft.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
endfunction()
