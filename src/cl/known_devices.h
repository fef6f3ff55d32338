/* What is known of devices before anything is measured on them: the one table of it, for the library and for `weft advise`.
 *
 * A row says which devices it is of and what is known of those. The facts of a device are those of all rows that fit it, a fact from
 * the first row that has it; rows of single devices come first, then those of architectures, then those of vendors. What none
 * of them knows is of the kind of device (device_profile.h). Only GPUs have rows. */
#ifndef WI_KNOWN_DEVICES_H
#define WI_KNOWN_DEVICES_H

#include <stddef.h>

struct wi_capabilities;
struct wi_device;

typedef enum wi_known_level {
    WI_KNOWN_DEVICE,       /* words of the device's or the board's name, in any case */
    WI_KNOWN_ARCHITECTURE, /* how its name begins, see wi_capabilities */
    WI_KNOWN_VENDOR,       /* a part of the vendor's name, in any case */
    WI_KNOWN_NOT,          /* by no row */
} wi_known_level;

/* A compute unit is one with local memory and about 128 lanes. 0: not known. */
typedef struct wi_known_facts {
    double units;     /* of the whole device: multiprocessors, pairs of RDNA's compute units, Xe-cores */
    double teraflops; /* of the whole device: operations of f32 a second without matrix engines, / 1e12 */
    double gigabytes_second; /* of its memory, / 1e9 */
    double gibibytes;        /* of memory */
    double parts;            /* of what the driver counts, that are one compute unit */
    double lanes;            /* f32 multiply-adds of a compute unit in a clock */
    double issues; /* instructions that a compute unit issues in the time of a multiply-add of all lanes */
    /* Of memory, a second and for each compute unit, / 1e9: as devices of the architecture have it. */
    double unit_gigabytes;
    double near_bytes; /* of the second cache, a clock and for each compute unit */
    double f64;        /* rate of f64, of f32's */
    double engine;     /* rate of 16-bit numbers on the matrix engine, of f32's: dense, with sums of f32 */
    double no_display; /* 1: there is no output for a display, so that nobody waits for a picture */
    double group;      /* work-items of a group that kernels may require */
    double local_kibibytes; /* of local memory, the same */
    double few_registers;   /* 1: WI_QUIRK_FEW_REGISTERS */
} wi_known_facts;

typedef struct wi_known_device {
    wi_known_level level;
    const char *part; /* of the name that the level says */
    const char
        *title; /* as its maker calls it: `weft advise` expects what it would take; NULL: it does not */
    const char *architecture; /* of a device with a title */
    const char *source;       /* of the facts */
    wi_known_facts facts;
} wi_known_device;

/* The rows, in the order in which they are tried; NULL after the last. */
const wi_known_device *wi_known_device_row(int index);

/* All facts of a device; level: of the most special row that fits. */
wi_known_facts wi_known_facts_of(const struct wi_capabilities *caps, wi_known_level *level);
/* What the driver of a device with a title would report. */
struct wi_capabilities wi_known_capabilities(const wi_known_device *known);
/* Plans that are made from now on are chosen and estimated as for this device, with its limits, and with kernels that any compiler takes:
 * no matrix engines, asynchronous copies or block reads, and no library. For predictions, on a device of class gpu. */
void wi_device_estimate_as_known(struct wi_device *device, const wi_known_device *known);

#endif
