/* Errors of files, and names of temporary files (contract in file_target.h). */
#include "base/file_target.h"
#include "base/system_file.h"

#include <string.h>

weft_status wi_file_fail(const char *doing, const char *path, int error) {
    char reason[128] = "";
    wi_error_text(error, reason, sizeof reason);
    return wi_fail(WEFT_ERROR_FILE, "cannot %s '%s': %s", doing, path, reason);
}

/* Steps back from `end` over a decimal number. Returns the character before the number; NULL: there is no number, or
 * the name begins with it. */
static const char *before_number(const char *name, const char *end) {
    const char *at = end;
    while (at > name && at[-1] >= '0' && at[-1] <= '9') at--;
    return at < end && at > name ? at - 1 : NULL;
}

bool wi_file_is_temporary(const char *name) {
    static const char ending[] = ".tmp";
    const size_t length = strlen(name);
    if (length < sizeof ending || strcmp(name + length - (sizeof ending - 1), ending) != 0) return false;
    const char *at = name + length - (sizeof ending - 1);
    for (int i = 0; i < 3; i++) {
        at = before_number(name, at);
        if (!at || *at != (i == 2 ? '.' : '-')) return false;
    }
    return at > name;
}
