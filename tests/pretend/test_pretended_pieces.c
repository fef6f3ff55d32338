/* Parameters, states and gradients that are larger than the device's largest buffer are in pieces: what networks learn is what they
 * learn on a device without this limit. */
#include "support/fixture.h"
#include "support/pretended_training.h"
#include "support/scratch.h"
#include <stdio.h>
#include <string.h>

/* ---- networks ---- */

/* One weight has more than 2^20 elements: it is updated where its gradient is computed. */
static weft_tensor *wide_layers(weft_tensor *x, weft_tensor *label) {
    weft_tensor *h = weft_sigmoid(weft_linear(x, 2003));
    h = weft_tanh(weft_linear(h, 530));
    return weft_cross_entropy(weft_linear(h, 10), label);
}

static weft_tensor *wide_layer(weft_tensor *x, weft_tensor *label) {
    return weft_cross_entropy(weft_linear(weft_sigmoid(weft_linear(x, 1300)), 10), label);
}

/* The table is the weight of the last layer, too. */
static weft_tensor *tied_table(weft_tensor *x, weft_tensor *label) {
    weft_graph *const graph = weft_tensor_graph(x);
    weft_tensor *const table = weft_parameter(graph, "table", weft_init_normal(0, 0.1f), 9001, 40);
    weft_tensor *const h = weft_tanh(weft_linear(weft_mean(weft_embedding_with(table, x), 1), 40));
    return weft_cross_entropy(weft_matmul(h, weft_transpose(table)), label);
}

/* Updated by rows. */
static weft_tensor *rows_of_table(weft_tensor *x, weft_tensor *label) {
    weft_graph *const graph = weft_tensor_graph(x);
    weft_tensor *const table = weft_parameter(graph, "table", weft_init_normal(0, 0.1f), 9001, 40);
    weft_tensor *const other = weft_mul_number(x, 900.0);
    weft_tensor *const h = weft_add(weft_embedding_with(table, x), weft_embedding_with(table, other));
    return weft_cross_entropy(weft_linear(weft_mean(h, 1), 10), label);
}

/* A large bias beside each logit, an axis of size 1 before the rows, and elements that an index picks. */
static weft_tensor *picked(weft_tensor *x, weft_tensor *label) {
    weft_graph *const graph = weft_tensor_graph(x);
    weft_tensor *const stack = weft_parameter(graph, "stack", weft_init_normal(0, 0.1f), 1, 300, 1111),
                       *const line = weft_parameter(graph, "line", weft_init_normal(0, 0.1f), 300007);
    weft_tensor *const rows = weft_matmul(x, weft_reshape(stack, 300, 1111));
    weft_tensor *const places = weft_mul_number(label, 29000.0);
    weft_tensor *const scales = weft_unsqueeze(weft_index_select(line, 0, places), 1);
    weft_tensor *const columns = weft_index_select(weft_reshape(stack, 300, 1111), 1, label);
    weft_tensor *const norm =
        weft_add(weft_mean(weft_square(line), 0), weft_mean(weft_square(columns), 0, 1));
    return weft_add(weft_cross_entropy(weft_mul(rows, weft_add_number(scales, 1)), label), norm);
}

static weft_optimizer adam_of_groups(void) {
    static const weft_parameter_group groups[] = {
        {.parameters = "*weight", .rate_factor = 0.5f, .weight_decay = 0.1f}};
    weft_optimizer o = weft_adamw(0.001f, 0.01f);
    o.epsilon = 1e-3f; /* else a gradient that is nearly 0 is rounding alone, and moves as far as any other */
    o.groups = groups;
    o.group_count = 1;
    o.clip_norm = 0.5f;
    o.average_decay = 0.9f;
    o.accumulate = 2;
    return o;
}

static weft_optimizer adam, grouped, lamb, clipped;

#define FLOATS(count)           .dims = {count}, .dtype = WEFT_F32
#define TOKENS(count)           .dims = {count}, .dtype = WEFT_I32
#define NETWORK(title, network) .name = (title), .loss = (network), .tolerance = 2e-5f
/* The pass is the same in both classes; the networks behind `on_processors` have what kernels of class cpu add to it. */
static const trained_network networks[] = {
    {NETWORK("adam with groups", wide_layer), FLOATS(300), .batch = 37, .optimizer = &grouped},
    {NETWORK("lamb", wide_layer), FLOATS(300), .batch = 37, .optimizer = &lamb},
    {.name = "f16",
        .loss = wide_layer,
        .tolerance = 1e-3f,
        FLOATS(300),
        .batch = 37,
        .precision = WEFT_PRECISION_F16},
    {NETWORK("rows of a table", rows_of_table), TOKENS(7), .batch = 19, .optimizer = &clipped,
        .sparse = "table"},
    {NETWORK("with micro-batches", wide_layer), FLOATS(300), .batch = 230},
    {NETWORK("sgd", wide_layers), FLOATS(300), .batch = 37},
    {NETWORK("tied table", tied_table), TOKENS(7), .batch = 19, .optimizer = &adam},
    {NETWORK("picked", picked), FLOATS(300), .batch = 37},
};
static const trained_network *const on_processors = &networks[5];
/* Those whose rows of results, or numbers of each row that the optimizer adds up, exceed 128 KiB. */
static bool has_long_rows(const trained_network *n) {
    return n == &networks[0] || n == &networks[1] || n == &networks[6];
}

static void same_in_pieces(void **state) {
    const trained_network *const n = *state;
    const char *devices[3] = {"tiny"};
    size_t count = 1;
    if (has_long_rows(n)) devices[count++] = "buffers128";
    if (n >= on_processors && !test_reduced()) devices[count++] = "tiny_processor";
    assert_same_training(n, devices, count);
}

/* ---- reading, writing, copies and files ---- */

enum { ROWS = 2003, COLUMNS = 301, NUMBERS = ROWS * COLUMNS };

typedef struct pair {
    weft_context *context;
    weft_graph *graph;
    weft_tensor *parameter, *state;
} pair;

static pair open_pair(const char *device) {
    pair p = {.context = pretended_open(device)};
    p.graph = weft_context_graph(p.context);
    p.parameter = weft_parameter(p.graph, "parameter", weft_init_uniform(-1, 1), ROWS, COLUMNS);
    p.state = weft_state_shape(p.graph, "state", WEFT_F32, weft_zeros(), 2, (const int64_t[]){ROWS, COLUMNS});
    assert_ok(weft_graph_status(p.graph));
    return p;
}

static void assert_reads(weft_tensor *variable, const float *wanted) {
    static float read[NUMBERS];
    memset(read, 0, sizeof read);
    assert_ok(weft_tensor_read(variable, read, sizeof read));
    assert_memory_equal(read, wanted, sizeof read);
}

/* What is drawn, written, copied, kept and saved does not depend on the pieces. */
static void variables_are_whole_to_callers(void **state) {
    static float drawn[NUMBERS], written[NUMBERS];
    const char *const path = scratch_path(*state, "weights.safetensors");
    pair p = open_pair("largest256");
    assert_ok(weft_tensor_read(p.parameter, drawn, sizeof drawn));
    weft_context_release(p.context);
    for (int i = 0; i < NUMBERS; i++) written[i] = (float)i;
    p = open_pair("tiny");
    assert_reads(p.parameter, drawn);
    assert_ok(weft_tensor_copy(p.state, p.parameter));
    assert_reads(p.state, drawn);
    weft_snapshot *snapshot;
    assert_ok(weft_snapshot_create(&snapshot, p.graph));
    assert_ok(weft_snapshot_take(snapshot));
    assert_ok(weft_tensor_write(p.parameter, written, sizeof written));
    assert_reads(p.parameter, written);
    assert_ok(weft_weights_save(p.graph, path));
    assert_ok(weft_snapshot_restore(snapshot));
    assert_reads(p.parameter, drawn);
    weft_snapshot_release(snapshot);
    assert_ok(weft_weights_load(p.graph, path, NULL));
    assert_reads(p.parameter, written);
    assert_int_equal(pretend_layer_record().above, 0);
    weft_context_release(p.context);
    p = open_pair("largest256");
    assert_ok(weft_weights_load(p.graph, path, NULL));
    assert_reads(p.parameter, written);
    assert_reads(p.state, drawn);
    weft_context_release(p.context);
}

/* A gradient, and what is computed of a parameter, as outputs of a plan. */
static void outputs_are_in_pieces(void **state) {
    static float rows[NUMBERS], tripled[NUMBERS], gradient[NUMBERS];
    (void)state;
    pair p = open_pair("tiny");
    weft_tensor *outputs[2] = {weft_mul_number(p.parameter, 3.0)};
    weft_tensor *const loss = weft_sum(weft_square(p.parameter));
    assert_ok(weft_gradients(loss, &p.parameter, 1, &outputs[1]));
    weft_plan *plan = NULL;
    assert_ok(weft_plan_create(&plan, outputs, 2, NULL));
    assert_ok(weft_plan_run(plan));
    assert_ok(weft_plan_read(plan, outputs[0], tripled, sizeof tripled));
    assert_ok(weft_plan_read(plan, outputs[1], gradient, sizeof gradient));
    assert_ok(weft_tensor_read(p.parameter, rows, sizeof rows));
    for (int i = 0; i < NUMBERS; i++) assert_true(tripled[i] == 3 * rows[i] && gradient[i] == 2 * rows[i]);
    assert_int_equal(pretend_layer_record().above, 0);
    weft_plan_release(plan);
    weft_context_release(p.context);
}

int main(int argc, char **argv) {
    enum { NETWORKS = sizeof networks / sizeof *networks };
    struct CMUnitTest tests[NETWORKS + 2] = {
        SCRATCH_TEST(variables_are_whole_to_callers), cmocka_unit_test(outputs_are_in_pieces)};
    size_t count = 2;
    adam = weft_adam(0.01f);
    clipped = weft_adam(0.01f);
    clipped.clip_norm = 0.5f;
    grouped = adam_of_groups();
    lamb = weft_lamb(0.01f, 0.01f);
    if (test_reduced()) printf("class cpu is left out: WEFT_TEST_REDUCED asks for the host's code\n");
    for (const trained_network *n = networks; n < networks + NETWORKS; n++)
        tests[count++] = (struct CMUnitTest){n->name, same_in_pieces, NULL, NULL, (void *)n};
    (void)argc;
    pretended_start(argv);
    return _cmocka_run_group_tests("pieces", tests, count, NULL, NULL);
}
