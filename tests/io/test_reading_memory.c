/* What reading a file may take of memory: the constants of docs/reliability.md, "What reading a file may cost", with files made
 * to take as much as possible. */
/* test slow */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- an allocator that knows how much it has handed out ---- */

typedef struct meter {
    atomic_size_t now, most;
} meter;

typedef union head {
    size_t bytes;
    max_align_t unused;
} head;

static void *count_in(meter *m, head *block, size_t bytes) {
    if (!block) return NULL;
    block->bytes = bytes;
    const size_t now = atomic_fetch_add(&m->now, bytes) + bytes;
    size_t most = atomic_load(&m->most);
    while (now > most && !atomic_compare_exchange_weak(&m->most, &most, now)) continue;
    return block + 1;
}

static void *allocate(void *user, size_t bytes) {
    return count_in(user, malloc(sizeof(head) + bytes), bytes);
}

static void release(void *user, void *block) {
    if (!block) return;
    head *const own = (head *)block - 1;
    atomic_fetch_sub(&((meter *)user)->now, own->bytes);
    free(own);
}

/* Old and new count at once, as a copy needs them. */
static void *reallocate(void *user, void *block, size_t bytes) {
    void *const next = allocate(user, bytes);
    if (!next || !block) return next;
    const size_t old = ((head *)block - 1)->bytes;
    memcpy(next, block, old < bytes ? old : bytes);
    release(user, block);
    return next;
}

/* ---- files ---- */

typedef struct file_case {
    const char *name;
    void (*write)(FILE *file, size_t bytes);
    weft_status (*read)(weft_context *context, const char *path);
    size_t bytes;
    double most; /* bytes for each byte of the file, besides these themselves */
} file_case;

/* The shortest words that differ. */
static size_t put_word(FILE *file, size_t number, const char *before, const char *after) {
    char word[16];
    int length = 0;
    do word[length++] = (char)('a' + number % 26);
    while ((number /= 26) > 0);
    return (size_t)fprintf(file, "%s%.*s%s", before, length, word, after);
}

static void write_vocabulary(FILE *file, size_t bytes) {
    size_t done = 0, number = 0;
    fputs("{\"weft_vocabulary\": 1, \"level\": \"words\", \"unknown\": -1, \"tokens\": [\n", file);
    while (done < bytes) done += put_word(file, number++, "\"", "\",");
    fputs("\"Last\"]}\n", file);
}

static void write_text(FILE *file, size_t bytes) {
    for (size_t done = 0, number = 0; done < bytes;) done += put_word(file, number++, "", " ");
}

/* A column of categories that differ. */
static void write_table(FILE *file, size_t bytes) {
    fputs("x\n", file);
    for (size_t done = 0, number = 0; done < bytes;) done += put_word(file, number++, "", "\n");
}

/* An array of bytes is the smallest for its numbers. */
static void write_numbers(FILE *file, size_t bytes) {
    char text[160];
    const int length =
        snprintf(text, sizeof text, "{'descr': '|i1', 'fortran_order': False, 'shape': (%zu,), }\n", bytes);
    const unsigned char begin[] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(length % 256), (unsigned char)(length / 256)};
    fwrite(begin, 1, sizeof begin, file);
    fputs(text, file);
    for (size_t i = 0; i < bytes; i++) fputc((int)(i % 100), file);
}

/* A header of empty tensors. */
static void write_weights(FILE *file, size_t bytes) {
    const size_t each = 61, count = bytes / each;
    const unsigned long long length = 1 + each * count;
    for (int i = 0; i < 8; i++) fputc((int)(length >> 8 * i & 255), file);
    for (size_t i = 0; i < count; i++)
        fprintf(
            file, "%c\"%09zu\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}", i ? ',' : '{', i);
    fputc('}', file);
}

static weft_status read_vocabulary(weft_context *context, const char *path) {
    weft_vocabulary *vocabulary = NULL;
    const weft_status status = weft_vocabulary_load(&vocabulary, context, path);
    weft_vocabulary_release(vocabulary);
    return status;
}

static weft_status read_text(weft_context *context, const char *path) {
    weft_vocabulary *vocabulary = NULL;
    weft_dataset *dataset = NULL;
    const weft_vocabulary_options options = {WEFT_VOCABULARY_OPTIONS_INIT, .level = WEFT_TEXT_WORDS};
    weft_status status = weft_vocabulary_from_file(&vocabulary, context, path, &options);
    if (status == WEFT_OK) status = weft_dataset_open_text(&dataset, context, path, vocabulary, NULL);
    weft_dataset_release(dataset);
    weft_vocabulary_release(vocabulary);
    return status;
}

static weft_status read_table(weft_context *context, const char *path) {
    weft_dataset *dataset = NULL;
    const weft_status status = weft_dataset_open_csv(&dataset, context, path, NULL);
    weft_dataset_release(dataset);
    return status;
}

static weft_status read_numbers(weft_context *context, const char *path) {
    weft_npy_array array;
    const weft_status status = weft_load_npy(&array, context, path, WEFT_F64);
    weft_npy_array_release(&array);
    return status;
}

static weft_status read_weights(weft_context *context, const char *path) {
    weft_graph *graph = NULL;
    assert_ok(weft_graph_create(&graph, context));
    const weft_status status = weft_weights_load(
        graph, path, &(weft_weights_options){WEFT_WEIGHTS_OPTIONS_INIT, .allow_extra = true});
    weft_graph_release(graph);
    return status;
}

enum { MEGABYTE = 1000000 };

static const file_case cases[] = {{"vocabulary", write_vocabulary, read_vocabulary, 40 * MEGABYTE, 7},
    {"text", write_text, read_text, 4 * MEGABYTE, 18}, {"CSV", write_table, read_table, 4 * MEGABYTE, 9.5},
    {"NumPy", write_numbers, read_numbers, 4 * MEGABYTE, 8},
    {"weights", write_weights, read_weights, 4 * MEGABYTE, 3}};

static void memory_is_linear(void **state) {
    (void)state;
    enum { SLACK = 200000 };
    char *const folder = scratch_make();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const file_case *const c = &cases[i];
        meter m = {0};
        const weft_allocator hooks = {allocate, reallocate, release, &m};
        weft_context *const context =
            test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .allocator = &hooks});
        const char *const path = scratch_path(folder, c->name);
        FILE *const file = fopen(path, "wb");
        assert_non_null(file);
        c->write(file, c->bytes);
        const double size = (double)ftell(file);
        assert_int_equal(fclose(file), 0);
        const size_t before = atomic_load(&m.now);
        atomic_store(&m.most, before);
        assert_ok(c->read(context, path));
        const double took = (double)(atomic_load(&m.most) - before);
        print_message("%s: %.1f bytes a byte, its own among them\n", c->name, took / size);
        if (took > (c->most + 1) * size + SLACK) fail_msg("%s: more than %g and its own", c->name, c->most);
        assert_int_equal(atomic_load(&m.now), before);
        weft_context_release(context);
        remove(path);
    }
    scratch_remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_is_linear)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
