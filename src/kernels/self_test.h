/* The self-test of kernels: on its first use on a device and driver, an implementation of a contraction computes a
 * small case (contraction_case.h), one of attention, of a recurrent scan or of the gradient of either another (kernel_op_case.h), which is
 * compared with the host's result. What is wrong or fails is in quarantine from then on (cl/findings.h), and another serves.
 *
 * A driver on which the whole test suite has passed (cl/quirks.h) is trusted: a kernel that was changed by
 * $WEFT_KERNEL_DIR is tested there, too. $WEFT_SELF_TEST=1 tests on every driver, as `weft check` does, 0 on none.
 *
 * A finding is for an implementation in a variant, an op, the formats, and the text of the kernel's file; of attention and scans for
 * all that is compiled, macros and headers included. Sums of f64, libraries (which the tuner compares at the site itself), kernels
 * that the environment forces, and ops that have one kernel for a device are not tested. */
#ifndef WI_SELF_TEST_H
#define WI_SELF_TEST_H

#include "kernels/implementation.h"

enum { WI_SELF_TEST_NAME = 160 };

/* Is it in quarantine? Tests it, if that was not done, unless the driver is trusted. Logs a fault once. The thread's error stays what
 * it was. */
bool wi_is_in_quarantine(wi_device *device, const wi_implementation *implementation,
    const wi_variant *variant, const wi_op *op, const wi_kernel_site *site);
/* The same on every driver, unless the environment says 0: of what is chosen by a file, and of what the tuner tries. */
bool wi_self_test_fails(wi_device *device, const wi_implementation *implementation, const wi_variant *variant,
    const wi_op *op, const wi_kernel_site *site);

/* "matmul by gpu_tiled/large in f32, f32, multiplied in f32 (1bc5423b)", "recurrent of lstm by ...", "attention of heads of 64 by ...":
 * the name of a finding; the number is of the kernel's text. false: that cannot be read. */
bool wi_self_test_name(char name[WI_SELF_TEST_NAME], const wi_device *device,
    const wi_implementation *implementation, const wi_variant *variant, const wi_op *op,
    const wi_kernel_site *site);

#endif
