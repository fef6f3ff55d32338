/* Classes drawn from logits: how often each comes beside the exact probabilities, which come never, and what is refused. */
/* test slow gpu:optimised */
#include "cl/context.h"
#include "support/fixture.h"

#include <math.h>
#include <string.h>

enum { ROWS = 20000, CLASSES = 6 };

static const float logits_of_a_row[CLASSES] = {1.0f, 3.0f, -INFINITY, 2.0f, 0.0f, 2.5f};

typedef struct choice {
    const char *name;
    double temperature, top_p;
    int64_t top_k;
    bool kept[CLASSES];
    double min_p;
    bool in_f64; /* also drawn from f64: one of each way to leave classes out */
} choice;

/* softmax of the logits over 1: 0.0703, 0.5198, 0, 0.1912, 0.0259, 0.3152 without the rest; in order 1, 5, 3, 0, 4, 2. */
static const choice choices[] = {
    {"all", 1, 1, 0, {1, 1, 0, 1, 1, 1}, 0, true},
    {"hot", 4, 1, 0, {1, 1, 0, 1, 1, 1}, 0, false},
    {"cold", 0.25, 1, CLASSES, {1, 1, 0, 1, 1, 1}, 0, false},
    {"the first three", 1, 1, 3, {0, 1, 0, 1, 0, 1}, 0, true},
    {"one", 1, 1, 1, {0, 1, 0, 0, 0, 0}, 0, false},
    {"top-p of two", 1, 0.6, 0, {0, 1, 0, 0, 0, 1}, 0, true},
    {"top-p of all but one", 1, 0.97, 0, {1, 1, 0, 1, 0, 1}, 0, false},
    {"a tiny top-p", 1, 1e-6, 0, {0, 1, 0, 0, 0, 0}, 0, false},
    {"top-p within top-k", 1, 0.7, 3, {0, 1, 0, 0, 0, 1}, 0, true},
    {"min-p", 1, 1, 0, {0, 1, 0, 1, 0, 1}, 0.2, true},
    {"a tiny min-p", 1, 1, 0, {1, 1, 0, 1, 1, 1}, 1e-6, false},
    {"min-p of the hot", 4, 1, 0, {1, 1, 0, 1, 0, 1}, 0.55, false},
    {"min-p within top-k", 1, 1, 4, {0, 1, 0, 0, 0, 1}, 0.5, false},
    {"top-p within min-p", 1, 0.6, 0, {0, 1, 0, 0, 0, 1}, 0.2, false},
    {"min-p within top-p", 1, 0.97, 0, {0, 1, 0, 0, 0, 1}, 0.5, false},
    {"almost frozen", 1e-40, 1, 0, {0, 1, 0, 0, 0, 0}, 0, true},
};
enum { CHOICES = sizeof choices / sizeof *choices };

static void wanted_probabilities(const choice *c, double p[CLASSES]) {
    double sum = 0;
    for (int i = 0; i < CLASSES; i++) {
        p[i] = c->kept[i] ? exp((double)(logits_of_a_row[i] - logits_of_a_row[1]) / c->temperature) : 0;
        sum += p[i];
    }
    for (int i = 0; i < CLASSES; i++) p[i] /= sum;
}

/* Five standard deviations. */
static void assert_drawn(const choice *c, const int32_t *got) {
    double p[CLASSES];
    int counts[CLASSES] = {0};
    wanted_probabilities(c, p);
    for (int i = 0; i < ROWS; i++) {
        if (got[i] < 0 || got[i] >= CLASSES) fail_msg("%s: class %d", c->name, (int)got[i]);
        counts[got[i]]++;
    }
    for (int i = 0; i < CLASSES; i++) {
        const double room = 5 * sqrt(p[i] * (1 - p[i]) * ROWS);
        if (!(fabs(counts[i] - p[i] * ROWS) <= room) || (!c->kept[i] && counts[i] > 0))
            fail_msg("%s: class %d came %d times, expected %g within %g", c->name, i, counts[i], p[i] * ROWS,
                room);
    }
}

static weft_tensor *draw(weft_tensor *x, const choice *c) {
    if (!(c->min_p > 0)) return weft_categorical(x, c->temperature, c->top_k, c->top_p);
    return weft_categorical_with(
        x, &(weft_categorical_options){WEFT_CATEGORICAL_OPTIONS_INIT, .temperature = (float)c->temperature,
               .top_k = c->top_k, .top_p = (float)c->top_p, .min_p = (float)c->min_p});
}

static void classes_come_as_often_as_they_should(void **state) {
    (void)state;
    static float logits[ROWS][CLASSES];
    static int32_t got[2][ROWS];
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "logits", WEFT_F32, CLASSES);
    weft_tensor *drawn[CHOICES];
    weft_plan *plan = NULL;
    for (int i = 0; i < ROWS; i++) memcpy(logits[i], logits_of_a_row, sizeof logits_of_a_row);
    for (int i = 0; i < CHOICES; i++) drawn[i] = draw(x, &choices[i]);
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = ROWS, .inference = true};
    assert_weft_ok(weft_plan_create(&plan, drawn, CHOICES, &options));
    assert_weft_ok(weft_plan_write(plan, x, logits, sizeof logits));
    for (int run = 0; run < 2; run++) {
        assert_weft_ok(weft_plan_run(plan));
        for (int i = 0; i < CHOICES; i++) {
            assert_weft_ok(weft_plan_read(plan, drawn[i], got[0], sizeof got[0]));
            assert_drawn(&choices[i], got[0]);
        }
        assert_weft_ok(weft_plan_read(plan, drawn[0], got[run], sizeof got[run]));
    }
    assert_true(memcmp(got[0], got[1], sizeof got[0]) != 0); /* each run draws anew */
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* f64 logits that f32 would round to one number: their differences count. */
static void logits_may_be_f64(void **state) {
    (void)state;
    static double logits[ROWS][CLASSES];
    static int32_t got[ROWS];
    if (!wi_context_device(test_context())->caps.fp64) {
        print_message("SKIPPED: the device has no f64\n");
        return;
    }
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < CLASSES; k++) logits[i][k] = (double)logits_of_a_row[k] * 64 + 0x1p40;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "logits", WEFT_F64, CLASSES);
    weft_tensor *drawn[CHOICES];
    size_t count = 0;
    for (int i = 0; i < CHOICES; i++) {
        choice c = choices[i];
        c.temperature *= 64;
        if (c.in_f64) drawn[count++] = draw(x, &c);
    }
    weft_plan *plan = NULL;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = ROWS, .inference = true};
    assert_weft_ok(weft_plan_create(&plan, drawn, count, &options));
    assert_weft_ok(weft_plan_write(plan, x, logits, sizeof logits));
    assert_weft_ok(weft_plan_run(plan));
    count = 0;
    for (int i = 0; i < CHOICES; i++) {
        if (!choices[i].in_f64) continue;
        assert_weft_ok(weft_plan_read(plan, drawn[count++], got, sizeof got));
        assert_drawn(&choices[i], got);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* Many classes of which all but a few are impossible, and rows that no class can be drawn from. */
static void what_is_impossible_never_comes(void **state) {
    (void)state;
    enum { MANY = 1000, FEW = 64 };
    static float logits[FEW][MANY];
    int32_t got[4][FEW];
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "logits", WEFT_F32, MANY);
    const weft_categorical_options near = {WEFT_CATEGORICAL_OPTIONS_INIT, .min_p = 0.5f};
    weft_tensor *const drawn[] = {weft_categorical(x, 1, 0, 1), weft_categorical(x, 1, 50, 0.9),
        weft_categorical(x, 0, 0, 1), weft_categorical_with(x, &near)};
    weft_plan *plan = NULL;
    for (int i = 0; i < FEW; i++)
        for (int k = 0; k < MANY; k++) logits[i][k] = k % 100 == 99 ? -90.0f : -INFINITY;
    for (int k = 0; k < MANY; k++) logits[1][k] = -INFINITY;
    logits[2][5] = NAN;
    logits[3][5] = INFINITY;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = FEW, .inference = true};
    assert_weft_ok(weft_plan_create(&plan, drawn, 4, &options));
    assert_weft_ok(weft_plan_write(plan, x, logits, sizeof logits));
    for (int run = 0; run < 30; run++) {
        assert_weft_ok(weft_plan_run(plan));
        for (int d = 0; d < 4; d++) assert_weft_ok(weft_plan_read(plan, drawn[d], got[d], sizeof got[d]));
        for (int i = 4; i < FEW; i++)
            assert_true(got[0][i] % 100 == 99 && got[1][i] % 100 == 99 && got[3][i] % 100 == 99);
        for (int i = 1; i < 4; i++) assert_true(got[0][i] == -1 && got[1][i] == -1 && got[3][i] == -1);
        assert_true(got[2][0] == 99 && got[2][4] == 99);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

#define assert_refused(status, expression, ...)                                                              \
    do {                                                                                                     \
        weft_graph *const graph = test_graph();                                                              \
        weft_tensor *const x = weft_input(graph, "x", WEFT_F32, CLASSES);                                    \
        (void)x;                                                                                             \
        assert_null(expression);                                                                             \
        assert_weft_fails(status, weft_graph_status(graph), __VA_ARGS__);                                    \
        weft_graph_release(graph);                                                                           \
    } while (0)

static void what_leaves_no_class_is_refused(void **state) {
    (void)state;
    assert_refused(WEFT_ERROR_ARGUMENT, weft_categorical(x, 1, 0, 0), "top_p is 0", "use temperature 0",
        "temperature 0");
    assert_refused(WEFT_ERROR_ARGUMENT, weft_categorical(x, 1, 0, -0.5), "top_p is -0.5");
    assert_refused(WEFT_ERROR_ARGUMENT, weft_categorical(x, 1, 0, 1.5), "top_p is 1.5");
    assert_refused(WEFT_ERROR_ARGUMENT, weft_categorical(x, 1, 0, NAN), "top_p is");
    assert_refused(
        WEFT_ERROR_ARGUMENT, weft_categorical(x, 1, CLASSES + 1, 1), "top_k is 7, expected 1 to 6");
    assert_refused(WEFT_ERROR_ARGUMENT, weft_categorical(x, 1, -1, 1), "top_k is -1");
    assert_refused(WEFT_ERROR_ARGUMENT, weft_categorical(x, -1, 0, 1), "temperature is -1");
    assert_refused(WEFT_ERROR_ARGUMENT, weft_categorical(x, NAN, 0, 1), "temperature is");
    assert_refused(WEFT_ERROR_DTYPE, weft_categorical(weft_cast(x, WEFT_I32), 1, 0, 1), "not i32");
    assert_refused(WEFT_ERROR_SHAPE, weft_categorical(weft_sum(x), 1, 0, 1), "(..., classes)");
    assert_refused(WEFT_ERROR_SHAPE, weft_categorical(weft_transpose(x), 1, 0, 1), "(..., classes)");
    assert_refused(WEFT_ERROR_ARGUMENT,
        weft_categorical_with(x, &(weft_categorical_options){WEFT_CATEGORICAL_OPTIONS_INIT, .min_p = 1}),
        "min_p is 1");
    assert_refused(WEFT_ERROR_ARGUMENT,
        weft_categorical_with(x, &(weft_categorical_options){WEFT_CATEGORICAL_OPTIONS_INIT, .min_p = NAN}),
        "min_p is");
    assert_null(weft_categorical(NULL, 1, 0, 1));
    assert_null(weft_categorical_with(NULL, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(classes_come_as_often_as_they_should),
        cmocka_unit_test(logits_may_be_f64), cmocka_unit_test(what_is_impossible_never_comes),
        cmocka_unit_test(what_leaves_no_class_is_refused)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
