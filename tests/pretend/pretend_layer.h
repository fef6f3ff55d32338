/* A layer of the OpenCL loader (its file is named in OPENCL_LAYERS) through which the machine's device reports the limits
 * of another one. Every buffer and every launch is held against the limits that are reported: one above them fails with
 * the error that the standard has for it, as a driver's would, and is noted. Launches are counted, and may be left out.
 *
 * PRETEND_OPENCL=groups64 chooses the device when the loader opens the layer. A program that links the library controls
 * the same copy. */
#ifndef PRETEND_LAYER_H
#define PRETEND_LAYER_H

#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>

/* A limit of 0, and a NULL, is the machine's own. */
typedef struct pretend_device {
    const char *name;
    cl_device_type type;
    const char *vendor, *platform;
    const char *reported; /* its name; NULL: "Pretended " and the name here */
    const char *board;    /* AMD's name of the board */
    cl_uint capability;   /* NVIDIA's compute capability, 80 for 8.0 */
    cl_uint ip_version;   /* Intel's version of the architecture */
    cl_uint clock;        /* MHz */
    cl_uint units;
    size_t group;     /* items of a work-group, and along each dimension */
    size_t required;  /* the same of kernels that require their size, as AMD's drivers say; 0: group */
    cl_ulong local;   /* bytes of local memory */
    cl_ulong largest; /* bytes of one buffer */
    cl_ulong global;  /* bytes of all */
    size_t parameter; /* bytes of a kernel's arguments */
    const char *extensions;
    bool eights;  /* sub-groups of 8 may be required */
    bool plain;   /* OpenCL 1.2 without any extension */
    bool flagged; /* a larger buffer needs Intel's flag, and its kernels the option */
    bool apart;   /* its memory is not the host's */
} pretend_device;

typedef struct pretend_record {
    long launches; /* that the limits allow */
    long reads, writes, fills, copies;
    long above;          /* launches and buffers above a limit; what is noted: */
    char first[256];     /* the first of them */
    size_t group;        /* the most that a launch had or asked for */
    cl_ulong local;      /* bytes */
    size_t parameter;    /* bytes */
    size_t largest;      /* bytes of a buffer that was made */
    size_t held, peak;   /* bytes of all buffers */
    long flags, options; /* buffers and builds with those */
    long waits, builds;  /* calls of clFinish and clWaitForEvents; of clBuildProgram */
    long turns;          /* of calls that wait, see pretend_layer_turn */
    long ahead;          /* writes on another queue than that of launches which nothing has waited for */
    long pinned;         /* buffers in host memory that the driver keeps in place */
} pretend_record;

/* NULL after the last. */
const pretend_device *pretend_layer_device(int index);
/* From now on; NULL: the machine's own. A context that is open keeps what it has read. false: there is no such device. */
bool pretend_layer_choose(const char *name);
/* Kernels and copies are checked and counted, but not done. What is read is as it was. */
void pretend_layer_skip(bool skip);
/* Calls that wait take so much longer. */
void pretend_layer_delay(double seconds);
/* So long from now the device is at work: events are not complete, and calls that wait turn round, as some drivers' do. */
void pretend_layer_turn(double seconds);
/* After so many more launches the device is lost: what is enqueued, waited for, made or built fails. Negative: it is there. */
void pretend_layer_lose(long launches);
/* Zeroes the record, but for what is held. */
void pretend_layer_begin(void);
pretend_record pretend_layer_record(void);
/* Whether the loader opened the library. */
bool pretend_layer_present(void);

#endif
