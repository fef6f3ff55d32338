/* The layer (contract in pretend_layer.h): what holds each call against the limits of the chosen device. */
#include "pretend_devices.h"
#include "support/opencl_layer.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_ARGUMENTS = 64, BUCKETS = 1 << 12 };

/* What a kernel was given: the bytes of each argument, of local memory apart. */
typedef struct kernel_note {
    cl_kernel kernel;
    size_t bytes[MOST_ARGUMENTS], local[MOST_ARGUMENTS];
    struct kernel_note *next;
} kernel_note;

static struct {
    cl_icd_dispatch next, own;
    atomic_bool present, skip, lost;
    atomic_long left;      /* launches until the device is lost; negative: it stays */
    atomic_int delay;      /* microseconds that calls wait longer */
    _Atomic(double) until; /* when the device has ended its work, by the clock; 0: it has */
    _Atomic(cl_command_queue)
        busy; /* the queue of launches that nothing has waited for; NULL: there are none */
    _Atomic(const pretend_device *) device;
    pthread_mutex_t mutex; /* of what follows */
    pretend_record record;
    kernel_note *kernels[BUCKETS];
} layer = {.left = -1, .mutex = PTHREAD_MUTEX_INITIALIZER};

/* ---- control ---- */

LAYER_EXPORT bool pretend_layer_choose(const char *name) {
    const pretend_device *chosen = NULL;
    for (int i = 0; name && pretend_layer_device(i); i++)
        if (strcmp(pretend_layer_device(i)->name, name) == 0) chosen = pretend_layer_device(i);
    atomic_store(&layer.device, chosen);
    return chosen || !name;
}

LAYER_EXPORT void pretend_layer_skip(bool skip) {
    atomic_store(&layer.skip, skip);
}

LAYER_EXPORT void pretend_layer_delay(double seconds) {
    atomic_store(&layer.delay, (int)(1e6 * seconds));
}

LAYER_EXPORT void pretend_layer_lose(long launches) {
    atomic_store(&layer.lost, false);
    atomic_store(&layer.left, launches);
}

/* What drivers return for everything once a device has been reset or taken away. */
static cl_int lost(void) {
    return atomic_load(&layer.lost) ? CL_OUT_OF_RESOURCES : CL_SUCCESS;
}

LAYER_EXPORT void pretend_layer_begin(void) {
    pthread_mutex_lock(&layer.mutex);
    const size_t held = layer.record.held;
    layer.record = (pretend_record){.held = held, .peak = held};
    pthread_mutex_unlock(&layer.mutex);
}

LAYER_EXPORT pretend_record pretend_layer_record(void) {
    pthread_mutex_lock(&layer.mutex);
    const pretend_record record = layer.record;
    pthread_mutex_unlock(&layer.mutex);
    return record;
}

LAYER_EXPORT bool pretend_layer_present(void) {
    return atomic_load(&layer.present);
}

static cl_int CL_API_CALL own_clGetDeviceInfo(
    cl_device_id device, cl_device_info what, size_t size, void *value, size_t *size_ret) {
    const pretend_device *const d = atomic_load(&layer.device);
    if (d && pretend_answers(d, what)) return pretend_answer(d, what, size, value, size_ret);
    return layer.next.clGetDeviceInfo(device, what, size, value, size_ret);
}

static cl_int CL_API_CALL own_clGetPlatformInfo(
    cl_platform_id platform, cl_platform_info what, size_t size, void *value, size_t *size_ret) {
    const pretend_device *const d = atomic_load(&layer.device);
    if (!d || !d->platform || what != CL_PLATFORM_NAME)
        return layer.next.clGetPlatformInfo(platform, what, size, value, size_ret);
    return layer_answer(d->platform, strlen(d->platform) + 1, size, value, size_ret);
}

static void count_up(long *count) {
    pthread_mutex_lock(&layer.mutex);
    (*count)++;
    pthread_mutex_unlock(&layer.mutex);
}

/* ---- programs: a compiler of OpenCL C 1.2 has no extension's names ---- */

static cl_program CL_API_CALL own_clCreateProgramWithSource(
    cl_context context, cl_uint count, const char **texts, const size_t *lengths, cl_int *code) {
    const pretend_device *const d = atomic_load(&layer.device);
    const char *all[16] = {pretend_no_extensions};
    size_t sizes[16] = {0};
    if (!d || !d->plain || count > 15)
        return layer.next.clCreateProgramWithSource(context, count, texts, lengths, code);
    for (cl_uint i = 0; i < count; i++) {
        all[i + 1] = texts[i];
        sizes[i + 1] = lengths ? lengths[i] : 0;
    }
    return layer.next.clCreateProgramWithSource(context, count + 1, all, sizes, code);
}

/* Options that the driver beneath does not know are taken out, and counted. */
static void take_option(char *text, const char *option) {
    char *const at = strstr(text, option);
    if (!at) return;
    memset(at, ' ', strlen(option));
    count_up(&layer.record.options);
}

static cl_int CL_API_CALL own_clBuildProgram(cl_program program, cl_uint count, const cl_device_id *ids,
    const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void *user) {
    const pretend_device *const d = atomic_load(&layer.device);
    char text[8192];
    if (lost()) return lost();
    const bool standard = d && d->plain && (!options || !strstr(options, "-cl-std="));
    snprintf(text, sizeof text, "%s%s", options ? options : "", standard ? " -cl-std=CL1.2" : "");
    if (d && d->flagged) take_option(text, "-cl-intel-greater-than-4GB-buffer-required");
    count_up(&layer.record.builds);
    return layer.next.clBuildProgram(program, count, ids, text, notify, user);
}

/* ---- buffers ---- */

/* Errors are given as a driver would; the first is noted. */
static cl_int above(cl_int error, const char *what, size_t asked, size_t limit) {
    pretend_record *const record = &layer.record;
    pthread_mutex_lock(&layer.mutex);
    if (record->above++ == 0)
        snprintf(record->first, sizeof record->first, "%s: %zu, the limit is %zu", what, asked, limit);
    pthread_mutex_unlock(&layer.mutex);
    return error;
}

static void CL_CALLBACK count_released(cl_mem memory, void *user) {
    (void)memory;
    pthread_mutex_lock(&layer.mutex);
    layer.record.held -= (size_t)user;
    pthread_mutex_unlock(&layer.mutex);
}

static void count_created(cl_mem memory, size_t size) {
    if (layer.next.clSetMemObjectDestructorCallback(memory, count_released, (void *)size)) return;
    pthread_mutex_lock(&layer.mutex);
    layer.record.held += size;
    if (layer.record.held > layer.record.peak) layer.record.peak = layer.record.held;
    if (size > layer.record.largest) layer.record.largest = size;
    pthread_mutex_unlock(&layer.mutex);
}

enum { UNRESTRICTED_SIZE = 1 << 23 }; /* Intel's flag */

static cl_int check_buffer(size_t size, bool is_free) {
    const pretend_device *const d = atomic_load(&layer.device);
    if (lost()) return lost();
    if (d && d->largest && size > d->largest && !is_free)
        return above(CL_INVALID_BUFFER_SIZE, "bytes of a buffer", size, (size_t)d->largest);
    const size_t held = pretend_layer_record().held;
    if (d && d->global && held + size > d->global)
        return above(
            CL_MEM_OBJECT_ALLOCATION_FAILURE, "bytes of all buffers", held + size, (size_t)d->global);
    return CL_SUCCESS;
}

static cl_mem CL_API_CALL own_clCreateBuffer(
    cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code) {
    const pretend_device *const d = atomic_load(&layer.device);
    const bool flag = d && d->flagged && (flags & UNRESTRICTED_SIZE);
    const cl_int error = check_buffer(size, flag);
    if (code) *code = error;
    if (error) return NULL;
    if (flag) count_up(&layer.record.flags);
    if (flags & CL_MEM_ALLOC_HOST_PTR) count_up(&layer.record.pinned);
    flags &= ~(cl_mem_flags)(flag ? UNRESTRICTED_SIZE : 0);
    cl_mem const memory = layer.next.clCreateBuffer(context, flags, size, host, code);
    if (memory) count_created(memory, size);
    return memory;
}

/* ---- kernels ---- */

static kernel_note **find_note(cl_kernel kernel) {
    kernel_note **at = &layer.kernels[((size_t)kernel >> 4) % BUCKETS];
    while (*at && (*at)->kernel != kernel) at = &(*at)->next;
    return at;
}

static void note_argument(cl_kernel kernel, cl_uint index, size_t bytes, size_t local) {
    pthread_mutex_lock(&layer.mutex);
    kernel_note **const at = find_note(kernel);
    if (!*at && (*at = calloc(1, sizeof **at))) (*at)->kernel = kernel;
    if (*at && index < MOST_ARGUMENTS) {
        (*at)->bytes[index] = bytes;
        (*at)->local[index] = local;
    }
    pthread_mutex_unlock(&layer.mutex);
}

static cl_int CL_API_CALL own_clSetKernelArg(
    cl_kernel kernel, cl_uint index, size_t size, const void *value) {
    const cl_int result = layer.next.clSetKernelArg(kernel, index, size, value);
    if (result == CL_SUCCESS) note_argument(kernel, index, value ? size : 0, value ? 0 : size);
    return result;
}

/* A kernel of the same address may follow. */
static cl_int CL_API_CALL own_clReleaseKernel(cl_kernel kernel) {
    cl_uint references = 0;
    layer.next.clGetKernelInfo(kernel, CL_KERNEL_REFERENCE_COUNT, sizeof references, &references, NULL);
    if (references == 1) {
        pthread_mutex_lock(&layer.mutex);
        kernel_note **const at = find_note(kernel), *const gone = *at;
        if (gone) *at = gone->next;
        free(gone);
        pthread_mutex_unlock(&layer.mutex);
    }
    return layer.next.clReleaseKernel(kernel);
}

/* What a launch asks of the device. */
typedef struct launch_size {
    size_t group, parameter, local;
    bool required; /* the kernel says how many items a group has */
} launch_size;

static cl_device_id device_of(cl_command_queue queue) {
    cl_device_id device = NULL;
    layer.next.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    return device;
}

/* The driver counts local arrays, and may count arguments in local memory or not. */
static launch_size size_of(
    cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *local) {
    launch_size size = {.group = 1};
    cl_ulong arrays = 0;
    size_t arguments = 0, required[3] = {0};
    for (cl_uint i = 0; local && i < dimensions; i++) size.group *= local[i];
    layer.next.clGetKernelWorkGroupInfo(
        kernel, device_of(queue), CL_KERNEL_LOCAL_MEM_SIZE, sizeof arrays, &arrays, NULL);
    layer.next.clGetKernelWorkGroupInfo(
        kernel, device_of(queue), CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof required, required, NULL);
    size.required = required[0] > 0;
    pthread_mutex_lock(&layer.mutex);
    const kernel_note *const note = *find_note(kernel);
    for (int i = 0; note && i < MOST_ARGUMENTS; i++) {
        size.parameter += note->bytes[i];
        arguments += note->local[i];
    }
    pthread_mutex_unlock(&layer.mutex);
    size.local = arrays > arguments ? (size_t)arrays : arguments;
    return size;
}

static cl_int check_items(
    const pretend_device *d, cl_uint dimensions, const size_t *global, const size_t *local) {
    if (dimensions < 1 || dimensions > 3)
        return above(CL_INVALID_WORK_DIMENSION, "dimensions of a launch", dimensions, 3);
    for (cl_uint i = 0; i < dimensions; i++) {
        if (global[i] == 0) return above(CL_INVALID_GLOBAL_WORK_SIZE, "items of a launch", 0, 0);
        if (!local) continue;
        if (d && d->group && local[i] > pretend_most_items(d, true))
            return above(CL_INVALID_WORK_ITEM_SIZE, "items along a dimension", local[i], d->group);
        /* OpenCL 1.2 knows whole groups alone. */
        if (local[i] == 0 || global[i] % local[i] != 0)
            return above(CL_INVALID_WORK_GROUP_SIZE, "items that are no whole groups", global[i], local[i]);
    }
    return CL_SUCCESS;
}

static cl_int check_size(const pretend_device *d, const launch_size *size) {
    if (d && d->group && size->group > pretend_most_items(d, size->required))
        return above(CL_INVALID_WORK_GROUP_SIZE, "items of a group", size->group, d->group);
    if (d && d->local && size->local > d->local)
        return above(CL_OUT_OF_RESOURCES, "bytes of local memory", size->local, (size_t)d->local);
    if (d && d->parameter && size->parameter > d->parameter)
        return above(CL_OUT_OF_RESOURCES, "bytes of arguments", size->parameter, d->parameter);
    return CL_SUCCESS;
}

static void count_launch(const launch_size *size) {
    pretend_record *const record = &layer.record;
    pthread_mutex_lock(&layer.mutex);
    record->launches++;
    if (size->group > record->group) record->group = size->group;
    if (size->local > record->local) record->local = size->local;
    if (size->parameter > record->parameter) record->parameter = size->parameter;
    pthread_mutex_unlock(&layer.mutex);
}

static cl_int skipped(cl_command_queue queue, cl_uint count, const cl_event *waits, cl_event *event) {
    return event ? layer.next.clEnqueueMarkerWithWaitList(queue, count, waits, event) : CL_SUCCESS;
}

static cl_int CL_API_CALL own_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
    cl_uint dimensions, const size_t *offset, const size_t *global, const size_t *local, cl_uint count,
    const cl_event *waits, cl_event *event) {
    const pretend_device *const d = atomic_load(&layer.device);
    cl_int error = check_items(d, dimensions, global, local);
    if (atomic_load(&layer.left) >= 0 && atomic_fetch_sub(&layer.left, 1) == 0)
        atomic_store(&layer.lost, true);
    if (lost()) error = lost();
    if (error) return error;
    const launch_size size = size_of(queue, kernel, dimensions, local);
    if ((error = check_size(d, &size))) return error;
    count_launch(&size);
    atomic_store(&layer.busy, queue);
    if (atomic_load(&layer.skip)) return skipped(queue, count, waits, event);
    return layer.next.clEnqueueNDRangeKernel(
        queue, kernel, dimensions, offset, global, local, count, waits, event);
}

/* ---- transfers, which may be left out ---- */

/* Whose queue are the launches of that are still at work? */
static void note_transfer(cl_command_queue queue, bool waits) {
    cl_command_queue const busy = atomic_load(&layer.busy);
    if (busy && busy != queue) count_up(&layer.record.ahead);
    if (waits && busy == queue) atomic_store(&layer.busy, NULL);
}

static double clock_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool is_at_work(void) {
    return clock_seconds() < atomic_load(&layer.until);
}

LAYER_EXPORT void pretend_layer_turn(double seconds) {
    atomic_store(&layer.until, clock_seconds() + seconds);
}

static cl_int CL_API_CALL own_clGetEventInfo(
    cl_event event, cl_event_info what, size_t size, void *value, size_t *size_ret) {
    const cl_int running = CL_RUNNING;
    if (what != CL_EVENT_COMMAND_EXECUTION_STATUS || !is_at_work())
        return layer.next.clGetEventInfo(event, what, size, value, size_ret);
    return layer_answer(&running, sizeof running, size, value, size_ret);
}

/* As a device that is still at work. */
static void wait_longer(void) {
    while (is_at_work()) count_up(&layer.record.turns);
    const int delay = atomic_load(&layer.delay);
    const struct timespec time = {delay / 1000000, 1000L * (delay % 1000000)};
    if (delay > 0) nanosleep(&time, NULL);
}

#define TRANSFERS(name, count_of, blocking, parameters, arguments)                                           \
    static cl_int CL_API_CALL own_##name parameters {                                                        \
        count_up(&layer.record.count_of);                                                                    \
        if (lost()) return lost();                                                                           \
        note_transfer(queue, blocking);                                                                      \
        if (blocking) wait_longer();                                                                         \
        if (atomic_load(&layer.skip)) return skipped(queue, count, waits, event);                            \
        return layer.next.name arguments;                                                                    \
    }

TRANSFERS(clEnqueueReadBuffer, reads, blocks,
    (cl_command_queue queue, cl_mem memory, cl_bool blocks, size_t offset, size_t size, void *data,
        cl_uint count, const cl_event *waits, cl_event *event),
    (queue, memory, blocks, offset, size, data, count, waits, event))
TRANSFERS(clEnqueueWriteBuffer, writes, blocks,
    (cl_command_queue queue, cl_mem memory, cl_bool blocks, size_t offset, size_t size, const void *data,
        cl_uint count, const cl_event *waits, cl_event *event),
    (queue, memory, blocks, offset, size, data, count, waits, event))
TRANSFERS(clEnqueueFillBuffer, fills, false,
    (cl_command_queue queue, cl_mem memory, const void *pattern, size_t pattern_size, size_t offset,
        size_t size, cl_uint count, const cl_event *waits, cl_event *event),
    (queue, memory, pattern, pattern_size, offset, size, count, waits, event))
TRANSFERS(clEnqueueCopyBuffer, copies, false,
    (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size,
        cl_uint count, const cl_event *waits, cl_event *event),
    (queue, from, to, from_offset, to_offset, size, count, waits, event))

/* ---- waiting ---- */

static cl_int CL_API_CALL own_clFinish(cl_command_queue queue) {
    count_up(&layer.record.waits);
    atomic_store(&layer.busy, NULL);
    wait_longer();
    const cl_int result = layer.next.clFinish(queue);
    return lost() ? lost() : result;
}

static cl_int CL_API_CALL own_clWaitForEvents(cl_uint count, const cl_event *events) {
    count_up(&layer.record.waits);
    atomic_store(&layer.busy, NULL);
    wait_longer();
    const cl_int result = layer.next.clWaitForEvents(count, events);
    return lost() ? lost() : result;
}

/* ---- the loader's side ---- */

LAYER_EXPORT CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(
    cl_layer_info what, size_t size, void *value, size_t *size_ret) {
    return layer_info("Weft's pretended devices", what, size, value, size_ret);
}

static void take_functions(void) {
#define TAKE(name) layer.own.name = own_##name
    TAKE(clGetDeviceInfo);
    TAKE(clGetPlatformInfo);
    TAKE(clCreateProgramWithSource);
    TAKE(clBuildProgram);
    TAKE(clCreateBuffer);
    TAKE(clSetKernelArg);
    TAKE(clReleaseKernel);
    TAKE(clEnqueueNDRangeKernel);
    TAKE(clEnqueueReadBuffer);
    TAKE(clEnqueueWriteBuffer);
    TAKE(clEnqueueFillBuffer);
    TAKE(clEnqueueCopyBuffer);
    TAKE(clGetEventInfo);
    TAKE(clFinish);
    TAKE(clWaitForEvents);
}

LAYER_EXPORT CL_API_ENTRY cl_int CL_API_CALL clInitLayer(
    cl_uint count, const cl_icd_dispatch *next, cl_uint *count_ret, const cl_icd_dispatch **own) {
    const size_t entries = sizeof layer.next / sizeof(void *);
    const char *const name = getenv("PRETEND_OPENCL");
    if (!next || !count_ret || !own || count < entries) return CL_INVALID_VALUE;
    if (name && !pretend_layer_choose(name)) return CL_INVALID_VALUE;
    layer.next = *next;
    layer.own = *next;
    take_functions();
    *own = &layer.own;
    *count_ret = (cl_uint)entries;
    atomic_store(&layer.present, true);
    return CL_SUCCESS;
}
