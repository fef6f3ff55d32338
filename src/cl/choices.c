/* The tuner's choices (contract in choices.h): an array that is searched from its end. */
#include "cl/choices.h"
#include "base/file_read.h"
#include "base/log.h"
#include "base/platform.h"
#include "base/trusted_file.h"
#include "cl/disk_cache.h"
#include "cl/tuning_file.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS = 6, MOST_CHOICES = 65536 };

typedef struct choice_list {
    wi_choice *all;
    size_t count, capacity;
} choice_list;

struct wi_choices {
    choice_list list;
    char *file; /* named by the context or WEFT_TUNING; NULL: none */
    bool was_read, unused;
};

static const char own_file[] = "tuning.txt";

weft_status wi_choices_open(wi_device *device, const char *file) {
    device->choices = wi_allocate(device->host.allocator, sizeof *device->choices);
    if (!device->choices) return WEFT_ERROR_MEMORY;
    const char *const named = file ? file : wi_environment("WEFT_TUNING");
    if (!named) return WEFT_OK;
    device->choices->file = wi_copy_string(device->host.allocator, named);
    return device->choices->file ? WEFT_OK : WEFT_ERROR_MEMORY;
}

static void clear(const weft_allocator *allocator, wi_choice *choice) {
    wi_release(allocator, choice->site);
    wi_release(allocator, choice->kernel);
    wi_release(allocator, choice->fault);
    *choice = (wi_choice){0};
}

static void clear_list(const weft_allocator *allocator, choice_list *list) {
    for (size_t i = 0; i < list->count; i++) clear(allocator, &list->all[i]);
    wi_release(allocator, list->all);
    *list = (choice_list){0};
}

void wi_choices_close(wi_device *device) {
    struct wi_choices *const choices = device->choices;
    if (!choices) return;
    clear_list(device->host.allocator, &choices->list);
    wi_release(device->host.allocator, choices->file);
    wi_release(device->host.allocator, choices);
    device->choices = NULL;
}

/* ---- the list ---- */

/* The fault of the kernel at the site, or, if kernel is NULL, the choice for the site. */
static wi_choice *find(const choice_list *list, const char *site, const char *kernel) {
    for (size_t i = list->count; i-- > 0;) {
        wi_choice *const choice = &list->all[i];
        if (strcmp(choice->site, site) == 0 && !choice->fault == !kernel &&
            (!kernel || strcmp(choice->kernel, kernel) == 0))
            return choice;
    }
    return NULL;
}

static weft_status copy(const weft_allocator *allocator, wi_choice *own, const wi_choice *given) {
    *own = (wi_choice){.site = wi_copy_string(allocator, given->site),
        .kernel = wi_copy_string(allocator, given->kernel),
        .fault = given->fault ? wi_copy_string(allocator, given->fault) : NULL,
        .seconds = given->seconds,
        .usual = given->usual,
        .built_in = given->built_in};
    if (own->site && own->kernel && !given->fault == !own->fault) return WEFT_OK;
    clear(allocator, own);
    return WEFT_ERROR_MEMORY;
}

static weft_status set(const weft_allocator *allocator, choice_list *list, const wi_choice *given) {
    wi_choice *known = find(list, given->site, given->fault ? given->kernel : NULL);
    wi_choice own;
    WI_TRY(copy(allocator, &own, given));
    if (!known) {
        const weft_status status =
            wi_grow(allocator, (void **)&list->all, &list->capacity, list->count + 1, sizeof *list->all);
        if (status != WEFT_OK) {
            clear(allocator, &own);
            return status;
        }
        known = &list->all[list->count++];
        *known = (wi_choice){0};
    }
    clear(allocator, known);
    *known = own;
    return WEFT_OK;
}

/* ---- text ---- */

void wi_choices_append_device(const wi_device *device, wi_text *text) {
    const weft_device_info *const info = &device->info;
    wi_text_append(text, "device\t%s\t%s\t%s\t%s\t%s\n", info->name, info->platform, info->driver,
        weft_version(), device->profile.name);
}

void wi_choices_append(wi_device *device, wi_text *text) {
    size_t count;
    wi_locale locale;
    const wi_choice *const all = wi_choices_all(device, &count);
    wi_locale_enter(&locale);
    wi_choices_append_device(device, text);
    for (size_t i = 0; i < count; i++) {
        if (all[i].built_in) continue;
        if (all[i].fault)
            wi_text_append(text, "bad\t%s\t%s\t%s\n", all[i].site, all[i].kernel, all[i].fault);
        else
            wi_text_append(text, "choice\t%s\t%s\t%.9g\t%.9g\n", all[i].site, all[i].kernel, all[i].seconds,
                all[i].usual);
    }
    wi_locale_leave(&locale);
}

/* Splits a line at its tabs, which become NULs. Returns the number of fields, FIELDS + 1 if there are more than FIELDS. */
static int cut(char *line, char *fields[FIELDS]) {
    int count = 0;
    for (char *at = line; at; count++) {
        if (count == FIELDS) return FIELDS + 1;
        fields[count] = at;
        at = strchr(at, '\t');
        if (at) *at++ = '\0';
    }
    return count;
}

static bool read_seconds(double *seconds, const char *text) {
    char *end;
    *seconds = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*seconds) && *seconds > 0.0;
}

static bool is_own(const wi_device *device, char *const fields[FIELDS]) {
    const weft_device_info *const info = &device->info;
    const char *const own[] = {
        info->name, info->platform, info->driver, weft_version(), device->profile.name};
    for (int i = 0; i < FIELDS - 1; i++) {
        if (strcmp(fields[1 + i], own[i]) != 0) return false;
    }
    return true;
}

/* Which sections apply to a device. The built-in list is read once for each of the first three levels; later choices
 * replace earlier ones, so that a device's section wins over its vendor's. */
typedef enum list_level { OF_VENDOR, OF_ARCHITECTURE, OF_DEVICE, LEVELS, OF_FILE } list_level;

static bool is_named(const wi_device *device, const char *name, list_level level) {
    const wi_capabilities *const caps = &device->caps;
    switch (level) {
    case OF_VENDOR: return strcmp(name, device->info.vendor) == 0;
    case OF_ARCHITECTURE: return strcmp(name, caps->architecture) == 0;
    default: return strcmp(name, device->info.name) == 0 || strcmp(name, caps->board) == 0;
    }
}

/* Whether a `device` line names this device at the level. */
static bool is_section_of(const wi_device *device, char *const fields[FIELDS], list_level level) {
    if (level == OF_FILE) return is_own(device, fields);
    return fields[1][0] != '\0' && is_named(device, fields[1], level) &&
           strcmp(fields[5], device->profile.name) == 0;
}

/* Reads a `choice` or `bad` line; false: the line is damaged. */
static bool read_record(wi_choice *choice, char *const fields[FIELDS], int count) {
    if (count < 4 || !*fields[1] || !*fields[2] || !*fields[3]) return false;
    *choice = (wi_choice){.site = fields[1], .kernel = fields[2]};
    if (count == 4 && strcmp(fields[0], "bad") == 0) {
        choice->fault = fields[3];
        return true;
    }
    return count == 5 && strcmp(fields[0], "choice") == 0 && read_seconds(&choice->seconds, fields[3]) &&
           read_seconds(&choice->usual, fields[4]);
}

/* The state of reading one text. */
typedef struct reader {
    const wi_device *device;
    list_level level;
    choice_list found;
    bool begun, own,
        newer; /* own: the current section is this device's; newer: the latest line names another version of the format */
    size_t skipped; /* lines in sections of other devices */
} reader;

/* Reads one line; false: it is damaged, or memory did not suffice. Tabs in it are overwritten. */
static bool take_line(reader *r, char *line) {
    char *fields[FIELDS];
    wi_choice choice;
    if (strcmp(line, WI_TUNING_FIRST_LINE) == 0) return r->begun = true;
    r->newer = strncmp(line, WI_TUNING_FIRST_WORD, strlen(WI_TUNING_FIRST_WORD)) == 0;
    const int count = cut(line, fields);
    if (!r->begun || count > FIELDS) return false;
    if (count == FIELDS && strcmp(fields[0], "device") == 0) {
        r->own = is_section_of(r->device, fields, r->level);
        return true;
    }
    if (!read_record(&choice, fields, count)) return false;
    choice.built_in = r->level != OF_FILE;
    r->skipped += !r->own;
    return !r->own || r->found.count >= MOST_CHOICES ||
           set(r->device->host.allocator, &r->found, &choice) == WEFT_OK;
}

/* Adds the lines that a reader found to the device's choices. Only called for an undamaged text, so that no line of a
 * damaged text is used. */
static void take_found(wi_device *device, const reader *r, const char *name) {
    for (size_t i = 0; i < r->found.count; i++)
        (void)set(device->host.allocator, &device->choices->list, &r->found.all[i]);
    if (r->skipped > 0 && r->level == OF_FILE)
        wi_log_line(device->host.log, WEFT_LOG_INFO,
            "tuning file '%s': lines that were measured on another device, driver or version of Weft are "
            "ignored; their number is %zu",
            name, r->skipped);
}

/* Ends the line, also before a CR LF of an editor on Windows, and returns the next one: "" after the last. */
static char *cut_line(char *line) {
    const size_t length = strcspn(line, "\n");
    char *const next = line + length + (line[length] == '\n');
    line[length - (length > 0 && line[length - 1] == '\r')] = '\0';
    return next;
}

static void take(wi_device *device, char *text, const char *name, list_level level) {
    reader r = {.device = device, .level = level};
    wi_locale locale;
    int number = 1;
    bool right = true;
    wi_locale_enter(&locale);
    for (char *line = text, *next; right && *line; line = next, number++) {
        next = cut_line(line);
        right = take_line(&r, line);
    }
    wi_locale_leave(&locale);
    if (right && r.begun)
        take_found(device, &r, name);
    else
        wi_log_line(device->host.log, WEFT_LOG_WARNING,
            r.newer
                ? "tuning file '%s': line %d names another version of the file format; the file is not used"
                : "tuning file '%s': line %d is damaged; the file is not used",
            name, right ? 1 : number - 1);
    clear_list(device->host.allocator, &r.found);
}

void wi_choices_take(wi_device *device, char *text, const char *name) {
    take(device, text, name, OF_FILE);
}

/* Reading overwrites the text, so that each level gets a copy. */
void wi_choices_take_built_in(wi_device *device, const char *text) {
    const weft_allocator *const allocator = device->host.allocator;
    for (int level = OF_VENDOR; level < LEVELS; level++) {
        char *const copied = wi_copy_string(allocator, text);
        if (copied) take(device, copied, "built-in choices", (list_level)level);
        wi_release(allocator, copied);
    }
}

/* ---- files ---- */

static void read_file(wi_device *device, const char *path, bool own) {
    char *text = NULL;
    size_t bytes = 0;
    bool distrusted;
    const weft_status status =
        own ? wi_kept_file_read(device->host.allocator, path, &text, &bytes, &distrusted)
            : wi_file_read(device->host.allocator, path, &text, &bytes);
    if (status == WEFT_OK && !text) return;
    if (status == WEFT_OK && strlen(text) < bytes)
        wi_log_line(device->host.log, WEFT_LOG_WARNING,
            "tuning file '%s' has a zero byte, so it is not text; the file is not used", path);
    else if (status == WEFT_OK)
        wi_choices_take(device, text, path);
    else
        wi_log_line(
            device->host.log, WEFT_LOG_WARNING, "tuning file: %s; the file is not used", weft_last_error());
    wi_release(device->host.allocator, text);
}

static void read_files(wi_device *device) {
    char path[WI_PATH_CAPACITY], error[WI_ERROR_LINE];
    if (device->choices->was_read) return;
    device->choices->was_read = true;
    wi_error_save(error, sizeof error);
    wi_choices_take_built_in(device, wi_built_in_choices);
    if (device->choices->file) read_file(device, device->choices->file, false);
    wi_disk_cache_file(device, own_file, false, path, sizeof path);
    if (*path) read_file(device, path, true);
    wi_error_restore(error);
}

void wi_choices_use(wi_device *device, bool used) {
    device->choices->unused = !used;
}

wi_choice *wi_choices_find(wi_device *device, const char *site) {
    if (device->choices->unused) return NULL;
    read_files(device);
    return find(&device->choices->list, site, NULL);
}

const char *wi_choices_fault(wi_device *device, const char *site, const char *kernel) {
    read_files(device);
    const wi_choice *const choice = find(&device->choices->list, site, kernel);
    return choice ? choice->fault : NULL;
}

const wi_choice *wi_choices_all(wi_device *device, size_t *count) {
    read_files(device);
    *count = device->choices->list.count;
    return device->choices->list.all;
}

weft_status wi_choices_set(wi_device *device, const wi_choice *choice) {
    read_files(device);
    return set(device->host.allocator, &device->choices->list, choice);
}

/* ---- writing ---- */

/* Keeps a line of the old file: undamaged lines in sections of other devices. *own: whether the current section is this device's. */
static void append_kept(const wi_device *device, wi_text *text, const char *line, bool *own) {
    char *fields[FIELDS], *const copied = wi_copy_string(device->host.allocator, line);
    wi_choice choice;
    if (!copied) {
        text->failed = true;
        return;
    }
    wi_locale locale;
    wi_locale_enter(&locale);
    const int count = cut(copied, fields);
    const bool head = count == FIELDS && strcmp(fields[0], "device") == 0;
    if (head) *own = is_own(device, fields);
    const bool kept = !*own && (head || (count < FIELDS && read_record(&choice, fields, count)));
    wi_locale_leave(&locale);
    wi_release(device->host.allocator, copied);
    if (kept) wi_text_append(text, "%s\n", line);
}

static void append_others(const wi_device *device, wi_text *text, char *old) {
    bool own = true;
    for (char *next; old && *old; old = next) {
        next = cut_line(old);
        append_kept(device, text, old, &own);
    }
}

weft_status wi_choices_save(wi_device *device, const char *file) {
    char path[WI_PATH_CAPACITY], *old;
    wi_text text;
    wi_disk_cache_file(device, own_file, true, path, sizeof path);
    if (file) snprintf(path, sizeof path, "%s", file);
    if (!*path)
        WI_FAIL(WEFT_ERROR_STATE,
            "tuning: there is no cache folder to save the results in; set WEFT_CACHE_DIR or name a file");
    WI_TRY(wi_tuning_file_read(&old, device->host.allocator, path, file != NULL));
    wi_text_init(&text, device->host.allocator);
    wi_text_append(&text, "%s\n", WI_TUNING_FIRST_LINE);
    append_others(device, &text, old);
    wi_release(device->host.allocator, old);
    wi_choices_append(device, &text);
    const weft_status status =
        text.failed ? WEFT_ERROR_MEMORY : wi_tuning_file_write(path, file != NULL, &text);
    wi_text_clear(&text);
    return status;
}
