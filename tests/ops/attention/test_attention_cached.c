/* Attention with caches beside causal attention over the whole text: prompts and single tokens, positions as data. */
#include "support/fixture.h"

#include <math.h>
#include <string.h>

enum { HEADS = 3, CAPACITY = 24, TEXT = 20, WIDTH = 16, PROMPT = 7, CELLS = HEADS * TEXT * WIDTH };

typedef struct whole {
    float q[HEADS][TEXT][WIDTH], k[HEADS][TEXT][WIDTH], v[HEADS][TEXT][WIDTH], y[HEADS][TEXT][WIDTH];
} whole;

/* The text at once. */
static void compute_whole(whole *w) {
    test_random random = test_random_named("attention_cached", 1);
    weft_graph *const graph = test_graph();
    const int64_t dims[] = {HEADS, TEXT, WIDTH};
    weft_tensor *in[3];
    weft_plan *plan = NULL;
    float *const data[] = {&w->q[0][0][0], &w->k[0][0][0], &w->v[0][0][0]};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < CELLS; j++) data[i][j] = (float)test_random_between(&random, -2, 2);
        in[i] = weft_input_shape(graph, (const char *[]){"q", "k", "v"}[i], WEFT_F32, 3, dims);
    }
    weft_tensor *const y = weft_attention(
        in[0], in[1], in[2], &(weft_attention_options){WEFT_ATTENTION_OPTIONS_INIT, .causal = true});
    assert_weft_ok(weft_plan_create(&plan, &y, 1, NULL));
    for (int i = 0; i < 3; i++) assert_weft_ok(weft_plan_write(plan, in[i], data[i], sizeof w->q));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, y, w->y, sizeof w->y));
    weft_plan_release(plan);
    weft_graph_release(graph);
}

typedef struct decoder {
    weft_tensor *q, *k, *v, *position, *y, *update;
    weft_plan *plan;
    int length;
} decoder;

typedef struct cached {
    weft_graph *graph;
    weft_tensor *keys, *values;
} cached;

static cached make_caches(void) {
    const int64_t dims[] = {HEADS, CAPACITY, WIDTH};
    cached c = {.graph = test_graph()};
    c.keys = weft_state_shape(c.graph, "keys", WEFT_F32, weft_fill(3), 3, dims);
    c.values = weft_state_shape(c.graph, "values", WEFT_F32, weft_fill(-5), 3, dims);
    return c;
}

static decoder make_decoder(const cached *c, int length) {
    const int64_t dims[] = {HEADS, length, WIDTH};
    decoder d = {.length = length};
    d.q = weft_input_shape(c->graph, "q", WEFT_F32, 3, dims);
    d.k = weft_input_shape(c->graph, "k", WEFT_F32, 3, dims);
    d.v = weft_input_shape(c->graph, "v", WEFT_F32, 3, dims);
    d.position = weft_input_shape(c->graph, "position", WEFT_I32, 0, NULL);
    d.y = weft_attention_cached(d.q, d.k, d.v, c->keys, c->values, d.position, &d.update);
    assert_weft_ok(weft_graph_status(c->graph));
    assert_weft_ok(weft_plan_create(&d.plan, (weft_tensor *[]){d.y, d.update}, 2, NULL));
    return d;
}

static void write_part(
    const decoder *d, weft_tensor *input, const float from[HEADS][TEXT][WIDTH], int position) {
    static float part[CELLS];
    for (int h = 0; h < HEADS; h++)
        memcpy(part + h * d->length * WIDTH, from[h][position], (size_t)d->length * WIDTH * sizeof *part);
    assert_weft_ok(weft_plan_write(d->plan, input, part, (size_t)(HEADS * d->length * WIDTH) * sizeof *part));
}

static void decode(const decoder *d, const whole *w, int position) {
    static float y[CELLS];
    const int32_t at = position;
    write_part(d, d->q, w->q, position);
    write_part(d, d->k, w->k, position);
    write_part(d, d->v, w->v, position);
    assert_weft_ok(weft_plan_write(d->plan, d->position, &at, sizeof at));
    assert_weft_ok(weft_plan_run(d->plan));
    assert_weft_ok(weft_plan_read(d->plan, d->y, y, (size_t)(HEADS * d->length * WIDTH) * sizeof *y));
    for (int h = 0; h < HEADS; h++)
        for (int i = 0; i < d->length * WIDTH; i++) {
            const float got = y[h * d->length * WIDTH + i], wanted = (&w->y[h][position][0])[i];
            if (!(fabsf(got - wanted) <= 2e-6f * (1 + fabsf(wanted))))
                fail_msg("head %d, position %d + %d: %g, not %g", h, position, i / WIDTH, (double)got,
                    (double)wanted);
        }
}

/* A prompt at once, then token by token: what the whole text gives. The caches begin with numbers that nobody reads. */
static void a_text_is_decoded_with_two_plans(void **state) {
    (void)state;
    static whole w;
    compute_whole(&w);
    const cached c = make_caches();
    const decoder prompt = make_decoder(&c, PROMPT), token = make_decoder(&c, 1);
    weft_plan_info info;
    assert_weft_ok(weft_plan_get_info(token.plan, &info));
    assert_true(info.arena_bytes < HEADS * CAPACITY * WIDTH * sizeof(float)); /* no second cache */
    char text[16384]; /* rows are put into the caches in place: no launch copies a cache */
    assert_weft_ok(weft_plan_describe(token.plan, WEFT_FORMAT_TEXT, text, sizeof text, NULL));
    assert_non_null(strstr(text, "index_copy"));
    assert_int_equal(info.launches, info.steps);
    for (int again = 0; again < 2; again++) { /* the second text finds the first one's rows */
        decode(&prompt, &w, 0);
        for (int position = PROMPT; position < TEXT; position++) decode(&token, &w, position);
    }
    weft_plan_release(prompt.plan);
    weft_plan_release(token.plan);
    weft_graph_release(c.graph);
}

static void positions_beyond_the_capacity_are_an_error(void **state) {
    (void)state;
    static float row[HEADS * WIDTH];
    const cached c = make_caches();
    const decoder d = make_decoder(&c, 1);
    const int32_t positions[] = {CAPACITY, -1};
    weft_tensor *const inputs[] = {d.q, d.k, d.v};
    for (int i = 0; i < 3; i++) assert_weft_ok(weft_plan_write(d.plan, inputs[i], row, sizeof row));
    for (int i = 0; i < 2; i++) {
        assert_weft_ok(weft_plan_write(d.plan, d.position, &positions[i], sizeof *positions));
        assert_weft_ok(weft_plan_run(d.plan));
        assert_weft_fails(
            WEFT_ERROR_ARGUMENT, weft_plan_wait(d.plan), "attention_cached: a position is ", "not in 0..23");
    }
    weft_plan_release(d.plan);
    weft_graph_release(c.graph);
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    for (int bad = 0; bad < 4; bad++) {
        const cached c = make_caches();
        weft_tensor *update;
        weft_tensor *const q = weft_input_shape(
                               c.graph, "q", WEFT_F32, 3, (const int64_t[]){HEADS, 1, WIDTH}),
                           *const wide =
                               weft_input_shape(c.graph, "w", WEFT_F32, 3, (const int64_t[]){HEADS, 1, 17}),
                           *const at = weft_input_shape(c.graph, "p", WEFT_I32, 0, NULL);
        static const char *const lines[] = {
            "cache of keys", "position is i32 (1)", "cache of values", "update is NULL"};
        weft_tensor *y = NULL;
        if (bad == 0) y = weft_attention_cached(q, wide, q, c.keys, c.values, at, &update);
        if (bad == 1) y = weft_attention_cached(q, q, q, c.keys, c.values, weft_reshape(at, 1), &update);
        if (bad == 2) y = weft_attention_cached(q, q, q, c.keys, weft_neg(c.values), at, &update);
        if (bad == 3) y = weft_attention_cached(q, q, q, c.keys, c.values, at, NULL);
        assert_null(y);
        assert_weft_fails(
            bad == 3 ? WEFT_ERROR_ARGUMENT : WEFT_ERROR_SHAPE, weft_graph_status(c.graph), lines[bad]);
        weft_graph_release(c.graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_text_is_decoded_with_two_plans),
        cmocka_unit_test(positions_beyond_the_capacity_are_an_error),
        cmocka_unit_test(what_does_not_fit_is_refused)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
