/* Every op where memory for a node is refused: expressions and gradients end with that error at whichever node it happens,
 * and so does a plan, after which the same graph has the plan as if nothing had happened. */
/* test once slow */
#include "support/fixture.h"

#include "graph/weft_graph.h"
#include "recorded_ops.h"
#include "support/scarce_graph.h"
#include <string.h>

enum { LEAST_NODE = sizeof(weft_tensor), MOST_BYTES = 1 << 18 };

/* Inputs of f16 are computed with as f32; in f16 the graph scales its losses, too. */
typedef struct variant {
    weft_dtype dtype;
    weft_precision precision;
} variant;

static const variant variants[] = {
    {WEFT_F32, WEFT_PRECISION_F32}, {WEFT_F16, WEFT_PRECISION_F32}, {WEFT_F32, WEFT_PRECISION_F16}};
enum { VARIANTS = sizeof variants / sizeof *variants };

static weft_status build(recorded_case *r, weft_graph *graph, const cJSON *c, const variant *v) {
    static recorded_inputs shared;
    memset(&shared, 0, sizeof shared);
    shared.format.dtype = v->dtype;
    return recorded_build(r, &shared, graph, c);
}

static weft_graph *open_graph(const variant *v) {
    weft_graph *const graph = scarce_graph(test_context());
    assert_weft_ok(weft_graph_set_precision(graph, v->precision));
    return graph;
}

/* Calls the test for each case in each variant that its op takes. */
static void for_each_case(void (*test)(const cJSON *c, const variant *v)) {
    cJSON *const cases = recorded_cases();
    const cJSON *c;
    assert_non_null(cases);
    for (int i = 0; i < VARIANTS; i++) {
        size_t left_out = 0;
        cJSON_ArrayForEach(c, cases) {
            recorded_case r;
            weft_graph *const graph = open_graph(&variants[i]);
            const weft_status status = build(&r, graph, c, &variants[i]);
            weft_graph_release(graph);
            left_out += status != WEFT_OK;
            if (status == WEFT_OK)
                test(c, &variants[i]);
            else
                test_assert_status(status, WEFT_ERROR_DTYPE, "recorded_build", __FILE__, __LINE__);
        }
        if (left_out) print_message("%zu cases take no %s\n", left_out, weft_dtype_name(variants[i].dtype));
        assert_true(variants[i].dtype != WEFT_F32 || left_out == 0);
    }
    cJSON_Delete(cases);
}

/* ---- expressions and gradients, in a graph of their own each time: it keeps the error ---- */

static weft_status build_with(const cJSON *c, const variant *v, size_t bytes) {
    recorded_case r;
    weft_graph *const graph = open_graph(v);
    scarce_graph_refuse_after(graph, bytes);
    const weft_status status = build(&r, graph, c, v);
    scarce_graph_relax();
    weft_graph_release(graph);
    return status;
}

static void refuse_expressions(const cJSON *c, const variant *v) {
    weft_status status = WEFT_ERROR_MEMORY;
    for (size_t bytes = 0; status != WEFT_OK && bytes < MOST_BYTES; bytes += LEAST_NODE / 2) {
        status = build_with(c, v, bytes);
        if (status != WEFT_OK)
            test_assert_status(status, WEFT_ERROR_MEMORY, "recorded_build", __FILE__, __LINE__);
    }
    assert_weft_ok(status);
}

static void test_expressions(void **state) {
    (void)state;
    for_each_case(refuse_expressions);
}

/* ---- plans, on one graph: what an attempt has created is found by the next, which comes one node further ---- */

static weft_status plan_with(const recorded_case *r, bool inference, size_t bytes) {
    weft_tensor *outputs[1 + RECORDED_INPUTS] = {r->output};
    weft_plan *plan = NULL;
    weft_graph *const graph = weft_tensor_graph(r->output);
    memcpy(outputs + 1, r->gradients, r->gradient_count * sizeof *outputs);
    scarce_graph_refuse_after(graph, bytes);
    const weft_status status = weft_plan_create(&plan, outputs, 1 + r->gradient_count,
        &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .inference = inference, .compile_late = true});
    scarce_graph_relax();
    assert_true((plan != NULL) == (status == WEFT_OK));
    weft_plan_release(plan);
    assert_weft_ok(weft_graph_status(graph));
    return status;
}

static void refuse_each_node(const recorded_case *r, bool inference) {
    const weft_graph *const graph = weft_tensor_graph(r->output);
    size_t bytes = 0;
    for (;;) {
        const uint32_t before = graph->node_count;
        const weft_status status = plan_with(r, inference, bytes);
        if (status == WEFT_OK) return;
        test_assert_status(status, WEFT_ERROR_MEMORY, "weft_plan_create", __FILE__, __LINE__);
        bytes = graph->node_count > before ? LEAST_NODE : bytes + SCARCE_STEP;
    }
}

static void refuse_plans(const cJSON *c, const variant *v) {
    recorded_case r;
    weft_graph *const graph = open_graph(v);
    assert_weft_ok(build(&r, graph, c, v));
    for (int inference = 0; inference < 2; inference++) refuse_each_node(&r, inference);
    weft_graph_release(graph);
}

static void test_plans(void **state) {
    (void)state;
    for_each_case(refuse_plans);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_plans),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
