/* Tuning files. The first byte says whether the text gets the head of the device's own section, so that the fuzzer gets behind
 * it. What was taken must be found, written, and read again as it was. */
#include "cl/choices.h"
#include "cl/context.h"
#include "fuzz.h"
#include <stdlib.h>
#include <string.h>

static void take(wi_device *device, const char *head, const uint8_t *data, size_t size) {
    wi_text text;
    wi_text_init(&text, NULL);
    wi_text_append(&text, "%s", head);
    wi_text_append_bytes(&text, (const char *)data, size);
    fuzz_assert(text.data != NULL || text.length == 0);
    if (text.data) wi_choices_take(device, text.data, "fuzz");
    wi_text_clear(&text);
}

/* Everything that is known is in the text that is written. */
static void check_round(wi_device *device) {
    wi_text text;
    size_t before, after;
    wi_text_init(&text, NULL);
    wi_text_append(&text, "weft tuning 1\n");
    wi_choices_append(device, &text);
    (void)wi_choices_all(device, &before);
    fuzz_assert(text.data != NULL);
    wi_choices_take(device, text.data, "fuzz");
    const wi_choice *const all = wi_choices_all(device, &after);
    fuzz_assert(before == after);
    for (size_t i = 0; i < after; i++) {
        if (all[i].fault)
            fuzz_assert(wi_choices_fault(device, all[i].site, all[i].kernel) != NULL);
        else
            fuzz_assert(wi_choices_find(device, all[i].site) != NULL);
    }
    wi_text_clear(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const unsigned how = fuzz_take_byte(data, &size);
    wi_device *const device = wi_context_device(fuzz_opened_context());
    wi_text head;
    wi_text_init(&head, NULL);
    wi_text_append(&head, "weft tuning 1\n");
    wi_choices_append_device(device, &head);
    wi_choices_close(device);
    fuzz_assert(wi_choices_open(device, NULL) == WEFT_OK);
    take(device, how & 1 ? head.data : "", data, size);
    check_round(device);
    wi_text_clear(&head);
    return 0;
}
