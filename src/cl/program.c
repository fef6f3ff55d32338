/* Programs: found in memory, loaded from disk, or built (contract in program.h).
 *
 * A device owns its programs in a list, until it is closed. wi_programs_save writes binaries to disk, and not the
 * build, because some drivers compile a kernel only at its first launch. */
#include "cl/program.h"
#include "base/log.h"
#include "base/platform.h"

#include "cl/build_log.h"
#include "cl/compile.h"
#include "cl/device_progress.h"
#include "cl/driver.h"
#include "cl/matrix_engine.h"
#include "cl/piece_index.h"
#include "cl/program_cache.h"
#include "cl/quirks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct wi_program {
    struct wi_program *next;
    wi_cache_key key;
    char *what;
    char *failure;      /* the build log if the compiler rejects the source, otherwise NULL */
    cl_program program; /* NULL if the compiler rejects the source */
    bool kernels_made;  /* a kernel object was created since the binary was last fetched */
    bool on_disk;
};

struct wi_program_cache {
    wi_program *programs; /* the latest first */
    wi_piece_index pieces;
    wi_program_stats stats;
};

weft_status wi_program_cache_open(wi_device *device) {
    device->programs = wi_allocate(device->host.allocator, sizeof *device->programs);
    return device->programs ? WEFT_OK : WEFT_ERROR_MEMORY;
}

static void free_program(const weft_allocator *allocator, wi_program *program) {
    if (program->program) clReleaseProgram(program->program);
    wi_release(allocator, program->what);
    wi_release(allocator, program->failure);
    wi_release(allocator, program);
}

void wi_program_cache_close(wi_device *device) {
    if (!device->programs) return;
    while (device->programs->programs) {
        wi_program *const next = device->programs->programs->next;
        free_program(device->host.allocator, device->programs->programs);
        device->programs->programs = next;
    }
    wi_piece_index_clear(&device->programs->pieces, device);
    wi_release(device->host.allocator, device->programs);
    device->programs = NULL;
}

void wi_program_forget(wi_device *device, wi_program *program) {
    for (wi_program **link = &device->programs->programs; *link; link = &(*link)->next) {
        if (*link != program) continue;
        *link = program->next;
        free_program(device->host.allocator, program);
        return;
    }
}

const wi_program_stats *wi_programs_stats(const wi_device *device) {
    return &device->programs->stats;
}

/* -w suppresses warnings: PoCL prints their number to stderr, and clang warns about wide vectors on processors without
 * AVX-512. */
static weft_status find_options(const wi_device *device, const char *extra, wi_text *options) {
    const bool large = device->caps.large_buffers && (device->caps.quirks & WI_QUIRK_LARGE_FLAG);
    const char *const asked = wi_environment("WEFT_BUILD_OPTIONS");
    wi_text_init(options, device->host.allocator);
    wi_text_append(options, "-w -cl-std=CL1.2 -D WEFT_LANES=%d -D WEFT_GROUP=%d", device->profile.lanes,
        device->profile.group);
    if (device->caps.sub_group > 0) wi_text_append(options, " -D WEFT_SUB_GROUP=%zu", device->caps.sub_group);
    if (device->caps.exchange) wi_text_append(options, " -D %s", device->caps.exchange);
    if (device->caps.copy_model != WI_COPIES_OF_DEVICE)
        wi_text_append(options, " -D WEFT_ASYNC_MODEL=%d", (int)device->caps.copy_model);
    wi_text_append(options, "%s%s%s%s%s%s%s%s", device->profile.longest_launch > 0.0 ? " -D WEFT_CUT" : "",
        device->caps.engine_model ? " -D WEFT_ENGINE_MODEL" : "",
        device->caps.engines & WI_ENGINE_AVX512_BF16 ? " -D WEFT_ENGINE_VECTORS" : "",
        large ? " -cl-intel-greater-than-4GB-buffer-required" : "", extra && *extra ? " " : "",
        extra ? extra : "", asked ? " " : "", asked ? asked : "");
    return options->failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}

static wi_program *find_in_memory(const wi_device *device, wi_cache_key key) {
    for (wi_program *program = device->programs->programs; program; program = program->next) {
        if (wi_cache_key_equal(program->key, key)) return program;
    }
    return NULL;
}

static weft_status fail_build(const wi_device *device, const wi_program *program, bool remembered) {
    char path[WI_PATH_CAPACITY] = "";
    if (remembered) wi_disk_cache_path(device, program->key, path, sizeof path);
    WI_FAIL(WEFT_ERROR_BUILD, "%s did not compile on %s%s%s: %s", program->what, device->info.name,
        *path ? ", as recorded in " : "", path, program->failure);
}

static weft_status build_binary(
    wi_device *device, wi_program *program, const wi_cache_entry *entry, const char *options) {
    const unsigned char *binary = (const unsigned char *)entry->data;
    cl_int error = CL_SUCCESS, state = CL_SUCCESS;
    cl_program loaded =
        clCreateProgramWithBinary(device->cl, 1, &device->id, &entry->bytes, &binary, &state, &error);
    if (error == CL_SUCCESS && state == CL_SUCCESS)
        error = clBuildProgram(loaded, 1, &device->id, options, NULL, NULL);
    if (error == CL_SUCCESS && state == CL_SUCCESS) {
        program->program = loaded;
        program->on_disk = true;
        device->programs->stats.loaded++;
        return WEFT_OK;
    }
    if (loaded) clReleaseProgram(loaded);
    wi_log_line(device->host.log, WEFT_LOG_WARNING,
        "kernel cache: the driver rejects the binary of %s (%s); the program is compiled again",
        program->what, wi_cl_error_name(error != CL_SUCCESS ? error : state));
    return WEFT_OK;
}

/* Loads a program or a failure from disk; program->program and program->failure are NULL if the disk has neither. */
static weft_status load(wi_device *device, wi_program *program, const char *options) {
    wi_cache_entry entry;
    WI_TRY(wi_disk_cache_read(device, program->key, &entry));
    if (!entry.data) return WEFT_OK;
    weft_status status = WEFT_OK;
    if (entry.kind == WI_CACHE_BINARY) {
        status = build_binary(device, program, &entry, options);
    } else if (entry.kind == WI_CACHE_FAILURE) {
        program->failure = entry.data;
        program->on_disk = true;
        entry.data = NULL;
    }
    wi_release(device->host.allocator, entry.data);
    return status;
}

/* WEFT_OK if the compiler rejects the source, which is remembered. Otherwise the error of a failure that may not occur
 * again. */
static weft_status note_failure(wi_device *device, wi_program *program, cl_program built, cl_int error) {
    char what[256];
    WI_TRY(wi_build_log_read(&program->failure, device, built, error));
    wi_build_log_show(device, program->what, program->failure);
    if (error == CL_BUILD_PROGRAM_FAILURE && wi_build_log_is_verdict(program->failure)) {
        program->on_disk = wi_disk_cache_write(
            device, program->key, WI_CACHE_FAILURE, program->failure, strlen(program->failure));
        return WEFT_OK;
    }
    device->programs->stats.interrupted++;
    if (error == CL_BUILD_PROGRAM_FAILURE) return fail_build(device, program, false);
    const char *const asked = wi_environment("WEFT_BUILD_OPTIONS");
    if (error == CL_INVALID_BUILD_OPTIONS && asked)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "the OpenCL compiler of %s rejects the options WEFT_BUILD_OPTIONS=%s",
            device->info.name, asked);
    snprintf(what, sizeof what, "building %s", program->what);
    return wi_cl_check(error, what);
}

static weft_status build(wi_device *device, wi_program *program, const char *source, const char *options) {
    wi_compiled made;
    wi_progress_begin(device, 1, program->what);
    weft_status status = wi_compile(&made, device, program->what, source, options);
    wi_progress_end(device);
    if (status != WEFT_OK) return status;
    device->programs->stats.undeclared += made.undeclared;
    if (made.error == CL_SUCCESS) {
        program->program = made.program;
        device->programs->stats.built++;
        return WEFT_OK;
    }
    status = note_failure(device, program, made.program, made.error);
    clReleaseProgram(made.program);
    return status;
}

/* Loads the program from disk, or builds it. source NULL: only loads, and leaves program and failure NULL if the disk
 * has neither. */
static weft_status load_or_build(
    wi_device *device, wi_program *made, const char *source, const char *options, bool *loaded) {
    WI_TRY(load(device, made, options));
    *loaded = made->program || made->failure;
    return *loaded || !source ? WEFT_OK : build(device, made, source, options);
}

static void keep(wi_device *device, wi_program *program, bool loaded, double seconds) {
    wi_program_cache *const cache = device->programs;
    cache->stats.seconds += seconds;
    wi_log_line(device->host.log, WEFT_LOG_DEBUG, "%s: %s in %.1f ms", program->what,
        program->failure ? "did not compile"
        : loaded         ? "loaded"
                         : "built",
        1e3 * seconds);
    program->next = cache->programs;
    cache->programs = program;
}

/* Adds a program to the device's list. *result stays NULL if source is NULL and the disk does not have the program. */
static weft_status make(wi_program **result, wi_device *device, const char *what, wi_cache_key key,
    const char *source, const char *options) {
    const double start = wi_clock_seconds();
    weft_status status = WEFT_ERROR_MEMORY;
    bool loaded = false;
    wi_program *const program = wi_allocate(device->host.allocator, sizeof *program);
    if (!program) return status;
    program->key = key;
    if (!(program->what = wi_copy_string(device->host.allocator, what))) goto dropped;
    status = load_or_build(device, program, source, options, &loaded);
    if (status != WEFT_OK || (!program->program && !program->failure)) goto dropped;
    keep(device, program, loaded, wi_clock_seconds() - start);
    *result = program;
    return program->failure ? fail_build(device, program, loaded) : WEFT_OK;
dropped:
    free_program(device->host.allocator, program);
    return status;
}

weft_status wi_program_get(
    wi_program **result, wi_device *device, const char *what, const char *source, const char *extra) {
    *result = NULL;
    wi_text options;
    weft_status status = find_options(device, extra, &options);
    if (status != WEFT_OK) goto done;
    const wi_cache_key key = wi_disk_cache_key(device, source, options.data);
    wi_program *const known = find_in_memory(device, key);
    if (!known) {
        status = make(result, device, what, key, source, options.data);
    } else if (known->failure) {
        status = fail_build(device, known, known->on_disk);
    } else {
        *result = known;
        device->programs->stats.reused++;
    }
    if (status != WEFT_OK) *result = NULL;
done:
    wi_text_clear(&options);
    return status;
}

/* ---- pieces ---- */

void wi_piece_name(char name[WI_PIECE_NAME], wi_cache_key text) {
    snprintf(name, WI_PIECE_NAME, "k%016" PRIx64, text.high);
}

weft_status wi_program_piece_key(
    wi_cache_key *key, const wi_device *device, wi_cache_key before, wi_cache_key text) {
    wi_text options;
    char hashes[80];
    snprintf(hashes, sizeof hashes, "piece %016" PRIx64 "%016" PRIx64 "%016" PRIx64 "%016" PRIx64,
        before.high, before.low, text.high, text.low);
    const weft_status status = find_options(device, NULL, &options);
    if (status == WEFT_OK) *key = wi_disk_cache_key(device, hashes, options.data);
    wi_text_clear(&options);
    return status;
}

/* Loads a program from disk; *program is NULL if it is no longer there. */
static weft_status load_program(wi_program **program, wi_device *device, const char *what, wi_cache_key key) {
    wi_text options;
    WI_TRY(find_options(device, NULL, &options));
    const weft_status status = make(program, device, what, key, NULL, options.data);
    wi_text_clear(&options);
    return status;
}

weft_status wi_program_find_piece(
    wi_program **program, wi_device *device, const char *what, wi_cache_key piece) {
    wi_cache_key key;
    *program = NULL;
    if (!wi_piece_index_find(&device->programs->pieces, device, piece, &key)) return WEFT_OK;
    *program = find_in_memory(device, key);
    if (!*program) WI_TRY(load_program(program, device, what, key));
    if (!*program) wi_piece_index_forget(&device->programs->pieces, key);
    device->programs->stats.pieces_reused += *program != NULL;
    return WEFT_OK;
}

weft_status wi_program_add_piece(wi_device *device, const wi_program *program, wi_cache_key piece) {
    device->programs->stats.pieces_added++;
    return wi_piece_index_set(&device->programs->pieces, device, piece, program->key);
}

/* ---- kernels ---- */

weft_status wi_program_kernel(cl_kernel *kernel, wi_program *program, const char *name) {
    cl_int error = CL_SUCCESS;
    *kernel = clCreateKernel(program->program, name, &error);
    if (error != CL_SUCCESS) {
        char what[256];
        *kernel = NULL;
        snprintf(what, sizeof what, "creating kernel %s of %s", name, program->what);
        return wi_cl_check(error, what);
    }
    program->kernels_made = true;
    return WEFT_OK;
}

/* Devices of an embedder's OpenCL context; a program has a binary for each of them. */
enum { MOST_PROGRAM_DEVICES = 64 };

static bool read_binary_size(
    const wi_device *device, cl_program program, size_t *own, size_t *count, size_t *sizes) {
    cl_device_id devices[MOST_PROGRAM_DEVICES];
    size_t bytes = 0;
    if (clGetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof devices, devices, &bytes) != CL_SUCCESS)
        return false;
    *count = bytes / sizeof *devices;
    if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, *count * sizeof *sizes, sizes, NULL) != CL_SUCCESS)
        return false;
    for (*own = 0; *own < *count; (*own)++) {
        if (*count == 1 || devices[*own] == device->id) return sizes[*own] > 0;
    }
    return false;
}

/* The program's binary for this device; NULL if the driver has none. The caller releases it. */
static unsigned char *read_binary(const wi_device *device, cl_program program, size_t *bytes) {
    size_t own = 0, count = 0, sizes[MOST_PROGRAM_DEVICES];
    unsigned char *binaries[MOST_PROGRAM_DEVICES] = {NULL};
    if (!read_binary_size(device, program, &own, &count, sizes)) return NULL;
    binaries[own] = wi_allocate(device->host.allocator, sizes[own]);
    if (!binaries[own]) return NULL;
    *bytes = sizes[own];
    if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof *binaries, binaries, NULL) ==
        CL_SUCCESS)
        return binaries[own];
    wi_release(device->host.allocator, binaries[own]);
    return NULL;
}

static void save(wi_device *device, wi_program *program) {
    size_t bytes = 0;
    unsigned char *const binary = read_binary(device, program->program, &bytes);
    program->kernels_made = false;
    if (!binary) return;
    program->on_disk = wi_disk_cache_write(device, program->key, WI_CACHE_BINARY, binary, bytes);
    wi_release(device->host.allocator, binary);
}

/* The index on disk may name programs that are not in memory. */
static bool is_on_disk(const wi_device *device, wi_cache_key key) {
    const wi_program *const program = find_in_memory(device, key);
    return !program || (program->on_disk && !program->failure);
}

void wi_programs_save(wi_device *device) {
    char error[WI_ERROR_LINE];
    if (!wi_disk_cache_writes(device)) return; /* some drivers take long to return a binary */
    wi_error_save(error, sizeof error);
    for (wi_program *program = device->programs->programs; program; program = program->next) {
        if (program->program && program->kernels_made && !program->on_disk) save(device, program);
    }
    wi_piece_index_save(&device->programs->pieces, device, is_on_disk);
    wi_error_restore(error);
}

void wi_programs_places(wi_device *device, const wi_piece_place **places, size_t *count) {
    wi_piece_index *const pieces = &device->programs->pieces;
    wi_programs_save(device);
    wi_piece_index_read(pieces, device);
    *places = pieces->places;
    *count = pieces->count;
}

weft_status wi_programs_add_places(wi_device *device, const wi_piece_place *places, size_t count) {
    wi_piece_index *const pieces = &device->programs->pieces;
    for (size_t i = 0; i < count; i++)
        WI_TRY(wi_piece_index_set(pieces, device, places[i].piece, places[i].program));
    wi_piece_index_save(pieces, device, is_on_disk);
    return WEFT_OK;
}

bool wi_driver_keeps_kernels(const wi_device *device) {
    const char *const kept = wi_environment("POCL_KERNEL_CACHE");
    return (device->caps.quirks & WI_QUIRK_OWN_CACHE) && !(kept && strcmp(kept, "0") == 0);
}

void wi_programs_keep(wi_device *device) {
    if (!wi_driver_keeps_kernels(device)) wi_programs_save(device);
}
