/* Reading structs of options; docs/errors.md describes the rules to users.
 *
 * The first field of a struct of options is struct_size, the size of the struct in the caller's header. Fields that the
 * caller's header lacks because it is older get 0, their default. Bytes after the fields that this library knows must
 * be 0, otherwise the call is WEFT_ERROR_UNSUPPORTED. A struct_size that no header has is WEFT_ERROR_ARGUMENT, and
 * nothing else is read. */
#ifndef WI_OPTIONS_H
#define WI_OPTIONS_H

#include "base/status.h"

/* The largest allowed struct_size: limits how much memory Weft reads if the caller did not set struct_size. */
enum { WI_OPTIONS_MOST = 1024 };

/* Copies *given (NULL: all defaults) to *own, a struct of `known` bytes. call and macro ("WEFT_PLAN_OPTIONS_INIT") are
 * for the error message. */
weft_status wi_options_read(void *own, size_t known, const void *given, const char *call, const char *macro);

/* As wi_options_read, for pointers to structs of the same type and the name of the _INIT macro. */
#define WI_OPTIONS(own, given, call, init)                                                                   \
    wi_options_read((own), sizeof *(own) + 0 * sizeof((own) == (given)), (given), (call), #init)

/* The value of a number field: `otherwise` if the field is 0, and 0 if it is WEFT_ZERO. */
#define WI_OPTION(value, otherwise) ((value) == 0 ? (otherwise) : (value) == WEFT_ZERO ? 0 : (value))

#endif
