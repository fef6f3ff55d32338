/* Profiles: an ordinary run in its results, a row a step whose times add up to less than the wall's, on
 * whatever queue the context has; as text, as JSON, and as a trace. */
#include "support/fixture.h"

#include "cl/context.h"
#include "cl/quirks.h"
#include "support/profiled_net.h"
#include "support/scratch.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    profiled_numbers *const all = calloc(3, sizeof *all); /* before, after a run, after a profile */
    weft_profile *profile = NULL;
    profiled_net n = profiled_net_in(test_context());
    assert_non_null(all);
    profiled_net_read(&n, &all[0]);
    assert_weft_ok(weft_plan_run(n.plan));
    profiled_net_read(&n, &all[1]);
    assert_memory_not_equal(all[0].parameters, all[1].parameters, sizeof all->parameters);
    profiled_net_write(&n, &all[0]);
    assert_weft_ok(weft_profile_run(&profile, n.plan));
    profiled_net_read(&n, &all[2]);
    assert_memory_equal(&all[1], &all[2], sizeof *all);
    assert_weft_ok(weft_plan_run(n.plan)); /* and it goes on */
    profiled_net_read(&n, &all[1]);
    assert_true(all[1].loss < all[2].loss);
    free(all);
    weft_profile_release(profile);
    profiled_net_clear(&n);
}

static void test_rows_are_the_steps(void **state) {
    (void)state;
    profiled_net n = profiled_net_in(test_context());
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
    profiled_net_clear(&n); /* the profile stays */
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
    if (weft_context_device(test_context())->device_class == WEFT_CLASS_GPU) assert_true(most > 1);
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
    for (int i = 0; i < TIMES; i++) y = weft_matmul(y, x);
    weft_tensor *const outputs[] = {y, weft_add(weft_slice(x, 0, 0, 1), weft_number(x, 1))};
    weft_plan *plan = NULL;
    double products = 0, rest = 0;
    static const float numbers[SIDE * SIDE];
    assert_weft_ok(weft_plan_create(&plan, outputs, 2, NULL));
    assert_weft_ok(weft_plan_write(plan, x, numbers, sizeof numbers));
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
    profiled_net n = profiled_net_in(context);
    profiled_numbers *const all = calloc(2, sizeof *all);
    assert_non_null(all);
    profiled_net_read(&n, &all[0]);
    assert_weft_ok(weft_profile_run(&profile, n.plan));
    assert_ptr_equal(wi_context_device(context)->queue, queue);
    profiled_net_read(&n, &all[1]);
    assert_true(all[1].loss < all[0].loss);
    free(all);
    profiled_net_clear(&n);
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
    static const float zeros[SIDE * SIDE];
    assert_weft_ok(weft_plan_write(plan, x, zeros, sizeof zeros));
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
    profiled_net n = profiled_net_in(test_context());
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
    profiled_net_clear(&n);
}

/* JSON has 15 digits. */
static void assert_close(double got, double wanted) {
    assert_true(fabs(got - wanted) <= 1e-14 * fabs(wanted));
}

static void test_json(void **state) {
    (void)state;
    const weft_roofline roofline = {2e9, 3e9};
    profiled_net n = profiled_net_in(test_context());
    weft_profile *profile = NULL;
    weft_profile_info info;
    assert_weft_ok(weft_profile_run(&profile, n.plan));
    assert_weft_ok(weft_profile_get_info(profile, &info));
    char *const text = profile_text(profile, WEFT_FORMAT_JSON, &roofline);
    cJSON *const root = parse(text), *const rows = cJSON_GetObjectItemCaseSensitive(root, "rows");
    assert_string_equal(string_in(root, "device"), weft_context_device(test_context())->name);
    assert_true(
        number_in(root, "batch") == PROFILED_BATCH && number_in(root, "launches") == (double)info.launches);
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
    profiled_net_clear(&n);
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
    profiled_net n = profiled_net_in(test_context());
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
    profiled_net_clear(&n);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_are_those_of_a_run),
        cmocka_unit_test(test_rows_are_the_steps), cmocka_unit_test(test_time_follows_work),
        cmocka_unit_test(test_embedder_s_queue),
#ifdef WEFT_WITH_CLBLAST
        cmocka_unit_test(test_library),
#endif
        cmocka_unit_test(test_text), cmocka_unit_test(test_json), cmocka_unit_test(test_trace)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
