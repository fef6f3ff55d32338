# Toolchain file for Windows programs made on Debian by MinGW-w64 (gcc-mingw-w64-x86-64); tools/try-windows uses it.
#
#   cmake -S . -B build/windows -DCMAKE_TOOLCHAIN_FILE=cmake/mingw-w64.cmake -DWEFT_WINDOWS_LIBRARIES=FOLDER
#
# FOLDER holds the third-party libraries for Windows, which tools/windows-libraries builds there.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(triple x86_64-w64-mingw32)
set(CMAKE_C_COMPILER ${triple}-gcc-win32)
set(CMAKE_CXX_COMPILER ${triple}-g++-win32)
set(CMAKE_RC_COMPILER ${triple}-windres)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WEFT_WINDOWS_LIBRARIES)

set(CMAKE_FIND_ROOT_PATH /usr/${triple} ${WEFT_WINDOWS_LIBRARIES})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${WEFT_WINDOWS_LIBRARIES}/lib/pkgconfig)
# Nothing that a user has to install besides: GCC's runtime and zlib are linked into the DLL and the programs.
set(CMAKE_SHARED_LINKER_FLAGS_INIT -static-libgcc)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
set(OpenCL_INCLUDE_DIR ${WEFT_WINDOWS_LIBRARIES}/include CACHE PATH "headers of OpenCL")
set(OpenCL_LIBRARY ${WEFT_WINDOWS_LIBRARIES}/lib/libOpenCL.dll.a CACHE FILEPATH "import library of OpenCL.dll")
set(ZLIB_LIBRARY /usr/${triple}/lib/libz.a CACHE FILEPATH "zlib for Windows, from libz-mingw-w64-dev")
# The tests and the programs that write documents run under Wine.
find_program(WINE NAMES wine64 wine PATHS /usr/lib/wine)
if(WINE)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${WINE})
endif()
