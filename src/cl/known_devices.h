/* The table of what is known about GPUs before anything is measured on them; the library and `weft advise` use it.
 *
 * Each row says which devices it fits, and facts about them. A device gets each fact from the first row that fits and
 * has the fact. Rows of single devices come first, then rows of architectures, then rows of vendors. The kind of device
 * (device_profile.h) has the facts that no row has. Other devices than GPUs have no rows. */
#ifndef WI_KNOWN_DEVICES_H
#define WI_KNOWN_DEVICES_H

#include <stddef.h>

struct wi_capabilities;
struct wi_device;

typedef enum wi_known_level {
    WI_KNOWN_DEVICE,       /* `part` is words of the device's or board's name, in any case */
    WI_KNOWN_ARCHITECTURE, /* wi_capabilities.architecture begins with `part` */
    WI_KNOWN_VENDOR,       /* `part` is words of the vendor's name, in any case */
    WI_KNOWN_NOT,          /* no row fits */
} wi_known_level;

/* Facts about a device; 0: not known. A compute unit here has its own local memory and about 128 lanes. */
typedef struct wi_known_facts {
    /* Compute units of the whole device: multiprocessors, pairs of RDNA's compute units, Xe-cores. */
    double units;
    double teraflops;        /* f32 TFLOP/s of the whole device, without matrix engines */
    double gigabytes_second; /* GB/s (1e9 bytes) of the device's memory */
    double gibibytes;        /* size of the device's memory */
    double parts;            /* units of the driver's count that are one compute unit; 0: one */
    double lanes;            /* f32 multiply-adds of a compute unit in a clock cycle */
    /* Instructions that a compute unit issues in the time of a multiply-add of all lanes. */
    double issues;
    /* GB/s of memory bandwidth for each compute unit, as is usual for the architecture. */
    double unit_gigabytes;
    double near_bytes; /* bytes of the second-level cache that a compute unit reads in a clock cycle */
    double f64;        /* rate of f64, relative to f32 */
    double engine;     /* rate of dense 16-bit products on matrix engines with sums of f32, relative to f32 */
    double no_display; /* 1: the device has no output for a display, so that long launches delay no picture */
    double group;      /* the largest work-group that kernels may require, in work-items */
    double local_kibibytes; /* local memory that a work-group may use */
    double few_registers;   /* 1: the device has the quirk WI_QUIRK_FEW_REGISTERS */
} wi_known_facts;

typedef struct wi_known_device {
    wi_known_level level;
    const char *part;         /* compared with the name that the level says */
    const char *title;        /* the maker's name, in `weft advise`, which predicts times; NULL: none */
    const char *architecture; /* of a device with a title; as in wi_capabilities */
    const char *source;       /* the document with the figures, if there is a title */
    wi_known_facts facts;
} wi_known_device;

/* A row of the table, in the order of the search; NULL after the last. */
const wi_known_device *wi_known_device_row(int index);

/* All facts about a device. *level: that of the first row that fits, the most specific one. */
wi_known_facts wi_known_facts_of(const struct wi_capabilities *caps, wi_known_level *level);
/* The capabilities that the driver of a device with a title would report. */
struct wi_capabilities wi_known_capabilities(const wi_known_device *known);
/* For predictions: the planner's choices and estimates for later plans assume the known device and its limits, without features that
 * only certain compilers accept: matrix engines, asynchronous copies, block reads, CLBlast. `device` has class gpu. */
void wi_device_estimate_as_known(struct wi_device *device, const wi_known_device *known);

#endif
