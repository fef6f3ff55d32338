#!/bin/sh
# Only files that are named for an operating system, NAME_posix.c and NAME_windows.c, include its headers. strings.h is free, as MinGW has it.
# Tests have no functions with names of calls that a header of Windows declares, or tests/windows/posix_calls.h.
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
calls='read|write|open|close|link|symlink|unlink|access|dup|chmod|chown|clock|umask|pipe|kill|alarm|truncate|creat|lseek|mkdir|rmdir|eof|tell'
found=$(grep -rnE "^static [a-z_ ]+[ *]($calls)\(" --include='*.[ch]' tests 2>/dev/null | grep -vE '^tests/(faults|pretend|sanitizers|windows)/' || true)
[ -z "$found" ] || { echo "these functions of tests have names of system calls, so Windows cannot compile them:"; echo "$found"; exit 1; }
