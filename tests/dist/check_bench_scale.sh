#!/bin/sh
# `weft bench scale` measures in a job and starts jobs itself; what it expects follows its cost model. Usage: check_bench_scale.sh WEFT FOLDER
#
# test.scale slow: @weft_command@ @folder@
set -eu
program=$1 folder=$2
. "$(dirname "$0")/launch.sh"

# In a job, rank 0 prints the measured object and then the expected ones, for which the formula of workloads/scale_model.h holds.
together 2 bench scale --json --steps 2 --shards 2 --batch 8 digits-MLP || fail "two processes fail" messages
[ "$(grep -c '"net"' out)" = 7 ] || fail "expected one measured object and six expected ones" out
tr -d '{},":' <out | awk '
    { for (i = 1; i < NF; i++) is[$i] = $(i + 1) }
    !/expected/ { bytes = is["bytes"]; shards = is["shards"]; exposed = is["exposed_ms"]; hidden = is["hidden_ms"]; alone = is["exchange_ms"]
        step = is["step_ms"]; a = is["latency_us"] * 1e-3; b = is["bandwidth_gbytes_s"] * 1e6; c = is["adding_gbytes_s"] * 1e6
        if (!(step > exposed && exposed > 0 && alone > 0 && bytes >= 4 * 9610 && bytes < 4 * 9700 && is["batch"] == 8 && shards == 2)) exit 1
        if (hidden > 0 && (hidden - alone + exposed) ^ 2 > 1e-6) exit 1 }
    /expected/ { n = is["ranks"]; count++
        t = (shards + 1) * (n - 1) * (a + bytes / n / b) + (shards + 1 / n) * bytes / c
        if ((is["exchange_ms"] - t) ^ 2 > (1e-3 * t + 1e-3) ^ 2) exit 1
        t = step - exposed + 5 * (n - 2) * a + is["exchange_ms"] - is["hidden_ms"]
        if ((is["step_ms"] - t) ^ 2 > (1e-3 * t + 1e-3) ^ 2) exit 1 }
    END { exit count != 6 }' || fail "the figures do not fit together" out

# Without a launcher it starts jobs of 1, 2 and 3 processes.
"$program" bench scale --ranks 3 --steps 1 --batch 8 digits-MLP >out 2>messages || fail "it cannot start jobs" messages
awk '/^digits-MLP: 8 examples and 1 shard for each rank, 0.04 MB of gradients/ { begins = 1 }
    $1 == 1 && $NF == "100%" { one = 1 }
    ($1 == 2 || $1 == 3) && / expected step [-+][0-9]*%, exchange [-+][0-9]*%$/ { errors++ }
    $1 >= 4 && $NF == "expected" { clusters++ }
    END { exit !(begins && one && errors == 2 && clusters == 5) }' out || fail "an unexpected table" out
"$program" bench scale --ranks 1 --steps 1 --batch 8 digits-MLP >out 2>messages || fail "a process that is alone fails" messages
grep -q expected out && fail "a process that is alone expects something" out

# refused STATUS TEXT ARGUMENT...
refused() {
    expected=$1 text=$2 status=0
    shift 2
    "$program" bench scale "$@" >out 2>messages || status=$?
    [ "$status" = "$expected" ] || fail "$*: status $status, expected $expected" messages
    grep -q -- "$text" messages || fail "$*: no line says '$text'" messages
    [ ! -s out ] || fail "$*: it prints figures" out
}
refused 2 "LeNet is not a network" LeNet
refused 2 "--ranks cannot be '0'" --ranks 0
refused 2 "--shards cannot be '65'" --shards 65
refused 2 "--steps needs a value" --steps
refused 2 "--rank is not an option" --rank 2
refused 1 "nosuchdevice" --device nosuchdevice --ranks 1 digits-MLP
OMPI_COMM_WORLD_SIZE=1 "$program" bench scale --ranks 2 digits-MLP >out 2>messages && fail "it starts a job in a job" out
grep -q "without a launcher" messages || fail "no line says why" messages
mkdir bin
for tool in grep cat readlink; do ln -s "$(command -v $tool)" "bin/$tool"; done
PATH=$folder/bin
refused 1 "'mpirun -n 1' ended with status 127: install" --steps 1 digits-MLP
