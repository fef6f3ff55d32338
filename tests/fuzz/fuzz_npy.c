/* NumPy files, read as each dtype. */
#include "fuzz.h"
#include "io/npy.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    wi_npy npy;
    char *const bytes = fuzz_copy(data, size);
    const weft_status status = wi_npy_parse(&npy, "file", bytes, size);
    fuzz_check_status(status);
    if (status == WEFT_OK) {
        fuzz_assert(npy.elements * npy.size == size - (size_t)((const char *)npy.data - bytes));
        void *const numbers = malloc(8 * npy.elements + 8);
        for (int dtype = WEFT_F32; dtype <= WEFT_F64; dtype++)
            fuzz_check_status(wi_npy_convert(&npy, (weft_dtype)dtype, numbers));
        free(numbers);
    }
    free(bytes);
    return 0;
}
