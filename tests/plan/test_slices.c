/* Loops that read the same rows of a table in one launch, slice by slice (plan/slices.h): results beside formulas in double, and to
 * the last bit those of a plan that has a launch for each; what is not sliced; tokens that are out of range. */
#include "support/fixture.h"

#include "plan/compiled_plan.h"
#include "plan/slices.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { VOCABULARY = 61, PLACES = 3, MOST_BATCH = 700, MOST_WIDTH = 144 };
enum { MOST_ROWS = MOST_BATCH * PLACES };

/* Weights of their own slice, of the whole batch, of another slice, or one for each slice: the batch's first weights one after the
 * other, so that slices that are read have another length than those that are written. */
typedef enum weighting { OWN, CENTRED, FLIPPED, LEADING } weighting;

/* Scores (batch, places) of rows beside a vector each, losses (batch) and weights made of them, and the rows' sums with these
 * weights (batch, width): three loops, of which the first and the last pick rows. */
typedef struct net {
    int width, batch;
    weighting form;
    weft_graph *graph;
    weft_tensor *tokens, *vectors, *table, *outputs[2];
    weft_plan *plan;
} net;

static weft_tensor *weights_of(weft_tensor *scores, weighting form) {
    weft_tensor *const weights = weft_sigmoid(scores);
    if (form == LEADING)
        return weft_transpose(weft_slice(weft_reshape(weights, PLACES, WEFT_BATCH), 0, 0, 1));
    return form == CENTRED   ? weft_sub(weights, weft_mean(weights, 0))
           : form == FLIPPED ? weft_flip(weights, 0)
                             : weights;
}

static net make(int width, int batch, weighting form, size_t memory_limit) {
    net n = {.width = width, .batch = batch, .form = form, .graph = test_graph()};
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = batch, .memory_limit = memory_limit};
    n.tokens = weft_input(n.graph, "tokens", WEFT_I32, PLACES);
    n.vectors = weft_input(n.graph, "vectors", WEFT_F32, width);
    weft_tensor *const rows = weft_embedding(n.tokens, VOCABULARY, width);
    n.table = weft_graph_find(n.graph, "embedding1.weight");
    weft_tensor *const scores = weft_sum(weft_mul(rows, weft_unsqueeze(n.vectors, 1)), 2);
    n.outputs[0] = weft_sum(weft_softplus(scores), 1);
    n.outputs[1] = weft_sum(weft_mul(rows, weft_unsqueeze(weights_of(scores, form), 2)), 1);
    assert_weft_ok(weft_graph_status(n.graph));
    assert_weft_ok(weft_plan_create(&n.plan, n.outputs, 2, &options));
    return n;
}

static void release(const net *n) {
    weft_plan_release(n->plan);
    weft_graph_release(n->graph);
}

static bool is_sliced(const net *n) {
    for (size_t i = 0; i < n->plan->partition.step_count; i++)
        if (n->plan->schedule.of[i].sliced) return true;
    return false;
}

static bool items_walk(const net *n) {
    return n->plan->request.devices.of[0]->profile.item_walks;
}

/* What a run has read and made. */
typedef struct numbers {
    float table[VOCABULARY * MOST_WIDTH], vectors[MOST_BATCH * MOST_WIDTH];
    float losses[MOST_BATCH], sums[MOST_BATCH * MOST_WIDTH];
    int32_t tokens[MOST_ROWS];
} numbers;

static weft_status run(const net *n, numbers *own, int bad) {
    test_random random = test_random_named("slices", (uint64_t)n->width);
    const size_t table = (size_t)(VOCABULARY * n->width), vectors = (size_t)(n->batch * n->width);
    for (size_t i = 0; i < table; i++) own->table[i] = (float)test_random_between(&random, -1, 1);
    for (size_t i = 0; i < vectors; i++) own->vectors[i] = (float)test_random_between(&random, -1, 1);
    for (int i = 0; i < n->batch * PLACES; i++)
        own->tokens[i] = i == bad ? VOCABULARY : (int32_t)test_random_between(&random, 0, VOCABULARY);
    assert_weft_ok(weft_tensor_write(n->table, own->table, table * sizeof(float)));
    assert_weft_ok(
        weft_plan_write(n->plan, n->tokens, own->tokens, (size_t)(n->batch * PLACES) * sizeof(int32_t)));
    assert_weft_ok(weft_plan_write(n->plan, n->vectors, own->vectors, vectors * sizeof(float)));
    assert_weft_ok(weft_plan_run(n->plan));
    const weft_status status =
        weft_plan_read(n->plan, n->outputs[0], own->losses, (size_t)n->batch * sizeof(float));
    assert_weft_ok(weft_plan_read(n->plan, n->outputs[1], own->sums, vectors * sizeof(float)));
    return status;
}

static double score_of(const net *n, const numbers *own, int row) {
    double sum = 0;
    for (int i = 0; i < n->width; i++)
        sum += (double)own->table[own->tokens[row] * n->width + i] *
               (double)own->vectors[row / PLACES * n->width + i];
    return sum;
}

static double sigmoid_of(const net *n, const numbers *own, int row) {
    return 1 / (1 + exp(-score_of(n, own, row)));
}

static double weight_of(const net *n, const numbers *own, int row) {
    double mean = 0;
    if (n->form == LEADING) row /= PLACES;
    if (n->form == FLIPPED) row = (n->batch - 1 - row / PLACES) * PLACES + row % PLACES;
    for (int b = 0; n->form == CENTRED && b < n->batch; b++)
        mean += sigmoid_of(n, own, b * PLACES + row % PLACES) / n->batch;
    return sigmoid_of(n, own, row) - mean;
}

static void assert_formulas(const net *n, const numbers *own) {
    for (int b = 0; b < n->batch; b++) {
        double weights[PLACES], loss = 0;
        for (int k = 0; k < PLACES; k++) {
            weights[k] = weight_of(n, own, b * PLACES + k);
            loss += log1p(exp(score_of(n, own, b * PLACES + k)));
        }
        assert_float_equal(own->losses[b], loss, 1e-4);
        for (int i = 0; i < n->width; i++) {
            double sum = 0;
            for (int k = 0; k < PLACES; k++)
                sum += weights[k] * (double)own->table[own->tokens[b * PLACES + k] * n->width + i];
            assert_float_equal(own->sums[b * n->width + i], sum, 1e-4);
        }
    }
}

/* ---- what is sliced ---- */

static void slices_are_beside_formulas(void **state) {
    (void)state;
    static numbers own;
    const int widths[] = {128, 20, 16, MOST_WIDTH}, batches[] = {37, 1, MOST_BATCH};
    const int count = test_reduced() ? 2 : 4;
    for (int w = 0; w < count; w++)
        for (int b = 0; b < 3; b++) {
            if (test_reduced() && batches[b] == MOST_BATCH) continue;
            const net n = make(widths[w], batches[b], OWN, 0);
            weft_plan_info info;
            assert_weft_ok(weft_plan_get_info(n.plan, &info));
            assert_int_equal(is_sliced(&n), items_walk(&n));
            if (items_walk(&n)) assert_int_equal(info.launches, 2); /* slices, losses */
            assert_weft_ok(run(&n, &own, -1));
            assert_formulas(&n, &own);
            release(&n);
        }
}

/* A little less memory than slices take: each loop has a launch of its own, and leaves the same bits. */
static void loops_apart_have_the_same_bits(void **state) {
    (void)state;
    static numbers together, apart;
    const int widths[] = {128, 20, MOST_WIDTH};
    for (int w = 0; w < 3; w++) {
        weft_plan_info info;
        const net a = make(widths[w], 131, OWN, 0);
        if (!items_walk(&a)) {
            printf("skipped: items do not walk on this device\n");
            release(&a);
            return;
        }
        assert_weft_ok(weft_plan_get_info(a.plan, &info));
        const net b = make(widths[w], 131, OWN, (size_t)info.total_bytes - 1);
        assert_true(is_sliced(&a) && !is_sliced(&b));
        assert_weft_ok(run(&a, &together, -1));
        assert_weft_ok(run(&b, &apart, -1));
        assert_memory_equal(together.losses, apart.losses, sizeof(float) * 131);
        assert_memory_equal(together.sums, apart.sums, sizeof(float) * (size_t)(131 * widths[w]));
        release(&a);
        release(&b);
    }
}

/* ---- what is not ---- */

static void what_needs_other_slices_is_not_sliced(void **state) {
    (void)state;
    static numbers own;
    for (int form = CENTRED; form <= LEADING; form++) {
        const net n = make(32, 37, (weighting)form, 0);
        assert_false(is_sliced(&n));
        assert_weft_ok(run(&n, &own, -1));
        assert_formulas(&n, &own);
        release(&n);
    }
}

static void tokens_out_of_range_are_noted(void **state) {
    (void)state;
    static numbers own;
    const net n = make(32, 37, OWN, 0);
    assert_weft_fails(WEFT_ERROR_ARGUMENT, run(&n, &own, 40),
        "embedding: a token is outside the vocabulary, first at position 40");
    assert_weft_ok(run(&n, &own, -1));
    assert_formulas(&n, &own);
    release(&n);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(slices_are_beside_formulas),
        cmocka_unit_test(loops_apart_have_the_same_bits),
        cmocka_unit_test(what_needs_other_slices_is_not_sliced),
        cmocka_unit_test(tokens_out_of_range_are_noted)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
