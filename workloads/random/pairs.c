/* Which pairs of attribute and size programs have met: see pairs.h. */
#include "random/pairs.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- classes of values ---- */

/* Is it at most the one of these that stands at the place that is returned? */
static int class_among(int64_t number, const int64_t *bounds, int count) {
    int i = 0;
    while (i < count && number > bounds[i]) i++;
    return i;
}

static int class_of_integer(int64_t number) {
    static const int64_t bounds[] = {
        -1000000, -2, -1, 0, 1, 2, 8, 1000000}; /* beyond the millions lie free sizes */
    return class_among(number, bounds, sizeof bounds / sizeof *bounds);
}

static int class_of_elements(int64_t elements) {
    static const int64_t bounds[] = {1, 16, 128, 1024, 8192};
    return class_among(elements, bounds, sizeof bounds / sizeof *bounds);
}

static int class_of_number(double number) {
    if (!isfinite(number)) return number < 0 ? 0 : 1;
    return number < 0 ? 2 : number == 0 ? 3 : number < 1 ? 4 : number == 1 ? 5 : 6;
}

/* ---- pairs ---- */

/* FNV-1a (G. Fowler, L. C. Noll, K.-P. Vo), then a mixing so that all bits depend on all. */
static uint64_t add_bytes(uint64_t hash, const void *data, size_t bytes) {
    const unsigned char *const from = data;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ from[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t mixed(uint64_t hash) {
    program_random random = {hash};
    return program_random_bits(&random) | 1; /* 0 is an empty place */
}

/* The class of the attribute that a mark of the op's line stands for. */
static int64_t class_of(const oracle_call *call, char kind, long number) {
    switch (kind) {
    case 'i':
    case 'a': return class_of_integer(call->integers[number]);
    case 'b': return call->integers[number] != 0;
    case 'n': return class_of_number(call->numbers[number]);
    case 't':
    case 'w': return (int64_t)add_bytes(1, call->text, call->text ? strlen(call->text) : 0);
    case 'g': return 0;
    case 'l':
    case 'x':
    case 'd':
    case 'r': return f64_list_length(call->dims);
    default: return call->inputs[kind - '0'] >= 0; /* an input */
    }
}

int program_pairs_of(const oracle_call *call, int64_t elements, uint64_t *pairs) {
    int count = 0;
    const int size = class_of_elements(elements);
    const uint64_t op = add_bytes(UINT64_C(0xcbf29ce484222325), call->op->name, strlen(call->op->name));
    for (const char *c = strchr(call->op->code, '$'); c && count < PAIRS_OF_CALL; c = strchr(c + 1, '$')) {
        const long number = strchr("iabn", c[1]) ? strtol(c + 2, NULL, 10) : 0;
        const int64_t parts[] = {c[1], number, class_of(call, c[1], number), size};
        pairs[count++] = mixed(add_bytes(op, parts, sizeof parts));
    }
    return count;
}

/* ---- the table: of twice as many places as pairs, at least ---- */

struct program_pairs {
    uint64_t *keys; /* 0: empty */
    bool *covered;
    size_t capacity, count, covered_count;
};

program_pairs *program_pairs_create(void) {
    return calloc(1, sizeof(program_pairs));
}

void program_pairs_release(program_pairs *pairs) {
    if (pairs) free(pairs->keys), free(pairs->covered);
    free(pairs);
}

static size_t place(const program_pairs *pairs, uint64_t key) {
    size_t at = key & (pairs->capacity - 1);
    while (pairs->keys[at] && pairs->keys[at] != key) at = (at + 1) & (pairs->capacity - 1);
    return at;
}

static bool grow(program_pairs *pairs) {
    if (2 * (pairs->count + 1) <= pairs->capacity) return true;
    program_pairs next = *pairs;
    next.capacity = pairs->capacity ? 2 * pairs->capacity : 1024;
    next.keys = calloc(next.capacity, sizeof *next.keys);
    next.covered = calloc(next.capacity, sizeof *next.covered);
    if (!next.keys || !next.covered) {
        free(next.keys), free(next.covered);
        return false;
    }
    for (size_t i = 0; i < pairs->capacity; i++) {
        if (!pairs->keys[i]) continue;
        const size_t at = place(&next, pairs->keys[i]);
        next.keys[at] = pairs->keys[i];
        next.covered[at] = pairs->covered[i];
    }
    free(pairs->keys), free(pairs->covered);
    *pairs = next;
    return true;
}

void program_pairs_note(program_pairs *pairs, const oracle_call *call, int64_t elements, bool covered) {
    uint64_t keys[PAIRS_OF_CALL];
    const int count = pairs ? program_pairs_of(call, elements, keys) : 0;
    for (int i = 0; i < count && grow(pairs); i++) {
        const size_t at = place(pairs, keys[i]);
        pairs->count += pairs->keys[at] == 0;
        pairs->keys[at] = keys[i];
        pairs->covered_count += covered && !pairs->covered[at];
        pairs->covered[at] = pairs->covered[at] || covered;
    }
}

int program_pairs_missing(const program_pairs *pairs, const oracle_call *call, int64_t elements) {
    uint64_t keys[PAIRS_OF_CALL];
    const int count = program_pairs_of(call, elements, keys);
    int missing = 0;
    for (int i = 0; i < count; i++) missing += pairs->capacity == 0 || !pairs->covered[place(pairs, keys[i])];
    return missing;
}

void program_cover(program_pairs *pairs, const program *p) {
    for (int i = 0; i < p->count; i++)
        if (p->values[i].is_call) program_pairs_note(pairs, &p->values[i].call, p->values[i].elements, true);
}

size_t program_pairs_covered(const program_pairs *pairs) {
    return pairs->covered_count;
}

size_t program_pairs_known(const program_pairs *pairs) {
    return pairs->count;
}
