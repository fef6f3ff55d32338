/* See table_dataset.h. */
#include "support/table_dataset.h"
#include "support/checks.h"
#include "support/fixture.h"

#include <stdio.h>

const char *table_write(const char *name, const char *text) {
    static char path[4096];
    snprintf(path, sizeof path, "%s", test_path(name));
    remove(path); /* truncating a file would wait for the disk */
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return path;
}

weft_dataset *table_open_csv(const char *text, weft_csv_options options) {
    weft_dataset *dataset = NULL;
    options.struct_size = sizeof options;
    assert_ok(weft_dataset_open_csv(&dataset, test_context(), table_write("good.csv", text), &options));
    return dataset;
}

float table_f32(const weft_dataset *dataset, size_t column, size_t example) {
    assert_int_equal(weft_dataset_column(dataset, column)->dtype, WEFT_F32);
    return ((const float *)weft_dataset_column(dataset, column)->data)[example];
}

int32_t table_i32(const weft_dataset *dataset, size_t column, size_t example) {
    assert_int_equal(weft_dataset_column(dataset, column)->dtype, WEFT_I32);
    return ((const int32_t *)weft_dataset_column(dataset, column)->data)[example];
}
