# Conan's recipe: `conan create packaging/conan --build=missing`, or with `-pr:a default -pr:a packaging/conan/system_libraries` against the libraries
# of the system. The package has the shared and the static library; a project finds it by find_package(weft) or by pkg-config, as after an
# installation.
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.gnu import PkgConfigDeps

required_conan_version = ">=2.4"


class WeftRecipe(ConanFile):
    name = "weft"
    description = "A vendor-neutral OpenCL deep-learning runtime in C"
    license = "MIT"
    topics = ("deep-learning", "opencl", "neural-network", "gpu")
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"with_" + part: [True, False] for part in ("clblast", "png", "jpeg", "onnx")}
    default_options = {name: True for name in options}
    languages = "C"

    @property
    def tree(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self.tree, "include", "weft", "base.h"))
        self.version = ".".join(re.findall(r"^#define WEFT_VERSION_\w+ (\d+)", text, re.MULTILINE))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "cl_kernels/*", "include/*", "src/*"):
            copy(self, pattern, self.tree, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("opencl-headers/[>=2022.01.04]")
        self.requires("opencl-icd-loader/[>=2022.01.04]")
        self.requires("zlib/[>=1.2.11 <2]")
        self.requires("xxhash/[>=0.8 <0.9]")
        self.requires("cjson/[>=1.7 <2]")
        self.requires("uthash/[>=2.3 <3]")
        if self.options.with_clblast:
            self.requires("clblast/[>=1.5 <2]")
        if self.options.with_png:
            self.requires("libpng/[>=1.6 <2]")
        if self.options.with_jpeg:
            self.requires("libjpeg-turbo/[>=2 <4]")
        if self.options.with_onnx:
            self.requires("protobuf-c/[>=1.4 <2]")

    def build_requirements(self):
        if self.options.with_onnx:
            self.tool_requires("protobuf-c/[>=1.4 <2]")

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["WEFT_BUILD_PROGRAMS"] = False
        toolchain.cache_variables["WEFT_WITH_MPI"] = False
        for part in ("clblast", "png", "jpeg", "onnx"):
            toolchain.cache_variables["WEFT_WITH_" + part.upper()] = bool(self.options.get_safe("with_" + part))
        folders = [folder for dependency in self.dependencies.host.values() for folder in dependency.cpp_info.includedirs]
        uthash = [folder for folder in folders if os.path.exists(os.path.join(folder, "uthash.h"))]
        if uthash:
            toolchain.cache_variables["UTHASH_INCLUDE_DIR"] = uthash[0]
        toolchain.generate()
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "weft")]
        self.cpp_info.set_property("pkg_config_name", "weft")
        self.cpp_info.libs = ["weft"]
