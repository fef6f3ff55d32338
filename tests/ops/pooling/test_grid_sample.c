/* Images at positions that a tensor gives: values and both gradients against float64, with PyTorch's numbers for the ends of the range,
 * and calls that must fail. */
#include "support/fixture.h"

#include <math.h>
#include <string.h>

enum { CHANNELS = 3, HEIGHT = 5, WIDTH = 7, ROWS = 4, COLUMNS = 3, MOST_BATCH = 3 };
enum { PIXELS = CHANNELS * HEIGHT * WIDTH, PLACES = ROWS * COLUMNS, RESULTS = CHANNELS * PLACES };

/* ---- the formula ---- */

static double pixel(
    const double *image, int channel, double row, double column, const weft_grid_sample_options *o) {
    if (o->border) {
        row = fmin(fmax(row, 0), HEIGHT - 1);
        column = fmin(fmax(column, 0), WIDTH - 1);
    }
    if (row < 0 || row >= HEIGHT || column < 0 || column >= WIDTH) return 0;
    return image[(channel * HEIGHT + (int)row) * WIDTH + (int)column];
}

static double place_of(double at, int size, const weft_grid_sample_options *o) {
    const double place = o->align_corners ? (at + 1) / 2 * (size - 1) : ((at + 1) * size - 1) / 2;
    return o->border ? fmin(fmax(place, 0), size - 1) : place;
}

static double sampled(
    const double *image, int channel, const double at[2], const weft_grid_sample_options *o) {
    const double row = place_of(at[1], HEIGHT, o), column = place_of(at[0], WIDTH, o);
    if (o->nearest) return pixel(image, channel, rint(row), rint(column), o);
    double sum = 0;
    for (int corner = 0; corner < 4; corner++) {
        const double r = floor(row) + corner / 2, c = floor(column) + corner % 2;
        sum += (1 - fabs(row - r)) * (1 - fabs(column - c)) * pixel(image, channel, r, c, o);
    }
    return sum;
}

/* The sum of the results times `weights` of one example; y, unless NULL, becomes the results. */
static double total(const double *image, const double *grid, const double *weights,
    const weft_grid_sample_options *o, double *y) {
    double sum = 0;
    for (int i = 0; i < RESULTS; i++) {
        const double value = sampled(image, i / PLACES, grid + 2 * (i % PLACES), o);
        if (y) y[i] = value;
        sum += value * weights[i];
    }
    return sum;
}

static double slope(double *of, const double *image, const double *grid, const double *weights,
    const weft_grid_sample_options *o) {
    const double step = 1e-5, x = *of;
    *of = x + step;
    const double above = total(image, grid, weights, o, NULL);
    *of = x - step;
    const double below = total(image, grid, weights, o, NULL);
    *of = x;
    return (above - below) / (2 * step);
}

/* ---- values and gradients ---- */

/* Coordinates in -1.4..1.4 that are no kink: the position is not within 0.02 of a whole or a half number of pixels. */
static double coordinate(test_random *random, int size, const weft_grid_sample_options *o) {
    for (;;) {
        const double at = test_random_between(random, -1.4, 1.4);
        const double place = o->align_corners ? (at + 1) / 2 * (size - 1) : ((at + 1) * size - 1) / 2;
        if (fabs(2 * place - rint(2 * place)) > 0.04) return (double)(float)at;
    }
}

static void fill(float *to, double *exact, size_t count, test_random *random) {
    for (size_t i = 0; i < count; i++) exact[i] = (double)(to[i] = (float)test_random_between(random, -2, 2));
}

static void assert_near(const float *got, const double *wanted, size_t count) {
    for (size_t i = 0; i < count; i++) assert_true(fabs((double)got[i] - wanted[i]) <= 2e-5);
}

typedef struct network {
    weft_tensor *x, *grid, *g, *outputs[3]; /* y, the gradients of x and of the grid */
} network;

static void check(const network *n, int batch, const weft_grid_sample_options *o) {
    static float x[MOST_BATCH * PIXELS], grid[MOST_BATCH * PLACES * 2], g[MOST_BATCH * RESULTS];
    static double xs[MOST_BATCH * PIXELS], grids[MOST_BATCH * PLACES * 2], gs[MOST_BATCH * RESULTS];
    static float y[MOST_BATCH * RESULTS], dx[MOST_BATCH * PIXELS], dgrid[MOST_BATCH * PLACES * 2];
    const size_t examples = (size_t)batch;
    test_random random = test_random_named("grid sample", examples);
    fill(x, xs, examples * PIXELS, &random);
    fill(g, gs, examples * RESULTS, &random);
    for (size_t i = 0; i < examples * PLACES * 2; i++)
        grids[i] = (double)(grid[i] = (float)coordinate(&random, i % 2 ? HEIGHT : WIDTH, o));
    weft_plan *plan = NULL;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = batch};
    assert_weft_ok(weft_plan_create(&plan, n->outputs, 3, &options));
    const weft_value values[] = {{n->x, x, examples * PIXELS * sizeof *x},
        {n->grid, grid, examples * PLACES * 2 * sizeof *grid}, {n->g, g, examples * RESULTS * sizeof *g},
        {n->outputs[0], y, examples * RESULTS * sizeof *y},
        {n->outputs[1], dx, examples * PIXELS * sizeof *dx},
        {n->outputs[2], dgrid, examples * PLACES * 2 * sizeof *dgrid}};
    assert_weft_ok(weft_plan_step(plan, values, 6));
    weft_plan_release(plan);
    for (int i = 0; i < batch; i++) {
        double *const image = xs + i * PIXELS, *const at = grids + i * PLACES * 2,
                      *const w = gs + i * RESULTS;
        double wanted[RESULTS], slopes[PIXELS];
        (void)total(image, at, w, o, wanted);
        assert_near(y + i * RESULTS, wanted, RESULTS);
        for (int j = 0; j < PIXELS; j++) slopes[j] = slope(&image[j], image, at, w, o);
        assert_near(dx + i * PIXELS, slopes, PIXELS);
        for (int j = 0; j < PLACES * 2; j++) slopes[j] = slope(&at[j], image, at, w, o);
        assert_near(dgrid + i * PLACES * 2, slopes, PLACES * 2);
    }
}

static void formula(void **state) {
    (void)state;
    for (int mode = 0; mode < 8; mode++) {
        const weft_grid_sample_options o = {WEFT_GRID_SAMPLE_OPTIONS_INIT, .nearest = mode & 1,
            .border = (mode & 2) != 0, .align_corners = (mode & 4) != 0};
        weft_graph *const graph = test_graph();
        network n = {.x = weft_input(graph, "x", WEFT_F32, CHANNELS, HEIGHT, WIDTH),
            .grid = weft_input(graph, "grid", WEFT_F32, ROWS, COLUMNS, 2),
            .g = weft_input(graph, "g", WEFT_F32, CHANNELS, ROWS, COLUMNS)};
        n.outputs[0] = weft_grid_sample(n.x, n.grid, &o);
        weft_tensor *const loss = weft_sum(weft_mul(n.outputs[0], n.g));
        n.outputs[1] = weft_gradient(loss, n.x);
        n.outputs[2] = weft_gradient(loss, n.grid);
        assert_weft_ok(weft_graph_status(graph));
        check(&n, 1, &o);
        if (mode % 3 == 0) check(&n, MOST_BATCH, &o);
        weft_graph_release(graph);
    }
}

/* ---- PyTorch 2.15 ---- */

/* The image 1 2 3 / 4 5 6 at its edges, corners, beyond them, between two pixels and far away. */
static void from_pytorch(void **state) {
    (void)state;
    static const float image[] = {1, 2, 3, 4, 5, 6};
    static const float grid[] = {-1, -1, 1, 1, 0, 0, -1.5f, 0, 0.25f, -0.75f, 1e9f, -1e9f, 1, 0};
    static const float wanted[8][7] = {{0.25f, 1.5f, 3.5f, 0, 1.78125f, 0, 2.25f}, {1, 0, 2, 0, 2, 0, 3},
        {1, 6, 3.5f, 2.5f, 2.375f, 3, 4.5f}, {1, 6, 2, 1, 2, 3, 3}, {1, 6, 3.5f, 1.25f, 2.625f, 0, 4.5f},
        {1, 6, 2, 1, 2, 0, 3}, {1, 6, 3.5f, 2.5f, 2.625f, 3, 4.5f}, {1, 6, 2, 1, 2, 3, 3}};
    for (int mode = 0; mode < 8; mode++) {
        const weft_grid_sample_options o = {WEFT_GRID_SAMPLE_OPTIONS_INIT, .nearest = mode & 1,
            .border = (mode & 2) != 0, .align_corners = (mode & 4) != 0};
        weft_graph *const graph = test_graph();
        weft_tensor *const x = weft_array(graph, WEFT_F32, image, 4, (const int64_t[]){1, 1, 2, 3}),
                           *const at = weft_array(graph, WEFT_F32, grid, 4, (const int64_t[]){1, 1, 7, 2});
        weft_tensor *y = weft_grid_sample(x, at, &o);
        float got[7];
        weft_plan *plan = NULL;
        assert_weft_ok(weft_plan_create(&plan, &y, 1, NULL));
        assert_weft_ok(weft_plan_step(plan, &(const weft_value){y, got, sizeof got}, 1));
        for (int i = 0; i < 7; i++) assert_true(fabsf(got[i] - wanted[mode][i]) <= 1e-6f);
        weft_plan_release(plan);
        weft_graph_release(graph);
    }
}

/* ---- errors ---- */

static void errors(void **state) {
    (void)state;
    weft_graph *graph = test_graph();
    weft_tensor *x = weft_input(graph, "x", WEFT_F32, 3, 5, 7),
                *grid = weft_input(graph, "grid", WEFT_F32, 4, 3);
    assert_null(weft_grid_sample(x, grid, NULL));
    assert_weft_fails(WEFT_ERROR_SHAPE, weft_graph_status(graph), "grid_sample", "(batch, 4, 3)");
    weft_graph_release(graph);
    graph = test_graph();
    x = weft_input(graph, "x", WEFT_F32, 3, 5, WEFT_LENGTH);
    assert_null(weft_grid_sample(x, weft_input(graph, "grid", WEFT_F32, 4, 3, 2), NULL));
    assert_weft_fails(WEFT_ERROR_SHAPE, weft_graph_status(graph), "grid_sample", "length");
    weft_graph_release(graph);
    graph = test_graph();
    x = weft_input(graph, "x", WEFT_F32, 3, 5, 7);
    assert_null(weft_grid_sample(x, weft_input(graph, "grid", WEFT_I32, 4, 3, 2), NULL));
    assert_weft_fails(WEFT_ERROR_DTYPE, weft_graph_status(graph), "grid_sample", "i32");
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formula), cmocka_unit_test(from_pytorch), cmocka_unit_test(errors)};
    return test_finish(cmocka_run_group_tests_name("grid sample", tests, NULL, NULL));
}
