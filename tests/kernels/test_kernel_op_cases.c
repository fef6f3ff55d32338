/* The self-test of attention and of recurrent scans: right kernels of every variant, format and engine pass; a broken one is found,
 * the next serves with right numbers, and the log and the findings, which `weft check` prints, say so. */
/* test slow not_optimised */
#include "support/broken_kernel.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"

#include "cl/context.h"
#include "cl/findings.h"
#include "cl/program.h"
#include "cl/quirks.h"
#include "kernels/attention/attention_arguments.h"
#include "kernels/recurrent/recurrent_arguments.h"
#include "kernels/registry.h"
#include "kernels/self_test.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

/* ---- contexts ---- */

/* Opening a context and its first program take longer than most kernels: tests share two with right kernels, one as the device is, and
 * one with the model of an engine, NULL if the device lacks local memory for it. Both use the group's folder. */
static struct {
    char *folder;
    weft_context *plain, *engine;
} right_contexts;

enum { ENGINE_LOCAL = 54 << 10 };

static const wi_device *plain_device(void) {
    return wi_context_device(right_contexts.plain);
}

static bool class_is_gpu(void) {
    return plain_device()->caps.device_class == WEFT_CLASS_GPU;
}

/* By a model of the engine; the tests of the ops have all engines. */
static void ask_for_engine(void) {
    setenv("WEFT_MATRIX_ENGINES", class_is_gpu() ? "model-mma" : "model", 1);
}

static void skip_without_engine(void) {
    if (right_contexts.engine) return;
    print_message("skipped: the device has less local memory than an engine's kernels take by its model\n");
    skip();
}

static int open_contexts(void **state) {
    (void)state;
    setenv("WEFT_SELF_TEST", "1", 1);
    right_contexts.folder = scratch_make();
    right_contexts.plain = scratch_context(right_contexts.folder, NULL);
    if (plain_device()->profile.local_bytes < ENGINE_LOCAL) return 0;
    ask_for_engine();
    right_contexts.engine = scratch_context(right_contexts.folder, NULL);
    unsetenv("WEFT_MATRIX_ENGINES");
    return 0;
}

static int close_contexts(void **state) {
    (void)state;
    weft_context_release(right_contexts.plain);
    weft_context_release(right_contexts.engine);
    scratch_remove(right_contexts.folder);
    return 0;
}

/* ---- sites ---- */

/* A node with room for its inputs, all of which are one tensor of f32, and its site. */
typedef struct test_site {
    wi_kernel_site site;
    wi_attributes attributes;
    weft_tensor *node, *input;
} test_site;

static void begin_site(test_site *t, const wi_device *device, const wi_op *op, weft_dtype precision) {
    *t = (test_site){0};
    t->node = calloc(1, sizeof *t->node + WI_KERNEL_INPUTS * sizeof(weft_tensor *));
    t->input = calloc(1, sizeof *t->input);
    assert_non_null(t->node);
    assert_non_null(t->input);
    t->node->op = op;
    t->node->attributes = &t->attributes;
    t->site = (wi_kernel_site){.node = t->node, .device = &device->profile, .precision = precision};
}

static void add_input(test_site *t, wi_shape shape) {
    const int i = t->node->input_count++;
    t->node->inputs[i] = t->input;
    t->site.inputs[i] = wi_extent_of(&shape, 1);
    t->site.layouts[i] = wi_layout_contiguous(&t->site.inputs[i]);
}

static void set_result(test_site *t, int64_t count) {
    const wi_shape shape = {.rank = 1, .dims = {count}};
    t->site.result = wi_extent_of(&shape, 1);
}

enum { HEADS = 3, LENGTH = 200, STEPS = 5, BATCH = 40, UNITS = 200 };

static void attention_site(
    test_site *t, const wi_device *device, bool gradient, int64_t width, bool hard, weft_dtype precision) {
    const wi_shape x = {.rank = 4, .dims = {HEADS, HEADS, LENGTH, width}};
    const wi_shape pack = {.rank = 1, .dims = {HEADS * HEADS * LENGTH * (width + 1)}};
    begin_site(t, device, gradient ? &wi_op_attention_gradient : &wi_op_attention_forward, precision);
    t->attributes.attention =
        (wi_attention_attributes){.scale = 0.1, .dropout = hard ? 0.1f : 0.0f, .causal = hard};
    for (int i = 0; i < 3; i++) add_input(t, x);
    if (gradient) add_input(t, pack);
    if (gradient) add_input(t, x);
    set_result(t, HEADS * HEADS * LENGTH * (gradient ? 3 * width : width + 1));
}

/* Inputs that it always has: of a scan x and w, of a gradient dy, y and w; and a projection. */
static void scan_site(test_site *t, const wi_device *device, bool back, wi_cell cell, bool projects,
    bool kept, weft_dtype precision) {
    const int64_t width = projects ? UNITS / 2 : UNITS, line = wi_cell_gates(cell) * UNITS;
    const wi_scan_sections a = wi_scan_sections_of(cell, STEPS, UNITS, width, projects, kept);
    const int64_t forward = a.h + a.c + a.gates + a.more, gradient = a.dx + a.sums + a.out + a.dh0 + a.dc0;
    begin_site(t, device, back ? &wi_op_recurrent_back : &wi_op_recurrent_forward, precision);
    t->attributes.recurrent = (wi_recurrent_attributes){
        .cell = cell, .units = UNITS, .steps = STEPS, .forgets = !kept, .reads_dy = back};
    t->attributes.recurrent.inputs =
        back ? 1u << WI_BACK_DY | 1u << WI_BACK_Y | 1u << WI_BACK_W : 1u << WI_SCAN_X | 1u << WI_SCAN_W;
    if (projects) t->attributes.recurrent.inputs |= 1u << (back ? WI_BACK_WR : WI_SCAN_WR);
    add_input(t, (wi_shape){.rank = 3, .dims = {STEPS, BATCH, back ? width : line}});
    if (back) add_input(t, (wi_shape){.rank = 1, .dims = {BATCH * forward}});
    add_input(t, (wi_shape){.rank = 2, .dims = {line, width}});
    if (projects) add_input(t, (wi_shape){.rank = 2, .dims = {width, UNITS}});
    set_result(t, BATCH * (back ? gradient : forward));
}

/* ---- right kernels ---- */

/* Which kernels a site tries: of each implementation the first variant that takes it, and of the others one in so many, as they are
 * compiled from one text by tiles that have nothing to do with what a site asks for. Forms of test_recurrent and test_attention_dropout
 * have every case by every variant and by the portable kernels. */
typedef struct rotation {
    int place, places;
    bool portable; /* by the portable kernels, too, which are the same in both classes: in one class alone */
    bool engines;  /* by those of engines alone */
} rotation;

/* Of all that take the site. */
static int pass_all(wi_device *device, test_site *t, rotation r) {
    int tested = 0;
    for (const wi_family *family = wi_families; *family; family++) {
        for (int i = 0; (*family)[i]; i++) {
            const wi_implementation *const one = (*family)[i];
            const wi_variant *variant;
            bool first = true;
            if (!wi_implementation_computes(one, t->node->op) || (r.engines && !one->needs.engines) ||
                (!r.portable && strstr(one->name, "naive")))
                continue;
            for (int v = 0; (variant = wi_implementation_variant(one, v)) != NULL; v++) {
                if (!wi_implementation_accepts(one, variant, &t->site)) continue;
                if (!first && v % r.places != r.place) continue;
                first = false;
                if (wi_is_in_quarantine(device, one, variant, t->node->op, &t->site)) {
                    char name[WI_SELF_TEST_NAME];
                    wi_self_test_name(name, device, one, variant, t->node->op, &t->site);
                    print_message("%s: %s\n", name, wi_findings_find(device, name)->fault);
                    fail_msg("%s/%s is in quarantine", one->name, variant->name);
                }
                tested++;
            }
        }
    }
    free(t->node);
    free(t->input);
    return tested;
}

/* Of heads as wide, forward and back; hard ones are causal, and have dropped weights. */
static int pass_attention(wi_device *device, int64_t width, bool hard, weft_dtype precision, rotation r) {
    int tested = 0;
    for (int back = 0; back < 2; back++) {
        test_site t;
        attention_site(&t, device, back, width, hard, precision);
        tested += pass_all(device, &t, r);
    }
    return tested;
}

/* Forward, with everything kept or not, and back. */
static int pass_scans(wi_device *device, wi_cell cell, bool projects, weft_dtype precision, rotation r) {
    int tested = 0;
    for (int way = 0; way < 3; way++) {
        test_site t;
        scan_site(&t, device, way == 2, cell, projects, way > 0, precision);
        tested += pass_all(device, &t, r);
    }
    return tested;
}

/* In reduced tests heads of one width and one kind of cell, and a projection. */
static void right_kernels_pass(void **state) {
    static const int64_t widths[] = {64, 32, 100, 200};
    enum { WIDTHS = sizeof widths / sizeof *widths, CELLS = WI_CELL_RNN_RELU + 1 };
    const int width_count = test_reduced() ? 1 : WIDTHS;
    const int last = test_reduced() ? WI_CELL_LSTM : WI_CELL_RNN_RELU;
    wi_device *const device = wi_context_device(right_contexts.plain);
    (void)state;
    for (int i = 0; i < width_count; i++) {
        const rotation r = {.place = i, .places = WIDTHS, .portable = class_is_gpu() && i == 0};
        assert_true(pass_attention(device, widths[i], false, WEFT_F32, r) >= 2);
    }
    const rotation hard = {.place = 2, .places = WIDTHS, .portable = class_is_gpu()};
    assert_true(pass_attention(device, 64, true, WEFT_F32, hard) >= 2);
    for (int cell = WI_CELL_LSTM; cell <= last; cell++) {
        const rotation r = {
            .place = cell, .places = CELLS + 1, .portable = class_is_gpu() && cell == WI_CELL_LSTM};
        assert_true(pass_scans(device, (wi_cell)cell, false, WEFT_F32, r) >= 3);
    }
    const rotation projecting = {.place = CELLS, .places = CELLS + 1, .portable = class_is_gpu()};
    assert_true(pass_scans(device, WI_CELL_LSTM, true, WEFT_F32, projecting) >= 3);
}

/* Compiling models takes long: in f16 attention alone, and of the cells one with one gate and one with four and a projection. Kernels
 * without engines are those above. */
static void right_engines_pass(void **state) {
    const rotation all = {.places = 1, .engines = true};
    (void)state;
    skip_without_engine();
    wi_device *const device = wi_context_device(right_contexts.engine);
    assert_true(device->profile.engines != 0);
    assert_true(pass_attention(device, 32, false, WEFT_BF16, all) > 0);
    if (class_is_gpu()) assert_true(pass_attention(device, 32, false, WEFT_F16, all) > 0);
    assert_true(pass_scans(device, WI_CELL_RNN_RELU, false, WEFT_BF16, all) > 0);
    assert_true(pass_scans(device, WI_CELL_LSTM, true, WEFT_BF16, all) > 0);
}

/* ---- wrong kernels ---- */

/* Inputs of a network of one op, and its output, of a plan for inference. */
enum { MOST_INPUTS = 3, ROWS = 128, TIME = 4, WIDE = 256, KEYS = 96, HEAD = 64 };
enum { NUMBERS = TIME * ROWS * WIDE };

static weft_tensor *input(weft_graph *graph, int64_t a, int64_t b, int64_t c) {
    return weft_input_shape(graph, "x", WEFT_F32, a ? 3 : 2, a ? (int64_t[]){a, b, c} : (int64_t[]){b, c});
}

static weft_tensor *attention(weft_graph *graph, weft_tensor **x) {
    for (int i = 0; i < 3; i++) x[i] = input(graph, 2, KEYS, HEAD);
    return weft_attention(x[0], x[1], x[2], NULL);
}

static weft_tensor *lstm(weft_graph *graph, weft_tensor **x) {
    x[0] = input(graph, ROWS, TIME, 2);
    x[1] = input(graph, 0, 4 * WIDE, 2);
    x[2] = input(graph, 0, 4 * WIDE, WIDE);
    return weft_lstm_with(x[0], &(weft_recurrent_weights){.weight_ih = x[1], .weight_hh = x[2]}, NULL).y;
}

typedef weft_tensor *network(weft_graph *graph, weft_tensor **x);

static void write_input(weft_plan *plan, weft_tensor *x) {
    static float numbers[4 * WIDE * WIDE];
    size_t count = 1;
    for (int i = 0; i < weft_tensor_rank(x); i++) count *= (size_t)weft_tensor_dimension(x, i);
    assert_true(count <= sizeof numbers / sizeof *numbers);
    for (size_t i = 0; i < count; i++) numbers[i] = (float)(i * 2654435761u >> 7 & 255u) / 512.0f - 0.25f;
    assert_ok(weft_plan_write(plan, x, numbers, count * sizeof *numbers));
}

/* What the network computes, into y; the number of elements. */
static size_t compute(weft_context *context, network *make, weft_precision precision, float *y) {
    weft_tensor *x[MOST_INPUTS], *out;
    weft_graph *graph = NULL;
    weft_plan *plan = NULL;
    size_t count = 1;
    assert_ok(weft_graph_create(&graph, context));
    assert_ok(weft_graph_set_precision(graph, precision));
    out = make(graph, x);
    assert_ok(weft_plan_create(&plan, &out, 1, NULL));
    for (int i = 0; i < MOST_INPUTS; i++) write_input(plan, x[i]);
    assert_ok(weft_plan_run(plan));
    for (int i = 0; i < weft_tensor_rank(out); i++) count *= (size_t)weft_tensor_dimension(out, i);
    assert_true(count <= NUMBERS);
    assert_ok(weft_plan_read(plan, out, y, count * sizeof *y));
    weft_plan_release(plan);
    weft_graph_release(graph);
    return count;
}

/* What is known of a kernel; NULL: nothing. */
static const wi_finding *finding_of(weft_context *context, const char *kernel) {
    size_t count;
    const wi_finding *const all = wi_findings_all(wi_context_device(context), &count);
    for (size_t i = 0; i < count; i++)
        if (strstr(all[i].name, kernel)) return &all[i];
    return NULL;
}

typedef struct broken_case {
    network *make;
    weft_precision precision;
    const char *kernel, *next; /* in quarantine, and what serves instead */
    const char *file, *part, *other;
    int64_t units; /* that the device pretends to have; 0: its own */
    float apart;   /* how far results may be from those of right kernels, in f32 */
} broken_case;

enum { MOST_BROKEN = 2 };

static weft_context *open_for(const broken_case *c, const char *folder, scratch_log *log) {
    weft_context *const context = scratch_context(folder, log);
    if (c->units) wi_context_device(context)->profile.units = c->units;
    return context;
}

/* While all is right, the kernel serves, and it is the one that was tested: not compiled twice. */
static size_t compute_right(weft_context *context, const broken_case *c, float *right) {
    wi_device *const device = wi_context_device(context);
    const int64_t units = device->profile.units;
    const uint64_t reused = wi_programs_stats(device)->pieces_reused;
    assert_null(finding_of(context, c->kernel));
    if (c->units) device->profile.units = c->units;
    const size_t count = compute(context, c->make, c->precision, right);
    device->profile.units = units;
    assert_true(finding_of(context, c->kernel) && !finding_of(context, c->kernel)->fault);
    assert_true(wi_programs_stats(device)->pieces_reused > reused);
    return count;
}

static void expect_quarantine(
    weft_context *context, const scratch_log *log, const broken_case *c, const float *right, size_t count) {
    static float y[NUMBERS];
    assert_int_equal(compute(context, c->make, c->precision, y), count);
    for (size_t i = 0; i < count; i++) {
        if (!(fabsf(y[i] - right[i]) <= c->apart))
            fail_msg("%s: element %zu is %g, not %g", c->kernel, i, (double)y[i], (double)right[i]);
    }
    const wi_finding *const wrong = finding_of(context, c->kernel), *const next =
                                                                        finding_of(context, c->next);
    assert_true(wrong && wrong->fault && next && !next->fault);
    assert_non_null(strstr(wrong->fault, "it computes wrong numbers"));
    assert_non_null(strstr(log->text, "quarantine: "));
    assert_non_null(strstr(log->text, wrong->name));
    assert_non_null(strstr(log->text, wi_context_device(context)->info.driver));
}

/* First all is right; then all of the cases are broken, which are of different files and of the same units. A second start knows the
 * findings from the cache. */
static void check_broken(
    weft_context *context, const broken_case *cases, int count, int starts, const char *folder) {
    static float right[MOST_BROKEN][NUMBERS];
    size_t counts[MOST_BROKEN];
    char kernels[4096];
    for (int i = 0; i < count; i++) counts[i] = compute_right(context, &cases[i], right[i]);
    snprintf(kernels, sizeof kernels, "%s", scratch_path(folder, "kernels"));
    for (int i = 0; i < count; i++) break_kernel(kernels, cases[i].file, cases[i].part, cases[i].other);
    for (int start = 0; start < starts; start++) {
        scratch_log log = {0};
        weft_context *const wrong = open_for(cases, scratch_path(folder, "wrong"), &log);
        for (int i = 0; i < count; i++) expect_quarantine(wrong, &log, &cases[i], right[i], counts[i]);
        weft_context_release(wrong);
    }
}

static void wrong_kernels_of_engines_do_not_serve(void **state) {
    static const broken_case gpu[] = {
        {attention, WEFT_PRECISION_BF16, "by attention_gpu_mma/64", "by attention_gpu/",
            "attention_engine_gpu.cl", "WEFT_HEAD_OF(sums[block], e) * factors_at", "0.9f * ", 0, 0.01f},
        {lstm, WEFT_PRECISION_BF16, "by recurrent_forward_gpu_mma/", "by recurrent_forward_gpu/",
            "recurrent_engine_gpu.cl", "weft_rg_weight(", "(odd ? 0.5f : 1.0f) * ", 0, 0.01f}};
    static const broken_case cpu[] = {
        {attention, WEFT_PRECISION_BF16, "by attention_amx/", "by attention_cpu/", "attention_engine_cpu.clh",
            "WEFT_AMX_MULTIPLY(engine, 1, 4, 7);", "if (block > 0) ", 0, 0.01f},
        {lstm, WEFT_PRECISION_BF16, "by recurrent_forward_amx/", "by recurrent_forward_cpu/",
            "recurrent_cpu_amx.cl", "WEFT_AMX_MULTIPLY(engine, 1, 4, 7);", "if (block > 0) ", 0, 0.01f}};
    skip_without_engine();
    ask_for_engine();
    check_broken(right_contexts.engine, class_is_gpu() ? gpu : cpu, 2, 1, *state);
}

/* Which kernel serves is the host's decision, and each of these tests compiles for two contexts: llvmpipe takes minutes. */
static void skip_reduced(void) {
    if (!test_reduced()) return;
    print_message("skipped: WEFT_TEST_REDUCED asks for few kernels, and these are compiled twice\n");
    skip();
}

/* The portable kernels are the last that are left. */
static void portable_kernels_serve(void **state) {
    static const broken_case cpu[] = {
        {attention, WEFT_PRECISION_F32, "by attention_cpu/", "by attention_naive/", "attention_cpu.cl",
            "1.0f / total[i]", "0.9f * ", 0, 1e-6f},
        {lstm, WEFT_PRECISION_F32, "by recurrent_forward_cpu/", "by recurrent_forward_naive/",
            "recurrent_cell_cpu.clh", "u->sums[u->sums_gate * gate]", "0.9f * ", 0, 1e-5f}};
    static const broken_case gpu[] = {
        {attention, WEFT_PRECISION_F32, "by attention_gpu/", "by attention_naive/", "attention_gpu.cl",
            "1.0f / total", "0.9f * ", 0, 1e-6f},
        {lstm, WEFT_PRECISION_F32, "by recurrent_forward_gpu/", "by recurrent_forward_naive/",
            "recurrent_gpu.cl", "weft_rg_weight(w", "(WEFT_R_ACROSS > 1 ? 0.5f : 1.0f) * ", 0, 1e-5f}};
    skip_reduced();
    const bool has_scan = !(plain_device()->caps.quirks & WI_QUIRK_SINGLE_ITEMS);
    if (!has_scan)
        print_message("scans left out: there is no portable one here, as the driver computes it wrongly\n");
    check_broken(right_contexts.plain, class_is_gpu() ? gpu : cpu, has_scan ? 2 : 1, 2, *state);
}

/* Groups of four rows have 512 items and 32 KiB of local memory. */
static bool has_four_rows(const wi_device *device) {
    return device->profile.max_group >= 512 && device->profile.local_bytes >= 32 << 10;
}

/* The rows of a group are as the planner expects of 48 units of PoCL's. */
static void wrong_rows_do_not_serve(void **state) {
    static const broken_case rows = {lstm, WEFT_PRECISION_F32, "by recurrent_forward_gpu/rows4",
        "by recurrent_forward_gpu/rows8", "recurrent_gpu.cl", "weft_rg_weight(w",
        "(WEFT_R_ROWS == 4 && k == 7 ? 0.0f : 1.0f) * ", 48, 1e-5f};
    if (test_reduced()) {
        print_message("skipped: WEFT_TEST_REDUCED asks for small shapes\n");
        skip();
    }
    if (!class_is_gpu() || !has_four_rows(plain_device())) {
        print_message(class_is_gpu() ? "skipped: the device has no groups of four rows\n"
                                     : "skipped: the kernels are of class gpu\n");
        skip();
    }
    check_broken(right_contexts.plain, &rows, 1, 1, *state);
}

/* Those of wrong kernels come first: what they compute with right ones has not been tested before. */
int main(void) {
    const struct CMUnitTest tests[] = {
        SELF_TEST(wrong_kernels_of_engines_do_not_serve),
        SELF_TEST(portable_kernels_serve),
        SELF_TEST(wrong_rows_do_not_serve),
        cmocka_unit_test(right_kernels_pass),
        cmocka_unit_test(right_engines_pass),
    };
    return cmocka_run_group_tests(tests, open_contexts, close_contexts);
}
