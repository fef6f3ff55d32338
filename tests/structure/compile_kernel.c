/* Compiles one kernel file with common.clh and the headers that it asks for before it, on the first device of
 * each platform. Files that a file includes are those embedded in the library.
 *
 * Usage: compile_kernel LANES COMMON [HEADER ...] FILE. A .cl file must hold at least one kernel. Exit status
 * 0: it compiled everywhere; 1: it did not (the build log is printed), or there is no OpenCL device to ask.
 */
#include "cl/kernel_source.h"

#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLATFORMS = 16, MAX_TEXT = 1 << 20, MAX_LOG = 1 << 16 };

static bool append_file(wi_text *source, const char *path) {
    static char text[MAX_TEXT];
    FILE *file = fopen(path, "rb");
    const size_t bytes = file ? fread(text, 1, MAX_TEXT, file) : 0;
    if (file) fclose(file);
    if (bytes > 0 && wi_kernel_source_expand(source, text, bytes) == WEFT_OK) return true;
    fprintf(stderr, "%s cannot be read\n", path);
    return false;
}

static void print_log(cl_program program, cl_device_id device) {
    static char log[MAX_LOG];
    if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL) == CL_SUCCESS)
        fprintf(stderr, "%s\n", log);
}

static int build(
    cl_context context, cl_device_id device, const char *source, const char *options, size_t *kernels) {
    cl_int error = CL_SUCCESS;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    if (error != CL_SUCCESS) return 0;
    error = clBuildProgram(program, 1, &device, options, NULL, NULL);
    if (error != CL_SUCCESS)
        print_log(program, device);
    else
        error = clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof *kernels, kernels, NULL);
    clReleaseProgram(program);
    return error == CL_SUCCESS;
}

/* 1: compiled; 0: did not; -1: the platform has no device. */
static int compile_on(cl_platform_id platform, const char *source, const char *options, size_t *kernels) {
    cl_device_id device = NULL;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS) return -1;
    char name[256] = "";
    clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL);
    cl_int error = CL_SUCCESS;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    if (error != CL_SUCCESS) return 0;
    const int compiled = build(context, device, source, options, kernels);
    clReleaseContext(context);
    printf("%s: %s\n", name, compiled ? "compiled" : "did not compile");
    return compiled;
}

static int compile_everywhere(const char *source, const char *options, size_t least_kernels) {
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint count = 0;
    if (clGetPlatformIDs(MAX_PLATFORMS, platforms, &count) != CL_SUCCESS) count = 0;
    int tried = 0, failed = 0;
    for (cl_uint i = 0; i < count && i < MAX_PLATFORMS; i++) {
        size_t kernels = 0;
        const int compiled = compile_on(platforms[i], source, options, &kernels);
        if (compiled < 0) continue;
        tried++;
        if (compiled && kernels < least_kernels) fprintf(stderr, "the file holds no kernel\n");
        failed += !compiled || kernels < least_kernels;
    }
    if (!tried) fprintf(stderr, "no OpenCL device to compile on\n");
    return tried > 0 && failed == 0;
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: compile_kernel LANES COMMON [HEADER ...] FILE\n");
        return 1;
    }
    wi_text source;
    bool good = true;
    wi_text_init(&source, NULL);
    for (int i = 2; i < argc; i++) good = good && append_file(&source, argv[i]);
    char options[128];
    snprintf(options, sizeof options, "-cl-std=CL1.2 -DWEFT_LANES=%s", argv[1]);
    const char *suffix = strrchr(argv[argc - 1], '.');
    const size_t least = suffix && strcmp(suffix, ".cl") == 0 ? 1 : 0;
    good = good && compile_everywhere(source.data, options, least);
    wi_text_clear(&source);
    return !good;
}
