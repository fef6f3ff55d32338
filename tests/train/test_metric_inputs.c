/* Weights and lengths that a trainer's metrics are given, beside those of the loss over the same labels. */
#include "support/counted_data.h"
#include "support/fixture.h"

static weft_graph *graph;
static weft_tensor *logits, *series, *lengths, *others;

static void begin(void) {
    graph = test_graph();
    logits = weft_linear(weft_input(graph, "x", WEFT_F32, STEPS, 2), CLASSES);
    series = weft_input(graph, "series", WEFT_I32, STEPS);
    lengths = weft_input(graph, "length", WEFT_I32);
    others = weft_input(graph, "other", WEFT_I32);
}

/* refused: a part of the error; NULL: the trainer is made. */
static void make(weft_tensor *loss, weft_trainer_options options, const char *refused) {
    weft_trainer *trainer = NULL;
    options.struct_size = sizeof options;
    assert_weft_ok(weft_graph_status(graph));
    const weft_status status = weft_trainer_create(&trainer, loss, &options);
    if (refused)
        assert_weft_fails(WEFT_ERROR_ARGUMENT, status, refused);
    else
        assert_weft_ok(status);
    weft_trainer_release(trainer);
    weft_graph_release(graph);
}

static void lengths_are_those_of_the_loss(void **state) {
    (void)state;
    const char *const both = "the metric 'accuracy' counts the labels 'series' by the lengths 'other', but "
                             "the loss counts them by 'length': they would count different labels";
    begin();
    make(weft_sequence_cross_entropy(logits, series, lengths),
        (weft_trainer_options){.logits = logits, .labels = "series", .lengths = "length"}, NULL);
    begin();
    make(weft_sequence_cross_entropy(logits, series, lengths),
        (weft_trainer_options){.logits = logits, .labels = "series", .lengths = "other"}, both);
    begin();
    const weft_metric own = {
        .kind = WEFT_TOP_K, .k = 2, .output = logits, .target = "series", .lengths = "other"};
    make(weft_sequence_cross_entropy(logits, series, lengths),
        (weft_trainer_options){.metrics = &own, .metric_count = 1},
        "'top_2' counts the labels 'series' by the lengths 'other', but the loss counts them by 'length'");
    /* Another mask than lengths. */
    begin();
    weft_tensor *const mask = weft_cast(weft_input(graph, "mask", WEFT_I32, STEPS), WEFT_BOOL);
    make(weft_sequence_cross_entropy(logits, series, mask),
        (weft_trainer_options){.logits = logits, .labels = "series", .lengths = "length"},
        "the loss counts them by 'mask'");
}

/* A loss that ignores a label may have it behind the lengths; one that ignores none counts them all. */
static void lengths_beside_a_loss_without_any(void **state) {
    (void)state;
    begin();
    make(weft_sequence_cross_entropy(logits, series, NULL),
        (weft_trainer_options){.logits = logits, .labels = "series", .lengths = "length"}, NULL);
    begin();
    weft_tensor *const turned = weft_swap_axes(logits, 1, 2);
    make(weft_cross_entropy(turned, series),
        (weft_trainer_options){.logits = turned, .labels = "series", .lengths = "length"},
        "by the lengths 'length', but the loss counts all of them");
    /* Two losses that differ say nothing. */
    begin();
    weft_tensor *const two = weft_add(weft_sequence_cross_entropy(logits, series, lengths),
        weft_sequence_cross_entropy(logits, series, others));
    make(two, (weft_trainer_options){.logits = logits, .labels = "series", .lengths = "length"}, NULL);
}

static void weights_are_those_of_the_loss(void **state) {
    (void)state;
    for (int differ = 0; differ < 2; differ++) {
        begin();
        weft_tensor *const x = weft_input(graph, "row", WEFT_F32, 4), *const y = weft_input(
                                                                          graph, "answer", WEFT_F32);
        weft_tensor *const answer = weft_linear(x, 1);
        const weft_metric error = {
            .kind = WEFT_MEAN_ABSOLUTE_ERROR, .output = answer, .target = "answer", .weights = "weight"};
        weft_tensor *const weights = weft_input(graph, differ ? "importance" : "weight", WEFT_F32);
        make(weft_mse_loss(answer, y, WEFT_WITH(loss, .weights = weft_reshape(weights, WEFT_BATCH, 1))),
            (weft_trainer_options){.metrics = &error, .metric_count = 1},
            differ ? "'mean_absolute_error' weights 'answer' by 'weight', but the loss weights it by "
                     "'importance': they "
                     "would"
                   : NULL);
        begin();
        weft_tensor *const flat = weft_linear(weft_input(graph, "row", WEFT_F32, 4), 1);
        weft_tensor *const bce = weft_bce_with_logits_loss(flat, weft_input(graph, "answer", WEFT_F32), NULL,
            WEFT_WITH(
                loss, .weights = weft_reshape(
                          weft_input(graph, differ ? "importance" : "weight", WEFT_F32), WEFT_BATCH, 1)));
        make(bce, (weft_trainer_options){.logits = flat, .labels = "answer", .weights = "weight"},
            differ ? "'accuracy' weights 'answer' by 'weight', but the loss weights it by 'importance'"
                   : NULL);
    }
}

/* The program's own product of losses and weights; a loss without any says nothing. */
static void weights_beside_other_losses(void **state) {
    (void)state;
    for (int differ = 0; differ < 2; differ++) {
        begin();
        weft_tensor *const label = weft_input(graph, "label", WEFT_I32);
        weft_tensor *const scores = weft_linear(weft_input(graph, "row", WEFT_F32, 4), CLASSES);
        weft_tensor *const losses =
            weft_cross_entropy_loss(scores, label, WEFT_WITH(class_loss, .reduction = WEFT_LOSS_NONE));
        weft_tensor *const weights = weft_input(graph, differ ? "importance" : "weight", WEFT_F32);
        make(weft_mean(weft_mul(losses, weights)),
            (weft_trainer_options){.logits = scores, .weights = "weight"},
            differ ? "'accuracy' weights 'label' by 'weight', but the loss weights it by 'importance'"
                   : NULL);
    }
    begin();
    weft_tensor *const scores = weft_linear(weft_input(graph, "row", WEFT_F32, 4), CLASSES);
    make(weft_cross_entropy(scores, weft_input(graph, "label", WEFT_I32)),
        (weft_trainer_options){.logits = scores, .weights = "weight"}, NULL);
    /* An input that multiplies what the loss reads weights nothing. */
    begin();
    weft_tensor *const gate = weft_input(graph, "gate", WEFT_F32, CLASSES);
    weft_tensor *const gated = weft_mul(weft_linear(weft_input(graph, "row", WEFT_F32, 4), CLASSES), gate);
    make(weft_cross_entropy(gated, weft_input(graph, "label", WEFT_I32)),
        (weft_trainer_options){.logits = gated, .weights = "weight"}, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lengths_are_those_of_the_loss),
        cmocka_unit_test(lengths_beside_a_loss_without_any), cmocka_unit_test(weights_are_those_of_the_loss),
        cmocka_unit_test(weights_beside_other_losses)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
