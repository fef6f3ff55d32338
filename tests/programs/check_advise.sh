#!/bin/sh
# `weft advise` measures each device, expects times of others, and says what an epoch costs.
# Usage: check_advise.sh WEFT FAULT_LAYER
set -u
weft=$1 layer=$2
bad() { echo "$*"; exit 1; }

# has TEXT: the last output has a line with it.
has() { echo "$got" | grep -qF -- "$1" || bad "no \"$1\" in: $got"; }

got=$("$weft" advise digits-MLP --steps 1 --threads 1 --examples 6400 --hourly 0:0=36000 --hourly "tesla=1" 2>&1)
[ $? -eq 2 ] || bad "a device that is nowhere is taken: $got"
got=$("$weft" advise digits-MLP digits-CNN --steps 1 --examples 6400000 --hourly gpu=0.7 --hourly 0:0=36000 --hourly T4=0.5 2>&1) ||
    bad "failed: $got"
has "digits-MLP: training steps of 32 examples, epochs of 6400000"
echo "$got" | grep -q '^Cheapest of the devices with a price: .*, expected .* per epoch' || bad "no cheapest device in: $got"
has "times the measured times."
has "have not run on a GPU"
has "ms per step"
name=$("$weft" devices | sed -n '1s/  / /p')
[ "$(echo "$got" | grep -cF "$name ")" -ge 3 ] || bad "the device's name is cut: $got"
[ "$(echo "$got" | grep -c '^Fastest device of this machine: .* s per epoch\.')" -eq 2 ] || bad "no advice in: $got"
[ "$(echo "$got" | grep -c '^NVIDIA T4 .* expected$')" -eq 3 ] || bad "no row of a data sheet in: $got"
# An epoch is 200,000 steps, and costs ten times its seconds; the table repeats the step.
echo "$got" | awk '
    /^0:0 / && NF > 8 && !table { step = $(NF-4); epoch = $(NF-1); cost = $NF; rows++
        if (!(step > 0) || epoch < 180 * step || epoch > 220 * step) wrong = 1
        if (cost < 9.9 * epoch || cost > 10.1 * epoch) wrong = 1 }
    /^ms per step/ { table = 1 }
    END { exit !(rows >= 2 && !wrong) }' || bad "wrong sums in: $got"

echo "$got" | grep -q '^AMD RX 6600 .* [0-9.e-]* *expected$' || bad "GPUs of data sheets have no price: $got"
echo "$got" | grep '^AMD RX 6600' | head -n 1 | grep -q ' - *expected$' && bad "the price of gpu is not that of data sheets: $got"

# Nothing is named: networks that take little time; a device of this machine alone.
got=$("$weft" advise --steps 1 --threads 1 --device 0:0 2>&1) || bad "failed: $got"
has "FCN-R: training steps"
has "weft advise seven"
echo "$got" | grep -q 'ResNet-50: training steps' && bad "a large network is measured: $got"

# A price by the selector of a kind; --device takes one, too.
got=$("$weft" advise digits-MLP --steps 1 --threads 1 --device cpu --hourly cpu=36000 2>&1) || bad "failed: $got"
echo "$got" | grep -q '^[0-9]*:[0-9]* .* [0-9.e+]*$' || bad "the processor has no price: $got"
got=$("$weft" advise digits-MLP --device cpux 2>&1) && bad "a device that is nowhere is measured: $got"

# A network of an ONNX file.
onnx=/usr/share/libonnx-testdata/data/pytorch-converted/test_Conv2d_depthwise/model.onnx
if [ -r $onnx ] && ! "$weft" advise nothing.onnx 2>&1 | grep -q "built without ONNX"; then
    got=$("$weft" advise $onnx --steps 1 --threads 1 2>&1) || bad "failed: $got"
    has "model.onnx: training steps of 2 examples"
    echo "$got" | grep -q '^Fastest device of this machine: .* s per epoch' || bad "no advice in: $got"
    got=$("$weft" advise $onnx --steps 1 --threads 1 --batch 3 2>&1)
    has "the file is for a batch of 2, not 3"
else
    echo "advise FILE.onnx is left out: $onnx is missing, or weft was built without protobuf-c"
fi

# A device whose driver fails is a line of the table, and no advice.
got=$(OPENCL_LAYERS=$layer FAULT_OPENCL="clEnqueueNDRangeKernel 2 -5" "$weft" advise digits-MLP --steps 1 2>&1) ||
    bad "failed: $got"
has "CL_OUT_OF_RESOURCES"
has "No device of this machine could be measured."
# One that ends the process as it compiles the first kernel, which planning needs, is one line.
cache=$(mktemp -d)
got=$(WEFT_CACHE_DIR="$cache" OPENCL_LAYERS=$layer FAULT_OPENCL="clBuildProgram 1 1" "$weft" advise digits-MLP --steps 1 --threads 1 2>&1)
status=$?
rm -rf "$cache"
[ $status -eq 1 ] || bad "a compiler that ends the process: $got"
has "weft: the driver ended the process with signal"
exit 0
