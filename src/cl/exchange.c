/* The exchange of values in sub-groups (contract in exchange.h). */
#include "cl/exchange.h"
#include "cl/environment.h"
#include "cl/probe.h"
#include "cl/program_cache.h"

#include <string.h>

/* The least compute capability with which NVIDIA's GPUs exchange values by shfl.sync, the shuffle for independently
 * scheduled threads: Parallel Thread Execution ISA, "Target ISA Notes" of shfl.sync. */
enum { SHUFFLE_CAPABILITY = 70 };

/* AMD's own drivers name devices by their architecture (gpu_engines.c). */
static bool is_of_amd(const char *name) {
    static const char *const begins[] = {"gfx9", "gfx10", "gfx11", "gfx12"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0) return true;
    return false;
}

const char *wi_exchange_of(const wi_gpu_traits *traits) {
    const char *const reported = traits->extensions;
    if (wi_gpu_reports(reported, "cl_nv_device_attribute_query"))
        return traits->capability >= SHUFFLE_CAPABILITY ? "WEFT_EXCHANGE_NVIDIA" : NULL;
    if (is_of_amd(traits->name)) return "WEFT_EXCHANGE_AMD";
    if (wi_gpu_reports(reported, "cl_intel_subgroups")) return "WEFT_EXCHANGE_INTEL";
    if (wi_gpu_reports(reported, "cl_khr_subgroups") && wi_gpu_reports(reported, "cl_khr_subgroup_shuffle"))
        return "WEFT_EXCHANGE_KHRONOS";
    return NULL;
}

/* ---- the probe ---- */

/* The test kernel: a value of each item must reach all items of the group. As in other kernels, there is no barrier
 * between two reductions. */
static const char source[] =
    "__kernel WEFT_ITEMS(WEFT_GROUP) void weft_probe(__global const int *in, __global float *out) {\n"
    "    __local float shared[2 * WEFT_SHARED];\n"
    "    __local int indices[WEFT_SHARED];\n"
    "    const int me = (int)get_local_id(0), x = in[get_global_id(0)];\n"
    "    __global float *const mine = out + get_global_id(0) * 6;\n"
    "    float best = (float)-x;\n"
    "    int where = me;\n"
    "    mine[0] = (float)weft_group_sum_i(x, indices, 0);\n"
    "    mine[1] = weft_group_sum_f((float)x, shared, 1);\n"
    "    mine[2] = weft_group_max_f((float)x, shared, 0);\n"
    "    weft_group_argmax_f(&best, &where, shared, indices, 1);\n"
    "    mine[3] = best;\n"
    "    mine[4] = (float)where;\n"
    "    mine[5] = weft_group_prod_f(x % 5 == 0 ? -2.0f : 1.0f, 0.0f, shared, 0);\n"
    "}\n";

enum { GROUPS = 3, MOST_ITEMS = GROUPS * 256, RESULTS = 6 };

static void set_inputs(int *in, int items) {
    for (int i = 0; i < items; i++) in[i] = (int)((unsigned)i * 2654435761u >> 18 & 1023) - 300;
}

static void expect(float *results, const int *in, int group) {
    int sum = 0, most = in[0], least = 0;
    float product = 1.0f;
    for (int i = 0; i < group; i++) {
        sum += in[i];
        most = in[i] > most ? in[i] : most;
        least = in[i] < in[least] ? i : least;
        product *= in[i] % 5 == 0 ? -2.0f : 1.0f;
    }
    results[0] = results[1] = (float)sum;
    results[2] = (float)most;
    results[3] = (float)-in[least];
    results[4] = (float)least;
    results[5] = product;
}

static bool are_right(const float *out, const int *in, int group) {
    for (int i = 0; i < GROUPS * group; i++) {
        float expected[RESULTS];
        expect(expected, in + i / group * group, group);
        for (int k = 0; k < RESULTS; k++)
            if (out[i * RESULTS + k] != expected[k]) return false;
    }
    return true;
}

/* *right: whether the results are right with the exchange caps.exchange, which programs define as a macro. */
static weft_status probe(bool *right, wi_device *device, const void *user) {
    int in[MOST_ITEMS];
    float out[MOST_ITEMS * RESULTS] = {0};
    const int group = device->profile.group, items = GROUPS * group;
    wi_program *program = NULL;
    (void)user;
    *right = false;
    if (items > MOST_ITEMS) return WEFT_OK;
    set_inputs(in, items);
    WI_TRY(wi_probe_program(&program, device, "the probe of sub-groups", NULL, source));
    const wi_probe numbers = {.kernel = "weft_probe",
        .inputs = in,
        .input_bytes = (size_t)items * sizeof *in,
        .results = out,
        .result_bytes = (size_t)(items * RESULTS) * sizeof *out,
        .items = (size_t)items,
        .group = (size_t)group};
    const weft_status status = wi_probe_run(&numbers, device, program);
    wi_program_forget(device, program);
    *right = status == WEFT_OK && are_right(out, in, group);
    return status;
}

/* ---- choosing an exchange ---- */

weft_status wi_exchange_try(wi_device *device, const char *way) {
    const wi_question question = {.name = way,
        .unused = "reductions do not use sub-groups",
        .fault = "their numbers are wrong",
        .text = source,
        .answer = probe};
    bool right = false;
    device->caps.exchange = way;
    const weft_status status = wi_probe_ask(&right, device, &question);
    if (!right) device->caps.exchange = NULL;
    return status;
}

static const char *model_of(const char *wanted) {
    static const struct {
        const char *name, *macro;
    } models[] = {{"model-8", "WEFT_EXCHANGE_MODEL=8"}, {"model-16", "WEFT_EXCHANGE_MODEL=16"},
        {"model-32", "WEFT_EXCHANGE_MODEL=32"}, {"model-64", "WEFT_EXCHANGE_MODEL=64"}};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strcmp(wanted, models[i].name) == 0) return models[i].macro;
    return NULL;
}

static weft_status find_reported(wi_device *device) {
    wi_gpu_traits traits;
    WI_TRY(wi_gpu_traits_read(&traits, device));
    const char *const way = wi_exchange_of(&traits);
    wi_gpu_traits_clear(&traits, device);
    return way ? wi_exchange_try(device, way) : WEFT_OK;
}

weft_status wi_exchange_find(wi_device *device) {
    const char *const wanted = wi_switch_value(WI_SWITCH_SUB_GROUPS);
    const bool is_gpu = device->caps.type & CL_DEVICE_TYPE_GPU;
    device->caps.exchange = NULL;
    if (device->profile.device_class != WEFT_CLASS_GPU || wi_switch_is(WI_SWITCH_SUB_GROUPS, "0"))
        return WEFT_OK;
    device->caps.exchange = wanted ? model_of(wanted) : NULL;
    if (device->caps.exchange) return WEFT_OK;
    return is_gpu || wi_switch_is(WI_SWITCH_SUB_GROUPS, "1") ? find_reported(device) : WEFT_OK;
}
