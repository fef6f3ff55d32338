# Writes OUTPUT, a C file that has the text of INPUT, the template of the HTML page, without comments and indentation.
# Usage: cmake -DOUTPUT=... -DINPUT=... -P embed_page.cmake
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/pack_text.cmake)

file(READ "${INPUT}" text)
shorten("${text}" text)
string(LENGTH "${text}" length)
pack("${text}" bytes)
file(WRITE "${OUTPUT}.new" "#include \"train/page/page_file.h\"\n
static const unsigned char packed[] = {${bytes}};
const wi_packed_text wi_page_template = {packed, sizeof packed, ${length}};\n")
file(COPY_FILE "${OUTPUT}.new" "${OUTPUT}" ONLY_IF_DIFFERENT)
file(REMOVE "${OUTPUT}.new" "${OUTPUT}.text" "${OUTPUT}.gz")
