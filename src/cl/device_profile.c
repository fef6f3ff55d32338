/* The kinds of device (contract in device_profile.h). */
#include "cl/device_profile.h"
#include "cl/capabilities.h"
#include "cl/device_list.h"
#include "cl/matrix_engine.h"
#include "cl/quirks.h"

#include <string.h>

/* A row: the devices of the profile's class that it fits, and the profile. */
typedef struct device_kind {
    cl_device_type types; /* CL_DEVICE_TYPE_ bits; 0: any */
    wi_device_profile profile;
} device_kind;

/* What is special comes first. Processors were measured on two AVX-512 cores with PoCL 3.1. peak_f32: `weft bench gemm
 * 1000x3000x3000`; f64 has half as many lanes, and 16-bit formats are converted and computed in f32. bandwidth: `weft
 * bench map`. peak_engine: AMX, `weft bench gemm
 * --precision bf16 2048x2048x2048`; peak_vectors: AVX-512 BF16, the same on two cores of AMD's Zen 4. near_bandwidth and wake_seconds: `weft bench gemm` of 8x512x512 and of 64x64x64. prices: weft_sum of
 * 16,777,216 quotients, functions and random numbers (docs/measurements.md). GPUs have the figures of a small one, and
 * the prices of processors, until measurements replace them. One group of the two that hide each other's waits reaches half
 * of the speed. */
static const device_kind kinds[] = {
    {.profile = {.name = "cpu",
         .device_class = WEFT_CLASS_CPU,
         .lanes = 16,
         .sub_group = 1,
         .group = 1,
         .item_walks = true,
         .items_a_unit = 4,
         .loops = {.item_elements = 4096, .stores_functions = true},
         .hiding_groups = 1,
         .peak_f32 = 1.25e11,
         .peak_f64 = 6.2e10,
         .peak_f16 = 1.25e11,
         .peak_bf16 = 1.25e11,
         .peak_engine = 1.1e12,
         .peak_vectors = 2e11,
         .prices = {.simple = 2, .division = 30, .function = 60, .random = 600},
         .exposed = 1.0,
         .bandwidth = 3.5e10,
         .near_bandwidth = 6e10,
         .launch_seconds = 2e-6,
         .read_seconds = 5e-9,
         .wake_seconds = 3e-6,
         .transfer_bandwidth = 1e10,
         .transfer_seconds = 2e-5,
         .runs = 1e5,
         .near_cache = 1 << 20}},
    {.profile = {.name = "gpu",
         .device_class = WEFT_CLASS_GPU,
         .lanes = 1,
         .sub_group = 32,
         .group = 64,
         .loops = {.results = 32768,
             .split_elements = 4096,
             .split_rounds = 256,
             .least_rounds = 32,
             .splits = 1024,
             .map_elements = 4,
             .narrow = true,
             .joins = true,
             .sums = true},
         .hiding_groups = 2,
         .peak_f32 = 2e11,
         .peak_f64 = 6e9,
         .peak_f16 = 2e11,
         .peak_bf16 = 2e11,
         .peak_engine = 1.6e12,
         .prices = {.simple = 2, .division = 30, .function = 60, .random = 600},
         .exposed = 0.5,
         .bandwidth = 3e11,
         .near_bandwidth = 1e11,
         .launch_seconds = 5e-6,
         .read_seconds = 3.9e-8,
         .transfer_bandwidth = 1e10,
         .transfer_seconds = 2e-5,
         .runs = 1e5,
         .near_cache = 1 << 15,
         .longest_launch = 0.5}},
};

/* How many times as fast as multiply-adds of f32 the matrix engine of a GPU multiplies 16-bit numbers, dense and with sums of f32, by
 * parts of names, in any case; what is special comes first. By the vendors' data sheets, in TFLOP/s: A100 312 and 19.5, H100 SXM 989
 * and 66.9, GeForce RTX 4090 165 and 82.6; Radeon RX 7900 XTX 123 and 61.4, RX 9070 XT 195 and 48.7; Instinct
 * MI250X 383 and 47.9, MI300X 1307 and 163; Arc A770 138 and 17.2, Arc B580 117 and 14.6, Data Center Max 1550 839 and
 * 52.4. */
static const struct {
    unsigned engine;
    const char *device;
    double rate;
} engine_rates[] = {{WI_ENGINE_MMA, "A100 ", 16}, {WI_ENGINE_MMA, "A100-", 16}, {WI_ENGINE_MMA, "A800", 16},
    {WI_ENGINE_MMA, "H100", 15}, {WI_ENGINE_MMA, "H200", 15}, {WI_ENGINE_MMA, "H800", 15},
    {WI_ENGINE_MMA, "B200", 15}, {WI_ENGINE_MMA, "", 2}, {WI_ENGINE_WMMA, "", 2}, {WI_ENGINE_WMMA12, "", 4},
    {WI_ENGINE_MFMA, "", 8}, {WI_ENGINE_XMX8, "", 8}, {WI_ENGINE_XMX16, "Data Center GPU Max", 16},
    {WI_ENGINE_XMX16, "", 8}};

/* Of what is no GPU with an engine: that of the kind. */
static double peak_engine_of(const wi_device_profile *kind, const wi_capabilities *caps) {
    if (caps->engines & WI_ENGINE_AVX512_BF16) return kind->peak_vectors;
    if (!(caps->type & CL_DEVICE_TYPE_GPU)) return kind->peak_engine;
    for (size_t i = 0; i < sizeof engine_rates / sizeof *engine_rates; i++) {
        if (caps->engines & engine_rates[i].engine &&
            wi_contains_any_case(caps->name ? caps->name : "", engine_rates[i].device))
            return kind->peak_f32 * engine_rates[i].rate;
    }
    return kind->peak_engine;
}

/* What drivers of GPUs report as one compute unit, where it is not a unit with local memory and about 128 lanes, as those of
 * AMD and NVIDIA are: `parts` of it are one. What is special comes first. Intel reports vector engines: 16 of them are an
 * Xe core or a dual subslice, 8 of Data Center Max (which are twice as wide), 8 a subslice before Xe. */
static const struct {
    const char *device, *vendor; /* parts of their names, in any case */
    cl_uint parts;
} unit_counts[] = {{"Data Center GPU Max", "Intel", 8}, {"HD Graphics 5", "Intel", 8},
    {"HD Graphics 6", "Intel", 8}, {"", "Intel", 16}};

static cl_uint units_of(const wi_capabilities *caps) {
    const char *const name = caps->name ? caps->name : "", *const vendor = caps->vendor ? caps->vendor : "";
    if (!(caps->type & CL_DEVICE_TYPE_GPU)) return caps->compute_units;
    for (size_t i = 0; i < sizeof unit_counts / sizeof *unit_counts; i++) {
        if (wi_contains_any_case(name, unit_counts[i].device) &&
            wi_contains_any_case(vendor, unit_counts[i].vendor))
            return caps->compute_units / unit_counts[i].parts;
    }
    return caps->compute_units;
}

/* Processors that have no output for a display, by parts of their names, in any case: nobody waits for a picture. */
static const char *const without_display[] = {"Tesla", "A100", "A800", "H100", "H200", "H800", "GH200",
    "B200", "GB200", "V100", "P100", "Instinct", "gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950",
    "Data Center GPU"};

/* Only kernels of class gpu can be cut; and none is where no display can be, or the program says so. */
static double longest_launch_of(const wi_device_profile *kind, const wi_capabilities *caps) {
    if (kind->longest_launch <= 0.0 || caps->longest_launch < 0.0) return 0.0;
    if (caps->longest_launch > 0.0) return caps->longest_launch;
    if (!(caps->type & CL_DEVICE_TYPE_GPU)) return 0.0;
    for (size_t i = 0; caps->name && i < sizeof without_display / sizeof *without_display; i++)
        if (wi_contains_any_case(caps->name, without_display[i])) return 0.0;
    return kind->longest_launch;
}

double wi_device_peak(const wi_device_profile *device, size_t element_bytes) {
    const double unit = element_bytes > sizeof(float) ? device->peak_f64 : device->peak_f32;
    return unit * (double)device->units;
}

int64_t wi_device_near_floats(const wi_device_profile *device) {
    return (int64_t)(device->near_cache / sizeof(float));
}

enum { KINDS = sizeof kinds / sizeof *kinds };

const wi_device_profile *wi_device_kind(int index) {
    return index < KINDS ? &kinds[index].profile : NULL;
}

const wi_device_profile *wi_device_kind_named(const char *name) {
    for (int i = 0; i < KINDS; i++) {
        if (strcmp(kinds[i].profile.name, name) == 0) return &kinds[i].profile;
    }
    return NULL;
}

/* The last of each class fits all devices of it. */
static const wi_device_profile *kind_that_fits(const wi_capabilities *caps) {
    const device_kind *kind = kinds;
    while (kind->profile.device_class != caps->device_class || (kind->types && !(kind->types & caps->type)))
        kind++;
    return &kind->profile;
}

/* Kernels combine the values of a group in eights. */
enum { LEAST_GROUP = 8 };

wi_device_profile wi_device_profile_of(const wi_capabilities *caps) {
    wi_device_profile profile = caps->kind ? *caps->kind : *kind_that_fits(caps);
    const cl_uint units = caps->work_units > 0 ? caps->work_units : units_of(caps);
    profile.units = units > 0 ? units : 1;
    profile.max_group = caps->max_work_group_size;
    while (profile.group > LEAST_GROUP && (size_t)profile.group > profile.max_group) profile.group /= 2;
    for (int i = 0; i < 3; i++) profile.max_items[i] = caps->max_work_item_sizes[i];
    profile.local_bytes = (size_t)caps->local_memory;
    profile.quirks = caps->quirks;
    /* Such a compiler takes ten times as long for four lanes. */
    if (caps->quirks & WI_QUIRK_SCALAR_COMPILER) profile.loops.map_elements = 0;
    profile.engines = caps->engines;
    profile.is_processor = !(caps->type & CL_DEVICE_TYPE_GPU);
    profile.block_reads = caps->block_reads;
    profile.async_copies = caps->async_copies;
    profile.upload_queue = caps->upload_queue;
    profile.longest_launch = longest_launch_of(&profile, caps);
    profile.peak_engine = peak_engine_of(&profile, caps);
    profile.library_gemm = (caps->type & CL_DEVICE_TYPE_GPU) && !(caps->quirks & WI_QUIRK_NO_CLBLAST);
    return profile;
}
