/* Checkpoint files (contract and format in checkpoint_file.h). */
#include "io/checkpoint_file.h"
#include "base/file_guess.h"
#include "base/file_target.h"
#include "base/platform.h"
#include "graph/variable_names.h"
#include "io/differences.h"
#include "io/safetensors_write.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { LENGTH_BYTES = 8, DIGITS = 32 };

/* The bytes after the length in every checkpoint, up to the digits of the checksum. */
static const char head[] = "{\"__metadata__\":{\"weft.checksum\":\"";
static const size_t digits_at = LENGTH_BYTES + sizeof head - 1;

/* ---- writing ---- */

static void hash_entry(XXH3_state_t *state, const wi_saved_entry *entry) {
    const char *const dtype = wi_saved_dtype_name(entry->dtype);
    XXH3_64bits_update(state, entry->name, strlen(entry->name) + 1);
    XXH3_64bits_update(state, dtype, strlen(dtype) + 1);
    for (int axis = 0; axis < entry->rank; axis++)
        XXH3_64bits_update(state, &entry->dims[axis], sizeof entry->dims[axis]);
}

weft_status wi_checkpoint_note_head(wi_saved_list *list, size_t weights) {
    static const char zeros[DIGITS + 1] = "00000000000000000000000000000000";
    XXH3_state_t *const state = XXH3_createState();
    if (!state) WI_FAIL(WEFT_ERROR_MEMORY, "out of host memory while listing the contents of a checkpoint");
    XXH3_64bits_reset(state);
    for (size_t i = 0; i < weights; i++) hash_entry(state, &list->entries[i]);
    const uint64_t network = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    WI_TRY(wi_saved_list_note(list, "weft.checksum", "%s", zeros));
    WI_TRY(wi_saved_list_note(list, "weft.checkpoint", "%d", WI_CHECKPOINT_FORMAT));
    WI_TRY(wi_saved_list_note(list, "weft.version", "%s", weft_version()));
    return wi_saved_list_note(list, "weft.network", "%016" PRIx64, network);
}

static weft_status make_room(wi_checkpoint_image *image, size_t bytes, const char *path) {
    if (bytes > image->capacity) {
        wi_release(image->allocator, image->bytes);
        image->capacity = 0;
        image->bytes = wi_allocate(image->allocator, bytes);
        if (!image->bytes)
            WI_FAIL(WEFT_ERROR_MEMORY, "out of host memory: %zu bytes were requested for checkpoint '%s'",
                bytes, path);
        image->capacity = bytes;
    }
    image->size = bytes;
    return WEFT_OK;
}

weft_status wi_checkpoint_image_reserve(wi_checkpoint_image *image, const char *path, wi_saved_list *list) {
    enum { SPARE = 16384 }; /* the numbers in the metadata get more digits */
    wi_text header;
    size_t data_bytes = 0;
    wi_text_init(&header, image->allocator);
    weft_status status = wi_saved_header(&header, path, list, &data_bytes);
    if (status == WEFT_OK) status = make_room(image, header.length + data_bytes + SPARE, path);
    wi_text_clear(&header);
    return status;
}

weft_status wi_checkpoint_image_fill(wi_checkpoint_image *image, const char *path, wi_saved_list *list) {
    wi_text header;
    size_t data_bytes = 0;
    wi_text_init(&header, image->allocator);
    weft_status status = wi_saved_header(&header, path, list, &data_bytes);
    if (status == WEFT_OK) status = make_room(image, header.length + data_bytes, path);
    if (status == WEFT_OK) memcpy(image->bytes, header.data, header.length);
    for (size_t i = 0; i < list->count && status == WEFT_OK; i++)
        status =
            wi_saved_entry_read(&list->entries[i], image->bytes + header.length + list->entries[i].begin);
    wi_text_clear(&header);
    return status;
}

void wi_checkpoint_image_clear(wi_checkpoint_image *image) {
    wi_release(image->allocator, image->bytes);
    *image = (wi_checkpoint_image){.allocator = image->allocator};
}

/* digits: the checksum of the bytes, which must have '0' in place of the digits. */
static void checksum(const unsigned char *bytes, size_t size, char digits[DIGITS]) {
    static const char hexadecimal[] = "0123456789abcdef";
    const XXH128_hash_t hash = XXH3_128bits(bytes, size);
    const uint64_t halves[2] = {hash.high64, hash.low64};
    for (int i = 0; i < DIGITS; i++) digits[i] = hexadecimal[halves[i / 16] >> (60 - 4 * (i % 16)) & 15u];
}

weft_status wi_checkpoint_image_write(wi_checkpoint_image *image, const char *path) {
    char target[4096], folder[4096], digits[DIGITS];
    const char *name = NULL;
    wi_file_writer *writer = NULL;
    checksum(image->bytes, image->size, digits);
    memcpy(image->bytes + digits_at, digits, DIGITS);
    WI_TRY(wi_file_target(target, sizeof target, path));
    wi_path_split(target, folder, sizeof folder, &name);
    WI_TRY(wi_file_writer_begin(&writer, image->allocator, path));
    const weft_status status = wi_file_writer_append(writer, image->bytes, image->size);
    if (status != WEFT_OK) {
        wi_file_writer_abandon(writer);
        return status;
    }
    WI_TRY(wi_file_writer_commit(writer));
    return wi_directory_sync(folder);
}

/* ---- reading ---- */

static weft_status check_sum(const char *path, char *bytes, size_t size) {
    char saved[DIGITS], found[DIGITS];
    if (size < digits_at + DIGITS || memcmp(bytes + LENGTH_BYTES, head, sizeof head - 1) != 0)
        WI_FAIL(WEFT_ERROR_FORMAT,
            "'%s' is not a checkpoint of Weft, or its beginning is damaged (weft_weights_load reads files of "
            "weights)",
            path);
    memcpy(saved, bytes + digits_at, DIGITS);
    memset(bytes + digits_at, '0', DIGITS);
    checksum((const unsigned char *)bytes, size, found);
    memcpy(bytes + digits_at, saved, DIGITS);
    if (memcmp(saved, found, DIGITS) == 0) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_FORMAT,
        "'%s': the checksum does not match the %zu bytes: the file was truncated or changed after it was "
        "written",
        path, size);
}

static weft_status check_version(const wi_checkpoint_file *file) {
    const char *const version = wi_checkpoint_find(file, "weft.version");
    const uint64_t format = file->format;
    if (format >= WI_CHECKPOINT_FIRST_FORMAT && format <= WI_CHECKPOINT_FORMAT) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_FORMAT,
        "'%s' is a checkpoint of format %" PRIu64
        ", written by Weft %.40s; this is Weft %s, which reads formats %d to %d",
        file->path, format, version ? version : "of an unknown version", weft_version(),
        WI_CHECKPOINT_FIRST_FORMAT, WI_CHECKPOINT_FORMAT);
}

static weft_status read_file(wi_checkpoint_file *file) {
    wi_path_info info;
    size_t size = 0;
    WI_TRY(wi_path_look(&info, file->path, NULL));
    if (info.kind != WI_PATH_FILE) WI_FAIL(WEFT_ERROR_FILE, "'%s' is not a regular file", file->path);
    WI_TRY(wi_file_read(file->allocator, file->path, &file->bytes, &size));
    WI_TRY(wi_file_refuse_page(file->path, file->bytes, size));
    WI_TRY(check_sum(file->path, file->bytes, size));
    WI_TRY(wi_safetensors_parse(&file->table, file->allocator, file->path, file->bytes, size));
    WI_TRY(wi_checkpoint_count(file, "weft.checkpoint", &file->format));
    return check_version(file);
}

weft_status wi_checkpoint_open(wi_checkpoint_file *file, const weft_allocator *allocator, const char *path) {
    *file = (wi_checkpoint_file){.path = path, .allocator = allocator};
    const weft_status status = read_file(file);
    if (status != WEFT_OK) wi_checkpoint_close(file);
    return status;
}

void wi_checkpoint_close(wi_checkpoint_file *file) {
    if (file->table.arena.blocks) wi_safetensors_clear(&file->table);
    wi_release(file->allocator, file->bytes);
    *file = (wi_checkpoint_file){0};
}

/* Converts a name of WI_CHECKPOINT_FORMAT to the name that the format of the file uses. The name may also be the
 * beginning of names. */
static const char *name_in(const wi_checkpoint_file *file, const char *name) {
    return file->format == 1 && wi_name_is_reserved(name) ? name + strlen(WI_RESERVED_PREFIX) : name;
}

wi_saved_tensor *wi_checkpoint_tensor(const wi_checkpoint_file *file, const char *name) {
    return wi_safetensors_find(&file->table, name_in(file, name));
}

const char *wi_checkpoint_find(const wi_checkpoint_file *file, const char *key) {
    return wi_safetensors_metadata(&file->table, key);
}

weft_status wi_checkpoint_count(const wi_checkpoint_file *file, const char *key, uint64_t *value) {
    const char *const text = wi_checkpoint_find(file, key);
    const size_t length = text ? strlen(text) : 0;
    errno = 0;
    if (length && strspn(text, "0123456789") == length) *value = strtoull(text, NULL, 10);
    if (length && strspn(text, "0123456789") == length && errno == 0) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_FORMAT, "'%s': the metadata lacks the entry '%s', a whole number", file->path, key);
}

weft_status wi_checkpoint_number(const wi_checkpoint_file *file, const char *key, double *value) {
    const char *const text = wi_checkpoint_find(file, key);
    char *end = NULL;
    wi_locale locale;
    wi_locale_enter(&locale);
    if (text) *value = strtod(text, &end);
    wi_locale_leave(&locale);
    if (text && end != text && *end == '\0') return WEFT_OK;
    WI_FAIL(WEFT_ERROR_FORMAT, "'%s': the metadata lacks the entry '%s', a number", file->path, key);
}

/* ---- matching ---- */

const char *const wi_checkpoint_others[] = {
    WI_RESERVED_PREFIX "extra.", WI_RESERVED_PREFIX "trainer.", WI_RESERVED_PREFIX "best.", NULL};

static bool begins_with_any(const wi_checkpoint_file *file, const char *name, const char *const *prefixes) {
    for (; *prefixes; prefixes++) {
        const char *const prefix = name_in(file, *prefixes);
        if (strncmp(name, prefix, strlen(prefix)) == 0) return true;
    }
    return false;
}

/* Returns the tensor of the name unless it was taken before: in format 1, where "weft." is missing, a weight may have
 * the name of another entry, but a tensor belongs to one entry only. */
static wi_saved_tensor *take_tensor(const wi_checkpoint_file *file, const char *name) {
    wi_saved_tensor *const saved = wi_checkpoint_tensor(file, name);
    if (!saved || saved->taken) return NULL;
    saved->taken = true;
    return saved;
}

/* The rest of a name after "weft.optimizer2.ROLE."; NULL: the name is not that of an optimizer's state. */
static const char *after_role(const char *name) {
    static const char beginning[] = WI_RESERVED_PREFIX "optimizer";
    if (strncmp(name, beginning, sizeof beginning - 1) != 0) return NULL;
    const char *const role = strchr(name + sizeof beginning - 1, '.'), *const end =
                                                                           role ? strchr(role + 1, '.')
                                                                                : NULL;
    return end ? end + 1 : NULL;
}

static bool has_entry(const wi_saved_list *list, const char *name) {
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->entries[i].name, name) == 0) return true;
    return false;
}

/* Is this the state of an optimizer for a parameter that is now frozen, or not reached by the loss? The graph has the
 * same state for other parameters, which shows that its optimizer is of the same kind. */
static bool is_of_untrained(const wi_checkpoint_file *file, const wi_saved_list *list, const char *name) {
    for (size_t i = 0; i < list->count; i++) {
        const char *const own = list->entries[i].name, *const end = after_role(own);
        if (!end) continue;
        const char *const prefix = name_in(file, own);
        const size_t length = (size_t)(end - prefix);
        if (strncmp(name, prefix, length) == 0) return has_entry(list, name + length);
    }
    return false;
}

/* Does the entry belong to parameters that a step introduced to an optimizer after the checkpoint was saved? */
static bool is_of_later_clock(const wi_checkpoint_file *file, const wi_saved_entry *entry) {
    uint64_t clocks = UINT64_MAX;
    if (!entry->variable || wi_checkpoint_count(file, "graph.clocks", &clocks) != WEFT_OK) return false;
    const weft_graph *const graph = entry->variable->graph;
    const wi_variable *const own = entry->variable->variable;
    if (own->role) return own->clock >= clocks;
    for (size_t i = (size_t)clocks; i < graph->clock_count; i++)
        if (graph->clocks[i].skipped == entry->variable || graph->clocks[i].memory == entry->variable ||
            graph->clocks[i].counted == entry->variable)
            return true;
    return false;
}

static void compare(wi_differences *differences, const wi_saved_tensor *saved, const wi_saved_entry *entry) {
    if (!saved && entry->is_optional) return;
    if (saved && entry->state && saved->dtype->dtype == WEFT_U8 && saved->rank == 1)
        return; /* a host state may have any length */
    if (!saved)
        wi_differences_missing(differences, entry->name);
    else if (!wi_saved_shape_equal(saved, entry))
        wi_differences_shape(differences, saved, entry);
    else if (saved->dtype->dtype != (int)entry->dtype)
        wi_differences_dtype(differences, saved, entry);
}

static bool is_same_network(const wi_checkpoint_file *file, const wi_saved_list *list) {
    const char *const theirs = wi_checkpoint_find(file, "weft.network");
    for (size_t i = 0; theirs && i < list->pair_count; i++)
        if (strcmp(list->pairs[i].key, "weft.network") == 0) return strcmp(list->pairs[i].value, theirs) == 0;
    return false;
}

weft_status wi_checkpoint_match(
    wi_checkpoint_file *file, const wi_saved_list *list, const char *const *ignored) {
    wi_differences differences;
    wi_safetensors *const table = &file->table;
    wi_differences_init(&differences, file->allocator);
    for (size_t i = 0; i < table->count; i++) table->tensors[i].taken = false;
    for (size_t i = 0; i < list->count; i++) {
        const wi_saved_tensor *const saved = take_tensor(file, list->entries[i].name);
        const bool is_later = is_of_later_clock(file, &list->entries[i]);
        if (saved && is_later) /* the file has the state, but not its clock's count of updates */
            wi_differences_unexpected(&differences, list->entries[i].name);
        else if (!is_later)
            compare(&differences, saved, &list->entries[i]);
    }
    for (size_t i = 0; i < table->count; i++)
        if (!table->tensors[i].taken && !begins_with_any(file, table->tensors[i].name, ignored) &&
            !is_of_untrained(file, list, table->tensors[i].name) &&
            !wi_name_is_transient(list->graph, table->tensors[i].name))
            wi_differences_unexpected(&differences, table->tensors[i].name);
    const weft_status status = wi_differences_report(&differences, file->path,
        is_same_network(file, list) ? "a checkpoint of another training: "
                                    : "a checkpoint of another network: ");
    wi_differences_clear(&differences);
    return status;
}

/* Writes the initial value of a state that the file lacks: f32, the same number everywhere. */
static weft_status write_first(const weft_allocator *allocator, const wi_saved_entry *entry) {
    float *const values = wi_allocate_array(allocator, entry->bytes / sizeof *values, sizeof *values);
    if (!values) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < entry->bytes / sizeof *values; i++)
        values[i] = entry->variable->variable->initialiser.a;
    const weft_status status = wi_saved_entry_write(entry, values);
    wi_release(allocator, values);
    return status;
}

static weft_status apply_one(const wi_checkpoint_file *file, wi_saved_entry entry) {
    const wi_saved_tensor *const saved = wi_checkpoint_tensor(file, entry.name);
    if (!saved && entry.state) return entry.state->load(entry.state, NULL, 0);
    if (!saved) return write_first(file->allocator, &entry);
    entry.bytes = saved->end - saved->begin; /* differs for host states only */
    return wi_saved_entry_write(&entry, file->table.data + saved->begin);
}

weft_status wi_checkpoint_apply(const wi_checkpoint_file *file, const wi_saved_list *list) {
    for (size_t i = 0; i < list->count; i++) WI_TRY(wi_saved_entry_check(&list->entries[i]));
    for (size_t i = 0; i < list->count; i++) WI_TRY(apply_one(file, list->entries[i]));
    return WEFT_OK;
}
