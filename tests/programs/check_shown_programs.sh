#!/bin/sh
# The programs that documents show, word for word, run and print what the document promises: "<!-- prints: PATTERN -->" stands before
# such a block of C. They look for data/, and write files, in the folder where they run.
# Usage: check_shown_programs.sh SOURCE FOLDER LIBRARY CC [FLAGS]
# test training: @source@ @folder@ @weft@ @cc@ "@flags@"
set -u
source=$1 folder=$2 library=$3 cc=$4 flags=${5-}
rm -rf "$folder"
mkdir -p "$folder"
ln -s "$source/data" "$folder/data"
cd "$folder" || exit 1
bad=0
for document in "$source/README.md" "$source"/docs/*.md "$source"/docs/tutorial/*.md; do
    awk -v name="$(basename "$document" .md)" '
        /^<!-- prints: .* -->$/ { pattern = substr($0, 14, length($0) - 17); next }
        /^```c$/ && pattern != "" { program = name "_" ++count; print pattern >(program ".pattern"); pattern = ""; next }
        /^```$/ { program = "" }
        program != "" { print >(program ".c") }' "$document"
done
for file in *.c; do
    program=${file%.c}
    # shellcheck disable=SC2086
    "$cc" -std=c11 $flags -I "$source/include" -o "$program" "$file" "$library" -Wl,-rpath,"$(dirname "$library")" -lm || exit 1
    "./$program" >"$program.said" 2>&1 || { echo "$program fails"; bad=1; }
    tr '\n' ' ' <"$program.said" | grep -qE "$(cat "$program.pattern")" || { echo "$program does not print what the document says:"; cat "$program.said"; bad=1; }
done
echo "$(ls ./*.c | wc -l) programs of documents"
exit $bad
