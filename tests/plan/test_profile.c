/* Profiles: an ordinary run in its results, a row a step whose times add up to less than the wall's, on
 * whatever queue the context has; as text, as JSON, and as a trace. */
#include "support/fixture.h"

#include "cl/context.h"
#include "cl/quirks.h"
#include "support/scratch.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a small network: an LSTM, whose scan repeats launches on class gpu, a reduction, an update ---- */

enum { STEPS = 6, IN = 5, HIDDEN = 8, CLASSES = 3, BATCH = 4, MAX_PARAMETERS = 8 };

typedef struct net {
    weft_graph *graph;
    weft_tensor *x, *label, *loss;
    weft_plan *plan; /* of a training step; run twice */
} net;

static void write_inputs(const net *n) {
    test_random random = test_random_named("profile", 1);
    float x[BATCH * STEPS * IN];
    int32_t label[BATCH];
    for (size_t i = 0; i < BATCH * STEPS * IN; i++) x[i] = (float)test_random_between(&random, -1, 1);
    for (size_t i = 0; i < BATCH; i++) label[i] = (int32_t)test_random_below(&random, CLASSES);
    assert_weft_ok(weft_plan_write(n->plan, n->x, x, sizeof x));
    assert_weft_ok(weft_plan_write(n->plan, n->label, label, sizeof label));
}

static net net_in(weft_context *context) {
    net n = {0};
    weft_tensor *outputs[1 + WEFT_MAX_UPDATES];
    size_t count;
    assert_weft_ok(weft_graph_create(&n.graph, context));
    n.x = weft_input(n.graph, "x", WEFT_F32, STEPS, IN);
    n.label = weft_input(n.graph, "label", WEFT_I32);
    weft_tensor *const y = weft_lstm(n.x, HIDDEN, NULL).y;
    outputs[0] = n.loss = weft_cross_entropy(weft_linear(weft_flatten(y), CLASSES), n.label);
    const weft_optimizer sgd = weft_sgd(0.5f);
    assert_weft_ok(weft_minimize(n.loss, &sgd, outputs + 1, WEFT_MAX_UPDATES, &count));
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH, .compile_late = true};
    assert_weft_ok(weft_plan_create(&n.plan, outputs, count + 1, &options));
    write_inputs(&n);
    for (int i = 0; i < 2; i++) assert_weft_ok(weft_plan_run(n.plan));
    assert_weft_ok(weft_plan_wait(n.plan));
    return n;
}

static void clear(net *n) {
    weft_plan_release(n->plan);
    weft_graph_release(n->graph);
}

/* The loss and all parameters. */
typedef struct numbers {
    float loss, parameters[MAX_PARAMETERS][4 * HIDDEN * STEPS * HIDDEN];
    size_t count, sizes[MAX_PARAMETERS]; /* bytes */
} numbers;

static void read_numbers(const net *n, numbers *all) {
    memset(all, 0, sizeof *all);
    assert_weft_ok(weft_plan_read(n->plan, n->loss, &all->loss, sizeof all->loss));
    all->count = weft_graph_parameter_count(n->graph);
    assert_true(all->count > 0 && all->count <= MAX_PARAMETERS);
    for (size_t i = 0; i < all->count; i++) {
        weft_tensor *const p = weft_graph_parameter(n->graph, i);
        all->sizes[i] = sizeof(float);
        for (int axis = 0; axis < weft_tensor_rank(p); axis++)
            all->sizes[i] *= (size_t)weft_tensor_dimension(p, axis);
        assert_true(all->sizes[i] <= sizeof all->parameters[i]);
        assert_weft_ok(weft_tensor_read(p, all->parameters[i], all->sizes[i]));
    }
}

static void write_parameters(const net *n, const numbers *all) {
    for (size_t i = 0; i < all->count; i++)
        assert_weft_ok(
            weft_tensor_write(weft_graph_parameter(n->graph, i), all->parameters[i], all->sizes[i]));
}

static cJSON *parse(const char *text) {
    cJSON *const root = cJSON_Parse(text);
    assert_non_null(root);
    return root;
}

static double number_in(const cJSON *object, const char *name) {
    const cJSON *const number = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsNumber(number)) fail_msg("no number '%s'", name);
    return number->valuedouble;
}

static const char *string_in(const cJSON *object, const char *name) {
    const cJSON *const string = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsString(string)) fail_msg("no string '%s'", name);
    return string->valuestring;
}

/* The caller frees it. */
static char *plan_json(const weft_plan *plan) {
    size_t length;
    assert_weft_ok(weft_plan_describe(plan, WEFT_FORMAT_JSON, NULL, 0, &length));
    char *const text = malloc(length + 1);
    assert_non_null(text);
    assert_weft_ok(weft_plan_describe(plan, WEFT_FORMAT_JSON, text, length + 1, NULL));
    return text;
}

static char *profile_text(const weft_profile *profile, weft_format format, const weft_roofline *roofline) {
    size_t length;
    assert_weft_ok(weft_profile_describe(profile, format, roofline, NULL, 0, &length));
    char *const text = malloc(length + 1);
    assert_non_null(text);
    assert_weft_ok(weft_profile_describe(profile, format, roofline, text, length + 1, NULL));
    assert_int_equal(strlen(text), length);
    return text;
}

/* ---- a profile is a run ---- */

static void test_results_are_those_of_a_run(void **state) {
    (void)state;
    numbers *const all = calloc(3, sizeof *all); /* before, after a run, after a profile */
    weft_profile *profile = NULL;
    net n = net_in(test_context());
    assert_non_null(all);
    read_numbers(&n, &all[0]);
    assert_weft_ok(weft_plan_run(n.plan));
    read_numbers(&n, &all[1]);
    assert_memory_not_equal(all[0].parameters, all[1].parameters, sizeof all->parameters);
    write_parameters(&n, &all[0]);
    assert_weft_ok(weft_profile_run(&profile, n.plan));
    read_numbers(&n, &all[2]);
    assert_memory_equal(&all[1], &all[2], sizeof *all);
    assert_weft_ok(weft_plan_run(n.plan)); /* and it goes on */
    read_numbers(&n, &all[1]);
    assert_true(all[1].loss < all[2].loss);
    free(all);
    weft_profile_release(profile);
    clear(&n);
}

static void test_rows_are_the_steps(void **state) {
    (void)state;
    net n = net_in(test_context());
    weft_profile *profile = NULL;
    weft_profile_info info;
    weft_plan_info plan_info;
    double seconds = 0, share = 0;
    size_t launches = 0, most = 0;
    assert_weft_ok(weft_profile_run(&profile, n.plan));
    assert_weft_ok(weft_profile_get_info(profile, &info));
    assert_weft_ok(weft_plan_get_info(n.plan, &plan_info));
    char *const text = plan_json(n.plan);
    cJSON *const plan = parse(text), *const steps = cJSON_GetObjectItemCaseSensitive(plan, "steps");
    clear(&n); /* the profile stays */
    assert_int_equal(info.rows, plan_info.steps);
    assert_int_equal(cJSON_GetArraySize(steps), info.rows);
    assert_int_equal(info.launches, plan_info.launches);
    for (size_t i = 0; i < info.rows; i++) {
        const cJSON *const step = cJSON_GetArrayItem(steps, (int)i);
        weft_profile_row row;
        assert_weft_ok(weft_profile_get_row(profile, i, &row));
        assert_string_equal(row.kind, string_in(step, "kind"));
        assert_string_equal(row.implementation, string_in(step, "implementation"));
        assert_string_equal(row.shape, string_in(step, "shape"));
        assert_string_equal(row.ops, string_in(step, "ops"));
        assert_true((double)row.launches == number_in(step, "launches"));
        assert_true(row.flops == number_in(step, "flops") && row.bytes == number_in(step, "bytes_moved"));
        assert_true(row.seconds >= 0);
        launches += row.launches;
        most = row.launches > most ? row.launches : most;
        seconds += row.seconds;
        share += row.share;
    }
    assert_int_equal(launches, info.launches);
    if (weft_context_device(test_context())->device_class == WEFT_CLASS_GPU) assert_true(most >= STEPS);
    assert_true(fabs(share - 1) < 1e-9 && fabs(seconds - info.device_seconds) < 1e-12);
    assert_true(info.device_seconds > 0 && info.device_seconds <= info.wall_seconds);
    assert_true(info.enqueue_seconds > 0 && info.enqueue_seconds <= info.wall_seconds);
    assert_true(info.flops == plan_info.flops && info.bytes == plan_info.bytes_moved);
    cJSON_Delete(plan);
    free(text);
    weft_profile_release(profile);
}

/* What the products take, and what the rest takes, in one profile. */
static void time_kinds(weft_plan *plan, double *products, double *rest) {
    weft_profile *profile = NULL;
    weft_profile_info info;
    *products = *rest = 0;
    assert_weft_ok(weft_profile_run(&profile, plan));
    assert_weft_ok(weft_profile_get_info(profile, &info));
    for (size_t i = 0; i < info.rows; i++) {
        weft_profile_row row;
        assert_weft_ok(weft_profile_get_row(profile, i, &row));
        *(strcmp(row.kind, "product") == 0 ? products : rest) += row.seconds;
    }
    weft_profile_release(profile);
}

/* More work takes more time: what a row says is the device's time, not a constant. A busy machine may stop
 * the little work for long, but not every time. */
static void test_time_follows_work(void **state) {
    (void)state;
    enum { SIDE = 256, TIMES = 24, TRIES = 20 };
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){SIDE, SIDE});
    weft_tensor *y = x;
    for (int i = 0; i < (test_reduced() ? 2 : TIMES); i++) y = weft_matmul(y, x);
    weft_tensor *const outputs[] = {y, weft_add(weft_slice(x, 0, 0, 1), weft_number(x, 1))};
    weft_plan *plan = NULL;
    double products = 0, rest = 0;
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, NULL));
    for (int i = 0; i < 2; i++) assert_weft_ok(weft_plan_run(plan));
    for (int i = 0; i < TRIES && !(products > 2 * rest && rest > 0); i++) time_kinds(plan, &products, &rest);
    assert_true(products > 2 * rest);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- queues ---- */

/* An embedder's queue that tells no times; it is used again afterwards. */
static void test_embedder_s_queue(void **state) {
    (void)state;
    weft_context *const host = test_context();
    weft_context *context = NULL;
    weft_profile *profile = NULL;
    cl_int error = CL_SUCCESS;
    cl_command_queue const queue =
        clCreateCommandQueue(wi_context_device(host)->cl, wi_context_device(host)->id, 0, &error);
    assert_int_equal(error, CL_SUCCESS);
    const weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT,
        .cl_context = wi_context_device(host)->cl, .cl_device = wi_context_device(host)->id,
        .cl_queue = queue, .cache_dir = test_folder()};
    assert_weft_ok(weft_context_create(&context, &options));
    net n = net_in(context);
    numbers *const all = calloc(2, sizeof *all);
    assert_non_null(all);
    read_numbers(&n, &all[0]);
    assert_weft_ok(weft_profile_run(&profile, n.plan));
    assert_ptr_equal(wi_context_device(context)->queue, queue);
    read_numbers(&n, &all[1]);
    assert_true(all[1].loss < all[0].loss);
    free(all);
    clear(&n);
    weft_context_release(context); /* the profile holds it too */
    char *const text = profile_text(profile, WEFT_FORMAT_TEXT, NULL);
    assert_non_null(strstr(text, weft_context_device(test_context())->name));
    free(text);
    weft_profile_release(profile);
    clReleaseCommandQueue(queue);
}

#ifdef WEFT_WITH_CLBLAST
/* A product that CLBlast computes, between maps: its call is one launch and has a time. */
static void test_library(void **state) {
    (void)state;
    enum { SIDE = 160 };
    weft_context *const context = test_context();
    if (wi_context_device(context)->caps.device_class == WEFT_CLASS_CPU ||
        (wi_context_device(context)->caps.quirks & WI_QUIRK_SCALAR_COMPILER)) {
        print_message("skipped: CLBlast belongs to class gpu, and to drivers that compile it in seconds\n");
        skip();
    }
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){SIDE, SIDE});
    weft_tensor *y = weft_tanh(weft_matmul(weft_exp(x), x));
    weft_plan *plan = NULL;
    weft_profile *profile = NULL;
    weft_profile_info info;
    size_t found = 0;
    setenv("WEFT_GEMM", "clblast", 1);
    assert_weft_ok(weft_plan_create(&plan, &y, 1, NULL));
    unsetenv("WEFT_GEMM");
    for (int i = 0; i < 2; i++) assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_profile_run(&profile, plan));
    assert_weft_ok(weft_profile_get_info(profile, &info));
    for (size_t i = 0; i < info.rows; i++) {
        weft_profile_row row;
        assert_weft_ok(weft_profile_get_row(profile, i, &row));
        if (strcmp(row.implementation, "clblast") != 0) continue;
        assert_int_equal(row.launches, 1);
        assert_true(row.seconds > 0);
        found++;
    }
    assert_int_equal(found, 1);
    assert_true(info.device_seconds <= info.wall_seconds);
    weft_profile_release(profile);
    weft_plan_release(plan);
    weft_graph_release(graph);
}
#endif

/* ---- describing ---- */

static void test_text(void **state) {
    (void)state;
    const weft_roofline roofline = {1e9, 1e9};
    net n = net_in(test_context());
    weft_profile *profile = NULL;
    weft_profile_info info;
    weft_profile_row row;
    size_t lines = 0, length = 0;
    char cut[10];
    assert_weft_ok(weft_profile_run(&profile, n.plan));
    assert_weft_ok(weft_profile_get_info(profile, &info));
    char *const plain = profile_text(profile, WEFT_FORMAT_TEXT, NULL);
    char *const text = profile_text(profile, WEFT_FORMAT_TEXT, &roofline);
    for (const char *at = text; *at; at++) lines += *at == '\n';
    assert_int_equal(lines, 2 + info.rows + 2); /* heading, rows, sum, wall */
    assert_non_null(strstr(text, "roofline"));
    assert_null(strstr(plain, "roofline"));
    for (size_t i = 0; i < info.rows; i++) {
        assert_weft_ok(weft_profile_get_row(profile, i, &row));
        assert_non_null(strstr(text, row.ops));
        assert_non_null(strstr(text, row.implementation));
    }
    assert_weft_ok(weft_profile_describe(profile, WEFT_FORMAT_TEXT, NULL, cut, sizeof cut, &length));
    assert_int_equal(length, strlen(plain));
    assert_string_equal(cut, "profile f");
    free(plain);
    free(text);
    weft_profile_release(profile);
    clear(&n);
}

/* JSON has 15 digits. */
static void assert_close(double got, double wanted) {
    assert_true(fabs(got - wanted) <= 1e-14 * fabs(wanted));
}

static void test_json(void **state) {
    (void)state;
    const weft_roofline roofline = {2e9, 3e9};
    net n = net_in(test_context());
    weft_profile *profile = NULL;
    weft_profile_info info;
    assert_weft_ok(weft_profile_run(&profile, n.plan));
    assert_weft_ok(weft_profile_get_info(profile, &info));
    char *const text = profile_text(profile, WEFT_FORMAT_JSON, &roofline);
    cJSON *const root = parse(text), *const rows = cJSON_GetObjectItemCaseSensitive(root, "rows");
    assert_string_equal(string_in(root, "device"), weft_context_device(test_context())->name);
    assert_true(number_in(root, "batch") == BATCH && number_in(root, "launches") == (double)info.launches);
    assert_close(number_in(root, "wall_seconds"), info.wall_seconds);
    assert_close(number_in(root, "device_seconds"), info.device_seconds);
    assert_close(number_in(root, "enqueue_seconds"), info.enqueue_seconds);
    assert_int_equal(cJSON_GetArraySize(rows), info.rows);
    for (size_t i = 0; i < info.rows; i++) {
        const cJSON *const object = cJSON_GetArrayItem(rows, (int)i);
        weft_profile_row row;
        assert_weft_ok(weft_profile_get_row(profile, i, &row));
        assert_string_equal(string_in(object, "ops"), row.ops);
        assert_close(number_in(object, "seconds"), row.seconds);
        assert_close(number_in(object, "share"), row.share);
        const double least = fmax(row.flops / 2e9, row.bytes / 3e9);
        if (row.seconds > 0)
            assert_true(fabs(number_in(object, "roofline") * row.seconds / least - 1) < 1e-9);
    }
    cJSON_Delete(root);
    free(text);
    weft_profile_release(profile);
    clear(&n);
}

/* ---- the trace ---- */

static char *read_file(const char *path) {
    FILE *const file = fopen(path, "rb");
    if (!file) fail_msg("no file %s", path);
    char *const text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

/* Spans of the two tracks, in order; the device begins none before the host has asked for it. */
static void check_trace(const cJSON *events, const weft_profile_info *info) {
    const double slack = 1000; /* microseconds between two clocks */
    size_t spans[3] = {0}, arrows[2] = {0};
    double last_end = -slack, host_begin = 0;
    const cJSON *event;
    cJSON_ArrayForEach(event, events) {
        const char *const phase = string_in(event, "ph");
        const int track = (int)number_in(event, "tid");
        assert_true(track == 1 || track == 2);
        if (strcmp(phase, "s") == 0) arrows[0] += track == 1;
        if (strcmp(phase, "f") == 0) arrows[1] += track == 2;
        if (strcmp(phase, "X") != 0) continue;
        const double begin = number_in(event, "ts"), length = number_in(event, "dur");
        assert_true(length >= 0 && strlen(string_in(event, "name")) > 0);
        const cJSON *const arguments = cJSON_GetObjectItemCaseSensitive(event, "args");
        assert_true(number_in(arguments, "step") < (double)info->rows);
        spans[track]++;
        if (track == 1) {
            assert_true(begin >= host_begin);
            host_begin = begin;
        } else {
            assert_true(begin >= last_end - 1 && begin >= host_begin - slack);
            last_end = begin + length;
        }
    }
    assert_true(last_end <= 1e6 * info->wall_seconds + slack);
    assert_int_equal(spans[1], info->launches);
    assert_int_equal(spans[2], info->launches);
    assert_int_equal(arrows[0], info->launches);
    assert_int_equal(arrows[1], info->launches);
}

static void test_trace(void **state) {
    (void)state;
    net n = net_in(test_context());
    weft_profile *profile = NULL;
    weft_profile_info info;
    size_t names = 0;
    assert_weft_ok(weft_profile_run(&profile, n.plan));
    assert_weft_ok(weft_profile_get_info(profile, &info));
    for (int i = 0; i < 2; i++) assert_weft_ok(weft_profile_trace(profile, test_path("trace.json")));
    assert_int_equal(scratch_count(test_folder(), "trace.json", NULL), 1); /* and no temporary */
    char *const text = read_file(test_path("trace.json"));
    cJSON *const root = parse(text);
    const cJSON *const events = cJSON_GetObjectItemCaseSensitive(root, "traceEvents"), *event;
    assert_true(cJSON_IsArray(events));
    cJSON_ArrayForEach(event, events) names += strcmp(string_in(event, "ph"), "M") == 0;
    assert_int_equal(names, 3); /* the process and two tracks */
    check_trace(events, &info);
    cJSON_Delete(root);
    free(text);
    weft_profile_release(profile);
    clear(&n);
}

/* ---- errors ---- */

static void test_errors(void **state) {
    (void)state;
    const weft_roofline none = {0, 1};
    net n = net_in(test_context());
    weft_profile *profile = NULL, *other = (weft_profile *)&n;
    weft_profile_info info;
    weft_profile_row row;
    char text[8];
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_profile_run(NULL, n.plan), "weft_profile_run: profile is NULL");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_profile_run(&other, NULL), "weft_profile_run: plan is NULL");
    assert_null(other);
    assert_weft_ok(weft_profile_run(&profile, n.plan));
    assert_weft_ok(weft_profile_get_info(profile, &info));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_profile_get_info(NULL, &info), "weft_profile_get_info");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_profile_get_info(profile, NULL), "weft_profile_get_info");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_profile_get_row(NULL, 0, &row), "weft_profile_get_row");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_profile_get_row(profile, 0, NULL), "weft_profile_get_row");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_profile_get_row(profile, info.rows, &row), "rows");
    assert_weft_fails(WEFT_ERROR_ARGUMENT,
        weft_profile_describe(NULL, WEFT_FORMAT_TEXT, NULL, text, sizeof text, NULL), "is NULL");
    assert_weft_fails(WEFT_ERROR_ARGUMENT,
        weft_profile_describe(profile, WEFT_FORMAT_TEXT, NULL, NULL, 8, NULL), "is NULL");
    assert_weft_fails(WEFT_ERROR_ARGUMENT,
        weft_profile_describe(profile, (weft_format)7, NULL, text, sizeof text, NULL), "7 is not a format");
    assert_weft_fails(WEFT_ERROR_ARGUMENT,
        weft_profile_describe(profile, WEFT_FORMAT_TEXT, &none, text, sizeof text, NULL), "a roofline of 0");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_profile_trace(NULL, "x"), "weft_profile_trace");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_profile_trace(profile, NULL), "weft_profile_trace");
    assert_weft_fails(
        WEFT_ERROR_FILE, weft_profile_trace(profile, test_path("no/such/trace.json")), "no/such");
    assert_ptr_equal(weft_profile_retain(profile), profile);
    weft_profile_release(profile);
    weft_profile_release(profile);
    weft_profile_release(NULL);
    clear(&n);
}

/* What a run refuses a profile refuses, and the context's own queue is back. */
static void test_refused_run(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const w =
        weft_parameter(graph, "w", ((weft_initialiser){.kind = WEFT_INIT_CONSTANT, .a = 1}), 4);
    weft_optimizer sgd = weft_sgd(0.1f);
    weft_tensor *updates[WEFT_MAX_UPDATES];
    weft_plan *plan = NULL;
    weft_profile *profile = NULL;
    size_t count;
    sgd.average_decay = 0.5f;
    assert_weft_ok(weft_minimize(weft_sum(weft_square(w)), &sgd, updates, WEFT_MAX_UPDATES, &count));
    assert_weft_ok(weft_plan_create(&plan, updates, count, NULL));
    for (int i = 0; i < 2; i++) assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_average_swap(graph));
    cl_command_queue const queue = wi_context_device(test_context())->queue;
    assert_weft_fails(WEFT_ERROR_STATE, weft_profile_run(&profile, plan), "average");
    assert_null(profile);
    assert_ptr_equal(wi_context_device(test_context())->queue, queue);
    assert_weft_ok(weft_average_swap(graph));
    assert_weft_ok(weft_profile_run(&profile, plan));
    weft_profile_release(profile);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* Whatever allocation fails, nothing is lost and the plan still runs. */
static void test_no_memory(void **state) {
    (void)state;
    scratch_allocator allocator;
    scratch_allocator_init(&allocator, -1);
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .allocator = &allocator.hooks});
    net n = net_in(context);
    const long live = atomic_load(&allocator.live);
    weft_profile *profile = NULL;
    int failures = 0;
    for (bool done = false; !done; failures += !done) {
        atomic_store(&allocator.fail_after, atomic_load(&allocator.made) + failures);
        const weft_status status = weft_profile_run(&profile, n.plan);
        atomic_store(&allocator.fail_after, -1);
        done = status == WEFT_OK;
        if (done) break;
        assert_int_equal(status, WEFT_ERROR_MEMORY);
        assert_null(profile);
        assert_int_equal(atomic_load(&allocator.live), live);
        assert_weft_ok(weft_plan_run(n.plan));
        assert_weft_ok(weft_plan_wait(n.plan));
        assert_true(failures < 1000);
    }
    assert_true(failures > 2);
    weft_profile_release(profile);
    assert_int_equal(atomic_load(&allocator.live), live);
    clear(&n);
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_are_those_of_a_run),
        cmocka_unit_test(test_rows_are_the_steps), cmocka_unit_test(test_time_follows_work),
        cmocka_unit_test(test_embedder_s_queue),
#ifdef WEFT_WITH_CLBLAST
        cmocka_unit_test(test_library),
#endif
        cmocka_unit_test(test_text), cmocka_unit_test(test_json), cmocka_unit_test(test_trace),
        cmocka_unit_test(test_errors), cmocka_unit_test(test_refused_run), cmocka_unit_test(test_no_memory)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
