/* How structs of options are read: one rule for all of them, which docs/errors.md tells users.
 *
 * A struct of options begins with struct_size, by which the caller says how much of it there is. Known fields
 * are copied; those that an older header lacks are zero, which is their default. Fields that only a newer
 * header has must be zero. A size that no header has is refused before anything else is read. */
#ifndef WI_OPTIONS_H
#define WI_OPTIONS_H

#include "base/status.h"

/* No struct of options is larger, nor will be: a bound for what a wrong struct_size makes Weft read. */
enum { WI_OPTIONS_MOST = 1024 };

/* Fills own (`known` bytes). given NULL: all defaults. call and macro ("WEFT_PLAN_OPTIONS_INIT") are for the
 * error line. */
weft_status wi_options_read(void *own, size_t known, const void *given, const char *call, const char *macro);

/* The same for a pointer to the struct and its _INIT macro by name. */
#define WI_OPTIONS(own, given, call, init)                                                                   \
    wi_options_read((own), sizeof *(own) + 0 * sizeof((own) == (given)), (given), (call), #init)

/* A field's number: 0 is its default, WEFT_ZERO is 0. */
#define WI_OPTION(value, otherwise) ((value) == 0 ? (otherwise) : (value) == WEFT_ZERO ? 0 : (value))

#endif
