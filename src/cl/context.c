/* A context's life: options checked, a device chosen and opened, everything released in reverse order.
 *
 * Opening a device is one function whose failure leaves the context as it was, so that the next best device
 * may be tried when the driver of the first cannot run even the probe. */
#include "cl/context.h"

#include "cl/buffer_pool.h"
#include "cl/capabilities.h"
#include "cl/device_list.h"
#include "cl/disk_cache.h"
#include "cl/launch.h"
#include "cl/program.h"
#include "cl/program_cache.h"
#include "cl/tuning.h"

#include <string.h>

/* Takes the options of callers that were built with an older or a newer header. */
static weft_status read_options(weft_context_options *own, const weft_context_options *given) {
    *own = (weft_context_options){WEFT_CONTEXT_OPTIONS_INIT};
    if (!given) return WEFT_OK;
    if (given->struct_size < offsetof(weft_context_options, device) + sizeof given->device)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_context_create: options.struct_size is %zu; use WEFT_CONTEXT_OPTIONS_INIT",
            given->struct_size);
    const unsigned char *const bytes = (const unsigned char *)given;
    for (size_t i = sizeof *own; i < given->struct_size; i++) {
        if (bytes[i] != 0)
            WI_FAIL(WEFT_ERROR_UNSUPPORTED, "weft_context_create: an option that Weft %s does not know",
                weft_version());
    }
    memcpy(own, given, given->struct_size < sizeof *own ? given->struct_size : sizeof *own);
    return WEFT_OK;
}

static weft_status check_options(const weft_context_options *options) {
    const weft_allocator *const allocator = options->allocator;
    if (allocator && (!allocator->allocate || !allocator->reallocate || !allocator->release))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_context_create: an allocator needs all of its three functions");
    if (!options->cl_context != !options->cl_device)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_context_create: cl_context and cl_device go together");
    if (options->cl_queue && !options->cl_context)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_context_create: cl_queue needs cl_context and cl_device");
    if (options->cl_context && options->device)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_context_create: a device selector beside cl_device");
    return WEFT_OK;
}

/* Undoes open_device and what failed of it. */
static void close_device(weft_context *context) {
    wi_program_cache_close(context);
    wi_tuning_close(context);
    wi_disk_cache_close(context);
    wi_buffer_pool_close(context);
    if (context->queue) clReleaseCommandQueue(context->queue);
    if (context->cl) clReleaseContext(context->cl);
    context->queue = NULL;
    context->cl = NULL;
}

/* The OpenCL objects are there; what stands on them follows. */
static weft_status open_parts(weft_context *context, const weft_context_options *options) {
    WI_TRY(wi_capabilities_read(context));
    WI_TRY(wi_buffer_pool_open(context, options->memory_limit));
    WI_TRY(wi_disk_cache_open(context, options->cache_dir));
    WI_TRY(wi_tuning_open(context));
    WI_TRY(wi_program_cache_open(context));
    context->profile = wi_device_profile_of(&context->caps); /* the probe is compiled as programs are */
    WI_TRY(wi_capabilities_probe(context));
    context->profile = wi_device_profile_of(&context->caps);
    wi_log_line(&context->log, WEFT_LOG_INFO, "device %s %s (%s, driver %s), class %s",
        context->info.selector, context->info.name, context->info.platform, context->info.driver,
        context->caps.device_class == WEFT_CLASS_CPU ? "cpu" : "gpu");
    return WEFT_OK;
}

static weft_status make_queue(weft_context *context) {
    cl_int error = CL_SUCCESS;
    context->queue = clCreateCommandQueue(context->cl, context->device, 0, &error);
    return wi_cl_check(error, "making a command queue");
}

static weft_status fail_unusable(const weft_device_info *info) {
    WI_FAIL(WEFT_ERROR_UNSUPPORTED,
        "%s (%s, %s): Weft needs an available device with a compiler and OpenCL 1.2", info->name,
        info->platform, info->opencl);
}

static weft_status open_entry(
    weft_context *context, const weft_context_options *options, const wi_device_entry *entry) {
    if (!entry->usable) return fail_unusable(&entry->info);
    const cl_context_properties properties[] = {
        CL_CONTEXT_PLATFORM, (cl_context_properties)entry->platform, 0};
    cl_int error = CL_SUCCESS;
    context->info = entry->info;
    context->device = entry->device;
    context->cl = clCreateContext(properties, 1, &entry->device, NULL, NULL, &error);
    WI_CL(error, "making an OpenCL context");
    WI_TRY(make_queue(context));
    return open_parts(context, options);
}

/* Tries the devices that fit, the best first; when none opens, the first one's error is the answer. */
static weft_status open_selected(weft_context *context, const weft_context_options *options) {
    char first_error[2048] = "";
    wi_device_list list;
    weft_status status = wi_device_list_read(&list, context->allocator);
    if (status != WEFT_OK) goto done;
    const char *const selector = options->device ? options->device : wi_environment("WEFT_DEVICE");
    WI_TRY_DONE(wi_device_list_select(&list, selector));
    for (size_t i = 0; i < list.count; i++) {
        const weft_status opened = open_entry(context, options, &list.entries[i]);
        if (opened == WEFT_OK) {
            wi_error_restore(""); /* an unusable device was passed over; that was no error */
            status = WEFT_OK;
            break;
        }
        close_device(context);
        if (opened == WEFT_ERROR_MEMORY) { /* the host's lack is no reason to take a lesser device */
            status = opened;
            goto done;
        }
        wi_log_line(&context->log, WEFT_LOG_WARNING, "device %s is passed over: %s",
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

/* Some drivers list a sub-device's parent in its place. */
static bool is_or_descends_from(cl_device_id device, cl_device_id listed) {
    while (device && device != listed) {
        cl_device_id parent = NULL;
        if (clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL) != CL_SUCCESS)
            break;
        device = parent;
    }
    return device == listed;
}

static weft_status check_own_device(cl_context cl, cl_device_id device) {
    cl_device_id devices[256];
    size_t bytes = 0;
    WI_CL(clGetContextInfo(cl, CL_CONTEXT_DEVICES, sizeof devices, devices, &bytes),
        "reading the given cl_context");
    for (size_t i = 0; i < bytes / sizeof *devices; i++) {
        if (is_or_descends_from(device, devices[i])) return WEFT_OK;
    }
    WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_context_create: cl_device is not of cl_context");
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
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_context_create: cl_queue is not of cl_context and cl_device");
    if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_context_create: cl_queue executes out of order");
    return WEFT_OK;
}

/* An embedder's device has a place in our list too, unless it is a sub-device. */
static weft_status find_place(weft_context *context) {
    wi_device_list list;
    const weft_status status = wi_device_list_read(&list, context->allocator);
    for (size_t i = 0; status == WEFT_OK && i < list.count; i++) {
        if (list.entries[i].device == context->device) context->info = list.entries[i].info;
    }
    wi_device_list_clear(&list);
    return status;
}

static weft_status open_given(weft_context *context, const weft_context_options *options) {
    wi_device_entry entry;
    WI_TRY(check_own_device(options->cl_context, options->cl_device));
    if (options->cl_queue) WI_TRY(check_own_queue(options));
    WI_TRY(wi_device_describe(&entry, options->cl_device));
    if (!entry.usable) return fail_unusable(&entry.info);
    context->info = entry.info;
    context->device = options->cl_device;
    WI_TRY(find_place(context));
    WI_CL(clRetainContext(options->cl_context), "retaining the given cl_context");
    context->cl = options->cl_context;
    if (!options->cl_queue) {
        WI_TRY(make_queue(context));
    } else {
        WI_CL(clRetainCommandQueue(options->cl_queue), "retaining the given cl_queue");
        context->queue = options->cl_queue;
    }
    return open_parts(context, options);
}

static weft_context *make_context(const weft_context_options *options) {
    weft_context *const context = wi_allocate(options->allocator, sizeof *context);
    if (!context) return NULL;
    if (options->allocator) {
        context->allocator_storage = *options->allocator;
        context->allocator = &context->allocator_storage;
    }
    context->log = (wi_log){.function = options->log, .user = options->log_user};
    context->progress = options->progress;
    context->progress_user = options->progress_user;
    context->seed = options->seed;
    atomic_init(&context->references, 1);
    return context;
}

static void free_context(weft_context *context) {
    const weft_allocator allocator = context->allocator_storage;
    wi_release(context->allocator ? &allocator : NULL, context);
}

weft_status weft_context_create(weft_context **result, const weft_context_options *given) {
    if (!result) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_context_create: context is NULL");
    *result = NULL;
    weft_context_options options;
    WI_TRY(read_options(&options, given));
    WI_TRY(check_options(&options));
    weft_context *const context = make_context(&options);
    if (!context) return WEFT_ERROR_MEMORY;
    const weft_status status =
        options.cl_context ? open_given(context, &options) : open_selected(context, &options);
    if (status != WEFT_OK) {
        close_device(context);
        free_context(context);
        return status;
    }
    *result = context;
    return WEFT_OK;
}

weft_context *weft_context_retain(weft_context *context) {
    if (context) atomic_fetch_add(&context->references, 1);
    return context;
}

void weft_context_release(weft_context *context) {
    if (!context || atomic_fetch_sub(&context->references, 1) != 1) return;
    if (context->graph && context->graph_release) context->graph_release(context->graph);
    (void)wi_queue_finish(context);
    wi_programs_keep(context);
    close_device(context);
    free_context(context);
}

const weft_device_info *weft_context_device(const weft_context *context) {
    return context ? &context->info : NULL;
}
