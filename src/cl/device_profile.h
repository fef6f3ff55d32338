/* A device as the compiler of plans sees it: limits, capabilities, and constants of speed. Everything that
 * depends on the device is read from this record; nothing above asks which device it is.
 *
 * A kind of device (a class of processors) is one row of the table in device_profile.c, which says which devices it
 * fits; what is known of the device (known_devices.h) and what the driver reports is filled in. Constants are measured or tabulated, in seconds, bytes and operations
 * per second. */
#ifndef WI_DEVICE_PROFILE_H
#define WI_DEVICE_PROFILE_H

#include "cl/known_devices.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/device.h>

struct wi_capabilities;

/* How generated loops are cut into work-items (plan/select/schedule.c), and what their code prefers. Elements are those
 * of the loop's whole space. */
typedef struct wi_loop_profile {
    int64_t item_elements; /* items that walk: that make one more of them worth its start */
    /* Neighbouring items: a reduction with few results is split. */
    int64_t results;        /* so many work-items keep the device busy */
    int64_t split_elements; /* of a row that a group reduces */
    int64_t split_rounds;   /* that an item walks through, */
    int64_t least_rounds;   /* and the fewest that it is worth having for */
    int64_t splits;         /* at most */
    /* Neighbouring items: elements of one of a map, columns that an epilogue gets, whose operands are contiguous; 0: one. */
    int map_elements;
    bool narrow; /* the same: indices of 32 bits take less than those of 64 */
    /* A function of many instructions is sooner read from memory than computed twice. */
    bool stores_functions;
} wi_loop_profile;

/* What an element of an elementwise op takes of the arithmetic units, in the operations that the peak counts: a
 * multiply-add is two, and what is no multiply-add takes its place. */
typedef struct wi_operation_prices {
    int simple;   /* +, *, a comparison */
    int division; /* and remainder */
    int function; /* of elementwise.clh, and roots */
    int random;   /* a random number */
} wi_operation_prices;

typedef struct wi_device_profile {
    const char *name;               /* "cpu" */
    wi_known_level known;           /* of the most special facts; WI_KNOWN_NOT: the kind's alone */
    weft_device_class device_class; /* which family of kernels runs on it */
    /* ---- reported ---- */
    int64_t units;    /* compute units that work is cut for, at least 1 */
    size_t max_group; /* of kernels that require a size, as all larger ones do */
    size_t max_items[3];
    size_t local_bytes;
    unsigned quirks;   /* WI_QUIRK_ bits */
    unsigned engines;  /* matrix engines, WI_ENGINE_ bits */
    bool is_processor; /* which may run kernels of class gpu, too */
    bool block_reads;  /* sub-groups of 8 items read local memory together, see gpu_engines.h */
    bool async_copies; /* from global into local memory, see async_copies.h */
    bool library_gemm; /* a library's matrix products may be tried */
    bool upload_queue; /* inputs are copied beside the kernels, into a second buffer */
    /* ---- how work is shaped ---- */
    int lanes;     /* elements of a work-item's vectors: WEFT_LANES of kernels */
    int sub_group; /* work-items that run in step */
    int group;     /* work-items of a group in one-dimensional launches: WEFT_GROUP of kernels */
    /* A work-item walks along the innermost axis in vectors of `lanes` elements; otherwise neighbouring
     * work-items have neighbouring elements, and a group walks along a row that it reduces. */
    bool item_walks;
    int64_t items_a_unit; /* items that walk: so many keep a unit busy; more than one evens out */
    int hiding_groups;    /* work-groups of a unit, from which on the waits of one are hidden by the others */
    int drawing_groups; /* work-groups of a unit that draw its share of the memory's bandwidth; fewer draw less; 0: any do */
    wi_loop_profile loops;
    /* ---- speed ---- */
    double peak_f32, peak_f64, peak_f16, peak_bf16; /* operations per second of one unit */
    double issues;                                  /* instructions in the time of a multiply-add */
    double peak_engine;                             /* of a matrix engine, where there is one */
    double peak_vectors;                            /* of vector units in its place */
    wi_operation_prices prices;
    double exposed;            /* with fewer groups than that: the share of its speed that a unit reaches */
    double bandwidth;          /* bytes a second of the device's memory */
    double near_bandwidth;     /* of a unit's own cache */
    double launch_seconds;     /* of an empty kernel in a full queue */
    double read_seconds;       /* of a read on which the next one waits */
    double wake_seconds;       /* of a launch that more than one unit works on, in addition */
    double transfer_bandwidth; /* bytes per second to and from other devices */
    double transfer_seconds;   /* of beginning such a transfer */
    double runs;               /* how often a plan runs for each time that its kernels are compiled */
    size_t near_cache;         /* bytes of a unit's own cache */
    double longest_launch;     /* seconds that a launch may take; 0: it does not matter */
} wi_device_profile;

/* Work-items of a group, at least, in class gpu: kernels combine the values of a group in eights. */
enum { WI_LEAST_GROUP = 8 };

/* Operations per second of all units, on elements of so many bytes in registers. */
double wi_device_peak(const wi_device_profile *device, size_t element_bytes);
/* Floats that a unit's own cache holds. */
int64_t wi_device_near_floats(const wi_device_profile *device);

/* The kinds, in the order in which they are tried; NULL after the last. What drivers report is 0. */
const wi_device_profile *wi_device_kind(int index);
/* By its name, "cpu"; NULL: there is none. */
const wi_device_profile *wi_device_kind_named(const char *name);

/* The profile of the kind that was asked for, else of the first that fits, with what the driver reports. */
wi_device_profile wi_device_profile_of(const struct wi_capabilities *caps);

#endif
