/* See trial.h. */
#include "cl/trial.h"
#include "cl/capabilities.h"
#include "cl/device_list.h"
#include "cl/driver.h"

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
