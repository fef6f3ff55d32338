/* Every op where memory for a node is refused: expressions and gradients end with that error at whichever node it happens,
 * and so does a plan, after which the same graph has the plan as if nothing had happened. */
#include "support/fixture.h"

#include "graph/nodes.h"
#include "recorded_ops.h"
#include <stdlib.h>
#include <string.h>

enum { STEP = 16, LEAST_NODE = sizeof(weft_tensor), MOST_BYTES = 1 << 18 };

/* ---- an arena that has room for a node or so ---- */

static bool refuses;
static size_t blocks; /* that it has while it refuses all further ones */

static void *allocate(void *user, size_t bytes) {
    (void)user;
    if (!refuses) return malloc(bytes);
    return blocks > 0 && blocks-- ? malloc(bytes) : NULL;
}

static void *reallocate(void *user, void *block, size_t bytes) {
    (void)user;
    return refuses ? NULL : realloc(block, bytes);
}

static void release(void *user, void *block) {
    (void)user;
    free(block);
}

/* Its nodes may be refused, and nothing else is. */
static weft_graph *open_graph(void) {
    static const weft_allocator refusing = {allocate, reallocate, release, NULL};
    weft_graph *const graph = test_graph();
    assert_null(graph->arena.blocks);
    graph->arena.allocator = &refusing;
    return graph;
}

/* Takes all of the arena's latest block; returns how much there was. */
static size_t fill(weft_graph *graph) {
    size_t bytes = 0;
    refuses = true;
    blocks = 0;
    while (wi_arena_take(&graph->arena, STEP)) bytes += STEP;
    refuses = false;
    return bytes;
}

/* From now on the arena has this many bytes (a multiple of STEP) and no more. */
static void refuse_after(weft_graph *graph, size_t bytes) {
    static size_t block;
    fill(graph);
    if (block == 0) {
        assert_non_null(wi_arena_take(&graph->arena, STEP));
        block = STEP + fill(graph);
    }
    assert_non_null(wi_arena_take(&graph->arena, block - bytes % block));
    blocks = bytes / block;
    refuses = true;
}

/* ---- expressions and gradients, in a graph of their own each time: it keeps the error ---- */

static weft_status build_with(const cJSON *c, size_t bytes) {
    static recorded_inputs shared;
    recorded_case r;
    weft_graph *const graph = open_graph();
    memset(&shared, 0, sizeof shared);
    refuse_after(graph, bytes);
    const weft_status status = recorded_build(&r, &shared, graph, c);
    refuses = false;
    weft_graph_release(graph);
    return status;
}

static void test_expressions(void **state) {
    (void)state;
    cJSON *const cases = recorded_cases();
    const cJSON *c;
    assert_non_null(cases);
    cJSON_ArrayForEach(c, cases) {
        weft_status status = WEFT_ERROR_MEMORY;
        for (size_t bytes = 0; status != WEFT_OK && bytes < MOST_BYTES; bytes += LEAST_NODE / 2) {
            status = build_with(c, bytes);
            if (status != WEFT_OK)
                test_assert_status(status, WEFT_ERROR_MEMORY, "recorded_build", __FILE__, __LINE__);
        }
        assert_weft_ok(status);
    }
    cJSON_Delete(cases);
}

/* ---- plans, on one graph: what an attempt has created is found by the next, which comes one node further ---- */

static weft_status plan_with(const recorded_case *r, bool inference, size_t bytes) {
    weft_tensor *outputs[1 + RECORDED_INPUTS] = {r->output};
    weft_plan *plan = NULL;
    weft_graph *const graph = weft_tensor_graph(r->output);
    memcpy(outputs + 1, r->gradients, r->gradient_count * sizeof *outputs);
    refuse_after(graph, bytes);
    const weft_status status = weft_plan_create(&plan, outputs, 1 + r->gradient_count,
        &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .inference = inference, .compile_late = true});
    refuses = false;
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
        bytes = graph->node_count > before ? LEAST_NODE : bytes + STEP;
    }
}

static void test_plans(void **state) {
    (void)state;
    static recorded_inputs shared;
    cJSON *const cases = recorded_cases();
    const cJSON *c;
    assert_non_null(cases);
    cJSON_ArrayForEach(c, cases) {
        recorded_case r;
        weft_graph *const graph = open_graph();
        memset(&shared, 0, sizeof shared);
        assert_weft_ok(recorded_build(&r, &shared, graph, c));
        for (int inference = 0; inference < 2; inference++) refuse_each_node(&r, inference);
        weft_graph_release(graph);
    }
    cJSON_Delete(cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_plans),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
