/* Entries of the cache folder: values of the device, the index of pieces, logs of failures. The last byte says which, and
 * whether key and checksum are made right, so that the fuzzer gets behind them. What a binary holds is the driver's to read. */
#include "cl/context.h"
#include "cl/device_values.h"
#include "cl/disk_cache.h"
#include "cl/program.h"
#include "fuzz.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { HEADER = 48, KEY_AT = 16, BYTES_AT = 32, SUM_AT = 40 };

static void sign(char *bytes, size_t size, wi_cache_key key) {
    if (size < HEADER) return;
    const uint64_t payload = size - HEADER;
    memcpy(bytes + KEY_AT, &key.high, 8);
    memcpy(bytes + KEY_AT + 8, &key.low, 8);
    memcpy(bytes + BYTES_AT, &payload, 8);
    const uint64_t sum = XXH3_64bits_withSeed(bytes + HEADER, payload, XXH3_64bits(bytes, SUM_AT));
    memcpy(bytes + SUM_AT, &sum, 8);
}

static void write_entry(wi_device *device, wi_cache_key key, const void *bytes, size_t size) {
    char path[4096];
    wi_disk_cache_path(device, key, path, sizeof path);
    (void)fuzz_file(strrchr(path, '/') + 1, bytes, size);
}

/* A name of its own each time: what was read once is remembered. */
static void read_value(wi_device *device, char *bytes, size_t size, bool good) {
    static unsigned count;
    char name[32];
    double value = 0;
    snprintf(name, sizeof name, "value %u", count++);
    const wi_cache_key key = wi_disk_cache_key(device, "value of a device", name);
    if (good) sign(bytes, size, key);
    write_entry(device, key, bytes, size);
    (void)wi_device_value_get(device, name, &value);
    char path[4096];
    wi_disk_cache_path(device, key, path, sizeof path);
    (void)remove(path);
}

static void read_entry(wi_device *device, char *bytes, size_t size, bool good) {
    wi_cache_entry entry;
    const wi_cache_key key = wi_disk_cache_key(device, "fuzz", "entry");
    if (good) sign(bytes, size, key);
    write_entry(device, key, bytes, size);
    fuzz_assert(wi_disk_cache_read(device, key, &entry) == WEFT_OK);
    if (entry.data) fuzz_assert(entry.bytes == size - HEADER && entry.data[entry.bytes] == '\0');
    wi_release(device->host.allocator, entry.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const unsigned how = fuzz_take_byte(data, &size);
    wi_device *const device = wi_context_device(fuzz_opened_context());
    char *const bytes = fuzz_copy(data, size);
    if (how & 1)
        read_value(device, bytes, size, how & 2);
    else
        read_entry(device, bytes, size, how & 2);
    free(bytes);
    return 0;
}
