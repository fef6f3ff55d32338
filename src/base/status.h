/* The error message of a thread, and how errors are passed up.
 *
 * The function that detects an error records the message with WI_FAIL and returns a status. Its callers pass the status
 * up with WI_TRY and add nothing. Each thread has one message, that of its last error. */
#ifndef WI_STATUS_H
#define WI_STATUS_H

#include <weft/base.h>

#if defined(__MINGW32__)
#define WI_PRINTF(position, first) __attribute__((format(gnu_printf, position, first)))
#elif defined(__GNUC__)
#define WI_PRINTF(position, first) __attribute__((format(printf, position, first)))
#else
#define WI_PRINTF(position, first)
#endif

/* Records the message in one line of less than WI_ERROR_LINE bytes (line breaks become spaces) and returns status. */
weft_status wi_fail(weft_status status, const char *format, ...) WI_PRINTF(2, 3);

/* the capacity of a message in bytes */
enum { WI_ERROR_LINE = 2048 };

/* Copies the thread's message to a buffer of `capacity` bytes, or replaces the message by a copy. */
void wi_error_save(char *buffer, size_t capacity);
void wi_error_restore(const char *line);
/* Appends `place`, where the error happened, to the thread's message, unless the message contains it. */
void wi_error_add(const char *place);

/* Remembers the thread's message as the error of a graph, the owner: from then on, functions that create tensors of
 * this graph return NULL. A function that is given a NULL tensor does not know its graph; wi_fail_null therefore adds
 * the remembered message. The graph forgets it when it is released, or restored to its state before the error. */
void wi_cause_note(const void *owner);
void wi_cause_forget(const void *owner);
/* WEFT_ERROR_ARGUMENT with the message "CALL: WHAT is NULL", and the remembered error of a graph if there is one. */
weft_status wi_fail_null(const char *call, const char *what);

/* Whether host memory, device memory or a memory limit did not suffice; a later call may succeed. */
bool wi_is_lack_of_memory(weft_status status);

#define WI_FAIL(code, ...) return wi_fail(code, __VA_ARGS__)
#define WI_TRY(call)                                                                                         \
    do {                                                                                                     \
        weft_status wi_try_status_ = (call);                                                                 \
        if (wi_try_status_ != WEFT_OK) return wi_try_status_;                                                \
    } while (0)
/* WI_TRY and WI_FAIL for functions that clean up: these need a variable `weft_status status` and a label `done`. */
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
