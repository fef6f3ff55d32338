/* The cache folder (contract in disk_cache.h).
 *
 * An entry is a header and a payload. The checksum covers both, and the header has the key, so that renamed, truncated
 * and mixed-up files are detected. */
#include "cl/disk_cache.h"
#include "base/log.h"
#include "base/platform.h"

#include "base/trusted_file.h"
#include "cl/device_query.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

enum { ENTRY_FORMAT = 1 }; /* part of all keys, so that entries of an older format are not found */

typedef struct entry_header {
    char magic[8];
    uint32_t format, kind;
    uint64_t key_high, key_low;
    uint64_t bytes;
    uint64_t checksum; /* of the fields above and the payload */
} entry_header;

_Static_assert(sizeof(entry_header) == 48, "no padding in the header");

static const char entry_magic[8] = {'W', 'E', 'F', 'T', 'C', 'A', 'C', 'H'};

struct wi_disk_cache {
    char *folder;     /* NULL: nothing is kept on disk */
    bool is_own;      /* the folder exists, and only the user may write to it */
    bool is_clean;    /* remove_abandoned has run */
    bool other_noted; /* the log already says that an entry may be another user's */
    bool writing_failed;
    wi_cache_key identity; /* hash of device, driver, platform and version of Weft */
};

static wi_cache_key key_of(const void *data, size_t bytes) {
    const XXH128_hash_t hash = XXH3_128bits(data, bytes);
    return (wi_cache_key){.high = hash.high64, .low = hash.low64};
}

wi_cache_key wi_text_key(const char *text, size_t length) {
    return key_of(text, length);
}

static weft_status identify(wi_device *device, wi_cache_key *identity) {
    const weft_allocator *const allocator = device->host.allocator;
    char *version = NULL;
    cl_platform_id platform = NULL;
    WI_QUERY(device->id, CL_DEVICE_PLATFORM, &platform);
    WI_TRY(wi_platform_query_text(&version, allocator, platform, CL_PLATFORM_VERSION, "CL_PLATFORM_VERSION"));
    const weft_device_info *const info = &device->info;
    wi_text text;
    wi_text_init(&text, allocator);
    wi_text_append(&text, "format %d\nweft %s\n%s\n%s\n%s\n%s\n%s\n%s\n", ENTRY_FORMAT, weft_version(),
        info->name, info->vendor, info->driver, info->opencl, info->platform, version);
    if (!text.failed) *identity = key_of(text.data, text.length);
    const weft_status status = text.failed ? WEFT_ERROR_MEMORY : WEFT_OK;
    wi_text_clear(&text);
    wi_release(allocator, version);
    return status;
}

static weft_status join_folder(
    char **folder, const weft_allocator *allocator, const char *base, const char *rest) {
    wi_text path;
    wi_text_init(&path, allocator);
    wi_text_append(&path, "%s%s", base, rest);
    if (path.failed) {
        wi_text_clear(&path);
        return WEFT_ERROR_MEMORY;
    }
    *folder = path.data;
    return WEFT_OK;
}

/* *folder: the cache folder, NULL if `asked` is "" or no folder is known. *home: the user's folder that contains it,
 * NULL if the program or WEFT_CACHE_DIR named the folder. */
static weft_status find_folder(
    char **folder, const char **home, const weft_allocator *allocator, const char *asked) {
    *home = NULL;
    if (asked) return *asked ? join_folder(folder, allocator, asked, "") : WEFT_OK;
    const char *const own = wi_environment("WEFT_CACHE_DIR");
    if (own) return join_folder(folder, allocator, own, "");
    const char *below;
    *home = wi_cache_home(&below);
    return *home ? join_folder(folder, allocator, *home, below) : WEFT_OK;
}

static void drop_folder(wi_device *device) {
    wi_release(device->host.allocator, device->disk->folder);
    device->disk->folder = NULL;
}

/* A program that runs under sudo may see another user's HOME. A cache folder that root creates there would be unusable
 * for this user. */
weft_status wi_disk_cache_open(wi_device *device, const char *asked) {
    const char *home = NULL;
    device->disk = wi_allocate(device->host.allocator, sizeof *device->disk);
    if (!device->disk) return WEFT_ERROR_MEMORY;
    WI_TRY(identify(device, &device->disk->identity));
    WI_TRY(find_folder(&device->disk->folder, &home, device->host.allocator, asked));
    if (home && wi_file_is_others(home) && !wi_file_exists(device->disk->folder)) {
        wi_log_line(device->host.log, WEFT_LOG_WARNING,
            "kernel cache: '%s' belongs to another user; nothing is kept on disk", home);
        drop_folder(device);
    }
    return WEFT_OK;
}

void wi_disk_cache_close(wi_device *device) {
    if (!device->disk) return;
    drop_folder(device);
    wi_release(device->host.allocator, device->disk);
    device->disk = NULL;
}

/* Whether entries may be read and written. They are native code, so that a folder to which others may write is never
 * used. A folder that does not exist is checked again later, when it may have been created. */
static bool may_use_folder(wi_device *device) {
    struct wi_disk_cache *const disk = device->disk;
    char error[WI_ERROR_LINE];
    bool unseen = false;
    if (!disk->folder || disk->is_own) return disk->folder;
    wi_error_save(error, sizeof error);
    disk->is_own = wi_trusted_file_check(disk->folder, &unseen) == WEFT_OK;
    if (!disk->is_own && !unseen) {
        wi_log_line(device->host.log, WEFT_LOG_WARNING, "kernel cache: %s; the folder is not used",
            weft_last_error());
        drop_folder(device);
    }
    wi_error_restore(error);
    return disk->is_own;
}

wi_cache_key wi_disk_cache_identity(const wi_device *device) {
    return device->disk->identity;
}

/* A hash of three hashes, because concatenated texts would be ambiguous. */
wi_cache_key wi_disk_cache_key(const wi_device *device, const char *first, const char *second) {
    const wi_cache_key parts[3] = {
        device->disk->identity,
        key_of(first, strlen(first)),
        key_of(second, strlen(second)),
    };
    return key_of(parts, sizeof parts);
}

void wi_disk_cache_path(const wi_device *device, wi_cache_key key, char *path, size_t capacity) {
    path[0] = '\0';
    if (!device->disk->folder) return;
    snprintf(path, capacity, "%s/%016" PRIx64 "%016" PRIx64 ".weft", device->disk->folder, key.high, key.low);
}

bool wi_disk_cache_writes(const wi_device *device) {
    return device->disk->folder && !device->disk->writing_failed;
}

static uint64_t checksum(const entry_header *header, const void *payload, size_t bytes) {
    return XXH3_64bits_withSeed(payload, bytes, XXH3_64bits(header, offsetof(entry_header, checksum)));
}

static bool is_whole(const char *data, size_t bytes, wi_cache_key key, entry_header *header) {
    if (bytes < sizeof *header) return false;
    memcpy(header, data, sizeof *header);
    return memcmp(header->magic, entry_magic, sizeof entry_magic) == 0 && header->format == ENTRY_FORMAT &&
           header->key_high == key.high && header->key_low == key.low &&
           header->bytes == bytes - sizeof *header &&
           header->checksum == checksum(header, data + sizeof *header, bytes - sizeof *header);
}

/* Logs why an entry was not read. Distrusted entries are logged once, because a copied folder may have many of them. */
static void note_unread(wi_device *device, bool distrusted) {
    if (!distrusted || !device->disk->other_noted)
        wi_log_line(device->host.log, WEFT_LOG_WARNING, "kernel cache: %s%s", weft_last_error(),
            distrusted ? "; such entries are not used" : "");
    device->disk->other_noted |= distrusted;
}

weft_status wi_disk_cache_read(wi_device *device, wi_cache_key key, wi_cache_entry *entry) {
    char path[WI_PATH_CAPACITY], error[WI_ERROR_LINE];
    *entry = (wi_cache_entry){0};
    if (!may_use_folder(device)) return WEFT_OK;
    wi_disk_cache_path(device, key, path, sizeof path);
    char *data = NULL;
    size_t bytes = 0;
    bool distrusted = false;
    wi_error_save(error, sizeof error);
    const weft_status status = wi_kept_file_read(device->host.allocator, path, &data, &bytes, &distrusted);
    if (status == WEFT_ERROR_MEMORY) return status;
    if (status != WEFT_OK) {
        note_unread(device, distrusted);
        wi_error_restore(error);
    }
    if (!data) return WEFT_OK;
    entry_header header;
    if (!is_whole(data, bytes, key, &header)) {
        wi_log_line(
            device->host.log, WEFT_LOG_WARNING, "kernel cache: '%s' is damaged and will be rebuilt", path);
        wi_release(device->host.allocator, data);
        return WEFT_OK;
    }
    memmove(data, data + sizeof header, (size_t)header.bytes + 1); /* + 1: the NUL */
    *entry =
        (wi_cache_entry){.kind = (wi_cache_kind)header.kind, .data = data, .bytes = (size_t)header.bytes};
    return WEFT_OK;
}

static weft_status write_entry(
    wi_device *device, const char *path, const entry_header *header, const void *data, size_t bytes) {
    wi_file_writer *writer = NULL;
    WI_TRY(wi_file_writer_begin_private(&writer, device->host.allocator, path));
    weft_status status = wi_file_writer_append(writer, header, sizeof *header);
    if (status == WEFT_OK) status = wi_file_writer_append(writer, data, bytes);
    if (status == WEFT_OK) return wi_file_writer_commit(writer);
    wi_file_writer_abandon(writer);
    return status;
}

/* Whether this is a temporary file of an entry, "KEY.weft.NUMBERS.tmp". The folder may also have files of other
 * programs. */
static bool is_temporary(const char *name) {
    const size_t length = strlen(name), key = 32;
    return length > key + 10 && strspn(name, "0123456789abcdef") == key &&
           strncmp(name + key, ".weft.", 6) == 0 && strcmp(name + length - 4, ".tmp") == 0;
}

static void remove_abandoned(wi_device *device) {
    wi_arena arena;
    const char **names = NULL;
    size_t count = 0;
    wi_arena_init(&arena, device->host.allocator);
    if (wi_directory_list(&names, &count, &arena, device->disk->folder) == WEFT_OK)
        for (size_t i = 0; i < count; i++)
            if (is_temporary(names[i]))
                (void)wi_file_remove_abandoned(device->host.allocator, device->disk->folder, names[i]);
    wi_release(device->host.allocator, (void *)names);
    wi_arena_clear(&arena);
    device->disk->is_clean = true;
}

/* Creates the folder if it does not exist. *usable: may entries be written? Errors: those of creating the folder. */
static weft_status make_folder(wi_device *device, bool *usable) {
    const weft_status status = wi_directory_create(device->disk->folder, true);
    *usable = status == WEFT_OK && may_use_folder(device);
    if (*usable && !device->disk->is_clean) remove_abandoned(device);
    return status;
}

bool wi_disk_cache_write(
    wi_device *device, wi_cache_key key, wi_cache_kind kind, const void *data, size_t bytes) {
    char path[WI_PATH_CAPACITY], error[WI_ERROR_LINE];
    bool usable = false;
    wi_disk_cache_path(device, key, path, sizeof path);
    if (!wi_disk_cache_writes(device)) return false;
    entry_header header = {
        .format = ENTRY_FORMAT, .kind = kind, .key_high = key.high, .key_low = key.low, .bytes = bytes};
    memcpy(header.magic, entry_magic, sizeof entry_magic);
    header.checksum = checksum(&header, data, bytes);
    wi_error_save(error, sizeof error);
    weft_status status = make_folder(device, &usable);
    if (status == WEFT_OK && usable) status = write_entry(device, path, &header, data, bytes);
    if (status == WEFT_OK) return usable;
    wi_log_line(
        device->host.log, WEFT_LOG_WARNING, "kernel cache: %s; nothing more is written", weft_last_error());
    wi_error_restore(error);
    device->disk->writing_failed = true;
    return false;
}

void wi_disk_cache_file(wi_device *device, const char *name, bool make, char *path, size_t capacity) {
    char error[WI_ERROR_LINE];
    bool usable = false;
    path[0] = '\0';
    wi_error_save(error, sizeof error);
    if (make && device->disk->folder)
        (void)make_folder(device, &usable);
    else
        usable = may_use_folder(device);
    if (usable) snprintf(path, capacity, "%s/%s", device->disk->folder, name);
    wi_error_restore(error);
}

/* ---- removing entries ---- */

static bool is_failure(const weft_allocator *allocator, const char *path, bool *compiling) {
    char *data = NULL, error[WI_ERROR_LINE];
    size_t bytes = 0;
    bool distrusted = false;
    entry_header header = {0};
    wi_error_save(error, sizeof error);
    if (wi_kept_file_read(allocator, path, &data, &bytes, &distrusted) != WEFT_OK) wi_error_restore(error);
    if (bytes >= sizeof header) memcpy(&header, data, sizeof header);
    wi_release(allocator, data);
    *compiling = header.kind == WI_CACHE_FAILURE;
    return memcmp(header.magic, entry_magic, sizeof entry_magic) == 0 &&
           (*compiling || header.kind == WI_CACHE_FINDINGS);
}

static weft_status forget_in(const weft_allocator *allocator, const char *folder, size_t *forgotten) {
    wi_arena arena;
    const char **names = NULL;
    size_t count = 0;
    wi_arena_init(&arena, allocator);
    weft_status status = wi_directory_list(&names, &count, &arena, folder);
    for (size_t i = 0; status == WEFT_OK && i < count; i++) {
        char path[WI_PATH_CAPACITY];
        bool compiling = false;
        const size_t length = strlen(names[i]);
        if (length < 5 || strcmp(names[i] + length - 5, ".weft") != 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (!is_failure(allocator, path, &compiling)) continue;
        status = wi_file_remove(path);
        *forgotten += status == WEFT_OK && compiling;
    }
    wi_release(allocator, (void *)names);
    wi_arena_clear(&arena);
    return status;
}

weft_status wi_disk_cache_forget_failures(
    const weft_allocator *allocator, const char *asked, size_t *forgotten) {
    char *folder = NULL;
    const char *home = NULL;
    *forgotten = 0;
    WI_TRY(find_folder(&folder, &home, allocator, asked));
    weft_status status = WEFT_OK;
    if (folder && wi_file_exists(folder)) status = wi_trusted_file_check(folder, NULL);
    if (status == WEFT_OK && folder && wi_file_exists(folder))
        status = forget_in(allocator, folder, forgotten);
    wi_release(allocator, folder);
    return status;
}
