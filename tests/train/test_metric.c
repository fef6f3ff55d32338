/* Metrics on host arrays, against scikit-learn's documented examples, against definitions written out over
 * pairs of (label, answer), and at the edges: ties, NaN, nothing at all. */
#include "support/checks.h"
#include "support/fixture.h"
#include <math.h>

static weft_metric_state *make(weft_metric metric, int64_t width) {
    weft_metric_state *state = NULL;
    assert_ok(weft_metric_create(&state, NULL, &metric, width));
    return state;
}

static void assert_near(double got, double expected, const char *what) {
    if (fabs(got - expected) <= 1e-12 * fmax(1.0, fabs(expected))) return;
    print_error("%s: %.15g, expected %.15g\n", what, got, expected);
    fail();
}

/* Outputs whose largest of three is the answer. */
static void answers_to_outputs(float (*outputs)[3], const int32_t *answers, size_t rows) {
    for (size_t i = 0; i < rows; i++)
        for (int32_t c = 0; c < 3; c++) outputs[i][c] = c == answers[i] ? 1.0f : -0.5f * (float)c;
}

static double labelled(
    weft_metric metric, int64_t width, size_t rows, const void *outputs, const int32_t *labels) {
    double value = 0.0;
    weft_metric_state *const state = make(metric, width);
    assert_ok(weft_metric_update(state, rows, outputs, labels));
    assert_ok(weft_metric_result(state, &value));
    weft_metric_release(state);
    return value;
}

static double valued(
    weft_metric metric, int64_t width, size_t rows, const float *outputs, const float *targets) {
    double value = 0.0;
    weft_metric_state *const state = make(metric, width);
    assert_ok(weft_metric_update_values(state, rows, outputs, targets));
    assert_ok(weft_metric_result(state, &value));
    weft_metric_release(state);
    return value;
}

/* y_true = 0 1 2 0 1 2, y_pred = 0 2 1 0 0 1: the example of scikit-learn's manual. */
static void scikit_learns_classes(void **state) {
    (void)state;
    static const int32_t labels[] = {0, 1, 2, 0, 1, 2}, answers[] = {0, 2, 1, 0, 0, 1};
    float outputs[6][3];
    answers_to_outputs(outputs, answers, 6);
    static const weft_average averages[] = {WEFT_AVERAGE_MACRO, WEFT_AVERAGE_MICRO, WEFT_AVERAGE_WEIGHTED};
    static const double precision[] = {2.0 / 9, 1.0 / 3, 2.0 / 9}, recall[] = {1.0 / 3, 1.0 / 3, 1.0 / 3},
                        f1[] = {0.8 / 3, 1.0 / 3, 0.8 / 3};
    for (size_t i = 0; i < 3; i++) {
        assert_near(
            labelled(weft_metric_precision(averages[i]), 3, 6, outputs, labels), precision[i], "precision");
        assert_near(labelled(weft_metric_recall(averages[i]), 3, 6, outputs, labels), recall[i], "recall");
        assert_near(labelled(weft_metric_f1(averages[i]), 3, 6, outputs, labels), f1[i], "f1");
    }
    assert_near(labelled(weft_metric_accuracy(), 3, 6, outputs, labels), 1.0 / 3, "accuracy");
    assert_near(labelled(weft_metric_confusion(), 3, 6, outputs, labels), 1.0 / 3, "confusion");

    double values[9];
    size_t count = 0;
    static const double matrix[9] = {2, 0, 0, 1, 0, 1, 0, 2, 0}, each[3] = {2.0 / 3, 0.0, 0.0};
    weft_metric_state *it = make(weft_metric_confusion(), 3);
    assert_ok(weft_metric_update(it, 6, &outputs[0][0], labels));
    assert_ok(weft_metric_values(it, values, 9, &count));
    assert_int_equal(count, 9);
    for (size_t i = 0; i < 9; i++) assert_near(values[i], matrix[i], "matrix");
    values[4] = 77.0;
    assert_ok(weft_metric_values(it, values, 4, &count)); /* only as many as there is room for */
    assert_true(count == 9 && values[4] == 77.0);
    weft_metric_release(it);
    it = make(weft_metric_precision(WEFT_AVERAGE_MACRO), 3);
    assert_ok(weft_metric_update(it, 6, &outputs[0][0], labels));
    assert_ok(weft_metric_values(it, NULL, 0, &count));
    assert_int_equal(count, 3);
    assert_ok(weft_metric_values(it, values, 9, &count));
    for (size_t i = 0; i < 3; i++) assert_near(values[i], each[i], "a class");
    weft_metric_release(it);
}

/* y_true = 3 -0.5 2 7, y_pred = 2.5 0 2 8; and the one of two columns. */
static void scikit_learns_numbers(void **state) {
    (void)state;
    static const float targets[] = {3.0f, -0.5f, 2.0f, 7.0f}, outputs[] = {2.5f, 0.0f, 2.0f, 8.0f};
    static const float targets2[] = {0.5f, 1, -1, 1, 7, -6}, outputs2[] = {0, 2, -1, 2, 8, -5};
    assert_near(valued(weft_metric_mean_absolute_error(), 1, 4, outputs, targets), 0.5, "mae");
    assert_near(valued(weft_metric_mean_absolute_error(), 2, 3, outputs2, targets2), 0.75, "mae");
    assert_near(valued(weft_metric_r_squared(), 1, 4, outputs, targets), 1.0 - 1.5 / 29.1875, "r²");
    const double first = 1.0 - 1.25 / (0.25 + 1 + 49 - 6.5 * 6.5 / 3), second = 1.0 - 3.0 / (38 - 16.0 / 3);
    assert_near(valued(weft_metric_r_squared(), 2, 3, outputs2, targets2), (first + second) / 2, "r²");
    double values[2];
    size_t count = 0;
    weft_metric_state *const it = make(weft_metric_r_squared(), 2);
    assert_ok(weft_metric_update_values(it, 3, outputs2, targets2));
    assert_ok(weft_metric_values(it, values, 2, &count));
    assert_int_equal(count, 2);
    assert_near(values[0], first, "column 0");
    assert_near(values[1], second, "column 1");
    weft_metric_release(it);
    static const float constant[] = {4, 4, 4}, off[] = {4, 5, 4};
    assert_near(
        valued(weft_metric_r_squared(), 1, 3, constant, constant), 1.0, "r² of constants that are met");
    assert_near(valued(weft_metric_r_squared(), 1, 3, off, constant), 0.0, "r² of constants that are not");
    assert_true(isnan(valued(weft_metric_r_squared(), 1, 1, off, constant)));
}

/* Float32 sums would be off in the first digits here: a target of 10^6 with a deviation of 1. */
static void sums_are_exact(void **state) {
    (void)state;
    enum { ROWS = 20000 };
    static float targets[ROWS], outputs[ROWS];
    double mean = 0.0, total = 0.0, error = 0.0, absolute = 0.0, value = 0.0;
    for (size_t i = 0; i < ROWS; i++) {
        targets[i] = 1e6f + (float)(i % 5) * 0.5f;
        outputs[i] = targets[i] + (i % 3 ? 0.25f : -0.5f);
        mean += (double)targets[i] / ROWS;
    }
    for (size_t i = 0; i < ROWS; i++) {
        total += ((double)targets[i] - mean) * ((double)targets[i] - mean);
        error += pow((double)outputs[i] - (double)targets[i], 2.0);
        absolute += fabs((double)outputs[i] - (double)targets[i]) / ROWS;
    }
    weft_metric_state *const r = make(weft_metric_r_squared(), 1), *const a = make(
                                                                       weft_metric_mean_absolute_error(), 1);
    for (size_t i = 0; i < ROWS; i += 8) {
        assert_ok(weft_metric_update_values(r, 8, outputs + i, targets + i));
        assert_ok(weft_metric_update_values(a, 8, outputs + i, targets + i));
    }
    assert_ok(weft_metric_result(r, &value));
    assert_true(fabs(value - (1.0 - error / total)) < 1e-9);
    assert_ok(weft_metric_result(a, &value));
    assert_near(value, absolute, "mae");
    weft_metric_release(r);
    weft_metric_release(a);
}

/* Every score from its definition, over random pairs; a class that never occurs does not count in the mean.
 */
static void random_pairs(void **state) {
    (void)state;
    enum { CLASSES = 6, ROWS = 101 };
    float outputs[ROWS][CLASSES];
    int32_t labels[ROWS], answers[ROWS];
    test_random random = test_random_named("metric", 1);
    for (size_t i = 0; i < ROWS; i++) {
        labels[i] =
            (int32_t)test_random_below(&random, CLASSES - 1); /* class 5 is neither label nor answer */
        for (size_t c = 0; c < CLASSES; c++)
            outputs[i][c] = c == 5 ? -9.0f : (float)test_random_between(&random, -1.0, 1.0);
        outputs[i][labels[i]] += 0.4f;
        answers[i] = 0;
        for (int32_t c = 1; c < CLASSES; c++)
            if (outputs[i][c] > outputs[i][answers[i]]) answers[i] = c;
    }
    double macro[3] = {0}, weighted[3] = {0}, top = 0.0, loss = 0.0;
    for (int32_t c = 0; c < CLASSES; c++) {
        double right = 0, answered = 0, labelled_so = 0;
        for (size_t i = 0; i < ROWS; i++) {
            right += labels[i] == c && answers[i] == c;
            answered += answers[i] == c;
            labelled_so += labels[i] == c;
        }
        const double p = answered > 0 ? right / answered : 0.0,
                     r = labelled_so > 0 ? right / labelled_so : 0.0;
        const double scores[3] = {p, r, p + r > 0 ? 2 * p * r / (p + r) : 0.0};
        for (int s = 0; s < 3; s++) macro[s] += scores[s] / 5, weighted[s] += scores[s] * labelled_so / ROWS;
    }
    for (size_t i = 0; i < ROWS; i++) {
        int larger = 0;
        double sum = 0.0;
        for (size_t c = 0; c < CLASSES; c++) {
            larger += outputs[i][c] > outputs[i][labels[i]];
            sum += exp((double)outputs[i][c]);
        }
        top += larger < 3;
        loss += (log(sum) - (double)outputs[i][labels[i]]) / ROWS;
    }
    weft_metric (*const kinds[3])(weft_average) = {weft_metric_precision, weft_metric_recall, weft_metric_f1};
    for (int s = 0; s < 3; s++) {
        assert_near(
            labelled(kinds[s](WEFT_AVERAGE_MACRO), CLASSES, ROWS, outputs, labels), macro[s], "macro");
        assert_near(labelled(kinds[s](WEFT_AVERAGE_WEIGHTED), CLASSES, ROWS, outputs, labels), weighted[s],
            "weighted");
    }
    assert_near(labelled(weft_metric_top_k(3), CLASSES, ROWS, outputs, labels), top / ROWS, "top 3");
    assert_near(labelled(weft_metric_top_k(CLASSES), CLASSES, ROWS, outputs, labels), 1.0, "top of all");
    assert_near(labelled(weft_metric_top_k(1), CLASSES, ROWS, outputs, labels),
        labelled(weft_metric_accuracy(), CLASSES, ROWS, outputs, labels), "top 1");
    assert_near(labelled(weft_metric_perplexity(), CLASSES, ROWS, outputs, labels), exp(loss), "perplexity");
}

static void binary_logits(void **state) {
    (void)state;
    static const float outputs[] = {2, -1, 0.5f, -3, 0, 4}, targets[] = {1, 0, 0, 1, 1, 1};
    static const int32_t labels[] = {1, 0, 0, 1, 1, 1}; /* answers: 1 0 1 0 0 1; right: 1 1 0 0 0 1 */
    assert_near(labelled(weft_metric_accuracy(), 1, 6, outputs, labels), 0.5, "accuracy");
    assert_near(valued(weft_metric_accuracy(), 1, 6, outputs, targets), 0.5, "accuracy");
    assert_near(
        valued(weft_metric_precision(WEFT_AVERAGE_BINARY), 1, 6, outputs, targets), 2.0 / 3, "precision");
    assert_near(labelled(weft_metric_recall(WEFT_AVERAGE_BINARY), 1, 6, outputs, labels), 0.5, "recall");
    assert_near(labelled(weft_metric_f1(WEFT_AVERAGE_BINARY), 1, 6, outputs, labels), 4.0 / 7, "f1");
    assert_near(labelled(weft_metric_recall(WEFT_AVERAGE_MACRO), 1, 6, outputs, labels), 0.5, "both classes");
    assert_near(labelled(weft_metric_top_k(2), 1, 6, outputs, labels), 1.0, "top 2 of 2");
}

static void edges_are_defined(void **state) {
    (void)state;
    static const float ties[] = {1, 1, 0}, nans[] = {1, NAN, 2}, masked[] = {0, 0, -INFINITY},
                       large[] = {3e38f, 0, 0};
    static const int32_t zero = 0, one = 1, two = 2;
    assert_true(labelled(weft_metric_accuracy(), 3, 1, ties, &zero) == 1.0); /* the first of equals */
    assert_true(labelled(weft_metric_accuracy(), 3, 1, ties, &one) == 0.0);
    assert_true(labelled(weft_metric_top_k(1), 3, 1, ties, &one) == 0.0);
    assert_true(labelled(weft_metric_top_k(2), 3, 1, ties, &one) == 1.0);
    assert_true(labelled(weft_metric_accuracy(), 3, 1, nans, &one) == 1.0); /* PyTorch: NaN is the largest */
    assert_true(labelled(weft_metric_top_k(2), 3, 1, nans, &two) == 1.0);
    assert_true(labelled(weft_metric_top_k(2), 3, 1, nans, &zero) == 0.0);
    assert_near(
        labelled(weft_metric_perplexity(), 3, 1, masked, &one), 2.0, "perplexity with a masked class");
    assert_true(isinf(labelled(weft_metric_perplexity(), 3, 1, masked, &two)));
    assert_true(isnan(labelled(weft_metric_perplexity(), 3, 1, nans, &zero)));
    assert_true(labelled(weft_metric_perplexity(), 3, 1, large, &zero) == 1.0);

    static const int32_t some[] = {1, -100, 0};
    static const float rows[9] = {0, 1, 0, 0, 1, 0, 0, 1, 0};
    assert_true(labelled(weft_metric_accuracy(), 3, 3, rows, some) == 0.5); /* -100 is left out */

    const weft_metric all[] = {weft_metric_accuracy(), weft_metric_top_k(2), weft_metric_confusion(),
        weft_metric_precision(WEFT_AVERAGE_MACRO), weft_metric_recall(WEFT_AVERAGE_MICRO),
        weft_metric_f1(WEFT_AVERAGE_WEIGHTED), weft_metric_mean_absolute_error(), weft_metric_r_squared(),
        weft_metric_perplexity()};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) { /* nothing at all, and a reset */
        weft_metric_state *const it = make(all[i], 3);
        const bool values = i == 6 || i == 7;
        double first = 0.0, again = 0.0, value = 0.0;
        assert_ok(weft_metric_result(it, &value));
        assert_true(isnan(value));
        assert_ok(
            values ? weft_metric_update_values(it, 3, rows, rows) : weft_metric_update(it, 3, rows, some));
        assert_ok(weft_metric_result(it, &first));
        assert_true(isfinite(first));
        weft_metric_reset(it);
        assert_ok(weft_metric_result(it, &value));
        assert_true(isnan(value));
        assert_ok(
            values ? weft_metric_update_values(it, 3, rows, rows) : weft_metric_update(it, 3, rows, some));
        assert_ok(weft_metric_result(it, &again));
        assert_true(first == again);
        weft_metric_release(it);
    }
    weft_metric_reset(NULL);
    weft_metric_release(NULL);
}

static void misuse_is_refused(void **state) {
    (void)state;
    const struct {
        weft_metric metric;
        int64_t width;
        const char *part;
    } rows[] = {
        {{.kind = (weft_metric_kind)0}, 3, "kind is 0"},
        {{.kind = (weft_metric_kind)99}, 3, "kind is 99"},
        {{.kind = WEFT_F1, .average = (weft_average)9}, 3, "average is 9"},
        {{.kind = WEFT_TOP_K}, 3, "k is 0"},
        {{.kind = WEFT_TOP_K, .k = 4}, 3, "k is 4 of only 3 classes"},
        {{.kind = WEFT_TOP_K, .k = 3}, 1, "k is 3 of only 2 classes"},
        {{.kind = WEFT_F1, .average = WEFT_AVERAGE_BINARY}, 3, "a binary average needs 2 classes, not 3"},
        {{.kind = WEFT_PERPLEXITY}, 1, "perplexity needs a width of one logit per class"},
        {{.kind = WEFT_ACCURACY}, 0, "width is 0"},
        {{.kind = WEFT_ACCURACY, .name = ""}, 3, "name"},
    };
    weft_metric_state *it = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_fails(
            weft_metric_create(&it, NULL, &rows[i].metric, rows[i].width), WEFT_ERROR_ARGUMENT, rows[i].part);
        assert_null(it);
    }
    assert_status(weft_metric_create(NULL, NULL, &rows[8].metric, 3), WEFT_ERROR_ARGUMENT);
    assert_status(weft_metric_create(&it, NULL, NULL, 3), WEFT_ERROR_ARGUMENT);

    static const float outputs[6];
    static const int32_t high[] = {0, 3}, low[] = {0, -1}, good[] = {0, 0};
    double value = 0.0;
    size_t count = 0;
    it = make(weft_metric_accuracy(), 3);
    assert_fails(weft_metric_update(it, 2, outputs, high), WEFT_ERROR_ARGUMENT, "row 1 is 3, not in 0..2");
    assert_fails(weft_metric_update(it, 2, outputs, low), WEFT_ERROR_ARGUMENT, "row 1 is -1");
    assert_ok(weft_metric_result(it, &value));
    assert_true(isnan(value)); /* nothing was added */
    assert_fails(weft_metric_update_values(it, 1, outputs, outputs), WEFT_ERROR_ARGUMENT, "3 classes");
    assert_status(weft_metric_update(NULL, 2, outputs, good), WEFT_ERROR_ARGUMENT);
    assert_status(weft_metric_update(it, 2, NULL, good), WEFT_ERROR_ARGUMENT);
    assert_status(weft_metric_update(it, 2, outputs, NULL), WEFT_ERROR_ARGUMENT);
    assert_ok(weft_metric_update(it, 0, NULL, NULL));
    assert_status(weft_metric_result(it, NULL), WEFT_ERROR_ARGUMENT);
    assert_status(weft_metric_result(NULL, &value), WEFT_ERROR_ARGUMENT);
    assert_status(weft_metric_values(it, NULL, 1, &count), WEFT_ERROR_ARGUMENT);
    assert_status(weft_metric_values(it, &value, 1, NULL), WEFT_ERROR_ARGUMENT);
    weft_metric_release(it);
    it = make(weft_metric_r_squared(), 3);
    assert_fails(weft_metric_update(it, 2, outputs, good), WEFT_ERROR_ARGUMENT, "weft_metric_update_values");
    weft_metric_release(it);
}

/* What counts a whole number of times counts as much as so many rows. */
static void weights_are_repetitions(void **state) {
    (void)state;
    static const float outputs[4][3] = {{1, 0, 0.5f}, {0, 2, 1}, {3, 1, 2}, {0, 1, 4}};
    static const int32_t labels[] = {0, 2, 0, 1}, repeated_labels[] = {0, 0, 2, 1, 1, 1};
    static const float weights[] = {2, 1, 0, 3};
    static const float repeated[6][3] = {
        {1, 0, 0.5f}, {1, 0, 0.5f}, {0, 2, 1}, {0, 1, 4}, {0, 1, 4}, {0, 1, 4}};
    const weft_metric metrics[] = {weft_metric_accuracy(), weft_metric_top_k(2), weft_metric_confusion(),
        weft_metric_precision(WEFT_AVERAGE_MACRO), weft_metric_recall(WEFT_AVERAGE_WEIGHTED),
        weft_metric_f1(WEFT_AVERAGE_MACRO), weft_metric_perplexity()};
    for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++) {
        double value = 0;
        weft_metric_state *const it = make(metrics[m], 3);
        assert_ok(weft_metric_add(it, &(weft_metric_rows){WEFT_METRIC_ROWS_INIT, .rows = 4,
                                          .outputs = outputs[0], .labels = labels, .weights = weights}));
        assert_ok(weft_metric_result(it, &value));
        assert_near(value, labelled(metrics[m], 3, 6, repeated, repeated_labels), "a weighted metric");
        weft_metric_release(it);
    }
    static const float numbers[] = {1, 2, 4, 3}, targets[] = {1.5f, 1, 9, 5};
    static const float more[] = {1, 1, 2, 3, 3, 3}, more_targets[] = {1.5f, 1.5f, 1, 5, 5, 5};
    const weft_metric of_values[] = {weft_metric_mean_absolute_error(), weft_metric_r_squared()};
    for (size_t m = 0; m < 2; m++) {
        double value = 0;
        weft_metric_state *const it = make(of_values[m], 1);
        assert_ok(weft_metric_add(it, &(weft_metric_rows){WEFT_METRIC_ROWS_INIT, .rows = 4,
                                          .outputs = numbers, .targets = targets, .weights = weights}));
        assert_ok(weft_metric_result(it, &value));
        assert_near(value, valued(of_values[m], 1, 6, more, more_targets), "a weighted metric of numbers");
        weft_metric_release(it);
    }
}

/* Two sequences of three rows, of which two and none count; labels behind them may be anything. */
static void lengths_and_an_ignored_label(void **state) {
    (void)state;
    static const float outputs[6][3] = {{1, 0, 0}, {0, 1, 0}, {9, 0, 0}, {9, 0, 0}, {9, 0, 0}, {9, 0, 0}};
    static const int32_t labels[] = {0, 0, 77, -5, -5, -5}, lengths[] = {2, 0};
    weft_metric metric = weft_metric_accuracy();
    weft_metric_rows rows = {WEFT_METRIC_ROWS_INIT, .rows = 6, .outputs = outputs[0], .labels = labels,
        .lengths = lengths, .length = 3};
    double value = 0;
    weft_metric_state *it = make(metric, 3);
    assert_ok(weft_metric_add(it, &rows));
    assert_ok(weft_metric_result(it, &value));
    assert_near(value, 0.5, "two rows");
    weft_metric_release(it);
    metric.ignore = true;
    metric.ignored_label = 0;
    it = make(metric, 3);
    assert_ok(weft_metric_add(it, &rows));
    assert_ok(weft_metric_result(it, &value));
    assert_true(isnan(value));
    static const int32_t hundred[] = {-100};
    assert_fails(weft_metric_update(it, 1, outputs[0], hundred), WEFT_ERROR_ARGUMENT,
        "-100"); /* not ignored any more */
    rows.length = 4;
    assert_fails(weft_metric_add(it, &rows), WEFT_ERROR_ARGUMENT,
        "6 rows cannot be divided into sequences of length 4");
    rows.length = 3;
    rows.lengths = (const int32_t[]){2, 4};
    assert_fails(weft_metric_add(it, &rows), WEFT_ERROR_ARGUMENT, "length 1 is 4, not in 0..3");
    rows.lengths = NULL;
    rows.weights = (const float[]){1, 1, -1, 1, 1, 1};
    assert_fails(weft_metric_add(it, &rows), WEFT_ERROR_ARGUMENT, "weight of row 2 is -1");
    rows.weights = NULL;
    assert_fails(weft_metric_add(it, &rows), WEFT_ERROR_ARGUMENT, "label of row 2 is 77");
    rows.targets = outputs[0];
    assert_fails(weft_metric_add(it, &rows), WEFT_ERROR_ARGUMENT, "labels and targets");
    weft_metric_release(it);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scikit_learns_classes),
        cmocka_unit_test(scikit_learns_numbers),
        cmocka_unit_test(sums_are_exact),
        cmocka_unit_test(random_pairs),
        cmocka_unit_test(binary_logits),
        cmocka_unit_test(edges_are_defined),
        cmocka_unit_test(misuse_is_refused),
        cmocka_unit_test(weights_are_repetitions),
        cmocka_unit_test(lengths_and_an_ignored_label),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
