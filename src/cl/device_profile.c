/* Kinds of device, and the profile of a device (contract in device_profile.h). */
#include "cl/device_profile.h"
#include "cl/capabilities.h"
#include "cl/known_devices.h"
#include "cl/matrix_engine.h"
#include "cl/quirks.h"

#include <string.h>

/* A kind of device: the profile, and which devices of the profile's class have it. */
typedef struct device_kind {
    cl_device_type types; /* CL_DEVICE_TYPE_ bits; 0: any */
    wi_device_profile profile;
} device_kind;

/* Special kinds precede general ones. How the constants were found:
 *     cpu            two AVX-512 cores with PoCL 3.1, if nothing else is said
 *     peak_f32       `weft bench gemm 1000x3000x3000`; f64 has half as many lanes, 16-bit formats are computed in f32
 *     bandwidth      `weft bench map`
 *     peak_engine    AMX: `weft bench gemm --precision bf16 2048x2048x2048`
 *     peak_vectors   AVX-512 BF16: the same on two cores of AMD's Zen 4
 *     near_bandwidth `weft bench gemm 8x512x512`
 *     wake_seconds   `weft bench gemm 64x64x64`
 *     prices         weft_sum of 16,777,216 quotients, functions and random numbers
 *     gpu            estimates for a small GPU, if known_devices.c has no better ones, and the prices of processors: no GPU
 *                    was measured. exposed assumes that a unit with one work-group, not two, reaches half of its speed */
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
         .issues = 1.0,
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
             .narrow = true},
         .hiding_groups = 2,
         .drawing_groups = 2,
         .issues = 1.0,
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

/* The rate of 16-bit products on engines relative to f32, for devices whose row of known_devices.c has no rate. */
static const struct {
    unsigned engine;
    double rate;
} engine_rates[] = {{WI_ENGINE_MMA, 2}, {WI_ENGINE_WMMA, 2}, {WI_ENGINE_WMMA12, 4}, {WI_ENGINE_MFMA, 8},
    {WI_ENGINE_XMX8, 8}, {WI_ENGINE_XMX16, 8}};

/* The peak of a unit's matrix engine, in operations a second. */
static double peak_engine_of(
    const wi_device_profile *profile, const wi_capabilities *caps, const wi_known_facts *facts) {
    if (caps->engines & WI_ENGINE_AVX512_BF16) return profile->peak_vectors;
    if (!(caps->type & CL_DEVICE_TYPE_GPU)) return profile->peak_engine;
    if (facts->engine > 0.0) return profile->peak_f32 * facts->engine;
    for (size_t i = 0; i < sizeof engine_rates / sizeof *engine_rates; i++)
        if (caps->engines & engine_rates[i].engine) return profile->peak_f32 * engine_rates[i].rate;
    return profile->peak_engine;
}

/* The limit for the seconds of a launch; 0: no limit. Only kernels of class gpu can be divided into portions. If the
 * program sets no limit, only a GPU that may drive a display has one. */
static double longest_launch_of(
    const wi_device_profile *kind, const wi_capabilities *caps, const wi_known_facts *facts) {
    if (kind->longest_launch <= 0.0 || caps->longest_launch < 0.0) return 0.0;
    if (caps->longest_launch > 0.0) return caps->longest_launch;
    return !(caps->type & CL_DEVICE_TYPE_GPU) || facts->no_display > 0.0 ? 0.0 : kind->longest_launch;
}

/* Clocks of GPUs in MHz. Some drivers report 0, 1, or the host's clock. */
enum { LEAST_CLOCK = 300, MOST_CLOCK = 4000 };

/* The f32 operations a second of one unit; 0: not known. Lanes and clock are preferred to the data sheet's peak,
 * because they are also right for slower devices of the same name. */
static double peak_of_unit(const wi_known_facts *facts, cl_uint clock_mhz) {
    if (facts->lanes > 0.0 && clock_mhz >= LEAST_CLOCK && clock_mhz <= MOST_CLOCK)
        return 2e6 * facts->lanes * clock_mhz;
    return facts->units > 0.0 ? 1e12 * facts->teraflops / facts->units : 0.0;
}

/* Bytes a second of the device's memory; 0: not known. A device with fewer units than its row says, such as a slice of
 * a GPU, has proportionally less bandwidth. */
static double bandwidth_of(const wi_known_facts *facts, double units) {
    const double share = units < facts->units ? units / facts->units : 1.0;
    return 1e9 *
           (facts->gigabytes_second > 0.0 ? share * facts->gigabytes_second : units * facts->unit_gigabytes);
}

/* Replaces the constants of the kind by what is known of the device. f16 and bf16 without engines, and f64 if its rate
 * is not known, keep the kind's ratio to f32. */
static void apply_facts(
    wi_device_profile *profile, const wi_known_facts *facts, double units, cl_uint clock_mhz) {
    const double peak = peak_of_unit(facts, clock_mhz), bandwidth = bandwidth_of(facts, units);
    if (bandwidth > 0.0) profile->bandwidth = bandwidth;
    if (facts->issues > 0.0) profile->issues = facts->issues;
    if (peak <= 0.0) return;
    const double faster = peak / profile->peak_f32;
    profile->peak_f32 *= faster;
    profile->peak_f16 *= faster;
    profile->peak_bf16 *= faster;
    profile->peak_f64 = facts->f64 > 0.0 ? facts->f64 * peak : faster * profile->peak_f64;
    if (facts->lanes > 0.0 && facts->near_bytes > 0.0)
        profile->near_bandwidth = facts->near_bytes * peak / (2.0 * facts->lanes);
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

/* The last kind of each class has all types, so that the loop ends. */
static const wi_device_profile *kind_that_fits(const wi_capabilities *caps) {
    const device_kind *kind = kinds;
    while (kind->profile.device_class != caps->device_class || (kind->types && !(kind->types & caps->type)))
        kind++;
    return &kind->profile;
}

wi_device_profile wi_device_profile_of(const wi_capabilities *caps) {
    wi_device_profile profile = caps->kind ? *caps->kind : *kind_that_fits(caps);
    wi_known_facts facts = {0};
    profile.known = WI_KNOWN_NOT;
    if (caps->type & CL_DEVICE_TYPE_GPU) facts = wi_known_facts_of(caps, &profile.known);
    const cl_uint reported =
        facts.parts > 1.0 ? caps->compute_units / (cl_uint)facts.parts : caps->compute_units;
    const cl_uint units = caps->work_units > 0 ? caps->work_units : reported;
    profile.units = units > 0 ? units : 1;
    apply_facts(&profile, &facts, reported > 0 ? reported : 1.0, caps->clock_mhz);
    profile.max_group =
        caps->required_group > caps->max_work_group_size ? caps->required_group : caps->max_work_group_size;
    while (profile.group > WI_LEAST_GROUP && (size_t)profile.group > profile.max_group) profile.group /= 2;
    for (int i = 0; i < 3; i++) profile.max_items[i] = caps->max_work_item_sizes[i];
    profile.local_bytes = (size_t)caps->local_memory;
    profile.quirks = caps->quirks;
    /* Compilers with this quirk take ten times as long for items that compute four elements. */

    if (caps->quirks & WI_QUIRK_SCALAR_COMPILER) profile.loops.map_elements = 0;
    profile.engines = caps->engines;
    profile.is_processor = !(caps->type & CL_DEVICE_TYPE_GPU);
    if (profile.is_processor) profile.drawing_groups = 0;
    profile.block_reads = caps->block_reads;
    profile.async_copies = caps->async_copies;
    profile.upload_queue = caps->upload_queue;
    profile.longest_launch = longest_launch_of(&profile, caps, &facts);
    profile.peak_engine = peak_engine_of(&profile, caps, &facts);
    profile.library_gemm = (caps->type & CL_DEVICE_TYPE_GPU) && !(caps->quirks & WI_QUIRK_NO_CLBLAST);
    return profile;
}
