/* Values of a device (contract in device_values.h): a list in memory, and one entry of the cache folder for each value. */
#include "cl/device_values.h"
#include "base/log.h"
#include "base/memory.h"
#include "cl/disk_cache.h"
#include <string.h>

typedef struct kept_value {
    wi_cache_key key;
    double value;
} kept_value;

struct wi_device_values {
    kept_value *values;
    size_t count, capacity;
};

weft_status wi_device_values_open(wi_device *device) {
    device->values = wi_allocate(device->host.allocator, sizeof *device->values);
    return device->values ? WEFT_OK : WEFT_ERROR_MEMORY;
}

void wi_device_values_close(wi_device *device) {
    if (!device->values) return;
    wi_release(device->host.allocator, device->values->values);
    wi_release(device->host.allocator, device->values);
    device->values = NULL;
}

static wi_cache_key key_of(const wi_device *device, const char *name) {
    return wi_disk_cache_key(device, "value of a device", name);
}

static kept_value *find(const wi_device_values *values, wi_cache_key key) {
    for (size_t i = 0; i < values->count; i++) {
        kept_value *const value = &values->values[i];
        if (wi_cache_key_equal(value->key, key)) return value;
    }
    return NULL;
}

/* Without memory the value is not remembered, which is not an error. */
static void remember(wi_device *device, wi_cache_key key, double value) {
    wi_device_values *const values = device->values;
    kept_value *const known = find(values, key);
    if (known) {
        known->value = value;
        return;
    }
    char error[WI_ERROR_LINE];
    wi_error_save(error, sizeof error);
    void *array = values->values;
    if (wi_grow(device->host.allocator, &array, &values->capacity, values->count + 1,
            sizeof *values->values) == WEFT_OK) {
        values->values = array;
        values->values[values->count++] = (kept_value){key, value};
    }
    wi_error_restore(error);
}

bool wi_device_value_get(wi_device *device, const char *name, double *value) {
    const wi_cache_key key = key_of(device, name);
    const kept_value *const known = find(device->values, key);
    if (known) {
        *value = known->value;
        return true;
    }
    char error[WI_ERROR_LINE];
    wi_cache_entry entry;
    wi_error_save(error, sizeof error);
    if (wi_disk_cache_read(device, key, &entry) != WEFT_OK) wi_error_restore(error);
    const bool found = entry.data && entry.kind == WI_CACHE_VALUE && entry.bytes == sizeof *value;
    if (found) memcpy(value, entry.data, sizeof *value);
    if (entry.data && !found)
        wi_log_line(device->host.log, WEFT_LOG_WARNING,
            "cache folder: the entry '%s' is not a valid value and is ignored", name);
    wi_release(device->host.allocator, entry.data);
    if (found) remember(device, key, *value);
    return found;
}

void wi_device_value_note(wi_device *device, const char *name, double value) {
    remember(device, key_of(device, name), value);
}

void wi_device_value_set(wi_device *device, const char *name, double value) {
    const wi_cache_key key = key_of(device, name);
    remember(device, key, value);
    wi_disk_cache_write(device, key, WI_CACHE_VALUE, &value, sizeof value);
}
