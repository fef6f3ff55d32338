/* Probabilities are refused where logits or log-probabilities are wanted: they would be converted twice, or not at all. */
#include "support/fixture.h"
#include <string.h>

typedef weft_tensor *form_of(weft_tensor *x);
typedef weft_tensor *use_of(weft_tensor *x);

static weft_tensor *labels(weft_tensor *x) {
    return weft_input(weft_tensor_graph(x), "labels", WEFT_I32);
}

static weft_tensor *targets(weft_tensor *x) {
    return weft_input(weft_tensor_graph(x), "targets", WEFT_F32, 3);
}

static weft_tensor *ctc_of(weft_tensor *x) {
    weft_graph *const graph = weft_tensor_graph(x);
    weft_tensor *const words = weft_input(graph, "words", WEFT_I32, 2);
    weft_tensor *const lengths = weft_input(graph, "lengths", WEFT_I32);
    const int64_t dims[] = {5, WEFT_BATCH, 3};
    weft_tensor *const steps = x ? weft_expand(weft_unsqueeze(x, 0), 3, dims) : NULL;
    return weft_ctc(steps, words, lengths, lengths);
}

#define USES(ROW)                                                                                            \
    ROW(cross_entropy, weft_cross_entropy(x, labels(x)))                                                     \
    ROW(dense_cross_entropy, weft_cross_entropy(x, targets(x)))                                              \
    ROW(sequence_cross_entropy, weft_sequence_cross_entropy(x, labels(x), NULL))                             \
    ROW(categorical, weft_categorical(x, 1, 0, 1))                                                           \
    ROW(nll, weft_nll(x, labels(x)))                                                                         \
    ROW(kl_div, weft_kl_div(x, targets(x)))                                                                  \
    ROW(kl_div_target, weft_kl_div_loss(targets(x), x, true, NULL))                                          \
    ROW(ctc, ctc_of(x))                                                                                      \
    ROW(bce_with_logits, weft_bce_with_logits(x, targets(x)))
#define USE(name, expression)                                                                                \
    static weft_tensor *use_##name(weft_tensor *x) {                                                         \
        return expression;                                                                                   \
    }
USES(USE)
#define LINE(name, expression) {#name, use_##name},
static const struct {
    const char *name;
    use_of *use;
} uses[] = {USES(LINE)};
enum { USES_COUNT = sizeof uses / sizeof *uses };

#define FORM(name, expression)                                                                               \
    static weft_tensor *name(weft_tensor *x) {                                                               \
        return expression;                                                                                   \
    }
FORM(softmax, weft_softmax(x, 1))
FORM(sigmoid, weft_sigmoid(x))
FORM(seen, weft_slice(weft_reshape(weft_transpose(weft_softmax(weft_transpose(x), 0)), WEFT_BATCH, 3), 1, 0,
               WEFT_END))
FORM(stopped, weft_stop_gradient(weft_cast(weft_softmax(x, 1), WEFT_F32)))
FORM(scores, weft_mul_number(x, 2))
FORM(log_softmax, weft_log_softmax(x, 1))
FORM(mixed, weft_add(weft_softmax(x, 1), weft_sigmoid(x)))
FORM(copied, weft_mul_number(weft_softmax(x, 1), 1))

static void check_uses(form_of *form, const char *made_by) {
    for (size_t i = 0; i < USES_COUNT; i++) {
        weft_graph *const graph = test_graph();
        weft_tensor *const y = uses[i].use(form(weft_input(graph, "x", WEFT_F32, 3)));
        const char *const said = weft_last_error();
        if (!made_by && (!y || weft_graph_status(graph))) fail_msg("%s: %s", uses[i].name, said);
        if (made_by && (y || weft_graph_status(graph) != WEFT_ERROR_ARGUMENT || !strstr(said, made_by)))
            fail_msg("%s of %s: %s", uses[i].name, made_by, y ? "accepted" : said);
        weft_graph_release(graph);
    }
}

static void test_probabilities_are_refused(void **state) {
    (void)state;
    check_uses(softmax, "softmax"), check_uses(sigmoid, "sigmoid");
    check_uses(seen, "softmax"), check_uses(stopped, "softmax");
}

static void test_all_else_is_taken(void **state) {
    (void)state;
    check_uses(scores, NULL), check_uses(log_softmax, NULL), check_uses(mixed, NULL),
        check_uses(copied, NULL);
}

static void test_message_names_both_ops(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 3);
    assert_null(weft_bce_with_logits(weft_sigmoid(x), targets(x)));
    assert_string_equal(weft_last_error(),
        "bce_with_logits: expected logits, but the input is the output of sigmoid, which are probabilities; "
        "bce_with_logits converts logits itself: pass the input of sigmoid instead");
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probabilities_are_refused),
        cmocka_unit_test(test_all_else_is_taken),
        cmocka_unit_test(test_message_names_both_ops),
    };
    return test_finish(cmocka_run_group_tests_name("prediction_form", tests, NULL, NULL));
}
