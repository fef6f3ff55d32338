/* Matrix products: every implementation that accepts a shape, against sums in float64, with the plain epilogue and with bias and relu; nothing is
 * written outside C, and two runs give the same bits. Numbers are small multiples of 1/8: every order of summation must give the reference. */
/* test slow gpu:optimised */
#include "cl/context.h"
#include "cl/quirks.h"
#include "graph/dtype.h"
#include "kernels/product/gemm_product.h"
#include "kernels/registry.h"
#include "kernels/selection.h"
#include "ops/op_table.h"
#include "support/checks.h"
#include "support/fixture.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 64 };
static const float untouched = -12345.0f;
static weft_context *context;

/* Every number of the tests is one of bf16 too, so that it may be rounded to it. */
static const weft_dtype precision = WEFT_BF16;
static const weft_dtype formats[][2] = {
    {WEFT_F32, WEFT_F32}, {WEFT_BF16, WEFT_BF16}, {WEFT_BF16, WEFT_F32}, {WEFT_F32, WEFT_F16}};

typedef struct test_case {
    const char *what;
    wi_gemm_shape shape;
} test_case;

/* Row-major A and B; tests transpose them below. */
#define PLAIN(M, N, K)                                                                                       \
    {                                                                                                        \
#M " " #N " " #K, {                                                                                  \
            1, M, N, K, 0, K, 1, 0, N, 1, NULL                                                               \
        }                                                                                                    \
    }

static const test_case cases[] = {PLAIN(1, 1, 1), PLAIN(1, 1, 40), PLAIN(1, 33, 1), PLAIN(33, 1, 1),
    PLAIN(1, 70, 37), PLAIN(1, 600, 35), PLAIN(70, 1, 37), PLAIN(2, 3, 4), PLAIN(13, 32, 16),
    PLAIN(14, 33, 17), PLAIN(12, 31, 15), PLAIN(32, 128, 64), PLAIN(32, 10, 128), PLAIN(32, 128, 10),
    PLAIN(10, 128, 32), PLAIN(128, 64, 32), PLAIN(65, 63, 67), PLAIN(17, 300, 9), PLAIN(530, 20, 11),
    PLAIN(7, 5, 600), PLAIN(40, 290, 300), PLAIN(67, 65, 513), PLAIN(5, 16, 257), PLAIN(9, 150, 1030),
    PLAIN(64, 101, 520), PLAIN(132, 260, 44), PLAIN(40, 1100, 130), PLAIN(20, 70, 1100), PLAIN(24, 132, 520),
    PLAIN(31, 259, 301), PLAIN(17, 256, 64), PLAIN(53, 70, 2100)};

/* Strides that are no plain transposition. */
static const test_case odd_cases[] = {
    {"batch of 3", {3, 20, 35, 18, 20 * 18, 18, 1, 18 * 35, 35, 1, NULL}},
    {"one B for the batch", {3, 20, 35, 18, 20 * 18, 18, 1, 0, 35, 1, NULL}},
    {"one A for the batch", {2, 9, 33, 21, 0, 21, 1, 21 * 33, 1, 21, NULL}},
    {"batch between the rows", {4, 6, 7, 5, 5, 20, 1, 7, 28, 1, NULL}},
    {"padded rows", {1, 30, 40, 20, 0, 29, 1, 0, 47, 1, NULL}},
    {"quads beyond the last row", {1, 130, 134, 24, 0, 1, 132, 0, 136, 1, NULL}},
    {"every second column", {1, 30, 40, 20, 0, 41, 2, 0, 83, 2, NULL}},
    {"A one row repeated", {1, 30, 40, 20, 0, 0, 1, 0, 40, 1, NULL}},
    {"A one column repeated", {1, 30, 40, 20, 0, 1, 0, 0, 40, 1, NULL}},
    {"B one row repeated", {1, 30, 40, 20, 0, 20, 1, 0, 0, 1, NULL}},
    {"B one column repeated", {1, 30, 40, 20, 0, 20, 1, 0, 1, 0, NULL}},
    {"scalars", {2, 15, 40, 20, 0, 0, 0, 0, 0, 0, NULL}},
};

static int64_t extent(const int64_t sizes[3], const int64_t strides[3]) {
    int64_t last = 0;
    for (int i = 0; i < 3; i++) last += (sizes[i] - 1) * strides[i];
    return last + 1;
}

/* One product on the host and on the device. */
typedef struct fixture {
    wi_gemm_shape shape;
    weft_dtype formats[2]; /* of A and B on the device */
    size_t counts[3];      /* elements of A, B, and of C with its guard zones */
    int64_t c_batch, c_row;
    float *a, *b, *bias, *got, *again;
    wi_buffer device[4]; /* A, B, C, bias */
    bool with_bias;
} fixture;

/* Zeros up to the first. */
static float *random_values(size_t count, size_t first, uint32_t seed) {
    float *values = calloc(count, sizeof *values);
    assert_non_null(values);
    for (size_t i = first; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)((int)(seed >> 24) % 17 - 8) / 8.0f;
    }
    return values;
}

static void upload(wi_buffer *buffer, weft_dtype dtype, const float *values, size_t count) {
    const wi_format *const format = wi_format_of(dtype);
    void *const data = malloc(count * format->size);
    assert_non_null(data);
    for (size_t i = 0; i < count; i++) format->put(data, i, (double)values[i]);
    assert_ok(wi_buffer_create(buffer, wi_context_device(context), count * format->size));
    assert_ok(wi_buffer_write(wi_context_device(context), buffer->memory, 0, data, count * format->size));
    free(data);
}

/* C lies in a larger matrix: GUARD elements before it, 5 after each row, 11 after each batch. */
static void set_up(fixture *f, const wi_gemm_shape *shape, const weft_dtype *of, bool plain) {
    const int64_t offset = plain ? 0 : 3;
    *f = (fixture){.shape = *shape, .formats = {of[0], of[1]}, .with_bias = !plain};
    f->c_row = shape->n + (plain ? 0 : 5);
    f->c_batch = shape->m * f->c_row + (plain ? 0 : 11);
    f->counts[0] = (size_t)(offset + extent((int64_t[]){shape->batch, shape->m, shape->k},
                                         (int64_t[]){shape->a_batch, shape->a_row, shape->a_column}));
    f->counts[1] = (size_t)(offset + extent((int64_t[]){shape->batch, shape->k, shape->n},
                                         (int64_t[]){shape->b_batch, shape->b_row, shape->b_column}));
    f->counts[2] = (size_t)(2 * GUARD + shape->batch * f->c_batch);
    f->a = random_values(f->counts[0], (size_t)offset, 1);
    f->b = random_values(f->counts[1], (size_t)offset, 2);
    f->bias = random_values((size_t)shape->n, 0, 3);
    f->got = calloc(f->counts[2], sizeof(float));
    f->again = calloc(f->counts[2], sizeof(float));
    assert_true(f->got && f->again);
    upload(&f->device[0], of[0], f->a, f->counts[0]);
    upload(&f->device[1], of[1], f->b, f->counts[1]);
    for (size_t i = 0; i < f->counts[2]; i++) f->got[i] = untouched;
    upload(&f->device[2], WEFT_F32, f->got, f->counts[2]);
    upload(&f->device[3], WEFT_F32, f->bias, (size_t)shape->n);
}

static void tear_down(fixture *f) {
    for (int i = 0; i < 4; i++) wi_buffer_release(&f->device[i], wi_context_device(context));
    float *const own[] = {f->a, f->b, f->bias, f->got, f->again};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) free(own[i]);
}

static weft_status set_bias_relu(cl_kernel kernel, cl_uint first, void *user) {
    const fixture *const f = user;
    const cl_mem memory[] = {f->device[2].memory, f->device[3].memory};
    const cl_long numbers[] = {GUARD, f->c_batch, f->c_row};
    for (cl_uint i = 0; i < 2; i++)
        WI_CL(clSetKernelArg(kernel, first + i, sizeof memory[i], &memory[i]), "clSetKernelArg");
    for (cl_uint i = 0; i < 3; i++)
        WI_CL(clSetKernelArg(kernel, first + 2 + i, sizeof numbers[i], &numbers[i]), "clSetKernelArg");
    return WEFT_OK;
}

/* Reads what is there before it writes: a second store to an element would show. */
static wi_gemm_epilogue bias_relu(fixture *f) {
    const bool is_cpu = wi_context_device(context)->caps.device_class == WEFT_CLASS_CPU;
    return (wi_gemm_epilogue){
        .parameters =
            ", __global float *c, __global const float *bias, long c_offset, long c_batch, long c_row",
        .store =
            is_cpu
                ? "do { const float16 weft_sum = (acc); for (int weft_lane = 0; weft_lane < (lanes); "
                  "++weft_lane) {"
                  " __global float *weft_at = c + c_offset + (batch) * c_batch + (row) * c_row + (column) + "
                  "weft_lane;"
                  " *weft_at = *weft_at == -12345.0f"
                  " ? fmax(((const float *)&weft_sum)[weft_lane] + bias[(column) + weft_lane], 0.0f) : "
                  "-1.0f; } } while (0)"
                : "do { __global float *weft_at = c + c_offset + (batch) * c_batch + (row) * c_row + "
                  "(column);"
                  " *weft_at = *weft_at == -12345.0f ? fmax((acc) + bias[column], 0.0f) : -1.0f; } while (0)",
        .set = set_bias_relu,
        .user = f};
}

/* Of the last shape, whose numbers are the same for every implementation, format and epilogue. */
static struct {
    wi_gemm_shape shape;
    double *sums; /* (batch, m, n) */
} known;

static const double *sums_of(const fixture *f) {
    const wi_gemm_shape *const s = &f->shape;
    const float *const a = f->a + (f->with_bias ? 3 : 0), *const b = f->b + (f->with_bias ? 3 : 0);
    if (known.sums && memcmp(&known.shape, s, sizeof *s) == 0) return known.sums;
    free(known.sums);
    known.shape = *s;
    known.sums = calloc((size_t)(s->batch * s->m * s->n), sizeof *known.sums);
    assert_non_null(known.sums);
    for (int64_t i = 0; i < s->batch * s->m * s->n; i++) {
        const int64_t batch = i / s->n / s->m, row = i / s->n % s->m, column = i % s->n;
        for (int64_t p = 0; p < s->k; p++)
            known.sums[i] += (double)a[batch * s->a_batch + row * s->a_row + p * s->a_column] *
                             (double)b[batch * s->b_batch + p * s->b_row + column * s->b_column];
    }
    return known.sums;
}

/* The row, column and batch of an element of the guarded C; false for one that is outside. */
static bool locate(const fixture *f, size_t index, int64_t at[3]) {
    const int64_t inside = (int64_t)index - GUARD;
    if (inside < 0) return false;
    at[0] = inside / f->c_batch;
    at[1] = inside % f->c_batch / f->c_row;
    at[2] = inside % f->c_batch % f->c_row;
    return at[0] < f->shape.batch && at[1] < f->shape.m && at[2] < f->shape.n;
}

static void check(const fixture *f, const char *name, const char *what) {
    const wi_gemm_shape *const s = &f->shape;
    const double *const sums = sums_of(f);
    for (size_t i = 0; i < f->counts[2]; i++) {
        int64_t at[3];
        double wanted = (double)untouched;
        if (locate(f, i, at)) wanted = sums[(at[0] * s->m + at[1]) * s->n + at[2]];
        if (f->with_bias && locate(f, i, at)) wanted = fmax(wanted + (double)f->bias[at[2]], 0.0);
        if ((double)f->got[i] == wanted) continue;
        print_error("%s, %s: element %lld of (%lld, %lld, %lld) is %g instead of %g\n", name, what,
            (long long)i - GUARD, (long long)s->batch, (long long)s->m, (long long)s->n, (double)f->got[i],
            wanted);
        fail();
    }
}

typedef struct candidate {
    const wi_implementation *implementation;
    const wi_variant *variant;
} candidate;

static void run(fixture *f, const wi_gemm_product *product, float *to) {
    const size_t bytes = f->counts[2] * sizeof(float);
    for (size_t i = 0; i < f->counts[2]; i++) to[i] = untouched;
    assert_ok(wi_buffer_write(wi_context_device(context), f->device[2].memory, 0, to, bytes));
    assert_ok(wi_gemm_product_run(product));
    assert_ok(wi_buffer_read(wi_context_device(context), f->device[2].memory, 0, to, bytes));
}

static void compute_twice(fixture *f, const candidate *product_of, const wi_gemm_epilogue *epilogue) {
    wi_gemm_product product;
    const int64_t offset = f->with_bias ? 3 : 0;
    assert_ok(wi_gemm_product_create(&product, wi_context_device(context), product_of->implementation,
        product_of->variant, &f->shape,
        &(wi_gemm_operands){.a = f->device[0].memory,
            .b = f->device[1].memory,
            .c = f->device[2].memory,
            .a_offset = offset,
            .b_offset = offset,
            .c_offset = GUARD,
            .formats = {f->formats[0], f->formats[1]},
            .precision = precision},
        epilogue));
    run(f, &product, f->got);
    run(f, &product, f->again);
    wi_gemm_product_clear(&product);
}

static wi_kernel_site site_of(const wi_gemm_shape *shape) {
    return (wi_kernel_site){.device = &wi_context_device(context)->profile, .product = shape};
}

static bool accepts_formats(const candidate *one, const wi_gemm_shape *shape, const weft_dtype *of) {
    wi_kernel_site site = site_of(shape);
    site.formats[0] = of[0];
    site.formats[1] = of[1];
    site.precision = precision;
    return wi_implementation_accepts(one->implementation, one->variant, &site);
}

static bool accepts(const wi_implementation *implementation, const wi_gemm_shape *shape) {
    const wi_kernel_site site = site_of(shape);
    return wi_implementation_accepts(implementation, NULL, &site);
}

static weft_status select_for(const wi_implementation **chosen, const wi_gemm_shape *shape) {
    const wi_kernel_site site = site_of(shape);
    wi_selection selection;
    const weft_status status = wi_select(&selection, wi_context_device(context), &wi_op_matmul, &site);
    *chosen = selection.chosen;
    return status;
}

static void check_product(
    const candidate *one, const wi_gemm_shape *shape, const weft_dtype *of, bool plain, const char *what) {
    fixture f;
    if (!accepts_formats(one, shape, of)) return;
    set_up(&f, shape, of, plain);
    const wi_gemm_epilogue epilogue = bias_relu(&f);
    compute_twice(&f, one, plain ? NULL : &epilogue);
    check(&f, one->implementation->name, what);
    assert_memory_equal(f.got, f.again, f.counts[2] * sizeof(float));
    tear_down(&f);
}

/* What has one row, column or step of k: both strides of an operand may be 1, which templates of engines have branches for. */
static bool has_vector(const wi_gemm_shape *shape) {
    return shape->m == 1 || shape->n == 1 || shape->k == 1;
}

/* In f32 with one of the two epilogues, and with operands of other formats. */
static void check_candidate(
    const candidate *one, const test_case *test, const weft_dtype *narrow, bool plain, unsigned products) {
    const bool has_epilogue = one->implementation->file != NULL;
    if (products & 1) check_product(one, &test->shape, formats[0], plain || !has_epilogue, test->what);
    if (products & 2 && has_epilogue) check_product(one, &test->shape, narrow, false, test->what);
}

/* 0 to 3: A transposed, + 2: B transposed; 0: neither, whatever else the strides are. */
static int transposes_of(const wi_gemm_shape *shape) {
    return (shape->a_column != 1 && shape->a_row == 1) | (shape->b_column != 1 && shape->b_row == 1) << 1;
}

/* Each layout of the operands, format and epilogue may be a program, which takes a tenth of a second or more to compile. Of the first
 * variant of a kernel a layout has f32 with one epilogue, and another format. The others, whose text is the same, have two of four
 * transpositions of each case, one in f32 with the plain epilogue and one in bf16. An engine multiplies vectors in bf16 and by the
 * first variant alone, as nothing but the tail depends on the shape. WEFT_TEST_PRODUCT names the only product that is tried. */
static void check_everywhere(const test_case *test, size_t number, int transposes) {
    const char *const only = getenv("WEFT_TEST_PRODUCT");
    const weft_dtype *const narrow = formats[1 + transposes % 3];
    const unsigned alternating = transposes == 1 || transposes == 2 ? 2 : 1;
    int found = 0;
    for (int i = 0; wi_product_family[i]; i++) {
        const wi_implementation *const own = wi_product_family[i];
        const bool in_bf16 = own->needs.engines != 0 && has_vector(&test->shape);
        const wi_variant *variant;
        if (only && strcmp(only, own->name) != 0) continue;
        for (int v = 0; (variant = wi_implementation_variant(own, v)) != NULL; v++, found++) {
            const candidate one = {own, variant};
            if (v > 0 && !in_bf16 && ((int)number + transposes + v) % 2 == 0)
                check_candidate(&one, test, formats[1], true, alternating);
            else if (v == 0)
                check_candidate(
                    &one, test, in_bf16 ? formats[1] : narrow, narrow != formats[2], in_bf16 ? 2 : 3);
        }
    }
    assert_true(found > 0);
}

static wi_gemm_shape transposed(wi_gemm_shape shape, bool a, bool b) {
    if (a) {
        shape.a_row = 1;
        shape.a_column = shape.m;
    }
    if (b) {
        shape.b_row = 1;
        shape.b_column = shape.k;
    }
    return shape;
}

static void every_transposition(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int transposes = 0; transposes < 4; transposes++) {
            char what[64];
            if (test_reduced() && transposes != (int)(i % 4)) continue; /* one each */
            snprintf(what, sizeof what, "%s%s%s", cases[i].what, transposes & 1 ? ", A transposed" : "",
                transposes & 2 ? ", B transposed" : "");
            check_everywhere(&(test_case){what, transposed(cases[i].shape, transposes & 1, transposes & 2)},
                i, transposes);
        }
    }
}

static void strides_of_any_kind(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof odd_cases / sizeof *odd_cases; i++)
        check_everywhere(&odd_cases[i], i, transposes_of(&odd_cases[i].shape));
}

static void the_fast_kernel_comes_first_and_can_be_forced(void **state) {
    const wi_implementation *chosen = NULL;
    const bool is_cpu = wi_context_device(context)->caps.device_class == WEFT_CLASS_CPU;
    (void)state;
    unsetenv("WEFT_GEMM");
    assert_ok(select_for(&chosen, &cases[10].shape));
    if (!(wi_context_device(context)->caps.type & CL_DEVICE_TYPE_GPU) &&
        !(wi_context_device(context)->caps.quirks & WI_QUIRK_SCALAR_COMPILER)) {
        assert_string_equal(chosen->name, is_cpu ? "cpu_small" : "gpu_tiled");
        const wi_gemm_shape large = {1, 256, 256, 256, 0, 256, 1, 0, 256, 1, NULL};
        assert_ok(select_for(&chosen, &large));
        assert_string_equal(chosen->name, is_cpu ? "cpu_direct" : "gpu_tiled");
        const wi_gemm_shape transposed = {1, 256, 256, 256, 0, 1, 256, 0, 256, 1, NULL};
        assert_ok(select_for(&chosen, &transposed));
        assert_string_equal(chosen->name, is_cpu ? "cpu_direct" : "gpu_tiled");
    }
    setenv("WEFT_GEMM", "naive", 1);
    assert_ok(select_for(&chosen, &cases[10].shape));
    assert_string_equal(chosen->name, "naive");
    setenv("WEFT_GEMM", is_cpu ? "gpu_tiled" : "cpu_block", 1); /* does not accept the shape here */
    assert_ok(select_for(&chosen, &cases[10].shape));
    assert_true(accepts(chosen, &cases[10].shape));
    unsetenv("WEFT_GEMM");
}

/* CLBlast, where the build has it, through the plan's own choice: one transposed product and a batch of plain ones.
 * On a GPU it takes part in every case above. */
static void a_library_computes_the_same(void **state) {
    const wi_gemm_shape one = {1, 33, 17, 29, 0, 1, 33, 0, 1, 29, NULL},
                        batch = {3, 8, 20, 12, 8 * 12, 12, 1, 20 * 12, 20, 1, NULL};
    const wi_implementation *library = NULL;
    (void)state;
    for (int i = 0; wi_product_family[i]; i++) {
        if (!wi_product_family[i]->file) library = wi_product_family[i];
    }
    const bool other_class = wi_context_device(context)->caps.device_class == WEFT_CLASS_CPU;
    if (!library || other_class || (wi_context_device(context)->caps.quirks & WI_QUIRK_SCALAR_COMPILER)) {
        print_message("skipped: %s\n", !library      ? "built without CLBlast"
                                       : other_class ? "CLBlast belongs to class gpu"
                                                     : "CLBlast's kernels take minutes to compile here");
        skip();
    }
    setenv("WEFT_GEMM", library->name, 1);
    const wi_implementation *chosen = NULL;
    assert_ok(select_for(&chosen, &one));
    assert_ptr_equal(chosen, library);
    check_product(&(candidate){library, NULL}, &one, formats[0], true, "one, transposed");
    check_product(&(candidate){library, NULL}, &batch, formats[0], true, "batch");
    unsetenv("WEFT_GEMM");
}

/* The shapes of a small network's training step are one launch each, without scratch memory. */
static void small_products_are_one_launch(void **state) {
    (void)state;
    for (size_t i = 10; i < 15; i++) {
        const wi_implementation *chosen = NULL;
        const wi_gemm_shape shape = transposed(cases[i].shape, i >= 13, i < 12);
        assert_ok(select_for(&chosen, &shape));
        if (!chosen->file) continue;
        wi_arena arena;
        wi_arena_init(&arena, context->allocator);
        wi_kernel_plan launches;
        const wi_kernel_site site = site_of(&shape);
        assert_ok(wi_implementation_prepare(chosen, NULL, &site, &arena, &launches));
        assert_int_equal(launches.count, 1);
        assert_int_equal(launches.scratch_bytes, 0);
        wi_arena_clear(&arena);
    }
}

static int open_context(void **state) {
    (void)state;
    setenv("WEFT_ASYNC_COPIES", "model-late", 1); /* and plain reads stand for those of sub-groups */
    const weft_status status = weft_context_create(&context, NULL);
    if (status == WEFT_OK) wi_context_device(context)->profile.block_reads = true;
    return status != WEFT_OK;
}

static int close_context(void **state) {
    (void)state;
    weft_context_release(context);
    free(known.sums);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_transposition),
        cmocka_unit_test(strides_of_any_kind),
        cmocka_unit_test(the_fast_kernel_comes_first_and_can_be_forced),
        cmocka_unit_test(a_library_computes_the_same), cmocka_unit_test(small_products_are_one_launch)};
    return cmocka_run_group_tests(tests, open_context, close_context);
}
