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
    const char *name;
    size_t local[3];
} added_kernel;

struct wi_compile_request {
    wi_device *device;
    wi_text text;
    wi_cache_key sources; /* of all programs */
    cl_program *programs;
    cl_mem *memories;
    added_kernel *kernels;
    wi_compile_argument *arguments; /* of the launch that is being created */
    size_t program_count, memory_count, kernel_count, argument_count;
    size_t program_capacity, memory_capacity, kernel_capacity, argument_capacity;
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

/* The program is installed in ../libexec/weft beside the library's folder or that of a program with the static library; Debian's folder of
 * libraries is one level lower. In Weft's build folder, the program is beside the library. */
static bool find_program(char *path, size_t capacity) {
    static const char *const places[] = {"%s/" WI_COMPILE_PROGRAM, "%s/../libexec/weft/" WI_COMPILE_PROGRAM,
        "%s/../../libexec/weft/" WI_COMPILE_PROGRAM, "%s/../" WI_COMPILE_PROGRAM};
    char folder[WI_PATH_CAPACITY];
    const char *const given = wi_environment("WEFT_COMPILE_PROGRAM");
    if (given) {
        snprintf(path, capacity, "%s", given);
        return wi_file_exists(path);
    }
    wi_own_folder(folder, sizeof folder);
    for (size_t i = 0; *folder && i < sizeof places / sizeof *places; i++) {
        snprintf(path, capacity, places[i], folder);
        if (wi_file_exists(path)) return true;
    }
    snprintf(path, capacity, WI_COMPILE_PROGRAM);
    return false;
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

static void append(wi_compile_request *request, const void *bytes, size_t length) {
    wi_text_append_bytes(&request->text, bytes, length);
}

static void append_record(wi_compile_request *request, wi_compile_kind kind, size_t first, size_t second) {
    const wi_compile_record record = {.kind = kind, .first = first, .second = second};
    append(request, &record, sizeof record);
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
    head.platform = platform;
    head.device = number;
    memcpy(head.name, device->info.name, sizeof head.name);
    append(request, &head, sizeof head);
    return request;
}

void wi_compile_request_release(wi_compile_request *request) {
    if (!request) return;
    const weft_allocator *const allocator = request->device->host.allocator;
    wi_text_clear(&request->text);
    wi_release(allocator, request->programs);
    wi_release(allocator, request->memories);
    wi_release(allocator, request->kernels);
    wi_release(allocator, request->arguments);
    wi_release(allocator, request);
}

/* Makes room for one more item, or marks the request as failed. */
static bool grow(
    wi_compile_request *request, void **items, size_t *capacity, size_t count, size_t item_size) {
    if (wi_grow(request->device->host.allocator, items, capacity, count + 1, item_size) != WEFT_OK)
        request->text.failed = true;
    return !request->text.failed;
}

static void add_argument(wi_compile_request *request, const wi_compile_argument *argument) {
    if (grow(request, (void **)&request->arguments, &request->argument_capacity, request->argument_count,
            sizeof *request->arguments))
        request->arguments[request->argument_count++] = *argument;
}

void wi_compile_request_scalar(wi_compile_request *request, size_t bytes, const void *value) {
    wi_compile_argument argument = {.memory = -1, .bytes = (uint32_t)bytes};
    if (!request) return;
    if (bytes > sizeof argument.value) {
        request->text.failed = true;
        return;
    }
    memcpy(argument.value, value, bytes);
    add_argument(request, &argument);
}

/* The number of the memory; -2 if there is none. */
static int32_t number_of(wi_compile_request *request, cl_mem memory) {
    size_t bytes = 0;
    for (size_t i = 0; i < request->memory_count; i++)
        if (request->memories[i] == memory) return (int32_t)i;
    if (!memory || clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof bytes, &bytes, NULL) != CL_SUCCESS ||
        !grow(request, (void **)&request->memories, &request->memory_capacity, request->memory_count,
            sizeof(cl_mem)))
        return -2;
    append_record(request, WI_COMPILE_MEMORY, bytes, 0);
    request->memories[request->memory_count] = memory;
    return (int32_t)request->memory_count++;
}

void wi_compile_request_memory(wi_compile_request *request, cl_mem memory) {
    if (request) add_argument(request, &(wi_compile_argument){.memory = number_of(request, memory)});
}

/* Appends source and options as the driver got them. */
static bool append_program(wi_compile_request *request, cl_program program) {
    const wi_device *const device = request->device;
    size_t source = 0, options = 0;
    char *texts = NULL;
    if (clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &source) != CL_SUCCESS ||
        clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_OPTIONS, 0, NULL, &options) !=
            CL_SUCCESS ||
        source <= 1 || !(texts = wi_allocate(device->host.allocator, source + options)))
        return false;
    const bool complete = clGetProgramInfo(program, CL_PROGRAM_SOURCE, source, texts, NULL) == CL_SUCCESS &&
                          clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_OPTIONS, options,
                              texts + source, NULL) == CL_SUCCESS;
    if (complete) {
        append_record(request, WI_COMPILE_SOURCE, source, options);
        append(request, texts, source + options);
        const wi_cache_key key = wi_text_key(texts, source + options);
        request->sources.high ^= key.high;
        request->sources.low ^= key.low;
    }
    wi_release(device->host.allocator, texts);
    return complete;
}

/* The number of the kernel's program; -1: it was not compiled for this plan. */
static int find_kernel_program(wi_compile_request *request, cl_kernel kernel, bool is_new) {
    cl_program program = NULL;
    if (clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL) != CL_SUCCESS) return -1;
    for (size_t i = 0; i < request->program_count; i++)
        if (request->programs[i] == program) return (int)i;
    if (!is_new ||
        !grow(request, (void **)&request->programs, &request->program_capacity, request->program_count,
            sizeof(cl_program)) ||
        !append_program(request, program))
        return -1;
    request->programs[request->program_count] = program;
    return (int)request->program_count++;
}

static bool is_added(const wi_compile_request *request, const wi_launch *launch) {
    for (size_t i = 0; i < request->kernel_count; i++) {
        const added_kernel *const other = &request->kernels[i];
        if (strcmp(other->name, launch->name) == 0 &&
            memcmp(other->local, launch->local, sizeof other->local) == 0)
            return true;
    }
    return false;
}

/* One group cannot stand for a large grid, for which PoCL compiles a kernel apart. */
static bool is_usable(const wi_launch *launch) {
    for (cl_uint i = 0; i < launch->dimensions; i++)
        if (launch->local[i] == 0 || launch->global[i] >= SMALL_GRID) return false;
    return launch->kernel && launch->portions <= 1;
}

static void add_launch(wi_compile_request *request, const wi_launch *launch, bool is_new) {
    wi_compile_kernel own = {.dimensions = launch->dimensions};
    if (!is_usable(launch) || is_added(request, launch)) return;
    const int program = find_kernel_program(request, launch->kernel, is_new);
    if (program < 0 || !grow(request, (void **)&request->kernels, &request->kernel_capacity,
                           request->kernel_count, sizeof *request->kernels))
        return;
    added_kernel *const added = &request->kernels[request->kernel_count++];
    added->name = launch->name;
    own.program = (uint32_t)program;
    for (int i = 0; i < 3; i++) own.local[i] = added->local[i] = launch->local[i];
    append_record(request, WI_COMPILE_KERNEL, strlen(launch->name) + 1, request->argument_count);
    append(request, launch->name, strlen(launch->name) + 1);
    append(request, &own, sizeof own);
    append(request, request->arguments, request->argument_count * sizeof *request->arguments);
}

void wi_compile_request_launch(wi_compile_request *request, const wi_launch *launch, bool is_new) {
    if (!request) return;
    add_launch(request, launch, is_new);
    request->argument_count = 0;
}
