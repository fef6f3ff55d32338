/* Damaged files (contract in mutate.h). */
#include "support/mutate.h"
#include "support/fixture.h"

#include <stdlib.h>
#include <string.h>

/* A random byte; characters that have a meaning in headers and tables, such as digits and brackets, are more frequent. */
static char drawn_byte(test_random *random) {
    static const char telling[] = "0123456789-.eEnf'\"(),:{}[]<>|\n\r;\t \x80\xff";
    if (test_random_below(random, 2)) return telling[test_random_below(random, sizeof telling - 1)];
    return (char)test_random_below(random, 256);
}

static size_t change(char *bytes, size_t size, test_random *random) {
    const size_t at = (size_t)test_random_below(random, (int64_t)size);
    switch (test_random_below(random, 4)) {
    case 0: bytes[at] = drawn_byte(random); return size;
    case 1: memmove(bytes + at, bytes + at + 1, size - at - 1); return size - 1;
    case 2: memmove(bytes + at + 1, bytes + at, size - at); return size + 1;
    default: {
        const size_t other = (size_t)test_random_below(random, (int64_t)size);
        const char kept = bytes[at];
        bytes[at] = bytes[other];
        bytes[other] = kept;
        return size;
    }
    }
}

static bool try_bytes(mutate_counts *counts, const char *bytes, size_t size,
    bool (*read)(void *, const char *, size_t), void *user) {
    char *const exact = malloc(size ? size : 1);
    memcpy(exact, bytes, size);
    const bool taken = read(user, exact, size);
    counts->tries++;
    counts->refused += !taken;
    free(exact);
    return taken;
}

mutate_counts mutate_all(const char *good, size_t size, size_t changes,
    bool (*read)(void *user, const char *bytes, size_t size), void *user) {
    return mutate_some(good, size, size, changes, read, user);
}

mutate_counts mutate_some(const char *good, size_t size, size_t prefixes, size_t changes,
    bool (*read)(void *user, const char *bytes, size_t size), void *user) {
    const size_t step = prefixes && size > prefixes ? size / prefixes : 1;
    mutate_counts counts = {0, 0};
    test_random random = test_random_named("mutate", size);
    char *const bytes = malloc(size + 4);
    for (size_t cut = 0; cut < size; cut += step) try_bytes(&counts, good, cut, read, user);
    for (size_t i = 0; i < changes; i++) {
        size_t now = size;
        memcpy(bytes, good, size);
        for (int64_t left = 1 + test_random_below(&random, 4); left > 0 && now > 1; left--)
            now = change(bytes, now, &random);
        try_bytes(&counts, bytes, now, read, user);
    }
    free(bytes);
    return counts;
}
