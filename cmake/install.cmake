# Installs the headers, both libraries, the find_package() and pkg-config files, and the documents.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

install(DIRECTORY include/weft ${public_folder}/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(TARGETS weft EXPORT weft-shared)
install(TARGETS weft_static EXPORT weft-static)
install(EXPORT weft-shared NAMESPACE weft:: DESTINATION ${package_dir})
install(EXPORT weft-static NAMESPACE weft:: DESTINATION ${package_dir})

configure_package_config_file(cmake/weft-config.cmake.in weft-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(weft-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weft-config.cmake ${PROJECT_BINARY_DIR}/weft-config-version.cmake
        DESTINATION ${package_dir})

# weft.pc finds its prefix from where it lies, so that an installed tree may be moved.
file(RELATIVE_PATH pc_prefix "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  file(RELATIVE_PATH pc_prefix "${CMAKE_INSTALL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
  set(pc_libdir "${CMAKE_INSTALL_LIBDIR}")
endif()
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
endif()
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
# Libs.private and not Requires.private: who links the shared library needs no other development package.
set(pc_private -lOpenCL -lz ${XXHASH_LDFLAGS} ${CJSON_LDFLAGS})
if(clblast_found)
  list(APPEND pc_private ${CLBLAST_LDFLAGS})
endif()
if(onnx_found)
  list(APPEND pc_private ${PROTOBUF_C_LDFLAGS})
endif()
if(png_found)
  list(APPEND pc_private ${PNG_LDFLAGS})
endif()
if(jpeg_found)
  list(APPEND pc_private ${JPEG_LDFLAGS})
endif()
list(REMOVE_DUPLICATES pc_private)
if(WIN32) # folders of the machine that built it
  list(FILTER pc_private EXCLUDE REGEX "^-L")
endif()
list(JOIN pc_private " " pc_private)
configure_file(cmake/weft.pc.in weft.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/weft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Beside one another as in the source tree, so that their links lead somewhere, and the programs that they show find the digits.
foreach(document IN ITEMS README.md CHANGELOG.md CONTRIBUTING.md LICENSE)
  install(FILES ${document} DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
endforeach()
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL FILES_MATCHING PATTERN "*.md" PATTERN "*.diff" PATTERN "*.svg" PATTERN "*.png"
        PATTERN examples EXCLUDE)
install(DIRECTORY data/digits DESTINATION ${CMAKE_INSTALL_DOCDIR}/data OPTIONAL)
install(DIRECTORY samples DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL FILES_MATCHING PATTERN "*.c" PATTERN "*.h" PATTERN "*.cpp")
