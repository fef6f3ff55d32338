/* Programs: found in memory, loaded from disk, or built (contract in program.h).
 *
 * A context owns its programs in a list; they live as long as it does. A program's binary goes to disk when
 * wi_programs_save is called, because some drivers compile a kernel as late as its first launch. */
#include "cl/program.h"

#include "cl/disk_cache.h"
#include "cl/program_cache.h"
#include "cl/quirks.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct wi_program {
    struct wi_program *next;
    wi_cache_key key;
    char *what;
    char *failure;      /* the build log of a program that is known to fail, else NULL */
    cl_program program; /* NULL when it failed */
    bool kernels_made;  /* since the binary was last saved */
    bool on_disk;
};

struct wi_program_cache {
    wi_program *programs; /* the latest first */
    wi_program_stats stats;
};

weft_status wi_program_cache_open(weft_context *context) {
    context->programs = wi_allocate(context->allocator, sizeof *context->programs);
    return context->programs ? WEFT_OK : WEFT_ERROR_MEMORY;
}

static void free_program(const weft_allocator *allocator, wi_program *program) {
    if (program->program) clReleaseProgram(program->program);
    wi_release(allocator, program->what);
    wi_release(allocator, program->failure);
    wi_release(allocator, program);
}

void wi_program_cache_close(weft_context *context) {
    if (!context->programs) return;
    while (context->programs->programs) {
        wi_program *const next = context->programs->programs->next;
        free_program(context->allocator, context->programs->programs);
        context->programs->programs = next;
    }
    wi_release(context->allocator, context->programs);
    context->programs = NULL;
}

void wi_program_forget(weft_context *context, wi_program *program) {
    for (wi_program **link = &context->programs->programs; *link; link = &(*link)->next) {
        if (*link != program) continue;
        *link = program->next;
        free_program(context->allocator, program);
        return;
    }
}

const wi_program_stats *wi_programs_stats(const weft_context *context) {
    return &context->programs->stats;
}

static weft_status find_options(const weft_context *context, const char *extra, wi_text *options) {
    wi_text_init(options, context->allocator);
    wi_text_append(options, "-cl-std=CL1.2 -D WEFT_LANES=%d -D WEFT_GROUP=%d%s%s", context->profile.lanes,
        context->profile.group, extra && *extra ? " " : "", extra ? extra : "");
    return options->failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}

static wi_program *find_in_memory(const weft_context *context, wi_cache_key key) {
    for (wi_program *program = context->programs->programs; program; program = program->next) {
        if (program->key.high == key.high && program->key.low == key.low) return program;
    }
    return NULL;
}

static weft_status fail_build(const weft_context *context, const wi_program *program, bool remembered) {
    char path[PATH_MAX] = "";
    if (remembered) wi_disk_cache_path(context, program->key, path, sizeof path);
    WI_FAIL(WEFT_ERROR_BUILD, "%s did not compile on %s%s%s: %s", program->what, context->info.name,
        *path ? ", as remembered in " : "", path, program->failure);
}

/* The callback takes single lines, a build log has many. */
static void log_lines(const weft_context *context, const char *what, const char *log) {
    while (*log) {
        const size_t length = strcspn(log, "\n");
        if (length > 0)
            wi_log_line(
                &context->log, WEFT_LOG_WARNING, "%s: %.*s", what, (int)(length < 1900 ? length : 1900), log);
        log += length + (log[length] != '\0');
    }
}

/* The driver's log, or the error's name where it gives none. */
static weft_status read_build_log(const weft_context *context, cl_program built, cl_int error, char **log) {
    size_t bytes = 0;
    *log = NULL;
    if (clGetProgramBuildInfo(built, context->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes) == CL_SUCCESS &&
        bytes > 1) {
        *log = wi_allocate(context->allocator, bytes + 1);
        if (!*log) return WEFT_ERROR_MEMORY;
        if (clGetProgramBuildInfo(built, context->device, CL_PROGRAM_BUILD_LOG, bytes, *log, NULL) ==
                CL_SUCCESS &&
            strspn(*log, " \r\n\t") < strlen(*log))
            return WEFT_OK;
        wi_release(context->allocator, *log);
    }
    *log = wi_copy_string(context->allocator, wi_cl_error_name(error));
    return *log ? WEFT_OK : WEFT_ERROR_MEMORY;
}

static weft_status build_binary(
    weft_context *context, wi_program *program, const wi_cache_entry *entry, const char *options) {
    const unsigned char *binary = (const unsigned char *)entry->data;
    cl_int error = CL_SUCCESS, state = CL_SUCCESS;
    cl_program loaded =
        clCreateProgramWithBinary(context->cl, 1, &context->device, &entry->bytes, &binary, &state, &error);
    if (error == CL_SUCCESS && state == CL_SUCCESS)
        error = clBuildProgram(loaded, 1, &context->device, options, NULL, NULL);
    if (error == CL_SUCCESS && state == CL_SUCCESS) {
        program->program = loaded;
        program->on_disk = true;
        context->programs->stats.loaded++;
        return WEFT_OK;
    }
    if (loaded) clReleaseProgram(loaded);
    wi_log_line(&context->log, WEFT_LOG_WARNING, "kernel cache: the driver refuses the binary of %s (%s)",
        program->what, wi_cl_error_name(error != CL_SUCCESS ? error : state));
    return WEFT_OK;
}

/* Leaves program->program NULL and program->failure NULL when the disk has nothing of use. */
static weft_status load(weft_context *context, wi_program *program, const char *options) {
    wi_cache_entry entry;
    WI_TRY(wi_disk_cache_read(context, program->key, &entry));
    if (!entry.data) return WEFT_OK;
    weft_status status = WEFT_OK;
    if (entry.kind == WI_CACHE_BINARY) {
        status = build_binary(context, program, &entry, options);
    } else if (entry.kind == WI_CACHE_FAILURE) {
        program->failure = entry.data;
        program->on_disk = true;
        entry.data = NULL;
    }
    wi_release(context->allocator, entry.data);
    return status;
}

/* Only a refusal by the compiler is a property of the source; other errors may pass and are not remembered.
 */
static weft_status note_failure(weft_context *context, wi_program *program, cl_program built, cl_int error) {
    WI_TRY(read_build_log(context, built, error, &program->failure));
    log_lines(context, program->what, program->failure);
    if (error == CL_BUILD_PROGRAM_FAILURE)
        program->on_disk = wi_disk_cache_write(
            context, program->key, WI_CACHE_FAILURE, program->failure, strlen(program->failure));
    return WEFT_OK;
}

static weft_status build(
    weft_context *context, wi_program *program, const char *source, const char *options) {
    cl_int error = CL_SUCCESS;
    if (context->progress) context->progress(context->progress_user, 0, 1, program->what);
    cl_program built = clCreateProgramWithSource(context->cl, 1, &source, NULL, &error);
    WI_CL(error, program->what);
    error = clBuildProgram(built, 1, &context->device, options, NULL, NULL);
    if (context->progress) context->progress(context->progress_user, 1, 1, program->what);
    if (error == CL_SUCCESS) {
        program->program = built;
        context->programs->stats.built++;
        return WEFT_OK;
    }
    const weft_status status = note_failure(context, program, built, error);
    clReleaseProgram(built);
    return status;
}

static weft_status make(wi_program **result, weft_context *context, const char *what, wi_cache_key key,
    const char *source, const char *options) {
    const double start = wi_clock_seconds();
    weft_status status = WEFT_ERROR_MEMORY;
    wi_program *const program = wi_allocate(context->allocator, sizeof *program);
    if (!program) return status;
    program->key = key;
    if (!(program->what = wi_copy_string(context->allocator, what))) goto failed;
    if ((status = load(context, program, options)) != WEFT_OK) goto failed;
    const bool found = program->program || program->failure;
    if (!found && (status = build(context, program, source, options)) != WEFT_OK) goto failed;
    const double seconds = wi_clock_seconds() - start;
    context->programs->stats.seconds += seconds;
    wi_log_line(&context->log, WEFT_LOG_DEBUG, "%s: %s in %.1f ms", what,
        program->failure ? "did not compile"
        : found          ? "loaded"
                         : "built",
        1e3 * seconds);
    program->next = context->programs->programs;
    context->programs->programs = program;
    *result = program;
    return program->failure ? fail_build(context, program, found) : WEFT_OK;
failed:
    free_program(context->allocator, program);
    return status;
}

weft_status wi_program_get(
    wi_program **result, weft_context *context, const char *what, const char *source, const char *extra) {
    *result = NULL;
    wi_text options;
    weft_status status = find_options(context, extra, &options);
    if (status != WEFT_OK) goto done;
    const wi_cache_key key = wi_disk_cache_key(context, source, options.data);
    wi_program *const known = find_in_memory(context, key);
    if (!known) {
        status = make(result, context, what, key, source, options.data);
    } else if (known->failure) {
        status = fail_build(context, known, known->on_disk);
    } else {
        *result = known;
        context->programs->stats.reused++;
    }
    if (status != WEFT_OK) *result = NULL;
done:
    wi_text_clear(&options);
    return status;
}

weft_status wi_program_kernel(
    cl_kernel *kernel, weft_context *context, wi_program *program, const char *name) {
    (void)context;
    cl_int error = CL_SUCCESS;
    *kernel = clCreateKernel(program->program, name, &error);
    if (error != CL_SUCCESS) {
        char what[256];
        *kernel = NULL;
        snprintf(what, sizeof what, "making kernel %s of %s", name, program->what);
        return wi_cl_check(error, what);
    }
    program->kernels_made = true;
    return WEFT_OK;
}

/* An embedder's context may have several devices; a program then has a binary for each. */
enum { MOST_PROGRAM_DEVICES = 64 };

static bool read_binary_size(
    const weft_context *context, cl_program program, size_t *own, size_t *count, size_t *sizes) {
    cl_device_id devices[MOST_PROGRAM_DEVICES];
    size_t bytes = 0;
    if (clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof devices, devices, &bytes) != CL_SUCCESS)
        return false;
    *count = bytes / sizeof *devices;
    if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, *count * sizeof *sizes, sizes, NULL) != CL_SUCCESS)
        return false;
    for (*own = 0; *own < *count; (*own)++) {
        if (*count == 1 || devices[*own] == context->device) return sizes[*own] > 0;
    }
    return false;
}

/* The binary for the context's device; NULL when the driver gives none. */
static unsigned char *read_binary(const weft_context *context, cl_program program, size_t *bytes) {
    size_t own = 0, count = 0, sizes[MOST_PROGRAM_DEVICES];
    unsigned char *binaries[MOST_PROGRAM_DEVICES] = {NULL};
    if (!read_binary_size(context, program, &own, &count, sizes)) return NULL;
    binaries[own] = wi_allocate(context->allocator, sizes[own]);
    if (!binaries[own]) return NULL;
    *bytes = sizes[own];
    if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof *binaries, binaries, NULL) ==
        CL_SUCCESS)
        return binaries[own];
    wi_release(context->allocator, binaries[own]);
    return NULL;
}

static void save(weft_context *context, wi_program *program) {
    size_t bytes = 0;
    unsigned char *const binary = read_binary(context, program->program, &bytes);
    program->kernels_made = false;
    if (!binary) return;
    program->on_disk = wi_disk_cache_write(context, program->key, WI_CACHE_BINARY, binary, bytes);
    wi_release(context->allocator, binary);
}

void wi_programs_save(weft_context *context) {
    char error[2048];
    if (!wi_disk_cache_writes(context)) return; /* some drivers take long to give a binary */
    wi_error_save(error, sizeof error);
    for (wi_program *program = context->programs->programs; program; program = program->next) {
        if (program->program && program->kernels_made && !program->on_disk) save(context, program);
    }
    wi_error_restore(error);
}

void wi_programs_keep(weft_context *context) {
    const char *const kept = wi_environment("POCL_KERNEL_CACHE");
    const bool keeps = (context->caps.quirks & WI_QUIRK_OWN_CACHE) && !(kept && strcmp(kept, "0") == 0);
    if (!keeps) wi_programs_save(context);
}
