/* The index arithmetic of products by a matrix engine: the engine's instructions are replaced by a model in plain OpenCL C
 * (cl_kernels/product/amx_model.clh), so that the kernel runs on any device of class cpu, and under interpreters that see
 * every access. */
/* test slow */
#include "cl/context.h"
#include "kernels/product/gemm.h"
#include "kernels/registry.h"
#include "support/checks.h"
#include "support/engine_product.h"
#include "support/fixture.h"
#include <string.h>

/* Multiples of no tile, more than one panel, and k longer than the kernel takes at once. */
enum { ROWS = 35, COLUMNS = 45, DEPTH = 515 };

static const char *const model_headers[] = {"amx_model.clh", NULL};
static const char *const vector_headers[] = {"amx_vectors_model.clh", NULL}; /* of vdpbf16ps alone */

static wi_implementation modelled(const char *const *headers) {
    for (int i = 0; wi_product_family[i]; i++) {
        if (strcmp(wi_product_family[i]->name, "cpu_amx") != 0) continue;
        wi_implementation model = *wi_product_family[i];
        model.headers = headers;
        model.needs.engines = 0;
        return model;
    }
    fail_msg("there is no cpu_amx");
    return (wi_implementation){0};
}

static void every_layout_and_variant(void **state) {
    static const weft_dtype formats[][2] = {
        {WEFT_BF16, WEFT_BF16}, {WEFT_BF16, WEFT_F32}, {WEFT_F32, WEFT_BF16}, {WEFT_F32, WEFT_F16}};
    const wi_implementation model = modelled(model_headers);
    const wi_variant *variant;
    (void)state;
    if (wi_context_device(test_context())->caps.device_class != WEFT_CLASS_CPU) {
        print_message("skipped: the kernel is one of class cpu\n");
        skip();
    }
    const int64_t m = ROWS, n = COLUMNS, k = test_reduced() ? 37 : DEPTH;
    for (int v = 0; (variant = wi_implementation_variant(&model, v)) != NULL; v++) {
        for (int i = 0; i < 4; i++) {
            const bool a = i & 1, b = i & 2;
            const wi_gemm_shape shape = {1, m, n, k, 0, a ? 1 : k, a ? m : 1, 0, b ? 1 : n, b ? k : 1, NULL};
            check_engine_product(&model, variant, &shape, formats[(i + v) % 4], WEFT_BF16);
        }
    }
}

/* Tiles in memory, as AVX-512 BF16 multiplies them. */
static void a_product_by_vectors(void **state) {
    const wi_implementation model = modelled(vector_headers);
    const int64_t m = ROWS, n = COLUMNS, k = test_reduced() ? 37 : DEPTH;
    const wi_gemm_shape shape = {1, m, n, k, 0, k, 1, 0, n, 1, NULL};
    (void)state;
    if (wi_context_device(test_context())->caps.device_class != WEFT_CLASS_CPU) skip();
    /* Its tiles of all address spaces are found by one kind of number, as on processors. */
    if (strcmp(weft_context_device(test_context())->platform, "Oclgrind") == 0) {
        print_message("Oclgrind has an address space of its own for each kind of memory: skipped\n");
        skip();
    }
    check_engine_product(&model, wi_implementation_variant(&model, 0), &shape,
        (const weft_dtype[]){WEFT_BF16, WEFT_F32}, WEFT_BF16);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_and_variant), cmocka_unit_test(a_product_by_vectors)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
