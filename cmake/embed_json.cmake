# Writes OUTPUT, a C file with the JSON files INPUTS as one array, in the NUL-terminated text NAME.
# Usage: cmake -DOUTPUT=... "-DINPUTS=a.json;b.json" -DNAME=... -P embed_json.cmake
set(bytes "'[',")
foreach(input IN LISTS INPUTS)
  file(READ "${input}" hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," hex "${hex}")
  string(APPEND bytes "${separator}${hex}\n")
  set(separator "',',")
endforeach()
file(WRITE "${OUTPUT}.new" "extern const char ${NAME}[];\nconst char ${NAME}[] = {${bytes}']',0};\n")
file(COPY_FILE "${OUTPUT}.new" "${OUTPUT}" ONLY_IF_DIFFERENT)
file(REMOVE "${OUTPUT}.new")
