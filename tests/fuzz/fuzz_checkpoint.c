/* Checkpoints, whose checksum is made right, so that the fuzzer gets behind it. */
#include "fuzz.h"
#include "io/checkpoint_extras.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static const char head[] = "{\"__metadata__\":{\"weft.checksum\":\"";
enum { AT = 8 + sizeof head - 1, DIGITS = 32 };

static void sign(char *bytes, size_t size) {
    char digits[DIGITS + 1];
    if (size < AT + DIGITS || memcmp(bytes + 8, head, sizeof head - 1) != 0) return;
    memset(bytes + AT, '0', DIGITS);
    const XXH128_hash_t hash = XXH3_128bits(bytes, size);
    snprintf(digits, sizeof digits, "%016llx%016llx", (unsigned long long)hash.high64,
        (unsigned long long)hash.low64);
    memcpy(bytes + AT, digits, DIGITS);
}

static void use(wi_checkpoint_file *file) {
    static const char *const ignored[] = {"ignored.", NULL};
    float number = 0;
    char blob[16] = "";
    weft_checkpoint_extra extras[] = {
        {.name = "blob", .dtype = WEFT_U8, .rank = 1, .dims = {sizeof blob}, .data = blob},
        {.name = "number", .dtype = WEFT_F32, .data = &number}};
    wi_saved_list list;
    uint64_t count = 0;
    double value = 0;
    wi_saved_list_init(&list, NULL);
    fuzz_check_status(wi_checkpoint_count(file, "weft.checkpoint", &count));
    fuzz_check_status(wi_checkpoint_number(file, "rate", &value));
    weft_status status = wi_list_extras_of(&list, file, extras, 2);
    if (status == WEFT_OK) status = wi_checkpoint_match(file, &list, ignored);
    if (status == WEFT_OK) status = wi_checkpoint_apply(file, &list);
    if (status == WEFT_OK) wi_extras_take_sizes(&list, extras, 2);
    fuzz_check_status(status);
    wi_saved_list_clear(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    wi_checkpoint_file file;
    char *const bytes = fuzz_copy(data, size);
    sign(bytes, size);
    const weft_status status =
        wi_checkpoint_open(&file, NULL, fuzz_file("checkpoint.safetensors", bytes, size));
    fuzz_check_status(status);
    if (status == WEFT_OK) use(&file);
    wi_checkpoint_close(&file);
    free(bytes);
    return 0;
}
