/* Sizes that plans give: no numbers, but tensors that weft_size gives; and axes that are named once. */
#include "support/fixture.h"
#include <math.h>
#include <string.h>

/* ---- what stands for a size is no number ---- */

static weft_tensor *on_the_right(weft_tensor *x, double n) {
    return weft_add_number(x, n);
}
static weft_tensor *scaled(weft_tensor *x, double n) {
    return weft_mul_number(x, n);
}
static weft_tensor *on_the_left(weft_tensor *x, double n) {
    return weft_number_div(n, x);
}
static weft_tensor *power(weft_tensor *x, double n) {
    return weft_pow_number(x, n);
}
static weft_tensor *constant(weft_tensor *x, double n) {
    return weft_constant(weft_tensor_graph(x), WEFT_I32, n);
}
static weft_tensor *like(weft_tensor *x, double n) {
    return weft_number(x, n);
}
static weft_tensor *filled(weft_tensor *x, double n) {
    return weft_full(weft_tensor_graph(x), WEFT_F32, n, 1, (const int64_t[]){WEFT_LENGTH});
}
static weft_tensor *scalar(weft_tensor *x, double n) {
    return weft_scalar(weft_tensor_graph(x), "s", (float)n);
}
static weft_tensor *clamped(weft_tensor *x, double n) {
    return weft_clamp(x, 0, n);
}
static weft_tensor *sloped(weft_tensor *x, double n) {
    return weft_leaky_relu(x, n);
}
static weft_tensor *curved(weft_tensor *x, double n) {
    return weft_elu(x, n);
}
static weft_tensor *padded(weft_tensor *x, double n) {
    return weft_pad(x, (const int64_t[]){0, 1}, (const int64_t[]){0, 0}, WEFT_PAD_CONSTANT, n);
}
static weft_tensor *masked(weft_tensor *x, double n) {
    return weft_masked_fill(x, weft_isnan(x), n);
}
static weft_tensor *drawn(weft_tensor *x, double n) {
    return weft_normal(weft_tensor_graph(x), (float)n, 1, 1, (const int64_t[]){4});
}
static weft_tensor *begun(weft_tensor *x, double n) {
    return weft_parameter(weft_tensor_graph(x), "p", weft_fill((float)n), 4);
}
static weft_tensor *counted(weft_tensor *x, double n) {
    return weft_arange(weft_tensor_graph(x), WEFT_F32, n, 2 * n, 1);
}

static const struct {
    weft_tensor *(*build)(weft_tensor *x, double n);
    const char *line;
} takers[] = {{on_the_right, "add_number: "}, {scaled, "mul_number: "}, {on_the_left, "number_div: "},
    {power, "pow_number: "}, {constant, "constant: "}, {like, "constant: "}, {filled, "full: "},
    {scalar, "scalar: "}, {clamped, "clamp: "}, {sloped, "leaky_relu: "}, {curved, "elu: "},
    {padded, "pad: "}, {masked, "masked_fill: "}, {drawn, "normal: "}, {begun, "initialiser of 'p': "},
    {counted, "arange: "}};

static void check_refused(size_t taker, double number) {
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, WEFT_LENGTH);
    assert_null(takers[taker].build(x, number));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_graph_status(graph), takers[taker].line,
        "is a placeholder for a size that only plans know (WEFT_LENGTH), not a number; weft_size(x, axis) "
        "gives the "
        "size");
    weft_graph_release(graph);
}

static void sizes_are_refused_where_a_number_is_taken(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++) {
        check_refused(i, (double)WEFT_LENGTH);
        check_refused(i, 2 * (double)WEFT_LENGTH + 1);
    }
    weft_graph *const graph = test_graph();
    weft_tensor *const rate = weft_scalar(graph, "rate", 1);
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_scalar_set(rate, (float)WEFT_LENGTH), "weft_scalar_set: ");
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 4);
    weft_tensor *const rest = weft_slice(x, 0, 1, WEFT_END);
    assert_null(weft_div_number(x, (double)weft_tensor_dimension(rest, 0)));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_graph_status(graph), "div_number: ", "(of a batch axis)");
    weft_graph_release(graph);
}

static void large_numbers_are_taken(void **state) {
    (void)state;
    const double numbers[] = {
        1e8, 1.2e8, 123456789, 2147483647, 1e9, -1e9, 1e30, 0.5, 1 << 24, INFINITY, NAN};
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, WEFT_LENGTH);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_non_null(weft_add_number(x, numbers[i]));
    assert_weft_ok(weft_graph_status(graph));
    weft_graph_release(graph);
}

/* ---- sizes as tensors ---- */

enum { WIDTH = 3 };

/* Of one graph, at a batch and a length. */
static void check_sizes(weft_graph *graph, weft_tensor *const *outputs, int64_t batch, int64_t length) {
    const int32_t wanted[] = {(int32_t)batch, (int32_t)length, WIDTH, (int32_t)(batch * length),
        (int32_t)(2 * length), (int32_t)(2 * batch)};
    weft_plan *plan = NULL;
    int32_t got;
    float mean;
    assert_weft_ok(weft_plan_create(&plan, outputs, 7, WEFT_WITH(plan, .batch = batch, .length = length)));
    (void)graph;
    assert_weft_ok(weft_plan_run(plan));
    for (size_t i = 0; i < 6; i++) {
        assert_weft_ok(weft_plan_read(plan, outputs[i], &got, sizeof got));
        assert_int_equal(got, wanted[i]);
    }
    assert_weft_ok(weft_plan_read(plan, outputs[6], &mean, sizeof mean));
    assert_true(mean == 2);
    weft_plan_release(plan);
}

static void sizes_are_those_of_each_plan(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    const int64_t dims[] = {WEFT_BATCH, WEFT_LENGTH, WIDTH}, steps = 2 * WEFT_LENGTH;
    weft_tensor *const x = weft_full(graph, WEFT_F32, 2, 3, dims);
    weft_tensor *const all =
        weft_cast(weft_mul(weft_mul(weft_size(x, 0), weft_size(x, 1)), weft_size(x, 2)), WEFT_F32);
    weft_tensor *const outputs[] = {weft_size(x, 0), weft_size(x, 1), weft_size(x, -1),
        weft_size(weft_flatten_axes(x, 0, 1), 0), weft_size(weft_full(graph, WEFT_F32, 1, 1, &steps), 0),
        weft_size(weft_concat(WEFT_TENSORS(x, x), 0), 0), weft_div(weft_sum(x), all)};
    assert_weft_ok(weft_graph_status(graph));
    check_sizes(graph, outputs, 1, 1);
    check_sizes(graph, outputs, 7, 5);
    check_sizes(graph, outputs, 49, 49);
    assert_null(weft_size(x, 3));
    assert_weft_fails(
        WEFT_ERROR_SHAPE, weft_graph_status(graph), "size: axis 3 is not an axis of (batch, length, 3)");
    weft_graph_release(graph);
}

/* A batch axis that is cut has another size; a large one is exact. */
static void sizes_of_parts_of_a_batch(void **state) {
    (void)state;
    static const int64_t batches[] = {2, 9, 20000001};
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_full(graph, WEFT_BOOL, 1, 1, (const int64_t[]){WEFT_BATCH});
    weft_tensor *const outputs[] = {weft_size(weft_slice(x, 0, 1, WEFT_END), 0), weft_size(x, 0)};
    for (size_t i = 0; i < 3; i++) {
        weft_plan *plan = NULL;
        int32_t got[2];
        assert_weft_ok(weft_plan_create(&plan, outputs, 2, WEFT_WITH(plan, .batch = batches[i])));
        assert_weft_ok(weft_plan_run(plan));
        for (int k = 0; k < 2; k++) assert_weft_ok(weft_plan_read(plan, outputs[k], &got[k], sizeof *got));
        assert_int_equal(got[0], batches[i] - 1);
        assert_int_equal(got[1], batches[i]);
        weft_plan_release(plan);
    }
    weft_graph_release(graph);
}

/* ---- axes ---- */

typedef weft_tensor *take_axes(weft_tensor *x, const int64_t *axes, bool keep);

static weft_tensor *flipped(weft_tensor *x, const int64_t *axes, bool keep) {
    (void)keep;
    return weft_flip_axes(x, axes);
}
static weft_tensor *squeezed(weft_tensor *x, const int64_t *axes, bool keep) {
    (void)keep;
    return weft_squeeze_axes(x, axes);
}
static weft_tensor *variance(weft_tensor *x, const int64_t *axes, bool keep) {
    return weft_var_with(x, 0, axes, keep);
}
static weft_tensor *norm(weft_tensor *x, const int64_t *axes, bool keep) {
    return weft_norm_with(x, 1, axes, keep);
}

static const struct {
    const char *line;
    take_axes *take;
} axis_takers[] = {{"sum: ", weft_sum_axes}, {"mean: ", weft_mean_axes}, {"max: ", weft_max_axes},
    {"argmax: ", weft_argmax_axes}, {"min: ", weft_min_axes}, {"argmin: ", weft_argmin_axes},
    {"prod: ", weft_prod_axes}, {"var: ", weft_var_axes}, {"std: ", weft_std_axes},
    {"norm: ", weft_norm_axes}, {"logsumexp: ", weft_logsumexp_axes}, {"any: ", weft_any_axes},
    {"all: ", weft_all_axes}, {"count_nonzero: ", weft_count_nonzero_axes}, {"var: ", variance},
    {"norm: ", norm}, {"flip: ", flipped}, {"squeeze: ", squeezed}};

static void axes_are_named_once(void **state) {
    (void)state;
    const int64_t lists[][3] = {{1, 1, WEFT_END}, {1, -2, WEFT_END}, {-2, -2, WEFT_END}};
    for (size_t i = 0; i < sizeof axis_takers / sizeof *axis_takers; i++)
        for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
            weft_graph *const graph = test_graph();
            weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 1, 5);
            assert_null(axis_takers[i].take(x, lists[k], false));
            assert_weft_fails(WEFT_ERROR_SHAPE, weft_graph_status(graph), axis_takers[i].line,
                "axis 1 of (batch, 1, 5) is given twice; name each axis once");
            weft_graph_release(graph);
        }
}

/* What is kept has size 1, in all reductions. */
static void axes_are_kept(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 4, 5);
    weft_tensor *const kept[] = {weft_sum_keep(x, 2), weft_mean_keep(x, 2), weft_max_keep(x, 2),
        weft_argmax_keep(x, 2), weft_min_keep(x, 2), weft_argmin_keep(x, 2), weft_prod_keep(x, 2),
        weft_var_keep(x, 2), weft_std_keep(x, 2), weft_norm_keep(x, 2), weft_logsumexp_keep(x, 2),
        weft_any_keep(x, 2), weft_all_keep(x, 2), weft_count_nonzero_keep(x, 2)};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        assert_int_equal(weft_tensor_rank(kept[i]), 3);
        assert_int_equal(weft_tensor_dimension(kept[i], 1), 4);
        assert_int_equal(weft_tensor_dimension(kept[i], 2), 1);
    }
    assert_int_equal(weft_tensor_rank(weft_sum_keep(x)), 3);
    assert_ptr_equal(weft_sum_keep(x, 1, 2), weft_sum_axes(x, (const int64_t[]){1, 2, WEFT_END}, true));
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_refused_where_a_number_is_taken),
        cmocka_unit_test(large_numbers_are_taken),
        cmocka_unit_test(sizes_are_those_of_each_plan),
        cmocka_unit_test(sizes_of_parts_of_a_batch),
        cmocka_unit_test(axes_are_named_once),
        cmocka_unit_test(axes_are_kept),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
