#!/bin/sh
# Runs a program in Python; where python3 is not installed, the test is skipped. Usage: run_python.sh PROGRAM [ARGUMENT...]
command -v python3 >/dev/null || { echo "skipped: python3 is not installed"; exit 77; }
exec python3 "$@"
