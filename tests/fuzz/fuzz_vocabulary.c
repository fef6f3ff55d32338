/* Files of vocabularies: what is loaded can be saved, and is the same when it is loaded again. */
#include "fuzz.h"
#include <string.h>

static void compare(const weft_vocabulary *one, const weft_vocabulary *other) {
    fuzz_assert(weft_vocabulary_size(one) == weft_vocabulary_size(other));
    fuzz_assert(weft_vocabulary_level(one) == weft_vocabulary_level(other));
    for (int32_t i = 0; i < (int32_t)weft_vocabulary_size(one); i++) {
        size_t bytes = 0, others = 0;
        const char *const text = weft_vocabulary_token(one, i, &bytes);
        const char *const same = weft_vocabulary_token(other, i, &others);
        fuzz_assert(bytes == others && memcmp(text, same, bytes + 1) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    weft_vocabulary *vocabulary = NULL, *again = NULL;
    char path[256];
    strcpy(path, fuzz_file("vocabulary.json", data, size));
    const weft_status status = weft_vocabulary_load(&vocabulary, fuzz_context(), path);
    fuzz_check_status(status);
    if (status == WEFT_OK) {
        fuzz_assert(weft_vocabulary_save(vocabulary, path) == WEFT_OK);
        fuzz_assert(weft_vocabulary_load(&again, fuzz_context(), path) == WEFT_OK);
        compare(vocabulary, again);
    }
    weft_vocabulary_release(again);
    weft_vocabulary_release(vocabulary);
    return 0;
}
