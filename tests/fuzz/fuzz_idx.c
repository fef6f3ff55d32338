/* MNIST's files, plain or gzip, which zlib finds out by itself: the last byte says how long the labels are, which stand last. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    weft_dataset *dataset = NULL;
    const size_t wanted = fuzz_take_byte(data, &size), labels = wanted < size ? wanted : size;
    (void)fuzz_file("f-images-idx3-ubyte", data, size - labels);
    (void)fuzz_file("f-labels-idx1-ubyte", data + size - labels, labels);
    weft_context *const context = fuzz_context();
    const weft_status status = weft_dataset_open_idx(&dataset, context, fuzz_folder(), "f");
    fuzz_check_status(status);
    fuzz_assert((status == WEFT_OK) == (dataset != NULL));
    weft_dataset_release(dataset);
    return 0;
}
