/* L-BFGS follows torch.optim.LBFGS of PyTorch 2.15 (tests/golden/make_lbfgs_golden.py), comes to the minimum, and refuses what
 * it cannot search. Parameters and gradients as one vector. */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/golden_file.h"
#include <math.h>
#include <weft/weft.h>

enum { HIDDEN = 6, POINTS = 16, MOST = 4 * HIDDEN + 1 };

/* ---- the two losses ---- */

static weft_tensor *rosenbrock(weft_graph *graph) {
    weft_tensor *const v = weft_parameter(graph, "v", weft_zeros(), 2);
    weft_tensor *const a = weft_slice(v, 0, 0, 1), *const b = weft_slice(v, 0, 1, 2);
    weft_tensor *const valley = weft_mul_number(weft_square(weft_sub(b, weft_square(a))), 100);
    return weft_sum(weft_add(weft_square(weft_sub(weft_number(a, 1), a)), valley));
}

static weft_tensor *network(weft_graph *graph) {
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 2), *const y =
                                                                    weft_input(graph, "y", WEFT_F32, 1);
    return weft_mse(weft_linear(weft_tanh(weft_linear(x, HIDDEN)), 1), y);
}

static void fill(float x[POINTS][2], float y[POINTS][1]) {
    for (int i = 0; i < POINTS; i++) {
        x[i][0] = (float)(i % 4) / 2 - 0.75f;
        x[i][1] = (float)(i / 4) / 2 - 0.75f;
        y[i][0] = (float)(sin(2 * (double)x[i][0]) * (double)x[i][1]);
    }
}

typedef struct problem {
    weft_graph *graph;
    weft_lbfgs *optimizer;
    bool has_inputs;
    size_t size;
    float x[POINTS][2], y[POINTS][1];
} problem;

static weft_status make_optimizer(problem *p, bool is_network, weft_lbfgs_options options) {
    weft_tensor *const loss = (is_network ? network : rosenbrock)(p->graph);
    p->has_inputs = is_network;
    fill(p->x, p->y);
    if (is_network) options.batch = POINTS;
    assert_ok(weft_vector_size(p->graph, NULL, &p->size));
    return weft_lbfgs_create(&p->optimizer, loss, &options);
}

static weft_status step(problem *p, float *loss) {
    if (!p->has_inputs) return weft_lbfgs_step(p->optimizer, NULL, 0, loss);
    const weft_value values[] = {weft_value_in(weft_graph_find_input(p->graph, "x"), p->x, sizeof p->x),
        weft_value_in(weft_graph_find_input(p->graph, "y"), p->y, sizeof p->y)};
    return weft_lbfgs_step(p->optimizer, values, 2, loss);
}

static void end(problem *p) {
    weft_lbfgs_release(p->optimizer);
    weft_graph_release(p->graph);
}

/* ---- following ---- */

static weft_lbfgs_options read_options(const cJSON *item) {
    const cJSON *const o = cJSON_GetObjectItemCaseSensitive(item, "options");
    const char *const search = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, "line_search_fn"));
    return (weft_lbfgs_options){WEFT_LBFGS_OPTIONS_INIT, .rate = (float)golden_number(o, "lr", 0),
        .max_iterations = (int)golden_number(o, "max_iter", 0),
        .max_evaluations = (int)golden_number(o, "max_eval", 0),
        .history = (int)golden_number(o, "history_size", 0),
        .line_search = strcmp(search, "none") == 0 ? WEFT_LINE_SEARCH_NONE : WEFT_LINE_SEARCH_STRONG_WOLFE};
}

static void read_vector(const cJSON *values, float *to, size_t size) {
    assert_int_equal(cJSON_GetArraySize(values), size);
    for (size_t i = 0; i < size; i++) to[i] = (float)cJSON_GetArrayItem(values, (int)i)->valuedouble;
}

static void compare(problem *p, int number, int at, const cJSON *point, float loss) {
    float wanted[MOST], got[MOST];
    const double wanted_loss = golden_number(point, "loss", -1);
    read_vector(cJSON_GetObjectItemCaseSensitive(point, "vector"), wanted, p->size);
    assert_ok(weft_vector_read(p->graph, NULL, got, p->size));
    if (!(fabs((double)loss - wanted_loss) <= 1e-3 * wanted_loss + 1e-6))
        fail_msg("case %d, step %d: loss %.9g, not %.9g", number, at, (double)loss, wanted_loss);
    for (size_t i = 0; i < p->size; i++)
        if (!(fabsf(got[i] - wanted[i]) <= 2e-3f * fmaxf(1, fabsf(wanted[i]))))
            fail_msg("case %d, step %d, element %zu: %.9g, not %.9g", number, at, i, (double)got[i],
                (double)wanted[i]);
}

static void follow(const cJSON *item, int number) {
    problem p = {0};
    float start[MOST], loss;
    weft_lbfgs_info info;
    const cJSON *const path = cJSON_GetObjectItemCaseSensitive(item, "path");
    const char *const name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "name"));
    assert_ok(weft_graph_create(&p.graph, test_context()));
    assert_ok(make_optimizer(&p, strcmp(name, "network") == 0, read_options(item)));
    read_vector(cJSON_GetObjectItemCaseSensitive(item, "start"), start, p.size);
    assert_ok(weft_vector_write(p.graph, NULL, start, p.size));
    for (int i = 0; i < cJSON_GetArraySize(path); i++) {
        assert_ok(step(&p, &loss));
        compare(&p, number, i, cJSON_GetArrayItem(path, i), loss);
    }
    weft_lbfgs_get_info(p.optimizer, &info);
    print_message("case %d: %zu iterations, %zu evaluations\n", number, info.iterations, info.evaluations);
    assert_int_equal(info.iterations, (size_t)golden_number(item, "iterations", 0));
    assert_int_equal(info.evaluations, (size_t)golden_number(item, "evaluations", 0));
    end(&p);
}

static void paths_are_those_of_pytorch(void **state) {
    (void)state;
    cJSON *const golden = golden_file("lbfgs_golden.json");
    assert_true(cJSON_GetArraySize(golden) > 0);
    for (int i = 0; i < cJSON_GetArraySize(golden); i++) follow(cJSON_GetArrayItem(golden, i), i);
    cJSON_Delete(golden);
}

static void it_comes_to_the_minimum(void **state) {
    (void)state;
    problem p = {0};
    float v[2] = {-1.2f, 1}, loss = 0;
    weft_lbfgs_info info;
    assert_ok(weft_graph_create(&p.graph, test_context()));
    assert_ok(
        make_optimizer(&p, false, (weft_lbfgs_options){WEFT_LBFGS_OPTIONS_INIT, .max_iterations = 200}));
    assert_ok(weft_vector_write(p.graph, "v", v, 2));
    assert_ok(step(&p, &loss));
    assert_true(fabsf(loss - 24.2f) < 1e-4f);
    assert_ok(weft_vector_read(p.graph, "v", v, 2));
    weft_lbfgs_get_info(p.optimizer, &info);
    if (!(fabsf(v[0] - 1) < 1e-3f && fabsf(v[1] - 1) < 2e-3f && info.loss < 1e-6))
        fail_msg("(%g, %g), loss %g", (double)v[0], (double)v[1], info.loss);
    end(&p);
}

static void bf16_learns_too(void **state) {
    (void)state;
    problem p = {0};
    float first = 0, last = 0;
    assert_ok(weft_graph_create(&p.graph, test_context()));
    assert_ok(weft_graph_set_precision(p.graph, WEFT_PRECISION_BF16));
    assert_ok(make_optimizer(&p, true, (weft_lbfgs_options){WEFT_LBFGS_OPTIONS_INIT}));
    assert_ok(step(&p, &first));
    for (int i = 0; i < 5; i++) assert_ok(step(&p, &last));
    if (!(last < 0.3f * first)) fail_msg("loss %g after %g", (double)last, (double)first);
    end(&p);
}

/* ---- vectors ---- */

static void vectors_leave_out_what_is_frozen(void **state) {
    (void)state;
    weft_graph *graph = NULL;
    weft_plan *plan = NULL;
    float data[7] = {1, 2, 3, 4, 5, 6, 7}, got[7] = {0}, small[2];
    size_t size = 0;
    assert_ok(weft_graph_create(&graph, test_context()));
    weft_tensor *const a = weft_parameter(graph, "a", weft_zeros(), 2, 2);
    weft_tensor *const b = weft_parameter(graph, "b", weft_fill(9), 17), *const c = weft_parameter(
                                                                             graph, "c", weft_zeros(), 3);
    assert_ok(weft_freeze(graph, "b", true));
    assert_ok(weft_vector_size(graph, NULL, &size));
    assert_int_equal(size, 7);
    assert_ok(weft_vector_write(graph, NULL, data, 7));
    assert_ok(weft_tensor_read(c, got, 3 * sizeof *got));
    assert_true(got[0] == 5 && got[1] == 6 && got[2] == 7);
    assert_ok(weft_vector_read(graph, "a", got, 4));
    assert_true(got[0] == 1 && got[3] == 4);
    weft_tensor *const loss = weft_add(weft_sum(weft_square(a)), weft_sum(b));
    weft_tensor *const gradient = weft_gradient_vector(loss, NULL);
    assert_int_equal(weft_tensor_dimension(gradient, 0), 7);
    assert_ok(weft_plan_create(&plan, &gradient, 1, NULL));
    assert_ok(weft_plan_run(plan));
    assert_ok(weft_plan_read(plan, gradient, got, sizeof got));
    for (int i = 0; i < 7; i++) assert_true(got[i] == (i < 4 ? 2 * data[i] : 0));
    assert_fails(weft_vector_read(graph, NULL, small, 2), WEFT_ERROR_ARGUMENT, "7 elements, and 2");
    assert_fails(weft_vector_write(graph, NULL, NULL, 7), WEFT_ERROR_ARGUMENT, "data is NULL");
    assert_fails(weft_vector_size(graph, "d*", &size), WEFT_ERROR_STATE,
        "no trainable parameter with a name like 'd*'");
    assert_fails(weft_vector_size(graph, NULL, NULL), WEFT_ERROR_ARGUMENT, "size is NULL");
    (void)weft_parameter_dtype(graph, "half", WEFT_F16, weft_zeros(), 1, (const int64_t[]){2});
    assert_fails(weft_vector_size(graph, NULL, &size), WEFT_ERROR_DTYPE, "'half' is f16");
    assert_null(weft_gradient_vector(loss, NULL));
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- refusals ---- */

static void what_is_no_search_is_refused(void **state) {
    (void)state;
    problem p = {0};
    const weft_lbfgs_options bad[] = {{WEFT_LBFGS_OPTIONS_INIT, .rate = -1},
        {WEFT_LBFGS_OPTIONS_INIT, .max_iterations = -1}, {WEFT_LBFGS_OPTIONS_INIT, .history = -1},
        {WEFT_LBFGS_OPTIONS_INIT, .tolerance_grad = (double)NAN},
        {WEFT_LBFGS_OPTIONS_INIT, .line_search = (weft_line_search)7}};
    float v[2] = {NAN, 0};
    assert_ok(weft_graph_create(&p.graph, test_context()));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        weft_lbfgs *none = NULL;
        weft_tensor *const loss = weft_sum(weft_parameter(p.graph, "w", weft_zeros(), 1));
        assert_fails(weft_lbfgs_create(&none, loss, &bad[i]), WEFT_ERROR_ARGUMENT, "expected a rate above 0");
        assert_null(none);
        weft_graph_release(p.graph);
        assert_ok(weft_graph_create(&p.graph, test_context()));
    }
    weft_lbfgs *none = NULL;
    weft_tensor *const wide = weft_cast(weft_sum(weft_parameter(p.graph, "w", weft_zeros(), 1)), WEFT_BF16);
    assert_fails(weft_lbfgs_create(&none, wide, NULL), WEFT_ERROR_DTYPE, "the loss is bf16, expected f32");
    assert_null(none);
    weft_graph_release(p.graph);
    assert_ok(weft_graph_create(&p.graph, test_context()));
    assert_ok(make_optimizer(&p, false, (weft_lbfgs_options){WEFT_LBFGS_OPTIONS_INIT}));
    const weft_value no_input = {weft_graph_find(p.graph, "v"), v, sizeof v};
    assert_fails(weft_lbfgs_step(p.optimizer, &no_input, 1, NULL), WEFT_ERROR_ARGUMENT,
        "value 0 is not for an input tensor");
    assert_ok(weft_vector_write(p.graph, NULL, v, 2));
    assert_fails(weft_lbfgs_step(p.optimizer, NULL, 0, NULL), WEFT_ERROR_NOT_FINITE, "before the step");
    assert_fails(weft_lbfgs_step(NULL, NULL, 0, NULL), WEFT_ERROR_ARGUMENT, "optimizer is NULL");
    end(&p);
    p = (problem){0};
    assert_ok(weft_graph_create(&p.graph, test_context()));
    assert_ok(weft_graph_set_precision(p.graph, WEFT_PRECISION_F16));
    assert_status(
        make_optimizer(&p, false, (weft_lbfgs_options){WEFT_LBFGS_OPTIONS_INIT}), WEFT_ERROR_UNSUPPORTED);
    end(&p);
}

/* (a - 1)² + 10 (b + 2)² */
static weft_tensor *valley(weft_graph *graph) {
    const float factors[] = {1, 10}, places[] = {1, -2};
    weft_tensor *const v = weft_parameter(graph, "v", weft_zeros(), 2);
    weft_tensor *const away = weft_sub(v, weft_array(graph, WEFT_F32, places, WEFT_SHAPE(2)));
    return weft_sum(weft_mul(weft_square(away), weft_array(graph, WEFT_F32, factors, WEFT_SHAPE(2))));
}

/* A step has one iteration at least, however few evaluations it may make. Recorded from PyTorch 2.15 with lr=0.5. */
static void the_shortest_step_moves(void **state) {
    (void)state;
    static const float wanted[][2] = {{0.0238095243f, -0.476190478f}, {0.107117325f, -1.24011922f},
        {0.189745396f, -1.62402701f}, {0.268898278f, -1.81902945f}};
    const weft_lbfgs_options ways[] = {{WEFT_LBFGS_OPTIONS_INIT, .max_iterations = 1},
        {WEFT_LBFGS_OPTIONS_INIT, .max_iterations = 5, .max_evaluations = 1}};
    for (size_t way = 0; way < 2; way++) {
        weft_graph *const graph = test_graph();
        weft_lbfgs_options options = ways[way];
        weft_lbfgs *search = NULL;
        options.rate = 0.5f, options.line_search = WEFT_LINE_SEARCH_NONE;
        assert_ok(weft_lbfgs_create(&search, valley(graph), &options));
        for (size_t i = 0; i < 4; i++) {
            float v[2];
            assert_ok(weft_lbfgs_step(search, NULL, 0, NULL));
            assert_ok(weft_vector_read(graph, NULL, v, 2));
            for (int k = 0; k < 2; k++) assert_float_equal(v[k], wanted[i][k], 1e-6);
        }
        weft_lbfgs_release(search);
        weft_graph_release(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shortest_step_moves),
        cmocka_unit_test(paths_are_those_of_pytorch),
        cmocka_unit_test(it_comes_to_the_minimum),
        cmocka_unit_test(bf16_learns_too),
        cmocka_unit_test(vectors_leave_out_what_is_frozen),
        cmocka_unit_test(what_is_no_search_is_refused),
    };
    return test_finish(cmocka_run_group_tests_name("l-bfgs", tests, NULL, NULL));
}
