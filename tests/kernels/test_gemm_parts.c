/* f32 products from bf16 parts of the numbers (cl_kernels/product/gemm_cpu_amx_parts.cl, gemm_engine_parts_gpu.cl): as exact as
 * promised, and right at the ends of the range. With the engine, where there is one, and with the model of it. */
/* test slow gpu:optimised */
/* test.model formats WEFT_MATRIX_ENGINES=model */
#include "cl/context.h"
#include "cl/matrix_engine.h"
#include "kernels/product/gemm_check.h"
#include "kernels/product/gemm_product.h"
#include "kernels/registry.h"
#include "kernels/selection.h"
#include "ops/op_table.h"
#include "support/checks.h"
#include "support/fixture.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* Multiples of no tile, more than one panel, and k longer than the kernel takes at once. */
enum { M = 35, N = 45, USUAL_DEPTH = 291, MOST_DEPTH = 4096 };
static int depth = USUAL_DEPTH;
static float left[M * MOST_DEPTH], right[MOST_DEPTH * N], result[M * N];

/* The headers with a model in place of the engine, and which variants are tried with it: all, or these. Compilers take a second for each,
 * and what is not the engine's is one text; wmma and wmma12 have the same tiles. */
typedef struct parts_kernel {
    const char *name, *headers[3], *variants[2];
    weft_device_class device_class;
} parts_kernel;

static const parts_kernel kernels[] = {{"cpu_amx_parts", {"amx_model.clh"}, {NULL}, WEFT_CLASS_CPU},
    {"gpu_mma_parts", {"engine_modelled.clh"}, {NULL}, WEFT_CLASS_GPU},
    {"gpu_wmma_parts", {"engine_modelled.clh"}, {"large", "six_small"}, WEFT_CLASS_GPU},
    {"gpu_wmma12_parts", {"engine_modelled.clh"}, {"small"}, WEFT_CLASS_GPU},
    {"gpu_mfma_parts", {"engine_modelled.clh"}, {"large", "six_small"}, WEFT_CLASS_GPU},
    {"gpu_xmx8_parts", {"engine_modelled.clh"}, {"six"}, WEFT_CLASS_GPU},
    {"gpu_xmx16_parts", {"engine_modelled.clh"}, {"small"}, WEFT_CLASS_GPU}};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static wi_implementation parts(const parts_kernel *kernel, bool model) {
    for (int i = 0; wi_product_family[i]; i++) {
        if (strcmp(wi_product_family[i]->name, kernel->name) != 0) continue;
        wi_implementation found = *wi_product_family[i];
        if (model) {
            found.headers = kernel->headers;
            found.needs.engines = 0;
        }
        return found;
    }
    fail_msg("there is no %s", kernel->name);
    return (wi_implementation){0};
}

/* From -1 to 1, with all bits of the fraction. */
static float number(size_t i) {
    uint32_t bits = (uint32_t)i * 2654435761u;
    for (int round = 0; round < 3; round++) bits = (bits ^ bits >> 15) * 2246822519u;
    return (float)(bits >> 8) / 8388608.0f - 1.0f;
}

static void fill(void) {
    for (int i = 0; i < M * depth; i++) left[i] = number((size_t)i);
    for (int i = 0; i < depth * N; i++) right[i] = number((size_t)(i + M * depth));
}

static void upload(wi_buffer *buffer, const float *numbers, size_t count) {
    wi_device *const device = wi_context_device(test_context());
    assert_ok(wi_buffer_create(buffer, device, count * sizeof *numbers));
    assert_ok(wi_buffer_write(device, buffer->memory, 0, numbers, count * sizeof *numbers));
}

static void multiply(
    const wi_implementation *implementation, const wi_variant *variant, const wi_gemm_shape *shape) {
    wi_device *const device = wi_context_device(test_context());
    wi_buffer a = {0}, b = {0}, c = {0};
    wi_gemm_product product;
    upload(&a, left, (size_t)(M * depth));
    upload(&b, right, (size_t)(depth * N));
    upload(&c, result, M * N);
    assert_ok(wi_gemm_product_create(&product, device, implementation, variant, shape,
        &(wi_gemm_operands){.a = a.memory, .b = b.memory, .c = c.memory}, NULL));
    assert_ok(wi_gemm_product_run(&product));
    assert_ok(wi_buffer_read(device, c.memory, 0, result, sizeof result));
    wi_gemm_product_clear(&product);
    wi_buffer_release(&a, device);
    wi_buffer_release(&b, device);
    wi_buffer_release(&c, device);
}

static wi_gemm_shape shape_of(int layout) {
    const bool a = layout & 1, b = layout & 2;
    return (wi_gemm_shape){1, M, N, depth, 0, a ? 1 : depth, a ? M : 1, 0, b ? 1 : N, b ? depth : 1, NULL};
}

static double exact(const wi_gemm_shape *s, int i, int j) {
    double sum = 0.0;
    for (int p = 0; p < depth; p++)
        sum += (double)left[i * s->a_row + p * s->a_column] * (double)right[p * s->b_row + j * s->b_column];
    return sum;
}

/* Root mean square of the errors relative to that of the elements. */
static double error_of(const wi_gemm_shape *s) {
    double errors = 0.0, squares = 0.0;
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            const double right_one = exact(s, i, j), error = (double)result[i * N + j] - right_one;
            errors += error * error;
            squares += right_one * right_one;
        }
    }
    return sqrt(errors / squares);
}

/* The same of multiply-adds in f32. */
static double error_of_f32(const wi_gemm_shape *s) {
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            float sum = 0.0f;
            for (int p = 0; p < depth; p++)
                sum = fmaf(left[i * s->a_row + p * s->a_column], right[p * s->b_row + j * s->b_column], sum);
            result[i * N + j] = sum;
        }
    }
    return error_of(s);
}

/* Three or six products for each variant of GPUs' kernels for what is the same text in all. */
static bool is_repeated(const wi_implementation *implementation, const wi_variant *variant) {
    return implementation->needs.classes == WI_ON_GPU && !strstr(variant->name, "small");
}

typedef void check(const wi_implementation *implementation, const wi_variant *variant, bool six);

/* Where vectors are in the engine's place, products of parts are not faster. */
static bool has_parts(const wi_device *device) {
    return device->profile.engines & WI_ENGINE_AMX_BF16 && !(device->profile.engines & WI_ENGINE_AVX512_BF16);
}

static bool has_engine(const wi_device *device, const parts_kernel *kernel) {
    if (kernel->device_class == WEFT_CLASS_CPU) return has_parts(device);
    return !(parts(kernel, false).needs.engines & ~device->profile.engines);
}

/* The words that lanes of a model show each other lie in local memory, too. */
enum { MODEL_BYTES = 1 << 14 };

static bool has_room(
    const wi_device *device, const wi_implementation *implementation, const wi_variant *variant, bool model) {
    const wi_needs *const needs = &implementation->needs;
    const size_t own = needs->limits ? needs->limits(variant->values).local_bytes : 0;
    if (own == 0 || own + (model ? MODEL_BYTES : 0) <= device->profile.local_bytes) return true;
    print_message("%s %s needs more local memory than there is\n", implementation->name, variant->name);
    return false;
}

static bool is_tried(const char *const tried[2], const char *name) {
    return !tried[0] || strcmp(tried[0], name) == 0 || (tried[1] && strcmp(tried[1], name) == 0);
}

/* Each kernel of the device's class, with the model and where there is an engine with it. */
static void with_each(check *what) {
    const wi_device *const device = wi_context_device(test_context());
    if (test_reduced()) skip();
    for (int k = 0; k < KERNELS; k++) {
        if (kernels[k].device_class != device->caps.device_class) continue;
        for (int model = has_engine(device, &kernels[k]) ? 0 : 1; model < 2; model++) {
            const wi_implementation implementation = parts(&kernels[k], model);
            const wi_variant *variant;
            for (int v = 0; (variant = wi_implementation_variant(&implementation, v)) != NULL; v++)
                if ((!model || is_tried(kernels[k].variants, variant->name)) &&
                    has_room(device, &implementation, variant, model))
                    what(&implementation, variant, strncmp(variant->name, "six", 3) == 0);
        }
    }
}

static void check_errors(const wi_implementation *implementation, const wi_variant *variant, bool six) {
    for (int layout = is_repeated(implementation, variant) ? 3 : 0; layout < 4; layout++) {
        const wi_gemm_shape shape = shape_of(layout);
        fill();
        multiply(implementation, variant, &shape);
        const double error = error_of(&shape);
        /* Three products, and not multiply-adds; six, and no part is missing. */
        assert_true(six ? error < 2.5e-7 : error < 5e-6 && error > 1e-6);
    }
}

/* Of numbers of both signs, and of one, whose errors would pile up. */
static void check_depths(const wi_implementation *implementation, const wi_variant *variant, bool six) {
    static float first[M * N];
    const bool slow = implementation->needs.classes == WI_ON_GPU; /* the models of engines */
    if (!six || is_repeated(implementation, variant)) return;
    for (int step = slow ? 3 : 0; step < 4; step++) {
        depth = (int[]){256, 1024, 4096, slow ? 256 : 1000}[step];
        const wi_gemm_shape shape = shape_of(step);
        fill();
        for (int i = 0; step == 3 && i < M * depth; i++) left[i] = fabsf(left[i]);
        for (int i = 0; step == 3 && i < depth * N; i++) right[i] = fabsf(right[i]);
        multiply(implementation, variant, &shape);
        memcpy(first, result, sizeof first);
        const double error = error_of(&shape);
        multiply(implementation, variant, &shape);
        assert_memory_equal(first, result, sizeof first);
        assert_true(error <= error_of_f32(&shape));
    }
    depth = USUAL_DEPTH;
}

static void six_products_are_as_exact_as_f32(void **state) {
    (void)state;
    with_each(check_depths);
}

static void check_first_use(const wi_implementation *implementation, const wi_variant *variant, bool six) {
    wi_device *const device = wi_context_device(test_context());
    if (is_repeated(implementation, variant) || strstr(implementation->name, "wmma") ||
        strstr(implementation->name, "xmx"))
        return;
    assert_true(wi_gemm_is_right(device, implementation, variant));
    if (six) return;
    wi_implementation careless = *implementation;
    wi_variant rough = *variant;
    rough.name = "rough";
    careless.accepts = NULL; /* takes `highest`, too */
    assert_false(wi_gemm_is_right(device, &careless, &rough));
}

/* Three products give small numbers exactly, and are no f32. */
static void rough_products_are_found_on_first_use(void **state) {
    (void)state;
    with_each(check_first_use);
}

static void products_of_parts_are_exact_enough(void **state) {
    (void)state;
    with_each(check_errors);
}

/* What f32 gives: the same kind of number, and a finite one as near as the variant is, or as near as the smallest numbers are. */
static void check_row(const wi_gemm_shape *s, int i, double tolerance) {
    for (int j = 0; j < N; j++) {
        float plain = 0.0f;
        double size = 0.0;
        for (int p = 0; p < depth; p++) {
            const float a = left[i * s->a_row + p * s->a_column], b = right[p * s->b_row + j * s->b_column];
            plain = fmaf(a, b, plain);
            size += fabs((double)a * (double)b);
        }
        const float got = result[i * N + j];
        if (!isfinite(plain))
            assert_true(isnan(plain) ? isnan(got) : got == plain);
        else
            assert_true(fabs((double)got - (double)plain) <= tolerance * size + 1e-44);
    }
}

static void check_ends(const wi_implementation *implementation, const wi_variant *variant, bool six) {
    if (is_repeated(implementation, variant)) return;
    static const float ends[] = {
        INFINITY, -INFINITY, NAN, FLT_MAX, -FLT_MAX, 3e38f, FLT_MIN, 1e-40f, 1e-45f, 1e-36f, 1e30f, 0.0f};
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
        const wi_gemm_shape shape = shape_of((int)e % 4);
        fill();
        left[3 * shape.a_row + 290 * shape.a_column] = ends[e];
        for (int p = 0; p < depth; p++) left[7 * shape.a_row + p * shape.a_column] *= ends[e];
        right[5 * shape.b_row + 40 * shape.b_column] = ends[e];
        multiply(implementation, variant, &shape);
        for (int i = 0; i < M; i += i == 7 ? 13 : 1) check_row(&shape, i, six ? 1e-6 : 2e-5);
    }
}

static void ends_of_the_range_give_what_f32_gives(void **state) {
    (void)state;
    with_each(check_ends);
}

/* Numbers whose low parts, or products, underflow: subnormal sums are kept. */
static void check_small(const wi_implementation *implementation, const wi_variant *variant, bool six) {
    const wi_gemm_shape shape = shape_of(0);
    if (is_repeated(implementation, variant)) return;
    for (int step = 0; step < 3; step++) {
        const float a = (float[]){1e-35f, 1e-20f, 1e-44f}[step], b = (float[]){1.0f, 1e-22f, 1e30f}[step];
        fill();
        for (int i = 0; i < M * depth; i++) left[i] *= a;
        for (int i = 0; i < depth * N; i++) right[i] *= b;
        multiply(implementation, variant, &shape);
        for (int i = 0; i < M; i++) check_row(&shape, i, six ? 1e-6 : 2e-5);
    }
}

static void small_numbers_do_not_vanish(void **state) {
    (void)state;
    with_each(check_small);
}

/* Both are served where there is an engine that multiplies fast enough. */
static void the_precision_decides(void **state) {
    const wi_gemm_shape large = {1, 1024, 1024, 1024, 0, 1024, 1, 0, 1024, 1, NULL};
    wi_device *const device = wi_context_device(test_context());
    wi_kernel_site site = {.device = &device->profile, .product = &large};
    const bool fits = device->caps.device_class == WEFT_CLASS_CPU && has_parts(device);
    (void)state;
    for (int products = WEFT_MATMUL_PRECISION_HIGHEST; products <= WEFT_MATMUL_PRECISION_HIGH; products++) {
        wi_selection selection;
        site.products = (weft_matmul_precision)products;
        assert_ok(wi_select(&selection, device, &wi_op_matmul, &site));
        assert_int_equal(strcmp(selection.chosen->name, "cpu_amx_parts") == 0, fits);
        if (fits) assert_string_equal(selection.variant->name, products == 0 ? "six" : "three");
        if (!fits && device->caps.device_class == WEFT_CLASS_CPU)
            assert_int_equal(selection.chosen->needs.engines, 0);
    }
}

/* The least estimate in `highest` on a GPU, with margins. */
static double least_cost(const wi_implementation *implementation, const wi_kernel_site *site) {
    const wi_variant *variant;
    double least = INFINITY;
    for (int v = 0; (variant = wi_implementation_variant(implementation, v)) != NULL; v++) {
        if (wi_variant_is_tuned(implementation, variant) ||
            !wi_implementation_accepts(implementation, variant, site))
            continue;
        least = fmin(least, wi_implementation_cost(implementation, variant, site) *
                                wi_implementation_margin(implementation, variant, site));
    }
    return least;
}

/* Six products are not worth it at twice the rate of f32, nor at eight times. */
static void the_rate_of_an_engine_decides(void **state) {
    const wi_gemm_shape large = {1, 2048, 2048, 2048, 0, 2048, 1, 0, 2048, 1, NULL};
    wi_device_profile gpu = *wi_device_kind_named("gpu");
    const wi_kernel_site site = {.device = &gpu, .product = &large};
    const parts_kernel tiled = {.name = "gpu_tiled"};
    const wi_implementation plain = parts(&tiled, false);
    (void)state;
    gpu.units = 108;
    gpu.max_group = gpu.max_items[0] = gpu.max_items[1] = 1024;
    gpu.local_bytes = 48 << 10;
    for (int k = 1; k < KERNELS; k++) {
        const wi_implementation kernel = parts(&kernels[k], false);
        gpu.engines = kernel.needs.engines;
        for (double rate = 2.0; rate <= 16.0; rate *= 2.0) {
            gpu.peak_engine = rate * gpu.peak_f32;
            assert_int_equal(least_cost(&kernel, &site) < least_cost(&plain, &site), rate == 16.0);
        }
    }
}

/* Of a GPU with the engine products from parts take what asks for as many parts, and nothing else. */
static void engines_of_gpus_serve_their_precision(void **state) {
    const wi_gemm_shape large = {1, 1024, 1024, 1024, 0, 1024, 1, 0, 1024, 1, NULL};
    wi_device_profile gpu = wi_context_device(test_context())->profile;
    wi_kernel_site site = {.device = &gpu, .product = &large};
    (void)state;
    gpu.device_class = WEFT_CLASS_GPU;
    gpu.local_bytes = (size_t)1 << 16;
    for (int k = 1; k < KERNELS; k++) {
        const wi_implementation kernel = parts(&kernels[k], false);
        const wi_variant *variant;
        for (int v = 0; (variant = wi_implementation_variant(&kernel, v)) != NULL; v++) {
            const bool six = strncmp(variant->name, "six", 3) == 0;
            for (int asked = 0; asked < 3; asked++) {
                site.products = (weft_matmul_precision)asked;
                gpu.engines = kernel.needs.engines;
                const bool served =
                    site.products == (six ? WEFT_MATMUL_PRECISION_HIGHEST : WEFT_MATMUL_PRECISION_HIGH);
                assert_int_equal(wi_implementation_accepts(&kernel, variant, &site), served);
                gpu.engines = 0;
                assert_false(wi_implementation_accepts(&kernel, variant, &site));
            }
        }
    }
}

enum { SIDE = 512 };

/* Of one product in a graph. */
static double error_of_plan(weft_matmul_precision precision, const float *a, const float *b, float *c) {
    const int64_t dims[] = {SIDE, SIDE};
    weft_graph *graph = NULL;
    weft_plan *plan = NULL;
    double errors = 0.0, squares = 0.0;
    assert_weft_ok(weft_graph_create(&graph, test_context()));
    assert_weft_ok(weft_graph_set_matmul_precision(graph, precision));
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 2, dims);
    weft_tensor *const y = weft_input_shape(graph, "y", WEFT_F32, 2, dims);
    weft_tensor *product = weft_matmul(x, y);
    assert_weft_ok(weft_plan_create(&plan, &product, 1, NULL));
    assert_weft_ok(weft_plan_write(plan, x, a, SIDE * SIDE * sizeof *a));
    assert_weft_ok(weft_plan_write(plan, y, b, SIDE * SIDE * sizeof *b));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, product, c, SIDE * SIDE * sizeof *c));
    for (int i = 0; i < SIDE; i += 37) {
        for (int j = 0; j < SIDE; j++) {
            double sum = 0.0;
            for (int p = 0; p < SIDE; p++) sum += (double)a[i * SIDE + p] * (double)b[p * SIDE + j];
            errors += (c[i * SIDE + j] - sum) * (c[i * SIDE + j] - sum);
            squares += sum * sum;
        }
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
    return sqrt(errors / squares);
}

static void a_graph_takes_the_precision(void **state) {
    static float a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];
    wi_device *const device = wi_context_device(test_context());
    const bool has_engine = device->caps.device_class == WEFT_CLASS_CPU && device->caps.engines;
    const bool fits = has_engine && has_parts(device);
    (void)state;
    for (size_t i = 0; i < SIDE * SIDE; i++) {
        a[i] = number(i);
        b[i] = number(i + SIDE * SIDE);
    }
    const double highest = error_of_plan(WEFT_MATMUL_PRECISION_HIGHEST, a, b, c);
    const double high = error_of_plan(WEFT_MATMUL_PRECISION_HIGH, a, b, c);
    const double medium = error_of_plan(WEFT_MATMUL_PRECISION_MEDIUM, a, b, c);
    assert_true(highest < 6e-7 && high < 8e-6 && medium < 5e-3);
    if (fits) assert_true(highest < 3e-7 && highest < high / 10.0);
    if (has_engine) assert_true(high < medium / 50.0);
    if (!fits) assert_true(high == highest);
    if (!has_engine) assert_true(medium == highest);
}

static void wrong_precisions_are_errors(void **state) {
    weft_graph *graph = NULL;
    (void)state;
    assert_int_equal(weft_graph_set_matmul_precision(NULL, WEFT_MATMUL_PRECISION_HIGH), WEFT_ERROR_ARGUMENT);
    assert_weft_ok(weft_graph_create(&graph, test_context()));
    assert_int_equal(weft_graph_set_matmul_precision(graph, (weft_matmul_precision)3), WEFT_ERROR_ARGUMENT);
    assert_non_null(strstr(weft_last_error(), "weft_graph_set_matmul_precision: precision is 3"));
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rate_of_an_engine_decides),
        cmocka_unit_test(products_of_parts_are_exact_enough),
        cmocka_unit_test(ends_of_the_range_give_what_f32_gives),
        cmocka_unit_test(small_numbers_do_not_vanish),
        cmocka_unit_test(the_precision_decides),
        cmocka_unit_test(engines_of_gpus_serve_their_precision),
        cmocka_unit_test(six_products_are_as_exact_as_f32),
        cmocka_unit_test(rough_products_are_found_on_first_use),
        cmocka_unit_test(a_graph_takes_the_precision),
        cmocka_unit_test(wrong_precisions_are_errors),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
