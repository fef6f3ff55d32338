/* Environment variables: *switches*, whose values are a few fixed words, and numbers that replace options which the
 * program leaves at 0. A wrong value is an error of weft_context_create, before a device is opened. */
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

/* The variable's name, such as "WEFT_WAIT". */
const char *wi_switch_name(wi_switch which);
/* The i-th allowed value; NULL: there are fewer values. */
const char *wi_switch_allowed(wi_switch which, int i);
/* The current value of the variable. NULL: it is not set, or was set to a wrong value after the context had been
 * created. */
const char *wi_switch_value(wi_switch which);
/* Whether the variable has this value. */
bool wi_switch_is(wi_switch which, const char *value);

/* Checks all variables, and sets options that are 0 or NULL by them. WEFT_ERROR_ARGUMENT if an option or variable is
 * out of range; the message has its name, value and range. */
weft_status wi_environment_read(weft_context_options *options);

#endif
