/* See bench_gemm.h. Packing and everything else that a product needs is inside its time. */
#include "bench_gemm.h"
#include "bench_sizes.h"
#include "cl/context.h"
#include "graph/dtype.h"
#include "kernels/product/gemm_product.h"
#include "kernels/selection.h"
#include "ops/op_table.h"
#include <stdio.h>
#include <string.h>

typedef struct product_size {
    int64_t m, n, k;
    bool b_transposed, a_transposed; /* the matrix lies transposed in memory */
} product_size;

/* Squares, rectangles, and the products of a small network's training step. */
static const int64_t usual_sizes[][BENCH_NUMBERS] = {{512, 512, 512, 0, 0}, {1024, 1024, 1024, 0, 0},
    {2048, 2048, 2048, 0, 0}, {1024, 1024, 1024, 1, 0}, {1024, 1024, 1024, 0, 1}, {128, 128, 128, 0, 0},
    {256, 256, 256, 0, 0}, {64, 4096, 1024, 1, 0}, {4096, 64, 1024, 0, 0}, {32, 128, 64, 1, 0},
    {32, 10, 128, 1, 0}, {32, 128, 10, 0, 0}, {10, 128, 32, 0, 1}, {128, 64, 32, 0, 1}};

static weft_status fill(wi_buffer *buffer, const bench_state *bench, int64_t count) {
    wi_device *const device = wi_context_device(bench->context);
    const wi_format *const format = wi_format_of(bench->precision);
    void *const values = wi_allocate_array(NULL, (size_t)count, format->size);
    if (!values) return WEFT_ERROR_MEMORY;
    for (int64_t i = 0; i < count; i++) format->put(values, (size_t)i, (double)(i % 19) / 19.0 - 0.5);
    weft_status status = wi_buffer_create(buffer, device, (size_t)count * format->size);
    if (status == WEFT_OK)
        status = wi_buffer_write(device, buffer->memory, 0, values, (size_t)count * format->size);
    wi_release(NULL, values);
    return status;
}

static void print_figure(const bench_state *bench, const product_size *size, const bench_figure *figure,
    const char *implementation) {
    if (bench->json)
        printf("{\"precision\": \"%s\", \"m\": %lld, \"n\": %lld, \"k\": %lld, \"a_transposed\": %s, "
               "\"b_transposed\": %s,"
               " \"microseconds\": %.2f, \"gflops\": %.2f, \"peak_gflops\": %.2f, \"share\": %.4f,"
               " \"implementation\": \"%s\"}\n",
            weft_dtype_name(bench->precision), (long long)size->m, (long long)size->n, (long long)size->k,
            size->a_transposed ? "true" : "false", size->b_transposed ? "true" : "false",
            figure->seconds * 1e6, figure->gflops, figure->peak_gflops, figure->share, implementation);
    else
        printf("%6lld %6lld %6lld  %c%c %12.1f %10.1f %10.1f %6.0f%%  %s\n", (long long)size->m,
            (long long)size->n, (long long)size->k, size->a_transposed ? 'T' : 'N',
            size->b_transposed ? 'T' : 'N', figure->seconds * 1e6, figure->gflops, figure->peak_gflops,
            100.0 * figure->share, implementation);
}

static weft_status measure(bench_state *bench, const int64_t *numbers, int pass) {
    const int64_t m = numbers[0], n = numbers[1], k = numbers[2];
    const product_size given = {m, n, k, numbers[3], numbers[4]}, *const size = &given;
    bench_figure figure;
    (void)pass;
    const wi_gemm_shape shape = {1, m, n, k, 0, size->a_transposed ? 1 : k, size->a_transposed ? m : 1, 0,
        size->b_transposed ? 1 : n, size->b_transposed ? k : 1, NULL};
    const wi_kernel_site site = {.device = &wi_context_device(bench->context)->profile,
        .product = &shape,
        .formats = {bench->precision, bench->precision},
        .precision = bench->products == WEFT_MATMUL_PRECISION_MEDIUM ? WEFT_BF16 : WEFT_F32,
        .products = bench->products};
    wi_selection selection;
    wi_gemm_product product = {0};
    wi_buffer a = {0}, b = {0}, c = {0};
    weft_status status;
    WI_TRY_DONE(fill(&a, bench, m * k));
    WI_TRY_DONE(fill(&b, bench, k * n));
    WI_TRY_DONE(wi_buffer_create(&c, wi_context_device(bench->context), (size_t)(m * n) * sizeof(float)));
    WI_TRY_DONE(wi_select(&selection, wi_context_device(bench->context), &wi_op_matmul, &site));
    WI_TRY_DONE(wi_gemm_product_create(&product, wi_context_device(bench->context), selection.chosen,
        selection.variant, &shape,
        &(wi_gemm_operands){.a = a.memory,
            .b = b.memory,
            .c = c.memory,
            .formats = {bench->precision, bench->precision},
            .precision = site.precision,
            .products = site.products},
        NULL));
    WI_TRY_DONE(bench_product_rounds(&figure, bench, &product, 2.0 * (double)m * (double)n * (double)k));
    print_figure(bench, size, &figure, selection.chosen->name);
done:
    wi_gemm_product_clear(&product);
    wi_buffer_release(&a, wi_context_device(bench->context));
    wi_buffer_release(&b, wi_context_device(bench->context));
    wi_buffer_release(&c, wi_context_device(bench->context));
    return status;
}

/* "NT": B lies transposed. */
static bool parse_layout(int64_t *numbers, const char *text) {
    if (strlen(text) != 2 || strspn(text, "NT") != 2) return false;
    numbers[3] = text[1] == 'T';
    numbers[4] = text[0] == 'T';
    return true;
}

static const bench_op op = {.name = "gemm",
    .numbers = "MxNxK[:NN|:NT|:TN|:TT]",
    .header = "     m      n      k  AB microseconds    GFLOP/s       peak   share  implementation",
    .usual = usual_sizes,
    .usual_count = sizeof usual_sizes / sizeof *usual_sizes,
    .precisions = true,
    .products = true,
    .passes = 1,
    .least = 3,
    .most = 3,
    .suffix = parse_layout,
    .measure = measure};

int weft_bench_gemm(int argc, char **argv) {
    return bench_sizes(&op, argc, argv);
}
