/* Opening contexts: options, classes, an embedder's objects, lack of memory, threads. */
#include "base/platform.h"
#include "cl/context.h"
#include "cl/device_list.h"
#include "cl/quirks.h"
#include "support/checks.h"
#include "support/scratch.h"
#include "support/small_net.h"
#include "support/small_program.h"

#include <time.h>
#include <weft/graph.h>

static char *cache; /* one folder for all tests here, so that the probe is compiled once */

static int make_cache(void **state) {
    (void)state;
    cache = scratch_make();
    return 0;
}

static int remove_cache(void **state) {
    (void)state;
    scratch_remove(cache);
    return 0;
}

#define OPTIONS(...) (&(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = cache, __VA_ARGS__})

static void a_context_knows_its_device(void **state) {
    scratch_log log = {0};
    weft_context *context = NULL;
    (void)state;
    assert_ok(weft_context_create(&context, OPTIONS(.log = scratch_log_line, .log_user = &log, .seed = 7)));
    const weft_device_info *const info = weft_context_device(context);
    assert_true(strlen(info->name) > 0);
    assert_non_null(strstr(log.text, info->name));
    assert_int_equal(context->seed, 7);
    assert_true(wi_context_device(context)->caps.can_build);
    assert_int_equal(wi_context_device(context)->caps.quirks, wi_quirks_find(info));
    assert_true(wi_context_device(context)->caps.max_work_group_size > 0);
    assert_true(wi_context_device(context)->caps.max_work_item_sizes[2] > 0);
    assert_ptr_equal(weft_context_retain(context), context);
    weft_context_release(context);
    assert_ptr_equal(weft_context_device(context), info); /* the second reference still holds it */
    weft_context_release(context);
    weft_context_release(NULL);
    assert_null(weft_context_retain(NULL));
    assert_null(weft_context_device(NULL));
}

static void bad_options_are_refused(void **state) {
    weft_context *context = (weft_context *)&cache;
    weft_allocator half = {0};
    (void)state;
    assert_fails(weft_context_create(NULL, NULL), WEFT_ERROR_ARGUMENT, "context is NULL");
    assert_fails(weft_context_create(&context, &(weft_context_options){.struct_size = 0}),
        WEFT_ERROR_ARGUMENT, "WEFT_CONTEXT_OPTIONS_INIT");
    assert_null(context);
    assert_fails(
        weft_context_create(&context, OPTIONS(.allocator = &half)), WEFT_ERROR_ARGUMENT, "allocator");
    assert_fails(weft_context_create(&context, OPTIONS(.device = "no such device")), WEFT_ERROR_NO_DEVICE,
        "'no such device'; available: 0:0");
    assert_fails(weft_context_create(&context, OPTIONS(.cl_context = (cl_context)&half)), WEFT_ERROR_ARGUMENT,
        "only one of cl_context and cl_device is set");
    assert_fails(weft_context_create(&context, OPTIONS(.cl_queue = (cl_command_queue)&half)),
        WEFT_ERROR_ARGUMENT, "cl_queue is set without");
    assert_fails(weft_context_create(&context, OPTIONS(.device = "cpu", .cl_context = (cl_context)&half,
                                                   .cl_device = (cl_device_id)&half)),
        WEFT_ERROR_ARGUMENT, "device and cl_device are both set");
    assert_null(context);
}

static void options_of_other_versions_are_read(void **state) {
    struct {
        weft_context_options known;
        void *new_option;
    } newer = {.known = {.struct_size = sizeof newer, .cache_dir = cache}};
    weft_context *context = NULL;
    (void)state;
    assert_ok(weft_context_create(&context, &newer.known));
    weft_context_release(context);
    newer.new_option = &newer;
    assert_fails(weft_context_create(&context, &newer.known), WEFT_ERROR_UNSUPPORTED, "does not know");
    weft_context_options older = {
        .struct_size = offsetof(weft_context_options, memory_limit), .cache_dir = cache, .memory_limit = 1};
    assert_ok(weft_context_create(&context, &older));
    assert_ok(small_program_use(context, NULL)); /* a limit of one byte would forbid it */
    weft_context_release(context);
}

static void the_class_can_be_chosen(void **state) {
    weft_context *context = NULL;
    weft_device_info info;
    (void)state;
    const char *const before = getenv("WEFT_DEVICE_CLASS");
    char *const kept = before ? strdup(before) : NULL;
    static const char *const names[] = {"cpu", "gpu"};
    for (int i = 0; i < 2; i++) {
        setenv("WEFT_DEVICE_CLASS", names[i], 1);
        assert_ok(weft_context_create(&context, OPTIONS()));
        assert_int_equal(
            wi_context_device(context)->caps.device_class, i == 0 ? WEFT_CLASS_CPU : WEFT_CLASS_GPU);
        assert_int_equal(
            weft_context_device(context)->device_class, wi_context_device(context)->caps.device_class);
        assert_ok(small_program_use(context, i == 0 ? "-D LANES_WANTED=16" : "-D LANES_WANTED=1"));
        wi_program *program = NULL;
        assert_ok(wi_program_get(&program, wi_context_device(context), "lanes",
            i == 0
                ? "#if WEFT_LANES != 16\n#error lanes\n#endif\n__kernel void k(__global int *x) { *x = 1; }"
                : "#if WEFT_LANES != 1\n#error lanes\n#endif\n__kernel void k(__global int *x) { *x = 1; }",
            NULL));
        weft_context_release(context);
    }
    setenv("WEFT_DEVICE_CLASS", "tpu", 1);
    assert_fails(weft_context_create(&context, OPTIONS()), WEFT_ERROR_ARGUMENT, "WEFT_DEVICE_CLASS is 'tpu'");
    assert_fails(weft_device_get(0, &info), WEFT_ERROR_ARGUMENT, "WEFT_DEVICE_CLASS is 'tpu'");
    if (kept)
        setenv("WEFT_DEVICE_CLASS", kept, 1);
    else
        unsetenv("WEFT_DEVICE_CLASS");
    free(kept);
}

static void the_environment_selects(void **state) {
    weft_context *context = NULL;
    (void)state;
    const char *const before = getenv("WEFT_DEVICE");
    char *const kept = before ? strdup(before) : NULL;
    setenv("WEFT_DEVICE", "no such device", 1);
    assert_fails(weft_context_create(&context, OPTIONS()), WEFT_ERROR_NO_DEVICE, "no such device");
    assert_ok(weft_context_create(&context, OPTIONS(.device = "0:0"))); /* the option comes first */
    weft_context_release(context);
    if (kept)
        setenv("WEFT_DEVICE", kept, 1);
    else
        unsetenv("WEFT_DEVICE");
    free(kept);
}

static void opening_survives_every_lack_of_memory(void **state) {
    (void)state;
    weft_status status = WEFT_ERROR_MEMORY;
    long limit = 0;
    for (; status != WEFT_OK; limit++) {
        scratch_allocator allocator;
        weft_context *context = NULL;
        scratch_allocator_init(&allocator, limit);
        status = weft_context_create(&context, OPTIONS(.allocator = &allocator.hooks));
        if (status != WEFT_OK) {
            assert_fails(status, WEFT_ERROR_MEMORY, "out of host memory");
            assert_null(context);
        }
        weft_context_release(context);
        assert_int_equal(atomic_load(&allocator.live), 0);
    }
    assert_in_range(limit, 5, 100);
}

static void count_progress(void *user, size_t done, size_t total, const char *what) {
    assert_true(done <= total);
    assert_true(strlen(what) > 0);
    ++*(int *)user;
}

static void count_release(void *user) {
    ++*(int *)user;
}

static void the_end_of_a_context_is_told_once(void **state) {
    weft_context *context = NULL;
    weft_graph *graph = NULL;
    int ends = 0;
    (void)state;
    assert_int_equal(weft_context_create(&context, OPTIONS(.device = "no such device",
                                                       .on_release = count_release, .release_user = &ends)),
        WEFT_ERROR_NO_DEVICE);
    assert_int_equal(ends, 0);
    assert_ok(weft_context_create(&context, OPTIONS(.on_release = count_release, .release_user = &ends)));
    assert_ok(weft_graph_create(&graph, context));
    weft_context_release(context);
    assert_int_equal(ends, 0); /* the graph retains the context */
    weft_graph_release(graph);
    assert_int_equal(ends, 1);
}

static void the_probe_runs_once_for_a_folder(void **state) {
    weft_context *context = NULL;
    char *const fresh = scratch_make();
    int calls = 0;
    const weft_context_options options = {
        WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = fresh, .progress = count_progress, .progress_user = &calls};
    (void)state;
    assert_ok(weft_context_create(&context, &options));
    /* A processor with vectors of its own is taken at its word; its first program is the first plan's. */
    if (wi_context_device(context)->caps.device_class == WEFT_CLASS_CPU)
        assert_int_equal(calls, 0);
    else
        assert_true(calls >= 2);
    const wi_capabilities first = wi_context_device(context)->caps;
    weft_context_release(context);
    calls = 0;
    assert_ok(weft_context_create(&context, &options));
    assert_int_equal(calls, 0);
    assert_int_equal(wi_context_device(context)->caps.fp64, first.fp64);
    assert_int_equal(wi_context_device(context)->caps.fp16, first.fp16);
    assert_true(wi_context_device(context)->caps.can_build);
    weft_context_release(context);
    scratch_remove(fresh);
}

/* An embedder's objects: a context on the device that Weft would take, and a queue. */
typedef struct embedder {
    cl_device_id device;
    cl_context cl;
    cl_command_queue queue;
} embedder;

static void open_embedder(embedder *own) {
    weft_context *context = NULL;
    cl_int error = CL_SUCCESS;
    assert_ok(weft_context_create(&context, OPTIONS()));
    own->device = wi_context_device(context)->id;
    weft_context_release(context);
    own->cl = clCreateContext(NULL, 1, &own->device, NULL, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    own->queue = clCreateCommandQueue(own->cl, own->device, 0, &error);
    assert_int_equal(error, CL_SUCCESS);
}

static void close_embedder(embedder *own) {
    clReleaseCommandQueue(own->queue);
    clReleaseContext(own->cl);
}

static cl_uint queue_references(cl_command_queue queue) {
    cl_uint count = 0;
    assert_int_equal(
        clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof count, &count, NULL), CL_SUCCESS);
    return count;
}

/* A driver's thread may hold a queue for a moment after its last command (Rusticl does): waits up to two
 * seconds. */
static void assert_references_come_back(cl_command_queue queue, cl_uint wanted) {
    const struct timespec moment = {.tv_nsec = 1000000};
    for (int i = 0; i < 2000 && queue_references(queue) != wanted; i++) nanosleep(&moment, NULL);
    assert_int_equal(queue_references(queue), wanted);
}

static void an_embedder_s_objects_are_used_and_given_back(void **state) {
    embedder own;
    weft_context *context = NULL;
    (void)state;
    open_embedder(&own);
    const cl_uint before = queue_references(own.queue);
    for (int with_queue = 0; with_queue < 2; with_queue++) {
        assert_ok(weft_context_create(&context, OPTIONS(.cl_context = own.cl, .cl_device = own.device,
                                                    .cl_queue = with_queue ? own.queue : NULL)));
        assert_ptr_equal(wi_context_device(context)->cl, own.cl);
        assert_int_equal(wi_context_device(context)->queue == own.queue, with_queue);
        assert_non_null(strchr(weft_context_device(context)->selector, ':'));
        assert_ok(small_program_use(context, NULL));
        if (with_queue) assert_true(queue_references(own.queue) > before);
        weft_context_release(context);
        assert_references_come_back(own.queue, before);
    }
    close_embedder(&own);
}

static void an_embedder_s_objects_outlive_it(void **state) {
    embedder own;
    weft_context *context = NULL;
    (void)state;
    open_embedder(&own);
    assert_ok(weft_context_create(
        &context, OPTIONS(.cl_context = own.cl, .cl_device = own.device, .cl_queue = own.queue)));
    close_embedder(&own);
    assert_ok(small_program_use(context, NULL));
    weft_context_release(context);
}

static void objects_that_do_not_fit_are_refused(void **state) {
    embedder own, other;
    weft_context *context = NULL;
    cl_int error = CL_SUCCESS;
    (void)state;
    open_embedder(&own);
    open_embedder(&other);
    const cl_uint before = queue_references(other.queue);
    assert_fails(weft_context_create(&context,
                     OPTIONS(.cl_context = own.cl, .cl_device = own.device, .cl_queue = other.queue)),
        WEFT_ERROR_ARGUMENT, "cl_queue does not belong to");
    assert_null(context);
    assert_int_equal(queue_references(other.queue), before);
    cl_command_queue const loose =
        clCreateCommandQueue(own.cl, own.device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error);
    if (error == CL_SUCCESS) {
        assert_fails(weft_context_create(
                         &context, OPTIONS(.cl_context = own.cl, .cl_device = own.device, .cl_queue = loose)),
            WEFT_ERROR_ARGUMENT, "out of order");
        clReleaseCommandQueue(loose);
    }
    wi_device_list list;
    assert_ok(wi_device_list_read(&list, NULL));
    for (size_t i = 0; i < list.count; i++) { /* where the machine has a second device */
        if (list.entries[i].device == own.device) continue;
        assert_fails(
            weft_context_create(&context, OPTIONS(.cl_context = own.cl, .cl_device = list.entries[i].device)),
            WEFT_ERROR_ARGUMENT, "cl_device is not a device of cl_context");
    }
    wi_device_list_clear(&list);
    close_embedder(&own);
    close_embedder(&other);
}

/* A driver whose clFinish returns too early is waited for by an event: the same numbers as of another driver. */
static void a_queue_that_ends_early_is_waited_for(void **state) {
    enum { ROWS = 4 };
    float x[ROWS * SMALL_NET_IN], y[2][ROWS * SMALL_NET_OUT];
    char *const fresh = scratch_make();
    (void)state;
    small_net_fill(x, ROWS * SMALL_NET_IN, 1);
    for (int early = 0; early < 2; early++) {
        weft_context *const context = scratch_context(fresh, NULL);
        if (early) wi_context_device(context)->caps.quirks |= WI_QUIRK_EARLY_FINISH;
        const small_net net = small_net_in(context);
        weft_plan *const plan = small_net_plan(net.y, ROWS);
        small_net_compute(plan, &net, x, ROWS, y[early]);
        weft_plan_release(plan);
        weft_graph_release(net.graph);
        weft_context_release(context);
    }
    assert_memory_equal(y[0], y[1], sizeof *y);
    assert_true(y[0][0] != y[0][1]);
    scratch_remove(fresh);
}

static void one_of_several_devices_is_used(void **state) {
    const cl_device_partition_property single[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    embedder own;
    cl_device_id parts[256];
    cl_uint most = 0, count = 0;
    cl_int error = CL_SUCCESS;
    (void)state;
    open_embedder(&own);
    /* Rusticl 22.3 has no sub-devices and crashes when it is asked for some */
    clGetDeviceInfo(own.device, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, sizeof most, &most, NULL);
    if (most > 1 && clCreateSubDevices(own.device, single, 256, parts, &count) == CL_SUCCESS && count > 1) {
        char *const fresh = scratch_make();
        cl_context both = clCreateContext(NULL, 2, parts, NULL, NULL, &error);
        assert_int_equal(error, CL_SUCCESS);
        for (size_t loaded = 0; loaded < 2; loaded++) {
            weft_context *context = NULL;
            assert_ok(weft_context_create(
                &context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = fresh,
                              .cl_context = both, .cl_device = parts[1]}));
            assert_ok(small_program_use(context, NULL));
            assert_int_equal(wi_programs_stats(wi_context_device(context))->loaded, loaded);
            wi_programs_save(wi_context_device(context));
            weft_context_release(context);
        }
        clReleaseContext(both);
        scratch_remove(fresh);
    }
    for (cl_uint i = 0; i < count; i++) clReleaseDevice(parts[i]);
    close_embedder(&own);
}

static void *use_a_context(void *status) {
    weft_context *context = NULL;
    weft_status *const result = status;
    *result = weft_context_create(&context, OPTIONS());
    for (int i = 0; i < 20 && *result == WEFT_OK; i++) *result = small_program_use(context, "-D OF_A_THREAD");
    if (*result != WEFT_OK) print_error("%s\n", weft_last_error());
    weft_context_release(context);
    return NULL;
}

static void contexts_of_two_threads_do_not_meet(void **state) {
    wi_thread threads[2] = {0};
    weft_status results[2] = {WEFT_ERROR_INTERNAL, WEFT_ERROR_INTERNAL};
    weft_context *context = NULL;
    (void)state;
    assert_ok(weft_context_create(&context, OPTIONS()));
    const bool oclgrind = strcmp(weft_context_device(context)->platform, "Oclgrind") == 0;
    weft_context_release(context);
    if (oclgrind)
        skip(); /* 21.10 computes wrong numbers when two threads run kernels, with or without Weft */
    for (int i = 0; i < 2; i++) assert_ok(wi_thread_start(&threads[i], use_a_context, &results[i]));
    for (int i = 0; i < 2; i++) wi_thread_join(&threads[i]);
    assert_int_equal(results[0], WEFT_OK);
    assert_int_equal(results[1], WEFT_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_knows_its_device),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(options_of_other_versions_are_read),
        cmocka_unit_test(the_class_can_be_chosen),
        cmocka_unit_test(the_environment_selects),
        cmocka_unit_test(opening_survives_every_lack_of_memory),
        cmocka_unit_test(the_end_of_a_context_is_told_once),
        cmocka_unit_test(the_probe_runs_once_for_a_folder),
        cmocka_unit_test(an_embedder_s_objects_are_used_and_given_back),
        cmocka_unit_test(an_embedder_s_objects_outlive_it),
        cmocka_unit_test(objects_that_do_not_fit_are_refused),
        cmocka_unit_test(a_queue_that_ends_early_is_waited_for),
        cmocka_unit_test(one_of_several_devices_is_used),
        cmocka_unit_test(contexts_of_two_threads_do_not_meet),
    };
    return cmocka_run_group_tests(tests, make_cache, remove_cache);
}
