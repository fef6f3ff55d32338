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

# Several devices: a network of 9610 parameters on a known link. An epoch has an eighth of the steps, and costs eight times as much for each.
got=$("$weft" advise digits-MLP --steps 1 --threads 1 --device 0:0 --examples 6400 --ranks 8 --latency 10 --bandwidth 2 --hourly T4=36000 2>&1) ||
    bad "failed: $got"
has "8 devices add up 0.0 MiB of gradients after each step, 0.18 ms between processes with a latency of 10.0 us and 2.00 GB/s; a process holds 0.1 MiB"
echo "$got" | awk '
    /^NVIDIA T4 / { one = $(NF - 5); epoch = $(NF - 2); cost = $(NF - 1) }
    /^8 x NVIDIA T4 / { eight = $(NF - 5); less = $(NF - 2); price = $(NF - 1) }
    /^8 x / { lines++ }
    END { bytes = 4 * 9610; added = 2 * bytes / 12e9 + 14 * (1e-5 + bytes / 8 / 2e9) + 1.125 * bytes / 4e9 + 5 * 7 * 1e-5
        exit !((eight - one - 1e3 * added) ^ 2 < 0.02 ^ 2 && (less - 25 * eight / 1e3) ^ 2 < 0.1 && (price - 80 * less) ^ 2 < 20 && lines > 5) }' ||
    bad "wrong times of eight devices in: $got"
got=$("$weft" advise digits-MLP --steps 1 --threads 1 --device 0:0 --devices 2 2>&1) || bad "failed: $got"
has "2 devices add up 0.0 MiB of gradients after each step in 0.1 MiB of host memory."
echo "$got" | grep -q '^2 x .* expected$' || bad "no line of two devices in: $got"

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
