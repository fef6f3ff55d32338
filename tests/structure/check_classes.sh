#!/bin/sh
# src/plan and src/ops do not ask for the class of a device: what differs between devices stands in the device's
# profile (src/cl/device_profile.h), and what runs on which in the records of implementations (src/kernels).
# Usage: check_classes.sh TREE
# test: @source@
set -u
tree=$1
bad=0
for folder in plan ops; do
    files=$(find "$tree/src/$folder" -name '*.[ch]' 2>/dev/null)
    if [ -z "$files" ]; then
        echo "no files in $tree/src/$folder"
        bad=1
    fi
    for file in $files; do
        if grep -nE 'WEFT_CLASS_(CPU|GPU)|WI_ON_(CPU|GPU)|device_class|is_cpu|is_gpu|CL_DEVICE_TYPE' "$file"; then
            echo "$file asks for the class of a device"
            bad=1
        fi
    done
done
exit $bad
