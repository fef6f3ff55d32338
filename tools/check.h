/* weft check: a numeric self-test of a device through the public API, and what it forgets before. */
#ifndef WEFT_CHECK_H
#define WEFT_CHECK_H

#include <stdbool.h>
#include <weft/device.h>

enum { CHECK_FORMATS = 4, CHECK_F32 = 1 };

typedef struct weft_check_options {
    const char *device;
    unsigned formats;   /* bits of weft_check_read_precision; CHECK_F32 */
    const char *only;   /* an op; NULL: all */
    bool all;           /* every recorded case instead of one an op */
    const char *report; /* a file for a bug report; NULL: none */
} weft_check_options;

/* f32, bf16, f16, f64, or all of them; false: it is none of these. */
bool weft_check_read_precision(unsigned *bits, const char *text);
/* Prints one line a case to stdout, and kernels in quarantine. Returns 0 when all cases pass, 1 when one fails, or the
 * device cannot be used, the report cannot be written, or the driver ends the process, and 2 when there is no such op. */
int weft_check(const weft_check_options *asked);
/* Forgets which kernels did not compile or failed their self-test, of all devices; prints how many the former were. */
weft_status weft_check_forget(void);

#endif
