/* Random programs: that every row is drawn, that a program by hand is judged as it should be, and what is printed of it. */
/* test slow */
#include "support/fixture.h"

#include "random/drawing.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 5, DRAWN = 12, EVERY = 16 }; /* those programs depend on no others */

/* One for all: each program has a graph, and random numbers begin with the graph. */
static weft_context *context;

static int open_context(void **state) {
    (void)state;
    context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .seed = SEED});
    return 0;
}

static int close_context(void **state) {
    (void)state;
    weft_context_release(context);
    return 0;
}

/* ---- programs by hand ---- */

static program begin(void) {
    return (program){.seed = SEED, .format = WEFT_F32, .batch = 2, .length = 3};
}

static int add_input(program *p, weft_dtype dtype, int64_t rows, int64_t columns) {
    p->values[p->count] = (program_value){
        .source = {
            .kind = PROGRAM_INPUT, .dtype = dtype, .dims = {rows, columns, WEFT_END}, .low = -2, .high = 2}};
    return p->count++;
}

static oracle_call call_of(const oracle_op *op, int a, int b, int c) {
    assert_non_null(op);
    oracle_call call = {.op = op, .dims = {WEFT_END}, .inputs = {a, b, c, -1, -1, -1, -1, -1, -1}};
    call.input_count = c >= 0 ? 3 : b >= 0 ? 2 : a >= 0 ? 1 : 0;
    return call;
}

static int add_call(program *p, oracle_call call, weft_dtype dtype, bool shown) {
    call.draws = program_draws_before(p, p->count);
    p->values[p->count] =
        (program_value){.is_call = true, .shown = shown, .source = {.dtype = dtype}, .call = call};
    return p->count++;
}

static oracle_call uniform_of(int64_t rows, int64_t columns) {
    oracle_call call = call_of(oracle_find("uniform"), -1, -1, -1);
    memcpy(call.dims, (int64_t[]){rows, columns, WEFT_END}, 3 * sizeof *call.dims);
    call.numbers[1] = 1;
    return call;
}

static program_result run(const program *p) {
    program_result result;
    const f64_mark mark = f64_pool_mark();
    program_run(p, context, &result);
    f64_pool_release(mark);
    return result;
}

/* Numbers of two streams, in every run of every plan of one graph, at several batches; and their gradients. */
static void test_random_numbers(void **state) {
    (void)state;
    program p = begin();
    p.free_batch = true;
    const int x = add_input(&p, WEFT_F32, WEFT_BATCH, 17);
    oracle_call drop = call_of(oracle_find("dropout"), x, -1, -1);
    drop.numbers[0] = 0.5;
    const int dropped = add_call(&p, drop, WEFT_F32, true),
              factor = add_call(&p, uniform_of(WEFT_BATCH, 17), WEFT_F32, true);
    p.loss[p.loss_count++] = add_call(&p, call_of(oracle_find("mul"), dropped, factor, -1), WEFT_F32, true);
    program_result result = run(&p);
    if (result.verdict != PROGRAM_RIGHT) fail_msg("%s", result.line);
    assert_true(result.tally.slopes > 0);
    p.values[factor].call.draws = 7;
    result = run(&p);
    assert_int_equal(result.verdict, PROGRAM_WRONG);
}

/* What a comparison chooses is certain where it is false, too. */
static void test_certain_comparison(void **state) {
    (void)state;
    program p = begin();
    const int a = add_input(&p, WEFT_F32, 5, 33), b = add_input(&p, WEFT_F32, 5, 33);
    const int less = add_call(&p, call_of(oracle_find("less"), a, b, -1), WEFT_BOOL, true);
    add_call(&p, call_of(oracle_find("where"), less, a, b), WEFT_F32, true);
    const program_result result = run(&p);
    if (result.verdict != PROGRAM_RIGHT) fail_msg("%s", result.line);
    assert_int_equal(result.tally.unjudged, 0);
}

/* A second gradient at a corner of the first is not judged; beside it, it is. */
static void test_corner_of_a_gradient(void **state) {
    (void)state;
    program p = begin();
    p.second = true;
    const int x = add_input(&p, WEFT_F32, 1, 3);
    p.values[x].source.low = 5e-6;
    p.values[x].source.high = 6e-6;
    p.loss[p.loss_count++] = add_call(&p, call_of(oracle_find("softsign"), x, -1, -1), WEFT_F32, true);
    program_result result = run(&p);
    if (result.verdict != PROGRAM_RIGHT) fail_msg("%s", result.line);
    assert_true(result.tally.unjudged_slopes > 0);
    p.values[x].source.high = 2;
    result = run(&p);
    if (result.verdict != PROGRAM_RIGHT) fail_msg("%s", result.line);
    assert_int_equal(result.tally.unjudged_slopes, 0);
}

/* Values that jump at a number that many elements are: whatever the signs of the jumps, no gradient is judged. */
static void test_jumps_of_values(void **state) {
    (void)state;
    program p = begin();
    const int x = add_input(&p, WEFT_F32, 1, 2);
    p.values[x].source.low = p.values[x].source.high = 2;
    p.loss[p.loss_count++] = add_call(&p, call_of(oracle_find("trunc"), x, -1, -1), WEFT_F32, true);
    for (p.number = 0; p.number < 60; p.number++) {
        const program_result result = run(&p);
        if (result.verdict != PROGRAM_RIGHT) fail_msg("%s", result.line);
    }
}

/* In a format of 16 bits the sum is rounded before it is added. */
static void test_stored_sums(void **state) {
    (void)state;
    program p = begin();
    p.format = WEFT_F16;
    const int x = add_input(&p, WEFT_F16, 17, 33), index = add_input(&p, WEFT_I32, 17, 33),
              source = add_input(&p, WEFT_F16, 17, 33);
    p.values[index].source.below = 17;
    add_call(&p, call_of(oracle_find("scatter_add"), x, index, source), WEFT_F16, true);
    const program_result result = run(&p);
    if (result.verdict != PROGRAM_RIGHT) fail_msg("%s", result.line);
}

/* The two terms of a binary cross-entropy cancel out where targets are above 1: rounding is relative to the terms. */
static void test_cancelling_losses(void **state) {
    (void)state;
    static const struct {
        const char *op;
        double low, high;
    } rows[] = {{"bce", 0.01, 0.99}, {"bce_with_logits", -6, 6}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        program p = begin();
        const int x = add_input(&p, WEFT_F32, 64, 63), t = add_input(&p, WEFT_F32, 64, 63);
        p.values[x].source.low = rows[i].low, p.values[x].source.high = rows[i].high;
        p.values[t].source.low = 1, p.values[t].source.high = 4;
        oracle_call call = call_of(oracle_find(rows[i].op), x, t, -1);
        call.integers[0] = WEFT_LOSS_NONE;
        add_call(&p, call, WEFT_F32, true);
        const program_result result = run(&p);
        if (result.verdict != PROGRAM_RIGHT) fail_msg("%s: %s", rows[i].op, result.line);
        assert_int_equal(result.tally.unjudged, 0);
    }
}

/* ---- making smaller ---- */

/* A random op of which zeros are wanted. */
static f64_array *evaluate_wrong(
    const oracle_call *call, const f64_array *const *in, const oracle_sizes *sizes) {
    int64_t dims[WEFT_MAX_RANK + 1];
    (void)in;
    return f64_zeros(oracle_sizes_of(call->dims, sizes, dims), dims);
}

/* Of two random nodes the first goes: the second then draws from the first stream. */
static void test_streams_of_a_smaller_program(void **state) {
    (void)state;
    oracle_op wrong = *oracle_find("uniform");
    wrong.evaluate = evaluate_wrong;
    const f64_mark mark = f64_pool_mark();
    program p = begin();
    add_call(&p, uniform_of(5, 7), WEFT_F32, true);
    oracle_call call = uniform_of(5, 7);
    call.op = &wrong;
    add_call(&p, call, WEFT_F32, true);
    program_result result;
    program_run(&p, context, &result);
    assert_int_equal(result.verdict, PROGRAM_WRONG);
    program_reduce(&p, context, &result, 40);
    assert_int_equal(result.verdict, PROGRAM_WRONG);
    assert_int_equal(p.count, 1);
    assert_ptr_equal(p.values[0].call.op, &wrong);
    assert_int_equal(p.values[0].call.draws, 0);
    f64_pool_release(mark);
}

/* ---- as text ---- */

static void assert_printed(const program *p, const char *line) {
    const oracle_sizes sizes = program_sizes(p, test_context());
    char *const text = program_text(p, &sizes);
    assert_non_null(text);
    if (!strstr(text, line)) fail_msg("'%s' is not in\n%s", line, text);
    free(text);
}

/* Axes and ends of slices count from the end, sizes are multiples of the batch. */
static void test_axes_as_text(void **state) {
    (void)state;
    program p = begin();
    const int x = add_input(&p, WEFT_F32, WEFT_BATCH, 9);
    oracle_call slice = call_of(oracle_find("slice"), x, -1, -1);
    memcpy(slice.integers, (int64_t[]){-1, -2, WEFT_END, 1}, 4 * sizeof *slice.integers);
    add_call(&p, slice, WEFT_F32, true);
    assert_printed(&p, "weft_slice(v0, -1, -2, WEFT_END)");
    oracle_call flip = call_of(oracle_find("flip"), x, -1, -1);
    memcpy(flip.dims, (int64_t[]){-1, 0, WEFT_END}, 3 * sizeof *flip.dims);
    add_call(&p, flip, WEFT_F32, true);
    assert_printed(&p, "weft_flip_axes(v0, (const int64_t[]){-1, 0, WEFT_END})");
    oracle_call var = call_of(oracle_find("var"), x, -1, -1), norm = call_of(oracle_find("norm"), x, -1, -1);
    memcpy(var.dims, (int64_t[]){-2, 1, WEFT_END}, 3 * sizeof *var.dims);
    memcpy(norm.dims, var.dims, sizeof norm.dims);
    norm.numbers[0] = 2;
    add_call(&p, var, WEFT_F32, true);
    add_call(&p, norm, WEFT_F32, true);
    assert_printed(&p, "weft_var_with(v0, 0, (const int64_t[]){-2, 1, WEFT_END}, false)");
    assert_printed(&p, "weft_norm_with(v0, 2, (const int64_t[]){-2, 1, WEFT_END}, false)");
    oracle_call split = call_of(oracle_find("split"), x, -1, -1);
    memcpy(split.integers, (int64_t[]){1, 2, 3}, 3 * sizeof *split.integers);
    add_call(&p, split, WEFT_F32, true);
    assert_printed(&p, "weft_tensor *parts[8];");
    add_call(&p, uniform_of(WEFT_BATCH, 2), WEFT_F32, true);
    assert_printed(&p, "weft_uniform(graph, 0, 1, 2, (const int64_t[]){WEFT_BATCH, 2})");
    oracle_call clamp = call_of(oracle_find("clamp"), x, -1, -1);
    clamp.numbers[0] = -HUGE_VAL;
    add_call(&p, clamp, WEFT_F32, true);
    assert_printed(&p, "weft_clamp(v0, -INFINITY, 0)");
}

/* ---- sources and gradients ---- */

static void test_offsets(void **state) {
    (void)state;
    const f64_mark mark = f64_pool_mark();
    const oracle_sizes sizes = {.batch = 5};
    program p = begin();
    add_input(&p, WEFT_I32, 4, 1);
    p.values[0].source.below = WEFT_BATCH;
    p.values[0].source.ascending = true;
    p.values[0].source.from_zero = true;
    for (p.number = 0; p.number < 8; p.number++) {
        const f64_array *const offsets = program_source_values(&p, 0, &sizes);
        assert_true(offsets->value[0] == 0);
        for (size_t i = 1; i < 4; i++) assert_true(offsets->value[i] >= offsets->value[i - 1]);
        assert_true(offsets->value[3] <= 4);
    }
    f64_pool_release(mark);
}

/* Whole numbers between bounds that are none. */
static void test_whole_numbers(void **state) {
    (void)state;
    const f64_mark mark = f64_pool_mark();
    const oracle_sizes sizes = {.batch = 2};
    program p = begin();
    add_input(&p, WEFT_I32, 5, 33);
    p.values[0].source.low = 2.1;
    p.values[0].source.high = 6.5;
    const f64_array *const x = program_source_values(&p, 0, &sizes);
    for (size_t i = 0; i < x->count; i++)
        assert_true(x->value[i] == floor(x->value[i]) && x->value[i] >= 3 && x->value[i] <= 6);
    f64_pool_release(mark);
}

/* The gradient of x in concat(x, y, y), y = roll(x), has three terms. A fixed size may tell that the roll moves nothing: y is x then, and
 * the terms are added in another order. */
static void test_terms_of_a_roll(void **state) {
    (void)state;
    program p = begin();
    p.free_length = true;
    p.length = 8;
    const int x = add_input(&p, WEFT_F32, WEFT_LENGTH, WEFT_LENGTH);
    oracle_call roll = call_of(oracle_find("roll"), x, -1, -1);
    roll.integers[0] = 1;
    roll.integers[1] = 16;
    const int y = add_call(&p, roll, WEFT_F32, false);
    oracle_call concat = call_of(oracle_find("concat"), x, y, y);
    concat.integers[1] = 3;
    p.loss[p.loss_count++] = add_call(&p, concat, WEFT_F32, true);
    const program_result result = run(&p);
    if (result.verdict != PROGRAM_RIGHT) fail_msg("%s", result.line);
}

/* A gradient that is not that of the value is no part of the loss. */
static void test_gradient_of_a_padding(void **state) {
    (void)state;
    program p = begin();
    const int table = add_input(&p, WEFT_F32, 3, 7), tokens = add_input(&p, WEFT_I32, 2, 2);
    oracle_call call = call_of(oracle_find("embedding"), table, tokens, -1);
    const int rows = add_call(&p, call, WEFT_F32, false);
    assert_false(program_has_no_gradient(&p, rows));
    call.no_gradient = true;
    const int padded = add_call(&p, call, WEFT_F32, false);
    assert_true(program_has_no_gradient(&p, padded));
}

/* ---- drawing ---- */

static bool has_row(const program *p, const oracle_op *op) {
    for (int i = 0; i < p->count; i++)
        if (p->values[i].is_call && p->values[i].call.op == op) return true;
    return false;
}

/* Each row is in most of the programs that are drawn for it. */
static void test_rows_are_drawn(void **state) {
    (void)state;
    static program p;
    for (size_t row = 0; row < oracle_op_count(); row++) {
        const program_options options = {.seed = SEED, .format = WEFT_F32, .only = oracle_op_at(row)->name};
        int found = 0;
        for (uint64_t number = 0; number < DRAWN; number++) {
            const f64_mark mark = f64_pool_mark();
            assert_true(program_draw(&p, test_context(), &options, EVERY * number));
            f64_pool_release(mark);
            found += has_row(&p, oracle_op_at(row));
        }
        if (found <= DRAWN / 2) fail_msg("%s is in %d of %d programs", options.only, found, DRAWN);
    }
}

/* What may lie in another order than that of its axes: images, and what is computed from them. */
static void test_row_major_values(void **state) {
    (void)state;
    static oracle_draw draw;
    program p = begin();
    const int x = add_input(&p, WEFT_F32, 3, 7);
    memcpy(p.values[x].source.dims, (int64_t[]){3, 7, 5, WEFT_END}, 4 * sizeof(int64_t));
    oracle_call call = call_of(oracle_find("permute"), x, -1, -1);
    memcpy(call.dims, (int64_t[]){1, 0, 2, WEFT_END}, 4 * sizeof *call.dims);
    const int turned = add_call(&p, call, WEFT_F32, false),
              image = add_call(&p, call_of(oracle_find("channels_first"), x, -1, -1), WEFT_F32, false),
              map = add_call(&p, call_of(oracle_find("relu"), image, -1, -1), WEFT_F32, false);
    draw = (oracle_draw){.p = &p};
    assert_weft_ok(program_build(&draw.built, test_context(), &p, p.count, &draw.sizes));
    assert_true(draw_is_row_major(&draw, x));
    assert_true(draw_is_row_major(&draw, turned));
    assert_false(draw_is_row_major(&draw, image));
    assert_false(draw_is_row_major(&draw, map));
    weft_graph_release(draw.built.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_numbers),
        cmocka_unit_test(test_certain_comparison),
        cmocka_unit_test(test_corner_of_a_gradient),
        cmocka_unit_test(test_jumps_of_values),
        cmocka_unit_test(test_stored_sums),
        cmocka_unit_test(test_cancelling_losses),
        cmocka_unit_test(test_streams_of_a_smaller_program),
        cmocka_unit_test(test_axes_as_text),
        cmocka_unit_test(test_offsets),
        cmocka_unit_test(test_whole_numbers),
        cmocka_unit_test(test_terms_of_a_roll),
        cmocka_unit_test(test_gradient_of_a_padding),
        cmocka_unit_test(test_rows_are_drawn),
        cmocka_unit_test(test_row_major_values),
    };
    return test_finish(cmocka_run_group_tests(tests, open_context, close_context));
}
