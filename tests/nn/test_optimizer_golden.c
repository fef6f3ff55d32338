/* Every optimizer follows PyTorch's (its paper's, for LAMB and Lion) for 50 runs, computed in float64 and
 * recorded by tests/golden/make_optimizer_golden.py; groups, frozen parameters, clipping, accumulation and
 * averages included. And each of them is as few launches as nn.h says. */
/* test slow */
#include "support/checks.h"
#include "support/golden_file.h"
#include <math.h>
#include <weft/weft.h>

enum { FIRST = 17, SECOND = 18, SIZE = FIRST + SECOND, RUNS = 50 };
static const double tolerance = 1e-5; /* relative to the largest parameter */

static weft_context *context;
static cJSON *golden;

typedef struct network {
    weft_graph *graph;
    weft_tensor *x, *y, *loss;
} network;

static float start(size_t i) {
    return i < FIRST ? 1.0f + (float)i / 8.0f : -2.0625f + (float)(i - FIRST) / 4.0f;
}

static weft_tensor *half_square(weft_tensor *p, weft_tensor *x) {
    weft_tensor *const d = weft_square(weft_sub(weft_reshape(p, 1, weft_tensor_dimension(x, 1)), x));
    return weft_mul(weft_mean(weft_sum(d, 1)), weft_number(d, 0.5));
}

static network make_network(void) {
    network net;
    float values[SIZE];
    assert_ok(weft_graph_create(&net.graph, context));
    weft_tensor *const p = weft_parameter(net.graph, "p", weft_zeros(), FIRST);
    weft_tensor *const q = weft_parameter(net.graph, "q", weft_zeros(), 2, SECOND / 2);
    net.x = weft_input(net.graph, "x", WEFT_F32, FIRST);
    net.y = weft_input(net.graph, "y", WEFT_F32, SECOND);
    net.loss = weft_add(half_square(p, net.x), half_square(q, net.y));
    assert_ok(weft_graph_status(net.graph));
    for (size_t i = 0; i < SIZE; i++) values[i] = start(i);
    assert_ok(weft_tensor_write(p, values, FIRST * sizeof *values));
    assert_ok(weft_tensor_write(q, values + FIRST, SECOND * sizeof *values));
    return net;
}

/* ---- what the file says ---- */

static bool is_set(const cJSON *item, const char *name) {
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, name));
}

static weft_optimizer_kind kind_of(const cJSON *item) {
    static const char *const names[] = {
        "", "SGD", "Adam", "AdamW", "NAdam", "RMSprop", "Adagrad", "Adadelta", "LAMB", "Lion"};
    const char *const name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "kind"));
    for (int kind = WEFT_SGD; kind <= WEFT_LION; kind++)
        if (strcmp(name, names[kind]) == 0) return (weft_optimizer_kind)kind;
    fail_msg("the file has a '%s'", name);
    return WEFT_SGD;
}

static weft_optimizer read_optimizer(const cJSON *item, weft_parameter_group *group) {
#define READ(field) .field = (float)golden_number(item, #field, 0)
    weft_optimizer o = {.kind = kind_of(item),
        READ(rate),
        READ(momentum),
        READ(weight_decay),
        READ(beta1),
        READ(beta2),
        READ(epsilon),
        READ(rho),
        READ(dampening),
        READ(rate_decay),
        READ(first_sum),
        READ(momentum_decay),
        READ(clip_value),
        READ(clip_norm),
        READ(average_decay),
        .accumulate = (uint32_t)golden_number(item, "accumulate", 0),
        .nesterov = is_set(item, "nesterov"),
        .centered = is_set(item, "centered"),
        .amsgrad = is_set(item, "amsgrad")};
    const cJSON *const first = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(item, "groups"), 0);
    if (!first) return o;
    *group =
        (weft_parameter_group){cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(first, "parameters")),
            (float)golden_number(first, "rate_factor", 0), (float)golden_number(first, "weight_decay", 0)};
    o.groups = group;
    o.group_count = 1;
    return o;
}

/* ---- following ---- */

/* Nothing is computed for a frozen parameter, so that its input is not even part of the plan. */
static void feed_one(weft_plan *plan, weft_tensor *input, const void *data, size_t bytes, const char *own,
    const char *frozen) {
    const bool part = !frozen || strcmp(own, frozen) != 0;
    assert_status(weft_plan_write(plan, input, data, bytes), part ? WEFT_OK : WEFT_ERROR_ARGUMENT);
}

static void feed(weft_plan *plan, const network *net, int run, const char *frozen) {
    float x[2][FIRST], y[2][SECOND];
    for (size_t i = 0; i < SIZE; i++) {
        *(i < FIRST ? &x[0][i] : &y[0][i - FIRST]) = (float)((i * 5 + (size_t)run * 3) % 7) * 0.5f;
        *(i < FIRST ? &x[1][i] : &y[1][i - FIRST]) = (float)i * 0.25f;
    }
    feed_one(plan, net->x, x, sizeof x, "p", frozen);
    feed_one(plan, net->y, y, sizeof y, "q", frozen);
}

static void compare(const network *net, const cJSON *values, const char *what, int run) {
    float got[SIZE];
    double largest = 0;
    assert_int_equal(cJSON_GetArraySize(values), SIZE);
    assert_ok(weft_tensor_read(weft_graph_find(net->graph, "p"), got, FIRST * sizeof *got));
    assert_ok(weft_tensor_read(weft_graph_find(net->graph, "q"), got + FIRST, SECOND * sizeof *got));
    for (int i = 0; i < SIZE; i++) largest = fmax(largest, fabs(cJSON_GetArrayItem(values, i)->valuedouble));
    for (int i = 0; i < SIZE; i++) {
        const double expected = cJSON_GetArrayItem(values, i)->valuedouble;
        if (fabs((double)got[i] - expected) <= tolerance * largest) continue;
        print_error("%s, run %d, element %d: %.9g instead of %.9g\n", what, run, i, (double)got[i], expected);
        fail();
    }
}

static size_t launches_of(weft_plan *plan) {
    weft_plan_info info;
    assert_ok(weft_plan_get_info(plan, &info));
    return info.launches;
}

/* Those of the gradients of both parameters: what plain SGD needs but for one. */
static size_t gradient_launches(const char *frozen) {
    const network net = make_network();
    const weft_optimizer sgd = weft_sgd(0.1f);
    weft_tensor *updates[WEFT_MAX_UPDATES];
    size_t count = 0;
    weft_plan *plan = NULL;
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 2};
    if (frozen) assert_ok(weft_freeze(net.graph, frozen, true));
    assert_ok(weft_minimize(net.loss, &sgd, updates, WEFT_MAX_UPDATES, &count));
    assert_ok(weft_plan_create(&plan, updates, count, &options));
    const size_t launches = launches_of(plan) - 1;
    weft_plan_release(plan);
    weft_graph_release(net.graph);
    return launches;
}

static void check_average(const network *net, const cJSON *item, const char *what) {
    const cJSON *const average = cJSON_GetObjectItemCaseSensitive(item, "average");
    if (!average) return;
    assert_ok(weft_average_swap(net->graph));
    compare(net, average, what, -RUNS);
    assert_ok(weft_average_swap(net->graph));
}

static void follow(const cJSON *item, int number, size_t all, size_t some) {
    const network net = make_network();
    weft_parameter_group group;
    const weft_optimizer optimizer = read_optimizer(item, &group);
    const char *const frozen = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "frozen"));
    const cJSON *const values = cJSON_GetObjectItemCaseSensitive(item, "values");
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 2};
    weft_tensor *updates[WEFT_MAX_UPDATES];
    weft_plan *plan = NULL;
    size_t count = 0;
    char what[64], run_name[16];
    snprintf(what, sizeof what, "case %d (%s)", number,
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "kind")));
    if (frozen) assert_ok(weft_freeze(net.graph, frozen, true));
    assert_ok(weft_minimize(net.loss, &optimizer, updates, WEFT_MAX_UPDATES, &count));
    assert_ok(weft_plan_create(&plan, updates, count, &options));
    const size_t launches = launches_of(plan) - (frozen ? some : all);
    const size_t wanted = (optimizer.kind == WEFT_LAMB ? 4u : 1u) + (optimizer.clip_norm > 0);
    if (launches != wanted) fail_msg("%s: %zu launches after the gradients, not %zu", what, launches, wanted);
    for (int run = 1; run <= RUNS; run++) {
        feed(plan, &net, run, frozen);
        assert_ok(weft_plan_run(plan));
        snprintf(run_name, sizeof run_name, "%d", run);
        const cJSON *const recorded = cJSON_GetObjectItemCaseSensitive(values, run_name);
        if (recorded) compare(&net, recorded, what, run);
    }
    compare(&net, cJSON_GetObjectItemCaseSensitive(values, "50"), what, RUNS);
    check_average(&net, item, what);
    weft_plan_release(plan);
    weft_graph_release(net.graph);
}

static void all_follow_their_references(void **state) {
    (void)state;
    const cJSON *const cases = cJSON_GetObjectItemCaseSensitive(golden, "optimizers");
    const size_t all = gradient_launches(NULL), some = gradient_launches("p");
    bool seen[WEFT_LION + 1] = {false};
    assert_true(some < all); /* nothing is computed for what is frozen */
    for (int i = 0; i < cJSON_GetArraySize(cases); i++) {
        const cJSON *const item = cJSON_GetArrayItem(cases, i);
        seen[kind_of(item)] = true;
        follow(item, i, all, some);
    }
    for (int kind = WEFT_SGD; kind <= WEFT_LION; kind++) assert_true(seen[kind]);
}

static int set_up(void **state) {
    (void)state;
    golden = golden_file("optimizer_golden.json");
    assert_ok(weft_context_create(&context, NULL));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    weft_context_release(context);
    cJSON_Delete(golden);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_follow_their_references)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
