#!/bin/sh
# What train_digits does with a wrong command line: one line that names the word, and status 2 (1 where a file is
# missing). Usage: check_digits_usage.sh PROGRAM
set -u
program=$1
. "$(dirname "$0")/refusals.sh"

refused 2 "'--epochs' is no option, or lacks its value" --epochs
refused 2 "'--colour' is no option, or lacks its value" --colour blue
refused 2 "--epochs cannot be '0'" --epochs 0
refused 2 "--batch cannot be '3x'" --batch 3x
refused 2 "--seed cannot be '-1'" --seed -1
refused 2 "no model 'svm'; there are cnn and mlp" --model svm
refused 1 "neither 'nowhere/train-images-idx3-ubyte'" --data nowhere
helps "--model cnn|mlp"
exit $bad
