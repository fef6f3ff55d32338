#!/bin/sh
# Each check of this folder fails on a tree that breaks its rule and passes on one that keeps it. Those of documents are in
# check_document_checks.sh.
# Usage: check_checks.sh CC CXX
# test slow: @cc@ @cxx@
set -u
here=$(cd "$(dirname "$0")" && pwd)
cc=$1 cxx=$2
. "$here/expect.sh"

# breaks CHECK FILE LINE: adding LINE to FILE of a good tree makes the check of the layers fail.
breaks_layers() {
    fresh
    echo "$2" >>"$tree/$1"
    expect fail "layers: $1 with $2" sh "$here/check_layers.sh" "$tree"
}

fresh
expect pass "layers of a good tree" sh "$here/check_layers.sh" "$tree"
breaks_layers src/base/log.c '#include "cl/launch.h"'
breaks_layers src/base/log.c '  #  include <weft/device.h>'
breaks_layers src/cl/launch.c '#include <weft/weft.h>'
breaks_layers src/cl/launch.c '#include "elsewhere/thing.h"'
breaks_layers include/weft/base.h '#include <weft/device.h>'
breaks_layers include/weft/base.h '#include "base/log.h"'
breaks_layers include/weft/stray.h '#include <stddef.h>'
breaks_layers include/weft/device.h '#include <weft/short_names.h>'
breaks_layers samples/01_one.c '#include "cl/launch.h"'
breaks_layers programs/long.c '#include "cl/launch.h"'
# breaks_apart FILE LINE: so does a LINE in FILE beside tools/, tests/ and workloads/.
breaks_apart() {
    fresh
    mkdir -p "$tree/tools" "$tree/tests/ops" "$tree/tests/support" "$tree/workloads"
    touch "$tree/tools/bench_one.h" "$tree/tests/support/fixture.h" "$tree/workloads/networks.h"
    echo '#include "networks.h"' | tee "$tree/tools/bench_one.c" >"$tree/tests/ops/test_one.c"
    expect pass "layers with tools and tests" sh "$here/check_layers.sh" "$tree"
    echo "$2" >>"$tree/$1"
    expect fail "layers: $1 with $2" sh "$here/check_layers.sh" "$tree"
}
breaks_apart tests/ops/test_one.c '#include "bench_one.h"'
breaks_apart tests/CMakeLists.txt 'target_sources(test_one PRIVATE ${PROJECT_SOURCE_DIR}/tools/bench_one.c)'
breaks_apart workloads/networks.c '#include "bench_one.h"'
breaks_apart tools/bench_one.c '#include "support/fixture.h"'
rm -rf "${tree:?}"/*
expect fail "layers of an empty tree" sh "$here/check_layers.sh" "$tree"

fresh
expect pass "good headers" sh "$here/check_headers.sh" "$tree/include" "$cc" "$cxx"
echo 'uint32_t count(void);' >>"$tree/include/weft/base.h"
expect fail "a header that needs another" sh "$here/check_headers.sh" "$tree/include" "$cc" "$cxx"
fresh
echo 'int delete(int class);' >>"$tree/include/weft/base.h"
expect fail "a header that is no C++" sh "$here/check_headers.sh" "$tree/include" "$cc" "$cxx"

# Expressions: 260 of them, each with a row of one of the lists.
fresh
mkdir -p "$tree/src/ops" "$tree/tests/support" "$tree/tests/graph"
touch "$tree/tests/graph/test_call_names.c" "$tree/tests/support/public_call_forms.h" "$tree/src/ops/op_list.h"
for i in $(seq 260); do
    echo "WEFT_API weft_tensor *weft_call$i(weft_tensor *x);" >>"$tree/include/weft/device.h"
    echo "ROW(call$i, weft_call$i(ROWS))" >>"$tree/tests/support/public_call_rows.h"
done
expect pass "expressions with rows" sh "$here/check_calls.sh" "$tree"
echo 'WEFT_API weft_tensor *weft_other(weft_tensor *x);' >>"$tree/include/weft/device.h"
expect fail "an expression without a row" sh "$here/check_calls.sh" "$tree"

# with_rows FILE SCRIPT: a tree with the headers and the op table, of which sed's SCRIPT edits FILE.
with_rows() {
    fresh
    mkdir -p "$tree/src/ops"
    cp "$here"/../../include/weft/*.h "$tree/include/weft"
    cp "$here/../../src/ops/op_list.h" "$tree/src/ops"
    sed -i "$2" "$tree/$1"
}
with_rows src/ops/op_list.h ''
expect pass "a row for each function" sh "$here/check_rows.sh" "$tree"
with_rows src/ops/op_list.h '/(masked_mean)/d'
expect fail "a function without a row" sh "$here/check_rows.sh" "$tree"
printed 'weft_masked_mean_axes has no row' 'its row is gone'
with_rows include/weft/ops.h '/^WEFT_API.*weft_square(/s/^/WEFT_API weft_tensor *weft_cube(weft_tensor *x);\n/'
expect fail "a new function without a row" sh "$here/check_rows.sh" "$tree"
printed 'weft_cube has no row' 'its declaration'
with_rows src/ops/op_list.h 's/(masked_mean)/(keep_f32)/'
expect fail "a row of a listed function" sh "$here/check_rows.sh" "$tree"

fresh
touch "$tree/CMakeLists.txt" "$tree/src/CMakeLists.txt"
expect pass "unique names" sh "$here/check_names.sh" "$tree"
touch "$tree/src/base/launch.c"
expect fail "a name twice" sh "$here/check_names.sh" "$tree"

mkdir "$tree/cl_kernels"
expect fail "no kernels" sh "$here/check_local.sh" "$tree"
cat >"$tree/cl_kernels/sum.cl" <<'END'
__attribute__((always_inline)) static inline float all_of(
    float v, __local float *shared) {
}
static inline float one_of(float v) { return v; }
__kernel void sum(__local float *shared) {
}
END
expect pass "local memory inlined" sh "$here/check_local.sh" "$tree"
printf 'static inline float all_of(\n    float v, __local float *shared) {\n}\n' >>"$tree/cl_kernels/sum.cl"
expect fail "local memory not inlined" sh "$here/check_local.sh" "$tree"

fresh
expect fail "no files of systems" sh "$here/check_systems.sh" "$tree"
printf '#include <unistd.h>\n' >"$tree/src/base/clock_posix.c"
printf '#include <windows.h>\n' >"$tree/src/base/clock_windows.c"
expect pass "files of systems" sh "$here/check_systems.sh" "$tree"
printf '#include <sys/stat.h>\n' >"$tree/samples/one.c"
expect fail "a header of a system elsewhere" sh "$here/check_systems.sh" "$tree"
rm "$tree/samples/one.c" && mkdir -p "$tree/tests"
printf 'static void read_all(void) {}\n' >"$tree/tests/one.c"
expect pass "a function of a test" sh "$here/check_systems.sh" "$tree"
printf 'static int *read(void) { return 0; }\n' >"$tree/tests/one.c"
expect fail "a function of a test with the name of a call" sh "$here/check_systems.sh" "$tree"

# calls FILE TEXT: a good tree whose file has this text.
calls() {
    fresh
    printf '#include <CL/cl.h>\n#define clFlush(...) CALL(clFlush(__VA_ARGS__))\n' >"$tree/src/cl/driver.h"
    printf "%b" "$2" >"$tree/$1"
}
gated='#include "cl/driver.h"\n'
calls src/cl/launch.c "$gated"'/* Not clFinish(queue),\n * nor clWait(queue). */\nint f(void) { return clFlush(q) + fail("clWait(q)"); } /* as clWait(q) */\n'
expect pass "calls of OpenCL with rows" sh "$here/check_driver.sh" "$tree"
calls src/cl/launch.c 'int f(void) { return clFlush(q); }\n'
expect fail "a call of OpenCL without the header" sh "$here/check_driver.sh" "$tree"
calls src/cl/launch.c "$gated"'int f(void) { return /* all */ (clFinish(q)); }\n'
expect fail "a call of OpenCL without a row" sh "$here/check_driver.sh" "$tree"
fresh
expect fail "no rows for calls of OpenCL" sh "$here/check_driver.sh" "$tree"

# classes FILE LINE: a good tree to which LINE is added fails.
classes() {
    fresh
    mkdir -p "$tree/src/plan/select" "$tree/src/ops/index"
    echo 'bool walks = profile->item_walks;' >"$tree/src/plan/select/schedule.c"
    echo 'int group = WEFT_CLASS_LOSS_GROUP;' >"$tree/src/ops/index/index.c"
    [ -z "$1" ] || echo "$2" >>"$tree/$1"
}
classes ''
expect pass "no classes" sh "$here/check_classes.sh" "$tree"
classes src/plan/select/schedule.c 'if (caps->device_class == other) x = 1;'
expect fail "device_class in src/plan" sh "$here/check_classes.sh" "$tree"
classes src/ops/index/index.c 'const bool gpu = class == WEFT_CLASS_GPU;'
expect fail "a class in src/ops" sh "$here/check_classes.sh" "$tree"
classes src/plan/select/schedule.h '#define BOTH WEFT_CLASS_CPU'
expect fail "a class in a header" sh "$here/check_classes.sh" "$tree"
rm -rf "${tree:?}"/*
expect fail "classes of an empty tree" sh "$here/check_classes.sh" "$tree"

# words FILE LINE: a good tree to which LINE is added fails.
words() {
    fresh
    mkdir -p "$tree/cl_kernels"
    echo "$2" >>"$tree/$1"
}
words src/cl/launch.c 'const wi_order_cpu *order = wi_memory_order_of(x); /* a fold */'
expect pass "words of the glossary" sh "$here/check_words.sh" "$tree"
words src/cl/launch.c 'value->state = WI_VALUE_LEAF;'
expect fail "a replaced name in src" sh "$here/check_words.sh" "$tree"
words cl_kernels/common.clh 'x = weft_load_part_f32(p, i, lanes);'
expect fail "a replaced name in a kernel" sh "$here/check_words.sh" "$tree"
words include/weft/base.h 'size_t layout_changes;'
expect fail "a replaced name in a header" sh "$here/check_words.sh" "$tree"
rm -rf "${tree:?}"/*
expect fail "words of an empty tree" sh "$here/check_words.sh" "$tree"

fresh
expect pass "a short sample" sh "$here/check_samples.sh" "$tree"
yes '/* one more line */' | head -n 100 >>"$tree/samples/01_one.c"
expect fail "a sample of 101 lines" sh "$here/check_samples.sh" "$tree"
rm "$tree/samples/01_one.c"
expect fail "no samples" sh "$here/check_samples.sh" "$tree"

fresh
expect fail "habits of no page" sh "$here/check_habits.sh" "$tree"
mkdir -p "$tree/docs"
cp "$here/../../docs/from-pytorch.md" "$tree/docs"
expect pass "habits of the page" sh "$here/check_habits.sh" "$tree"
sed -i 's/DistributedDataParallel/something else/' "$tree/docs/from-pytorch.md"
expect fail "a page without a habit" sh "$here/check_habits.sh" "$tree"

# pages: a statement, a function and a program, which use names that are declared.
shown() {
    rm -rf "$tree"/*
    mkdir -p "$tree/include/weft" "$tree/docs/more"
    cp "$here"/../../include/weft/*.h "$tree/include/weft"
    printf '```c\nweft_tensor *y = weft_relu(x);\n```\n`weft_abs(x)`, `weft_abs(...)`\n```sh\n`weft_abs()`\n```\n' >"$tree/README.md"
    printf '```c\nstatic int one(void) {\n    return weft_graph_status(graph) == WEFT_OK;\n}\n```\n' >"$tree/docs/more/page.md"
    printf '```c\n#include <stdio.h>\nint main(void) {\n    return puts("");\n}\n```\n' >"$tree/docs/page.md"
}
# breaks_shown PAGE EXPRESSION
breaks_shown() {
    shown
    sed -i "$2" "$tree/$1"
    expect fail "a block of C: $1 after $2" sh "$here/check_pages.sh" "$tree" "$cc"
}
shown
expect pass "pages whose blocks of C compile" sh "$here/check_pages.sh" "$tree" "$cc"
breaks_shown README.md 's/weft_relu(x)/weft_relu(x, 1)/'
breaks_shown README.md 's/weft_relu(x)/weft_relu(nothing)/'
breaks_shown README.md 's/weft_relu(x);/weft_relu(x)/'
breaks_shown README.md 's/weft_abs(x)/weft_abs(x, 1)/'
breaks_shown docs/more/page.md 's/status(graph)/state(graph)/'
breaks_shown docs/page.md '/include/d'
sed -i 's/^```c$/```/; s/weft_abs(x)//' "$tree/README.md" "$tree/docs/page.md" "$tree/docs/more/page.md"
expect fail "pages without C" sh "$here/check_pages.sh" "$tree" "$cc"

# short_names: what is written for the headers of a tree.
short_named() {
    fresh
    cat >"$tree/include/weft/ops.h" <<'END'
/* #define WEFT_NONE 0 */
#define WEFT_TWO 2
typedef enum weft_kind { WEFT_ONE, WEFT_OTHER = WEFT_TWO } weft_kind;
WEFT_API int *weft_add(
    int a, weft_kind kind); /* WEFT_API int weft_none(void); */
WEFT_API double weft_exp(double a);
#define weft_sum(...) weft_sum_list_(__VA_ARGS__, 0)
END
    awk -f "$here/../../cmake/write_short_names.awk" "$tree"/include/weft/*.h >"$tree/short"
}
short_named
expect pass "short names" sh "$here/check_short_names.sh" "$tree"
for line in 'add(...) weft_add(__VA_ARGS__)' 'sum(...) weft_sum(__VA_ARGS__)' 'ONE WEFT_ONE' 'OTHER WEFT_OTHER' 'TWO WEFT_TWO'; do
    expect pass "short names have $line" grep -qFx "#define $line" "$tree/short"
done
expect pass "the short name of a type" grep -qx 'typedef weft_kind kind;' "$tree/short"
expect fail "a short name of a comment's" grep -qi none "$tree/short"
expect fail "a short name that C has" grep -q 'define exp' "$tree/short"
printf '/*\nWEFT_API int weft_hidden(void); */\n' >>"$tree/include/weft/ops.h"
expect fail "a function that is hidden in a comment" sh "$here/check_short_names.sh" "$tree"

# adding: a good tree, in a folder with a blank, whose five worked examples take two places each.
adding() {
    fresh
    adding_tree="$tree/a tree"
    mkdir -p "$adding_tree/docs/adding"
    seq 1 60 >"$adding_tree/numbers"
    line=0
    for name in elementwise-op structured-op matrix-product number-format device-kind; do
        line=$((line + 10))
        cat >"$adding_tree/docs/adding/$name.diff" <<END
diff --git a/numbers b/numbers
--- a/numbers
+++ b/numbers
@@ -$line,2 +$line,3 @@
 $line
+$name
 $((line + 1))
diff --git a/$name b/$name
new file mode 100644
--- /dev/null
+++ b/$name
@@ -0,0 +1 @@
+new
END
        echo "| [$name](adding/$name.diff) | 2 |" >>"$adding_tree/docs/adding.md"
    done
}
# breaks_adding LINE FILE SCRIPT: a good tree whose FILE is edited by sed's SCRIPT fails, and LINE is told.
breaks_adding() {
    adding
    sed -i "$3" "$adding_tree/$2"
    expect fail "adding: $1" sh "$here/check_adding.sh" "$adding_tree"
    printed "$1" "$3"
}
adding
expect pass "worked examples" sh "$here/check_adding.sh" "$adding_tree"
breaks_adding 'number-format.diff does not apply' numbers 's/^41$/forty-one/'
breaks_adding 'docs/adding.md does not say that it takes 2 places' docs/adding.md 's/| 2 |/| 3 |/'
breaks_adding 'device-kind.diff: 3 places, of 2 at most' docs/adding/device-kind.diff \
    's/^ 51$/ 51\n+more/; s/50,2 +50,3/50,2 +50,4/'
adding
rm "$adding_tree/docs/adding/matrix-product.diff"
expect fail "a worked example that is missing" sh "$here/check_adding.sh" "$adding_tree"
adding
cp "$adding_tree/docs/adding/matrix-product.diff" "$adding_tree/docs/adding/other.diff"
expect fail "a worked example without a limit" sh "$here/check_adding.sh" "$adding_tree"

# lengths FILE LINES...: a file of functions of so many lines.
lengths() {
    file=$1
    shift
    for lines; do
        echo '/* It returns x. */'
        printf 'static int f%s(\n    int x) {\n' "$lines"
        yes '    x++;' | head -n $((lines - 4))
        printf '    return x;\n}\n\n'
    done >"$tree/$file"
}
# functions pass|fail WHAT: the check of functions on the tree.
functions() {
    expect "$1" "functions: $2" sh "$here/check_functions.sh" "$tree"
    [ "$1" = pass ] || echo "$output" | grep -q "$3" || {
        echo "functions, $2: not told by"
        echo "$output"
        bad=1
    }
}
fresh
mkdir "$tree/cl_kernels"
functions fail "none" "no functions in src"
lengths src/base/some.c 10 10 10 10 10 10 10 10 10 60
lengths cl_kernels/some.cl 80
functions pass "as long as may be"
lengths src/base/more.c 61
functions fail "a long one" "more.c:2: a function of 61 lines, of 60 at most"
rm "$tree/src/base/more.c"
sed -i 1d "$tree/src/base/some.c"
functions fail "a file without a comment" "src/base/some.c: no comment at its beginning"
lengths src/base/some.c 10 10 10 10 10 10 10 10 10 60
lengths src/base/more.c 11 11 11 11 11 11 11 11
functions pass "as many longer as shorter"
lengths src/base/more.c 11 11 11 11 11 11 11 11 11 11
functions fail "a longer median" "a median of 11 lines"
lengths src/base/more.c 23
functions fail "too many long ones" "nine tenths within 23 lines"
rm "$tree/src/base/more.c"
lengths cl_kernels/more.clh 81
functions fail "a long one of kernels" "more.clh:2: a function of 81 lines, of 80 at most"
rm "$tree/cl_kernels/more.clh"
{
    printf '/* What is no function. */\nDEFINE(one)\n\nstatic const int table[] = {\n'
    yes '    1,' | head -n 80
    printf '};\n\n#define TWO(x) \\\n    int x(void) { \\\n'
    yes '        ; \' | head -n 80
    printf '    }\nTWO(two)\n\nstruct three {\n    int x;\n};\n'
} >"$tree/src/base/other.h"
functions pass "what is no function"
yes '# one' | head -n 450 >"$tree/programs/one.py"
functions pass "a file of 450 lines"
echo '# one more' >>"$tree/programs/one.py"
functions fail "a file of 451 lines" "programs/one.py: 451 lines, of 450 at most"

# library NAME DEFINITION...: a shared library made of one line.
library() {
    name=$1
    shift
    echo "$*" | "$cc" -w -shared -fPIC -x c -o "$tree/$name.so" - || bad=1
    echo "$tree/$name.so"
}
fresh
echo 'WEFT_API int weft_one(int x);' >>"$tree/include/weft/base.h"
symbols() {
    expect "$1" "symbols: $2" sh "$here/check_symbols.sh" "$(library "$2" "$3")" "$tree/include"
}
symbols pass good 'int weft_one(int x) { return x; }'
symbols fail foreign 'int weft_one(int x) { return x; } int helper(void) { return 1; }'
symbols fail missing 'int weft_two(int x) { return x; }'
symbols fail prints 'int printf(const char *, ...); int weft_one(int x) { return printf("%d", x); }'
symbols fail prints_line 'int puts(const char *); int weft_one(int x) { return puts("x"); }'
symbols fail exits 'void exit(int); int weft_one(int x) { exit(x); }'
symbols fail aborts 'void abort(void); int weft_one(int x) { abort(); }'
symbols fail stderr 'extern void *stderr; int fputs(const char *, void *); int weft_one(int x) { return fputs("x", stderr); }'

printf '    row(clFlush, false, CL_INVALID_COMMAND_QUEUE)\n' >"$tree/table.h"
fault_functions() {
    expect "$1" "functions that can fail: $2" sh "$here/check_fault_functions.sh" "$(library "$2" "$3")" "$tree/table.h"
}
fault_functions pass one_in_the_table 'int clFlush(void *); int weft_one(void *x) { return clFlush(x); }'
fault_functions fail one_beside_it 'int clFinish(void *); int weft_one(void *x) { return clFinish(x); }'

small=$(library small 'int weft_one(int x) { return x; }')
expect pass "a small library" sh "$here/check_size.sh" "$small" 100000
expect fail "a library over the limit" sh "$here/check_size.sh" "$small" 100

# needs FILE OTHER: the function of src/FILE.c calls that of src/OTHER.c (none: "").
needs() {
    name=$(basename "$1") other=$(basename "$2")
    echo "${2:+int $other(void);} int $name(void); int $name(void) { return ${2:+$other() +} 1; }" >"$tree/src/$1.c"
    (cd "$tree" && "$cc" -c -o "$name.c.o" "src/$1.c" && ar rc lib.a "$name.c.o")
}
fresh
needs base/one base/two
needs base/two base/one
needs cl/three base/one
expect pass "two files of one folder that need one another" sh "$here/check_cycles.sh" "$tree/lib.a" "$tree"
needs base/two cl/three
expect fail "three files that need one another" sh "$here/check_cycles.sh" "$tree/lib.a" "$tree"
printed '3 files need one another' 'a cycle'
needs base/two ''
needs base/one cl/three
expect fail "two files of two folders that need one another" sh "$here/check_cycles.sh" "$tree/lib.a" "$tree"

fresh
mkdir -p "$tree/tests/mutations"
printf 'int one;\n' >"$tree/src/base/one.c"
printf -- '--- a/src/base/one.c\n+++ b/src/base/one.c\n@@ -1 +1 @@\n-int one;\n+int two;\n' >"$tree/tests/mutations/two.diff"
expect pass "a fault that applies" sh "$here/check_mutations.sh" "$tree"
printf 'int three;\n' >"$tree/src/base/one.c"
expect fail "a fault that does not apply" sh "$here/check_mutations.sh" "$tree"
exit $bad
