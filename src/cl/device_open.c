/* Opening and closing devices (contract in device_open.h).
 *
 * If opening fails, the device is left unopened, so that the next device of the list can be tried. */
#include "cl/device_open.h"
#include "base/log.h"

#include "cl/buffer_pool.h"
#include "cl/capabilities.h"
#include "cl/choices.h"
#include "cl/compile_processes.h"
#include "cl/device_list.h"
#include "cl/device_values.h"
#include "cl/disk_cache.h"
#include "cl/driver.h"
#include "cl/environment.h"
#include "cl/exchange.h"
#include "cl/findings.h"
#include "cl/gpu_engines.h"
#include "cl/launch.h"
#include "cl/matrix_engine.h"
#include "cl/program.h"
#include "cl/program_cache.h"
#include "cl/quirks.h"
#include "cl/sub_device.h"
#include "cl/uploads.h"

#include <string.h>

/* Closes what was opened, also after a failure; the device can then be opened again. */
static void close_parts(wi_device *device) {
    wi_compile_processes_close(device);
    wi_program_cache_close(device);
    wi_findings_close(device);
    wi_choices_close(device);
    wi_device_values_close(device);
    wi_disk_cache_close(device);
    wi_buffer_pool_close(device);
    wi_uploads_close(device);
    wi_driver_lock();
    if (device->queue) clReleaseCommandQueue(device->queue);
    if (device->cl) clReleaseContext(device->cl);
    if (device->listed && device->id != device->listed) clReleaseDevice(device->id);
    wi_driver_unlock();
    device->id = device->listed = NULL;
    device->queue = NULL;
    device->cl = NULL;
}

/* The rate of AVX-512 BF16 (matrix_engine.h). It is measured once for a device and driver and kept in the cache folder,
 * so that all processes choose the same kernels. */
static double engine_rate_of(wi_device *device) {
    double rate = 0.0;
    if (wi_device_value_get(device, WI_MATRIX_ENGINE_RATE, &rate)) return rate;
    rate = wi_matrix_engine_rate();
    wi_device_value_set(device, WI_MATRIX_ENGINE_RATE, rate);
    return rate;
}

/* vectors: use AVX-512 BF16 without measuring whether its kernels are faster than f32. */
static void find_engines_of_host(wi_device *device, bool vectors) {
    wi_capabilities *const caps = &device->caps;
    caps->engines = wi_matrix_engines_of_host(vectors);
    if (vectors || !(caps->engines & WI_ENGINE_AVX512_BF16)) return;
    caps->engine_rate = engine_rate_of(device);
    caps->engines = wi_matrix_engines_that_pay(caps->engines, caps->engine_rate);
}

/* Sets caps.engines to the engines of the GPU, or of the host's processor for kernels of class cpu. WEFT_MATRIX_ENGINES
 * may name an engine instead whose kernels run with a model in OpenCL C; the option no_matrix_engines and
 * WEFT_MATRIX_ENGINES=0 allow none. */
static weft_status find_engines(wi_device *device, const weft_context_options *options) {
    const char *const wanted = wi_switch_value(WI_SWITCH_MATRIX_ENGINES);
    wi_capabilities *caps = &device->caps;
    const unsigned modelled = wanted ? wi_engine_modelled(wanted, caps->device_class) : 0;
    caps->engine_model = modelled != 0;
    caps->engines = 0;
    caps->engine_rate = 0.0;
    if (caps->type & CL_DEVICE_TYPE_GPU) WI_TRY(wi_gpu_engines_find(device));
    if (options->no_matrix_engines || wi_switch_is(WI_SWITCH_MATRIX_ENGINES, "0"))
        caps->engines = 0;
    else if (caps->engine_model)
        caps->engines = modelled;
    else if (caps->type & CL_DEVICE_TYPE_CPU && caps->device_class == WEFT_CLASS_CPU)
        find_engines_of_host(device, wi_switch_is(WI_SWITCH_MATRIX_ENGINES, "avx512"));
    return WEFT_OK;
}

/* Keeps the asynchronous copies that the driver reports, or chooses a model, which kernels of class gpu can use on any
 * device. */
static void choose_copies(wi_capabilities *caps) {
    caps->copy_model = wi_switch_is(WI_SWITCH_ASYNC_COPIES, "model")        ? WI_COPIES_AT_ONCE
                       : wi_switch_is(WI_SWITCH_ASYNC_COPIES, "model-late") ? WI_COPIES_LATE
                                                                            : WI_COPIES_OF_DEVICE;
    if (caps->copy_model != WI_COPIES_OF_DEVICE) caps->async_copies = true;
    if (wi_switch_is(WI_SWITCH_ASYNC_COPIES, "0")) caps->async_copies = false;
}

/* By default only devices with their own memory have a queue for uploads. */
static bool wants_upload_queue(const wi_device *device, const weft_context_options *options) {
    if (options->one_queue || wi_switch_is(WI_SWITCH_UPLOAD_QUEUE, "0")) return false;
    return device->caps.own_memory || wi_switch_is(WI_SWITCH_UPLOAD_QUEUE, "1");
}

static bool sleeps(const wi_device *device) {
    if (wi_switch_is(WI_SWITCH_WAIT, "driver")) return false;
    return device->caps.quirks & WI_QUIRK_TURNING_WAIT || wi_switch_is(WI_SWITCH_WAIT, "sleep");
}

/* Opens the rest of a device whose OpenCL context and queue exist. */
static weft_status open_parts(wi_device *device, const weft_context_options *options) {
    WI_TRY(wi_capabilities_read(device));
    device->caps.large_buffers = options->large_buffers;
    device->caps.upload_queue = wants_upload_queue(device, options);
    device->caps.sleeps = sleeps(device);
    device->caps.work_units = (cl_uint)options->work_units;
    device->caps.longest_launch = options->longest_launch;
    WI_TRY(wi_buffer_pool_open(device, options->memory_limit));
    WI_TRY(wi_disk_cache_open(device, options->cache_dir));
    WI_TRY(wi_device_values_open(device));
    WI_TRY(find_engines(device, options));
    choose_copies(&device->caps);
    WI_TRY(wi_choices_open(device, options->tuning_file));
    WI_TRY(wi_program_cache_open(device));
    /* The probe is compiled with options that depend on the profile. */
    device->profile = wi_device_profile_of(&device->caps);
    WI_TRY(wi_capabilities_probe(device));
    device->profile = wi_device_profile_of(&device->caps);
    WI_TRY(wi_exchange_find(device));
    wi_uploads_open(device);
    wi_compile_processes_open(device, options);
    wi_log_line(device->host.log, WEFT_LOG_INFO, "device %s %s (%s, driver %s), of kind %s",
        device->info.selector, device->info.name, device->info.platform, device->info.driver,
        device->profile.name);
    return WEFT_OK;
}

static weft_status make_queue(wi_device *device) {
    cl_int error = CL_SUCCESS;
    wi_driver_lock();
    device->queue = clCreateCommandQueue(device->cl, device->id, 0, &error);
    wi_driver_unlock();
    return wi_cl_check(error, "creating a command queue");
}

static weft_status make_context(wi_device *device, cl_platform_id platform) {
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0};
    cl_int error = CL_SUCCESS;
    wi_driver_lock();
    device->cl = clCreateContext(properties, 1, &device->id, NULL, NULL, &error);
    wi_driver_unlock();
    return wi_cl_check(error, "creating an OpenCL context");
}

static weft_status check_usable(const wi_device_entry *entry) {
    const weft_device_info *const info = &entry->info;
    if (entry->usable) return WEFT_OK;
    if (entry->status != WEFT_OK) {
        wi_error_restore(entry->error);
        return entry->status;
    }
    WI_FAIL(WEFT_ERROR_UNSUPPORTED,
        "%s (%s, %s) cannot be used: Weft needs an available device with a compiler and OpenCL 1.2 or newer",
        info->name, info->platform, info->opencl);
}

static weft_status open_entry(wi_device *device, const weft_context_options *options,
    const wi_device_place *place, const wi_device_entry *entry) {
    WI_TRY(check_usable(entry));
    device->info = entry->info;
    device->id = device->listed = entry->device;
    if (place->parts) WI_TRY(wi_sub_device_take(device, place->part, place->parts));
    WI_TRY(make_context(device, entry->platform));
    WI_TRY(make_queue(device));
    return open_parts(device, options);
}

/* Whether `device` is `listed` or a sub-device of it: some drivers list the parents of sub-devices as a context's
 * devices. OpenCL 1.1 has no sub-devices and does not know the query. */
static weft_status descends_from(bool *descends, cl_device_id device, cl_device_id listed) {
    while (device && device != listed) {
        cl_device_id parent = NULL;
        const cl_int error = clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL);
        if (error != CL_SUCCESS && error != CL_INVALID_VALUE)
            return wi_cl_check(error, "clGetDeviceInfo(CL_DEVICE_PARENT_DEVICE)");
        device = parent;
    }
    *descends = device == listed;
    return WEFT_OK;
}

static weft_status check_own_device(cl_context cl, cl_device_id device) {
    cl_device_id devices[256];
    size_t bytes = 0;
    WI_CL(clGetContextInfo(cl, CL_CONTEXT_DEVICES, sizeof devices, devices, &bytes),
        "reading the given cl_context");
    for (size_t i = 0; i < bytes / sizeof *devices; i++) {
        bool descends = false;
        WI_TRY(descends_from(&descends, device, devices[i]));
        if (descends) return WEFT_OK;
    }
    WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_context_create: cl_device is not a device of cl_context");
}

static weft_status check_own_queue(const weft_context_options *options) {
    cl_context cl = NULL;
    cl_device_id device = NULL;
    cl_command_queue_properties properties = 0;
    cl_command_queue const queue = options->cl_queue;
    WI_CL(clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof cl, &cl, NULL), "reading the given cl_queue");
    WI_CL(clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL),
        "reading the given cl_queue");
    WI_CL(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL),
        "reading the given cl_queue");
    if (cl != options->cl_context || device != options->cl_device)
        WI_FAIL(
            WEFT_ERROR_ARGUMENT, "weft_context_create: cl_queue does not belong to cl_context and cl_device");
    if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_context_create: cl_queue executes out of order; create it without "
                                     "CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE");
    return WEFT_OK;
}

/* Sets the selector of an embedder's device, unless it is a sub-device, which the list does not contain. Nothing else
 * is taken from the list, where queries of the device may have failed. */
static weft_status find_place(wi_device *device) {
    wi_device_list list;
    const weft_status status = wi_device_list_read(&list, device->host.allocator);
    for (size_t i = 0; status == WEFT_OK && i < list.count; i++) {
        if (list.entries[i].device == device->id)
            memcpy(device->info.selector, list.entries[i].info.selector, sizeof device->info.selector);
    }
    wi_device_list_clear(&list);
    return status;
}

static weft_status open_given(wi_device *device, const weft_context_options *options) {
    wi_device_entry entry;
    WI_TRY(check_own_device(options->cl_context, options->cl_device));
    if (options->cl_queue) WI_TRY(check_own_queue(options));
    WI_TRY(wi_device_describe(&entry, options->cl_device, device->host.allocator));
    WI_TRY(check_usable(&entry));
    device->info = entry.info;
    device->id = options->cl_device;
    WI_TRY(find_place(device));
    WI_CL(clRetainContext(options->cl_context), "retaining the given cl_context");
    device->cl = options->cl_context;
    if (!options->cl_queue) {
        WI_TRY(make_queue(device));
    } else {
        WI_CL(clRetainCommandQueue(options->cl_queue), "retaining the given cl_queue");
        device->queue = options->cl_queue;
    }
    return open_parts(device, options);
}

/* Logs platforms and devices that could not be listed or described. */
static void log_unknown(const wi_device *device, const wi_device_list *list) {
    if (list->status != WEFT_OK)
        wi_log_line(device->host.log, WEFT_LOG_WARNING, "an OpenCL platform is ignored: %s", list->error);
    for (size_t i = 0; i < list->count; i++) {
        if (list->entries[i].status != WEFT_OK)
            wi_log_line(
                device->host.log, WEFT_LOG_WARNING, "a device is ignored: %s", list->entries[i].error);
    }
}

/* Removes the devices that a selector by name or type does not match again. */
static weft_status remove_taken(wi_device_list *list, const wi_device_place *place, const char *selector) {
    if (place->taken_count == 0 || wi_is_device_position(selector)) return WEFT_OK;
    for (int i = 0; i < place->taken_count; i++) wi_device_list_remove(list, place->taken[i]->listed);
    if (list->count > 0) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_NO_DEVICE,
        "each device that '%s' matches is in the list already; 'weft devices' prints the positions of all",
        selector);
}

/* Opens the best device that the selector matches and that can be opened. If none can, the error is that of the best
 * one. */
static weft_status open_selected(
    wi_device *device, const weft_context_options *options, const wi_device_place *place) {
    char first_error[WI_ERROR_LINE] = "";
    wi_device_list list;
    weft_status status = wi_device_list_read(&list, device->host.allocator);
    if (status != WEFT_OK) goto done;
    log_unknown(device, &list);
    WI_TRY_DONE(wi_device_list_select(&list, options->device));
    WI_TRY_DONE(remove_taken(&list, place, options->device));
    for (size_t i = 0; i < list.count; i++) {
        const weft_status opened = open_entry(device, options, place, &list.entries[i]);
        if (opened == WEFT_OK) {
            /* The failures of devices that were tried before are not errors of this call. */
            wi_error_restore("");
            status = WEFT_OK;
            break;
        }
        close_parts(device);
        /* Lack of host memory is no reason to choose a worse device. */
        if (opened == WEFT_ERROR_MEMORY) {
            status = opened;
            goto done;
        }
        if (list.entries[i].status == WEFT_OK)
            wi_log_line(device->host.log, WEFT_LOG_WARNING, "device %s is ignored: %s",
                list.entries[i].info.selector, weft_last_error());
        if (i == 0) {
            status = opened;
            wi_error_save(first_error, sizeof first_error);
        }
    }
    if (status != WEFT_OK) wi_error_restore(first_error);
done:
    wi_device_list_clear(&list);
    return status;
}

weft_status wi_device_open(wi_device **result, const wi_device_host *host, const wi_device_place *place,
    const weft_context_options *given) {
    weft_context_options options = *given;
    *result = NULL;
    WI_TRY(wi_environment_read(&options));
    wi_device *const device = wi_allocate(host->allocator, sizeof *device);
    if (!device) return WEFT_ERROR_MEMORY;
    device->host = *host;
    device->index = place->index;
    const weft_status status =
        options.cl_context ? open_given(device, &options) : open_selected(device, &options, place);
    if (status == WEFT_OK)
        *result = device;
    else
        wi_device_close(device);
    return status;
}

void wi_device_estimate_as(wi_device *device, int64_t units, double flops, double bandwidth) {
    wi_device_profile *const profile = &device->profile;
    const double faster = flops / (double)units / profile->peak_f32;
    profile->units = units;
    profile->peak_f32 *= faster;
    profile->peak_f16 *= faster;
    profile->peak_bf16 *= faster;
    profile->peak_f64 *= faster;
    profile->bandwidth = bandwidth;
}

void wi_device_close(wi_device *device) {
    if (!device) return;
    close_parts(device);
    wi_release(device->host.allocator, device);
}
