#!/bin/sh
# train_cifar and classify: one trains a little and saves, the other tells what is in an image by what was saved; and
# what they do with a wrong command line or file. Usage: check_image_programs.sh TRAIN_CIFAR CLASSIFY WORK_DIR
set -u
train=$1 classify=$2 work=$3
. "$(dirname "$0")/refusals.sh"
rm -rf "$work"
mkdir -p "$work/empty"

fail() {
    echo "$1"
    bad=1
}

program=$train
weights=$work/small.safetensors
helps "--model alexnet|resnet20|resnet56"
refused 2 "--model is 'vgg11', but must be one of alexnet|resnet20|resnet56" --model vgg11
refused 2 "--augment is 'none', but must be one of standard|randaugment|mixup|cutmix" --augment none
refused 2 "--epochs is '0', but must be a whole number from 1" --epochs 0
refused 2 "--rate is 'fast', but must be a number above 0" --rate fast
refused 2 "--batch needs a value" --batch
refused 2 "--precision is 'f64', but must be one of f32|bf16|f16" --precision f64
refused 2 "--colour is not an option" --colour
refused 2 "here is not expected" here
refused 2 "--resume needs --checkpoint" --resume
refused 2 "--checkpoint-every is '2x', but must be a whole number of steps" --checkpoint-every 2x
refused 1 "neither data_batch_1.bin (CIFAR-10) nor train.bin (CIFAR-100)" --data "$work/empty" --save "$weights"
: >"$work/empty/data_batch_1.bin"
refused 1 "data_batch_1.bin" --data "$work/empty" --save "$weights"

two="--model alexnet --epochs 2 --batch 359"
result=$("$train" $two --json --save "$weights" | tail -n 1)
case $result in *'"model": "alexnet", "data": "digits", "epochs": 2, "batch": 359, "steps": 10,'*) ;; *) fail "train_cifar: $result" ;; esac
[ -s "$weights" ] || fail "train_cifar left no weights"
[ "$(tr '\n' ' ' <"$work/small.names")" = "0 1 2 3 4 5 6 7 8 9 " ] || fail "train_cifar left other names"

# With mixtures, the network learns from the column "target", and the test images have one, too.
result=$("$train" --model alexnet --epochs 1 --batch 359 --augment cutmix --json --save "$work/mixed.safetensors" \
    --show-augmented "$work/mixed.png" | tail -n 1)
case $result in *'"steps": 5,'*'"test_accuracy": 0.'*) ;; *) fail "train_cifar --augment cutmix: $result" ;; esac
[ -s "$work/mixed.png" ] || fail "train_cifar showed no images"

# A run that SIGTERM stops ends with a checkpoint, and goes on to the same weights as one that was not stopped.
folder=$work/checkpoints
"$train" $two --save "$work/parts.safetensors" --checkpoint "$folder" --checkpoint-every 1 \
    >"$work/stopped.txt" 2>"$work/stopped.err" &
running=$!
waited=0
while [ -z "$(ls "$folder"/*.safetensors 2>/dev/null)" ] && [ $waited -lt 1200 ]; do
    sleep 0.1
    waited=$((waited + 1))
done
kill -TERM $running
wait $running
[ $? -eq 143 ] || fail "SIGTERM: not the exit status 143"
grep -q "stopped by signal 15 after step [1-9][0-9]*; --resume continues" "$work/stopped.err" ||
    fail "SIGTERM: $(cat "$work/stopped.err")"
refused 1 "already has a checkpoint of another training" $two --save "$work/parts.safetensors" --checkpoint "$folder"
"$train" $two --save "$work/parts.safetensors" --checkpoint "$folder" --resume >"$work/resumed.txt" ||
    fail "--resume failed"
grep -q "continuing after step [1-9]" "$work/resumed.txt" || fail "--resume did not continue"
cmp "$weights" "$work/parts.safetensors" || fail "--resume: other weights"
[ "$(ls "$folder" | wc -l)" -eq 3 ] || fail "checkpoints: $(ls "$folder")"

# A digit of the test set, 8 x 8.
image=$work/digit.png
base64 -d >"$image" <<'PNG'
iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAAAAADhZOFXAAAAO0lEQVR42mNgYGAQWM8AAQUNEFrgfIKCAljgPUM/SCzg/3yG/wlAhsP7/+f/
C4AVGbyfD1Gt8N+BgQEA87wQE4IdOPoAAAAASUVORK5CYII=
PNG
program=$classify
helps "--weights FILE"
refused 2 "--weights is missing" "$image"
refused 2 "IMAGE is missing" --weights "$weights"
refused 2 "there is no model 'resnet21'; the models are lenet5" --weights "$weights" --model resnet21 "$image"
refused 2 "--classes is 7, but there are 10 names of classes" --weights "$weights" --classes 7 "$image"
refused 2 "--size is 5000, but must be at most 4096" --weights "$weights" --size 5000 "$image"
refused 2 "cannot read '$work/none'" --weights "$weights" --names "$work/none" "$image"
refused 1 "none.png" --weights "$weights" --model alexnet "$work/none.png"
refused 1 "none.safetensors" --weights "$work/none.safetensors" --model alexnet "$image"
refused 1 "; check that the weights belong to lenet5 with 10 classes" --weights "$weights" --model lenet5 "$image"

# Five lines, from the most probable on; of all ten the probabilities add up to 1.
told=$("$classify" --weights "$weights" --model alexnet "$image") || fail "classify failed"
printf '%s\n' "$told" | awk '
    $2 != "%" || $3 !~ /^[0-9]$/ || (NR > 1 && $1 > before) { wrong = 1 }
    { before = $1 }
    END { exit wrong || NR != 5 }' || fail "classify told: $told"
told=$("$classify" --weights "$weights" --model alexnet --top 99 --json "$image") || fail "classify --json failed"
printf '%s\n' "$told" | tr '{' '\n' | awk -F'"probability": ' '
    NF == 2 { sum += $2; rows++ }
    END { exit !(rows == 10 && sum > 0.9999 && sum < 1.0001) }' || fail "classify --json told: $told"

# Names with what JSON must escape, and another file of names.
printf 'a "zero"\r\n1\n2\n3\n4\n5\n6\n7\n8\n9\\\n\n' >"$work/other.names"
told=$("$classify" --weights "$weights" --model alexnet --names "$work/other.names" --top 10 --json "$image")
case $told in *'"class": 0, "name": "a \"zero\""'*) ;; *) fail "classify --names told: $told" ;; esac
case $told in *'"class": 9, "name": "9\\"'*) ;; *) fail "classify --names told: $told" ;; esac

# A folder: how many are right, and a picture and a list of those that are wrong.
mkdir -p "$work/images/3" "$work/images/7"
for class in 3 7; do cp "$image" "$work/images/$class/digit.png"; done
refused 2 "--mistakes needs a folder of images, but '$image' is none" --weights "$weights" --mistakes "$work/wrong.png" "$image"
told=$("$classify" --weights "$weights" --model alexnet --mistakes "$work/wrong.png" "$work/images") || fail "classify failed for a folder"
lines=$(printf '%s\n' "$told" | grep -c '^row 1, column [12]: .*/images/[37]/digit[.]png is [37], but the answer is [0-9] with ')
case $told in *"2 images, $((2 - lines)) are right: accuracy "*) ;; *) fail "classify told of a folder: $told" ;; esac
[ "$lines" -ge 1 ] || fail "one image in two classes is right in both: $told"
[ "$(head -c 4 "$work/wrong.png" | tail -c 3)" = PNG ] || fail "classify left no picture"
told=$("$classify" --weights "$weights" --model alexnet --json "$work/images")
[ "$told" != "${told#"{\"images\": 2, \"right\": "}" ] || fail "classify --json told of a folder: $told"
exit $bad
