/* Slices, padding and joins of the batch axis: values and gradients at several batches from one graph, beside PyTorch's
 * (tests/golden/batch_axis_golden.json), and the lines of what a graph or a plan cannot do. */
#include "support/fixture.h"
#include "support/golden_file.h"
#include <math.h>
#include <string.h>

enum { WIDTH = 3, MOST_BATCH = 33, MOST = MOST_BATCH * WIDTH * 3, CASES = 13, ROWS = 2 };

/* ---- the functions of the golden file ---- */

typedef weft_tensor *function(weft_tensor *x, weft_tensor *memory);

static weft_tensor *rows(weft_tensor *x, int64_t start, int64_t end) {
    return weft_slice(x, 0, start, end);
}
static weft_tensor *lengthened(
    weft_tensor *x, int64_t before, int64_t after, weft_pad_mode mode, double value) {
    return weft_pad(x, (const int64_t[]){before, 0}, (const int64_t[]){after, 0}, mode, value);
}
static weft_tensor *changes(weft_tensor *x, weft_tensor *memory) {
    (void)memory;
    return weft_sub(rows(x, 1, WEFT_END), rows(x, 0, -1));
}
static weft_tensor *second_changes(weft_tensor *x, weft_tensor *memory) {
    weft_tensor *const change = changes(x, memory);
    return weft_mul(rows(change, 1, WEFT_END), rows(change, 0, -1));
}
static weft_tensor *mean_of_changes(weft_tensor *x, weft_tensor *memory) {
    return weft_mean(weft_square(changes(x, memory)), 0);
}
static weft_tensor *from_first(weft_tensor *x, weft_tensor *memory) {
    (void)memory;
    return weft_mul(x, rows(x, 0, 1));
}
static weft_tensor *ends(weft_tensor *x, weft_tensor *memory) {
    (void)memory;
    return weft_mul(rows(x, -2, WEFT_END), rows(x, 0, 2));
}
static weft_tensor *middle(weft_tensor *x, weft_tensor *memory) {
    (void)memory;
    return weft_tanh(rows(x, 2, 6));
}
static weft_tensor *padded(weft_tensor *x, weft_tensor *memory) {
    (void)memory;
    return weft_square(lengthened(x, 2, 1, WEFT_PAD_CONSTANT, 0.5));
}
static weft_tensor *before_each(weft_tensor *x, weft_tensor *memory) {
    (void)memory;
    return weft_mul(lengthened(rows(x, 0, -1), 1, 0, WEFT_PAD_CONSTANT, 0), x);
}
static weft_tensor *edges(weft_tensor *x, weft_tensor *memory) {
    (void)memory;
    return weft_square(lengthened(x, 2, 1, WEFT_PAD_EDGE, 0));
}
static weft_tensor *mirrored(weft_tensor *x, weft_tensor *memory) {
    (void)memory;
    return weft_square(lengthened(x, 2, 1, WEFT_PAD_REFLECT, 0));
}
static weft_tensor *wrapped(weft_tensor *x, weft_tensor *memory) {
    (void)memory;
    return weft_square(lengthened(x, 2, 1, WEFT_PAD_WRAP, 0));
}
static weft_tensor *joined(weft_tensor *x, weft_tensor *memory) {
    return weft_concat((weft_tensor *[]){memory, x, weft_mul_number(memory, 2), x}, 4, 0);
}
static weft_tensor *scores(weft_tensor *x, weft_tensor *memory) {
    weft_tensor *const all = weft_concat((weft_tensor *[]){x, memory}, 2, 0);
    return weft_logsumexp(weft_matmul(rows(x, 1, WEFT_END), weft_transpose(all)), 1);
}

#define FUNCTION(name)                                                                                       \
    { #name, name }
static const struct {
    const char *name;
    function *make;
} functions[CASES] = {FUNCTION(changes), FUNCTION(second_changes), FUNCTION(mean_of_changes),
    FUNCTION(from_first), FUNCTION(ends), FUNCTION(middle), FUNCTION(padded), FUNCTION(before_each),
    FUNCTION(edges), FUNCTION(mirrored), FUNCTION(wrapped), FUNCTION(joined), FUNCTION(scores)};

/* ---- values ---- */

typedef struct built {
    weft_tensor *weights, *results[3]; /* the output, and its gradients by x and the memory */
} built;

typedef struct network {
    weft_graph *graph;
    weft_tensor *x, *memory;
    built of[CASES];
} network;

/* The weights have the shape of the output, whose first dimension stands for a batch and a number. */
static built build(const network *n, function *make) {
    weft_tensor *const y = make(n->x, n->memory), *const wrt[] = {n->x, n->memory};
    int64_t dims[WEFT_MAX_RANK];
    for (int axis = 0; axis < weft_tensor_rank(y); axis++) dims[axis] = weft_tensor_dimension(y, axis);
    built b = {.weights = weft_input_shape(n->graph, "weights", WEFT_F32, weft_tensor_rank(y), dims),
        .results = {y}};
    assert_weft_ok(weft_gradients(weft_sum(weft_mul(y, b.weights)), wrt, 2, &b.results[1]));
    return b;
}

static size_t read_list(const cJSON *list, float *values) {
    size_t count = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, list) {
        assert_true(count < MOST);
        values[count++] = (float)item->valuedouble;
    }
    return count;
}

static void check_list(const char *what, int batch, const cJSON *wanted, weft_plan *plan, weft_tensor *got) {
    float values[MOST], numbers[MOST];
    const size_t count = read_list(wanted, numbers);
    assert_weft_ok(weft_plan_read(plan, got, values, count * sizeof *values));
    for (size_t i = 0; i < count; i++) {
        if (fabsf(values[i] - numbers[i]) <= 2e-6f * (1 + fabsf(numbers[i]) + (float)batch / 8)) continue;
        print_error("%s at batch %d: element %zu is %g, not %g\n", what, batch, i, (double)values[i],
            (double)numbers[i]);
        fail();
    }
}

static const built *built_as(const network *n, const char *name) {
    for (int i = 0; i < CASES; i++)
        if (strcmp(functions[i].name, name) == 0) return &n->of[i];
    fail_msg("no function is named %s", name);
    return NULL;
}

static void check_batch(const network *n, const cJSON *of_batch) {
    const int batch = (int)golden_number(of_batch, "batch", 0);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = batch};
    weft_tensor *outputs[3 * CASES];
    float values[MOST];
    size_t output_count = 0;
    weft_plan *plan = NULL;
    const cJSON *c, *const cases = cJSON_GetObjectItemCaseSensitive(of_batch, "cases");
    cJSON_ArrayForEach(c, cases) {
        const built *const b = built_as(n, cJSON_GetObjectItemCaseSensitive(c, "name")->valuestring);
        for (int i = 0; i < 3; i++) outputs[output_count++] = b->results[i];
    }
    assert_weft_ok(weft_plan_create(&plan, outputs, output_count, &options));
    const size_t count = read_list(cJSON_GetObjectItemCaseSensitive(of_batch, "x"), values);
    assert_weft_ok(weft_plan_write(plan, n->x, values, count * sizeof *values));
    cJSON_ArrayForEach(c, cases) {
        const built *const b = built_as(n, cJSON_GetObjectItemCaseSensitive(c, "name")->valuestring);
        const size_t weights = read_list(cJSON_GetObjectItemCaseSensitive(c, "weights"), values);
        assert_weft_ok(weft_plan_write(plan, b->weights, values, weights * sizeof *values));
    }
    assert_weft_ok(weft_plan_run(plan));
    cJSON_ArrayForEach(c, cases) {
        const char *const name = cJSON_GetObjectItemCaseSensitive(c, "name")->valuestring;
        const built *const b = built_as(n, name);
        const cJSON *const gradients = cJSON_GetObjectItemCaseSensitive(c, "gradients");
        check_list(name, batch, cJSON_GetObjectItemCaseSensitive(c, "output"), plan, b->results[0]);
        for (int i = 0; i < cJSON_GetArraySize(gradients); i++)
            check_list(name, batch, cJSON_GetArrayItem(gradients, i), plan, b->results[1 + i]);
    }
    weft_plan_release(plan);
}

static void values_at_several_batches(void **state) {
    (void)state;
    cJSON *const golden = golden_file("batch_axis_golden.json");
    network n = {.graph = test_graph()};
    float memory[ROWS * WIDTH];
    assert_int_equal(read_list(cJSON_GetObjectItemCaseSensitive(golden, "memory"), memory), ROWS * WIDTH);
    n.x = weft_input(n.graph, "x", WEFT_F32, WIDTH);
    n.memory = weft_parameter(n.graph, "memory", weft_zeros(), ROWS, WIDTH);
    assert_weft_ok(weft_tensor_write(n.memory, memory, sizeof memory));
    for (int i = 0; i < CASES; i++) n.of[i] = build(&n, functions[i].make);
    const cJSON *of_batch;
    cJSON_ArrayForEach(of_batch, cJSON_GetObjectItemCaseSensitive(golden, "batches"))
        check_batch(&n, of_batch);
    weft_graph_release(n.graph);
    cJSON_Delete(golden);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_at_several_batches)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
