/* GELU and norms written by parts: plans and gradients compute them by the ops where the parts are such an op and nobody else reads them.
 * Results and gradients are those of plans that recognise nothing, also where the parts only look like an op. */
#include "support/fixture.h"

#include "graph/weft_graph.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct network {
    weft_graph *graph;
    weft_tensor *x, *slope, *also; /* also: a part that the loss reads, too */
    weft_tensor *outputs[2];
    weft_plan *plan;
} network;

/* ---- GELU ---- */

static weft_tensor *erf_of(weft_tensor *x) {
    return weft_add_number(weft_erf(weft_div_number(x, 1.4142135623730951)), 1);
}

static weft_tensor *tanh_of(weft_tensor *x) {
    weft_tensor *const cube = weft_mul_number(weft_pow_number(x, 3), 0.044715);
    return weft_add_number(weft_tanh(weft_mul_number(weft_add(x, cube), 0.7978845608028654)), 1);
}

static weft_tensor *gelu_last_half(network *n) {
    return weft_mul_number(weft_mul(n->x, erf_of(n->x)), 0.5);
}

static weft_tensor *gelu_first_half(network *n) {
    return weft_mul(weft_mul_number(n->x, 0.5), erf_of(n->x));
}

static weft_tensor *gelu_divided(network *n) {
    return weft_div_number(weft_mul(erf_of(n->x), n->x), 2);
}

static weft_tensor *gelu_of_product(network *n) {
    weft_tensor *const x = weft_mul(n->x, n->slope);
    return weft_mul(x, weft_mul_number(weft_add_number(weft_erf(weft_mul_number(x, 0.70710678)), 1), 0.5));
}

static weft_tensor *gelu_tanh(network *n) {
    return weft_mul(weft_mul_number(n->x, 0.5), tanh_of(n->x));
}

static weft_tensor *gelu_tanh_factored(network *n) {
    weft_tensor *const square = weft_mul(weft_mul_number(n->x, 0.044715), n->x);
    weft_tensor *const inner = weft_mul(weft_mul_number(n->x, 0.79788456), weft_add_number(square, 1));
    return weft_mul(weft_mul_number(n->x, 0.5), weft_add_number(weft_tanh(inner), 1));
}

static weft_tensor *other_slope(network *n) {
    weft_tensor *const curve = weft_add_number(weft_erf(weft_mul_number(n->x, 0.7)), 1);
    return weft_mul_number(weft_mul(n->x, curve), 0.5);
}

static weft_tensor *other_half(network *n) {
    return weft_mul_number(weft_mul(n->x, erf_of(n->x)), 0.25);
}

static weft_tensor *other_cube(network *n) {
    weft_tensor *const cube = weft_mul_number(weft_pow_number(n->x, 3), 0.05);
    weft_tensor *const curve = weft_tanh(weft_mul_number(weft_add(n->x, cube), 0.7978845608028654));
    return weft_mul(weft_mul_number(n->x, 0.5), weft_add_number(curve, 1));
}

static weft_tensor *other_gate(network *n) {
    return weft_mul_number(weft_mul(n->slope, erf_of(n->x)), 0.5);
}

static weft_tensor *square_gate(network *n) {
    return weft_mul_number(weft_mul(weft_mul(n->x, n->x), erf_of(n->x)), 0.5);
}

static weft_tensor *curve_read(network *n) {
    weft_tensor *const sum = n->also = erf_of(n->x);
    return weft_mul_number(weft_mul(n->x, sum), 0.5);
}

/* ---- norms ---- */

static weft_tensor *mean_of(weft_tensor *x, int64_t axis) {
    return weft_mean_axes(x, (const int64_t[]){axis, WEFT_END}, true);
}

static weft_tensor *root_of(weft_tensor *variance, double epsilon) {
    return weft_sqrt(weft_add_number(variance, epsilon));
}

static weft_tensor *layer_norm(network *n) {
    weft_tensor *const d = weft_sub(n->x, mean_of(n->x, -1));
    return weft_div(d, root_of(mean_of(weft_square(d), -1), 1e-5));
}

static weft_tensor *layer_norm_weighted(network *n) {
    weft_tensor *const d = weft_sub(n->x, mean_of(n->x, -1));
    weft_tensor *const root = weft_rsqrt(weft_add_number(mean_of(weft_pow_number(d, 2), -1), 1e-5));
    return weft_add_number(weft_mul(weft_mul(root, d), n->slope), 0.25);
}

static weft_tensor *layer_norm_of_two_axes(network *n) {
    const int64_t axes[] = {-2, -1, WEFT_END};
    weft_tensor *const d = weft_sub(n->x, weft_mean_axes(n->x, axes, true));
    return weft_div(d, root_of(weft_mean_axes(weft_mul(d, d), axes, true), 0.125));
}

static weft_tensor *rms_norm(network *n) {
    return weft_mul(n->x, weft_rsqrt(weft_add_number(mean_of(weft_square(n->x), -1), 1e-6)));
}

static weft_tensor *along_another_axis(network *n) {
    weft_tensor *const d = weft_sub(n->x, mean_of(n->x, 1));
    return weft_div(d, root_of(mean_of(weft_square(d), 1), 1e-5));
}

static weft_tensor *sample_variance(network *n) {
    weft_tensor *const d = weft_sub(n->x, mean_of(n->x, -1));
    weft_tensor *const sum = weft_sum_axes(weft_square(d), (const int64_t[]){-1, WEFT_END}, true);
    return weft_div(d, root_of(weft_mul_number(sum, 0.1), 1e-5));
}

static weft_tensor *of_another_square(network *n) {
    weft_tensor *const d = weft_sub(n->x, mean_of(n->x, -1));
    return weft_div(n->slope, root_of(mean_of(weft_square(d), -1), 1e-5));
}

static weft_tensor *negative_epsilon(network *n) {
    return weft_mul(n->x, weft_rsqrt(weft_add_number(mean_of(weft_square(n->x), -1), -1e-6)));
}

static weft_tensor *deviation_read(network *n) {
    weft_tensor *const d = weft_sub(n->x, mean_of(n->x, -1));
    n->also = root_of(mean_of(weft_square(d), -1), 1e-5);
    return weft_div(d, n->also);
}

typedef struct row {
    const char *name;
    weft_tensor *(*build)(network *n);
    const char *op; /* a word of plans that compute the op; NULL: the parts are no op */
} row;

/* All norms clamp the variance. */
static const row rows[] = {{"gelu, last half", gelu_last_half, "gelu"},
    {"gelu, first half", gelu_first_half, "gelu"}, {"gelu, divided", gelu_divided, "gelu"},
    {"gelu of a product", gelu_of_product, "gelu"}, {"gelu_tanh", gelu_tanh, "gelu_tanh"},
    {"gelu_tanh, factored", gelu_tanh_factored, "gelu_tanh"}, {"another slope", other_slope, NULL},
    {"another half", other_half, NULL}, {"another cube", other_cube, NULL},
    {"another gate", other_gate, NULL}, {"a square as the gate", square_gate, NULL},
    {"a curve that the loss reads", curve_read, NULL}, {"layer norm", layer_norm, "maximum"},
    {"layer norm with weights", layer_norm_weighted, "maximum"},
    {"layer norm of two axes", layer_norm_of_two_axes, "maximum"}, {"rms norm", rms_norm, "maximum"},
    {"along another axis", along_another_axis, NULL}, {"sample variance", sample_variance, NULL},
    {"of another square", of_another_square, NULL}, {"negative epsilon", negative_epsilon, NULL},
    {"deviation that the loss reads", deviation_read, NULL}};

/* ---- plans ---- */

enum { COUNT = 3 * 5 * 11 };

static network make(const row *r, bool plain) {
    network n = {.graph = test_graph()};
    const int64_t dims[] = {3, 5, 11};
    n.graph->plain = plain;
    n.x = weft_input_shape(n.graph, "x", WEFT_F32, 3, dims);
    n.slope = weft_input_shape(n.graph, "slope", WEFT_F32, 3, dims);
    weft_tensor *const y = r->build(&n);
    weft_tensor *loss = weft_sum(weft_mul(y, n.slope));
    if (n.also) loss = weft_add(loss, weft_sum(weft_square(n.also)));
    n.outputs[0] = y;
    n.outputs[1] = weft_gradient(loss, n.x);
    assert_weft_ok(weft_plan_create(&n.plan, n.outputs, 2, NULL));
    weft_tensor *const inputs[] = {n.x, n.slope};
    for (int i = 0; i < 2; i++) {
        float values[COUNT];
        test_random random = test_random_named("parts", (uint64_t)i);
        for (int k = 0; k < COUNT; k++) values[k] = (float)test_random_between(&random, -2, 2);
        assert_weft_ok(weft_plan_write(n.plan, inputs[i], values, sizeof values));
    }
    assert_weft_ok(weft_plan_run(n.plan));
    return n;
}

/* Does the plan of y, and with `gradients` of its gradient, have the word among the ops of its steps? */
static bool has_word(const network *n, bool gradients, const char *wanted) {
    weft_plan *plan = NULL;
    size_t length = 0;
    assert_weft_ok(weft_plan_create(&plan, n->outputs, gradients ? 2 : 1, NULL));
    assert_weft_ok(weft_plan_describe(plan, WEFT_FORMAT_TEXT, NULL, 0, &length));
    char *const text = malloc(length + 1);
    assert_non_null(text);
    assert_weft_ok(weft_plan_describe(plan, WEFT_FORMAT_TEXT, text, length + 1, NULL));
    bool found = false;
    for (char *word = strtok(text, " +\n"); word; word = strtok(NULL, " +\n"))
        found |= strcmp(word, wanted) == 0;
    free(text);
    weft_plan_release(plan);
    return found;
}

static void compare(const char *name, const network *a, const network *b) {
    for (int output = 0; output < 2; output++) {
        float got[COUNT], wanted[COUNT], most = 1, worst = 0;
        assert_weft_ok(weft_plan_read(a->plan, a->outputs[output], got, sizeof got));
        assert_weft_ok(weft_plan_read(b->plan, b->outputs[output], wanted, sizeof wanted));
        for (int i = 0; i < COUNT; i++) {
            most = fmaxf(most, fabsf(wanted[i]));
            worst = fmaxf(worst, fabsf(got[i] - wanted[i]));
        }
        if (!(worst <= 5e-6f * most))
            fail_msg("%s, output %d: off by %g of at most %g", name, output, (double)worst, (double)most);
    }
}

static void test_rows(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *const r = &rows[i];
        if (test_reduced() && i % 4 != 0) continue;
        network n[] = {make(r, false), make(r, true)};
        const char *const ops[] = {"gelu", "gelu_tanh", "maximum"};
        for (int k = 0; k < 3; k++) {
            const bool is_wanted = r->op && strcmp(r->op, ops[k]) == 0;
            if (has_word(&n[0], n[0].also != NULL, ops[k]) != is_wanted)
                fail_msg("%s: the plan has %s %s", r->name, is_wanted ? "no" : "a", ops[k]);
            assert_false(has_word(&n[1], false, ops[k]));
        }
        if (r->op && r->op[0] == 'm' && !has_word(&n[0], true, "maximum"))
            fail_msg("%s: the gradient passes through the parts", r->name);
        compare(r->name, &n[0], &n[1]);
        for (int k = 0; k < 2; k++) {
            weft_plan_release(n[k].plan);
            weft_graph_release(n[k].graph);
        }
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
    return test_finish(cmocka_run_group_tests_name("parts", tests, NULL, NULL));
}
