/* A device profile: the limits, capabilities and speeds of a device. The planner reads everything that depends on the
 * device from this record, and never asks which device it is.
 *
 * A profile begins as a copy of a *kind of device*, a row of the table in device_profile.c. Facts of known_devices.c
 * and what the driver reports then replace fields. Constants are measured or from data sheets. Units: seconds, bytes,
 * operations per second; a multiply-add is two operations. */
#ifndef WI_DEVICE_PROFILE_H
#define WI_DEVICE_PROFILE_H

#include "cl/known_devices.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/device.h>

struct wi_capabilities;

/* How the work of generated loops is divided among work-items (plan/select/schedule.c), and what their code prefers.
 * "Elements" are those of the loop's whole space. The fields from `results` to `narrow` are for devices whose items do
 * not walk (wi_device_profile.item_walks). */
typedef struct wi_loop_profile {
    int64_t item_elements; /* items that walk: elements for which one more item is worth starting */
    /* Reductions with few results are split: */
    int64_t results;        /* results whose items keep the device busy without a split */
    int64_t split_elements; /* elements of a row for each of its splits; a group reduces a split */
    int64_t split_rounds;   /* elements of a column for each of its splits; an item reduces a split */
    int64_t least_rounds;   /* the fewest elements of such a split, if the last group joins the splits */
    int64_t splits;         /* the most splits of a reduction */
    /* Neighbouring elements that an item of a map computes, and columns of an item's epilogue, if operands are
     * contiguous. 0: one. */
    int map_elements;
    bool narrow; /* indices of 32 bits are faster than those of 64 bits */
    /* Later sweeps read results of functions with many instructions from memory instead of computing them again. */
    bool stores_functions;
} wi_loop_profile;

/* The operations of the peak that an element of an elementwise op costs. An instruction that is not a multiply-add takes
 * the time of one, which is two operations. */
typedef struct wi_operation_prices {
    int simple;   /* +, *, a comparison */
    int division; /* also a remainder */
    int function; /* of elementwise.clh; also roots */
    int random;   /* drawing one random number */
} wi_operation_prices;

typedef struct wi_device_profile {
    const char *name;               /* of the kind, such as "cpu" */
    wi_known_level known;           /* level of the known facts; WI_KNOWN_NOT: there are none */
    weft_device_class device_class; /* which kernels run on the device */
    /* ---- reported ---- */
    int64_t units;    /* compute units for which work is divided, at least 1 */
    size_t max_group; /* the largest work-group that kernels may require */
    size_t max_items[3];
    size_t local_bytes;
    unsigned quirks;   /* WI_QUIRK_ bits */
    unsigned engines;  /* matrix engines, WI_ENGINE_ bits */
    bool is_processor; /* not a GPU; may run kernels of class gpu, too */
    bool block_reads;  /* sub-groups of 8 items can read local memory together (gpu_engines.h) */
    bool async_copies; /* kernels can copy asynchronously to local memory (async_copies.h) */
    bool library_gemm; /* matrix products of CLBlast may be used */
    bool upload_queue; /* inputs are copied on a second queue, to a second buffer (uploads.h) */
    /* ---- how work is shaped ---- */
    int lanes;     /* elements of an item's vectors: WEFT_LANES */
    int sub_group; /* work-items that run in lockstep */
    int group;     /* work-items of a one-dimensional group: WEFT_GROUP */
    /* true: each item walks along the innermost axis in vectors of `lanes` elements. false: neighbouring items have
     * neighbouring elements, and a group walks along the row that it reduces. */
    bool item_walks;
    int64_t items_a_unit; /* items that walk: the most for each unit; more than one balances the load */
    int hiding_groups;    /* groups of a unit that hide each other's waits for memory; see exposed */
    /* Groups of a unit that together use its share of the bandwidth; fewer use proportionally less. 0: one is enough. */
    int drawing_groups;
    wi_loop_profile loops;
    /* ---- speed ---- */
    double peak_f32, peak_f64, peak_f16, peak_bf16; /* operations a second of one unit */
    double issues;       /* instructions that a unit issues in the time of a multiply-add */
    double peak_engine;  /* operations a second of a unit's matrix engine */
    double peak_vectors; /* operations a second of AVX-512 BF16, which can replace AMX */
    wi_operation_prices prices;
    double exposed;   /* fraction of its speed that a unit with fewer than hiding_groups groups reaches */
    double bandwidth; /* bytes a second of the device's memory */
    double near_bandwidth;     /* bytes a second of a unit's cache */
    double launch_seconds;     /* time of an empty kernel in a full queue */
    double read_seconds;       /* time of a read whose address depends on the read before */
    double wake_seconds;       /* added to the time of a launch that uses several units */
    double transfer_bandwidth; /* bytes a second to and from other devices */
    double transfer_seconds;   /* time to start such a transfer */
    double runs;               /* runs of a plan over which estimates spread the compilation of its kernels */
    size_t near_cache;         /* bytes of a unit's cache */
    double longest_launch;     /* seconds; longer launches are divided into portions; 0: no limit */
} wi_device_profile;

/* The fewest work-items of a group in class gpu, whose kernels combine the values of eight items at a time. */
enum { WI_LEAST_GROUP = 8 };

/* Operations per second of all units, for elements that have element_bytes in registers. */
double wi_device_peak(const wi_device_profile *device, size_t element_bytes);
/* The number of floats that fit in a unit's cache. */
int64_t wi_device_near_floats(const wi_device_profile *device);

/* A row of the table of kinds, NULL after the last. Fields that drivers report are 0. */
const wi_device_profile *wi_device_kind(int index);
/* The kind with this name, such as "cpu"; NULL: none. */
const wi_device_profile *wi_device_kind_named(const char *name);

/* The profile of a device: caps->kind if it is set, otherwise the first kind that fits, with known and reported facts. */
wi_device_profile wi_device_profile_of(const struct wi_capabilities *caps);

#endif
