/* Files of tensors: the header, and what it says about the data. */
#include "fuzz.h"
#include "io/safetensors.h"
#include <stdlib.h>
#include <string.h>

static void check_table(const wi_safetensors *file) {
    for (size_t i = 0; i < file->count; i++) {
        wi_saved_tensor *const tensor = &file->tensors[i];
        fuzz_assert(tensor->begin <= tensor->end && tensor->end <= file->data_bytes);
        if (tensor->dtype->size) /* 0: a dtype that Weft does not know */
            fuzz_assert(tensor->elements * tensor->dtype->size == tensor->end - tensor->begin);
        fuzz_assert(i == 0 || strcmp(tensor[-1].name, tensor->name) < 0);
        fuzz_assert(wi_safetensors_find(file, tensor->name) == tensor);
    }
    for (size_t i = 0; i < file->metadata_count; i++)
        fuzz_assert(wi_safetensors_metadata(file, file->metadata[i].key) == file->metadata[i].value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    wi_safetensors file;
    char *const bytes = fuzz_copy(data, size); /* names are decoded in it */
    const weft_status status = wi_safetensors_parse(&file, NULL, "file", bytes, size);
    fuzz_check_status(status);
    if (status == WEFT_OK) check_table(&file);
    wi_safetensors_clear(&file);
    free(bytes);
    return 0;
}
