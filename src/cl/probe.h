/* Probes: small kernels whose results show what a device can do. Their answers are kept among the values of the device
 * (device_values.h), for the device, its driver and the source that was tried. */
#ifndef WI_PROBE_H
#define WI_PROBE_H

#include "cl/launch.h"
#include "cl/program.h"
#include <stdbool.h>

/* A kernel with two buffers as arguments, inputs and results; the kernel writes all results. */
typedef struct wi_probe {
    const char *kernel;
    const void *inputs;
    size_t input_bytes;
    void *results; /* the host's copy, which wi_probe_run fills */
    size_t result_bytes;
    size_t items, group; /* of the one-dimensional launch */
} wi_probe;

/* Builds a program of common.clh, the kernel file `file` and `text`; both may be NULL. The caller ends it with
 * wi_program_forget. */
weft_status wi_probe_program(
    wi_program **program, wi_device *device, const char *name, const char *file, const char *text);
/* Runs the kernel of a built program and waits. Its buffers do not count towards the memory limit, so that a context
 * with a small limit can be opened. Errors: those of launches and buffers. */
weft_status wi_probe_run(const wi_probe *probe, wi_device *device, wi_program *program);

/* ---- questions ---- */

/* A question about a device: does something compute right? The function `answer` tries it and sets *right. */
typedef struct wi_question {
    const char *name; /* unique among all questions */
    const char *unused,
        *fault; /* of the log line "UNUSED: FAULT" for a wrong result; after an error the message replaces FAULT */
    const char *const *headers; /* kernel files that precede `file`, then NULL; NULL: none */
    const char *file, *text;    /* the source that is tried, which is part of the key; NULL: none */
    weft_status (*answer)(bool *right, wi_device *device, const void *user);
    const void *user;
} wi_question;

/* *right: whether it computes right. Asks once for a device, driver and source and remembers the answer; the log says
 * why an answer is no. After lack of memory the next call asks again; after an interrupted build or a failure of the
 * device, the next context does. Lack of memory is the only error; *right is then false. */
weft_status wi_probe_ask(bool *right, wi_device *device, const wi_question *question);
/* Returns the answer of wi_probe_ask; lack of memory counts as no. The thread's error message does not change. */
bool wi_probe_passes(wi_device *device, const wi_question *question);

enum { WI_PROBE_NAME = 256 };
/* The name of an answer among the values of the device, for a question's name and its source. */
void wi_probe_name(char name[WI_PROBE_NAME], const char *question, const char *text);

#endif
