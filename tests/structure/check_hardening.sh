#!/bin/sh
# Release builds are hardened: calls of the checked string functions, canaries on the stacks, and a table of symbols
# that is resolved at the start and read-only from then on. Usage: check_hardening.sh FILE...
# test release: @weft@ @test_options@
set -eu
bad=0
for file in "$@"; do
    has() { # WHAT PATTERN OPTION...
        what=$1 pattern=$2
        shift 2
        LC_ALL=C readelf "$@" "$file" | grep -q -e "$pattern" || { echo "$file: no $what"; bad=1; }
    }
    has "checked copies (_FORTIFY_SOURCE)" '__[a-z]*printf_chk\|__mem[a-z]*_chk\|__str[a-z]*_chk' -W --dyn-syms
    has "stack protector" __stack_chk_fail -W --dyn-syms
    has "segment that becomes read-only (relro)" GNU_RELRO -W --program-headers
    has "binding at the start (now)" 'BIND_NOW\|Flags:.*NOW' -W --dynamic
done
exit $bad
