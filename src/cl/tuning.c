/* The tuning database: a list in memory in front of one cache entry a value (contract in program.h). */
#include "cl/tuning.h"

#include "cl/disk_cache.h"
#include "cl/program.h"

#include <string.h>

typedef struct tuning_value {
    wi_cache_key key;
    double value;
} tuning_value;

struct wi_tuning {
    tuning_value *values;
    size_t count, capacity;
};

weft_status wi_tuning_open(wi_device *device) {
    device->tuning = wi_allocate(device->host.allocator, sizeof *device->tuning);
    return device->tuning ? WEFT_OK : WEFT_ERROR_MEMORY;
}

void wi_tuning_close(wi_device *device) {
    if (!device->tuning) return;
    wi_release(device->host.allocator, device->tuning->values);
    wi_release(device->host.allocator, device->tuning);
    device->tuning = NULL;
}

static wi_cache_key tuning_key(const wi_device *device, const char *name) {
    return wi_disk_cache_key(device, "tuning", name);
}

static tuning_value *find(const wi_tuning *tuning, wi_cache_key key) {
    for (size_t i = 0; i < tuning->count; i++) {
        tuning_value *const value = &tuning->values[i];
        if (value->key.high == key.high && value->key.low == key.low) return value;
    }
    return NULL;
}

/* Without memory the value is simply not remembered. */
static void remember(wi_device *device, wi_cache_key key, double value) {
    wi_tuning *const tuning = device->tuning;
    tuning_value *const known = find(tuning, key);
    if (known) {
        known->value = value;
        return;
    }
    char error[2048];
    wi_error_save(error, sizeof error);
    void *values = tuning->values;
    if (wi_grow(device->host.allocator, &values, &tuning->capacity, tuning->count + 1,
            sizeof *tuning->values) == WEFT_OK) {
        tuning->values = values;
        tuning->values[tuning->count++] = (tuning_value){key, value};
    }
    wi_error_restore(error);
}

bool wi_tuning_get(wi_device *device, const char *name, double *value) {
    const wi_cache_key key = tuning_key(device, name);
    const tuning_value *const known = find(device->tuning, key);
    if (known) {
        *value = known->value;
        return true;
    }
    char error[2048];
    wi_cache_entry entry;
    wi_error_save(error, sizeof error);
    if (wi_disk_cache_read(device, key, &entry) != WEFT_OK) wi_error_restore(error);
    const bool found = entry.data && entry.kind == WI_CACHE_VALUE && entry.bytes == sizeof *value;
    if (found) memcpy(value, entry.data, sizeof *value);
    if (entry.data && !found)
        wi_log_line(
            device->host.log, WEFT_LOG_WARNING, "tuning database: '%s' is no value, and is ignored", name);
    wi_release(device->host.allocator, entry.data);
    if (found) remember(device, key, *value);
    return found;
}

void wi_tuning_note(wi_device *device, const char *name, double value) {
    remember(device, tuning_key(device, name), value);
}

void wi_tuning_set(wi_device *device, const char *name, double value) {
    const wi_cache_key key = tuning_key(device, name);
    remember(device, key, value);
    wi_disk_cache_write(device, key, WI_CACHE_VALUE, &value, sizeof value);
}
