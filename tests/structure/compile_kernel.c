/* Compiles one kernel file with common.clh and the headers that it asks for before it, on the first device of
 * each platform.
 *
 * Usage: compile_kernel LANES COMMON [HEADER ...] FILE. A .cl file must hold at least one kernel. Exit status
 * 0: it compiled everywhere; 1: it did not (the build log is printed), or there is no OpenCL device to ask.
 */
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILES = 4, MAX_PLATFORMS = 16, MAX_TEXT = 1 << 20, MAX_LOG = 1 << 16 };

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, MAX_TEXT);
    if (!file || !text || fread(text, 1, MAX_TEXT - 1, file) == 0) {
        fprintf(stderr, "%s cannot be read\n", path);
        free(text);
        text = NULL;
    }
    if (file) fclose(file);
    return text;
}

static void print_log(cl_program program, cl_device_id device) {
    static char log[MAX_LOG];
    if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL) == CL_SUCCESS)
        fprintf(stderr, "%s\n", log);
}

static int build(cl_context context, cl_device_id device, const char *const *sources, cl_uint count,
    const char *options, size_t *kernels) {
    cl_int error = CL_SUCCESS;
    cl_program program = clCreateProgramWithSource(context, count, (const char **)sources, NULL, &error);
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
static int compile_on(cl_platform_id platform, const char *const *sources, cl_uint count, const char *options,
    size_t *kernels) {
    cl_device_id device = NULL;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS) return -1;
    char name[256] = "";
    clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL);
    cl_int error = CL_SUCCESS;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    if (error != CL_SUCCESS) return 0;
    const int compiled = build(context, device, sources, count, options, kernels);
    clReleaseContext(context);
    printf("%s: %s\n", name, compiled ? "compiled" : "did not compile");
    return compiled;
}

static int compile_everywhere(
    const char *const *sources, cl_uint files, const char *options, size_t least_kernels) {
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint count = 0;
    if (clGetPlatformIDs(MAX_PLATFORMS, platforms, &count) != CL_SUCCESS) count = 0;
    int tried = 0, failed = 0;
    for (cl_uint i = 0; i < count && i < MAX_PLATFORMS; i++) {
        size_t kernels = 0;
        const int compiled = compile_on(platforms[i], sources, files, options, &kernels);
        if (compiled < 0) continue;
        tried++;
        if (compiled && kernels < least_kernels) fprintf(stderr, "the file holds no kernel\n");
        failed += !compiled || kernels < least_kernels;
    }
    if (!tried) fprintf(stderr, "no OpenCL device to compile on\n");
    return tried > 0 && failed == 0;
}

int main(int argc, char **argv) {
    const int count = argc - 2;
    if (count < 2 || count > MAX_FILES) {
        fprintf(stderr, "usage: compile_kernel LANES COMMON [HEADER ...] FILE\n");
        return 1;
    }
    char *texts[MAX_FILES];
    int good = 1;
    for (int i = 0; i < count; i++) good &= (texts[i] = read_file(argv[2 + i])) != NULL;
    char options[128];
    snprintf(options, sizeof options, "-cl-std=CL1.2 -DWEFT_LANES=%s", argv[1]);
    const char *suffix = strrchr(argv[argc - 1], '.');
    const size_t least = suffix && strcmp(suffix, ".cl") == 0 ? 1 : 0;
    good = good && compile_everywhere((const char *const *)texts, (cl_uint)count, options, least);
    for (int i = 0; i < count; i++) free(texts[i]);
    return !good;
}
