# Writes OUTPUT, a C file with the file INPUT as the NUL-terminated array NAME.
# Usage: cmake -DOUTPUT=... -DINPUT=... -DNAME=... -P embed_text.cmake
file(READ "${INPUT}" bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
file(WRITE "${OUTPUT}.new" "extern const char ${NAME}[];\nconst char ${NAME}[] = {${bytes}0};\n")
file(COPY_FILE "${OUTPUT}.new" "${OUTPUT}" ONLY_IF_DIFFERENT)
file(REMOVE "${OUTPUT}.new")
