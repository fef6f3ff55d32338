/* Reading structs of options (contract in options.h). */
#include "base/options.h"
#include <string.h>

/* struct_size is followed by at least one field, and the size of a struct with a size_t is a multiple of its alignment. */
static bool is_possible(size_t size) {
    return size >= 2 * sizeof(size_t) && size <= WI_OPTIONS_MOST && size % _Alignof(size_t) == 0;
}

weft_status wi_options_read(void *own, size_t known, const void *given, const char *call, const char *macro) {
    size_t size = known;
    memset(own, 0, known);
    if (given) {
        memcpy(&size, given, sizeof size);
        if (!is_possible(size))
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "%s: the options have struct_size %zu, expected %zu (initialise them with %s)", call, size,
                known, macro);
        const unsigned char *const bytes = given;
        for (size_t i = known; i < size; i++) {
            if (bytes[i] != 0)
                WI_FAIL(WEFT_ERROR_UNSUPPORTED,
                    "%s: an option is set that Weft %s does not know: its options struct has %zu bytes, the "
                    "caller's has %zu; use the library that matches the caller's headers",
                    call, weft_version(), known, size);
        }
        memcpy(own, given, size < known ? size : known);
    }
    memcpy(own, &known, sizeof known);
    return WEFT_OK;
}
