/* Where attention of class gpu is computed by a matrix engine: in mixed precision, of heads up to 128 wide. A model stands for
 * the engine; that its results are right is test_attention's business. */
#include "support/engine_choice.h"
#include "support/fixture.h"
#include "support/scratch.h"

typedef struct test_case {
    weft_precision precision;
    int64_t length, width; /* of queries, keys and values */
    const char *forward, *gradient;
} test_case;

static const test_case cases[] = {
    {WEFT_PRECISION_BF16, 256, 64, "attention_gpu_mma", "attention_gradient_gpu_mma"},
    {WEFT_PRECISION_F16, 256, 64, "attention_gpu_mma", "attention_gradient_gpu_mma"},
    {WEFT_PRECISION_BF16, 256, 32, "attention_gpu_mma", "attention_gradient_gpu_mma"},
    {WEFT_PRECISION_BF16, 256, 128, "attention_gpu_mma", "attention_gradient_gpu_mma"},
    {WEFT_PRECISION_BF16, 256, 129, "attention_gpu", "attention_gradient_gpu"},
    {WEFT_PRECISION_F32, 256, 64, "attention_gpu", "attention_gradient_gpu"},
};

/* Bytes of local memory that the widest heads' take. */
enum { ENGINE_LOCAL = 48 * 1024 };

static void check(weft_context *context, const test_case *c, const char *forward, const char *gradient) {
    weft_graph *graph = NULL;
    weft_tensor *x[3], *outputs[4];
    weft_plan *plan = NULL;
    assert_weft_ok(weft_graph_create(&graph, context));
    assert_weft_ok(weft_graph_set_precision(graph, c->precision));
    for (int i = 0; i < 3; i++)
        x[i] = weft_input_shape(graph, "x", WEFT_F32, 3, (const int64_t[]){4, c->length, c->width});
    outputs[0] = weft_attention(x[0], x[1], x[2], NULL);
    for (int i = 0; i < 3; i++) outputs[i + 1] = weft_gradient(weft_sum(weft_square(outputs[0])), x[i]);
    assert_weft_ok(weft_plan_create(&plan, outputs, 4, NULL));
    if (!plan_has_step(plan, forward) || !plan_has_step(plan, gradient))
        fail_msg(
            "width %d, precision %d: not %s and %s", (int)c->width, (int)c->precision, forward, gradient);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void mixed_precision_uses_the_engine(void **state) {
    (void)state;
    if (engine_test_skipped(ENGINE_LOCAL)) skip();
    char *const cache = scratch_make();
    weft_context *const with = engine_context("model-mma", cache), *const without =
                                                                       engine_context("0", cache);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check(with, &cases[i], cases[i].forward, cases[i].gradient);
        check(without, &cases[i], "attention_gpu", "attention_gradient_gpu");
    }
    weft_context_release(with);
    weft_context_release(without);
    scratch_remove(cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(mixed_precision_uses_the_engine)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
