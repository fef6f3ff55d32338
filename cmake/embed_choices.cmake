# Writes OUTPUT, a C file with the list of choices INPUT as a NUL-terminated text.
# Usage: cmake -DOUTPUT=... -DINPUT=... -P embed_choices.cmake
file(READ "${INPUT}" bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
file(WRITE "${OUTPUT}.new" "#include \"cl/choices.h\"\n\nconst char wi_built_in_choices[] = {${bytes}0};\n")
file(COPY_FILE "${OUTPUT}.new" "${OUTPUT}" ONLY_IF_DIFFERENT)
file(REMOVE "${OUTPUT}.new")
