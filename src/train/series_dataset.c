/* A series of numbers as sliding windows (contract in weft/text.h). A CSV table is read as one column, and its rows are
 * divided by time into training and validation. */
#include "base/options.h"
#include "base/platform.h"
#include "train/csv_build.h"
#include <math.h>
#include <string.h>
#include <weft/text.h>

typedef struct series {
    const float *rows; /* (count, fields) */
    size_t count, fields, window, horizon, stride;
    size_t split; /* the first row for validation */
    weft_series_scale scale;
} series;

/* ---- the table ---- */

static weft_status last_field(
    weft_context *context, const char *path, const weft_series_options *options, size_t *field) {
    const wi_csv_options form = {
        .separator = options->separator ? options->separator : ',', .header = !options->no_header};
    wi_csv table;
    WI_TRY(wi_csv_open(&table, &context->files, path, &form));
    *field = table.fields - 1;
    wi_csv_clear(&table);
    return WEFT_OK;
}

static weft_status read_table(
    weft_dataset **table, weft_context *context, const char *path, const weft_series_options *options) {
    size_t field = 0;
    if (!options->fields) WI_TRY(last_field(context, path, options, &field));
    const weft_csv_column column = {.name = "series", .fields = options->fields, .first = field};
    const weft_csv_options csv = {WEFT_CSV_OPTIONS_INIT, .columns = &column, .column_count = 1,
        .separator = options->separator, .no_header = options->no_header, .decimal = options->decimal,
        .thousands = options->thousands, .rounded = true};
    return wi_csv_dataset_open(table, context, path, &csv, true);
}

/* ---- the numbers ---- */

static weft_status measure(series *s, const char *path, bool keep) {
    s->scale.count = s->fields;
    for (size_t f = 0; f < s->fields; f++) {
        double sum = 0, squares = 0;
        for (size_t r = 0; r < s->count; r++)
            if (!isfinite(s->rows[r * s->fields + f]))
                WI_FAIL(WEFT_ERROR_FORMAT, "'%s': row %zu of the data has a number that is not finite", path,
                    r + 1);
        for (size_t r = 0; r < s->split; r++) sum += (double)s->rows[r * s->fields + f];
        const double mean = sum / (double)s->split;
        for (size_t r = 0; r < s->split; r++) {
            const double d = (double)s->rows[r * s->fields + f] - mean;
            squares += d * d;
        }
        const double deviation = sqrt(squares / (double)s->split);
        s->scale.mean[f] = keep ? 0 : mean;
        s->scale.deviation[f] = keep || deviation == 0 ? 1 : deviation;
    }
    return WEFT_OK;
}

static weft_status take_scale(series *s, const weft_dataset *like) {
    const size_t column = wi_dataset_find(like, "window");
    const weft_encoding *const scale = column == SIZE_MAX ? NULL : like->columns[column].encoding;
    if (!scale || scale->kind != WI_NORMALISED || scale->count != s->fields)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_dataset_open_series: the dataset of the option like is not a series of %zu fields",
            s->fields);
    memcpy(s->scale.mean, scale->mean, s->fields * sizeof *scale->mean);
    memcpy(s->scale.deviation, scale->deviation, s->fields * sizeof *scale->deviation);
    return WEFT_OK;
}

static void copy_rows(const series *s, float *to, size_t first, size_t rows) {
    for (size_t r = 0; r < rows; r++)
        for (size_t f = 0; f < s->fields; f++)
            *to++ = (float)(((double)s->rows[(first + r) * s->fields + f] - s->scale.mean[f]) /
                            s->scale.deviation[f]);
}

/* The number of windows that begin at rows first, first + stride, ... and whose targets end before row `end`. */
static size_t window_count(const series *s, size_t first, size_t end) {
    const size_t whole = s->window + s->horizon;
    return end < first + whole ? 0 : (end - first - whole) / s->stride + 1;
}

static weft_status make_windows(
    weft_dataset **dataset, weft_context *context, const series *s, size_t first, size_t count) {
    const weft_encoding scale = {
        .kind = WI_NORMALISED, .count = s->fields, .mean = s->scale.mean, .deviation = s->scale.deviation};
    weft_column columns[] = {
        {.name = "window", .dtype = WEFT_F32, .rank = 2, .dims = {(int64_t)s->window, (int64_t)s->fields}},
        {.name = "target", .dtype = WEFT_F32, .rank = 2, .dims = {(int64_t)s->horizon, (int64_t)s->fields}}};
    columns[0].encoding = columns[1].encoding = &scale;
    WI_TRY(wi_dataset_create(dataset, context, count, columns, 2));
    float *windows = wi_dataset_data(*dataset, 0), *targets = wi_dataset_data(*dataset, 1);
    for (size_t w = 0; w < count; w++) {
        const size_t at = first + w * s->stride;
        copy_rows(s, windows + w * s->window * s->fields, at, s->window);
        copy_rows(s, targets + w * s->horizon * s->fields, at + s->window, s->horizon);
    }
    return WEFT_OK;
}

/* ---- training and validation ---- */

static weft_status make_parts(weft_dataset **training, weft_dataset **validation, weft_context *context,
    const char *path, const series *s) {
    const size_t first = s->split > s->window ? s->split - s->window : 0;
    const size_t train = window_count(s, 0, s->split), rest = window_count(s, first, s->count);
    if (train == 0)
        WI_FAIL(WEFT_ERROR_FORMAT,
            "'%s': the number of rows for training is %zu, too small for window %zu and horizon %zu", path,
            s->split, s->window, s->horizon);
    if (s->split < s->count && rest == 0)
        WI_FAIL(WEFT_ERROR_FORMAT,
            "'%s': the number of rows for validation is %zu, too small for horizon %zu", path,
            s->count - s->split, s->horizon);
    WI_TRY(make_windows(training, context, s, 0, train));
    if (!validation || s->split == s->count) return WEFT_OK;
    const weft_status status = make_windows(validation, context, s, first, rest);
    if (status == WEFT_OK) return WEFT_OK;
    weft_dataset_release(*training);
    *training = NULL;
    return status;
}

static weft_status read_options(weft_series_options *options, const weft_series_options *given) {
    WI_TRY(WI_OPTIONS(options, given, "weft_dataset_open_series", WEFT_SERIES_OPTIONS_INIT));
    if (!(options->validation >= 0 && options->validation < 1))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_dataset_open_series: validation is %g, expected 0 or more and below 1",
            options->validation);
    if (options->like && options->keep_scale)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_dataset_open_series: the options like, which normalises the numbers, "
            "and keep_scale, which does not, are both set: set one of them");
    if (options->window > INT32_MAX || options->horizon > INT32_MAX || options->stride > INT32_MAX)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_series: window, horizon or stride is above %d",
            INT32_MAX);
    return WEFT_OK;
}

weft_status weft_dataset_open_series(weft_dataset **training, weft_dataset **validation,
    weft_series_scale *scale, weft_context *context, const char *path, const weft_series_options *given) {
    weft_series_options own;
    const weft_series_options *const options = &own;
    weft_dataset *table = NULL;
    if (training) *training = NULL;
    if (validation) *validation = NULL;
    if (!training || !context || !path)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_dataset_open_series: training, context and path must not be NULL");
    WI_TRY(read_options(&own, given));
    WI_TRY(read_table(&table, context, path, options));
    series s = {.rows = table->columns[0].data, .count = table->examples, .fields = 1};
    if (table->columns[0].rank) s.fields = (size_t)table->columns[0].dims[0];
    s.window = options->window ? options->window : 12;
    s.horizon = options->horizon ? options->horizon : 1;
    s.stride = options->stride ? options->stride : 1;
    s.split = s.count - (size_t)((double)s.count * options->validation);
    weft_status status = WEFT_OK;
    if (s.fields > WEFT_MAX_SERIES)
        status = wi_fail(WEFT_ERROR_ARGUMENT,
            "weft_dataset_open_series: the file has %zu fields, expected at most %d", s.fields,
            WEFT_MAX_SERIES);
    if (status == WEFT_OK) status = measure(&s, path, options->keep_scale);
    if (status == WEFT_OK && options->like) status = take_scale(&s, options->like);
    if (status == WEFT_OK) status = make_parts(training, validation, context, path, &s);
    if (status == WEFT_OK && scale) *scale = s.scale;
    weft_dataset_release(table);
    return status;
}
