/* Whether this process has lost the OpenCL driver by fork() (contract in process.h). */
#include "base/process.h"

#include <pthread.h>
#include <stdatomic.h>

bool wi_process_driver_is_lost;

static atomic_bool watched;

static void in_child(void) {
    wi_process_driver_is_lost = true;
}

weft_status wi_process_check_driver(void) {
    if (!wi_process_driver_is_lost) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_STATE, "this process was forked after its parent had used OpenCL, whose driver does "
                              "not work in a forked child: use Weft only in the parent, or fork before the "
                              "first context or list of devices, or call exec in the child");
}

/* Two threads may both register the handler, which may run twice. A lock would prevent that, but a child might find it
 * locked. */
weft_status wi_process_begin_driver(void) {
    WI_TRY(wi_process_check_driver());
    if (atomic_load(&watched)) return WEFT_OK;
    const int error = pthread_atfork(NULL, NULL, in_child);
    if (error != 0)
        WI_FAIL(WEFT_ERROR_MEMORY, "cannot register a fork handler with pthread_atfork: error %d", error);
    atomic_store(&watched, true);
    return WEFT_OK;
}
