/* Small kernels whose numbers say what a device can do, and the answers, which are kept among the values of the device (device_values.h): an answer is of a device,
 * its driver, and the text of what was tried. */
#ifndef WI_PROBE_H
#define WI_PROBE_H

#include "cl/launch.h"
#include "cl/program.h"
#include <stdbool.h>

/* Its arguments are two buffers; the second is all results. */
typedef struct wi_probe {
    const char *kernel;
    const void *inputs;
    size_t input_bytes;
    void *results; /* from the device */
    size_t result_bytes;
    size_t items, group; /* of one dimension */
} wi_probe;

/* A program of its own: common.clh, a kernel file if it has one, and text. wi_program_forget ends it. */
weft_status wi_probe_program(
    wi_program **program, wi_device *device, const char *name, const char *file, const char *text);
/* Compiles nothing, and waits. In buffers of its own, outside pool and limit: a context with the tightest limit can still be
 * opened. */
weft_status wi_probe_run(const wi_probe *probe, wi_device *device, wi_program *program);

/* ---- answers ---- */

/* What a trial finds out: whether what it tries is right. */
typedef struct wi_question {
    const char *name; /* no other has it */
    const char *unused,
        *fault; /* of a wrong answer the log says "UNUSED: FAULT", or why there are no numbers */
    const char *const *headers; /* kernel files before `file`, ends with NULL; NULL: none */
    const char *file, *text;    /* of what is tried, for the key; NULL: none */
    weft_status (*answer)(bool *right, wi_device *device, const void *user);
    const void *user;
} wi_question;

/* Asked once for a device, its driver and the text: another text is tried anew, and so is what no memory was left for, a build that was
 * interrupted, and a device that failed. Logs why the answer is no. An error, for which *right is false, is running out of memory. */
weft_status wi_probe_ask(bool *right, wi_device *device, const wi_question *question);
/* The same; running out of memory is a no. The thread's error stays what it was. */
bool wi_probe_passes(wi_device *device, const wi_question *question);

enum { WI_PROBE_NAME = 256 };
/* The name of an answer among them. */
void wi_probe_name(char name[WI_PROBE_NAME], const char *question, const char *text);

#endif
