/* CIFAR's test batch, which begins with the input and goes on with zeros; its class names are the input as well. */
#include "fuzz.h"
#include <fcntl.h>
#include <unistd.h>

enum { RECORDS = 10000, RECORD = 1 + 3 * 32 * 32, MOST = 4 * RECORD };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int file = -1;
    static const uint8_t zeros[MOST];
    weft_dataset *dataset = NULL;
    const size_t used = size < MOST ? size : MOST;
    if (file < 0) file = open(fuzz_file("test_batch.bin", "", 0), O_WRONLY);
    fuzz_assert(ftruncate(file, (off_t)RECORDS * RECORD) == 0);
    fuzz_assert(pwrite(file, data, used, 0) == (ssize_t)used);
    (void)fuzz_file("batches.meta.txt", data + (size > 10 ? 10 : size), size > 10 ? size - 10 : 0);
    const weft_status status =
        weft_dataset_open_cifar(&dataset, fuzz_context(), fuzz_folder(), WEFT_CIFAR_10_TEST, NULL);
    fuzz_check_status(status);
    fuzz_assert(status != WEFT_OK || weft_dataset_size(dataset) == RECORDS);
    weft_dataset_release(dataset);
    fuzz_assert(pwrite(file, zeros, used, 0) == (ssize_t)used);
    return 0;
}
