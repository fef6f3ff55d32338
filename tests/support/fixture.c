/* The context of a test program: see fixture.h. */
#include "support/fixture.h"
#include "support/scratch.h"

#include "cl/context.h"
#include "cl/device_values.h"
#include "cl/probe.h"
#include "cl/program.h"
#include "cl/quirks.h"
#include "kernels/product/gemm_check.h"
#include "kernels/registry.h"
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static weft_context *shared;
static char *folder;

static void show_warning(void *user, weft_log_level level, const char *line) {
    (void)user;
    if (level == WEFT_LOG_WARNING || getenv("WEFT_TEST_VERBOSE")) fprintf(stderr, "weft: %s\n", line);
}

/* Whether kernels of class gpu are to be compiled as for 2^30 elements or more (64-bit indices), for any size. */
static bool has_wide_indices(void) {
    const char *const value = getenv("WEFT_TEST_INDICES");
    return value && strcmp(value, "64") == 0;
}

weft_context *test_context_open(weft_context_options options) {
    weft_context *context = NULL;
    if (!options.log) options.log = show_warning;
    assert_weft_ok(weft_context_create(&context, &options));
    if (has_wide_indices()) wi_context_device(context)->profile.loops.narrow = false;
    return context;
}

/* The library checks the kernel of each engine by a product, which takes minutes for the model of an engine in Oclgrind. There the check
 * counts as passed; test_gemm_engine_model runs the kernel. */
static void take_models_as_right(wi_device *device) {
    char question[WI_GEMM_CHECK_NAME], name[WI_PROBE_NAME];
    if (!device->caps.engine_model || strcmp(device->info.platform, "Oclgrind") != 0) return;
    for (int i = 0; wi_product_family[i]; i++) {
        const wi_implementation *const product = wi_product_family[i];
        if (!(product->needs.engines & device->caps.engines)) continue;
        wi_gemm_check_name(question, device, "right", product, wi_implementation_variant(product, 0));
        wi_probe_name(name, question, "");
        wi_device_value_note(device, name, 1.0);
    }
}

weft_context *test_context(void) {
    if (shared) return shared;
    shared = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .seed = 42});
    if (test_selects_some()) take_models_as_right(wi_context_device(shared));
    return shared;
}

const char *test_folder(void) {
    if (!folder) folder = scratch_make();
    return folder;
}

const char *test_path(const char *name) {
    return scratch_path(test_folder(), name);
}

/* Counts the programs that could not be built with builtins.clh, which declares the functions that kernels call. Such a program takes long
 * to build for every user, so the test fails. */
static int count_undeclared(void) {
    const size_t undeclared = shared ? wi_programs_stats(wi_context_device(shared))->undeclared : 0;
    if (undeclared > 0)
        fprintf(stderr, "%zu programs call what cl_kernels/builtins.clh does not declare\n", undeclared);
    return (int)undeclared;
}

int test_finish(int failed) {
    failed += count_undeclared();
    scratch_remove(folder);
    folder = NULL;
    weft_context_release(shared);
    shared = NULL;
    return failed;
}

weft_graph *test_graph(void) {
    weft_graph *graph = NULL;
    assert_weft_ok(weft_graph_create(&graph, test_context()));
    return graph;
}

bool test_reduced(void) {
    const char *const value = getenv("WEFT_TEST_REDUCED");
    return value && *value && strcmp(value, "0") != 0;
}

static const char *selected_cases(void) {
    const char *const value = getenv("WEFT_TEST_CASES");
    return value && *value ? value : NULL;
}

bool test_selects_some(void) {
    return selected_cases() != NULL;
}

bool test_selects(const char *name) {
    return !test_selects_some() || fnmatch(selected_cases(), name, 0) == 0;
}

/* Runs before main: sets cmocka's filter from $WEFT_TEST_CASES. */
__attribute__((constructor)) static void select_tests(void) {
    if (test_selects_some()) cmocka_set_test_filter(selected_cases());
}

bool test_device_flushes(void) {
    cl_device_fp_config config = 0;
    const cl_int error = clGetDeviceInfo(
        wi_context_device(test_context())->id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof config, &config, NULL);
    return error != CL_SUCCESS || !(config & CL_FP_DENORM);
}

bool test_device_loose(void) {
    static bool told;
    const bool loose = wi_context_device(test_context())->caps.quirks & WI_QUIRK_LOOSE_EDGES;
    if (loose && !told)
        print_message("this driver %s: such results are not judged\n", wi_quirk_text(WI_QUIRK_LOOSE_EDGES));
    told = told || loose;
    return loose;
}

void test_assert_status(weft_status got, weft_status wanted, const char *what, const char *file, int line) {
    if (got == wanted) return;
    print_error(
        "%s gave %s, not %s: %s\n", what, weft_status_name(got), weft_status_name(wanted), weft_last_error());
    _fail(file, line);
}

void test_assert_fails(weft_status got, weft_status wanted, const char *what, const char *file, int line,
    const char *const *texts) {
    test_assert_status(got, wanted, what, file, line);
    for (; *texts; texts++) {
        if (strstr(weft_last_error(), *texts)) continue;
        print_error("%s: \"%s\" does not hold \"%s\"\n", what, weft_last_error(), *texts);
        _fail(file, line);
    }
}

/* ---- numbers ---- */

test_random test_random_named(const char *name, uint64_t number) {
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 1099511628211u;
    return (test_random){hash + number * 0x9E3779B97F4A7C15u};
}

uint64_t test_random_bits(test_random *random) {
    uint64_t z = random->state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

double test_random_between(test_random *random, double low, double high) {
    return low + (high - low) * ((double)(test_random_bits(random) >> 11) * 0x1p-53);
}

int64_t test_random_below(test_random *random, int64_t bound) {
    return (int64_t)(test_random_bits(random) % (uint64_t)bound);
}
