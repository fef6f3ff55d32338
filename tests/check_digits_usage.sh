#!/bin/sh
# What train_digits does with a wrong command line: one line that names the word, and status 2 (1 where a file is
# missing). Usage: check_digits_usage.sh PROGRAM
set -u
program=$1
. "$(dirname "$0")/refusals.sh"

refused 2 "--epochs lacks its value" --epochs
refused 2 "--colour is no option" --colour blue
refused 2 "--epochs is '0', but must be a whole number from 1" --epochs 0
refused 2 "--batch is '3x', but must be a whole number from 1" --batch 3x
refused 2 "--seed is '-1', but must be a whole number from 0" --seed -1
refused 2 "--model is 'svm', but must be one of cnn|mlp" --model svm
refused 2 "--model is 'mlp|', but must be one of cnn|mlp" --model 'mlp|'
refused 2 "--model is 'm', but must be one of cnn|mlp" --model m
refused 2 "--model is '', but must be one of cnn|mlp" --model ''
refused 2 "--resume needs --checkpoint" --resume
refused 1 "neither 'nowhere/train-images-idx3-ubyte'" --data nowhere
helps "--model cnn|mlp"
exit $bad
