/* See trial.h. */
#include "cl/trial.h"
#include "cl/capabilities.h"
#include "cl/device_list.h"
#include "cl/driver.h"
#include "cl/launch.h"
#include "cl/pending.h"
#include "cl/waiting.h"
#include <math.h>

/* Seconds at most for something small, which tells whether the device computes. */
static const double longest_check = 30.0;

weft_status wi_trial_begin(wi_device *device, double seconds) {
    cl_int error = CL_SUCCESS;
    wi_driver_lock();
    cl_command_queue const queue = clCreateCommandQueue(device->cl, device->id, 0, &error);
    wi_driver_unlock();
    WI_TRY(wi_cl_check(error, "creating a queue for a trial"));
    device->trial = (wi_device_trial){.usual = device->queue, .limit = seconds};
    device->queue = queue;
    return WEFT_OK;
}

void wi_trial_believe(wi_device *device) {
    device->trial.limit = 0.0;
}

/* Where the probe does not end either, the mark that something hangs stays. What else may be wrong with it, later calls say. */
static void check_that_it_computes(wi_device *device, double seconds) {
    char error[WI_ERROR_LINE];
    wi_error_save(error, sizeof error);
    device->trial = (wi_device_trial){.limit = seconds};
    (void)wi_capabilities_check(device);
    device->trial.limit = 0.0;
    wi_error_restore(error);
}

bool wi_trial_end(wi_device *device, double seconds) {
    cl_command_queue const own = device->queue;
    const bool hung = device->trial.hangs;
    device->queue = device->trial.usual;
    device->trial = (wi_device_trial){0};
    wi_driver_lock();
    clReleaseCommandQueue(own);
    wi_driver_unlock();
    if (hung) check_that_it_computes(device, seconds);
    return hung;
}

weft_status wi_trial_begin_first(wi_device *device, bool *begun) {
    *begun = false;
    if (wi_pending_first_limit(device) <= 0.0 || device->trial.usual || device->trial.limit > 0.0)
        return WEFT_OK;
    WI_TRY(wi_queue_finish(device));
    WI_TRY(wi_trial_begin(device, wi_pending_first_limit(device)));
    *begun = true;
    return WEFT_OK;
}

bool wi_trial_end_first(wi_device *device, const char *name) {
    const bool hung = wi_trial_end(device, fmin(wi_pending_first_limit(device), longest_check));
    if (hung) wi_note_hung(device, "%s", name);
    return hung;
}
