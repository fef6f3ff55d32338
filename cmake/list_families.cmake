# Writes OUTPUT, a C file with the list of all families of implementations: every array wi_<name>_family that a file of
# INPUTS defines, so that a new file of src/kernels needs no entry anywhere.
# Usage: cmake -DOUTPUT=... -DINPUTS=a.c;b.c -P list_families.cmake
set(declarations "")
set(rows "")
foreach(input IN LISTS INPUTS)
  file(STRINGS "${input}" lines REGEX "^const wi_implementation \\*const wi_[a-z0-9_]+_family\\[\\] =")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE ".*(wi_[a-z0-9_]+_family).*" "\\1" family "${line}")
    string(APPEND declarations "extern const wi_implementation *const ${family}[];\n")
    string(APPEND rows "${family}, ")
  endforeach()
endforeach()
if(NOT rows)
  message(FATAL_ERROR "src/kernels has no families of implementations")
endif()
file(WRITE "${OUTPUT}.new"
     "#include \"kernels/registry.h\"\n\n${declarations}\nconst wi_family wi_families[] = {${rows}0};\n")
file(COPY_FILE "${OUTPUT}.new" "${OUTPUT}" ONLY_IF_DIFFERENT)
file(REMOVE "${OUTPUT}.new")
