/* The self-test of kernels (contract in self_test.h). */
#include "kernels/self_test.h"
#include "base/platform.h"
#include "cl/environment.h"
#include "cl/findings.h"
#include "cl/kernel_source.h"
#include "cl/program.h"
#include "cl/quirks.h"
#include "kernels/contraction_case.h"
#include "kernels/kernel_op_case.h"
#include "kernels/product/gemm_product.h"
#include "ops/attention/attention.h"
#include "ops/recurrent/recurrent_scan.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SCALE = 8, MOST_COMPARED = 3000, FAULT = 512 };

typedef struct self_test {
    wi_device *device;
    const wi_implementation *implementation;
    const wi_variant *variant;
    const wi_contraction_case *small;
    double *numbers[2]; /* the operands */
    float *made;        /* the result */
    wi_buffer buffers[WI_CASE_ARRAYS];
    char fault[FAULT]; /* "": none */
} self_test;

/* ---- on the device ---- */

static weft_status fill(self_test *test, int which) {
    const size_t count = (size_t)test->small->counts[which];
    test->numbers[which] = wi_allocate_array(test->device->host.allocator, count, sizeof(double));
    if (!test->numbers[which]) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) test->numbers[which][i] = wi_case_number(i);
    return wi_case_upload(&test->buffers[which], test->device, test->small->site.formats[which], count);
}

/* The result begins as NaN, so that elements which the kernel does not write are found. */
static weft_status make_result(self_test *test) {
    wi_device *const device = test->device;
    const size_t count = (size_t)test->small->counts[WI_CASE_C];
    test->made = wi_allocate_array(device->host.allocator, count, sizeof *test->made);
    if (!test->made) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) test->made[i] = NAN;
    WI_TRY(wi_buffer_create(&test->buffers[WI_CASE_C], device, count * sizeof *test->made));
    return wi_buffer_write(
        device, test->buffers[WI_CASE_C].memory, 0, test->made, count * sizeof *test->made);
}

static weft_status compute(self_test *test) {
    wi_device *const device = test->device;
    const wi_kernel_site *const site = &test->small->site;
    wi_gemm_product product = {0};
    weft_status status;
    for (int i = 0; i < WI_CASE_C; i++) WI_TRY(fill(test, i));
    WI_TRY(make_result(test));
    WI_TRY_DONE(wi_gemm_product_create_at(&product, device, test->implementation, test->variant, site,
        &(wi_gemm_operands){.a = test->buffers[WI_CASE_A].memory,
            .b = test->buffers[WI_CASE_B].memory,
            .c = test->buffers[WI_CASE_C].memory}));
    WI_TRY_DONE(wi_gemm_product_run(&product));
    status = wi_buffer_read(device, test->buffers[WI_CASE_C].memory, 0, test->made,
        (size_t)test->small->counts[WI_CASE_C] * sizeof *test->made);
done:
    wi_gemm_product_clear(&product);
    return status;
}

static void compare(self_test *test) {
    const wi_contraction_case *const small = test->small;
    const int64_t count = small->counts[WI_CASE_C], step = (count / MOST_COMPARED) | 1;
    const double allowed = wi_contraction_error_allowed(&small->site, (double)small->terms);
    for (int64_t i = 0; i < count; i += step) {
        const double expected = wi_contraction_case_expected(small, test->numbers[0], test->numbers[1], i);
        if (fabs((double)test->made[i] - expected) <= allowed) continue;
        snprintf(test->fault, sizeof test->fault,
            "it computes wrong numbers: element %lld of a small case is %g, and must be %g", (long long)i,
            (double)test->made[i], expected);
        return;
    }
}

static weft_status run(self_test *test) {
    const weft_allocator *const allocator = test->device->host.allocator;
    const weft_status status = compute(test);
    if (status == WEFT_OK) compare(test);
    for (int i = 0; i < WI_CASE_ARRAYS; i++) wi_buffer_release(&test->buffers[i], test->device);
    for (int i = 0; i < WI_CASE_C; i++) wi_release(allocator, test->numbers[i]);
    wi_release(allocator, test->made);
    return status;
}

/* Makes the smallest case that the implementation accepts; false: there is none. */
static bool find_case(wi_contraction_case *small, const wi_implementation *implementation,
    const wi_variant *variant, const wi_kernel_site *site, wi_arena *arena) {
    for (int64_t scale = 1; scale <= MOST_SCALE; scale *= 2) {
        if (wi_contraction_case_make(small, site, scale, arena) != WEFT_OK) return false;
        if (wi_implementation_accepts(implementation, variant, &small->site)) return true;
    }
    return false;
}

/* ---- what is tested ---- */

/* Is a self-test wanted? $WEFT_SELF_TEST decides, if it is set. Otherwise kernels are tested if `always` is set, on drivers that
 * are not trusted, and if WEFT_KERNEL_DIR replaces kernels. */
static bool is_wanted(const wi_device *device, bool always) {
    if (wi_switch_value(WI_SWITCH_SELF_TEST)) return wi_switch_is(WI_SWITCH_SELF_TEST, "1");
    return always || !wi_driver_is_proven(&device->info) || wi_environment("WEFT_KERNEL_DIR");
}

/* The kernel ops for which a device has several kernels. */
static const struct {
    const wi_op *op;
    wi_kernel_op_case_maker *make;
} kernel_ops[] = {{&wi_op_attention_forward, wi_attention_case},
    {&wi_op_attention_gradient, wi_attention_gradient_case}, {&wi_op_recurrent_forward, wi_recurrent_case},
    {&wi_op_recurrent_back, wi_recurrent_gradient_case}};

static wi_kernel_op_case_maker *maker_of(const wi_op *op) {
    for (size_t i = 0; i < sizeof kernel_ops / sizeof *kernel_ops; i++)
        if (kernel_ops[i].op == op) return kernel_ops[i].make;
    return NULL;
}

static bool is_testable(
    const wi_implementation *implementation, const wi_op *op, const wi_kernel_site *site) {
    const bool wide = site->formats[0] == WEFT_F64 || site->formats[1] == WEFT_F64;
    const bool contraction = site->product || wi_implementation_computes(implementation, &wi_op_conv_weight);
    return (contraction || maker_of(op)) && implementation->file && !wide;
}

/* ---- names ---- */

/* Appends the text that identifies a contraction's kernel: only the file and the parameters, as macros depend on the site's
 * sizes. */
static weft_status append_contraction(
    wi_text *text, const wi_implementation *implementation, const wi_variant *variant) {
    WI_TRY(wi_kernel_source_include(text, implementation->file));
    for (int i = 0; variant && implementation->parameters && implementation->parameters[i]; i++)
        wi_text_append(text, " %d", variant->values[i]);
    return WEFT_OK;
}

/* Appends the text that identifies the kernel of a kernel op: all the text that is compiled. */
static weft_status append_template(wi_text *text, const wi_device *device,
    const wi_implementation *implementation, const wi_variant *variant, const wi_kernel_site *site) {
    wi_kernel_plan plan;
    wi_arena arena;
    wi_arena_init(&arena, device->host.allocator);
    weft_status status = wi_implementation_prepare(implementation, variant, site, &arena, &plan);
    if (status == WEFT_OK) status = wi_kernel_template_append(&plan, text);
    wi_arena_clear(&arena);
    return status;
}

static bool hash_of(uint32_t *hash, const wi_device *device, const wi_implementation *implementation,
    const wi_variant *variant, const wi_op *op, const wi_kernel_site *site) {
    wi_text text;
    wi_text_init(&text, device->host.allocator);
    const weft_status status = maker_of(op) ? append_template(&text, device, implementation, variant, site)
                                            : append_contraction(&text, implementation, variant);
    const bool read = status == WEFT_OK && !text.failed;
    *hash = read ? (uint32_t)wi_text_key(text.data, text.length).low : 0;
    wi_text_clear(&text);
    return read;
}

/* The part of a kernel op's attributes on which the code depends. */
static void print_kind(char kind[WI_SELF_TEST_NAME], const wi_op *op, const wi_kernel_site *site) {
    *kind = '\0';
    if (op == &wi_op_recurrent_forward || op == &wi_op_recurrent_back)
        snprintf(kind, WI_SELF_TEST_NAME, " of %s", wi_cell_name(wi_cell_of(site->node)));
    else if (maker_of(op))
        snprintf(kind, WI_SELF_TEST_NAME, " of heads of %lld",
            (long long)site->inputs[WI_ATTENTION_QUERY].dims[3].actual);
}

bool wi_self_test_name(char name[WI_SELF_TEST_NAME], const wi_device *device,
    const wi_implementation *implementation, const wi_variant *variant, const wi_op *op,
    const wi_kernel_site *site) {
    char kind[WI_SELF_TEST_NAME];
    uint32_t hash;
    const bool read = hash_of(&hash, device, implementation, variant, op, site);
    print_kind(kind, op, site);
    snprintf(name, WI_SELF_TEST_NAME, "%s%.40s by %s/%s in %s, %s, multiplied in %s (%08" PRIx32 ")",
        op->name, kind, implementation->name, variant ? variant->name : "",
        wi_format_of(site->formats[0])->name, wi_format_of(site->formats[1])->name,
        wi_format_of(site->precision)->name, hash);
    return read;
}

/* ---- findings ---- */

/* Returns false if the implementation accepts no small case. */
static bool test_contraction(self_test *test, const wi_kernel_site *site, weft_status *status) {
    wi_contraction_case small;
    wi_arena arena;
    wi_arena_init(&arena, test->device->host.allocator);
    test->small = &small;
    const bool found = find_case(&small, test->implementation, test->variant, site, &arena);
    if (found) *status = run(test);
    wi_arena_clear(&arena);
    return found;
}

static void test_it(self_test *test, const wi_op *op, const wi_kernel_site *site, const char *name) {
    wi_kernel_op_case_maker *const make = maker_of(op);
    weft_status status;
    if (make)
        status = wi_kernel_op_case_try(
            make, test->device, test->implementation, test->variant, site, test->fault, sizeof test->fault);
    else if (!test_contraction(test, site, &status))
        return;
    if (status != WEFT_OK) snprintf(test->fault, sizeof test->fault, "it fails: %s", weft_last_error());
    if (!wi_is_lack_of_memory(status)) wi_findings_add(test->device, name, *test->fault ? test->fault : NULL);
}

static bool is_faulty(wi_device *device, const wi_implementation *implementation, const wi_variant *variant,
    const wi_op *op, const wi_kernel_site *site) {
    char name[WI_SELF_TEST_NAME], error[WI_ERROR_LINE];
    wi_error_save(error, sizeof error);
    if (wi_self_test_name(name, device, implementation, variant, op, site) &&
        !wi_findings_find(device, name)) {
        self_test test = {.device = device, .implementation = implementation, .variant = variant};
        test_it(&test, op, site, name);
    }
    wi_finding *const finding = wi_findings_find(device, name);
    const bool failed = finding && finding->fault;
    if (failed && !finding->noted)
        wi_log_line(device->host.log, WEFT_LOG_WARNING, "quarantine: %s is not used on driver %s: %s", name,
            device->info.driver, finding->fault);
    if (failed) finding->noted = true;
    wi_error_restore(error);
    return failed;
}

bool wi_self_test_fails(wi_device *device, const wi_implementation *implementation, const wi_variant *variant,
    const wi_op *op, const wi_kernel_site *site) {
    return is_testable(implementation, op, site) && is_wanted(device, true) &&
           is_faulty(device, implementation, variant, op, site);
}

bool wi_is_in_quarantine(wi_device *device, const wi_implementation *implementation,
    const wi_variant *variant, const wi_op *op, const wi_kernel_site *site) {
    return is_testable(implementation, op, site) && is_wanted(device, false) &&
           is_faulty(device, implementation, variant, op, site);
}
