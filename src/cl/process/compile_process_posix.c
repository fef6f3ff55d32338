/* weft-compile W N: compiles every N-th kernel of the request on standard input (cl/compile_request.h), beginning with the W-th from the
 * end, so that the driver has it in its folder. libweft starts this program (cl/compile_processes.h); it prints nothing.
 *
 * A kernel is compiled by launching one work-group. Its buffers are all zeros, whatever other kernels wrote before, because zeros are valid
 * as indices, lengths and offsets. Memory that a kernel does not touch takes no space.
 *
 * The result is 0 if each kernel was launched or too large, 1 if the request or the driver is not as expected. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, syscall */
#include "cl/compile_request.h"
#include <CL/cl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#endif
#include <unistd.h>

enum {
    MOST_PLATFORMS = 64,
    MOST_DEVICES = 64,
    MOST_FILES = 1024,  /* descriptors that the parent may have left open */
    KERNEL_SECONDS = 60 /* after which a kernel is taken to hang */
};

typedef struct program {
    uint64_t number;
    cl_program built;
} program;

typedef struct memory {
    uint64_t number;
    size_t bytes;
    void *pages; /* NULL: there are none yet */
    cl_mem buffer;
} memory;

typedef struct kernel {
    const char *name;
    cl_program program;
    wi_compile_size size;
    const char *arguments; /* not aligned */
    size_t argument_count;
} kernel;

typedef struct request {
    const char *at, *end; /* what has not been read */
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    program *programs;
    memory *memories;
    kernel *kernels;
    size_t program_count, memory_count, kernel_count;
    size_t bytes, most_bytes; /* of all buffers so far, and the most that they may have */
    bool too_large;           /* the launch would exceed them, and is left out */
} request;

/* ---- reading ---- */

static const char *take(request *r, uint64_t bytes) {
    const char *const taken = r->at;
    if (bytes > (uint64_t)(r->end - r->at)) return NULL;
    r->at += bytes;
    return taken;
}

static bool read_into(request *r, void *target, size_t bytes) {
    const char *const from = take(r, bytes);
    if (from) memcpy(target, from, bytes);
    return from != NULL;
}

static bool map_input(request *r) {
    struct stat input;
    if (fstat(STDIN_FILENO, &input) != 0 || input.st_size <= 0) return false;
    const size_t bytes = (size_t)input.st_size;
    const char *const text = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, STDIN_FILENO, 0);
    if (text == MAP_FAILED) return false;
    r->at = text;
    r->end = text + bytes;
    /* No record or argument is shorter. */
    const size_t most = bytes / sizeof(wi_compile_argument) + 1;
    r->programs = calloc(most, sizeof *r->programs);
    r->memories = calloc(most, sizeof *r->memories);
    r->kernels = calloc(most, sizeof *r->kernels);
    return r->programs && r->memories && r->kernels;
}

static bool open_device(request *r) {
    wi_compile_head head;
    cl_platform_id platforms[MOST_PLATFORMS];
    cl_device_id devices[MOST_DEVICES];
    cl_uint count = 0;
    cl_ulong most = 0;
    char name[sizeof head.name] = "";
    if (!read_into(r, &head, sizeof head) || head.magic != WI_COMPILE_MAGIC) return false;
    if (clGetPlatformIDs(MOST_PLATFORMS, platforms, &count) != CL_SUCCESS || head.platform >= count ||
        head.platform >= MOST_PLATFORMS)
        return false;
    if (clGetDeviceIDs(platforms[head.platform], CL_DEVICE_TYPE_ALL, MOST_DEVICES, devices, &count) !=
            CL_SUCCESS ||
        head.device >= count || head.device >= MOST_DEVICES)
        return false;
    r->device = devices[head.device];
    (void)clGetDeviceInfo(r->device, CL_DEVICE_NAME, sizeof name, name, NULL);
    if (strncmp(name, head.name, sizeof name) != 0) return false;
    if (clGetDeviceInfo(r->device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof most, &most, NULL) != CL_SUCCESS)
        return false;
    r->most_bytes = (size_t)(most / 4);
    r->context = clCreateContext(NULL, 1, &r->device, NULL, NULL, NULL);
    r->queue = r->context ? clCreateCommandQueue(r->context, r->device, 0, NULL) : NULL;
    return r->queue != NULL;
}

static bool is_text(const char *text, uint64_t bytes) {
    return text && bytes > 0 && text[bytes - 1] == '\0';
}

static bool read_program(request *r, const wi_compile_record *record) {
    const char *const source = take(r, record->first), *const options = take(r, record->second);
    if (!is_text(source, record->first) || !is_text(options, record->second)) return false;
    program *const own = &r->programs[r->program_count++];
    own->number = record->program;
    own->built = clCreateProgramWithSource(r->context, 1, (const char **)&source, NULL, NULL);
    return own->built && clBuildProgram(own->built, 1, &r->device, options, NULL, NULL) == CL_SUCCESS;
}

static bool read_kernel(request *r, const wi_compile_record *record) {
    kernel *const own = &r->kernels[r->kernel_count++];
    own->name = take(r, record->first);
    own->argument_count = (size_t)record->second;
    for (size_t i = 0; i < r->program_count; i++)
        if (r->programs[i].number == record->program) own->program = r->programs[i].built;
    if (!is_text(own->name, record->first) || !own->program || !read_into(r, &own->size, sizeof own->size))
        return false;
    if (record->second > (uint64_t)(r->end - r->at)) return false;
    own->arguments = take(r, record->second * sizeof(wi_compile_argument));
    return own->arguments != NULL;
}

static bool read_records(request *r) {
    wi_compile_record record;
    while (r->at < r->end) {
        if (!read_into(r, &record, sizeof record)) return false;
        const bool read = record.kind == WI_COMPILE_SOURCE   ? read_program(r, &record)
                          : record.kind == WI_COMPILE_KERNEL ? read_kernel(r, &record)
                                                             : false;
        if (!read) return false;
    }
    return true;
}

/* ---- launching ---- */

static memory *find_memory(request *r, const wi_compile_argument *argument) {
    memory *const next = &r->memories[r->memory_count];
    for (memory *own = r->memories; own < next; own++)
        if (own->number == argument->buffer) return own;
    r->memory_count++;
    next->number = argument->buffer;
    next->bytes = (size_t)argument->bytes;
    return next;
}

/* Gives the memory pages of zeros, instead of those that other kernels have written to. */
static bool clear_memory(request *r, memory *own) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (own->pages ? MAP_FIXED : 0);
    r->too_large = !own->pages && own->bytes > r->most_bytes - r->bytes;
    if (r->too_large) return false;
    void *const pages = mmap(own->pages, own->bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (pages == MAP_FAILED) return false;
    if (own->pages) return true;
    own->pages = pages;
    r->bytes += own->bytes;
    own->buffer =
        clCreateBuffer(r->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, own->bytes, pages, NULL);
    return own->buffer != NULL;
}

static bool set_argument(request *r, cl_kernel made, cl_uint index, const wi_compile_argument *argument) {
    if (argument->buffer == 0 && argument->bytes == 0)
        return clSetKernelArg(made, index, sizeof(cl_mem), NULL) == CL_SUCCESS;
    if (argument->buffer == 0)
        return argument->bytes <= sizeof argument->value &&
               clSetKernelArg(made, index, (size_t)argument->bytes, argument->value) == CL_SUCCESS;
    memory *const own = find_memory(r, argument);
    return clear_memory(r, own) &&
           clSetKernelArg(made, index, sizeof own->buffer, &own->buffer) == CL_SUCCESS;
}

static bool launch(request *r, const kernel *own) {
    size_t local[3];
    const cl_uint dimensions = own->size.dimensions <= 3 ? (cl_uint)own->size.dimensions : 0;
    const cl_kernel made = clCreateKernel(own->program, own->name, NULL);
    bool complete = made != NULL && dimensions > 0;
    r->too_large = false;
    for (int i = 0; i < 3; i++) local[i] = (size_t)own->size.local[i];
    for (size_t i = 0; complete && i < own->argument_count; i++) {
        wi_compile_argument argument;
        memcpy(&argument, own->arguments + i * sizeof argument, sizeof argument);
        complete = set_argument(r, made, (cl_uint)i, &argument);
    }
    alarm(KERNEL_SECONDS);
    complete =
        complete &&
        clEnqueueNDRangeKernel(r->queue, made, dimensions, NULL, local, local, 0, NULL, NULL) == CL_SUCCESS &&
        clFinish(r->queue) == CL_SUCCESS;
    if (made) clReleaseKernel(made);
    return complete || r->too_large;
}

/* ---- the process ---- */

/* Releases what the parent had open, leaves no core file if a kernel crashes, and may use the tile registers of Intel's AMX if the parent
 * may: Linux takes this permission (ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) from a process that begins another program. */
static void prepare(void) {
    const struct rlimit none = {0, 0};
    for (int file = STDERR_FILENO + 1; file < MOST_FILES; file++) close(file);
    (void)setrlimit(RLIMIT_CORE, &none);
#if defined(__linux__) && defined(__x86_64__)
    (void)syscall(SYS_arch_prctl, 0x1023, 18);
#endif
}

int main(int argc, char **argv) {
    static request r;
    const unsigned long which = argc == 3 ? strtoul(argv[1], NULL, 10) : 0,
                        step = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    bool complete = true;
    prepare();
    if (step == 0 || !map_input(&r) || !open_device(&r) || !read_records(&r)) return 1;
    for (size_t i = which; i < r.kernel_count; i += step)
        complete = launch(&r, &r.kernels[r.kernel_count - 1 - i]) && complete;
    /* Not exit(): drivers may crash in their handlers of a process's end. */
    _exit(complete ? 0 : 1);
}
