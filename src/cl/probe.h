/* A small kernel whose numbers say what a device can do. */
#ifndef WI_PROBE_H
#define WI_PROBE_H

#include "cl/launch.h"
#include "cl/program.h"

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

#endif
