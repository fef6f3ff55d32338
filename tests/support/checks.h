/* cmocka with the headers that it needs before it, and assertions on statuses that print the error line. */
#ifndef CHECKS_H
#define CHECKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* cmocka's header comes after these */
#include <cmocka.h>
#include <weft/base.h>

static inline void check_status(weft_status got, weft_status wanted, const char *file, int line) {
    if (got == wanted) return;
    print_error("%s instead of %s: %s\n", weft_status_name(got), weft_status_name(wanted), weft_last_error());
    _fail(file, line);
}

static inline void check_line(const char *part, const char *file, int line) {
    if (strstr(weft_last_error(), part) && !strchr(weft_last_error(), '\n')) return;
    print_error("'%s' is not in the one line '%s'\n", part, weft_last_error());
    _fail(file, line);
}

#define assert_ok(call)             check_status((call), WEFT_OK, __FILE__, __LINE__)
#define assert_status(call, wanted) check_status((call), (wanted), __FILE__, __LINE__)
/* Asserts that the call fails with this status, and that the error line contains `part`. */
#define assert_fails(call, wanted, part)                                                                     \
    do {                                                                                                     \
        check_status((call), (wanted), __FILE__, __LINE__);                                                  \
        check_line((part), __FILE__, __LINE__);                                                              \
    } while (0)

#endif
