/* Files of compiled kernels, which a program can ship: weft_cache_export and weft_cache_import.
 *
 * A file has the binaries of programs of one device, and the places of pieces in them, as the cache folder has them:
 * a header, the places, then the binaries, each after a header. The checksum covers everything. An import writes to the
 * cache folder, where plans find programs. It checks the whole file before it writes anything, and writes the places
 * last, so that an interrupted import leaves at most binaries that are not used. */
#include "base/platform.h"
#include "base/process.h"

#include "cl/context.h"
#include "cl/disk_cache.h"
#include "cl/piece_index.h"
#include "cl/program.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

enum { FILE_FORMAT = 1, ORIGIN = 256 };

typedef struct file_header {
    char magic[8];
    uint32_t format, places, programs, unused;
    wi_cache_key identity;
    char origin[ORIGIN]; /* a text that says for whom the kernels are */
    uint64_t bytes;      /* after this header */
    uint64_t checksum;   /* of the fields above and these bytes */
} file_header;

_Static_assert(sizeof(file_header) == 56 + ORIGIN, "no padding in the header");

typedef struct program_header {
    wi_cache_key key;
    uint64_t bytes; /* of the binary after it */
} program_header;

static const char file_magic[8] = {'W', 'E', 'F', 'T', 'K', 'R', 'N', 'L'};

static uint64_t checksum(const file_header *header, const char *contents) {
    return XXH3_64bits_withSeed(
        contents, header->bytes, XXH3_64bits(header, offsetof(file_header, checksum)));
}

static void describe(char origin[ORIGIN], const wi_device *device) {
    memset(origin, 0, ORIGIN);
    snprintf(origin, ORIGIN, "%.120s, driver %.60s, Weft %.40s", device->info.name, device->info.driver,
        weft_version());
}

/* ---- writing ---- */

/* Appends the binary unless it is no longer in the folder. */
static weft_status append_program(
    wi_text *contents, file_header *header, wi_device *device, wi_cache_key key) {
    wi_cache_entry entry;
    WI_TRY(wi_disk_cache_read(device, key, &entry));
    if (entry.data && entry.kind == WI_CACHE_BINARY) {
        const program_header own = {.key = key, .bytes = entry.bytes};
        wi_text_append_bytes(contents, (const char *)&own, sizeof own);
        wi_text_append_bytes(contents, entry.data, entry.bytes);
        header->programs++;
    }
    wi_release(device->host.allocator, entry.data);
    return WEFT_OK;
}

static bool is_first(const wi_piece_place *places, size_t index) {
    for (size_t i = 0; i < index; i++)
        if (wi_cache_key_equal(places[i].program, places[index].program)) return false;
    return true;
}

static weft_status append_all(wi_text *contents, file_header *header, wi_device *device) {
    const wi_piece_place *places = NULL;
    size_t count = 0;
    wi_programs_places(device, &places, &count);
    header->places = (uint32_t)count;
    if (count > 0) wi_text_append_bytes(contents, (const char *)places, count * sizeof *places);
    for (size_t i = 0; i < count; i++)
        if (is_first(places, i)) WI_TRY(append_program(contents, header, device, places[i].program));
    return contents->failed ? WEFT_ERROR_MEMORY : WEFT_OK;
}

static weft_status write_file(
    const char *path, const weft_allocator *allocator, file_header *header, const wi_text *contents) {
    wi_file_writer *writer = NULL;
    header->bytes = contents->length;
    header->checksum = checksum(header, contents->data);
    WI_TRY(wi_file_writer_begin(&writer, allocator, path));
    const weft_status status = wi_file_writer_append(writer, header, sizeof *header);
    if (status == WEFT_OK) return wi_file_writer_finish(writer, contents->data, contents->length);
    wi_file_writer_abandon(writer);
    return status;
}

static weft_status check_folder(const wi_device *device, const char *caller) {
    if (wi_disk_cache_writes(device)) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_STATE,
        "%s: the context keeps no kernels on disk; set cache_dir or WEFT_CACHE_DIR to a folder that can be "
        "written",
        caller);
}

static weft_status write_kernels(wi_device *device, const char *caller, const char *path, size_t *programs) {
    file_header header = {.format = FILE_FORMAT, .identity = wi_disk_cache_identity(device)};
    wi_text contents;
    memcpy(header.magic, file_magic, sizeof file_magic);
    describe(header.origin, device);
    WI_TRY(check_folder(device, caller));
    wi_text_init(&contents, device->host.allocator);
    weft_status status = append_all(&contents, &header, device);
    if (status == WEFT_OK && header.programs == 0)
        status = wi_fail(WEFT_ERROR_STATE,
            "%s: there are no compiled kernels of %s to export; run a plan first, and on PoCL export in the "
            "process "
            "that ran it, or set POCL_KERNEL_CACHE=0 for that process",
            caller, device->info.name);
    if (status == WEFT_OK) status = write_file(path, device->host.allocator, &header, &contents);
    wi_text_clear(&contents);
    *programs = header.programs;
    return status;
}

/* ---- importing ---- */

/* The contents of a file, after the header. */
typedef struct reader {
    const char *at, *end;
} reader;

static bool take(reader *from, void *to, size_t bytes) {
    if ((size_t)(from->end - from->at) < bytes) return false;
    memcpy(to, from->at, bytes);
    from->at += bytes;
    return true;
}

/* Takes the next program; *binary points into the contents. */
static bool take_program(reader *from, program_header *program, const char **binary) {
    if (!take(from, program, sizeof *program)) return false;
    if (program->bytes == 0 || program->bytes > (uint64_t)(from->end - from->at)) return false;
    *binary = from->at;
    from->at += program->bytes;
    return true;
}

static bool are_programs_whole(const file_header *header, reader from) {
    program_header program;
    const char *binary;
    for (uint32_t i = 0; i < header->programs; i++)
        if (!take_program(&from, &program, &binary)) return false;
    return from.at == from.end;
}

static weft_status check_file(
    file_header *header, reader *from, const wi_device *device, const char *caller, const char *path) {
    char own[ORIGIN];
    describe(own, device);
    if (!take(from, header, sizeof *header) || memcmp(header->magic, file_magic, sizeof file_magic) != 0)
        WI_FAIL(WEFT_ERROR_FORMAT, "%s: '%s' is not a file of compiled kernels", caller, path);
    if (header->bytes != (uint64_t)(from->end - from->at) || header->checksum != checksum(header, from->at))
        WI_FAIL(WEFT_ERROR_FORMAT, "%s: '%s' is damaged; export it again", caller, path);
    if (header->format != FILE_FORMAT ||
        !wi_cache_key_equal(header->identity, wi_disk_cache_identity(device)))
        WI_FAIL(WEFT_ERROR_UNSUPPORTED, "%s: the kernels in '%s' are for %.*s; this is %s; export them here",
            caller, path, ORIGIN - 1, header->origin, own);
    reader programs = *from;
    if (header->places > (uint64_t)(from->end - from->at) / sizeof(wi_piece_place))
        WI_FAIL(WEFT_ERROR_FORMAT, "%s: '%s' is damaged; export it again", caller, path);
    programs.at += header->places * sizeof(wi_piece_place);
    if (!are_programs_whole(header, programs))
        WI_FAIL(WEFT_ERROR_FORMAT, "%s: '%s' is damaged; export it again", caller, path);
    return WEFT_OK;
}

static weft_status write_programs(wi_device *device, const char *caller, uint32_t count, reader from) {
    program_header program;
    const char *binary;
    for (uint32_t i = 0; i < count && take_program(&from, &program, &binary); i++)
        if (!wi_disk_cache_write(device, program.key, WI_CACHE_BINARY, binary, program.bytes))
            WI_FAIL(WEFT_ERROR_FILE, "%s: the folder of compiled kernels cannot be written; the log says why",
                caller);
    return WEFT_OK;
}

static weft_status import(
    wi_device *device, const char *caller, const char *path, reader from, size_t *programs) {
    file_header header;
    WI_TRY(check_file(&header, &from, device, caller, path));
    wi_piece_place *const places =
        wi_allocate_array(device->host.allocator, (size_t)header.places + 1, sizeof *places);
    if (!places) return WEFT_ERROR_MEMORY;
    (void)take(&from, places, header.places * sizeof *places);
    weft_status status = write_programs(device, caller, header.programs, from);
    if (status == WEFT_OK) status = wi_programs_add_places(device, places, header.places);
    wi_release(device->host.allocator, places);
    *programs = header.programs;
    return status;
}

static weft_status read_kernels(wi_device *device, const char *caller, const char *path, size_t *programs) {
    char *data = NULL;
    size_t bytes = 0;
    *programs = 0;
    WI_TRY(check_folder(device, caller));
    WI_TRY(wi_file_read(device->host.allocator, path, &data, &bytes));
    const weft_status status =
        import(device, caller, path, (reader){.at = data, .end = data + bytes}, programs);
    wi_release(device->host.allocator, data);
    return status;
}

/* ---- the public calls ---- */

static weft_status check_arguments(const weft_context *context, const char *path, const char *caller) {
    if (!context || !path)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "%s: %s is NULL", caller, context ? "path" : "context");
    return wi_process_check_driver();
}

weft_status weft_cache_export(weft_context *context, const char *path, size_t *programs) {
    size_t count = 0;
    if (programs) *programs = 0;
    WI_TRY(check_arguments(context, path, "weft_cache_export"));
    WI_TRY(write_kernels(wi_context_device(context), "weft_cache_export", path, &count));
    if (programs) *programs = count;
    return WEFT_OK;
}

weft_status weft_cache_import(weft_context *context, const char *path, size_t *programs) {
    size_t count = 0;
    if (programs) *programs = 0;
    WI_TRY(check_arguments(context, path, "weft_cache_import"));
    WI_TRY(read_kernels(wi_context_device(context), "weft_cache_import", path, &count));
    if (programs) *programs = count;
    return WEFT_OK;
}
