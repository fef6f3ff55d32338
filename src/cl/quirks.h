/* Known faults of drivers, as a table of (platform part, device part, driver part) and what to do about them.
 */
#ifndef WI_QUIRKS_H
#define WI_QUIRKS_H

#include "cl/opened_device.h"

enum {
    WI_QUIRK_LARGE_FLAG = 1 << 0,      /* buffers above the largest need a flag, and kernels an option */
    WI_QUIRK_BINARY_LATE = 1 << 1,     /* program binary is complete only after the kernels ran */
    WI_QUIRK_NO_CLBLAST = 1 << 2,      /* CLBlast takes far too long to build here */
    WI_QUIRK_SCALAR_COMPILER = 1 << 3, /* unrolls wide vectors: large kernels of class cpu take minutes */
    WI_QUIRK_LOOSE_EDGES = 1 << 4,     /* its compiler loses the sign of zeros, and x / 0 */
    WI_QUIRK_OWN_CACHE = 1 << 5,     /* keeps compiled kernels on disk, and compiles each anew for a binary */
    WI_QUIRK_EARLY_FINISH = 1 << 6,  /* clFinish returns before what was flushed is done */
    WI_QUIRK_FEW_REGISTERS = 1 << 7, /* a work-item has registers for 32 sums, not for 64 */
    WI_QUIRK_GROUP_SIZES = 1 << 8,   /* compiles a kernel anew for each size of its groups */
    WI_QUIRK_SLOW_HEADER = 1 << 9,   /* declares all built-in functions anew for each program */
    WI_QUIRK_UNOPTIMISED_HALF = 1 << 10, /* vload_half of any address is wrong without optimisation */
    WI_QUIRK_PRIVATE_FRAGMENTS =
        1 << 11, /* keeps what attention's matrix instructions multiply in private memory */
    WI_QUIRK_TURNING_WAIT = 1 << 12, /* calls that wait turn round */
    WI_QUIRK_KERNEL_COPIES =
        1 << 13, /* compiles a kernel three times: alone, and as a part of two functions that call it */
    WI_QUIRK_SINGLE_ITEMS = 1 << 14, /* computes loops with barriers wrongly in groups of one item */
};

#define WI_OPTION_UNOPTIMISED "-cl-opt-disable"

unsigned wi_quirks_find(const weft_device_info *info);
/* Has the whole test suite passed on this driver? Then kernels are not tested anew on first use (kernels/self_test.h). */
bool wi_driver_is_proven(const weft_device_info *info);
/* Does WI_OPTION_UNOPTIMISED make this source wrong here? */
bool wi_quirks_need_optimisation(unsigned quirks, const char *source);
/* For logs and `weft check`: one line for a single bit. */
const char *wi_quirk_text(unsigned quirk);

#endif
