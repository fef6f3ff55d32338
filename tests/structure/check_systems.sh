#!/bin/sh
# Only files that are named for an operating system, NAME_posix.c and NAME_windows.c, include its headers. strings.h is free, as MinGW has it.
# Usage: check_systems.sh ROOT
# test: @source@
set -eu
cd "$1"
headers='sys/[a-z]+|unistd|pthread|dirent|termios|fcntl|dlfcn|poll|spawn|glob|fnmatch|sched|semaphore|windows|io|direct|process|aclapi'
# platform.h defines locks; matrix_engine.c asks Linux for registers; plug-ins are not built for Windows.
found=$(grep -rnE "^[ \t]*# *include <($headers)\.h>" --include='*.[ch]' src samples programs tools workloads 2>/dev/null |
    grep -vE '^[^:]*_(posix|windows)\.c:|^src/(base/(platform|trusted_owner)\.h|cl/matrix_engine\.c|dist/mpi/[a-z_]*\.c):' || true)
[ -z "$found" ] || { echo "these files are not named for a system, but include its headers:"; echo "$found"; exit 1; }
[ -n "$(find src -name '*_posix.c' | head -1)" ] && [ -n "$(find src -name '*_windows.c' | head -1)" ] || { echo "no files of systems"; exit 1; }
