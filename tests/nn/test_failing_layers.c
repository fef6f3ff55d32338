/* Layers, models and optimizers where memory for a node, a name or a parameter is refused: at whichever it happens, the
 * result is NULL and the graph has that error. */
/* test once */
#include "support/fixture.h"

#include "support/scarce_graph.h"
#include <string.h>

enum { STEP = 96, MOST_BYTES = 4 << 20, BATCH = 2 };

/* ---- what is built ---- */

static weft_tensor *images(weft_graph *g) {
    weft_tensor *const x = weft_input(g, "x", WEFT_F32, 4, 8, 8);
    weft_tensor *h = weft_relu(weft_batch_norm(weft_conv2d(x, 8, 3)));
    h = weft_group_norm(weft_conv2d(h, 8, 3), 2);
    h = weft_instance_norm_layer(weft_max_pool2d(h, 2), NULL);
    h = weft_rms_norm_layer(weft_layer_norm(weft_dropout(h, 0.5f)), NULL);
    return weft_linear(weft_flatten(h), 3);
}

static weft_tensor *sequences(weft_graph *g) {
    const int64_t tokens[] = {BATCH, 5};
    weft_tensor *const x = weft_embedding(weft_input_shape(g, "tokens", WEFT_I32, 2, tokens), 7, 4);
    weft_tensor *const h = weft_gru(weft_lstm(x, 6, NULL).y, 6, NULL).y;
    weft_tensor *const y = weft_rnn(h, 4, NULL).y;
    return weft_multi_head_attention(y, y, y, 2, NULL);
}

static weft_tensor *classes(weft_graph *g) {
    const int64_t cutoffs[] = {4, 8};
    weft_tensor *const x = weft_input(g, "x", WEFT_F32, 8), *const labels = weft_input(g, "label", WEFT_I32);
    weft_tensor *const h = weft_bilinear(weft_linear(x, 6), x, 16);
    weft_adaptive_softmax *const softmax = weft_adaptive_softmax_layer(g, 16, 16, cutoffs, 2, NULL);
    weft_sampled_softmax *const sampled = weft_sampled_softmax_layer(g, 16, 16, 4, NULL);
    weft_mach *const mach = weft_mach_layer(g, 16, 16, 2, 4, NULL);
    weft_tensor *const others =
        weft_add(weft_sampled_softmax_loss(sampled, h, labels), weft_mach_loss(mach, h, labels));
    return weft_add(weft_adaptive_softmax_loss(softmax, h, labels), others);
}

static weft_tensor *model(weft_graph *g) {
    return weft_model(weft_input(g, "x", WEFT_F32, 3, 32, 32), "resnet20", 3, NULL);
}

static weft_tensor *followers(weft_graph *g) {
    weft_tensor *const x = weft_input(g, "x", WEFT_F32, 8);
    static const char *const names[] = {"online", "target"};
    for (int i = 0; i < 2; i++) {
        (void)weft_scope_begin(g, names[i], true);
        (void)weft_linear(weft_batch_norm(weft_linear(x, 6)), 3);
        (void)weft_scope_end(g);
    }
    return weft_scope_copy(g, "online", "target", 0.1f);
}

/* ---- optimizers ---- */

static weft_tensor *update_by(weft_graph *g, weft_optimizer rule) {
    static const weft_parameter_group groups[] = {{.parameters = "*.bias", .rate_factor = 0.5f}};
    weft_tensor *const x = weft_input(g, "x", WEFT_F32, 8);
    rule.average_decay = 0.5f;
    rule.clip_norm = 1;
    rule.clip_value = 2;
    rule.accumulate = 2;
    rule.groups = groups;
    rule.group_count = 1;
    return weft_train_step(weft_mean(weft_square(weft_linear(weft_relu(weft_linear(x, 8)), 4))), rule, NULL);
}

#define UPDATE(name, rule)                                                                                   \
    static weft_tensor *name(weft_graph *g) {                                                                \
        return update_by(g, rule);                                                                           \
    }
UPDATE(by_momentum, weft_sgd_momentum(0.1f, 0.9f, 0.01f))
UPDATE(by_adamw, weft_adamw(0.1f, 0.01f))
UPDATE(by_nadam, weft_nadam(0.1f))
UPDATE(by_rmsprop, weft_rmsprop(0.1f))
UPDATE(by_adagrad, weft_adagrad(0.1f))
UPDATE(by_adadelta, weft_adadelta(0.1f))
UPDATE(by_lamb, weft_lamb(0.1f, 0.01f))
UPDATE(by_lion, weft_lion(0.1f, 0.01f))

/* A table that is updated by rows. */
static weft_tensor *by_rows(weft_graph *g) {
    weft_tensor *const tokens = weft_input(g, "tokens", WEFT_I32, 3);
    weft_tensor *const rows = weft_embedding_layer(
        tokens, 7, 4, &(weft_embedding_options){WEFT_EMBEDDING_OPTIONS_INIT, .sparse = true, .max_norm = 1});
    return weft_train_step(weft_mean(weft_square(weft_linear(rows, 2))), weft_adam(0.1f), NULL);
}

/* ---- the walk ---- */

typedef struct built {
    const char *name;
    weft_tensor *(*build)(weft_graph *graph);
} built;

#define ROW(name)                                                                                            \
    { #name, name }
static const built all[] = {ROW(images), ROW(sequences), ROW(classes), ROW(model), ROW(followers),
    ROW(by_momentum), ROW(by_adamw), ROW(by_nadam), ROW(by_rmsprop), ROW(by_adagrad), ROW(by_adadelta),
    ROW(by_lamb), ROW(by_lion), ROW(by_rows)};

static bool is_refused(const built *b, weft_precision precision, size_t bytes) {
    weft_graph *const graph = scarce_graph(test_context());
    assert_weft_ok(weft_graph_set_precision(graph, precision));
    scarce_graph_refuse_after(graph, bytes);
    const weft_tensor *const y = b->build(graph);
    scarce_graph_relax();
    const weft_status status = weft_graph_status(graph);
    if ((status == WEFT_OK) != (y != NULL))
        fail_msg("%s: %s beside a result", b->name, weft_status_name(status));
    if (status != WEFT_OK) test_assert_status(status, WEFT_ERROR_MEMORY, b->name, __FILE__, __LINE__);
    weft_graph_release(graph);
    return status != WEFT_OK;
}

/* The larger what is built, the fewer places are tried. */
static void refuse_all(weft_precision precision) {
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t bytes = 0;
        while (bytes < MOST_BYTES && is_refused(&all[i], precision, bytes))
            bytes += (STEP + bytes / 400) / SCARCE_STEP * SCARCE_STEP;
        assert_in_range(bytes, STEP, MOST_BYTES - 1);
    }
}

static void test_f32(void **state) {
    (void)state;
    refuse_all(WEFT_PRECISION_F32);
}

/* Updates have the states of scaled losses, too. */
static void test_f16(void **state) {
    (void)state;
    refuse_all(WEFT_PRECISION_F16);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f32),
        cmocka_unit_test(test_f16),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
