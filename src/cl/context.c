/* Creating and releasing contexts (contract in context.h). */
#include "cl/context.h"

#include "base/options.h"
#include "base/process.h"
#include "cl/device_sequence.h"
#include "cl/kernel_source.h"
#include "cl/launch.h"
#include "cl/program.h"

static weft_status check_options(const weft_context_options *options) {
    const weft_allocator *const allocator = options->allocator;
    if (allocator && (!allocator->allocate || !allocator->reallocate || !allocator->release))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_context_create: the allocator lacks one of its functions allocate, reallocate and release");
    if (!options->cl_context != !options->cl_device)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_context_create: only one of cl_context and cl_device is set; set both or neither");
    if (options->cl_queue && !options->cl_context)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_context_create: cl_queue is set without cl_context and cl_device; set all three");
    if (options->cl_context && options->device)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_context_create: the options device and cl_device are both set; set one of them");
    if (options->devices && (options->device || options->cl_context))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_context_create: the options devices and %s are both set; set one of them",
            options->device ? "device" : "cl_device");
    return WEFT_OK;
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
    context->files = (wi_file_rules){context->allocator, options->any_files, options->file_limit};
    context->data_limit = options->data_limit;
    atomic_init(&context->references, 1);
    return context;
}

weft_status wi_context_open_at(
    weft_context *context, const weft_context_options *options, const wi_device_place *place) {
    const wi_device_host host = {.allocator = context->allocator,
        .log = &context->log,
        .progress = context->progress,
        .progress_user = context->progress_user};
    if (place->index == WI_MAX_DEVICES)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_context_create: more than %d devices are selected, the maximum for a context",
            WI_MAX_DEVICES);
    WI_TRY(wi_device_open(&context->devices[place->index], &host, place, options));
    context->device_count++;
    return WEFT_OK;
}

weft_status wi_context_open_device(weft_context *context, const weft_context_options *options) {
    return wi_context_open_at(context, options, &(wi_device_place){.index = context->device_count});
}

static void free_context(weft_context *context) {
    while (context->device_count > 0) wi_device_close(context->devices[--context->device_count]);
    const weft_allocator allocator = context->allocator_storage;
    wi_release(context->allocator ? &allocator : NULL, context);
}

weft_status weft_context_create(weft_context **result, const weft_context_options *given) {
    if (!result) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_context_create: context is NULL");
    *result = NULL;
    weft_context_options options;
    WI_TRY(WI_OPTIONS(&options, given, "weft_context_create", WEFT_CONTEXT_OPTIONS_INIT));
    WI_TRY(check_options(&options));
    weft_context *const context = make_context(&options);
    if (!context) return WEFT_ERROR_MEMORY;
    wi_kernel_source_check(&context->log);
    const weft_status status = wi_context_open_devices(context, &options);
    if (status != WEFT_OK) {
        free_context(context);
        return status;
    }
    context->on_release =
        options.on_release; /* not before, since a failed call does not call this function */
    context->release_user = options.release_user;
    *result = context;
    return WEFT_OK;
}

weft_context *weft_context_retain(weft_context *context) {
    if (context) atomic_fetch_add(&context->references, 1);
    return context;
}

void weft_context_release(weft_context *context) {
    if (!context || atomic_fetch_sub(&context->references, 1) != 1) return;
    char error[WI_ERROR_LINE];
    wi_error_save(error, sizeof error);
    if (context->graph && context->graph_release) context->graph_release(context->graph);
    for (int i = 0; i < context->device_count && !wi_process_lost_driver(); i++) {
        (void)wi_queue_finish(context->devices[i]);
        wi_programs_keep(context->devices[i]);
    }
    void (*const on_release)(void *user) = context->on_release;
    void *const user = context->release_user;
    free_context(context);
    if (on_release) on_release(user);
    wi_error_restore(error);
}

const weft_device_info *weft_context_device(const weft_context *context) {
    return context ? &wi_context_device(context)->info : NULL;
}
