/* Processes that compile kernels (contract in compile_processes.h). */
#include "cl/compile_processes.h"
#include "base/child.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/platform.h"
#include "base/process.h"
#include "base/system_file.h"
#include "cl/compile_request.h"
#include "cl/device_values.h"
#include "cl/driver.h"
#include "cl/program.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_PROCESSES = 8,
    LEAST_KERNELS = 4, /* for fewer kernels, no process is started */
    /* A grid of PoCL with fewer work-items along each dimension is a small one, for which a kernel is compiled apart. */
    SMALL_GRID = 65535
};

typedef struct compile_process {
    wi_child child;
    char note[64]; /* name of the device's value that says that the driver's folder has the kernels */
} compile_process;

struct wi_compile_processes {
    compile_process all[MOST_PROCESSES];
    int most;
    bool failed; /* no process can be started; the log says so once */
};

typedef struct added_kernel {
    cl_program program;
    const char *name;
    size_t local[3];
} added_kernel;

struct wi_compile_request {
    wi_device *device;
    wi_text text, arguments; /* arguments: of the launch that is being created */
    wi_cache_key sources;    /* of all programs */
    added_kernel *kernels;
    size_t kernel_count, kernel_capacity;
};

/* ---- processes ---- */

void wi_compile_processes_open(wi_device *device, const weft_context_options *options) {
    const size_t others = device->caps.compute_units > 1 ? device->caps.compute_units - 1 : 0;
    size_t most = options->compile_processes;
    if (most > others) most = others;
    if (most > MOST_PROCESSES) most = MOST_PROCESSES;
    if (most == 0 || !wi_driver_keeps_kernels(device) || !*device->info.selector) return;
    device->processes = wi_allocate(device->host.allocator, sizeof *device->processes);
    if (device->processes) device->processes->most = (int)most;
}

/* The context has waited for its launches, so that all kernels are compiled, also those that a process still compiles. */
void wi_compile_processes_close(wi_device *device) {
    if (!device->processes) return;
    wi_compile_processes_reap(device);
    for (int i = 0; !wi_process_lost_driver() && i < device->processes->most; i++) {
        compile_process *const own = &device->processes->all[i];
        if (own->child.process) wi_device_value_set(device, own->note, 1.0);
        wi_child_end(&own->child);
    }
    wi_release(device->host.allocator, device->processes);
    device->processes = NULL;
}

void wi_compile_processes_reap(wi_device *device) {
    int result;
    if (!device->processes || wi_process_lost_driver()) return;
    for (int i = 0; i < device->processes->most; i++) {
        compile_process *const own = &device->processes->all[i];
        if (!wi_child_has_ended(&own->child, &result)) continue;
        if (result == 0) wi_device_value_set(device, own->note, 1.0);
        wi_log_line(device->host.log, result == 0 ? WEFT_LOG_DEBUG : WEFT_LOG_INFO,
            "%s ended with result %d%s", WI_COMPILE_PROGRAM, result,
            result == 0 ? "" : "; this process compiles the remaining kernels");
    }
}

static bool find_program(char *path, size_t capacity) {
    const char *const given = wi_environment("WEFT_COMPILE_PROGRAM");
    snprintf(path, capacity, "%s", given ? given : WI_COMPILE_PROGRAM);
    return given ? wi_file_exists(path) : wi_find_beside(path, capacity, WI_COMPILE_PROGRAM);
}

static void fail(wi_device *device, const char *path, int error) {
    char text[256];
    wi_error_text(error, text, sizeof text);
    device->processes->failed = true;
    wi_log_line(device->host.log, WEFT_LOG_INFO,
        "compile_processes: '%s' cannot be started (%s); this process compiles all kernels", path, text);
}

/* Process w of n compiles every n-th kernel. */
static void start(const wi_compile_request *request, const char *note, const char *path) {
    struct wi_compile_processes *const own = request->device->processes;
    char which[16], count[16];
    int n = own->most;
    const char *const arguments[] = {WI_COMPILE_PROGRAM, which, count, NULL};
    if ((size_t)n > request->kernel_count / 2) n = (int)(request->kernel_count / 2);
    snprintf(count, sizeof count, "%d", n);
    for (int i = 0; i < n && !own->failed; i++) {
        if (own->all[i].child.process) continue; /* still busy with another plan */
        snprintf(which, sizeof which, "%d", i);
        snprintf(own->all[i].note, sizeof own->all[i].note, "%s", note);
        if (!wi_child_start(&own->all[i].child, path, arguments, request->text.data, request->text.length))
            fail(request->device, path, errno);
    }
}

static void start_unless_noted(const wi_compile_request *request) {
    char path[WI_PATH_CAPACITY + 64], note[64];
    double noted = 0.0;
    snprintf(
        note, sizeof note, "compiled %016" PRIx64 "%016" PRIx64, request->sources.high, request->sources.low);
    if (wi_device_value_get(request->device, note, &noted)) return;
    if (find_program(path, sizeof path))
        start(request, note, path);
    else
        fail(request->device, path, ENOENT);
}

void wi_compile_request_start(wi_compile_request *request) {
    if (!request) return;
    wi_compile_processes_reap(request->device);
    if (request->kernel_count >= LEAST_KERNELS && !request->text.failed) start_unless_noted(request);
    wi_compile_request_release(request);
}

/* ---- requests ---- */

static void append(wi_text *text, const void *bytes, size_t length) {
    wi_text_append_bytes(text, bytes, length);
}

wi_compile_request *wi_compile_request_begin(wi_device *device) {
    wi_compile_head head = {.magic = WI_COMPILE_MAGIC};
    unsigned platform, number;
    if (!device->processes || device->processes->failed) return NULL;
    if (sscanf(device->info.selector, "%u:%u", &platform, &number) != 2) return NULL;
    wi_compile_request *const request = wi_allocate(device->host.allocator, sizeof *request);
    if (!request) return NULL;
    request->device = device;
    wi_text_init(&request->text, device->host.allocator);
    wi_text_init(&request->arguments, device->host.allocator);
    head.platform = platform;
    head.device = number;
    memcpy(head.name, device->info.name, sizeof head.name);
    append(&request->text, &head, sizeof head);
    return request;
}

void wi_compile_request_release(wi_compile_request *request) {
    if (!request) return;
    const weft_allocator *const allocator = request->device->host.allocator;
    wi_text_clear(&request->text);
    wi_text_clear(&request->arguments);
    wi_release(allocator, request->kernels);
    wi_release(allocator, request);
}

void wi_compile_request_scalar(wi_compile_request *request, size_t bytes, const void *value) {
    wi_compile_argument argument = {.bytes = bytes};
    if (!request) return;
    if (bytes > sizeof argument.value) {
        request->text.failed = true;
        return;
    }
    memcpy(argument.value, value, bytes);
    append(&request->arguments, &argument, sizeof argument);
}

/* The address of the object is the buffer's number. */
void wi_compile_request_memory(wi_compile_request *request, cl_mem memory) {
    wi_compile_argument argument = {.buffer = (uint64_t)(uintptr_t)memory};
    size_t bytes = 0;
    if (!request) return;
    if (memory && clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof bytes, &bytes, NULL) != CL_SUCCESS)
        request->text.failed = true;
    argument.bytes = bytes;
    append(&request->arguments, &argument, sizeof argument);
}

/* Appends source and options as the driver got them. */
static bool append_program(wi_compile_request *request, cl_program program) {
    const weft_allocator *const allocator = request->device->host.allocator;
    const cl_device_id id = request->device->id;
    size_t source = 0, options = 0;
    if (clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &source) != CL_SUCCESS ||
        clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_OPTIONS, 0, NULL, &options) != CL_SUCCESS)
        return false;
    char *const texts = wi_allocate(allocator, source + options);
    const bool complete =
        texts && clGetProgramInfo(program, CL_PROGRAM_SOURCE, source, texts, NULL) == CL_SUCCESS &&
        clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_OPTIONS, options, texts + source, NULL) ==
            CL_SUCCESS;
    if (complete) {
        const wi_cache_key key = wi_text_key(texts, source + options);
        const wi_compile_record record = {.kind = WI_COMPILE_SOURCE,
            .program = (uint64_t)(uintptr_t)program,
            .first = source,
            .second = options};
        append(&request->text, &record, sizeof record);
        append(&request->text, texts, source + options);
        request->sources.high ^= key.high;
        request->sources.low ^= key.low;
    }
    wi_release(allocator, texts);
    return complete;
}

/* Whether the kernel is to be compiled: it is not in the request yet, and its program is, or can be appended. */
static bool is_wanted(wi_compile_request *request, const added_kernel *kernel, bool is_new) {
    bool has_program = false;
    for (size_t i = 0; i < request->kernel_count; i++) {
        const added_kernel *const other = &request->kernels[i];
        if (other->program != kernel->program) continue;
        has_program = true;
        if (strcmp(other->name, kernel->name) == 0 &&
            memcmp(other->local, kernel->local, sizeof other->local) == 0)
            return false;
    }
    return has_program || (is_new && append_program(request, kernel->program));
}

/* One group cannot stand for a large grid, for which PoCL compiles a kernel apart. */
static bool is_usable(const wi_launch *launch) {
    for (cl_uint i = 0; i < launch->dimensions; i++)
        if (launch->local[i] == 0 || launch->global[i] >= SMALL_GRID) return false;
    return launch->kernel && launch->portions <= 1;
}

static void add_launch(wi_compile_request *request, const wi_launch *launch, bool is_new) {
    added_kernel kernel = {.name = launch->name};
    wi_compile_size size = {.dimensions = launch->dimensions};
    for (int i = 0; i < 3; i++) size.local[i] = kernel.local[i] = launch->local[i];
    if (!is_usable(launch) || clGetKernelInfo(launch->kernel, CL_KERNEL_PROGRAM, sizeof kernel.program,
                                  &kernel.program, NULL) != CL_SUCCESS)
        return;
    if (!is_wanted(request, &kernel, is_new) ||
        wi_grow(request->device->host.allocator, (void **)&request->kernels, &request->kernel_capacity,
            request->kernel_count + 1, sizeof *request->kernels) != WEFT_OK)
        return;
    request->kernels[request->kernel_count++] = kernel;
    const size_t name = strlen(kernel.name) + 1;
    const wi_compile_record record = {.kind = WI_COMPILE_KERNEL,
        .program = (uint64_t)(uintptr_t)kernel.program,
        .first = name,
        .second = request->arguments.length / sizeof(wi_compile_argument)};
    append(&request->text, &record, sizeof record);
    append(&request->text, kernel.name, name);
    append(&request->text, &size, sizeof size);
    append(&request->text, request->arguments.data, request->arguments.length);
}

void wi_compile_request_launch(wi_compile_request *request, const wi_launch *launch, bool is_new) {
    if (!request) return;
    if (!request->arguments.failed) add_launch(request, launch, is_new);
    request->arguments.length = 0;
}
