#!/bin/sh
# The checks of documents (links, decisions, results, functions, variables of the environment, examples, passes, walk) fail on trees that break their rules and pass on
# those that keep them.
# Usage: check_document_checks.sh
# test slow: 
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/expect.sh"

# linked: a good tree of two documents. breaks_links TEXT LINE: with LINE in one of them the check fails and TEXT is in
# what it prints.
linked() {
    fresh
    mkdir -p "$tree/docs"
    printf '# Front\n[two](docs/two.md#a-heading-with-code) [x](https://example.org/none) `[a](b)`\n' >"$tree/README.md"
    printf '```\n# Not one\n[c](none)\n```\n## A heading: with `code`\n[up](../README.md) [here](#a-heading-with-code)\n' \
        >"$tree/docs/two.md"
}
breaks_links() {
    linked
    echo "$2" >>"$tree/docs/two.md"
    expect fail "links: $2" sh "$here/check_links.sh" "$tree"
    printed "$1" "$2"
}
linked
expect pass "links of good documents" sh "$here/check_links.sh" "$tree"
breaks_links 'three.md leads nowhere' '[three](three.md)'
breaks_links 'README.md leads nowhere' '[front](README.md)'
breaks_links '#none: no such heading' '[front](../README.md#none)'
breaks_links '#not-one: no such heading' '[code](#not-one)'
breaks_links '../docs#a: no such heading' '[a folder](../docs#a)'
rm -rf "${tree:?}"/*
expect fail "links of no documents" sh "$here/check_links.sh" "$tree"

# decided: a good tree with one decision. breaks_decisions TEXT FILE SCRIPT: with FILE edited by sed's SCRIPT the check fails and TEXT
# is in what it prints.
decided() {
    fresh
    mkdir -p "$tree/docs/decisions"
    printf '# Words `a`\n\nFor those who change Weft: what\nwords are.\n\nMore.\n' >"$tree/docs/decisions/words.md"
    printf '# List\n\n| [Words `a`](words.md) | what words are. |\n' >"$tree/docs/decisions/README.md"
}
breaks_decisions() {
    decided
    sed -i "$3" "$tree/docs/decisions/$2"
    expect fail "decisions: $1, after $3" sh "$here/check_decisions.sh" "$tree"
    printed "$1" "$3"
}
decided
expect pass "decisions of a good tree" sh "$here/check_decisions.sh" "$tree"
breaks_decisions "the first line is not '# TITLE'" words.md 's/^# //'
breaks_decisions "the third line does not begin with" words.md 's/For those/To those/'
breaks_decisions 'the list differs from the pages' README.md 's/Words/Word/'
breaks_decisions 'the list differs from the pages' words.md 's/words are/words were/'
rm -rf "${tree:?}"/*
expect fail "decisions of no tree" sh "$here/check_decisions.sh" "$tree"

# measured: a tree with this tree's results and the page of them. breaks_results TEXT FILE SCRIPT: with FILE edited by sed's SCRIPT the
# check fails and TEXT is in what it prints.
measured() {
    fresh
    mkdir -p "$tree/docs" "$tree/bench"
    cp -r "$here/../../bench/results" "$here/../../bench/targets.json" "$tree/bench/"
    cp "$here/../../docs/performance.md" "$here/../../docs/performance.svg" "$tree/docs/"
}
breaks_results() {
    measured
    sed -i "$3" "$tree"/$2
    expect fail "results: $1, after $3" sh "$here/check_results.sh" "$tree"
    printed "$1" "$3"
}
if command -v python3 >/dev/null; then
    measured
    expect pass "a page of the results" sh "$here/check_results.sh" "$tree"
    breaks_results 'performance.md is not what' docs/performance.md 's/ResNet-50, 16 | [0-9.]*/ResNet-50, 16 | 7/'
    breaks_results 'performance.svg is not what' docs/performance.svg 's/>AlexNet-R</>AlexNet</'
    breaks_results 'performance.md is not what' 'bench/results/*.json' '0,/"weft_ms": \[/s//"weft_ms": [7, /'
    breaks_results 'performance.md is not what' bench/targets.json 's/"ResNet-50 16": [0-9.]*/"ResNet-50 16": 0.01/'
    breaks_results 'more than 150' docs/performance.md 's/$/\n/'
    measured
    rm "$tree"/bench/results/*
    expect fail "no results" sh "$here/check_results.sh" "$tree"
    printed 'no results in' "no results are left"
fi

fresh
mkdir -p "$tree/docs/tutorial"
touch "$tree/README.md" "$tree/CONTRIBUTING.md" "$tree/docs/limitations.md" "$tree/docs/performance.md" "$tree/docs/tutorial/one.md"
expect pass "short documents" sh "$here/check_lengths.sh" "$tree"
seq 41 >"$tree/docs/limitations.md"
expect fail "limitations of 41 lines" sh "$here/check_lengths.sh" "$tree"
seq 40 >"$tree/docs/limitations.md"
seq 3730 >"$tree/docs/tutorial/one.md"
expect fail "documents of 3770 lines" sh "$here/check_lengths.sh" "$tree"

# documented: a good tree with two ops and their page.
documented() {
    fresh
    mkdir -p "$tree/src/ops" "$tree/docs"
    cat >"$tree/include/weft/ops.h" <<'END'
/* ---- ops ---- */
WEFT_API int weft_add(int a); /* a + 1 */
/* The sum. */
#define weft_sum(...) weft_sum_axes(__VA_ARGS__)
WEFT_API int weft_sum_axes(
    int a);
END
    printf 'WI_MAP2(add,  NUMERIC, "a + b")\nWI_NODE(sum) /* reduce.c */\n' >"$tree/src/ops/op_list.h"
    printf '| `torch.add` | `weft_add` |\n| `torch.sum` | `weft_sum`, `weft_sum_axes` |\n' >"$tree/docs/ops.md"
}
# breaks_documented LINE FILE SCRIPT: a good tree whose FILE is edited by sed's SCRIPT fails, and LINE is told.
breaks_documented() {
    documented
    sed -i "$3" "$tree/$2"
    expect fail "documented: $1, after $3" sh "$here/check_documented.sh" "$tree"
    printed "$1" "$3"
}
documented
expect pass "a documented tree" sh "$here/check_documented.sh" "$tree"
documented
sed -i '/weft_add/d' "$tree/docs/ops.md"
sed -i 's|/\* a + 1|  /* torch.add: a + 1|' "$tree/include/weft/ops.h"
expect pass "an op whose comment names PyTorch's" sh "$here/check_documented.sh" "$tree"
breaks_documented 'weft_add has no comment' include/weft/ops.h 's| /\* a + 1 \*/||'
breaks_documented 'weft_sum_axes has no comment' include/weft/ops.h '/The sum/d'
breaks_documented 'weft_sum_axes has no comment' include/weft/ops.h 's|/\* The sum. \*/|&\n|'
breaks_documented 'weft_sum_axes has no comment' include/weft/ops.h 's|The sum.|---- sums ----|'
breaks_documented 'weft_sum_axes has no comment' include/weft/ops.h 's|The sum.|---- sums\n * ----|'
breaks_documented 'weft_sum_axes has no comment' include/weft/ops.h '/define/s|$|\nWEFT_API int weft_one(int a); /* 1 */|'
breaks_documented 'sum: no weft_sum in include/weft' include/weft/ops.h '/define weft_sum/d'
breaks_documented 'sum: no weft_sum in include/weft' include/weft/ops.h 's|^#define weft_sum(.*|/* weft_sum(x) */|'
breaks_documented 'add: no `weft_add` in docs/ops.md' docs/ops.md '/weft_add/d'
breaks_documented 'add: no `weft_add` in docs/ops.md' docs/ops.md 's/`weft_add`/weft_add/'
breaks_documented 'sum: no `weft_sum` in docs/ops.md' docs/ops.md 's/.*weft_sum.*/`weft_add`/'
breaks_documented 'weft_sum_all is not in include/weft' docs/ops.md 's/`weft_sum_axes`/`weft_sum_all`/'
breaks_documented 'names no functions' docs/ops.md 's/`//g'
breaks_documented 'has no ops' src/ops/op_list.h 's/^WI/WEFT/'

# A tree that reads three variables, with their rows.
environment() {
    rm -rf "${tree:?}"/*
    mkdir -p "$tree/src/base" "$tree/src/cl" "$tree/src/kernels" "$tree/docs"
    echo 'return getenv(name);' >"$tree/src/base/platform_posix.c"
    echo 'x = wi_environment("WEFT_DEVICE"), y = wi_environment("HOME");' >"$tree/src/cl/one.c"
    printf '= {"WEFT_WAIT",\n {"driver", "sleep"}}, wi_environment(variable);\n' >"$tree/src/cl/environment.c"
    echo '{"WEFT_CONV", END}' >"$tree/src/kernels/forced.c"
    printf '| `WEFT_DEVICE` | one |\n| `WEFT_WAIT` | `driver` or `sleep` |\n' >"$tree/docs/concepts.md"
    echo '| `WEFT_CONV` | a name |' >"$tree/docs/internals.md"
}
# breaks_environment LINE FILE EDIT: an edit of a file makes the check say so.
breaks_environment() {
    environment
    sed -i "$3" "$tree/$2"
    expect fail "$2 with $3" sh "$here/check_environment.sh" "$tree"
    case "$output" in *"$1"*) ;; *) echo "$2 with $3: no line '$1' in: $output"; bad=1 ;; esac
}
environment
expect pass "variables with rows" sh "$here/check_environment.sh" "$tree"
breaks_environment 'WEFT_CONV has no row' docs/internals.md 's/CONV/GEMM/'
breaks_environment 'WEFT_GEMM has a row' docs/internals.md 's/CONV/GEMM/'
breaks_environment 'WEFT_DEVICE has two rows' docs/internals.md 's/$/\n| `WEFT_DEVICE` | again |/'
breaks_environment 'WEFT_WAIT: the row does not say what sleep means' docs/concepts.md 's/`sleep`/sleeps/'
breaks_environment 'src/cl/one.c calls getenv' src/cl/one.c 's/wi_environment/getenv/'
breaks_environment 'src/cl/one.c: the call' src/cl/one.c 's/"WEFT_DEVICE"/variable/'
breaks_environment 'has no switches' src/cl/environment.c 's/= {/= /'

# A tree whose only function of its own, beside those that the macros call, stands in a sample and in a page.
exampled() {
    rm -rf "$tree"/*
    mkdir -p "$tree/include/weft" "$tree/samples" "$tree/docs/examples" "$tree/tests"
    for name in input_dims parameter_dims flip_list_ permute_list_ reshape_list_ squeeze_list_ add sub; do
        echo "WEFT_API int weft_$name(int a);"
    done >"$tree/include/weft/ops.h"
    echo 'int main(void) { return weft_add(1); }' | tee "$tree/samples/one.c" >"$tree/samples/one.h"
    echo '/* weft_sub(1) */' >"$tree/docs/examples/two.c"
    printf 'weft_sub is text\n```c\nint x = weft_sub(1);\n```\n' >"$tree/docs/page.md"
    sed -i 's/^```c$/<!-- prints: x -->\n&/' "$tree/docs/page.md"
}
exampled
expect pass "a tree with examples" sh "$here/check_examples.sh" "$tree"
sed -i 's/weft_add(1)/0/' "$tree/samples/one.c" "$tree/samples/one.h"
expect fail "a function in no example" sh "$here/check_examples.sh" "$tree"
exampled
sed -i '/^int/d' "$tree/docs/page.md"
expect fail "a function in a comment and in a page's text alone" sh "$here/check_examples.sh" "$tree"
exampled
sed -i '/flip_list_/d' "$tree/include/weft/ops.h"
expect fail "an excuse for what is not declared" sh "$here/check_examples.sh" "$tree"
exampled
printf '#include "one.h"\nint main(void) { return add(1); }\n' >"$tree/samples/one.c"
echo '#include <weft/short_names.h>' >"$tree/samples/one.h"
expect pass "a function in an example by its short name" sh "$here/check_examples.sh" "$tree"
echo '' >"$tree/samples/one.h"
expect fail "a short name in an example that has none" sh "$here/check_examples.sh" "$tree"
breaks_documented 'declares no functions' include/weft/ops.h '/weft_/d'

# The pages on the planner, and the planner: with FILE edited by sed's SCRIPT the check CHECK fails, and LINE is told.
planned() {
    fresh
    mkdir "$tree/docs"
    cp -R "$here/../../src" "$tree"
    cp "$here/../../docs/architecture.md" "$here/../../docs/internals.md" "$tree/docs"
}
breaks_planned() {
    planned
    sed -i "$4" "$tree/$3"
    expect fail "$1: $2, after $4" sh "$here/check_$1.sh" "$tree"
    printed "$2" "$4"
}
planned
expect pass "the pages on the planner" sh "$here/check_passes.sh" "$tree"
expect pass "the walk from a call to a launch" sh "$here/check_walk.sh" "$tree"
breaks_planned passes 'docs/architecture.md names wi_plan_order wi_plan_partition' docs/architecture.md '/`wi_find_fixed`/d'
breaks_planned passes 'plan.c and fit.c call wi_plan_order' src/plan/fit.c '/wi_plan_schedule(/d'
breaks_planned passes 'src/plan/emit does not define wi_plan_loops' docs/architecture.md 's|src/plan/layout` . `wi_plan_loops|src/plan/emit` \| `wi_plan_loops|'
breaks_planned passes 'no table of passes' docs/architecture.md '/^## The passes/d'
breaks_planned walk 'src/plan/emit/code_product.c does not define wi_code_loop' docs/internals.md 's/`wi_code_product`/`wi_code_loop`/'
breaks_planned walk 'wi_launch_run_portion is called nowhere above' docs/internals.md 's|`src/plan/rewrite/order.c` . `wi_plan_order`|`src/cl/launch.c` \| `wi_launch_run_portion`|'
breaks_planned walk 'has no walk' docs/internals.md '/^## From a call/d'
exit $bad
