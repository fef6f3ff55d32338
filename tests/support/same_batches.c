/* See same_batches.h. */
#include "support/same_batches.h"
#include "support/checks.h"
#include "support/fixture.h"

enum { EPOCHS = 3, BATCH = 13, MOST_COLUMNS = 16 };

static size_t column_bytes(const weft_column *column) {
    size_t bytes = weft_dtype_size(column->dtype);
    for (int axis = 0; axis < column->rank; axis++) bytes *= (size_t)column->dims[axis];
    return bytes;
}

static void same_columns(const weft_dataset *memory, const weft_dataset *file) {
    assert_int_equal(weft_dataset_size(memory), weft_dataset_size(file));
    assert_int_equal(weft_dataset_column_count(memory), weft_dataset_column_count(file));
    for (size_t c = 0; c < weft_dataset_column_count(memory); c++) {
        const weft_column *const a = weft_dataset_column(memory, c), *const b = weft_dataset_column(file, c);
        assert_string_equal(a->name, b->name);
        assert_int_equal(a->dtype, b->dtype);
        assert_int_equal(a->rank, b->rank);
        assert_memory_equal(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims);
        assert_int_equal(weft_dataset_category_count(memory, c), weft_dataset_category_count(file, c));
    }
}

static void same_epoch(const weft_dataset *memory, weft_loader *const loaders[2], uint64_t epoch) {
    const void *columns[2][MOST_COLUMNS];
    size_t examples[2] = {1, 1};
    for (int i = 0; i < 2; i++) assert_ok(weft_loader_begin(loaders[i], epoch));
    while (examples[0]) {
        for (int i = 0; i < 2; i++) assert_ok(weft_loader_next(loaders[i], &examples[i], columns[i]));
        assert_int_equal(examples[0], examples[1]);
        for (size_t c = 0; c < weft_dataset_column_count(memory) && examples[0]; c++)
            assert_memory_equal(
                columns[0][c], columns[1][c], examples[0] * column_bytes(weft_dataset_column(memory, c)));
    }
}

void same_batches(weft_dataset *memory, weft_dataset *file) {
    weft_loader *loaders[2] = {NULL, NULL};
    assert_true(weft_dataset_column_count(memory) <= MOST_COLUMNS);
    same_columns(memory, file);
    for (size_t i = 0; i < 2; i++) {
        const weft_loader_options options = {WEFT_LOADER_OPTIONS_INIT, .batch = BATCH, .shuffle = true,
            .seed = 3, .prefetch = 1 + i, .threads = 1 + 2 * i};
        assert_ok(weft_loader_create(&loaders[i], i ? file : memory, &options));
    }
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) same_epoch(memory, loaders, epoch);
    for (int i = 0; i < 2; i++) weft_loader_release(loaders[i]);
}
