/* The layer (contract in fault_layer.h): one table of functions, and a wrapper for each. */
#include "fault_layer.h"
#include "fault_functions.h"
#include "support/opencl_layer.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT LAYER_EXPORT

#define NUMBER(name, ...) AT_##name,
enum { FUNCTIONS(NUMBER) COUNT };
#define ERRORS(name, enqueues, ...) static const cl_int errors_##name[] = {__VA_ARGS__, 0};
FUNCTIONS(ERRORS)
#define ROW(name, enqueues, ...) {#name, enqueues, errors_##name},
static const fault_function table[COUNT] = {FUNCTIONS(ROW)};

enum { MOST_ENDED = 64 };
enum { CONTEXTS, QUEUES, BUFFERS, MAPPINGS, PROGRAMS, KERNELS, EVENTS, SUB_DEVICES, KINDS };
static const char *const kind_names[KINDS] = {
    "contexts", "queues", "buffers", "mappings", "programs", "kernels", "events", "sub-devices"};

static struct {
    cl_icd_dispatch next, own;
    atomic_bool present;
    atomic_size_t function; /* that is to fail */
    atomic_long remaining;  /* calls until then; 0: none */
    atomic_int error;
    atomic_bool later, hit;
    atomic_int pending; /* what the next call that waits returns */
    _Atomic(cl_program) unbuilt;
    _Atomic(cl_event) ended[MOST_ENDED]; /* events of commands that were dropped; the latest */
    atomic_uint ended_count;
    atomic_long calls[COUNT], live[KINDS];
} layer;

static _Thread_local int depth __attribute__((tls_model("initial-exec")));

/* ---- control ---- */

EXPORT size_t fault_layer_functions(const fault_function **functions) {
    *functions = table;
    return COUNT;
}

EXPORT void fault_layer_arm(size_t function, long nth, cl_int error, bool later) {
    for (int i = 0; i < COUNT; i++) atomic_store(&layer.calls[i], 0);
    atomic_store(&layer.hit, false);
    atomic_store(&layer.pending, CL_SUCCESS);
    atomic_store(&layer.unbuilt, NULL);
    for (int i = 0; i < MOST_ENDED; i++) atomic_store(&layer.ended[i], NULL);
    atomic_store(&layer.function, function);
    atomic_store(&layer.error, error);
    atomic_store(&layer.later, later);
    atomic_store(&layer.remaining, nth);
}

EXPORT bool fault_layer_hit(void) {
    return atomic_load(&layer.hit);
}

EXPORT long fault_layer_calls(size_t function) {
    return atomic_load(&layer.calls[function]);
}

EXPORT long fault_layer_live(void) {
    long sum = 0;
    for (int i = 0; i < KINDS; i++) sum += labs(atomic_load(&layer.live[i]));
    return sum;
}

EXPORT void fault_layer_describe_live(char *text, size_t capacity) {
    size_t used = 0;
    if (capacity) text[0] = '\0';
    for (int i = 0; i < KINDS && used < capacity; i++)
        if (atomic_load(&layer.live[i]))
            used += (size_t)snprintf(text + used, capacity - used, "%s%ld %s", used ? ", " : "",
                atomic_load(&layer.live[i]), kind_names[i]);
}

EXPORT bool fault_layer_inside(void) {
    return depth > 0;
}

EXPORT bool fault_layer_present(void) {
    return atomic_load(&layer.present);
}

/* The error of this call, if it is to fail. */
static cl_int due(size_t function) {
    atomic_fetch_add(&layer.calls[function], 1);
    if (atomic_load(&layer.function) != function) return CL_SUCCESS;
    if (atomic_load(&layer.remaining) <= 0) return CL_SUCCESS;
    if (atomic_fetch_sub(&layer.remaining, 1) != 1) return CL_SUCCESS;
    atomic_store(&layer.hit, true);
    if (atomic_load(&layer.error) > 0) abort(); /* a driver that ends the process */
    return atomic_load(&layer.error);
}

static cl_int give(cl_int *to, cl_int error) {
    if (to) *to = error;
    return error;
}

/* What a command that failed earlier has left for who waits. */
static cl_int take_pending(void) {
    return atomic_exchange(&layer.pending, CL_SUCCESS);
}

/* PoCL 3.1 never ends a command that waits for an event with an error: such commands are dropped, too. */
static bool waits_for_ended(cl_uint count, const cl_event *waits) {
    for (cl_uint i = 0; i < count; i++)
        for (int k = 0; k < MOST_ENDED; k++)
            if (waits[i] == atomic_load(&layer.ended[k])) return true;
    return false;
}

/* ---- calls that only return a status ---- */

#define PLAIN(name, parameters, arguments)                                                                   \
    static cl_int CL_API_CALL own_##name parameters {                                                        \
        const cl_int error = due(AT_##name);                                                                 \
        if (error) return error;                                                                             \
        depth++;                                                                                             \
        const cl_int result = layer.next.name arguments;                                                     \
        depth--;                                                                                             \
        return result;                                                                                       \
    }
#define INFO_PARAMETERS(type, info) (type object, info what, size_t size, void *value, size_t *size_ret)
#define INFO_ARGUMENTS              (object, what, size, value, size_ret)

PLAIN(clGetPlatformIDs, (cl_uint n, cl_platform_id *ids, cl_uint *count), (n, ids, count))
PLAIN(clGetPlatformInfo, INFO_PARAMETERS(cl_platform_id, cl_platform_info), INFO_ARGUMENTS)
PLAIN(clGetDeviceIDs, (cl_platform_id of, cl_device_type type, cl_uint n, cl_device_id *ids, cl_uint *count),
    (of, type, n, ids, count))
PLAIN(clGetDeviceInfo, INFO_PARAMETERS(cl_device_id, cl_device_info), INFO_ARGUMENTS)
PLAIN(clGetContextInfo, INFO_PARAMETERS(cl_context, cl_context_info), INFO_ARGUMENTS)
PLAIN(clGetCommandQueueInfo, INFO_PARAMETERS(cl_command_queue, cl_command_queue_info), INFO_ARGUMENTS)
PLAIN(clGetMemObjectInfo, INFO_PARAMETERS(cl_mem, cl_mem_info), INFO_ARGUMENTS)
PLAIN(clGetProgramInfo, INFO_PARAMETERS(cl_program, cl_program_info), INFO_ARGUMENTS)
PLAIN(clGetKernelInfo, INFO_PARAMETERS(cl_kernel, cl_kernel_info), INFO_ARGUMENTS)
PLAIN(clGetEventInfo, INFO_PARAMETERS(cl_event, cl_event_info), INFO_ARGUMENTS)
PLAIN(clGetEventProfilingInfo, INFO_PARAMETERS(cl_event, cl_profiling_info), INFO_ARGUMENTS)
PLAIN(clSetKernelArg, (cl_kernel kernel, cl_uint index, size_t size, const void *value),
    (kernel, index, size, value))
PLAIN(clSetMemObjectDestructorCallback,
    (cl_mem memory, void(CL_CALLBACK *notify)(cl_mem, void *), void *user), (memory, notify, user))
PLAIN(clFlush, (cl_command_queue queue), (queue))

static cl_int CL_API_CALL own_clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices,
    const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void *user) {
    const cl_int error = due(AT_clBuildProgram);
    if (error == CL_BUILD_PROGRAM_FAILURE) atomic_store(&layer.unbuilt, program);
    if (error) return error;
    depth++;
    const cl_int result = layer.next.clBuildProgram(program, count, devices, options, notify, user);
    depth--;
    return result;
}

static cl_int CL_API_CALL own_clGetProgramBuildInfo(cl_program program, cl_device_id device,
    cl_program_build_info what, size_t size, void *value, size_t *size_ret) {
    const cl_int error = due(AT_clGetProgramBuildInfo);
    if (error) return error;
    if (what == CL_PROGRAM_BUILD_LOG && program == atomic_load(&layer.unbuilt)) {
        if (size_ret) *size_ret = sizeof FAULT_BUILD_LOG;
        if (value && size < sizeof FAULT_BUILD_LOG) return CL_INVALID_VALUE;
        if (value) memcpy(value, FAULT_BUILD_LOG, sizeof FAULT_BUILD_LOG);
        return CL_SUCCESS;
    }
    depth++;
    const cl_int result = layer.next.clGetProgramBuildInfo(program, device, what, size, value, size_ret);
    depth--;
    return result;
}

/* ---- calls that wait: they do so, and then report what is pending ---- */

#define WAITS(name, parameters, arguments, code)                                                             \
    static cl_int CL_API_CALL own_##name parameters {                                                        \
        const cl_int error = due(AT_##name);                                                                 \
        depth++;                                                                                             \
        const cl_int result = layer.next.name arguments;                                                     \
        depth--;                                                                                             \
        if (error) return error;                                                                             \
        return take_pending() ? code : result;                                                               \
    }

WAITS(clFinish, (cl_command_queue queue), (queue), CL_OUT_OF_RESOURCES)

static cl_int CL_API_CALL own_clWaitForEvents(cl_uint count, const cl_event *events) {
    const cl_int error = due(AT_clWaitForEvents);
    const bool ended = waits_for_ended(count, events);
    depth++;
    const cl_int result = ended ? CL_SUCCESS : layer.next.clWaitForEvents(count, events);
    depth--;
    if (error) return error;
    return take_pending() || ended ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : result;
}

/* ---- objects: a release that fails has released all the same ---- */

#define CREATES(type, name, kind, parameters, arguments)                                                     \
    static type CL_API_CALL own_##name parameters {                                                          \
        if (give(code, due(AT_##name))) return NULL;                                                         \
        depth++;                                                                                             \
        type const made = layer.next.name arguments;                                                         \
        depth--;                                                                                             \
        if (made) atomic_fetch_add(&layer.live[kind], 1);                                                    \
        return made;                                                                                         \
    }
#define RETAINS(type, name, kind)                                                                            \
    static cl_int CL_API_CALL own_##name(type object) {                                                      \
        const cl_int error = due(AT_##name);                                                                 \
        if (error) return error;                                                                             \
        depth++;                                                                                             \
        const cl_int result = layer.next.name(object);                                                       \
        depth--;                                                                                             \
        if (result == CL_SUCCESS) atomic_fetch_add(&layer.live[kind], 1);                                    \
        return result;                                                                                       \
    }
#define RELEASES(type, name, kind)                                                                           \
    static cl_int CL_API_CALL own_##name(type object) {                                                      \
        const cl_int error = due(AT_##name);                                                                 \
        depth++;                                                                                             \
        const cl_int result = layer.next.name(object);                                                       \
        depth--;                                                                                             \
        if (result == CL_SUCCESS) atomic_fetch_sub(&layer.live[kind], 1);                                    \
        return error ? error : result;                                                                       \
    }

CREATES(cl_context, clCreateContext, CONTEXTS,
    (const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
        void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user, cl_int *code),
    (properties, count, devices, notify, user, code))
CREATES(cl_command_queue, clCreateCommandQueue, QUEUES,
    (cl_context context, cl_device_id device, cl_command_queue_properties properties, cl_int *code),
    (context, device, properties, code))
CREATES(cl_mem, clCreateBuffer, BUFFERS,
    (cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code),
    (context, flags, size, host, code))
CREATES(cl_program, clCreateProgramWithSource, PROGRAMS,
    (cl_context context, cl_uint count, const char **texts, const size_t *lengths, cl_int *code),
    (context, count, texts, lengths, code))
CREATES(cl_program, clCreateProgramWithBinary, PROGRAMS,
    (cl_context context, cl_uint count, const cl_device_id *devices, const size_t *lengths,
        const unsigned char **binaries, cl_int *states, cl_int *code),
    (context, count, devices, lengths, binaries, states, code))
CREATES(cl_kernel, clCreateKernel, KERNELS, (cl_program program, const char *name, cl_int *code),
    (program, name, code))
RETAINS(cl_context, clRetainContext, CONTEXTS)
RETAINS(cl_command_queue, clRetainCommandQueue, QUEUES)
RETAINS(cl_mem, clRetainMemObject, BUFFERS)
RELEASES(cl_context, clReleaseContext, CONTEXTS)
RELEASES(cl_command_queue, clReleaseCommandQueue, QUEUES)
RELEASES(cl_mem, clReleaseMemObject, BUFFERS)
RELEASES(cl_program, clReleaseProgram, PROGRAMS)
RELEASES(cl_kernel, clReleaseKernel, KERNELS)
RELEASES(cl_event, clReleaseEvent, EVENTS)
RELEASES(cl_device_id, clReleaseDevice, SUB_DEVICES)

static cl_int CL_API_CALL own_clCreateSubDevices(cl_device_id device,
    const cl_device_partition_property *properties, cl_uint most, cl_device_id *made, cl_uint *count) {
    const cl_int error = due(AT_clCreateSubDevices);
    if (error) return error;
    depth++;
    const cl_int result = layer.next.clCreateSubDevices(device, properties, most, made, count);
    depth--;
    if (result == CL_SUCCESS && made) atomic_fetch_add(&layer.live[SUB_DEVICES], (long)*count);
    return result;
}

/* ---- commands ---- */

static cl_event user_event(cl_command_queue queue) {
    cl_context context = NULL;
    cl_int code = CL_SUCCESS;
    if (layer.next.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL))
        return NULL;
    return layer.next.clCreateUserEvent(context, &code);
}

/* An event that has ended with the error. */
static cl_event ended_event(cl_command_queue queue, cl_int error) {
    cl_event const event = user_event(queue);
    if (event) layer.next.clSetUserEventStatus(event, error);
    if (event) atomic_store(&layer.ended[atomic_fetch_add(&layer.ended_count, 1) % MOST_ENDED], event);
    return event;
}

/* The command is dropped. A blocking one knows so at once. */
static cl_int drop(cl_command_queue queue, bool blocking, cl_int error, cl_event *event) {
    if (!atomic_load(&layer.later) || blocking) return error;
    atomic_store(&layer.pending, error);
    if (!event) return CL_SUCCESS;
    depth++;
    *event = ended_event(queue, error);
    depth--;
    if (*event) atomic_fetch_add(&layer.live[EVENTS], 1);
    return *event ? CL_SUCCESS : error;
}

/* A blocking command waits for those before it. */
static cl_int finish(cl_int result, bool blocking, const cl_event *event) {
    if (result == CL_SUCCESS && event && *event) atomic_fetch_add(&layer.live[EVENTS], 1);
    return blocking && take_pending() ? CL_OUT_OF_RESOURCES : result;
}

#define COMMANDS(name, blocking, parameters, arguments)                                                      \
    static cl_int CL_API_CALL own_##name parameters {                                                        \
        cl_int error = due(AT_##name);                                                                       \
        if (error) return drop(queue, blocking, error, event);                                               \
        if (waits_for_ended(count, waits))                                                                   \
            return drop(queue, blocking, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, event);               \
        depth++;                                                                                             \
        const cl_int result = layer.next.name arguments;                                                     \
        depth--;                                                                                             \
        return finish(result, blocking, event);                                                              \
    }

COMMANDS(clEnqueueReadBuffer, blocks,
    (cl_command_queue queue, cl_mem memory, cl_bool blocks, size_t offset, size_t size, void *data,
        cl_uint count, const cl_event *waits, cl_event *event),
    (queue, memory, blocks, offset, size, data, count, waits, event))
COMMANDS(clEnqueueWriteBuffer, blocks,
    (cl_command_queue queue, cl_mem memory, cl_bool blocks, size_t offset, size_t size, const void *data,
        cl_uint count, const cl_event *waits, cl_event *event),
    (queue, memory, blocks, offset, size, data, count, waits, event))
COMMANDS(clEnqueueFillBuffer, false,
    (cl_command_queue queue, cl_mem memory, const void *pattern, size_t pattern_size, size_t offset,
        size_t size, cl_uint count, const cl_event *waits, cl_event *event),
    (queue, memory, pattern, pattern_size, offset, size, count, waits, event))
COMMANDS(clEnqueueCopyBuffer, false,
    (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size,
        cl_uint count, const cl_event *waits, cl_event *event),
    (queue, from, to, from_offset, to_offset, size, count, waits, event))
COMMANDS(clEnqueueNDRangeKernel, false,
    (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset, const size_t *global,
        const size_t *local, cl_uint count, const cl_event *waits, cl_event *event),
    (queue, kernel, dimensions, offset, global, local, count, waits, event))
COMMANDS(clEnqueueMarkerWithWaitList, false,
    (cl_command_queue queue, cl_uint count, const cl_event *waits, cl_event *event),
    (queue, count, waits, event))
COMMANDS(clEnqueueBarrierWithWaitList, false,
    (cl_command_queue queue, cl_uint count, const cl_event *waits, cl_event *event),
    (queue, count, waits, event))

static void *CL_API_CALL own_clEnqueueMapBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocks,
    cl_map_flags flags, size_t offset, size_t size, cl_uint count, const cl_event *waits, cl_event *event,
    cl_int *code) {
    const cl_int error = due(AT_clEnqueueMapBuffer);
    if (give(code, error)) return NULL; /* there is no later: the address is returned now */
    depth++;
    void *const data =
        layer.next.clEnqueueMapBuffer(queue, memory, blocks, flags, offset, size, count, waits, event, code);
    depth--;
    if (data) atomic_fetch_add(&layer.live[MAPPINGS], 1);
    finish(data ? CL_SUCCESS : CL_MAP_FAILURE, false, event);
    return data;
}

/* The mapping ends even where the command fails later, as an object does whose release fails. */
static cl_int CL_API_CALL own_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *data,
    cl_uint count, const cl_event *waits, cl_event *event) {
    cl_int error = due(AT_clEnqueueUnmapMemObject);
    if (error && !atomic_load(&layer.later)) return error;
    const bool ended = waits_for_ended(count, waits);
    if (ended) error = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    depth++;
    const cl_int result = layer.next.clEnqueueUnmapMemObject(
        queue, memory, data, ended ? 0 : count, ended ? NULL : waits, error ? NULL : event);
    depth--;
    if (result == CL_SUCCESS) atomic_fetch_sub(&layer.live[MAPPINGS], 1);
    return error ? drop(queue, false, error, event) : finish(result, false, event);
}

/* ---- the loader's side ---- */

/* FAULT_OPENCL="NAME NTH ERROR [later]" */
static void read_environment(void) {
    char name[64] = "", when[8] = "";
    long nth = 0;
    int error = 0;
    const char *const text = getenv("FAULT_OPENCL");
    if (!text || sscanf(text, "%63s %ld %d %7s", name, &nth, &error, when) < 3) return;
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(table[i].name, name) == 0) fault_layer_arm(i, nth, error, strcmp(when, "later") == 0);
}

EXPORT CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(
    cl_layer_info what, size_t size, void *value, size_t *size_ret) {
    return layer_info("Weft's faults", what, size, value, size_ret);
}

EXPORT CL_API_ENTRY cl_int CL_API_CALL clInitLayer(
    cl_uint count, const cl_icd_dispatch *next, cl_uint *count_ret, const cl_icd_dispatch **own) {
    const size_t entries = sizeof layer.next / sizeof(void *);
    if (!next || !count_ret || !own || count < entries) return CL_INVALID_VALUE;
    layer.next = *next;
    layer.own = *next;
#define TAKE(name, ...) layer.own.name = own_##name;
    FUNCTIONS(TAKE)
    *own = &layer.own;
    *count_ret = (cl_uint)entries;
    read_environment();
    atomic_store(&layer.present, true);
    return CL_SUCCESS;
}
