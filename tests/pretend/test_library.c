/* CLBlast on a device that reports to be a GPU: nothing calls it while a plan is made or runs, unless it is forced; it is a
 * candidate of the tuner, with all that its calls do and the kernels that the first of them builds; and a choice that pays at
 * its site alone does not outlive the comparison of whole steps. The functions of the library are this program's own, and so is
 * the clock: each launch and copy takes a millisecond, and a call of the library what a test says. */
#include "pretended.h"
#include <stdio.h>

#ifdef WEFT_WITH_CLBLAST

#include "cl/choices.h"
#include "cl/context.h"
#include "plan/compiled_plan.h"
#include "support/scratch.h"
#include "tuner/tune_plan.h"
#include <clblast_c.h>
#include <math.h>
#include <string.h>

enum { M = 24, N = 40, K = 32 };

static const char site_name[] = "matmul 1,24,40,32 nn f32 f32 f32", library_name[] = "clblast/";

/* ---- the library ---- */

static struct {
    int calls, copies; /* so far; that a call makes */
    bool wrong;
    double each, first; /* seconds of a call, and those that the first one takes longer */
    double spent;
} library;

static cl_mem make_buffer(cl_command_queue queue, size_t bytes) {
    cl_context context = NULL;
    cl_int code;
    assert_int_equal(clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL), 0);
    cl_mem const made = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    return made;
}

/* As where a library copies matrices to memory with other strides. */
static void copy_around(cl_command_queue queue, cl_mem from, size_t bytes) {
    cl_mem const other = make_buffer(queue, bytes);
    for (int i = 0; i < library.copies; i++)
        assert_int_equal(clEnqueueCopyBuffer(queue, from, other, 0, 0, bytes, 0, NULL, NULL), 0);
    clReleaseMemObject(other);
}

static void multiply(const float *a, const float *b, float *c) {
    for (int m = 0; m < M; m++) {
        for (int n = 0; n < N; n++) {
            float sum = library.wrong ? 1.0f : 0.0f;
            for (int k = 0; k < K; k++) sum += a[m * K + k] * b[k * N + n];
            c[m * N + n] = sum;
        }
    }
}

CLBlastStatusCode CLBlastSgemm(const CLBlastLayout layout, const CLBlastTranspose a_transpose,
    const CLBlastTranspose b_transpose, const size_t m, const size_t n, const size_t k, const float alpha,
    const cl_mem a_buffer, const size_t a_offset, const size_t a_ld, const cl_mem b_buffer,
    const size_t b_offset, const size_t b_ld, const float beta, cl_mem c_buffer, const size_t c_offset,
    const size_t c_ld, cl_command_queue *queue, cl_event *event) {
    static float a[M * K], b[K * N], c[M * N];
    assert_true(layout == CLBlastLayoutRowMajor && a_transpose == CLBlastTransposeNo);
    assert_true(b_transpose == CLBlastTransposeNo && m == M && n == N && k == K && a_ld == K && b_ld == N);
    assert_true(alpha == 1.0f && beta == 0.0f && c_ld == N && !event);
    library.spent += library.each + (library.calls == 0 ? library.first : 0.0);
    library.calls++;
    assert_int_equal(
        clEnqueueReadBuffer(*queue, a_buffer, CL_TRUE, a_offset * 4, sizeof a, a, 0, NULL, NULL), 0);
    assert_int_equal(
        clEnqueueReadBuffer(*queue, b_buffer, CL_TRUE, b_offset * 4, sizeof b, b, 0, NULL, NULL), 0);
    multiply(a, b, c);
    assert_int_equal(
        clEnqueueWriteBuffer(*queue, c_buffer, CL_TRUE, c_offset * 4, sizeof c, c, 0, NULL, NULL), 0);
    copy_around(*queue, a_buffer, sizeof a);
    return CLBlastSuccess;
}

static double test_clock(void) {
    const pretend_record record = pretend_layer_record();
    return 1e-3 * (double)(record.launches + record.copies) + library.spent;
}

/* ---- a plan ---- */

typedef struct product {
    weft_context *context;
    weft_plan *plan;
    weft_tensor *y;
} product;

static weft_context *open_context(const char *folder) {
    assert_true(pretend_layer_choose("eights"));
    weft_context *const context = scratch_context(folder, NULL);
    assert_true(pretend_layer_present());
    return context;
}

static float a_number(int i) {
    return (float)(i * 7 % 11 - 5) / 8.0f;
}

/* A product, with an activation or without. */
static weft_plan *make_plan(weft_context *context, bool activated, weft_tensor **y) {
    weft_graph *const graph = weft_context_graph(context);
    static float numbers[M * K + K * N];
    weft_plan *plan = NULL;
    weft_tensor *const a = weft_input_shape(graph, "a", WEFT_F32, 2, (const int64_t[]){M, K});
    weft_tensor *const b = weft_input_shape(graph, "b", WEFT_F32, 2, (const int64_t[]){K, N});
    *y = activated ? weft_relu(weft_matmul(a, b)) : weft_matmul(a, b);
    assert_ok(weft_plan_create(&plan, y, 1, NULL));
    for (int i = 0; i < M * K + K * N; i++) numbers[i] = a_number(i);
    assert_ok(weft_plan_write(plan, a, numbers, M * K * sizeof(float)));
    assert_ok(weft_plan_write(plan, b, numbers, K * N * sizeof(float)));
    return plan;
}

static product begin(const char *folder, bool activated) {
    product p = {.context = open_context(folder)};
    p.plan = make_plan(p.context, activated, &p.y);
    return p;
}

static void end(product *p) {
    weft_plan_release(p->plan);
    weft_context_release(p->context);
}

static void assert_right(const product *p, bool activated) {
    float made[M * N];
    assert_ok(weft_plan_run(p->plan));
    assert_ok(weft_plan_read(p->plan, p->y, made, sizeof made));
    for (int m = 0; m < M; m++) {
        for (int n = 0; n < N; n++) {
            float sum = 0.0f;
            for (int k = 0; k < K; k++) sum += a_number(m * K + k) * a_number(k * N + n);
            if (activated && sum < 0.0f) sum = 0.0f;
            assert_true(fabsf(made[m * N + n] - sum) <= 1e-4f);
        }
    }
}

static const wi_selection *selection_of(const weft_plan *plan) {
    for (size_t i = 0; i < plan->partition.step_count; i++)
        if (plan->partition.steps[i]->kind == WI_STEP_PRODUCT) return plan->partition.steps[i]->selection;
    fail_msg("the plan has no product");
    return NULL;
}

static bool is_chosen(const weft_plan *plan) {
    return strcmp(selection_of(plan)->chosen->name, "clblast") == 0;
}

static int library_setup(void **state) {
    memset(&library, 0, sizeof library);
    return scratch_setup(state);
}

static int library_teardown(void **state) {
    unsetenv("WEFT_GEMM");
    return scratch_teardown(state);
}

/* ---- who calls it ---- */

static void nothing_calls_it_untuned(void **state) {
    product p = begin(*state, true);
    bool is_candidate = false;
    const wi_selection *const selection = selection_of(p.plan);
    for (int i = 0; i < selection->count; i++) {
        const wi_candidate *const candidate = &selection->candidates[i];
        if (candidate->implementation->run) is_candidate = candidate->verdict == WI_VERDICT_UNMEASURED;
    }
    assert_true(is_candidate);
    assert_right(&p, true);
    assert_int_equal(library.calls, 0);
    end(&p);
}

static void its_name_forces_it(void **state) {
    setenv("WEFT_GEMM", "clblast", 1);
    product p = begin(*state, true);
    assert_int_equal(library.calls, 0);
    assert_true(is_chosen(p.plan));
    assert_right(&p, true);
    assert_int_equal(library.calls, 1);
    end(&p);
}

/* ---- the tuner ---- */

static void note(void *user, const char *site, const char *kernel) {
    (void)site;
    if (kernel && strcmp(kernel, library_name) == 0) ++*(int *)user;
}

/* Tunes the plan's product; the library is tried, and once more in turn with the kernel, if it is the fastest. */
static void tune(const product *p) {
    wi_device *const device = wi_context_device(p->context);
    int tried = 0;
    kernel_tuner tuner = {.device = device,
        .clock = test_clock,
        .deadline = HUGE_VAL,
        .gain = TUNER_GAIN,
        .trying = note,
        .user = &tried};
    wi_choices_use(device, false);
    assert_ok(tune_plan(p->plan, &tuner));
    wi_choices_use(device, true);
    assert_int_equal(tuner.sites, 1);
    assert_in_range(tried, 1, 2);
    assert_true(library.calls > 0);
}

/* Is it what serves in the next context? */
static bool serves_next(const char *folder, bool activated) {
    product p = begin(folder, activated);
    const bool chosen = is_chosen(p.plan);
    const int calls = library.calls;
    assert_non_null(wi_choices_find(wi_context_device(p.context), site_name));
    library.wrong = false;
    assert_right(&p, activated);
    assert_int_equal(library.calls - calls, chosen);
    end(&p);
    return chosen;
}

/* After tuning. */
static bool is_kept(const char *folder) {
    product p = begin(folder, false);
    tune(&p);
    end(&p);
    return serves_next(folder, false);
}

static void a_faster_library_serves_the_next_process(void **state) {
    library.each = 1e-4;
    assert_true(is_kept(*state));
}

static void a_gain_within_noise_keeps_the_kernel(void **state) {
    library.each = 0.97e-3;
    assert_false(is_kept(*state));
}

static void what_it_copies_counts(void **state) {
    library.each = 1e-4;
    library.copies = 3;
    assert_false(is_kept(*state));
}

/* A hundred thousand runs pay for it. */
static void a_short_build_is_paid(void **state) {
    library.each = 1e-4;
    library.first = 20.0;
    assert_true(is_kept(*state));
}

static void a_long_build_is_not_paid(void **state) {
    library.each = 1e-4;
    library.first = 200.0;
    assert_false(is_kept(*state));
}

static void wrong_numbers_are_remembered(void **state) {
    library.each = 1e-4;
    library.wrong = true;
    assert_false(is_kept(*state));
    weft_context *const context = open_context(*state);
    const char *const fault = wi_choices_fault(wi_context_device(context), site_name, library_name);
    assert_non_null(fault);
    assert_string_equal(fault, "it computes other numbers than the built-in choice");
    weft_context_release(context);
}

/* ---- whole steps ---- */

/* A step with the library has a launch more where there is an activation, which the library does not take. Tunes, then compares
 * steps; does it serve afterwards? */
static bool outlives_steps(const char *folder, bool activated, double expected[2]) {
    double medians[2];
    product p = begin(folder, activated);
    weft_tensor *y;
    kernel_tuner tuner = {.device = wi_context_device(p.context),
        .clock = test_clock,
        .deadline = HUGE_VAL,
        .gain = TUNER_GAIN};
    assert_false(tune_has_other_choices(p.plan, &tuner));
    tune(&p);
    weft_plan *const tuned = make_plan(p.context, activated, &y);
    assert_true(is_chosen(tuned) && !is_chosen(p.plan));
    assert_true(tune_has_other_choices(p.plan, &tuner));
    assert_ok(tune_judge((weft_plan *const[]){p.plan, tuned}, &tuner, medians));
    assert_int_equal(tune_has_other_choices(p.plan, &tuner), medians[1] <= medians[0]);
    for (int i = 0; i < 2; i++) assert_true(fabs(medians[i] - expected[i]) < 1e-9);
    assert_ok(wi_choices_save(tuner.device, NULL));
    weft_plan_release(tuned);
    end(&p);
    return serves_next(folder, activated);
}

static void choices_that_pay_in_the_step_are_kept(void **state) {
    library.each = 1e-4;
    assert_true(outlives_steps(*state, false, (double[]){1e-3, 1e-4}));
}

static void choices_that_do_not_are_dropped(void **state) {
    library.each = 1e-4;
    assert_false(outlives_steps(*state, true, (double[]){1e-3, 1.1e-3}));
}

int main(int argc, char **argv) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, library_setup, library_teardown)
    const struct CMUnitTest tests[] = {
        TEST(nothing_calls_it_untuned),
        TEST(its_name_forces_it),
        TEST(a_faster_library_serves_the_next_process),
        TEST(a_gain_within_noise_keeps_the_kernel),
        TEST(what_it_copies_counts),
        TEST(a_short_build_is_paid),
        TEST(a_long_build_is_not_paid),
        TEST(wrong_numbers_are_remembered),
        TEST(choices_that_pay_in_the_step_are_kept),
        TEST(choices_that_do_not_are_dropped),
    };
    (void)argc;
    setenv("WEFT_BUILD_OPTIONS", "-cl-opt-disable", 0); /* compiling is most of the time */
    pretended_start(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) {
    puts("skipped: built without CLBlast");
    return 0;
}

#endif
