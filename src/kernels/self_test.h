/* The self-test of kernels. When an implementation is first used on a device and driver, it computes a small case, whose result
 * is compared with the host's (contraction_case.h, kernel_op_case.h). A kernel that fails or computes wrong numbers is in
 * quarantine from then on (cl/findings.h), and another kernel serves.
 *
 * Drivers on which the whole test suite has passed (cl/quirks.h) are trusted, except with kernels that $WEFT_KERNEL_DIR replaces.
 * $WEFT_SELF_TEST=1 tests on every driver, as `weft check` does; 0 tests nothing.
 *
 * A finding is about a variant, an op, formats, and the text of the kernel's file; of attention and recurrent scans about all
 * text that is compiled, with macros and headers. Not tested are sums in f64, libraries (the tuner compares their results at the
 * site), kernels that the environment forces, and ops for which a device has only one kernel. */
#ifndef WI_SELF_TEST_H
#define WI_SELF_TEST_H

#include "kernels/implementation.h"

enum { WI_SELF_TEST_NAME = 160 };

/* Is the kernel in quarantine? Tests it first, if it was not tested yet and the driver is not trusted. A fault is logged once.
 * The thread's last error is unchanged. */
bool wi_is_in_quarantine(wi_device *device, const wi_implementation *implementation,
    const wi_variant *variant, const wi_op *op, const wi_kernel_site *site);
/* Like wi_is_in_quarantine, but tests on trusted drivers, too. For kernels that a tuning file names or that the tuner tries. */
bool wi_self_test_fails(wi_device *device, const wi_implementation *implementation, const wi_variant *variant,
    const wi_op *op, const wi_kernel_site *site);

/* The name of a finding: "matmul by gpu_tiled/large in f32, f32, multiplied in f32 (1bc5423b)", "recurrent of lstm by ...",
 * "attention of heads of 64 by ...". The number is a hash of the kernel's text. Returns false if the text cannot be read. */
bool wi_self_test_name(char name[WI_SELF_TEST_NAME], const wi_device *device,
    const wi_implementation *implementation, const wi_variant *variant, const wi_op *op,
    const wi_kernel_site *site);

#endif
