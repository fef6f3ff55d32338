/* Accuracy on the device: one number to read a step instead of the logits (contract in correct_count.h). */
#include "train/correct_count.h"
#include "train/feed.h"

static weft_status check_logits(const weft_tensor *logits) {
    if (weft_tensor_rank(logits) != 2 || weft_tensor_dtype(logits) != WEFT_F32 ||
        weft_tensor_dimension(logits, 0) != WEFT_BATCH || weft_tensor_dimension(logits, 1) <= 0)
        WI_FAIL(WEFT_ERROR_SHAPE,
            "trainer: logits must be f32 of shape (batch, classes) to count correct answers");
    return WEFT_OK;
}

weft_status wi_correct_count(weft_tensor **correct, const weft_allocator *allocator, weft_tensor *loss,
    weft_tensor *logits, const char *labels) {
    WI_TRY(check_logits(logits));
    wi_feed feed = {0};
    WI_TRY(wi_feed_collect(&feed, allocator, &loss, 1));
    const wi_feed_input *const found = wi_feed_find(&feed, labels);
    weft_tensor *const input = found ? found->tensor : NULL;
    wi_feed_clear(&feed);
    if (!input)
        WI_FAIL(
            WEFT_ERROR_ARGUMENT, "trainer: the loss has no input '%s' to count correct answers with", labels);
    if (weft_tensor_dtype(input) != WEFT_I32 || weft_tensor_rank(input) != 1)
        WI_FAIL(WEFT_ERROR_SHAPE,
            "trainer: labels '%s' must be i32 of shape (batch) to count correct answers", labels);
    /* The class axis stays, so that the comparison can stand in the kernel that computes the loss. */
    const int64_t classes[] = {1, WEFT_END};
    weft_tensor *const best = weft_argmax_axes(logits, classes, true);
    weft_tensor *const right = weft_equal(best, weft_reshape(input, WEFT_BATCH, 1));
    *correct = weft_sum(weft_cast(right, WEFT_I32));
    return weft_graph_status(weft_tensor_graph(logits));
}
