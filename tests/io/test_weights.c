/* Weights of a graph to a file and back: what is kept, what is converted, what is refused, and that a refused
 * file changes nothing. */
#include "base/platform.h"
#include "graph/dtype.h"
#include "support/checks.h"
#include "support/fixture.h"
#include <math.h>
#include <stdio.h>
#include <weft/weft.h>

enum { WEIGHTS = 6, COUNTS = 3 };

/* "w" (2, 3) f32, "running" (3) f32, "count" (3) i32, and an array without a name. */
static weft_graph *make_graph(float first) {
    weft_graph *graph = NULL;
    float w[WEIGHTS];
    const int32_t counts[COUNTS] = {(int32_t)first, -2, 3};
    const float table[4] = {1, 2, 3, 4};
    assert_ok(weft_graph_create(&graph, test_context()));
    weft_tensor *const weight = weft_parameter(graph, "w", weft_zeros(), 2, 3);
    const int64_t three = 3, four = 4;
    assert_non_null(weft_state_shape(graph, "running", WEFT_F32, weft_fill(first), 1, &three));
    weft_tensor *const count = weft_state_shape(graph, "count", WEFT_I32, weft_zeros(), 1, &three);
    assert_non_null(weft_array(graph, WEFT_F32, table, 1, &four));
    for (int i = 0; i < WEIGHTS; i++) w[i] = first + 0.1f * (float)i;
    assert_ok(weft_tensor_write(weight, w, sizeof w));
    assert_ok(weft_tensor_write(count, counts, sizeof counts));
    return graph;
}

/* The graph holds what make_graph(first) wrote. */
static void check_graph(weft_graph *graph, float first) {
    float w[WEIGHTS], running[3];
    int32_t counts[COUNTS];
    assert_ok(weft_tensor_read(weft_graph_find(graph, "w"), w, sizeof w));
    assert_ok(weft_tensor_read(weft_graph_find(graph, "running"), running, sizeof running));
    assert_ok(weft_tensor_read(weft_graph_find(graph, "count"), counts, sizeof counts));
    for (int i = 0; i < WEIGHTS; i++) assert_true(w[i] == first + 0.1f * (float)i);
    for (int i = 0; i < 3; i++) assert_true(running[i] == first);
    assert_int_equal(counts[0], (int32_t)first);
    assert_int_equal(counts[1], -2);
    assert_int_equal(counts[2], 3);
}

static void what_is_saved_is_loaded(void **state) {
    (void)state;
    char path[4096];
    snprintf(path, sizeof path, "%s", test_path("round.safetensors"));
    weft_graph *const one = make_graph(5.0f), *const two = make_graph(9.0f);
    assert_ok(weft_weights_save(one, path));
    check_graph(two, 9.0f);
    assert_ok(weft_weights_load(two, path, NULL));
    check_graph(two, 5.0f);
    assert_ok(weft_weights_save(two, path)); /* over itself */
    assert_ok(weft_weights_load(one, path, NULL));
    check_graph(one, 5.0f);
    weft_graph_release(one);
    weft_graph_release(two);
}

static void the_file_is_as_the_format_says(void **state) {
    (void)state;
    char path[4096], *bytes = NULL;
    size_t size = 0, length = 0;
    snprintf(path, sizeof path, "%s", test_path("bytes.safetensors"));
    weft_graph *const graph = make_graph(5.0f);
    assert_ok(weft_weights_save(graph, path));
    assert_ok(wi_file_read(NULL, path, &bytes, &size));
    for (size_t i = 8; i-- > 0;) length = length << 8 | (unsigned char)bytes[i];
    assert_int_equal(length % 8, 0);
    assert_int_equal(size, 8 + length + 12 + 12 + 24);
    bytes[8 + length - 1] = bytes[8 + length - 1] == ' ' ? '\0' : bytes[8 + length - 1];
    assert_non_null(strstr(bytes + 8, "\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[24,48]}"));
    assert_non_null(strstr(bytes + 8, "\"count\":{\"dtype\":\"I32\",\"shape\":[3],\"data_offsets\":[0,12]}"));
    float second = 0.0f;
    memcpy(&second, bytes + 8 + length + 24 + 4, sizeof second);
    assert_true(second == 5.1f);
    wi_release(NULL, bytes);
    weft_graph_release(graph);
}

/* Writes a file of that header and data. */
/* The bytes of a file of weights that is saved in the dtype. */
static size_t size_saved(weft_graph *graph, weft_dtype dtype) {
    char path[4096], *bytes = NULL;
    size_t size = 0, length = 0;
    snprintf(path, sizeof path, "%s", test_path("narrow.safetensors"));
    assert_ok(weft_weights_save_dtype(graph, path, dtype));
    assert_ok(wi_file_read(NULL, path, &bytes, &size));
    for (size_t i = 8; i-- > 0;) length = length << 8 | (unsigned char)bytes[i];
    wi_release(NULL, bytes);
    return size - 8 - length;
}

static void weights_are_saved_in_16_bits(void **state) {
    static const weft_dtype dtypes[] = {WEFT_F16, WEFT_BF16};
    (void)state;
    for (int d = 0; d < 2; d++) {
        weft_graph *const one = make_graph(5.03f), *const two = make_graph(9.0f);
        float w[WEIGHTS], running[3];
        assert_int_equal(size_saved(one, WEFT_F32), 12 + 12 + 24);
        assert_int_equal(size_saved(one, dtypes[d]), 12 + 6 + 12);
        check_graph(one, 5.03f);
        assert_ok(weft_weights_load(two, test_path("narrow.safetensors"), NULL));
        assert_ok(weft_tensor_read(weft_graph_find(two, "w"), w, sizeof w));
        assert_ok(weft_tensor_read(weft_graph_find(two, "running"), running, sizeof running));
        for (int i = 0; i < WEIGHTS; i++) {
            const float exact = 5.03f + 0.1f * (float)i;
            assert_true((double)w[i] == wi_dtype_nearest(dtypes[d], (double)exact));
            assert_float_equal(w[i], exact, dtypes[d] == WEFT_F16 ? 0x1p-9f : 0x1p-6f);
        }
        assert_true((double)running[0] == wi_dtype_nearest(dtypes[d], (double)5.03f));
        weft_graph_release(one);
        weft_graph_release(two);
    }
}

/* The largest number of f16 is 65504; an infinity stays one. */
static void numbers_that_do_not_fit_are_named(void **state) {
    const float large[WEIGHTS] = {0, 1, INFINITY, 65519, -65520};
    float w[WEIGHTS];
    (void)state;
    weft_graph *const graph = make_graph(5.0f);
    const size_t before = size_saved(graph, WEFT_F16);
    assert_ok(weft_tensor_write(weft_graph_find(graph, "w"), large, sizeof large));
    assert_weft_fails(WEFT_ERROR_NOT_FINITE,
        weft_weights_save_dtype(graph, test_path("narrow.safetensors"), WEFT_F16), "narrow.safetensors",
        "'w': element 4 is -65520, which does not fit into f16");
    assert_ok(weft_weights_load(graph, test_path("narrow.safetensors"), NULL)); /* the old file */
    assert_ok(weft_tensor_read(weft_graph_find(graph, "w"), w, sizeof w));
    assert_true(w[0] == 5.0f);
    assert_ok(weft_tensor_write(weft_graph_find(graph, "w"), large, sizeof large));
    assert_int_equal(size_saved(graph, WEFT_BF16), before);
    assert_ok(weft_weights_load(graph, test_path("narrow.safetensors"), NULL));
    assert_ok(weft_tensor_read(weft_graph_find(graph, "w"), w, sizeof w));
    assert_true(isinf(w[2]) && w[4] == -65536);
    const char *const path = test_path("narrow.safetensors");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_weights_save_dtype(graph, path, WEFT_F64), "not f64");
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_weights_save_dtype(graph, path, (weft_dtype)99), "dtype is 99");
    weft_graph_release(graph);
}

static void write_file(const char *path, const char *header, const void *data, size_t bytes) {
    FILE *const file = fopen(path, "wb");
    const size_t length = strlen(header);
    assert_non_null(file);
    for (size_t i = 0; i < 8; i++) fputc((int)(length >> 8 * i & 255), file);
    assert_int_equal(fwrite(header, 1, length, file), length);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void other_types_are_converted(void **state) {
    (void)state;
    char path[4096];
    snprintf(path, sizeof path, "%s", test_path("types.safetensors"));
    weft_graph *graph = NULL;
    assert_ok(weft_graph_create(&graph, test_context()));
    const int64_t six = 6, two = 2;
    weft_tensor *const half = weft_parameter_shape(graph, "half", weft_zeros(), 1, &six);
    weft_tensor *const brain = weft_parameter_shape(graph, "brain", weft_zeros(), 1, &two);
    weft_tensor *const wide = weft_parameter_shape(graph, "wide", weft_zeros(), 1, &two);
    weft_tensor *const integer = weft_state_shape(graph, "integer", WEFT_I32, weft_zeros(), 1, &two);
    struct {
        uint16_t half[6]; /* 1, -2, the largest, the smallest subnormal, -0, infinity */
        uint16_t brain[2];
        double wide[2];
        int64_t integer[2];
    } data = {{0x3c00, 0xc000, 0x7bff, 0x0001, 0x8000, 0x7c00}, {0x3f80, 0xc2c8}, {0.1, (double)-INFINITY},
        {INT32_MIN, INT32_MAX}};
    static const char header[] = "{\"half\":{\"dtype\":\"F16\",\"shape\":[6],\"data_offsets\":[0,12]},"
                                 "\"brain\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[12,16]},"
                                 "\"wide\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[16,32]},"
                                 "\"integer\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[32,48]}}";
    assert_int_equal(sizeof data, 48);
    write_file(path, header, &data, sizeof data);
    assert_ok(weft_weights_load(graph, path, NULL));
    float halves[6], brains[2], wides[2];
    int32_t integers[2];
    assert_ok(weft_tensor_read(half, halves, sizeof halves));
    assert_ok(weft_tensor_read(brain, brains, sizeof brains));
    assert_ok(weft_tensor_read(wide, wides, sizeof wides));
    assert_ok(weft_tensor_read(integer, integers, sizeof integers));
    const float expected[6] = {1.0f, -2.0f, 65504.0f, 5.9604644775390625e-8f, -0.0f, INFINITY};
    assert_memory_equal(halves, expected, sizeof halves);
    assert_true(brains[0] == 1.0f && brains[1] == -100.0f);
    assert_true(wides[0] == 0.1f && wides[1] == -INFINITY);
    assert_true(integers[0] == INT32_MIN && integers[1] == INT32_MAX);

    data.half[0] = 0;
    data.wide[1] = -1e300;
    write_file(path, header, &data, sizeof data);
    assert_fails(weft_weights_load(graph, path, NULL), WEFT_ERROR_NOT_FINITE,
        "tensor 'wide': element 1 is -1e+300, which does not fit into f32");
    assert_ok(weft_tensor_read(half, halves, sizeof halves));
    assert_true(halves[0] == 1.0f);
    (void)weft_parameter_shape(graph, "begun", weft_init_from_file(path, "wide"), 1, &two);
    assert_fails(
        weft_graph_status(graph), WEFT_ERROR_NOT_FINITE, "element 1 is -1e+300, which does not fit into f32");
    weft_graph_release(graph);
    assert_ok(weft_graph_create(&graph, test_context()));
    (void)weft_parameter_shape(graph, "wide", weft_zeros(), 1, &two);
    (void)weft_state_shape(graph, "integer", WEFT_I32, weft_zeros(), 1, &two);
    data.wide[1] = 1;
    data.integer[1]++;
    write_file(path, header, &data, sizeof data);
    assert_fails(weft_weights_load(
                     graph, path, &(weft_weights_options){WEFT_WEIGHTS_OPTIONS_INIT, .allow_extra = true}),
        WEFT_ERROR_FORMAT, "'integer': element 1 is 2147483648, which does not fit into i32");
    weft_graph_release(graph);
}

#define W       "\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}"
#define RUNNING "\"running\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[24,36]}"
#define COUNT   "\"count\":{\"dtype\":\"I32\",\"shape\":[3],\"data_offsets\":[36,48]}"

static void files_that_do_not_fit_change_nothing(void **state) {
    (void)state;
    static const struct {
        const char *header;
        size_t bytes;
        weft_status status;
        const char *part;
    } rows[] = {
        {"{" W "," RUNNING "}", 36, WEFT_ERROR_FORMAT, "tensor 'count' of the graph is not in the file"},
        {"{" W "," RUNNING "," COUNT ",\"more\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[48,49]}}",
            49, WEFT_ERROR_FORMAT, "tensor 'more' of the file is not in the graph"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]}," RUNNING "," COUNT "}", 48,
            WEFT_ERROR_SHAPE, "'w' is (3, 2) in the file and (2, 3) in the graph"},
        {"{\"w\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]}," RUNNING "," COUNT "}", 48,
            WEFT_ERROR_SHAPE, "'w' is (6) in the file"},
        {"{\"w\":{\"dtype\":\"I32\",\"shape\":[2,3],\"data_offsets\":[0,24]}," RUNNING "," COUNT "}", 48,
            WEFT_ERROR_DTYPE, "'w' is I32 in the file and F32 in the graph"},
        {"{" W "," RUNNING ",\"count\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[36,48]}}", 48,
            WEFT_ERROR_DTYPE, "'count' is F32 in the file and I32 in the graph"},
        {"{" W "," RUNNING "," COUNT "}", 47, WEFT_ERROR_FORMAT, "not within the 47 bytes"},
        {"{" W "," RUNNING "," COUNT, 48, WEFT_ERROR_FORMAT, "not valid JSON"},
    };
    static const unsigned char zeros[64];
    char path[4096];
    snprintf(path, sizeof path, "%s", test_path("misfit.safetensors"));
    weft_graph *const graph = make_graph(5.0f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_file(path, rows[i].header, zeros, rows[i].bytes);
        assert_fails(weft_weights_load(graph, path, NULL), rows[i].status, rows[i].part);
        assert_non_null(strstr(weft_last_error(), "misfit.safetensors"));
        check_graph(graph, 5.0f);
    }
    /* The same two gaps, when they are allowed. */
    const weft_weights_options missing = {WEFT_WEIGHTS_OPTIONS_INIT, .allow_missing = true};
    const weft_weights_options extra = {WEFT_WEIGHTS_OPTIONS_INIT, .allow_extra = true};
    float w[WEIGHTS] = {1};
    int32_t counts[COUNTS];
    write_file(path, rows[0].header, zeros, rows[0].bytes);
    assert_fails(weft_weights_load(graph, path, &extra), WEFT_ERROR_FORMAT, "'count'");
    assert_ok(weft_weights_load(graph, path, &missing));
    assert_ok(weft_tensor_read(weft_graph_find(graph, "w"), w, sizeof w));
    assert_ok(weft_tensor_read(weft_graph_find(graph, "count"), counts, sizeof counts));
    assert_true(w[0] == 0.0f && counts[0] == 5);
    write_file(path, rows[1].header, zeros, rows[1].bytes);
    assert_fails(weft_weights_load(graph, path, &missing), WEFT_ERROR_FORMAT, "'more'");
    assert_ok(weft_weights_load(graph, path, &extra));
    assert_ok(weft_tensor_read(weft_graph_find(graph, "count"), counts, sizeof counts));
    assert_int_equal(counts[0], 0);
    weft_graph_release(graph);
}

static void optimizer_state_stays_out(void **state) {
    (void)state;
    char path[4096];
    snprintf(path, sizeof path, "%s", test_path("trained.safetensors"));
    weft_graph *graphs[2];
    weft_tensor *losses[2];
    for (int i = 0; i < 2; i++) {
        assert_ok(weft_graph_create(&graphs[i], test_context()));
        losses[i] = weft_mean(weft_square(weft_linear(weft_input(graphs[i], "x", WEFT_F32, 3), 2)));
    }
    weft_tensor *updates[WEFT_MAX_UPDATES];
    size_t count = 0;
    const weft_optimizer adam = weft_adam(1e-3f);
    assert_ok(weft_minimize(losses[0], &adam, updates, WEFT_MAX_UPDATES, &count));
    assert_ok(weft_weights_save(graphs[0], path));
    assert_ok(weft_weights_load(graphs[1], path, NULL)); /* a graph that is not trained takes it */
    weft_graph_release(graphs[0]);
    weft_graph_release(graphs[1]);
}

static void misuse_and_bad_paths_are_refused(void **state) {
    (void)state;
    weft_graph *const graph = make_graph(5.0f);
    assert_fails(weft_weights_load(graph, "/no/such/file", NULL), WEFT_ERROR_FILE, "/no/such/file");
    assert_fails(weft_weights_save(graph, "/no/such/folder/file"), WEFT_ERROR_FILE, "/no/such/folder/file");
    assert_status(weft_weights_load(NULL, "x", NULL), WEFT_ERROR_ARGUMENT);
    assert_status(weft_weights_load(graph, NULL, NULL), WEFT_ERROR_ARGUMENT);
    assert_status(weft_weights_save(NULL, "x"), WEFT_ERROR_ARGUMENT);
    assert_status(weft_weights_save(graph, NULL), WEFT_ERROR_ARGUMENT);
    const weft_weights_options options = {.struct_size = 1};
    assert_fails(weft_weights_load(graph, "x", &options), WEFT_ERROR_ARGUMENT, "_INIT");
    check_graph(graph, 5.0f);
    weft_graph_release(graph);

    weft_graph *const nameless = test_graph();
    assert_non_null(weft_parameter(nameless, "", weft_fill(1), 2));
    assert_fails(weft_weights_save(nameless, test_path("nameless")), WEFT_ERROR_STATE,
        "parameter 0 of the graph, of shape (2), has no name");
    weft_graph_release(nameless);

    /* Two states of one name could not be told apart in a file. */
    weft_graph *twice = NULL;
    const int64_t one = 1;
    assert_ok(weft_graph_create(&twice, test_context()));
    assert_non_null(weft_state_shape(twice, "s", WEFT_F32, weft_zeros(), 1, &one));
    if (weft_state_shape(twice, "s", WEFT_F32, weft_zeros(), 1, &one))
        assert_fails(weft_weights_save(twice, test_path("twice")), WEFT_ERROR_STATE, "'s'");
    else
        assert_fails(weft_weights_save(twice, test_path("twice")), WEFT_ERROR_ARGUMENT, "'s'");
    weft_graph_release(twice);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_saved_is_loaded),
        cmocka_unit_test(weights_are_saved_in_16_bits),
        cmocka_unit_test(numbers_that_do_not_fit_are_named),
        cmocka_unit_test(the_file_is_as_the_format_says),
        cmocka_unit_test(other_types_are_converted),
        cmocka_unit_test(files_that_do_not_fit_change_nothing),
        cmocka_unit_test(optimizer_state_stays_out),
        cmocka_unit_test(misuse_and_bad_paths_are_refused),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
