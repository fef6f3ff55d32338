/* See wrong_answers.h. */
#include "wrong_answers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 6, SIDE = 96, MOST_EXAMPLES = 10000 };

static size_t largest(const float *shares, size_t count) {
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (shares[i] > shares[best]) best = i;
    return best;
}

bool mistakes_add(
    mistakes *m, int32_t label, const float *shares, size_t classes, const float *image, size_t numbers) {
    const size_t answer = largest(shares, classes), bytes = numbers * sizeof *image;
    const mistake made = {m->examples++, label, (int32_t)answer, shares[answer]};
    size_t at = m->kept;
    if (made.answer == label) return true;
    m->wrong++;
    if (!m->images && !(m->images = malloc(MOST_MISTAKES * bytes))) return false;
    while (at > 0 && m->worst[at - 1].share < made.share) at--;
    if (at == MOST_MISTAKES) return true;
    const size_t moved = m->kept < MOST_MISTAKES ? m->kept++ - at : MOST_MISTAKES - 1 - at;
    memmove(m->worst + at + 1, m->worst + at, moved * sizeof *m->worst);
    memmove(m->images + (at + 1) * numbers, m->images + at * numbers, moved * bytes);
    memcpy(m->images + at * numbers, image, bytes);
    m->worst[at] = made;
    return true;
}

void mistakes_print(const mistakes *m, const char *const *names) {
    for (size_t i = 0; i < m->kept; i++) {
        const mistake *const one = &m->worst[i];
        printf("row %zu, column %zu: example %zu is ", i / COLUMNS + 1, i % COLUMNS + 1, one->example + 1);
        if (names)
            printf("%s, but the answer is %s", names[one->label], names[one->answer]);
        else
            printf("%d, but the answer is %d", (int)one->label, (int)one->answer);
        printf(" with %.2f %%\n", 100 * (double)one->share);
    }
}

weft_status mistakes_save(const mistakes *m, const char *path, weft_png_options how) {
    if (m->kept == 0) return WEFT_OK;
    how.images = m->kept;
    how.columns = COLUMNS;
    how.zoom = how.height < SIDE ? (SIDE + how.height / 2) / how.height : 1;
    return weft_image_save_png(path, m->images, &how);
}

void mistakes_release(mistakes *m) {
    free(m->images);
    *m = (mistakes){0};
}

static weft_status find_mistakes(
    mistakes *m, weft_tensor *logits, const weft_dataset *dataset, float *shares, size_t count) {
    const weft_column *const image = weft_dataset_column(dataset, 0);
    const int32_t *const labels = weft_dataset_column(dataset, 1)->data;
    const size_t classes = (size_t)weft_tensor_dimension(logits, 1);
    const size_t numbers = (size_t)(image->dims[0] * image->dims[1] * image->dims[2]);
    const weft_status status =
        weft_predict(weft_softmax(logits, 1), count, image, 1, shares, count * classes * sizeof *shares);
    for (size_t i = 0; i < count && !status; i++)
        if (!mistakes_add(m, labels[i], shares + i * classes, classes,
                (const float *)image->data + i * numbers, numbers))
            return WEFT_ERROR_MEMORY;
    return status;
}

weft_status mistakes_show(weft_tensor *logits, const weft_dataset *dataset, const char *path) {
    const size_t size = weft_dataset_size(dataset), count = size < MOST_EXAMPLES ? size : MOST_EXAMPLES;
    const int64_t *const dims = weft_dataset_column(dataset, 0)->dims;
    const weft_png_options how = {
        WEFT_PNG_OPTIONS_INIT, .channels = dims[0], .height = dims[1], .width = dims[2]};
    float *const shares = calloc(count, (size_t)weft_tensor_dimension(logits, 1) * sizeof *shares);
    mistakes found = {0};
    weft_status status = shares ? find_mistakes(&found, logits, dataset, shares, count) : WEFT_ERROR_MEMORY;
    if (!status) mistakes_print(&found, NULL);
    if (!status) status = mistakes_save(&found, path, how);
    mistakes_release(&found);
    free(shares);
    return status;
}
