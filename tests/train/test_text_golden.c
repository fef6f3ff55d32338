/* Language models of two layers follow PyTorch's loss curves from the same weights and tokens, with state
 * carried from sequence to sequence (text_golden.json, recorded by make_text_golden.py beside it). */
/* test slow */
#include "support/fixture.h"
#include "support/golden_file.h"
#include <math.h>

enum { WORDS = 50, EMBEDDING = 24, HIDDEN = 32, LAYERS = 2, STREAMS = 4, STEPS = 12, SEQUENCES = 20 };
enum { ROWS = STREAMS * STEPS, TOKENS = ROWS * SEQUENCES + 1, LARGEST = 4 * HIDDEN * HIDDEN };
static const double tolerance = 1e-3; /* relative */

typedef struct network {
    weft_graph *graph;
    weft_tensor *tokens, *next, *carry, *loss, *keeps[2];
    size_t keep_count;
} network;

/* The formula of make_text_golden.py. */
static weft_dataset *make_text(void) {
    static int32_t tokens[TOKENS];
    const weft_text_options sequences = {WEFT_TEXT_OPTIONS_INIT, .streams = STREAMS, .steps = STEPS};
    weft_dataset *text = NULL;
    uint32_t bits = 1, token = 0;
    for (int i = 0; i < TOKENS; i++) {
        tokens[i] = (int32_t)token;
        bits = bits * 1664525u + 1013904223u;
        token = bits >> 16 & 7 ? (token + 1) % 8 : (bits >> 24) * (bits >> 24) * WORDS >> 16;
    }
    assert_weft_ok(weft_dataset_from_tokens(&text, test_context(), tokens, TOKENS, &sequences));
    assert_int_equal(weft_dataset_size(text), STREAMS * SEQUENCES);
    return text;
}

static void write_weights(weft_graph *graph) {
    static float values[LARGEST];
    for (uint32_t number = 0; number < weft_graph_parameter_count(graph); number++) {
        weft_tensor *const p = weft_graph_parameter(graph, number);
        size_t count = 1;
        for (int axis = 0; axis < weft_tensor_rank(p); axis++)
            count *= (size_t)weft_tensor_dimension(p, axis);
        assert_true(count <= LARGEST);
        for (uint32_t i = 0; i < count; i++)
            values[i] = golden_weight(number, i, number == 0 ? 1.0f : 0.1875f);
        assert_weft_ok(weft_tensor_write(p, values, count * sizeof *values));
    }
}

static network make_network(bool lstm) {
    static const int64_t sequence[] = {STREAMS, STEPS}, state[] = {LAYERS, STREAMS, HIDDEN};
    network net = {.graph = test_graph(), .keep_count = lstm ? 2 : 1};
    net.tokens = weft_input_shape(net.graph, "tokens", WEFT_I32, 2, sequence);
    net.next = weft_input_shape(net.graph, "next", WEFT_I32, 2, sequence);
    net.carry = weft_input_shape(net.graph, "carry", WEFT_F32, 1, sequence);
    weft_tensor *const h = weft_carried_state(net.graph, 3, state),
                       *const c = lstm ? weft_carried_state(net.graph, 3, state) : NULL,
                       *const x = weft_embedding(net.tokens, WORDS, EMBEDDING);
    const weft_recurrent_options options = {WEFT_RECURRENT_OPTIONS_INIT, .layers = LAYERS,
        .h0 = weft_carry_start(h, net.carry, 1), .c0 = lstm ? weft_carry_start(c, net.carry, 1) : NULL};
    const weft_recurrent r = lstm ? weft_lstm(x, HIDDEN, &options) : weft_gru(x, HIDDEN, &options);
    net.loss = weft_sequence_cross_entropy(weft_linear(r.y, WORDS), net.next, NULL);
    net.keeps[0] = weft_assign(h, r.h);
    if (lstm) net.keeps[1] = weft_assign(c, r.c);
    assert_weft_ok(weft_graph_status(net.graph));
    assert_int_equal(weft_graph_parameter_count(net.graph), 1 + 4 * LAYERS + 2);
    write_weights(net.graph);
    return net;
}

static weft_optimizer make_optimizer(void) {
    return weft_sgd_momentum(0.5f, 0.9f, 0.0f);
}

static double golden_loss(const cJSON *curve, int step) {
    const cJSON *const item = cJSON_GetArrayItem(curve, step);
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

static void assert_close(double got, double expected, int step) {
    if (!(fabs(got - expected) <= tolerance * fabs(expected)))
        fail_msg("sequence %d: loss %.7g, PyTorch's %.7g", step, got, expected);
}

/* By hand: every sequence's loss. */
static void follow_with_a_plan(const cJSON *curve, bool lstm, const weft_dataset *text) {
    const network net = make_network(lstm);
    const weft_optimizer optimizer = make_optimizer();
    weft_tensor *outputs[3 + WEFT_MAX_UPDATES] = {net.loss, net.keeps[0], net.keeps[1]};
    const size_t first = 1 + net.keep_count;
    size_t updates = 0;
    weft_plan *plan = NULL;
    assert_weft_ok(weft_minimize(net.loss, &optimizer, outputs + first, WEFT_MAX_UPDATES, &updates));
    assert_weft_ok(weft_plan_create(&plan, outputs, first + updates, NULL));
    const int32_t *const tokens = weft_dataset_column(text, 0)->data, *const next =
                                                                          weft_dataset_column(text, 1)->data;
    const float *const carry = weft_dataset_column(text, 2)->data;
    for (size_t step = 0; step < SEQUENCES; step++) {
        float loss = 0.0f;
        assert_weft_ok(weft_plan_write(plan, net.tokens, tokens + step * ROWS, ROWS * sizeof *tokens));
        assert_weft_ok(weft_plan_write(plan, net.next, next + step * ROWS, ROWS * sizeof *next));
        assert_weft_ok(weft_plan_write(plan, net.carry, carry + step * STREAMS, STREAMS * sizeof *carry));
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, net.loss, &loss, sizeof loss));
        assert_close((double)loss, golden_loss(curve, (int)step), (int)step);
    }
    weft_plan_release(plan);
    weft_graph_release(net.graph);
}

static bool keep_loss(void *user, const weft_epoch *state) {
    *(double *)user = state->loss;
    return true;
}

/* By the trainer: the mean of them. */
static void follow_with_the_trainer(const cJSON *curve, bool lstm, weft_dataset *text) {
    const network net = make_network(lstm);
    weft_trainer *trainer = NULL;
    double mean = 0.0, expected = 0.0;
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = make_optimizer(),
        .batch = STREAMS, .keep_order = true, .carries = net.keeps, .carry_count = net.keep_count,
        .on_epoch = keep_loss, .user = &mean};
    assert_weft_ok(weft_trainer_create(&trainer, net.loss, &options));
    assert_weft_ok(weft_trainer_run(trainer, text));
    for (int step = 0; step < SEQUENCES; step++) expected += golden_loss(curve, step) / SEQUENCES;
    assert_close(mean, expected, SEQUENCES);
    weft_trainer_release(trainer);
    weft_graph_release(net.graph);
}

static void follow(const char *kind) {
    cJSON *const root = golden_file("text_golden.json");
    const cJSON *const curve = cJSON_GetObjectItemCaseSensitive(root, kind);
    weft_dataset *const text = make_text();
    const bool lstm = strcmp(kind, "lstm") == 0;
    assert_int_equal(cJSON_GetArraySize(curve), SEQUENCES);
    follow_with_a_plan(curve, lstm, text);
    follow_with_the_trainer(curve, lstm, text);
    weft_dataset_release(text);
    cJSON_Delete(root);
}

static void lstm_follows_pytorch(void **state) {
    (void)state;
    follow("lstm");
}

static void gru_follows_pytorch(void **state) {
    (void)state;
    follow("gru");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lstm_follows_pytorch),
        cmocka_unit_test(gru_follows_pytorch),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
