# A port of the tree that it stands in, to be used as an overlay: vcpkg install weft --overlay-ports=packaging/vcpkg
# The folder is found by its place; a copy of the port elsewhere needs vcpkg_from_github() here, with the checksum of a release.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

vcpkg_check_linkage(ONLY_DYNAMIC_LIBRARY)
vcpkg_check_features(
  OUT_FEATURE_OPTIONS features
  FEATURES clblast WEFT_WITH_CLBLAST
           jpeg WEFT_WITH_JPEG
           onnx WEFT_WITH_ONNX
           png WEFT_WITH_PNG)
if("onnx" IN_LIST FEATURES)
  set(tools "${CURRENT_HOST_INSTALLED_DIR}/tools")
  list(APPEND features "-DPROTOC=${tools}/protobuf/protoc${VCPKG_HOST_EXECUTABLE_SUFFIX}"
       "-DPROTOC_GEN_C=${tools}/protobuf-c/protoc-gen-c${VCPKG_HOST_EXECUTABLE_SUFFIX}")
endif()
vcpkg_find_acquire_program(PKGCONFIG)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${features} -DWEFT_BUILD_PROGRAMS=OFF -DWEFT_WITH_MPI=OFF "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/weft)
vcpkg_fixup_pkgconfig()

# A port of a shared library has no static one, and the documents of all ports stand elsewhere.
file(REMOVE "${CURRENT_PACKAGES_DIR}/lib/libweft.a" "${CURRENT_PACKAGES_DIR}/debug/lib/libweft.a")
file(GLOB static_targets "${CURRENT_PACKAGES_DIR}/share/weft/weft-static*.cmake")
file(REMOVE ${static_targets})
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share" "${CURRENT_PACKAGES_DIR}/share/doc")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
