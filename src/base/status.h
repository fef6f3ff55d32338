/* The last error of a thread, and how errors travel.
 *
 * The lowest function that notices a failure writes the line with WI_FAIL and returns its code; everyone
 * above passes the code up with WI_TRY and adds nothing. The line is thread-local. */
#ifndef WI_STATUS_H
#define WI_STATUS_H

#include <weft/base.h>

#if defined(__GNUC__)
#define WI_PRINTF(position, first) __attribute__((format(printf, position, first)))
#else
#define WI_PRINTF(position, first)
#endif

/* Records the line (newlines become spaces, cut at about 2,000 bytes) and returns status. */
weft_status wi_fail(weft_status status, const char *format, ...) WI_PRINTF(2, 3);

/* Bytes of the thread's line. */
enum { WI_ERROR_LINE = 2048 };

/* Keeps an error line beyond later calls: a copy in buffer (capacity bytes), and back. */
void wi_error_save(char *buffer, size_t capacity);
void wi_error_restore(const char *line);
/* Adds to the thread's line where what it tells happened. */
void wi_error_add(const char *place);

/* What made tensors NULL: an error of a graph (its owner), as the thread's line tells it. A call that is given a NULL tensor
 * cannot ask its graph, and tells this. Forgotten when the owner ends, or is as it was before the error. */
void wi_cause_note(const void *owner);
void wi_cause_forget(const void *owner);
/* WEFT_ERROR_ARGUMENT: "CALL: WHAT is NULL", and why, where it is known. */
weft_status wi_fail_null(const char *call, const char *what);

/* Is it a lack of memory, of the host, the device or a limit? It may pass. */
bool wi_is_lack_of_memory(weft_status status);

#define WI_FAIL(code, ...) return wi_fail(code, __VA_ARGS__)
#define WI_TRY(call)                                                                                         \
    do {                                                                                                     \
        weft_status wi_try_status_ = (call);                                                                 \
        if (wi_try_status_ != WEFT_OK) return wi_try_status_;                                                \
    } while (0)
/* For functions with cleanup: needs a variable `weft_status status` and a label `done`. */
#define WI_TRY_DONE(call)                                                                                    \
    do {                                                                                                     \
        if ((status = (call)) != WEFT_OK) goto done;                                                         \
    } while (0)
#define WI_FAIL_DONE(code, ...)                                                                              \
    do {                                                                                                     \
        status = wi_fail(code, __VA_ARGS__);                                                                 \
        goto done;                                                                                           \
    } while (0)

#endif
