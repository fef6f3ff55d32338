/* Quirks: known faults and habits of drivers that Weft works around. A row of the table in quirks.c applies to a device
 * if its platform, name and driver version contain the row's texts. */
#ifndef WI_QUIRKS_H
#define WI_QUIRKS_H

#include "cl/opened_device.h"

enum {
    WI_QUIRK_LARGE_FLAG = 1 << 0,        /* large buffers need a flag, and their kernels a build option */
    WI_QUIRK_BINARY_LATE = 1 << 1,       /* a program's binary is complete only after its kernels have run */
    WI_QUIRK_NO_CLBLAST = 1 << 2,        /* building CLBlast takes far too long */
    WI_QUIRK_SCALAR_COMPILER = 1 << 3,   /* splits wide vectors: large cpu kernels compile for minutes */
    WI_QUIRK_LOOSE_EDGES = 1 << 4,       /* ignores the sign of zeros; x / 0 is not infinity */
    WI_QUIRK_OWN_CACHE = 1 << 5,         /* keeps compiled kernels itself, and compiles again for a binary */
    WI_QUIRK_EARLY_FINISH = 1 << 6,      /* clFinish returns before flushed work has finished */
    WI_QUIRK_FEW_REGISTERS = 1 << 7,     /* a work-item has registers for 32 sums, not for 64 */
    WI_QUIRK_GROUP_SIZES = 1 << 8,       /* compiles a kernel again for each work-group size */
    WI_QUIRK_SLOW_HEADER = 1 << 9,       /* parses declarations of all built-in functions for each program */
    WI_QUIRK_UNOPTIMISED_HALF = 1 << 10, /* vload_half of unaligned addresses is wrong without optimisation */
    WI_QUIRK_PRIVATE_FRAGMENTS =
        1 << 11,                     /* keeps operands of attention's matrix instructions in private memory */
    WI_QUIRK_TURNING_WAIT = 1 << 12, /* blocking calls busy-wait */
    WI_QUIRK_KERNEL_COPIES =
        1 << 13, /* compiles each kernel three times: alone, and inlined in two functions */
    WI_QUIRK_SINGLE_ITEMS = 1 << 14, /* computes loops with barriers wrongly in groups of one item */
    WI_QUIRK_TWO_OPTIMISERS =
        1 << 15, /* optimises a whole program when it is built, and each kernel again when it is compiled */
};

#define WI_OPTION_UNOPTIMISED "-cl-opt-disable"

/* The WI_QUIRK_ bits of all rows that apply to the device. */
unsigned wi_quirks_find(const weft_device_info *info);
/* Whether the whole test suite passes on this driver; its kernels are then not self-tested at their first use
 * (kernels/self_test.h). */
bool wi_driver_is_proven(const weft_device_info *info);
/* Whether this source would be compiled wrongly with WI_OPTION_UNOPTIMISED. */
bool wi_quirks_need_optimisation(unsigned quirks, const char *source);
/* A description of one WI_QUIRK_ bit in one line, for logs and `weft check`. */
const char *wi_quirk_text(unsigned quirk);

#endif
