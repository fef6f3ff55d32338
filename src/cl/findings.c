/* Results of self-tests (contract in findings.h): an array, and lines "right<tab>NAME" or "wrong<tab>NAME<tab>FAULT" on
 * disk. */
#include "cl/findings.h"
#include "base/memory.h"
#include "cl/disk_cache.h"
#include <string.h>

struct wi_findings {
    wi_finding *all;
    size_t count, capacity;
};

static wi_cache_key own_key(const wi_device *device) {
    return wi_disk_cache_key(device, "findings of self-tests", "");
}

static wi_finding *find(const struct wi_findings *findings, const char *name) {
    for (size_t i = 0; i < findings->count; i++) {
        if (strcmp(findings->all[i].name, name) == 0) return &findings->all[i];
    }
    return NULL;
}

static char *copy_line(const weft_allocator *allocator, const char *text) {
    char *const copy = text ? wi_copy_string(allocator, text) : NULL;
    for (char *at = copy; at && *at; at++) {
        if ((unsigned char)*at < ' ') *at = ' ';
    }
    return copy;
}

/* Without memory the finding is not remembered, which is not an error. */
static void add(wi_device *device, const char *name, const char *fault) {
    const weft_allocator *const allocator = device->host.allocator;
    struct wi_findings *const findings = device->findings;
    wi_finding finding = {.name = copy_line(allocator, name), .fault = copy_line(allocator, fault)};
    if (finding.name && (finding.fault || !fault) &&
        wi_grow(allocator, (void **)&findings->all, &findings->capacity, findings->count + 1,
            sizeof *findings->all) == WEFT_OK) {
        findings->all[findings->count++] = finding;
        return;
    }
    wi_release(allocator, finding.name);
    wi_release(allocator, finding.fault);
}

/* Adds the finding of a line of the file, unless its name is known; other lines are ignored. */
static void read_line(wi_device *device, char *line) {
    char *const name = strchr(line, '\t');
    if (!name) return;
    *name = '\0';
    char *const fault = strchr(name + 1, '\t');
    if (fault) *fault = '\0';
    const bool right = strcmp(line, "right") == 0 && !fault;
    if (!right && !(strcmp(line, "wrong") == 0 && fault)) return;
    if (!find(device->findings, name + 1)) add(device, name + 1, fault ? fault + 1 : NULL);
}

static void read_disk(wi_device *device) {
    wi_cache_entry entry;
    if (wi_disk_cache_read(device, own_key(device), &entry) != WEFT_OK) return;
    char *line = entry.data && entry.kind == WI_CACHE_FINDINGS ? entry.data : NULL;
    while (line && *line) {
        char *const end = strchr(line, '\n');
        if (end) *end = '\0';
        read_line(device, line);
        line = end ? end + 1 : NULL;
    }
    wi_release(device->host.allocator, entry.data);
}

static bool is_open(wi_device *device) {
    if (device->findings) return true;
    device->findings = wi_allocate(device->host.allocator, sizeof *device->findings);
    if (device->findings) read_disk(device);
    return device->findings;
}

static void write_disk(wi_device *device) {
    wi_text text;
    wi_text_init(&text, device->host.allocator);
    for (size_t i = 0; i < device->findings->count; i++) {
        const wi_finding *const finding = &device->findings->all[i];
        wi_text_append(
            &text, finding->fault ? "wrong\t%s\t%s\n" : "right\t%s\n", finding->name, finding->fault);
    }
    if (!text.failed && text.data)
        (void)wi_disk_cache_write(device, own_key(device), WI_CACHE_FINDINGS, text.data, text.length);
    wi_text_clear(&text);
}

wi_finding *wi_findings_find(wi_device *device, const char *name) {
    char error[WI_ERROR_LINE];
    wi_error_save(error, sizeof error);
    wi_finding *const finding = is_open(device) ? find(device->findings, name) : NULL;
    wi_error_restore(error);
    return finding;
}

static void forget(wi_device *device, const char *name) {
    struct wi_findings *const findings = device->findings;
    wi_finding *const known = find(findings, name);
    if (!known) return;
    wi_release(device->host.allocator, known->name);
    wi_release(device->host.allocator, known->fault);
    *known = findings->all[--findings->count];
}

void wi_findings_add(wi_device *device, const char *name, const char *fault) {
    char error[WI_ERROR_LINE];
    wi_error_save(error, sizeof error);
    if (is_open(device)) {
        forget(device, name);
        add(device, name, fault);
        read_disk(device);
        write_disk(device);
    }
    wi_error_restore(error);
}

const wi_finding *wi_findings_all(wi_device *device, size_t *count) {
    const bool open = is_open(device);
    *count = open ? device->findings->count : 0;
    return open ? device->findings->all : NULL;
}

void wi_findings_close(wi_device *device) {
    if (!device->findings) return;
    for (size_t i = 0; i < device->findings->count; i++) {
        wi_release(device->host.allocator, device->findings->all[i].name);
        wi_release(device->host.allocator, device->findings->all[i].fault);
    }
    wi_release(device->host.allocator, device->findings->all);
    wi_release(device->host.allocator, device->findings);
    device->findings = NULL;
}
