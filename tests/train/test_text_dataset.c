/* Streams of tokens, the state that is carried from sequence to sequence, and a trainer that does both. */
#include "support/fixture.h"
#include "support/scratch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *write_text(const char *name, const char *text) {
    const char *const path = test_path(name);
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return path;
}

#define TEXT_OPTIONS(s, t) (&(weft_text_options){WEFT_TEXT_OPTIONS_INIT, .streams = (s), .steps = (t)})

/* Tokens 0, 1, 2, ...: what is where can be read off. */
static weft_dataset *counting(size_t count, size_t streams, size_t steps) {
    int32_t tokens[256];
    weft_dataset *dataset = NULL;
    for (size_t i = 0; i < count; i++) tokens[i] = (int32_t)i;
    assert_weft_ok(
        weft_dataset_from_tokens(&dataset, test_context(), tokens, count, TEXT_OPTIONS(streams, steps)));
    return dataset;
}

static void test_sequences_follow(void **state) {
    (void)state;
    enum { STREAMS = 3, STEPS = 4, SEQUENCES = 2 };
    weft_dataset *const dataset = counting(35, STREAMS, STEPS); /* 24 + 1 are used; 36 + 1 would be needed */
    assert_int_equal(weft_dataset_size(dataset), STREAMS * SEQUENCES);
    assert_string_equal(weft_dataset_column(dataset, 0)->name, "tokens");
    assert_string_equal(weft_dataset_column(dataset, 1)->name, "next");
    assert_string_equal(weft_dataset_column(dataset, 2)->name, "carry");
    weft_loader *loader = NULL;
    const weft_loader_options options = {WEFT_LOADER_OPTIONS_INIT, .batch = STREAMS};
    assert_weft_ok(weft_loader_create(&loader, dataset, &options));
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        assert_weft_ok(weft_loader_begin(loader, epoch));
        for (int w = 0; w <= SEQUENCES; w++) {
            size_t examples;
            const void *columns[3];
            assert_weft_ok(weft_loader_next(loader, &examples, columns));
            assert_int_equal(examples, w < SEQUENCES ? STREAMS : 0);
            if (w == SEQUENCES) break;
            for (int s = 0; s < STREAMS; s++) {
                assert_true(((const float *)columns[2])[s] == (w ? 1.0f : 0.0f));
                for (int t = 0; t < STEPS; t++) {
                    const int32_t place = s * SEQUENCES * STEPS + w * STEPS + t;
                    assert_int_equal(((const int32_t *)columns[0])[s * STEPS + t], place);
                    assert_int_equal(((const int32_t *)columns[1])[s * STEPS + t], place + 1);
                }
            }
        }
    }
    weft_loader_release(loader);
    weft_dataset_release(dataset);
}

static void test_a_file(void **state) {
    (void)state;
    weft_vocabulary *v = NULL;
    weft_dataset *dataset = NULL;
    const char *const path = write_text("small.txt", "abcabcab\n");
    assert_weft_ok(weft_vocabulary_from_file(&v, test_context(), path, NULL));
    assert_weft_ok(weft_dataset_open_text(&dataset, test_context(), path, v, TEXT_OPTIONS(2, 4)));
    const int32_t *const tokens = weft_dataset_column(dataset, 0)->data;
    static const int32_t wanted[] = {0, 1, 2, 0, 1, 2, 0, 1}; /* a b c \n */
    assert_int_equal(weft_dataset_size(dataset), 2);
    assert_memory_equal(tokens, wanted, sizeof wanted);
    assert_int_equal(((const int32_t *)weft_dataset_column(dataset, 1)->data)[7], 3);
    weft_dataset_release(dataset);
    weft_vocabulary_release(v);
}

static void test_bad_texts(void **state) {
    (void)state;
    weft_vocabulary *v = NULL;
    weft_dataset *dataset = NULL;
    weft_context *const context = test_context();
    assert_weft_ok(weft_vocabulary_from_text(&v, context, "abc", 3, NULL));
    assert_weft_fails(WEFT_ERROR_FORMAT,
        weft_dataset_open_text(&dataset, context, write_text("short.txt", "abcabcab"), v, TEXT_OPTIONS(2, 4)),
        "short.txt'", "the number of tokens is 8, but 2 streams x 4 steps need 9");
    assert_weft_fails(WEFT_ERROR_FORMAT,
        weft_dataset_open_text(&dataset, context, write_text("x.txt", "abc\nx"), v, NULL),
        "line 1, byte 3 of the text", "is not in the vocabulary");
    assert_weft_fails(WEFT_ERROR_FORMAT,
        weft_dataset_open_text(&dataset, context, write_text("empty.txt", ""), v, NULL), "the text is empty");
    assert_weft_fails(WEFT_ERROR_FILE,
        weft_dataset_open_text(&dataset, context, test_path("none.txt"), v, NULL), "none.txt");
    assert_weft_fails(WEFT_ERROR_ARGUMENT,
        weft_dataset_from_tokens(&dataset, context, (const int32_t[]){1, 2}, 2, &(weft_text_options){0}),
        "the options have struct_size 0");
    assert_weft_fails(WEFT_ERROR_ARGUMENT,
        weft_dataset_from_tokens(
            &dataset, context, (const int32_t[]){1, 2}, 2, TEXT_OPTIONS((size_t)1 << 40, 1)),
        "streams");
    assert_null(dataset);
    weft_vocabulary_release(v);
}

/* ---- carried state: final = start + w · sum of the sequence ---- */

enum { STREAMS = 2, STEPS = 3 };

typedef struct net {
    weft_graph *graph;
    weft_tensor *tokens, *carry, *state, *w, *final, *keep, *gradient;
} net;

static net build(void) {
    net n = {.graph = test_graph()};
    n.tokens = weft_input_shape(n.graph, "tokens", WEFT_I32, 2, (const int64_t[]){STREAMS, STEPS});
    n.carry = weft_input_shape(n.graph, "carry", WEFT_F32, 1, (const int64_t[]){STREAMS});
    n.w = weft_parameter(n.graph, "w", weft_fill(1), 1);
    n.state = weft_carried_state(n.graph, 2, (const int64_t[]){1, STREAMS});
    weft_tensor *const sums =
        weft_sum_axes(weft_cast(n.tokens, WEFT_F32), (const int64_t[]){1, WEFT_END}, false);
    weft_tensor *const start = weft_carry_start(n.state, n.carry, 1);
    n.final = weft_mul(weft_add(start, weft_reshape_shape(sums, 2, (const int64_t[]){1, STREAMS})), n.w);
    n.keep = weft_assign(n.state, n.final);
    n.gradient = weft_gradient(weft_sum(n.final), n.w);
    return n;
}

static void run(weft_plan *plan, const net *n, float carry, const float wanted[STREAMS], float gradient) {
    static const int32_t tokens[STREAMS][STEPS] = {{1, 2, 3}, {10, 20, 30}};
    float got[STREAMS], slope;
    assert_weft_ok(weft_plan_write(plan, n->tokens, tokens, sizeof tokens));
    assert_weft_ok(weft_plan_write(plan, n->carry, (const float[]){carry, 1}, sizeof got));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, n->final, got, sizeof got));
    assert_weft_ok(weft_plan_read(plan, n->gradient, &slope, sizeof slope));
    assert_true(got[0] == wanted[0] && got[1] == wanted[1] && slope == gradient);
    assert_weft_ok(weft_tensor_read(n->state, got, sizeof got));
    assert_true(got[0] == wanted[0] && got[1] == wanted[1]);
}

/* The second step starts where the first ended, its gradient does not reach into the first; one stream of two
 * starts anew where its carry is 0, whatever its state holds. */
static void test_carried_state(void **state) {
    (void)state;
    net n = build();
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, (weft_tensor *[]){n.final, n.keep, n.gradient}, 3, NULL));
    run(plan, &n, 1, (const float[]){6, 60}, 66);
    run(plan, &n, 1, (const float[]){12, 120}, 132); /* d(w·(6 + 6))/dw, not d(w·(w·6 + 6))/dw */
    run(plan, &n, 0, (const float[]){6, 180}, 186);
    assert_weft_ok(weft_tensor_write(n.state, (const float[]){NAN, 0}, 8));
    run(plan, &n, 0, (const float[]){6, 60}, 66);
    assert_weft_ok(weft_carry_reset(n.state));
    run(plan, &n, 1, (const float[]){6, 60}, 66);
    weft_plan_release(plan);
    weft_graph_release(n.graph);
}

/* A carried state is not among the weights. */
static void test_not_saved(void **state) {
    (void)state;
    net n = build(), smaller = {.graph = test_graph()};
    assert_non_null(weft_parameter(smaller.graph, "w", weft_fill(3), 1));
    assert_weft_ok(weft_weights_save(n.graph, test_path("carried.safetensors")));
    assert_weft_ok(weft_weights_load(smaller.graph, test_path("carried.safetensors"), NULL));
    weft_graph_release(n.graph);
    weft_graph_release(smaller.graph);
}

typedef struct history {
    double loss[8], validation[8];
    size_t count;
} history;

static bool note(void *user, const weft_epoch *epoch) {
    history *const h = user;
    h->loss[h->count] = epoch->loss;
    h->validation[h->count++] = epoch->validation_loss;
    return true;
}

/* The mean over the sequences of the mean over the streams of what each has summed up. */
static double by_hand(const weft_dataset *dataset) {
    const int32_t *const tokens = weft_dataset_column(dataset, 0)->data;
    const size_t sequences = weft_dataset_size(dataset) / STREAMS;
    double sums[STREAMS] = {0}, total = 0;
    for (size_t w = 0; w < sequences; w++)
        for (size_t s = 0; s < STREAMS; s++) {
            for (size_t t = 0; t < STEPS; t++) sums[s] += tokens[(w * STREAMS + s) * STEPS + t];
            total += sums[s];
        }
    return total / (double)(sequences * STREAMS);
}

/* Training and validation carry the state, and every epoch begins with zeros. */
static void test_trainer(void **state) {
    (void)state;
    net n = build();
    weft_tensor *const counter = weft_state_shape(n.graph, "counter", WEFT_F32, weft_zeros(), 0, NULL);
    weft_tensor *const update = weft_assign(counter, weft_add(counter, weft_number(counter, 1)));
    weft_dataset *const text = counting(40, STREAMS, STEPS), *const other = counting(30, STREAMS, STEPS);
    history h = {.count = 0};
    weft_trainer *trainer = NULL;
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .batch = STREAMS, .epochs = 3,
        .keep_order = true, .updates = &update, .update_count = 1, .carries = &n.keep, .carry_count = 1,
        .validation = other, .on_epoch = note, .user = &h};
    assert_weft_ok(weft_trainer_create(&trainer, weft_mean(n.final), &options));
    assert_weft_ok(weft_trainer_run(trainer, text));
    assert_int_equal(h.count, 3);
    for (size_t i = 0; i < h.count; i++) {
        assert_true(fabs(h.loss[i] - by_hand(text)) < 1e-3);
        assert_true(fabs(h.validation[i] - by_hand(other)) < 1e-3);
    }
    double loss;
    assert_weft_ok(weft_trainer_evaluate(trainer, other, &loss, NULL));
    assert_true(fabs(loss - by_hand(other)) < 1e-3);
    float steps;
    assert_weft_ok(weft_tensor_read(counter, &steps, sizeof steps));
    assert_true(steps == (float)(3 * weft_dataset_size(text) / STREAMS));
    weft_trainer_release(trainer);
    weft_dataset_release(text);
    weft_dataset_release(other);
    weft_graph_release(n.graph);
}

static void test_bad_carries(void **state) {
    (void)state;
    net n = build();
    weft_trainer *trainer = NULL;
    weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .carries = &n.final, .carry_count = 1};
    weft_tensor *const loss = weft_mean(n.final);
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_trainer_create(&trainer, loss, &options),
        "carry 0, 'mul', is not a weft_assign in the graph of the loss");
    options.carries = NULL;
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_trainer_create(&trainer, loss, &options), "the option carry_count is 1");
    options.carries = &n.keep;
    options.batch = 3;
    weft_dataset *const text = counting(40, 3, STEPS);
    assert_weft_ok(weft_trainer_create(&trainer, loss, &options));
    assert_weft_fails(WEFT_ERROR_SHAPE, weft_trainer_run(trainer, text),
        "the batch size is 3, but the network's inputs are fixed to 2");
    weft_trainer_release(trainer);
    weft_dataset_release(text);
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_carry_reset(n.w), "a parameter is not a state");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_carry_reset(NULL), "state is NULL");
    assert_null(weft_carry_start(n.state, n.carry, 0));
    assert_weft_fails(WEFT_ERROR_SHAPE, weft_graph_status(n.graph),
        "carry is (2), expected one number for each index of axis 0 of the state (1, 2)");
    assert_null(weft_carry_start(n.state, NULL, 0)); /* which would be the state */
    weft_graph_release(n.graph);
    weft_graph *const graph = test_graph();
    assert_null(weft_carried_state(graph, 2, (const int64_t[]){WEFT_BATCH, 3}));
    assert_weft_fails(
        WEFT_ERROR_SHAPE, weft_graph_status(graph), "its shape cannot depend on the batch size");
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequences_follow),
        cmocka_unit_test(test_a_file),
        cmocka_unit_test(test_bad_texts),
        cmocka_unit_test(test_carried_state),
        cmocka_unit_test(test_not_saved),
        cmocka_unit_test(test_trainer),
        cmocka_unit_test(test_bad_carries),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
