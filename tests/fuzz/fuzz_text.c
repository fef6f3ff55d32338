/* Texts: made into a vocabulary, encoded and decoded with it, saved and loaded again, cut into sequences. */
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>

static void compare(const weft_vocabulary *one, const weft_vocabulary *other) {
    fuzz_assert(weft_vocabulary_size(one) == weft_vocabulary_size(other));
    fuzz_assert(weft_vocabulary_unknown(one) == weft_vocabulary_unknown(other));
    for (int32_t i = 0; i < (int32_t)weft_vocabulary_size(one); i++) {
        size_t bytes = 0, others = 0;
        const char *const text = weft_vocabulary_token(one, i, &bytes);
        const char *const same = weft_vocabulary_token(other, i, &others);
        fuzz_assert(bytes == others && memcmp(text, same, bytes) == 0);
        fuzz_assert(weft_vocabulary_find(one, text, bytes) == i);
    }
}

static void save_and_load(const weft_vocabulary *vocabulary) {
    weft_vocabulary *loaded = NULL;
    char path[256];
    strcpy(path, fuzz_file("vocabulary.json", "", 0));
    fuzz_assert(weft_vocabulary_save(vocabulary, path) == WEFT_OK);
    fuzz_assert(weft_vocabulary_load(&loaded, fuzz_context(), path) == WEFT_OK);
    compare(vocabulary, loaded);
    weft_vocabulary_release(loaded);
}

/* What all tokens are known of comes back; characters exactly. */
static void encode(const weft_vocabulary *vocabulary, const char *text, size_t size) {
    size_t count = 0, length = 0;
    const weft_status status = weft_vocabulary_encode(vocabulary, text, size, NULL, 0, &count);
    fuzz_check_status(status);
    if (status != WEFT_OK) return;
    int32_t *const tokens = malloc(count * sizeof *tokens + 1);
    fuzz_assert(weft_vocabulary_encode(vocabulary, text, size, tokens, count, &count) == WEFT_OK);
    fuzz_assert(weft_vocabulary_decode(vocabulary, tokens, count, NULL, 0, &length) == WEFT_OK);
    char *const back = malloc(length + 1);
    fuzz_assert(weft_vocabulary_decode(vocabulary, tokens, count, back, length + 1, &length) == WEFT_OK);
    fuzz_assert(back[length] == '\0');
    if (weft_vocabulary_level(vocabulary) == WEFT_TEXT_CHARACTERS && weft_vocabulary_unknown(vocabulary) < 0)
        fuzz_assert(length == size && memcmp(back, text, size) == 0);
    free(back);
    free(tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const weft_vocabulary_options options = {WEFT_VOCABULARY_OPTIONS_INIT,
        .level = (weft_text_level)fuzz_take_below(data, &size, 2),
        .minimum_count = fuzz_take_below(data, &size, 3), .maximum_size = fuzz_take_below(data, &size, 256),
        .unknown = fuzz_take_below(data, &size, 2)};
    const weft_text_options cut = {WEFT_TEXT_OPTIONS_INIT, fuzz_take_below(data, &size, 4), 3};
    char *const text = fuzz_copy(data, size);
    weft_vocabulary *vocabulary = NULL;
    weft_dataset *dataset = NULL;
    const weft_status status = weft_vocabulary_from_text(&vocabulary, fuzz_context(), text, size, &options);
    fuzz_check_status(status);
    if (status == WEFT_OK) {
        save_and_load(vocabulary);
        encode(vocabulary, text, size);
        fuzz_check_status(weft_dataset_open_text(
            &dataset, fuzz_context(), fuzz_file("text.txt", text, size), vocabulary, &cut));
    }
    weft_dataset_release(dataset);
    weft_vocabulary_release(vocabulary);
    free(text);
    return 0;
}
