/* Every op against what PyTorch computed: values and gradients recorded in tests/golden/op_golden.json, which
 * make_op_golden.py writes. Tolerance: 1e-5 of the array's largest number, as PyTorch's are float32, too. */
#include "support/fixture.h"

#include "ops/op_table.h"
#include "support/dtype_values.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INPUTS = 4, MAX_CASES = 512, MAX_ELEMENTS = 512 };

/* ---- the file ---- */

static cJSON *read_golden(void) {
    FILE *const file = fopen(WEFT_SOURCE_DIR "/tests/golden/op_golden.json", "rb");
    assert_non_null(file);
    enum { CAPACITY = 2000000 };
    char *const text = calloc(CAPACITY, 1);
    assert_non_null(text);
    assert_true(fread(text, 1, CAPACITY, file) < CAPACITY);
    fclose(file);
    cJSON *const root = cJSON_Parse(text);
    free(text);
    assert_non_null(root);
    return root;
}

static const cJSON *member(const cJSON *object, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(object, name);
}
static int number(const cJSON *object, const char *name) {
    return (int)cJSON_GetNumberValue(member(object, name));
}

static float real(const cJSON *object, const char *name) {
    const cJSON *const item = member(object, name);
    return item ? (float)item->valuedouble : 0;
}

/* An array of whole numbers; ended by WEFT_END. Returns its length. */
static int whole_list(const cJSON *array, int64_t list[WEFT_MAX_RANK + 1]) {
    int count = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, array) list[count++] = (int64_t)item->valuedouble;
    list[count] = WEFT_END;
    return count;
}

static weft_dtype dtype_of(const cJSON *array) {
    const char *const name = cJSON_GetStringValue(member(array, "dtype"));
    return strcmp(name, "f32") == 0 ? WEFT_F32 : strcmp(name, "i32") == 0 ? WEFT_I32 : WEFT_BOOL;
}

static size_t data_of(const cJSON *array, double *values) {
    size_t count = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, member(array, "data")) {
        assert_true(count < MAX_ELEMENTS);
        values[count++] = item->valuedouble;
    }
    return count;
}

/* ---- from a case to an expression ---- */

static weft_tensor *build_elementwise(const char *op, weft_tensor *const *x) {
#define CALL_FLOAT1(op)  weft_##op(x[0])
#define CALL_NUMBER1(op) weft_##op(x[0])
#define CALL_FLOAT2(op)  weft_##op(x[0], x[1])
#define CALL_NUMBER2(op) weft_##op(x[0], x[1])
#define CALL_COMPARE(op) weft_##op(x[0], x[1])
#define CALL_CHOOSE(op)  weft_##op(x[0], x[1], x[2])
#define ROW(name, kind, ...)                                                                                 \
    if (strcmp(op, #name) == 0) return CALL_##kind(name);
#include "ops/elementwise_rows.h"
    return NULL;
}

static weft_tensor *build_movement(const char *op, const cJSON *c, weft_tensor *const *x, size_t count) {
    int64_t list[WEFT_MAX_RANK + 1];
    const int length = whole_list(member(c, "list"), list), axis = number(c, "axis");
    int order[WEFT_MAX_RANK];
    for (int i = 0; i < length; i++) order[i] = (int)list[i];
    if (strcmp(op, "reshape") == 0) return weft_reshape_shape(x[0], length, list);
    if (strcmp(op, "permute") == 0) return weft_permute_axes(x[0], length, order);
    if (strcmp(op, "transpose") == 0) return weft_transpose(x[0]);
    if (strcmp(op, "flatten") == 0) return weft_flatten(x[0]);
    if (strcmp(op, "expand") == 0) return weft_expand(x[0], length, list);
    if (strcmp(op, "slice") == 0) return weft_slice(x[0], axis, number(c, "start"), number(c, "end"));
    if (strcmp(op, "concat") == 0) return weft_concat(x, count, axis);
    if (strcmp(op, "cast") == 0) return weft_cast(weft_cast(x[0], WEFT_F16), WEFT_F32);
    return NULL;
}

static weft_tensor *build_index(const char *op, const cJSON *c, weft_tensor *const *x) {
    const int axis = number(c, "axis"), size = number(c, "start");
    if (strcmp(op, "gather") == 0) return weft_gather(x[0], axis, x[1]);
    if (strcmp(op, "index_select") == 0) return weft_index_select(x[0], axis, x[1]);
    if (strcmp(op, "scatter_add") == 0) return weft_scatter_add(x[0], axis, x[1], x[2]);
    if (strcmp(op, "scatter_sum") == 0) return weft_scatter_sum(x[0], axis, x[1], size);
    if (strcmp(op, "index_add") == 0) return weft_index_add(x[0], axis, x[1], x[2]);
    if (strcmp(op, "index_sum") == 0) return weft_index_sum(x[0], axis, x[1], size);
    return NULL;
}

static weft_tensor *build_reduction(const char *op, const cJSON *c, weft_tensor *const *x) {
    int64_t axes[WEFT_MAX_RANK + 1];
    (void)whole_list(member(c, "axes"), axes);
    const bool keep = cJSON_IsTrue(member(c, "keep"));
    const int correction = number(c, "correction"), order = number(c, "order");
    if (strcmp(op, "min") == 0) return weft_min_axes(x[0], axes, keep);
    if (strcmp(op, "argmin") == 0) return weft_argmin_axes(x[0], axes, keep);
    if (strcmp(op, "prod") == 0) return weft_prod_axes(x[0], axes, keep);
    if (strcmp(op, "var") == 0) return weft_var_with(x[0], correction, axes, keep);
    if (strcmp(op, "std") == 0) return weft_std_with(x[0], correction, axes, keep);
    if (strcmp(op, "norm") == 0) return weft_norm_with(x[0], order ? order : (double)INFINITY, axes, keep);
    if (strcmp(op, "logsumexp") == 0) return weft_logsumexp_axes(x[0], axes, keep);
    if (strcmp(op, "any") == 0) return weft_any_axes(x[0], axes, keep);
    if (strcmp(op, "all") == 0) return weft_all_axes(x[0], axes, keep);
    if (strcmp(op, "count_nonzero") == 0) return weft_count_nonzero_axes(x[0], axes, keep);
    return NULL;
}

static weft_tensor *build_other(const char *op, const cJSON *c, weft_tensor *const *x) {
    int64_t axes[WEFT_MAX_RANK + 1];
    (void)whole_list(member(c, "axes"), axes);
    const bool keep = cJSON_IsTrue(member(c, "keep"));
    if (strcmp(op, "sum") == 0) return weft_sum_axes(x[0], axes, keep);
    if (strcmp(op, "mean") == 0) return weft_mean_axes(x[0], axes, keep);
    if (strcmp(op, "max") == 0) return weft_max_axes(x[0], axes, keep);
    if (strcmp(op, "argmax") == 0) return weft_argmax_axes(x[0], axes, keep);
    if (strcmp(op, "matmul") == 0) return weft_matmul(x[0], x[1]);
    if (strcmp(op, "linear_with") == 0) return weft_linear_with(x[0], x[1], x[2]);
    if (strcmp(op, "softmax") == 0) return weft_softmax(x[0], number(c, "axis"));
    if (strcmp(op, "log_softmax") == 0) return weft_log_softmax(x[0], number(c, "axis"));
    return NULL;
}

#define IS(name) strcmp(op, name) == 0

/* A list of numbers as a constant; NULL for an empty or missing one. */
static weft_tensor *constant_list(weft_graph *graph, const cJSON *array) {
    float values[16];
    int64_t count = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, array) values[count++] = (float)item->valuedouble;
    return count ? weft_array(graph, WEFT_F32, values, 1, &count) : NULL;
}

static weft_tensor *build_class_loss(const char *op, const cJSON *c, weft_tensor *const *x) {
    const float n = real(c, "number");
    weft_class_loss_options options = {WEFT_CLASS_LOSS_OPTIONS_INIT};
    options.class_weights = constant_list(weft_tensor_graph(x[0]), member(c, "class_weights"));
    if (member(c, "reduction")) options.reduction = (weft_loss_reduction)number(c, "reduction");
    if (IS("multi_margin")) return weft_multi_margin_loss(x[0], x[1], n, number(c, "p"), &options);
    options.ignore = weft_tensor_dtype(x[1]) == WEFT_I32;
    options.ignored_label = member(c, "ignored") ? number(c, "ignored") : -100;
    if (IS("nll")) return weft_nll_loss(x[0], x[1], &options);
    options.label_smoothing = n;
    return IS("cross_entropy") ? weft_cross_entropy_loss(x[0], x[1], &options) : NULL;
}

static weft_tensor *build_loss(const char *op, const cJSON *c, weft_tensor *const *x) {
    const float n = real(c, "number");
    const bool flag = cJSON_IsTrue(member(c, "flag")), log_input = cJSON_IsTrue(member(c, "log_input"));
    weft_loss_options options = {WEFT_LOSS_OPTIONS_INIT};
    if (member(c, "reduction")) options.reduction = (weft_loss_reduction)number(c, "reduction");
    weft_tensor *const list = constant_list(weft_tensor_graph(x[0]), member(c, "class_weights"));
    if (IS("mse")) return weft_mse_loss(x[0], x[1], &options);
    if (IS("l1")) return weft_l1_loss(x[0], x[1], &options);
    if (IS("huber")) return weft_huber_loss(x[0], x[1], n, &options);
    if (IS("smooth_l1")) return weft_smooth_l1_loss(x[0], x[1], n, &options);
    if (IS("poisson_nll")) return weft_poisson_nll_loss(x[0], x[1], log_input, flag, &options);
    if (IS("gaussian_nll")) return weft_gaussian_nll_loss(x[0], x[1], x[2], flag, &options);
    if (IS("bce")) return weft_bce_loss(x[0], x[1], &options);
    if (IS("bce_with_logits")) return weft_bce_with_logits_loss(x[0], x[1], list, &options);
    if (IS("kl_div")) return weft_kl_div_loss(x[0], x[1], flag, &options);
    if (IS("triplet_margin"))
        return weft_triplet_margin_loss(x[0], x[1], x[2], n, number(c, "p"), flag, &options);
    if (IS("cosine_similarity")) return weft_cosine_similarity(x[0], x[1], number(c, "axis"), 1e-8f);
    return NULL;
}

/* Losses against 1 and -1, which the file has as i32. */
static weft_tensor *build_sign_loss(const char *op, const cJSON *c, weft_tensor *const *x, size_t count) {
    const float n = real(c, "number");
    weft_loss_options options = {WEFT_LOSS_OPTIONS_INIT};
    if (member(c, "reduction")) options.reduction = (weft_loss_reduction)number(c, "reduction");
    weft_tensor *const signs = weft_cast(x[count - 1], WEFT_F32);
    if (IS("hinge")) return weft_hinge_loss(x[0], signs, &options);
    if (IS("soft_margin")) return weft_soft_margin_loss(x[0], signs, &options);
    if (IS("hinge_embedding")) return weft_hinge_embedding_loss(x[0], signs, n, &options);
    if (IS("margin_ranking")) return weft_margin_ranking_loss(x[0], x[1], signs, n, &options);
    if (IS("cosine_embedding")) return weft_cosine_embedding_loss(x[0], x[1], signs, n, &options);
    return NULL;
}

static weft_tensor *build_ctc(const char *op, const cJSON *c, weft_tensor *const *x) {
    if (!IS("ctc")) return NULL;
    const weft_ctc_loss_options options = {WEFT_CTC_LOSS_OPTIONS_INIT,
        .reduction = (weft_loss_reduction)number(c, "reduction"), .blank = number(c, "blank"),
        .zero_infinity = cJSON_IsTrue(member(c, "zero_infinity"))};
    return weft_ctc_loss(weft_log_softmax(x[0], 2), x[1], x[2], x[3], &options);
}

/* ---- all cases in one graph and one plan ---- */

typedef struct golden {
    const char *op;
    const cJSON *json;
    size_t input_count;
    weft_tensor *inputs[MAX_INPUTS], *weights, *output, *gradients[MAX_INPUTS];
} golden;

static weft_tensor *input_like(weft_graph *graph, const char *name, const cJSON *array) {
    int64_t dims[WEFT_MAX_RANK + 1];
    const int rank = whole_list(member(array, "dims"), dims);
    return weft_input_shape(graph, name, dtype_of(array), rank, dims);
}

static golden build_case(weft_graph *graph, const cJSON *c) {
    golden g = {.op = cJSON_GetStringValue(member(c, "op")), .json = c};
    const cJSON *input;
    cJSON_ArrayForEach(input, member(c, "inputs")) g.inputs[g.input_count++] = input_like(graph, g.op, input);
    g.output = build_elementwise(g.op, g.inputs);
    if (!g.output) g.output = build_movement(g.op, c, g.inputs, g.input_count);
    if (!g.output) g.output = build_index(g.op, c, g.inputs);
    if (!g.output) g.output = build_reduction(g.op, c, g.inputs);
    if (!g.output) g.output = build_other(g.op, c, g.inputs);
    if (!g.output) g.output = build_loss(g.op, c, g.inputs);
    if (!g.output) g.output = build_sign_loss(g.op, c, g.inputs, g.input_count);
    if (!g.output) g.output = build_class_loss(g.op, c, g.inputs);
    if (!g.output) g.output = build_ctc(g.op, c, g.inputs);
    if (!g.output) fail_msg("%s: %s", g.op, weft_last_error());
    if (!member(c, "weights")) return g;
    g.weights = input_like(graph, "weights", member(c, "weights"));
    weft_tensor *const loss = weft_sum(weft_mul(g.output, g.weights));
    weft_tensor *wrt[MAX_INPUTS];
    size_t count = 0;
    for (size_t i = 0; i < g.input_count; i++)
        if (weft_tensor_dtype(g.inputs[i]) == WEFT_F32) wrt[count++] = g.inputs[i];
    assert_int_equal(count, cJSON_GetArraySize(member(c, "gradients")));
    assert_weft_ok(weft_gradients(loss, wrt, count, g.gradients));
    return g;
}

static void write_array(weft_plan *plan, weft_tensor *tensor, const cJSON *array) {
    double values[MAX_ELEMENTS];
    float memory[MAX_ELEMENTS]; /* no dtype of the file is larger */
    const size_t count = data_of(array, values);
    test_to_dtype(dtype_of(array), values, count, memory);
    assert_weft_ok(weft_plan_write(plan, tensor, memory, count * weft_dtype_size(dtype_of(array))));
}

static void check_array(weft_plan *plan, const char *what, weft_tensor *tensor, const cJSON *array) {
    double wanted[MAX_ELEMENTS], got[MAX_ELEMENTS], largest = 0;
    float memory[MAX_ELEMENTS];
    int64_t dims[WEFT_MAX_RANK + 1];
    const weft_dtype dtype = weft_tensor_dtype(tensor);
    const size_t count = data_of(array, wanted);
    assert_int_equal(dtype, dtype_of(array));
    assert_int_equal(weft_tensor_rank(tensor), whole_list(member(array, "dims"), dims));
    for (int i = 0; dims[i] != WEFT_END; i++) assert_int_equal(weft_tensor_dimension(tensor, i), dims[i]);
    assert_weft_ok(weft_plan_read(plan, tensor, memory, count * weft_dtype_size(dtype)));
    test_from_dtype(dtype, memory, count, got);
    for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(wanted[i]));
    for (size_t i = 0; i < count; i++)
        if (!(fabs(got[i] - wanted[i]) <= (dtype == WEFT_F32 ? 1e-5 * largest : 0)))
            fail_msg("%s: element %zu is %.9g, PyTorch has %.9g", what, i, got[i], wanted[i]);
}

static void check_case(weft_plan *plan, const golden *g) {
    char what[64];
    check_array(plan, g->op, g->output, member(g->json, "output"));
    const cJSON *const gradients = member(g->json, "gradients");
    for (int i = 0; i < cJSON_GetArraySize(gradients); i++) {
        snprintf(what, sizeof what, "gradient %d of %s", i, g->op);
        check_array(plan, what, g->gradients[i], cJSON_GetArrayItem(gradients, i));
    }
}

static void test_like_pytorch(void **state) {
    (void)state;
    static golden cases[MAX_CASES];
    static weft_tensor *outputs[MAX_CASES * (1 + MAX_INPUTS)];
    size_t count = 0, output_count = 0, seen = 0;
    cJSON *const root = read_golden();
    weft_graph *const graph = test_graph();
    const cJSON *c;
    cJSON_ArrayForEach(c, member(root, "cases")) {
        assert_true(count < MAX_CASES);
        if (test_reduced() && seen++ % 8) continue;
        golden *const g = &cases[count++];
        *g = build_case(graph, c);
        outputs[output_count++] = g->output;
        for (int i = 0; i < MAX_INPUTS; i++)
            if (g->gradients[i]) outputs[output_count++] = g->gradients[i];
    }
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, output_count, NULL));
    for (size_t i = 0; i < count; i++) {
        const cJSON *const inputs = member(cases[i].json, "inputs");
        for (size_t k = 0; k < cases[i].input_count; k++)
            write_array(plan, cases[i].inputs[k], cJSON_GetArrayItem(inputs, (int)k));
        if (cases[i].weights) write_array(plan, cases[i].weights, member(cases[i].json, "weights"));
    }
    assert_weft_ok(weft_plan_run(plan));
    for (size_t i = 0; i < count; i++) check_case(plan, &cases[i]);
    weft_plan_release(plan);
    weft_graph_release(graph);
    cJSON_Delete(root);
}

/* Random numbers are nobody else's; every other op was recorded. */
static void test_every_op_was_recorded(void **state) {
    (void)state;
    static const char *const random[] = {"uniform", "normal", "dropout"};
    cJSON *const root = read_golden();
    for (size_t i = 0; i < wi_op_count; i++) {
        bool found = false;
        for (size_t k = 0; k < 3; k++) found |= strcmp(wi_op_names[i], random[k]) == 0;
        const cJSON *c;
        cJSON_ArrayForEach(c, member(root, "cases")) found |=
            strcmp(wi_op_names[i], cJSON_GetStringValue(member(c, "op"))) == 0;
        if (!found) fail_msg("%s has no case in op_golden.json", wi_op_names[i]);
    }
    cJSON_Delete(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_pytorch),
        cmocka_unit_test(test_every_op_was_recorded),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
