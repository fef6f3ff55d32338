/* NumPy arrays: files that NumPy wrote are read, what is written is what NumPy writes, and damaged files do
 * no harm. */
#include "base/platform.h"
#include "io/npy.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/mutate.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const char *golden(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, WEFT_SOURCE_DIR "/tests/golden/npy/%s.npy", name);
    return path;
}

/* Element i of make_npy_golden.py. */
static double expected(const char *name, size_t i) {
    if (*name == 'b') return i % 3 == 0;
    return *name == 'u' ? (double)i : (double)i - 2.0;
}

static double element(const weft_npy_array *array, size_t i) {
    switch ((int)array->dtype) {
    case WEFT_F32: return (double)((const float *)array->data)[i];
    case WEFT_F64: return ((const double *)array->data)[i];
    case WEFT_I32: return (double)((const int32_t *)array->data)[i];
    case WEFT_I64: return (double)((const int64_t *)array->data)[i];
    case WEFT_U8:
    case WEFT_BOOL: return (double)((const uint8_t *)array->data)[i];
    default: return (double)NAN;
    }
}

static void check_array(const char *name, weft_dtype dtype, size_t elements) {
    weft_npy_array array;
    assert_ok(weft_load_npy(&array, test_context(), golden(name), dtype));
    assert_int_equal(array.dtype, dtype);
    assert_int_equal(array.bytes, elements * weft_dtype_size(dtype));
    for (size_t i = 0; i < elements; i++)
        if (element(&array, i) != expected(name, i)) {
            print_error("%s as %s: element %zu is %g\n", name, weft_dtype_name(dtype), i, element(&array, i));
            fail();
        }
    weft_npy_array_release(&array);
    assert_null(array.data);
    weft_npy_array_release(&array);
}

static void every_type_of_numpy_is_read(void **state) {
    (void)state;
    static const char *const names[] = {"f2_little", "f2_big", "f4_little", "f4_big", "f8_little", "f8_big",
        "i1", "i2_little", "i2_big", "i4_little", "i4_big", "i8_little", "i8_big", "u1", "u2_little",
        "u2_big", "u4_little", "u4_big", "u8_little", "u8_big", "b1"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char kind = *names[i];
        weft_npy_array array;
        check_array(names[i], WEFT_F32, 6);
        if (kind != 'f') {
            check_array(names[i], WEFT_I32, 6);
            check_array(names[i], WEFT_I64, 6);
        }
        if (kind == 'u' || kind == 'b') check_array(names[i], WEFT_U8, 6);
        if (kind == 'b') check_array(names[i], WEFT_BOOL, 6);
        if (kind == 'i')
            assert_fails(weft_load_npy(&array, NULL, golden(names[i]), WEFT_U8), WEFT_ERROR_FORMAT,
                "element 0 (in row-major order) does not fit into u8");
        if (kind == 'f')
            assert_fails(weft_load_npy(&array, NULL, golden(names[i]), WEFT_I32), WEFT_ERROR_DTYPE,
                "cannot be read as i32");
        if (kind != 'b')
            assert_fails(
                weft_load_npy(&array, NULL, golden(names[i]), WEFT_BOOL), WEFT_ERROR_DTYPE, "as bool");
        assert_fails(weft_load_npy(&array, NULL, golden(names[i]), WEFT_BF16), WEFT_ERROR_DTYPE, "as bf16");
        assert_null(array.data);
    }
    weft_npy_array array;
    assert_ok(weft_load_npy(&array, NULL, golden("f2_big"), WEFT_F16));
    assert_int_equal(((const uint16_t *)array.data)[3], 0x3c00); /* 1 */
    weft_npy_array_release(&array);
}

static void shapes_orders_and_versions(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int rank;
        int64_t dims[3];
    } rows[] = {{"fortran", 3, {2, 3, 4}}, {"fortran_big", 2, {4, 3}}, {"version2", 1, {5}},
        {"version3", 2, {1, 5}}, {"scalar", 0, {0}}, {"empty", 2, {0, 3}}, {"vector", 1, {7}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_npy_array array;
        size_t elements = 1;
        assert_ok(weft_load_npy(&array, test_context(), golden(rows[i].name), WEFT_F32));
        assert_int_equal(array.rank, rows[i].rank);
        for (int axis = 0; axis < array.rank; axis++) {
            assert_int_equal(array.dims[axis], rows[i].dims[axis]);
            elements *= (size_t)array.dims[axis];
        }
        for (size_t e = 0; e < elements; e++) assert_true(element(&array, e) == (double)e - 2.0);
        assert_int_equal(array.bytes, 4 * elements);
        weft_npy_array_release(&array);
    }
    static const char *const others[] = {"text", "complex", "record"};
    static const char *const parts[] = {"'<U2'", "'<c8'", "of records"};
    for (size_t i = 0; i < 3; i++) {
        weft_npy_array array;
        assert_fails(
            weft_load_npy(&array, NULL, golden(others[i]), WEFT_F32), WEFT_ERROR_UNSUPPORTED, parts[i]);
    }
}

static void what_is_written_is_numpys_own(void **state) {
    (void)state;
    static const struct {
        const char *name;
        weft_dtype dtype;
    } rows[] = {{"f4_little", WEFT_F32}, {"f2_little", WEFT_F16}, {"i4_little", WEFT_I32},
        {"i8_little", WEFT_I64}, {"u1", WEFT_U8}, {"b1", WEFT_BOOL}, {"scalar", WEFT_F32},
        {"empty", WEFT_F32}, {"vector", WEFT_I64}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_npy_array array;
        char *theirs = NULL, *ours = NULL;
        size_t their_bytes = 0, our_bytes = 0;
        assert_ok(weft_load_npy(&array, NULL, golden(rows[i].name), rows[i].dtype));
        assert_ok(weft_save_npy(test_path("written.npy"), rows[i].dtype, array.data, array.rank, array.dims));
        assert_ok(wi_file_read(NULL, golden(rows[i].name), &theirs, &their_bytes));
        assert_ok(wi_file_read(NULL, test_path("written.npy"), &ours, &our_bytes));
        assert_int_equal(our_bytes, their_bytes);
        assert_memory_equal(ours, theirs, our_bytes);
        wi_release(NULL, ours);
        wi_release(NULL, theirs);
        weft_npy_array_release(&array);
    }
    const int64_t wide[WEFT_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 3};
    const float values[3] = {1.5f, -INFINITY, 1e-42f};
    weft_npy_array array;
    assert_ok(weft_save_npy(test_path("wide.npy"), WEFT_F32, values, WEFT_MAX_RANK, wide));
    assert_ok(weft_load_npy(&array, NULL, test_path("wide.npy"), WEFT_F32));
    assert_int_equal(array.rank, WEFT_MAX_RANK);
    assert_memory_equal(array.data, values, sizeof values);
    weft_npy_array_release(&array);
}

/* A version 1 file of this dictionary and so many bytes of data; the caller frees it. */
static char *make_file(const char *dictionary, size_t data, size_t *size) {
    const size_t length = strlen(dictionary);
    *size = 10 + length + data;
    char *const bytes = calloc(1, *size);
    memcpy(bytes, "\x93NUMPY\1\0", 8);
    bytes[8] = (char)(length & 255);
    bytes[9] = (char)(length >> 8);
    memcpy(bytes + 10, dictionary, length);
    return bytes;
}

#define DICTIONARY(descr, order, shape)                                                                      \
    "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }"

static void headers_are_read_as_python_writes_them(void **state) {
    (void)state;
    static const struct {
        const char *dictionary;
        size_t data;
        weft_status status;
        const char *part;
    } rows[] = {
        {"{\"shape\":(2L,3L),\"fortran_order\":True,\"descr\":\">f8\"}  \n", 48, WEFT_OK, NULL},
        {DICTIONARY("'|u1'", "False", "( 3 , )"), 3, WEFT_OK, NULL},
        {DICTIONARY("'<u1'", "False", "()"), 1, WEFT_OK, NULL},
        {DICTIONARY("'<f4'", "False", "(922337203685477580, 0)"), 0, WEFT_OK, NULL},
        {"", 0, WEFT_ERROR_FORMAT, "not a dictionary"},
        {"{", 0, WEFT_ERROR_FORMAT, "lacks a quoted string"},
        {"{}", 0, WEFT_ERROR_FORMAT, "lacks descr"},
        {"{'descr': '<f4', 'fortran_order': False}", 0, WEFT_ERROR_FORMAT, "lacks"},
        {"{'descr': '<f4', 'descr': '<f4'}", 0, WEFT_ERROR_FORMAT, "a key twice"},
        {"{'what': '<f4'}", 0, WEFT_ERROR_FORMAT, "none of descr"},
        {"{'descr' '<f4'}", 0, WEFT_ERROR_FORMAT, "a key without a value"},
        {"{'descr': '<f4' 'shape': ()}", 0, WEFT_ERROR_FORMAT, "without an end"},
        {"{'descr", 0, WEFT_ERROR_FORMAT, "a string without an end"},
        {"{'descrdescrdescrdescrdescrdescrdescr': 1}", 0, WEFT_ERROR_FORMAT,
            "a character that is not allowed"},
        {DICTIONARY("'<f4'", "0", "()"), 4, WEFT_ERROR_FORMAT, "fortran_order"},
        {DICTIONARY("'<f4'", "False", "3"), 12, WEFT_ERROR_FORMAT, "not a tuple"},
        {DICTIONARY("'<f4'", "False", "(3)"), 12, WEFT_ERROR_FORMAT, "not a tuple"},
        {DICTIONARY("'<f4'", "False", "(3, -1)"), 12, WEFT_ERROR_FORMAT, "whole number"},
        {DICTIONARY("'<f4'", "False", "(3.0,)"), 12, WEFT_ERROR_FORMAT, "not a tuple"},
        {DICTIONARY("'<f4'", "False", "(3, 4"), 48, WEFT_ERROR_FORMAT, "header"},
        {DICTIONARY("'<f4'", "False", "(99999999999999999999,)"), 4, WEFT_ERROR_FORMAT, "overflows"},
        {DICTIONARY("'<f4'", "False", "(4294967296, 4294967296)"), 0, WEFT_ERROR_FORMAT, "too many elements"},
        {DICTIONARY("'<f8'", "False", "(2305843009213693952,)"), 0, WEFT_ERROR_FORMAT, "too many elements"},
        {DICTIONARY("'<f4'", "False", "(1,1,1,1,1,1,1,1,1)"), 4, WEFT_ERROR_UNSUPPORTED, "more than 8"},
        {DICTIONARY("'<f4'", "False", "(3,)"), 11, WEFT_ERROR_FORMAT,
            "announces 12 bytes of data, but the file has 11"},
        {DICTIONARY("'<f4'", "False", "(3,)"), 13, WEFT_ERROR_FORMAT,
            "announces 12 bytes of data, but the file has 13"},
        {DICTIONARY("'<f4'", "False", "(0,)"), 1, WEFT_ERROR_FORMAT, "announces 0 bytes"},
        {DICTIONARY("'<f4'", "False", "(3,)") " x", 12, WEFT_ERROR_FORMAT, "goes on"},
        {DICTIONARY("'<f16'", "False", "()"), 16, WEFT_ERROR_UNSUPPORTED, "'<f16'"},
        {DICTIONARY("'<f3'", "False", "()"), 3, WEFT_ERROR_UNSUPPORTED, "'<f3'"},
        {DICTIONARY("'<b2'", "False", "()"), 2, WEFT_ERROR_UNSUPPORTED, "'<b2'"},
        {DICTIONARY("'|f4'", "False", "()"), 4, WEFT_ERROR_FORMAT, "without a byte order"},
        {DICTIONARY("'|O'", "False", "()"), 8, WEFT_ERROR_UNSUPPORTED, "'|O'"},
        {DICTIONARY("'<M8[s]'", "False", "()"), 8, WEFT_ERROR_UNSUPPORTED, "M8"},
        {DICTIONARY("''", "False", "()"), 8, WEFT_ERROR_UNSUPPORTED, "''"},
        {DICTIONARY("'<'", "False", "()"), 8, WEFT_ERROR_UNSUPPORTED, "'<'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t size = 0;
        wi_npy npy;
        char *const bytes = make_file(rows[i].dictionary, rows[i].data, &size);
        const weft_status status = wi_npy_parse(&npy, "a.npy", bytes, size);
        if (status != rows[i].status) print_error("row %zu, %s\n", i, rows[i].dictionary);
        if (rows[i].part)
            assert_fails(status, rows[i].status, rows[i].part);
        else
            assert_ok(status);
        if (rows[i].part) assert_non_null(strstr(weft_last_error(), "'a.npy'"));
        free(bytes);
    }
    wi_npy npy;
    assert_fails(wi_npy_parse(&npy, "x", "", 0), WEFT_ERROR_FORMAT, "of 0 bytes, does not begin");
    assert_fails(wi_npy_parse(&npy, "x", "PK\3\4        ", 12), WEFT_ERROR_FORMAT, "does not begin");
    assert_fails(wi_npy_parse(&npy, "x", "\x93NUMPY\4\0\2\0{}", 12), WEFT_ERROR_UNSUPPORTED, "version 4.0");
    assert_fails(wi_npy_parse(&npy, "x", "\x93NUMPY\1\0\3\0{}", 12), WEFT_ERROR_FORMAT, "have 3 bytes");
    assert_fails(wi_npy_parse(&npy, "x", "\x93NUMPY\1\0\3", 9), WEFT_ERROR_FORMAT,
        "have 0 bytes, but the file has only 9");
    assert_fails(
        wi_npy_parse(&npy, "x", "\x93NUMPY\2\0\377\377\377\377", 12), WEFT_ERROR_FORMAT, "4294967295");
}

static void numbers_that_do_not_fit_are_named(void **state) {
    (void)state;
    static const int64_t values[3] = {INT32_MAX, (int64_t)INT32_MAX + 1, -1}, three = 3;
    weft_npy_array array;
    char path[4096];
    snprintf(path, sizeof path, "%s", test_path("large.npy"));
    assert_ok(weft_save_npy(path, WEFT_I64, values, 1, &three));
    assert_fails(
        weft_load_npy(&array, NULL, path, WEFT_I32), WEFT_ERROR_FORMAT, "element 1 (in row-major order)");
    assert_ok(weft_load_npy(&array, NULL, path, WEFT_F32));
    assert_true(((const float *)array.data)[1] == 2147483648.0f);
    weft_npy_array_release(&array);
    size_t size = 0;
    wi_npy npy;
    int64_t wide = 0;
    char *const bytes = make_file(DICTIONARY("'<u8'", "False", "(1,)"), 8, &size);
    bytes[size - 1] = (char)0x80; /* 2^63 */
    assert_ok(wi_npy_parse(&npy, "x", bytes, size));
    assert_fails(wi_npy_convert(&npy, WEFT_I64, &wide), WEFT_ERROR_FORMAT, "element 0");
    float number = 0.0f;
    assert_ok(wi_npy_convert(&npy, WEFT_F32, &number));
    assert_true(number == 9223372036854775808.0f);
    free(bytes);
}

static void misuse_is_refused(void **state) {
    (void)state;
    const int64_t three = 3, negative = -1, huge[2] = {INT64_MAX, 2};
    const float values[3] = {0};
    weft_npy_array array;
    assert_status(weft_load_npy(NULL, NULL, "x", WEFT_F32), WEFT_ERROR_ARGUMENT);
    assert_status(weft_load_npy(&array, NULL, NULL, WEFT_F32), WEFT_ERROR_ARGUMENT);
    assert_status(weft_load_npy(&array, NULL, golden("u1"), (weft_dtype)99), WEFT_ERROR_DTYPE);
    assert_fails(
        weft_load_npy(&array, NULL, "/no/such/file.npy", WEFT_F32), WEFT_ERROR_FILE, "/no/such/file.npy");
    assert_null(array.data);
    assert_fails(
        weft_save_npy("/no/such/folder/a.npy", WEFT_F32, values, 1, &three), WEFT_ERROR_FILE, "folder");
    assert_fails(weft_save_npy("x", WEFT_BF16, values, 1, &three), WEFT_ERROR_DTYPE, "bf16");
    assert_status(weft_save_npy("x", (weft_dtype)99, values, 1, &three), WEFT_ERROR_DTYPE);
    assert_status(weft_save_npy(NULL, WEFT_F32, values, 1, &three), WEFT_ERROR_ARGUMENT);
    assert_status(weft_save_npy("x", WEFT_F32, NULL, 1, &three), WEFT_ERROR_ARGUMENT);
    assert_fails(weft_save_npy("x", WEFT_F32, values, 9, huge), WEFT_ERROR_SHAPE, "rank 9");
    assert_fails(weft_save_npy("x", WEFT_F32, values, 1, &negative), WEFT_ERROR_SHAPE, "-1");
    assert_fails(weft_save_npy("x", WEFT_F32, values, 2, huge), WEFT_ERROR_SHAPE, "overflows");
    assert_status(weft_save_npy("x", WEFT_F32, values, 1, NULL), WEFT_ERROR_SHAPE);
    assert_false(wi_file_exists("x"));
}

/* A mutated file gives an error, or an array that a walk over all of it stays within. */
static bool parse_mutated(void *user, const char *bytes, size_t size) {
    wi_npy npy;
    (void)user;
    if (wi_npy_parse(&npy, "x", bytes, size) != WEFT_OK) return false;
    float *const values = malloc(npy.elements * sizeof *values + 1);
    int32_t *const integers = malloc(npy.elements * sizeof *integers + 1);
    assert_ok(wi_npy_convert(&npy, WEFT_F32, values));
    (void)wi_npy_convert(&npy, WEFT_I32, integers);
    free(values);
    free(integers);
    return true;
}

static void mutated_files_do_no_harm(void **state) {
    (void)state;
    static const char *const names[] = {"fortran", "i2_big", "version2"};
    for (size_t i = 0; i < 3; i++) {
        char *bytes = NULL;
        size_t size = 0;
        assert_ok(wi_file_read(NULL, golden(names[i]), &bytes, &size));
        const mutate_counts counts = mutate_all(bytes, size, 10000, parse_mutated, NULL);
        assert_true(counts.refused > counts.tries / 20 && counts.refused < counts.tries);
        wi_release(NULL, bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_of_numpy_is_read),
        cmocka_unit_test(shapes_orders_and_versions),
        cmocka_unit_test(what_is_written_is_numpys_own),
        cmocka_unit_test(headers_are_read_as_python_writes_them),
        cmocka_unit_test(numbers_that_do_not_fit_are_named),
        cmocka_unit_test(misuse_is_refused),
        cmocka_unit_test(mutated_files_do_no_harm),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
