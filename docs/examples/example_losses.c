/* Losses, each once, with and without options. */
#include <stdio.h>
#include <weft/weft.h>

static const weft_loss_options summed = {WEFT_LOSS_OPTIONS_INIT, .reduction = WEFT_LOSS_SUM};

static void regression(weft_tensor *x, weft_tensor *t) { /* (batch, 6) */
    weft_tensor *variance = weft_exp(x);
    weft_tensor *plain[] = {weft_mse(x, t), weft_l1(x, t), weft_huber(x, t, 1), weft_smooth_l1(x, t, 1),
        weft_poisson_nll(x, weft_square(t)), weft_gaussian_nll(x, t, variance)};
    weft_tensor *with[] = {weft_mse_loss(x, t, &summed), weft_l1_loss(x, t, &summed),
        weft_huber_loss(x, t, 1, &summed), weft_smooth_l1_loss(x, t, 1, &summed),
        weft_poisson_nll_loss(x, weft_square(t), true, false, &summed),
        weft_gaussian_nll_loss(x, t, variance, true, &summed)};
    (void)weft_stack(plain, 6, 0), (void)weft_stack(with, 6, 0);
}

/* A loss of one's own that leaves out what is not known. */
static void masked(weft_tensor *x, weft_tensor *t) { /* (batch, 6) */
    weft_tensor *error = weft_square(weft_sub(x, t)), *is_known = weft_not_equal_number(t, 0);
    weft_tensor *all[] = {weft_masked_mean(error, is_known), weft_sum(weft_masked_mean(error, is_known, 1)),
        weft_masked_mean_axes(error, is_known, NULL, false)};
    (void)weft_stack(all, 3, 0);
}

static void probabilities(weft_tensor *x, weft_tensor *t) { /* (batch, 6) */
    weft_tensor *p = weft_sigmoid(x), *wanted = weft_sigmoid(t), *heavier = weft_number(x, 2);
    weft_tensor *q = weft_log_softmax(x, 1), *r = weft_softmax(t, 1);
    weft_tensor *all[] = {weft_bce(p, wanted), weft_bce_loss(p, wanted, &summed),
        weft_bce_with_logits(x, wanted), weft_bce_with_logits_loss(x, wanted, heavier, &summed),
        weft_kl_div(q, r), weft_kl_div_loss(q, r, false, &summed)};
    (void)weft_stack(all, 6, 0);
}

static void classes(weft_tensor *x, weft_tensor *labels) { /* (batch, 6), i32 (batch) */
    const weft_class_loss_options smooth = {WEFT_CLASS_LOSS_OPTIONS_INIT, .label_smoothing = 0.1f},
                                  some = {WEFT_CLASS_LOSS_OPTIONS_INIT, .ignore = true,
                                      .ignored_label = -100},
                                  sum = {WEFT_CLASS_LOSS_OPTIONS_INIT, .reduction = WEFT_LOSS_SUM};
    weft_tensor *q = weft_log_softmax(x, 1);
    weft_tensor *all[] = {weft_cross_entropy(x, labels), weft_cross_entropy_loss(x, labels, &smooth),
        weft_nll(q, labels), weft_nll_loss(q, labels, &some), weft_multi_margin(x, labels, 1),
        weft_multi_margin_loss(x, labels, 1, 2, &sum)};
    (void)weft_stack(all, 6, 0);
}

static void margins(weft_tensor *x, weft_tensor *t, weft_tensor *sides) { /* (batch, 6); 1 or -1 */
    weft_tensor *all[] = {weft_hinge(x, sides), weft_hinge_loss(x, sides, &summed),
        weft_soft_margin(x, sides), weft_soft_margin_loss(x, sides, &summed),
        weft_hinge_embedding(x, sides, 1), weft_hinge_embedding_loss(x, sides, 1, &summed),
        weft_margin_ranking(x, t, sides, 0.1f), weft_margin_ranking_loss(x, t, sides, 0.1f, &summed)};
    (void)weft_stack(all, 8, 0);
}

static void vectors(weft_tensor *x, weft_tensor *t, weft_tensor *sides) { /* (batch, 6), sides (batch) */
    weft_tensor *cosine = weft_mean(weft_cosine_similarity(x, t, 1, 1e-8f));
    weft_tensor *all[] = {cosine, weft_cosine_embedding(x, t, sides, 0),
        weft_cosine_embedding_loss(x, t, sides, 0, &summed), weft_triplet_margin(x, t, weft_neg(t), 1),
        weft_triplet_margin_loss(x, t, weft_neg(t), 1, 2, true, &summed)};
    (void)weft_stack(all, 5, 0);
}

static void sequences(weft_graph *graph) {
    const int64_t steps[] = {20, WEFT_BATCH, 6};
    weft_tensor *logits = weft_input(graph, "logits", WEFT_F32, 7, 6),
                *labels = weft_input(graph, "next", WEFT_I32, 7),
                *lengths = weft_input(graph, "lengths", WEFT_I32),
                *audio = weft_input_shape(graph, "audio", WEFT_F32, 3, steps),
                *frames = weft_input(graph, "frames", WEFT_I32),
                *letters = weft_input(graph, "letters", WEFT_I32, 5);
    const weft_class_loss_options smooth = {WEFT_CLASS_LOSS_OPTIONS_INIT, .label_smoothing = 0.1f};
    const weft_ctc_loss_options finite = {WEFT_CTC_LOSS_OPTIONS_INIT, .zero_infinity = true};
    weft_tensor *q = weft_log_softmax(audio, 2);
    weft_tensor *all[] = {weft_sequence_cross_entropy(logits, labels, lengths),
        weft_sequence_cross_entropy_loss(logits, labels, NULL, &smooth),
        weft_ctc(q, letters, frames, lengths), weft_ctc_loss(q, letters, frames, lengths, &finite)};
    (void)weft_stack(all, 4, 0);
}

int main(void) {
    weft_context *context = NULL;
    weft_status status = weft_context_create(&context, NULL);
    if (!status) {
        weft_graph *graph = weft_context_graph(context);
        weft_tensor *x = weft_input(graph, "x", WEFT_F32, 6), *t = weft_input(graph, "t", WEFT_F32, 6);
        regression(x, t), masked(x, t), probabilities(x, t),
            classes(x, weft_input(graph, "labels", WEFT_I32));
        margins(x, t, weft_input(graph, "sides", WEFT_F32, 6)),
            vectors(x, t, weft_input(graph, "side", WEFT_F32));
        sequences(graph);
        status = weft_graph_status(graph);
    }
    if (status) fprintf(stderr, "losses: %s\n", weft_last_error());
    weft_context_release(context);
    return status != WEFT_OK;
}
