/* Layers of one recurrent step beside torch.nn.LSTMCell, GRUCell and RNNCell, whose numbers PyTorch 2.15 gives here. */
#include "support/fixture.h"
#include <math.h>

enum { N = 2, IN = 3, HIDDEN = 2, MOST = 8 * IN };

/* sin(first + i) / 2, as in the script that recorded the numbers. */
static void fill(float *values, int count, int first) {
    for (int i = 0; i < count; i++) values[i] = (float)(sin(first + i) / 2);
}

static weft_tensor *array(weft_graph *graph, int64_t columns, int first) {
    float values[MOST];
    fill(values, (int)(N * columns), first);
    return weft_array(graph, WEFT_F32, values, 2, (const int64_t[]){N, columns});
}

static weft_tensor *write_parameter(weft_graph *graph, const char *name, int count, int first) {
    float values[MOST];
    weft_tensor *const parameter = weft_graph_find(graph, name);
    assert_non_null(parameter);
    fill(values, count, first);
    assert_weft_ok(weft_tensor_write(parameter, values, (size_t)count * sizeof *values));
    return parameter;
}

typedef struct recorded {
    const char *kind;
    int gates;
    double h[N * HIDDEN], c[N * HIDDEN], h_from_zeros[N * HIDDEN], dx[N * IN], dbias[4 * HIDDEN];
} recorded;

static const recorded cells[] = {
    {"lstm", 4, {0.152084193, 0.124363616, 0.223316555, -0.0167503805},
        {0.31254378, 0.499227293, 0.41761556, -0.0583666946},
        {0.113555509, 0.0614135937, 0.169759573, 0.0447293506},
        {0.0734052912, 0.0535129382, -0.0155789633, 0.309301275, 0.532146405, 0.265738585},
        {0.687215416, 0.504852693, 0.304135646, 0.115753557, 1.46734967, 0.727140858, 0.172722735,
            0.0789133476}},
    {"gru", 3, {0.199961652, 0.419414713, 0.51512943, 0.297236477}, {0},
        {0.287067491, 0.221667275, 0.359652089, 0.219550094},
        {0.0634273584, 0.115083064, 0.0609319313, 0.0618090796, 0.0793166165, 0.023900822},
        {0.0751909812, 0.0268627887, -0.124599174, -0.104846842, 0.440855906, 0.164995211}},
    {"rnn", 1, {-0.530073159, -0.641063596, 0.211006097, -0.883573076}, {0},
        {-0.500450838, -0.575255716, -0.0252153293, -0.802589181},
        {0.0796257512, 0.044481468, -0.0315588717, 0.319019974, 0.329260744, 0.0367807042},
        {1.67449887, 0.808336084}}};

static weft_recurrent step(const recorded *r, weft_tensor *x, weft_tensor *h, weft_tensor *c) {
    const weft_cell_options options = {WEFT_CELL_OPTIONS_INIT, .name = "cell"};
    if (r->gates == 4) return weft_lstm_cell_layer(x, HIDDEN, h, c, &options);
    return r->gates == 3 ? weft_gru_cell_layer(x, HIDDEN, h, &options)
                         : weft_rnn_cell_layer(x, HIDDEN, h, &options);
}

static void check(weft_plan *plan, const char *what, weft_tensor *y, const double *wanted, int count) {
    float got[MOST];
    assert_weft_ok(weft_plan_read(plan, y, got, (size_t)count * sizeof *got));
    for (int i = 0; i < count; i++) {
        if (fabs((double)got[i] - wanted[i]) <= 2e-6) continue;
        print_error("%s[%d] is %.9g, PyTorch's %.9g\n", what, i, (double)got[i], wanted[i]);
        fail();
    }
}

static void check_cell(const recorded *r) {
    weft_graph *const graph = test_graph();
    weft_tensor *const x = array(graph, IN, 5), *const h = array(graph, HIDDEN, 6),
                       *const c = r->gates == 4 ? array(graph, HIDDEN, 7) : NULL;
    weft_scope_begin(graph, "", true); /* both steps are of one cell */
    const weft_recurrent next = step(r, x, h, c), first = step(r, x, NULL, NULL);
    weft_scope_end(graph);
    weft_tensor *loss = weft_sum(next.h);
    if (c) loss = weft_add(loss, weft_mul_number(weft_sum(next.c), 2));
    assert_weft_ok(weft_graph_status(graph));
    assert_int_equal(weft_graph_parameter_count(graph), 4);
    const int line = r->gates * HIDDEN;
    write_parameter(graph, "cell.weight_ih", line * IN, 1);
    write_parameter(graph, "cell.weight_hh", line * HIDDEN, 2);
    write_parameter(graph, "cell.bias_ih", line, 3);
    weft_tensor *const bias = write_parameter(graph, "cell.bias_hh", line, 4);
    weft_tensor *const outputs[] = {
        next.h, first.h, weft_gradient(loss, x), weft_gradient(loss, bias), c ? next.c : next.h};
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 5, NULL));
    assert_weft_ok(weft_plan_run(plan));
    check(plan, "h", next.h, r->h, N * HIDDEN);
    check(plan, "h from zeros", first.h, r->h_from_zeros, N * HIDDEN);
    check(plan, "dx", outputs[2], r->dx, N * IN);
    check(plan, "dbias_hh", outputs[3], r->dbias, line);
    if (c) check(plan, "c", next.c, r->c, N * HIDDEN);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void cells_are_pytorchs(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) check_cell(&cells[i]);
}

static void parameters_are_named_and_begin_as_pytorchs(void **state) {
    (void)state;
    enum { WIDTH = 25 };
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, IN);
    assert_non_null(weft_gru_cell_layer(x, WIDTH, NULL, NULL).h);
    assert_non_null(weft_lstm_cell_layer(x, WIDTH, NULL, NULL, WEFT_WITH(cell, .no_bias = true)).c);
    static const char *const names[] = {"grucell1.weight_ih", "grucell1.weight_hh", "grucell1.bias_ih",
        "grucell1.bias_hh", "lstmcell1.weight_ih", "lstmcell1.weight_hh"};
    assert_int_equal(weft_graph_parameter_count(graph), 6);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(weft_tensor_name(weft_graph_parameter(graph, i)), names[i]);
    static float values[4 * WIDTH * WIDTH];
    float most = 0;
    assert_weft_ok(weft_tensor_read(weft_graph_parameter(graph, 5), values, sizeof values));
    for (int i = 0; i < 4 * WIDTH * WIDTH; i++) most = fmaxf(most, fabsf(values[i]));
    assert_true(most <= 0.2f && most > 0.198f); /* 1 / sqrt(25) */
    weft_graph_release(graph);
}

static void bad_cells_are_refused(void **state) {
    (void)state;
    const struct {
        int64_t hidden;
        weft_cell_options options;
        const char *line;
    } rows[] = {{0, {WEFT_CELL_OPTIONS_INIT}, "weft_gru_cell_layer: hidden is 0, expected 1 to 2^40"},
        {4, {WEFT_CELL_OPTIONS_INIT, .relu = true}, "the option relu is set, but only an RNN has it"}};
    for (size_t i = 0; i < 2; i++) {
        weft_graph *const graph = test_graph();
        weft_tensor *const x = weft_input(graph, "x", WEFT_F32, IN);
        assert_null(weft_gru_cell_layer(x, rows[i].hidden, NULL, &rows[i].options).h);
        assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_graph_status(graph), rows[i].line);
        weft_graph_release(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_pytorchs),
        cmocka_unit_test(parameters_are_named_and_begin_as_pytorchs),
        cmocka_unit_test(bad_cells_are_refused),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
