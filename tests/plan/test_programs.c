/* What plans compile: each kernel once, whatever batches, purposes and processes it serves.
 *
 * The test stands between the library and OpenCL: it sees every source that is compiled. */
/* test slow */
#undef _POSIX_C_SOURCE
#define _GNU_SOURCE
#include "cl/context.h"
#include "cl/program.h"
#include "support/fixture.h"

#include "cl/disk_cache.h"
#include "plan/compiled_plan.h"
#include "support/scratch.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is compiled ---- */

enum { NAME = 24, MOST_NAMES = 1024 };

typedef struct name_set {
    char names[MOST_NAMES][NAME];
    size_t count;
} name_set;

static name_set compiled;         /* pieces, in all sources so far */
static int programs[2], repeated; /* programs: of the device's own lanes, of others */

static bool has(const name_set *set, const char *name) {
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->names[i], name) == 0) return true;
    return false;
}

/* Whether it was new. */
static bool add(name_set *set, const char *name) {
    if (has(set, name)) return false;
    assert_true(set->count < MOST_NAMES);
    snprintf(set->names[set->count++], NAME, "%s", name);
    return true;
}

/* The names of pieces: "#define WEFT_NAME(suffix) k0123456789abcdef_##suffix". */
static void note_source(const char *source) {
    static const char before[] = "#define WEFT_NAME(suffix) k";
    programs[strstr(source, "#undef WEFT_LANES") != NULL]++;
    for (const char *at = source; (at = strstr(at, before)); at++) {
        char name[NAME] = "k";
        const char *const digits = at + sizeof before - 1;
        const size_t length = strspn(digits, "0123456789abcdef");
        if (length != 16) continue; /* a default in a template */
        memcpy(name + 1, digits, length);
        repeated += !add(&compiled, name);
    }
}

static void forget_compiled(void) {
    compiled.count = 0;
    programs[0] = programs[1] = repeated = 0;
}

cl_program clCreateProgramWithSource(
    cl_context context, cl_uint count, const char **strings, const size_t *lengths, cl_int *error) {
    static cl_program (*next)(cl_context, cl_uint, const char **, const size_t *, cl_int *);
    if (!next) {
        void *const found = dlsym(RTLD_NEXT, "clCreateProgramWithSource");
        memcpy(&next, &found, sizeof next);
    }
    note_source(strings[count > 1 ? count - 2 : 0]); /* what stands around it holds for any source */
    return next(context, count, strings, lengths, error);
}

/* ---- a network with choices that change with the batch ---- */

typedef struct net {
    weft_graph *graph;
    weft_tensor *scores, *training[8];
    size_t training_count;
} net;

static net net_in(weft_context *context) {
    net n = {.graph = NULL};
    assert_weft_ok(weft_graph_create(&n.graph, context));
    weft_tensor *const image = weft_input(n.graph, "image", WEFT_F32, 3, 12, 12);
    weft_tensor *const maps = weft_relu(weft_conv2d(image, 8, 3));
    weft_tensor *const hidden = weft_relu(weft_linear(weft_flatten(weft_max_pool2d(maps, 2)), 24));
    n.scores = weft_linear(hidden, 10);
    n.training[0] = weft_cross_entropy(n.scores, weft_input(n.graph, "label", WEFT_I32));
    const weft_optimizer adam = weft_adam(1e-3f);
    assert_weft_ok(weft_minimize(n.training[0], &adam, n.training + 1, 7, &n.training_count));
    n.training_count++;
    return n;
}

static weft_plan *plan_of(const net *n, bool training, int64_t batch) {
    weft_plan *plan = NULL;
    const weft_plan_options options = {
        WEFT_PLAN_OPTIONS_INIT, .batch = batch, .inference = !training, .compile_late = true};
    assert_weft_ok(weft_plan_create(
        &plan, training ? n->training : &n->scores, training ? n->training_count : 1, &options));
    return plan;
}

/* The pieces that the plan's launches are kernels of. */
static void pieces_of(const weft_plan *plan, name_set *set) {
    set->count = 0;
    for (size_t i = 0; i < plan->launches.count; i++) {
        const char *const kernel = plan->launches.launches[i].launch.name;
        char name[NAME];
        if (!kernel) continue;
        snprintf(name, sizeof name, "%.17s", kernel);
        add(set, name);
    }
}

/* Plans and compiles; what is compiled must be what the plan needs and no plan before it had. In one program, and in one more
 * where maps have values of other lanes. The number of pieces compiled. */
static size_t compile_new(const net *n, bool training, int64_t batch) {
    static name_set before, needed;
    before = compiled;
    const int before_all = programs[0] + programs[1], plain = programs[0], quads = programs[1];
    weft_plan *const plan = plan_of(n, training, batch);
    assert_int_equal(programs[0] + programs[1], before_all);
    assert_weft_ok(wi_plan_compile(plan));
    pieces_of(plan, &needed);
    size_t fresh = 0;
    for (size_t i = 0; i < needed.count; i++) {
        fresh += !has(&before, needed.names[i]);
        assert_true(has(&compiled, needed.names[i]));
    }
    assert_int_equal(compiled.count, before.count + fresh);
    assert_true(programs[0] - plain <= 1 && programs[1] - quads <= 1);
    assert_int_equal(programs[0] + programs[1] > before_all, fresh > 0);
    assert_int_equal(repeated, 0);
    weft_plan_release(plan);
    return fresh;
}

static const int64_t batches[] = {1, 2, 7, 32, 33, 1000};
enum { BATCHES = sizeof batches / sizeof *batches };

static void test_batches(void **state) {
    (void)state;
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = ""});
    const net n = net_in(context);
    size_t first = 0, later = 0, silent = 0;
    forget_compiled();
    for (int i = 0; i < BATCHES; i++) {
        const size_t fresh = compile_new(&n, true, batches[i]);
        *(i == 0 ? &first : &later) += fresh;
        silent += fresh == 0;
    }
    /* Choices change, or this test could not fail; most kernels do not. */
    assert_true(later > 0 && later < first && silent > 0);
    for (int i = 0; i < BATCHES; i++) assert_int_equal(compile_new(&n, true, batches[i]), 0);
    weft_graph_release(n.graph);
    weft_context_release(context);
}

static void test_training_and_inference(void **state) {
    (void)state;
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = ""});
    const net n = net_in(context);
    static name_set needed;
    forget_compiled();
    (void)compile_new(&n, true, 32);
    const size_t fresh = compile_new(&n, false, 32);
    weft_plan *const plan = plan_of(&n, false, 32);
    assert_weft_ok(wi_plan_compile(plan));
    pieces_of(plan, &needed);
    if (fresh >= needed.count)
        fail_msg("inference shares none of its %zu kernels with training", needed.count);
    weft_plan_release(plan);
    weft_graph_release(n.graph);
    weft_context_release(context);
}

/* Layers that differ in numbers alone, here a constant, a rate and a random stream, have the same kernel. */
static void test_numbers(void **state) {
    (void)state;
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = ""});
    weft_graph *graph = NULL;
    assert_weft_ok(weft_graph_create(&graph, context));
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 4, 33);
    const struct layer {
        double factor;
        float rate;
        int programs;
    } layers[] = {{3.7, 0.25F, 1}, {-0.1, 0.7F, 0}, {2, 0.7F, 1}}; /* the compiler knows the last factor */
    forget_compiled();
    for (size_t i = 0; i < 3; i++) {
        const int before = programs[0] + programs[1];
        weft_tensor *const y = weft_dropout(weft_mul(x, weft_number(x, layers[i].factor)), layers[i].rate);
        weft_plan *plan = NULL;
        const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 1};
        assert_weft_ok(weft_plan_create(&plan, &y, 1, &options));
        assert_int_equal(programs[0] + programs[1] - before, layers[i].programs);
        weft_plan_release(plan);
    }
    weft_graph_release(graph);
    weft_context_release(context);
}

/* ---- processes one after another: a context each ---- */

typedef struct purpose {
    bool training;
    int64_t batch;
} purpose;

/* Plans in this order in a context of its own, and saves the binaries. Sources compiled. */
static int compile_in_order(const char *folder, const purpose *order, size_t count) {
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = folder});
    const net n = net_in(context);
    forget_compiled();
    for (size_t i = 0; i < count; i++) {
        weft_plan *const plan = plan_of(&n, order[i].training, order[i].batch);
        assert_weft_ok(wi_plan_compile(plan));
        weft_plan_release(plan);
    }
    wi_programs_save(wi_context_device(context));
    weft_graph_release(n.graph);
    weft_context_release(context);
    return programs[0] + programs[1];
}

static const purpose usual[] = {{true, 32}, {false, 32}, {true, 7}};
static const purpose reversed[] = {{true, 7}, {false, 32}, {true, 32}};
enum { PURPOSES = sizeof usual / sizeof *usual };

static void test_next_process(void **state) {
    (void)state;
    char *const folder = scratch_make();
    assert_true(compile_in_order(folder, usual, PURPOSES) > 0);
    assert_int_equal(compile_in_order(folder, usual, PURPOSES), 0);
    assert_int_equal(compile_in_order(folder, reversed, PURPOSES), 0);
    assert_int_equal(
        compile_in_order(folder, usual + 1, 1), 0); /* kernels of a training program among them */
    scratch_remove(folder);
}

static const char *index_path(const char *folder) {
    static char path[4096];
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = folder});
    wi_device *const device = wi_context_device(context);
    wi_disk_cache_path(device, wi_disk_cache_key(device, "pieces of programs", ""), path, sizeof path);
    weft_context_release(context);
    return path;
}

/* Without the index the same plans in the same order find what they had: their sources are the same. */
static void test_lost_index(void **state) {
    (void)state;
    char *const folder = scratch_make();
    assert_true(compile_in_order(folder, usual, PURPOSES) > 0);
    assert_int_equal(remove(index_path(folder)), 0);
    assert_int_equal(compile_in_order(folder, usual, PURPOSES), 0);
    assert_int_equal(compile_in_order(folder, reversed, PURPOSES), 0);
    scratch_remove(folder);
}

/* The index names programs that are gone: they are compiled again, and found afterwards. */
static void test_lost_programs(void **state) {
    (void)state;
    char *const folder = scratch_make();
    char path[4096], aside[4096];
    assert_true(compile_in_order(folder, usual, PURPOSES) > 0);
    snprintf(aside, sizeof aside, "%s", scratch_path(folder, "aside"));
    assert_int_equal(rename(index_path(folder), aside), 0);
    while (scratch_count(folder, ".weft", path) > 0) assert_int_equal(remove(path), 0);
    assert_int_equal(rename(aside, index_path(folder)), 0);
    assert_true(compile_in_order(folder, usual, PURPOSES) > 0);
    assert_int_equal(repeated, 0);
    assert_int_equal(compile_in_order(folder, reversed, PURPOSES), 0);
    scratch_remove(folder);
}

int main(void) {
    setenv("WEFT_SELF_TEST", "0",
        1); /* it compiles while a plan is made, on drivers that are not known to be right */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_training_and_inference),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_next_process),
        cmocka_unit_test(test_lost_index),
        cmocka_unit_test(test_lost_programs),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
