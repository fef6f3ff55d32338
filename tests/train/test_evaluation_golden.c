/* What a trainer says of a dataset does not depend on the size of its batches: losses over what counts, accuracies, metrics.
 * Values recorded from PyTorch 2.15 in float64, over the dataset as one batch. */

#include "support/checks.h"
#include "support/counted_data.h"
#include "support/fixture.h"
#include <math.h>
#include <string.h>

/* ---- losses ---- */

static weft_class_loss_options weighted(weft_graph *graph) {
    weft_class_loss_options options = counted_ignoring;
    options.class_weights =
        weft_array(graph, WEFT_F32, (const float[]){1, 0.25f, 2}, 1, (const int64_t[]){CLASSES});
    return options;
}

static void build_weighted(network *n) {
    const weft_class_loss_options options = weighted(n->graph);
    n->loss = weft_cross_entropy_loss(n->logits, n->label, &options);
}
static void build_sequence(network *n) {
    n->loss = weft_sequence_cross_entropy(
        weft_reshape(n->logits, WEFT_BATCH, 1, CLASSES), weft_reshape(n->label, WEFT_BATCH, 1), NULL);
}
static void build_nll(network *n) {
    n->loss = weft_nll_loss(weft_log_softmax(n->logits, 1), n->label, &counted_ignoring);
}
/* 2·weighted - plain / 4 of other logits + the mean of the squares of x. */
static void build_composed(network *n) {
    const weft_class_loss_options options = weighted(n->graph);
    weft_tensor *const first = weft_cross_entropy_loss(n->logits, n->label, &options);
    weft_tensor *const rolled =
        weft_concat(WEFT_TENSORS(weft_slice(n->logits, 1, 1, 3), weft_slice(n->logits, 1, 0, 1)), 1);
    weft_tensor *const second = weft_cross_entropy_loss(rolled, n->label, &counted_ignoring);
    weft_tensor *const terms = weft_sub(weft_mul_number(first, 2), weft_div_number(second, 4));
    n->loss = weft_add(terms, weft_mean(weft_square(n->x)));
}

static void check_loss(void (*build)(network *), double torch, weft_precision precision, double allowed) {
    static const size_t batches[] = {1, 2, 3, 4, 5, EXAMPLES, 32};
    const data d = counted_data();
    weft_dataset *const dataset = counted_dataset(&d, EXAMPLES);
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        network n = counted_begin();
        double loss = NAN;
        build(&n);
        weft_trainer *const trainer =
            counted_trainer(&n, (weft_trainer_options){.batch = batches[i], .precision = precision});
        assert_ok(weft_trainer_evaluate(trainer, dataset, &loss, NULL));
        if (!(fabs(loss - torch) <= allowed))
            fail_msg("batches of %zu: the loss is %.9g, PyTorch's %.9g", batches[i], loss, torch);
        weft_trainer_release(trainer);
        weft_graph_release(n.graph);
    }
    weft_dataset_release(dataset);
}

static void losses_do_not_depend_on_batches(void **state) {
    (void)state;
    check_loss(counted_loss, 0.861254236491287, WEFT_PRECISION_F32, 1e-6);
    check_loss(build_weighted, 0.7073894445419217, WEFT_PRECISION_F32, 1e-6);
    check_loss(build_sequence, 0.861254236491287, WEFT_PRECISION_F32, 1e-6);
    check_loss(build_nll, 0.861254236491287, WEFT_PRECISION_F32, 1e-6);
    check_loss(build_composed, 1.876359269354961, WEFT_PRECISION_F32, 3e-6);
}

/* The inputs are exact in 16 bits, and the loss is computed in f32. */
static void losses_in_mixed_precision(void **state) {
    (void)state;
    check_loss(counted_loss, 0.861254236491287, WEFT_PRECISION_BF16, 1e-3);
    check_loss(build_weighted, 0.7073894445419217, WEFT_PRECISION_F16, 1e-3);
}

/* The loss of an epoch, in which nothing moves, is that of the evaluation. */
static bool keep_loss(void *user, const weft_epoch *state) {
    *(double *)user = state->loss;
    return true;
}

static void epochs_put_batches_together_alike(void **state) {
    (void)state;
    const data d = counted_data();
    weft_dataset *const dataset = counted_dataset(&d, EXAMPLES);
    network n = counted_begin();
    double loss = NAN;
    counted_loss(&n);
    weft_trainer *const trainer = counted_trainer(&n,
        (weft_trainer_options){.batch = 2, .optimizer = weft_sgd(0), .on_epoch = keep_loss, .user = &loss});
    assert_ok(weft_trainer_run(trainer, dataset));
    assert_true(fabs(loss - 0.861254236491287) < 1e-6);
    weft_trainer_release(trainer);
    weft_graph_release(n.graph);
    weft_dataset_release(dataset);
}

/* NaN, as nothing is known of a dataset in which nothing counts. */
static void nothing_counts_in_a_dataset(void **state) {
    (void)state;
    data d = counted_data();
    for (int i = 0; i < EXAMPLES; i++) d.label[i] = -100;
    weft_dataset *const dataset = counted_dataset(&d, EXAMPLES);
    network n = counted_begin();
    double loss = 0, accuracy = 0;
    counted_loss(&n);
    weft_trainer *const trainer = counted_trainer(&n, (weft_trainer_options){.batch = 4, .logits = n.logits});
    assert_ok(weft_trainer_evaluate(trainer, dataset, &loss, &accuracy));
    assert_true(isnan(loss) && isnan(accuracy));
    weft_trainer_release(trainer);
    weft_graph_release(n.graph);
    weft_dataset_release(dataset);
}

/* ---- accuracies: one rule, of the trainer and of metrics ---- */

static int answer_of(const float *x) {
    int best = 0;
    for (int c = 1; c < CLASSES; c++)
        if (x[c] > x[best]) best = c;
    return best;
}

/* The accuracy of the options and that of a metric are this, at every size of batches. */
static void assert_accuracy(network *n, weft_trainer_options options, double wanted) {
    const data d = counted_data();
    weft_dataset *const dataset = counted_dataset(&d, EXAMPLES);
    const weft_metric metrics[] = {
        weft_metric_accuracy(), weft_metric_f1(WEFT_AVERAGE_MICRO), weft_metric_confusion()};
    options.metrics = metrics;
    options.metric_count = 3;
    for (size_t batch = 1; batch <= 12; batch += 3) {
        double accuracy = NAN, measured = NAN;
        options.batch = batch;
        weft_trainer *const trainer = counted_trainer(n, options);
        assert_ok(weft_trainer_evaluate(trainer, dataset, NULL, &accuracy));
        if (!(fabs(accuracy - wanted) < 1e-12))
            fail_msg("batches of %zu: the accuracy is %.9g, not %.9g", batch, accuracy, wanted);
        for (size_t m = 0; m < 3; m++) {
            assert_ok(weft_metric_result(weft_trainer_metric(trainer, m, false), &measured));
            assert_true(fabs(measured - wanted) < 1e-12);
        }
        assert_null(weft_trainer_metric(trainer, 3, false));
        weft_trainer_release(trainer);
    }
    weft_dataset_release(dataset);
}

/* Labels that the loss ignores do not count, without a word of the caller. */
static void accuracy_follows_the_loss(void **state) {
    (void)state;
    const data d = counted_data();
    double right = 0, all = 0;
    for (int i = 0; i < EXAMPLES; i++) {
        right += answer_of(d.x[i]) == d.label[i];
        all += d.label[i] != -100;
    }
    network n = counted_begin();
    build_weighted(&n);
    assert_accuracy(&n, (weft_trainer_options){.logits = n.logits}, right / all);
    weft_graph_release(n.graph);
}

static void accuracy_ignores_another_label(void **state) {
    (void)state;
    const data d = counted_data();
    const weft_class_loss_options options = {
        WEFT_CLASS_LOSS_OPTIONS_INIT, .ignore = true, .ignored_label = 1};
    double right = 0, all = 0;
    for (int i = 0; i < EXAMPLES; i++) {
        right += d.binary[i] != 1 && answer_of(d.x[i]) == d.binary[i];
        all += d.binary[i] != 1;
    }
    network n = counted_begin();
    n.loss = weft_cross_entropy_loss(n.logits, weft_input(n.graph, "binary", WEFT_I32), &options);
    assert_accuracy(&n, (weft_trainer_options){.logits = n.logits, .labels = "binary"}, right / all);
    assert_accuracy(&n,
        (weft_trainer_options){.logits = n.logits, .labels = "binary", .ignore = true, .ignored_label = 1},
        right / all);
    weft_graph_release(n.graph);
}

static void another_label_than_the_loss_is_refused(void **state) {
    (void)state;
    network n = counted_begin();
    weft_trainer *trainer = NULL;
    counted_loss(&n);
    weft_trainer_options options = {
        WEFT_TRAINER_OPTIONS_INIT, .logits = n.logits, .ignore = true, .ignored_label = 0};
    assert_fails(weft_trainer_create(&trainer, n.loss, &options), WEFT_ERROR_ARGUMENT,
        "'accuracy' ignores the label 0 of 'label', but the loss ignores -100");
    const weft_metric top = {.kind = WEFT_TOP_K, .k = 2, .ignore = true, .ignored_label = 2};
    options = (weft_trainer_options){
        WEFT_TRAINER_OPTIONS_INIT, .logits = n.logits, .metrics = &top, .metric_count = 1};
    assert_fails(
        weft_trainer_create(&trainer, n.loss, &options), WEFT_ERROR_ARGUMENT, "'top_2' ignores the label 2");
    n.loss = weft_cross_entropy(n.logits, n.label);
    options = (weft_trainer_options){
        WEFT_TRAINER_OPTIONS_INIT, .logits = n.logits, .ignore = true, .ignored_label = 0};
    assert_fails(
        weft_trainer_create(&trainer, n.loss, &options), WEFT_ERROR_ARGUMENT, "but the loss ignores none");
    assert_null(trainer);
    weft_graph_release(n.graph);
}

/* (batch, 1) and (batch) are logits of two classes: the threshold is 0, for i32 and for f32 labels. */
static void binary_logits(void **state) {
    (void)state;
    const data d = counted_data();
    double right = 0;
    for (int i = 0; i < EXAMPLES; i++) right += (d.x[i][0] > 0) == d.binary[i];
    for (int form = 0; form < 4; form++) {
        network n = counted_begin();
        weft_tensor *logits = weft_slice(n.logits, 1, 0, 1);
        if (form % 2) logits = weft_reshape(logits, WEFT_BATCH);
        weft_tensor *const labels = form < 2 ? weft_cast(weft_input(n.graph, "binary", WEFT_I32), WEFT_F32)
                                             : weft_input(n.graph, "answer", WEFT_F32);
        n.loss = weft_bce_with_logits(logits, labels);
        assert_accuracy(&n,
            (weft_trainer_options){.logits = logits, .labels = form < 2 ? "binary" : "answer"},
            right / EXAMPLES);
        weft_graph_release(n.graph);
    }
}

static void weights_of_examples(void **state) {
    (void)state;
    const data d = counted_data();
    double right = 0, all = 0;
    for (int i = 0; i < EXAMPLES; i++) {
        if (d.label[i] == -100) continue;
        right += answer_of(d.x[i]) == d.label[i] ? (double)d.weight[i] : 0;
        all += (double)d.weight[i];
    }
    network n = counted_begin();
    counted_loss(&n);
    assert_accuracy(&n, (weft_trainer_options){.logits = n.logits, .weights = "weight"}, right / all);
    weft_graph_release(n.graph);
}

/* Sequences whose logits are those of x at every step, plus the step in class 1. */
static network begin_series(weft_tensor **logits, weft_tensor **labels, weft_tensor **lengths) {
    network n = counted_begin();
    const int64_t dims[] = {1, STEPS, CLASSES};
    float steps[STEPS][CLASSES] = {{0}};
    for (int t = 0; t < STEPS; t++) steps[t][1] = (float)t / 2;
    *logits = weft_add(
        weft_reshape(n.logits, WEFT_BATCH, 1, CLASSES), weft_array(n.graph, WEFT_F32, steps, 3, dims));
    *labels = weft_input(n.graph, "series", WEFT_I32, STEPS);
    *lengths = weft_input(n.graph, "length", WEFT_I32);
    return n;
}

static double series_accuracy(bool whole) {
    const data d = counted_data();
    double right = 0, all = 0;
    for (int i = 0; i < EXAMPLES; i++)
        for (int t = 0; t < (whole ? STEPS : d.length[i]); t++) {
            const float row[CLASSES] = {d.x[i][0], d.x[i][1] + (float)t / 2, d.x[i][2]};
            right += answer_of(row) == d.series[i][t];
            all++;
        }
    return right / all;
}

/* The accuracy counts what the loss counts behind its mask, and what the lengths of the options say. */
static void lengths_of_sequences(void **state) {
    (void)state;
    weft_tensor *logits, *labels, *lengths;
    network n = begin_series(&logits, &labels, &lengths);
    n.loss = weft_sequence_cross_entropy(logits, labels, lengths);
    assert_accuracy(&n, (weft_trainer_options){.logits = logits, .labels = "series"}, series_accuracy(false));
    weft_graph_release(n.graph);
    n = begin_series(&logits, &labels, &lengths);
    n.loss = weft_sequence_cross_entropy(logits, labels, NULL);
    assert_accuracy(&n, (weft_trainer_options){.logits = logits, .labels = "series"}, series_accuracy(true));
    assert_accuracy(&n, (weft_trainer_options){.logits = logits, .labels = "series", .lengths = "length"},
        series_accuracy(false));
    weft_graph_release(n.graph);
}

/* Classes on axis 1, as weft_cross_entropy takes them. */
static void classes_before_positions(void **state) {
    (void)state;
    weft_tensor *logits, *labels, *lengths;
    network n = begin_series(&logits, &labels, &lengths);
    weft_tensor *const turned = weft_swap_axes(logits, 1, 2);
    n.loss = weft_cross_entropy(turned, labels);
    assert_accuracy(&n, (weft_trainer_options){.logits = turned, .labels = "series"}, series_accuracy(true));
    weft_graph_release(n.graph);
}

static void columns_that_do_not_fit(void **state) {
    (void)state;
    const data d = counted_data();
    weft_dataset *const dataset = counted_dataset(&d, EXAMPLES);
    network n = counted_begin();
    counted_loss(&n);
    const struct {
        weft_trainer_options options;
        weft_status status;
        const char *part;
    } rows[] = {
        {{.logits = n.logits, .weights = "no"}, WEFT_ERROR_ARGUMENT,
            "'no' of the metric 'accuracy' is not a column"},
        {{.logits = n.logits, .weights = "x"}, WEFT_ERROR_SHAPE, "weights 'x'"},
        {{.logits = n.logits, .lengths = "weight"}, WEFT_ERROR_SHAPE, "lengths 'weight'"},
        {{.logits = n.logits, .labels = "series"}, WEFT_ERROR_SHAPE,
            "(batch, 4), but its output needs (batch)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_trainer *const trainer = counted_trainer(&n, rows[i].options);
        assert_fails(weft_trainer_evaluate(trainer, dataset, NULL, NULL), rows[i].status, rows[i].part);
        weft_trainer_release(trainer);
    }
    weft_graph_release(n.graph);
    weft_dataset_release(dataset);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_do_not_depend_on_batches),
        cmocka_unit_test(losses_in_mixed_precision),
        cmocka_unit_test(epochs_put_batches_together_alike),
        cmocka_unit_test(nothing_counts_in_a_dataset),
        cmocka_unit_test(accuracy_follows_the_loss),
        cmocka_unit_test(accuracy_ignores_another_label),
        cmocka_unit_test(another_label_than_the_loss_is_refused),
        cmocka_unit_test(binary_logits),
        cmocka_unit_test(weights_of_examples),
        cmocka_unit_test(lengths_of_sequences),
        cmocka_unit_test(classes_before_positions),
        cmocka_unit_test(columns_that_do_not_fit),
    };
    return test_finish(cmocka_run_group_tests_name("evaluation", tests, NULL, NULL));
}
