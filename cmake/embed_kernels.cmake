# Writes OUTPUT, a C file that holds every kernel file named in INPUTS as a byte array, so that the library
# needs no file beside it at run time. Bytes are character constants, which fit a char whatever its sign.
# To them comes formats.clh, which includes every file of formats/.
# Usage: cmake -DOUTPUT=... -DROOT=FOLDER -DINPUTS=FOLDER/a.cl;FOLDER/x/b.cl -P embed_kernels.cmake
set(arrays "")
set(rows "")
set(formats "")
foreach(input IN LISTS INPUTS)
  get_filename_component(name "${input}" NAME)
  string(MAKE_C_IDENTIFIER "${name}" identifier)
  file(READ "${input}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND arrays "static const char ${identifier}[] = {${bytes}0};\n")
  file(RELATIVE_PATH path "${ROOT}" "${input}")
  string(APPEND rows "    {\"${name}\", \"${path}\", ${identifier}, sizeof ${identifier} - 1},\n")
  if(path MATCHES "^formats/")
    string(APPEND formats "#include \\\"${name}\\\"\\n")
  endif()
endforeach()
string(APPEND rows "    {\"formats.clh\", \"formats.clh\", \"${formats}\", sizeof \"${formats}\" - 1},\n")
file(WRITE "${OUTPUT}.new" "#include \"cl/kernel_source.h\"\n\n${arrays}\nconst wi_kernel_file wi_kernel_files[] = {\n${rows}    {0, 0, 0, 0},\n};\n")
file(COPY_FILE "${OUTPUT}.new" "${OUTPUT}" ONLY_IF_DIFFERENT)
file(REMOVE "${OUTPUT}.new")
