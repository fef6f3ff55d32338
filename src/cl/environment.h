/* What the environment says: switches, which are variables whose values are names, and numbers that a program's options leave open.
 * A value that is not allowed is an error of weft_context_create, before any device is opened. */
#ifndef WI_ENVIRONMENT_H
#define WI_ENVIRONMENT_H

#include <stdbool.h>
#include <weft/device.h>

typedef enum wi_switch {
    WI_SWITCH_MATRIX_ENGINES,
    WI_SWITCH_SUB_GROUPS,
    WI_SWITCH_ASYNC_COPIES,
    WI_SWITCH_SELF_TEST,
    WI_SWITCH_UPLOAD_QUEUE,
    WI_SWITCH_WAIT,
    WI_SWITCH_VERIFY,
    WI_SWITCHES
} wi_switch;

/* "WEFT_WAIT". */
const char *wi_switch_name(wi_switch which);
/* The i-th value that is allowed; NULL: there are fewer. */
const char *wi_switch_allowed(wi_switch which, int i);
/* The value that the variable has; NULL: it is not set, or to none that is allowed, since the context was made. */
const char *wi_switch_value(wi_switch which);
/* Has it this value? */
bool wi_switch_is(wi_switch which, const char *value);

/* Variables of the environment are read, and options that are 0 set to what they say. WEFT_ERROR_ARGUMENT for an option or a variable
 * out of its range, with a line that names it, its value, and what is allowed. */
weft_status wi_environment_read(weft_context_options *options);

#endif
