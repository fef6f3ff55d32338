/* Compiles kernel files on the first device of each platform.
 *
 * Usage: compile_kernel LANES               all files of cl_kernels that are for this number of lanes
 *        compile_kernel LANES FILE          a template of cl_kernels, for each implementation of the registry that names
 *                                           it, with each variant of its parameters; or a header, for the first
 *                                           implementation and variant: templates are compiled with their headers
 *        compile_kernel LANES COMMON FILE   any other file, after the file COMMON
 *
 * On PoCL a template is compiled after builtins.clh, which must declare all that it calls; any other file after the driver's
 * own header. Files that a file includes are those embedded in the library. A .cl file must hold at least one kernel. Kernels for
 * AMX are left out, which is printed, where amx.clh finds no compiler for it. Exit
 * status 0: it compiled everywhere else without a warning; 1: it did not (the build log is printed), no implementation
 * names it, or there is no OpenCL device to ask.
 */
#include "cl/kernel_source.h"
#include "cl/opened_device.h"
#include "kernels/registry.h"
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLATFORMS = 16, MAX_TEXT = 1 << 20, MAX_LOG = 1 << 16 };

/* What stands before the source on PoCL in place of its own header, as in src/cl/compile.c; "" where that is read. */
static const char *declarations = "";

enum { FAILED, COMPILED, LEFT_OUT, NO_DEVICE };

/* Of a build that failed: AMX is written in assembly, which Intel's compiler, for one, does not take. */
static int judge_log(cl_program program, cl_device_id device) {
    static char log[MAX_LOG];
    if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL) != CL_SUCCESS)
        return FAILED;
    if (strstr(log, "no compiler for a processor with AMX")) return LEFT_OUT;
    fprintf(stderr, "%s\n", log);
    return FAILED;
}

static int build(
    cl_context context, cl_device_id device, const char *const *texts, const char *options, size_t *kernels) {
    cl_int error = CL_SUCCESS;
    cl_program program = clCreateProgramWithSource(context, 2, (const char **)texts, NULL, &error);
    if (error != CL_SUCCESS) return FAILED;
    int result = COMPILED;
    if (clBuildProgram(program, 1, &device, options, NULL, NULL) != CL_SUCCESS)
        result = judge_log(program, device);
    else if (clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof *kernels, kernels, NULL) != CL_SUCCESS)
        result = FAILED;
    clReleaseProgram(program);
    return result;
}

static int is_pocl(cl_platform_id platform) {
    char name[256] = "";
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL);
    return strcmp(name, "Portable Computing Language") == 0;
}

/* The device's context, for all that is compiled: PoCL reads its library of built-in functions anew for each context. */
static cl_context context_of(cl_device_id device) {
    static struct {
        cl_device_id device;
        cl_context context;
    } opened[MAX_PLATFORMS];
    size_t i = 0;
    while (i + 1 < MAX_PLATFORMS && opened[i].device && opened[i].device != device) i++;
    if (opened[i].device == device) return opened[i].context;
    opened[i].device = device;
    opened[i].context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    return opened[i].context;
}

static int compile_on(cl_platform_id platform, const char *source, const char *options, size_t *kernels) {
    static const char *const said[] = {"did not compile", "compiled", "left out: its compiler knows no AMX"};
    cl_device_id device = NULL;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS) return NO_DEVICE;
    char name[256] = "", own_options[160];
    clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL);
    const int declares = *declarations && is_pocl(platform);
    const char *const texts[] = {declares ? declarations : "", source};
    snprintf(own_options, sizeof own_options, "%s%s", options, declares ? " -D_OPENCL_H_" : "");
    cl_context context = context_of(device);
    if (!context) return FAILED;
    const int result = build(context, device, texts, own_options, kernels);
    printf("%s: %s\n", name, said[result]);
    return result;
}

static int compile_everywhere(const char *source, const char *lanes, size_t least_kernels) {
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint count = 0;
    char options[128];
    const wi_capabilities caps = {.device_class = strcmp(lanes, "16") == 0 ? WEFT_CLASS_CPU : WEFT_CLASS_GPU,
        .max_work_group_size = 256};
    const wi_device_profile profile = wi_device_profile_of(&caps);
    snprintf(options, sizeof options, "-cl-std=CL1.2 -Werror -DWEFT_LANES=%d -DWEFT_GROUP=%d", profile.lanes,
        profile.group);
    if (clGetPlatformIDs(MAX_PLATFORMS, platforms, &count) != CL_SUCCESS) count = 0;
    int tried = 0, failed = 0;
    for (cl_uint i = 0; i < count && i < MAX_PLATFORMS; i++) {
        size_t kernels = 0;
        const int result = compile_on(platforms[i], source, options, &kernels);
        if (result == NO_DEVICE) continue;
        const int empty = result == COMPILED && kernels < least_kernels;
        tried++;
        if (empty) fprintf(stderr, "the file holds no kernel\n");
        failed += result == FAILED || empty;
    }
    if (!tried) fprintf(stderr, "no OpenCL device to compile on\n");
    return tried > 0 && failed == 0;
}

static size_t least_kernels(const char *path) {
    const char *const suffix = strrchr(path, '.');
    return suffix && strcmp(suffix, ".cl") == 0;
}

/* ---- any file ---- */

static int append_file(wi_text *source, const char *path) {
    static char text[MAX_TEXT];
    FILE *const file = fopen(path, "rb");
    const size_t bytes = file ? fread(text, 1, MAX_TEXT, file) : 0;
    if (file) fclose(file);
    if (bytes > 0 && wi_kernel_source_expand(source, text, bytes) == WEFT_OK) return 1;
    fprintf(stderr, "%s cannot be read\n", path);
    return 0;
}

static int compile_files(const char *lanes, char *const *paths, int count) {
    wi_text source;
    int good = 1;
    wi_text_init(&source, NULL);
    for (int i = 0; i < count; i++) good = good && append_file(&source, paths[i]);
    good = good && compile_everywhere(source.data, lanes, least_kernels(paths[count - 1]));
    wi_text_clear(&source);
    return good;
}

/* ---- a file of the registry ---- */

static int uses(const wi_implementation *implementation, const char *file) {
    if (implementation->file && strcmp(implementation->file, file) == 0) return 1;
    for (int i = 0; implementation->headers && implementation->headers[i]; i++) {
        if (strcmp(implementation->headers[i], file) == 0) return 1;
    }
    return 0;
}

/* After the headers before it, which for a template are all. */
static int compile_variant(
    const char *lanes, const wi_implementation *implementation, const wi_variant *variant, const char *file) {
    const wi_kernel_plan plan = {.headers = implementation->headers,
        .parameters = implementation->parameters,
        .values = variant->values};
    wi_text source;
    wi_text_init(&source, NULL);
    int good = wi_kernel_source_append(&source, "common.clh") == WEFT_OK;
    wi_kernel_macros_define(&plan, &source);
    for (int i = 0; plan.headers && plan.headers[i] && strcmp(plan.headers[i], file) != 0; i++)
        good = good && wi_kernel_source_append(&source, plan.headers[i]) == WEFT_OK;
    good = good && wi_kernel_source_append(&source, file) == WEFT_OK && !source.failed;
    printf("%s %s %s\n", file, implementation->name, variant->name);
    good = good && compile_everywhere(source.data, lanes, least_kernels(file));
    wi_text_clear(&source);
    return good;
}

static int compile_registered(const char *lanes, const char *file) {
    wi_text text;
    wi_text_init(&text, NULL);
    int found = 0, good = wi_kernel_source_append(&text, "builtins.clh") == WEFT_OK && !text.failed;
    declarations = good ? text.data : "";
    for (const wi_family *family = wi_families; *family; family++) {
        for (int i = 0; (*family)[i]; i++) {
            const wi_implementation *const implementation = (*family)[i];
            const wi_variant *variant;
            if (!uses(implementation, file)) continue;
            for (int v = 0; (variant = wi_implementation_variant(implementation, v)) != NULL; v++, found++) {
                if (found && !least_kernels(file)) break;
                good = compile_variant(lanes, implementation, variant, file) && good;
            }
        }
    }
    declarations = "";
    wi_text_clear(&text);
    if (!found) fprintf(stderr, "no implementation names %s\n", file);
    return found > 0 && good;
}

/* ---- all files ---- */

static int is_included(const char *name) {
    static char line[256];
    int found = 0;
    snprintf(line, sizeof line, "#include \"%.200s\"", name);
    for (const wi_kernel_file *file = wi_kernel_files; file->name && !found; file++) {
        char *text = NULL;
        if (wi_kernel_file_text(&text, file, NULL) == WEFT_OK) found = strstr(text, line) != NULL;
        wi_release(NULL, text);
    }
    return found;
}

/* What GPUs' matrix engines and asynchronous copies need is read by their compilers (tools/gpu-proofs), and compiled with models of them by
 * tests of kernels. */
static int needs_a_gpu(const char *name) {
    static const char *const beginnings[] = {"async_", "mma", "wmma", "mfma", "xmx"};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0) return 1;
    return strstr(name, "engine") != NULL;
}

/* A file *_cpu.* or *_cpu_*.* is for the lanes of class cpu, *_gpu.* for those of class gpu, any other for both. */
static int is_for(const char *lanes, const char *name) {
    const int cpu = strcmp(lanes, "16") == 0;
    if (strstr(name, "_cpu.") || strstr(name, "_cpu_")) return cpu;
    return !(cpu && strstr(name, "_gpu."));
}

static int is_registered(const char *name) {
    int found = 0;
    for (const wi_family *family = wi_families; *family; family++)
        for (int i = 0; (*family)[i]; i++) found = found || uses((*family)[i], name);
    return found;
}

/* Files that no implementation names: generated loops, `weft devices` and benchmarks have them after common.clh. */
static int compile_after_common(const char *lanes, const char *name) {
    wi_text source;
    wi_text_init(&source, NULL);
    int good = wi_kernel_source_append(&source, "common.clh") == WEFT_OK;
    if (strcmp(name, "common.clh") != 0) good = good && wi_kernel_source_append(&source, name) == WEFT_OK;
    good = good && compile_everywhere(source.data, lanes, least_kernels(name));
    wi_text_clear(&source);
    return good;
}

static int compile_all(const char *lanes) {
    int bad = 0;
    for (const wi_kernel_file *file = wi_kernel_files; file->name; file++) {
        const char *const name = file->name;
        if (needs_a_gpu(name) || !is_for(lanes, name) || is_included(name)) continue;
        const int good =
            is_registered(name) ? compile_registered(lanes, name) : compile_after_common(lanes, name);
        if (!good) fprintf(stderr, "%s with %s lanes: does not compile alone\n", name, lanes), bad++;
    }
    return bad == 0;
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: compile_kernel LANES [[COMMON] FILE]\n");
        return 1;
    }
    if (argc == 2) return !compile_all(argv[1]);
    const int good =
        argc == 3 ? compile_registered(argv[1], argv[2]) : compile_files(argv[1], argv + 2, argc - 2);
    return !good;
}
