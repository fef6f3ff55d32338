/* CSV tables as datasets, with options from the last bytes; and as series. */
#include "fuzz.h"

static void open_table(const char *path, const uint8_t *data, size_t *size) {
    static const char *const categories[] = {"a", "1", "", NULL};
    const weft_csv_column columns[] = {{.name = "x", .kind = (weft_csv_kind)fuzz_take_below(data, size, 3)},
        {.name = "y", .kind = WEFT_CSV_CATEGORY, .first = 1, .categories = categories},
        {.name = "z", .first = fuzz_take_below(data, size, 3), .count = fuzz_take_below(data, size, 4)}};
    const weft_csv_options options = {WEFT_CSV_OPTIONS_INIT, .columns = columns,
        .column_count = fuzz_take_below(data, size, 4), .separator = ",;\t "[fuzz_take_below(data, size, 4)],
        .no_header = fuzz_take_below(data, size, 2), .trim = fuzz_take_below(data, size, 2),
        .missing = (weft_missing)fuzz_take_below(data, size, 3)};
    weft_csv_options all = options;
    all.columns = NULL;
    all.column_count = 0;
    weft_dataset *dataset = NULL;
    const weft_status status =
        weft_dataset_open_csv(&dataset, fuzz_context(), path, options.column_count ? &options : &all);
    fuzz_check_status(status);
    fuzz_assert((status == WEFT_OK) == (weft_dataset_size(dataset) > 0));
    for (size_t c = 0; c < weft_dataset_column_count(dataset); c++) {
        const weft_column *const column = weft_dataset_column(dataset, c);
        const size_t count = weft_dataset_category_count(dataset, c);
        for (size_t i = 0; count && column->rank == 0 && i < weft_dataset_size(dataset); i++)
            fuzz_assert(weft_dataset_category(dataset, c, ((const int32_t *)column->data)[i]) != NULL);
    }
    weft_dataset_release(dataset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    weft_dataset *training = NULL, *validation = NULL;
    weft_series_scale scale;
    const char *const path = fuzz_file("table.csv", data, size);
    open_table(path, data, &size);
    const weft_series_options options = {WEFT_SERIES_OPTIONS_INIT,
        .no_header = fuzz_take_below(data, &size, 2), .window = fuzz_take_below(data, &size, 4),
        .horizon = fuzz_take_below(data, &size, 3), .stride = fuzz_take_below(data, &size, 3),
        .validation = fuzz_take_below(data, &size, 4) / 4.0};
    fuzz_check_status(
        weft_dataset_open_series(&training, &validation, &scale, fuzz_context(), path, &options));
    weft_dataset_release(training);
    weft_dataset_release(validation);
    return 0;
}
