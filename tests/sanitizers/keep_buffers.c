/* Preloaded by tools/run-oclgrind: no buffer is freed, and what runs is noted.
 *
 * Oclgrind 21.10 gives the address of a freed buffer to the next, and does not forget which of its bytes were initialised and how
 * many there were: of a longer buffer all the others count as uninitialised, whatever kernels write there.
 *
 * WEFT_RAN_FOLDER: a folder that gets the source of each program whose kernels are launched, <n>.cl, and their names, <n>.ran. */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KERNELS = 8192, MOST_PROGRAMS = 2048, NAME = 128 };

#define EXPORTED __attribute__((visibility("default")))

static cl_program programs[MOST_PROGRAMS];
static struct {
    cl_program program;
    char name[NAME];
} kernels[MOST_KERNELS];
static int program_count, kernel_count;

static void fail(const char *what) {
    fprintf(stderr, "keep_buffers: %s\n", what);
    abort();
}

static FILE *open_note(int number, const char *ending, const char *mode) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%d.%s", getenv("WEFT_RAN_FOLDER"), number, ending);
    FILE *const file = fopen(path, mode);
    if (!file) fail("WEFT_RAN_FOLDER cannot be written to");
    return file;
}

/* The program is kept, so that none after it has its address. */
static int add_program(cl_program program) {
    size_t size = 0;
    if (program_count == MOST_PROGRAMS) fail("too many programs");
    if (clRetainProgram(program) != CL_SUCCESS ||
        clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, NULL, &size) != CL_SUCCESS || size == 0)
        fail("a program has no source");
    char *const source = malloc(size);
    if (!source || clGetProgramInfo(program, CL_PROGRAM_SOURCE, size, source, NULL) != CL_SUCCESS)
        fail("a program's source cannot be read");
    FILE *const file = open_note(program_count, "cl", "w");
    fputs(source, file);
    fclose(file);
    free(source);
    programs[program_count] = program;
    return program_count++;
}

static int number_of(cl_program program) {
    for (int i = 0; i < program_count; i++)
        if (programs[i] == program) return i;
    return add_program(program);
}

static void note(cl_kernel kernel) {
    cl_program program = NULL;
    char name[NAME];
    if (clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL) != CL_SUCCESS ||
        clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL) != CL_SUCCESS)
        fail("a kernel has no name");
    for (int i = 0; i < kernel_count; i++)
        if (kernels[i].program == program && strcmp(kernels[i].name, name) == 0) return;
    if (kernel_count == MOST_KERNELS) fail("too many kernels");
    kernels[kernel_count].program = program;
    strcpy(kernels[kernel_count++].name, name);
    FILE *const file = open_note(number_of(program), "ran", "a");
    fprintf(file, "%s\n", name);
    fclose(file);
}

EXPORTED cl_int clReleaseMemObject(cl_mem memory) {
    (void)memory;
    return CL_SUCCESS;
}

EXPORTED cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
    const size_t *offset, const size_t *global, const size_t *local, cl_uint waits, const cl_event *wait,
    cl_event *event) {
    static union {
        void *found;
        cl_int (*call)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,
            cl_uint, const cl_event *, cl_event *);
    } next;
    if (!next.found) next.found = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
    if (!next.found) fail("there is no driver");
    if (getenv("WEFT_RAN_FOLDER")) note(kernel);
    return next.call(queue, kernel, dimensions, offset, global, local, waits, wait, event);
}
