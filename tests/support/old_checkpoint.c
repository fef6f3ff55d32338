/* See old_checkpoint.h. */
#include "support/old_checkpoint.h"
#include "base/platform.h"
#include "support/checks.h"
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

/* Removes the prefix "weft." from the names after the metadata, and adds spaces at the end, so that the header keeps its length. */
static void take_prefixes(char *header, size_t length) {
    static const char prefix[] = "\"weft.";
    const size_t cut = sizeof prefix - 2;
    char *end = header + length;
    for (char *at = strchr(header, '}'); (at = strstr(at, prefix)) && at < end;) {
        memmove(at + 1, at + 1 + cut, (size_t)(end - at) - 1 - cut);
        memset(end - cut, ' ', cut);
    }
}

static void sign(char *bytes, size_t size) {
    char digits[33];
    char *const place = strstr(bytes + 8, "\"weft.checksum\":\"") + strlen("\"weft.checksum\":\"");
    memset(place, '0', 32);
    const XXH128_hash_t hash = XXH3_128bits(bytes, size);
    snprintf(digits, sizeof digits, "%016llx%016llx", (unsigned long long)hash.high64,
        (unsigned long long)hash.low64);
    memcpy(place, digits, 32);
}

bool old_checkpoint_rewrite(const char *path, const char *kept) {
    static const char format[] = "\"weft.checkpoint\":\"2\"";
    char *bytes = NULL;
    size_t size = 0;
    uint64_t length = 0;
    assert_ok(wi_file_read(NULL, path, &bytes, &size));
    memcpy(&length, bytes, sizeof length);
    char *const found = strstr(bytes + 8, format);
    assert_non_null(found);
    found[sizeof format - 3] = '1';
    take_prefixes(bytes + 8, (size_t)length);
    const char *const there = strstr(bytes + 8, kept);
    const bool has = there && there < bytes + 8 + length;
    sign(bytes, size);
    assert_ok(wi_file_write_atomic(path, bytes, size));
    wi_release(NULL, bytes);
    return has;
}
