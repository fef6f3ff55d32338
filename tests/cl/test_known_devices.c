/* The table of devices: what is special comes before what is general, and its figures go together. */
#include "cl/known_devices.h"
#include "cl/matrix_engine.h"
#include "cl/opened_device.h"
#include "support/checks.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* As drivers report them. */
typedef struct reported {
    const char *name, *vendor, *board, *architecture;
    cl_uint units, clock;
} reported;

static wi_device_profile profile_of(const reported *device) {
    wi_capabilities caps = {.device_class = WEFT_CLASS_GPU,
        .type = CL_DEVICE_TYPE_GPU,
        .name = device->name,
        .vendor = device->vendor,
        .compute_units = device->units,
        .clock_mhz = device->clock,
        .max_work_group_size = 256};
    snprintf(caps.board, sizeof caps.board, "%s", device->board ? device->board : "");
    snprintf(
        caps.architecture, sizeof caps.architecture, "%s", device->architecture ? device->architecture : "");
    return wi_device_profile_of(&caps);
}

static bool is_about(double number, double wanted) {
    return fabs(number - wanted) <= 0.01 * wanted;
}

#define NVIDIA "NVIDIA Corporation"
#define AMD    "Advanced Micro Devices, Inc."
#define INTEL  "Intel(R) Corporation"

/* teraflops and gigabytes of the whole device. */
static const struct {
    reported device;
    wi_known_level level;
    int64_t units;
    double teraflops, gigabytes;
} devices[] = {
    {{"NVIDIA A100-SXM4-40GB", NVIDIA, NULL, "sm_80", 108, 1410}, WI_KNOWN_DEVICE, 108, 19.5, 1555},
    {{"NVIDIA A100 80GB PCIe", NVIDIA, NULL, "sm_80", 108, 1410}, WI_KNOWN_DEVICE, 108, 19.5, 1935},
    {{"NVIDIA H100 80GB HBM3", NVIDIA, NULL, "sm_90", 132, 1980}, WI_KNOWN_DEVICE, 132, 66.9, 3350},
    {{"NVIDIA H100 PCIe", NVIDIA, NULL, "sm_90", 114, 1755}, WI_KNOWN_DEVICE, 114, 51.2, 2000},
    {{"NVIDIA GeForce RTX 3060", NVIDIA, NULL, "sm_86", 28, 1777}, WI_KNOWN_DEVICE, 28, 12.7, 360},
    {{"NVIDIA GeForce RTX 3060 Ti", NVIDIA, NULL, "sm_86", 38, 1665}, WI_KNOWN_DEVICE, 38, 16.2, 448},
    {{"Tesla V100-SXM2-16GB", NVIDIA, NULL, "sm_70", 80, 1530}, WI_KNOWN_DEVICE, 80, 15.7, 900},
    {{"Tesla V100-PCIE-16GB", NVIDIA, NULL, "sm_70", 80, 1380}, WI_KNOWN_DEVICE, 80, 14.1, 900},
    {{"NVIDIA B200", NVIDIA, NULL, "sm_100", 148, 1965}, WI_KNOWN_DEVICE, 148, 74.4, 7700},
    {{"NVIDIA GeForce RTX 3090 Ti", NVIDIA, NULL, "sm_86", 84, 1860}, WI_KNOWN_DEVICE, 84, 40.0, 1008},
    {{"NVIDIA GeForce GTX 1080", NVIDIA, NULL, "sm_61", 20, 1733}, WI_KNOWN_ARCHITECTURE, 20, 8.9, 320},
    /* a slice, and a sibling with fewer and slower units */
    {{"NVIDIA A100-SXM4-40GB MIG 3g.20gb", NVIDIA, NULL, "sm_80", 42, 1410}, WI_KNOWN_DEVICE, 42, 7.58, 605},
    {{"NVIDIA GeForce RTX 4090 Laptop GPU", NVIDIA, NULL, "sm_89", 76, 2040}, WI_KNOWN_DEVICE, 76, 39.7, 598},
    /* clocks that are none: the listed figures of the device */
    {{"NVIDIA A100-SXM4-40GB", NVIDIA, NULL, "sm_80", 108, 0}, WI_KNOWN_DEVICE, 108, 19.5, 1555},
    {{"Tesla T4", NVIDIA, NULL, "sm_75", 40, 1}, WI_KNOWN_DEVICE, 40, 8.1, 320},
    {{"gfx1100", AMD, "AMD Radeon RX 7900 XTX", "gfx1100", 48, 2498}, WI_KNOWN_DEVICE, 48, 61.4, 960},
    {{"AMD Radeon RX 7900 XTX (radeonsi, navi31, LLVM 15.0.7)", "AMD", NULL, NULL, 96, 0}, WI_KNOWN_DEVICE,
        48, 61.4, 960},
    {{"Intel(R) Arc(TM) A770 Graphics", INTEL, NULL, "ip_12.55", 512, 2100}, WI_KNOWN_DEVICE, 32, 17.2, 560},
    {{"Intel(R) Arc(TM) B580 Graphics", INTEL, NULL, "ip_20.1", 160, 2670}, WI_KNOWN_DEVICE, 20, 13.7, 456},
    /* no row has their names */
    {{"NVIDIA RTX A1000", NVIDIA, NULL, "sm_86", 16, 1400}, WI_KNOWN_ARCHITECTURE, 16, 5.73, 160},
    {{"gfx1100", AMD, NULL, "gfx1100", 48, 2498}, WI_KNOWN_ARCHITECTURE, 48, 61.4, 912},
    {{"Intel(R) Graphics", INTEL, NULL, "ip_20.4", 64, 2000}, WI_KNOWN_ARCHITECTURE, 8, 4.1, 136},
    /* nor their architectures */
    {{"NVIDIA of the future", NVIDIA, NULL, "sm_250", 100, 2000}, WI_KNOWN_VENDOR, 100, 51.2, 1000},
    {{"Intel(R) Iris(R) Xe Graphics", INTEL, NULL, NULL, 96, 1300}, WI_KNOWN_VENDOR, 6, 2.0, 54},
};

static void the_most_special_row_counts(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        const wi_device_profile profile = profile_of(&devices[i].device);
        const double peak = wi_device_peak(&profile, sizeof(float)) / 1e12;
        if (profile.known != devices[i].level || profile.units != devices[i].units ||
            !is_about(peak, devices[i].teraflops) || !is_about(profile.bandwidth / 1e9, devices[i].gigabytes))
            fail_msg("%s: level %d, %lld units, %g teraflops, %g gigabytes a second", devices[i].device.name,
                (int)profile.known, (long long)profile.units, peak, profile.bandwidth / 1e9);
    }
}

/* Nothing but units is known of them. */
static void unknown_devices_are_of_the_class(void **state) {
    const reported cards[] = {{"A card", "A vendor", NULL, NULL, 50, 2000}, {"", "", NULL, NULL, 50, 0}};
    const wi_device_profile *const kind = wi_device_kind_named("gpu");
    (void)state;
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) {
        const wi_device_profile profile = profile_of(&cards[i]);
        assert_int_equal(profile.known, WI_KNOWN_NOT);
        assert_true(profile.peak_f32 == kind->peak_f32 && profile.peak_f64 == kind->peak_f64);
        assert_true(profile.bandwidth == kind->bandwidth && profile.near_bandwidth == kind->near_bandwidth);
    }
    const wi_capabilities nameless = {.device_class = WEFT_CLASS_GPU, .type = CL_DEVICE_TYPE_GPU};
    assert_int_equal(wi_device_profile_of(&nameless).known, WI_KNOWN_NOT);
}

/* The class of kernels does not make a processor a GPU. */
static void processors_have_no_row(void **state) {
    const wi_capabilities caps = {.device_class = WEFT_CLASS_GPU,
        .type = CL_DEVICE_TYPE_CPU,
        .name = "Intel(R) Xeon(R) Processor",
        .vendor = INTEL,
        .compute_units = 64,
        .clock_mhz = 2000};
    const wi_device_profile profile = wi_device_profile_of(&caps);
    (void)state;
    assert_int_equal(profile.known, WI_KNOWN_NOT);
    assert_int_equal(profile.units, 64);
    assert_true(profile.bandwidth == wi_device_kind_named("gpu")->bandwidth);
}

/* A context's own number of units divides the work, not the memory. */
static void work_units_share_the_memory(void **state) {
    const wi_capabilities caps = {.device_class = WEFT_CLASS_GPU,
        .type = CL_DEVICE_TYPE_GPU,
        .name = "NVIDIA A100-SXM4-40GB",
        .compute_units = 108,
        .work_units = 54};
    (void)state;
    assert_int_equal(wi_device_profile_of(&caps).units, 54);
    assert_true(is_about(wi_device_profile_of(&caps).bandwidth, 1.555e12));
}

static void rows_stand_in_order(void **state) {
    const wi_known_device *row, *before = NULL;
    (void)state;
    for (int i = 0; (row = wi_known_device_row(i)) != NULL; before = row, i++) {
        assert_true(row->level < WI_KNOWN_NOT && row->part[0] != '\0');
        if (before && before->level > row->level) fail_msg("%s stands behind %s", row->part, before->part);
        assert_true((row->title != NULL) == (row->source != NULL));
    }
}

/* Makers' figures and what the architecture does in a clock; a row that another one hides has that one's. */
static void figures_go_together(void **state) {
    const wi_known_device *row;
    int titles = 0;
    (void)state;
    for (int i = 0; (row = wi_known_device_row(i)) != NULL; i++) {
        if (!row->title) continue;
        wi_known_level level;
        const wi_capabilities caps = wi_known_capabilities(row);
        const wi_known_facts facts = wi_known_facts_of(&caps, &level);
        const double megahertz = 1e6 * row->facts.teraflops / (row->facts.units * 2.0 * facts.lanes);
        if (facts.gigabytes_second != row->facts.gigabytes_second || facts.units != row->facts.units)
            fail_msg("%s is hidden", row->title);
        if (!(megahertz > 1300 && megahertz < 2700)) fail_msg("%s: %g MHz", row->title, megahertz);
        assert_true(facts.gibibytes > 0 && facts.unit_gigabytes > 0);
        titles++;
    }
    assert_true(titles >= 10);
}

/* What `weft advise` plans for. */
static void titles_are_gpus_with_limits(void **state) {
    const wi_known_device *row;
    wi_known_level level;
    (void)state;
    for (int i = 0; (row = wi_known_device_row(i)) != NULL; i++) {
        if (!row->title) continue;
        const wi_capabilities caps = wi_known_capabilities(row);
        const wi_device_profile profile = wi_device_profile_of(&caps);
        assert_false(profile.is_processor);
        assert_true(profile.units == (int64_t)row->facts.units);
        assert_true(is_about(wi_device_peak(&profile, sizeof(float)), 1e12 * row->facts.teraflops));
        assert_true(is_about(profile.bandwidth, 1e9 * row->facts.gigabytes_second));
        assert_true((double)profile.units * profile.near_bandwidth > profile.bandwidth);
        /* multiprocessors of 64 lanes issue for 128 */
        const bool halves =
            strncmp(row->architecture, "sm_", 3) == 0 && wi_known_facts_of(&caps, &level).lanes == 64.0;
        assert_true(profile.issues == (halves ? 2.0 : 1.0));
        assert_true(profile.max_group >= 256 && profile.local_bytes >= 48 << 10);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_most_special_row_counts),
        cmocka_unit_test(unknown_devices_are_of_the_class), cmocka_unit_test(processors_have_no_row),
        cmocka_unit_test(work_units_share_the_memory), cmocka_unit_test(rows_stand_in_order),
        cmocka_unit_test(figures_go_together), cmocka_unit_test(titles_are_gpus_with_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
