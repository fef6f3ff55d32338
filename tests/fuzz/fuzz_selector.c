/* Selectors of devices, over a list of several; and the class that the environment forces. */
#include "cl/context.h"
#include "cl/device_list.h"
#include "fuzz.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 5 };

static void make_list(wi_device_list *list) {
    static const char *const names[DEVICES] = {
        "pthread-znver3", "AMD Radeon", "", "llvmpipe (LLVM 15)", "\xff 0:1"};
    list->entries = wi_allocate_array(NULL, DEVICES, sizeof *list->entries);
    fuzz_assert(list->entries != NULL);
    list->count = list->capacity = DEVICES;
    for (int i = 0; i < DEVICES; i++) {
        weft_device_info *const info = &list->entries[i].info;
        list->entries[i].usable = i != 1;
        info->is_gpu = i == 1 || i == 3;
        info->is_cpu = i == 0;
        snprintf(info->selector, sizeof info->selector, "%d:%d", i / 2, i % 2);
        strcpy(info->name, names[i]);
        strcpy(info->platform, i % 2 ? "rusticl" : "Portable Computing Language");
    }
}

static void force_class(const char *text) {
    wi_device_entry entry = {0};
    const cl_device_id device = wi_context_device(fuzz_opened_context())->id;
    fuzz_assert(setenv("WEFT_DEVICE_CLASS", text, 1) == 0);
    const weft_status status = wi_device_describe(&entry, device, NULL);
    fuzz_check_status(status);
    fuzz_assert(status == WEFT_OK || status == WEFT_ERROR_ARGUMENT);
    fuzz_assert(unsetenv("WEFT_DEVICE_CLASS") == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    wi_device_list list = {0};
    char *const text = malloc(size + 1);
    fuzz_assert(text != NULL);
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    make_list(&list);
    const weft_status status = wi_device_list_select(&list, text);
    fuzz_check_status(status);
    fuzz_assert(status == WEFT_OK ? list.count > 0 : status == WEFT_ERROR_NO_DEVICE);
    wi_device_list_clear(&list);
    force_class(text);
    free(text);
    return 0;
}
