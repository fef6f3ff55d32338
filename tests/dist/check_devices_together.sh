#!/bin/sh
# Processes of several devices each: two processes with two devices save the bits of one process with one device, and print its numbers. Processes with
# other numbers of devices are refused. Usage: check_devices_together.sh PROGRAM FOLDER
#
# test.devices: @train_together@ @folder@
set -eu
program=$1 folder=$2
. "$(dirname "$0")/launch.sh"

WEFT_DEVICE=0:0 "$program" 4 alone.safetensors >alone.txt
export WEFT_DEVICE=0:0,0:0
together 2 4 together.safetensors || fail "two processes with two devices fail" messages
cmp -s alone.txt out || fail "two processes with two devices print other numbers" out
cmp -s alone.safetensors together.safetensors || fail "two processes with two devices save other weights"
together 2 0 default.safetensors || fail "as many shards as devices fail" messages
cmp -s alone.safetensors default.safetensors || fail "the default is not as many shards as there are devices"

# different: the second process has one device.
cat >different <<'END'
#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" = 0 ] || export WEFT_DEVICE=0:0
exec "$@"
END
chmod +x different
different=$program
program=./different
if together 2 "$different" 4 refused.safetensors; then fail "processes with other numbers of devices train together"; fi
grep -q 'rank 1 differs from rank 0: "devices: 1" instead of "devices: 2"' messages || fail "other devices: no line says so" messages
