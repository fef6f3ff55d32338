#!/bin/sh
# --pictures leaves a PNG file each time the loss is printed and at the end, in a folder that it makes, and does not change the training:
# the checkpoints have the same bits. Usage: check_pictures.sh PROGRAM FOLDER STEPS PICTURES   (their names without ".png")
set -eu
program=$1 folder=$2 steps=$3
shift 3
rm -rf "$folder"
mkdir -p "$folder"
"$program" --steps "$steps" --checkpoint "$folder/plain.safetensors" >"$folder/plain" 2>&1 || { cat "$folder/plain"; exit 1; }
"$program" --steps "$steps" --checkpoint "$folder/drawn.safetensors" --pictures "$folder/made" >"$folder/drawn" 2>&1 || { cat "$folder/drawn"; exit 1; }
cmp "$folder/plain.safetensors" "$folder/drawn.safetensors" || { echo "the pictures change the training"; exit 1; }
found=$(cd "$folder/made" && echo *)
[ "$found" = "$(printf '%s.png ' "$@" | sed 's/ $//')" ] || { echo "pictures: $found"; exit 1; }
for picture in "$folder/made"/*; do
    [ "$(head -c 4 "$picture" | tail -c 3)" = PNG ] || { echo "$picture is no PNG file"; exit 1; }
    [ "$(wc -c <"$picture")" -gt 1000 ] || { echo "$picture is empty"; exit 1; }
done
! "$program" --steps 1 --pictures "$folder/plain/made" >"$folder/refused" 2>&1 || { echo "a folder in a file is made"; exit 1; }
grep -q "cannot create the folder '$folder/plain'" "$folder/refused" || { cat "$folder/refused"; exit 1; }
