/* The safetensors reader against good, bad and mutilated files. */
#include "io/safetensors.h"
#include "support/checks.h"
#include <stdio.h>
#include <time.h>

/* A file with this header and `data` bytes of data; the caller frees it. */
static char *make_file(const char *header, size_t data, size_t *size) {
    const size_t length = strlen(header);
    *size = 8 + length + data;
    char *const bytes = calloc(1, *size);
    for (size_t i = 0; i < 8; i++) bytes[i] = (char)(length >> 8 * i & 255);
    memcpy(bytes + 8, header, length);
    for (size_t i = 0; i < data; i++) bytes[8 + length + i] = (char)i;
    return bytes;
}

static void good_files_are_read(void **state) {
    (void)state;
    size_t size = 0;
    wi_safetensors file;
    char *const bytes = make_file("{\"__metadata__\":{\"format\":\"pt\"},"
                                  "\"b\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[8,32]},"
                                  " \"a.\\u00e9\":{\"shape\":[],\"dtype\":\"I64\",\"data_offsets\":[0,8]},"
                                  "\"none\":{\"dtype\":\"BF16\",\"shape\":[4,0],\"data_offsets\":[8,8]}}   ",
        24 + 8, &size);
    assert_ok(wi_safetensors_parse(&file, NULL, "x", bytes, size));
    assert_int_equal(file.count, 3);
    assert_int_equal(file.data_bytes, 32);
    const wi_saved_tensor *const b = wi_safetensors_find(&file, "b");
    assert_non_null(b);
    assert_int_equal(b->rank, 2);
    assert_int_equal(b->dims[0], 2);
    assert_int_equal(b->dims[1], 3);
    assert_int_equal(b->elements, 6);
    assert_int_equal(b->dtype->dtype, WEFT_F32);
    assert_int_equal(file.data[b->begin], 8);
    assert_int_equal(b->end, 32);
    const wi_saved_tensor *const a = wi_safetensors_find(&file, "a.\xc3\xa9");
    assert_non_null(a);
    assert_int_equal(a->rank, 0);
    assert_int_equal(a->elements, 1);
    assert_null(wi_safetensors_find(&file, "c"));
    assert_string_equal(wi_safetensors_metadata(&file, "format"), "pt");
    assert_null(wi_safetensors_metadata(&file, "forma"));
    wi_safetensors_clear(&file);
    free(bytes);

    char *const empty = make_file("{}", 0, &size);
    assert_ok(wi_safetensors_parse(&file, NULL, "x", empty, size));
    assert_int_equal(file.count, 0);
    assert_null(wi_safetensors_find(&file, "b"));
    wi_safetensors_clear(&file);
    free(empty);
}

#define TENSOR(dtype, shape, offsets)                                                                        \
    "\"t\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define OTHER(begin, end) "\"u\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[" begin "," end "]}"

static void bad_headers_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *header;
        size_t data;
        const char *part;
    } rows[] = {
        {"", 0, "not valid JSON"},
        {"{", 0, "not valid JSON"},
        {"nonsense", 0, "not valid JSON"},
        {"{\"t\":{\"dtype\":\"F32\"", 0, "not valid JSON"},
        {"[]", 0, "not a JSON object"},
        {"\"text\"", 0, "not a JSON object"},
        {"null", 0, "not a JSON object"},
        {"{} x", 0, "not valid JSON at byte 11 of the file"},
        {"{}{}", 0, "not valid JSON"},
        {"{\"\\u0000\":{}}", 0, "holds a NUL"},
        {"{\"\\ud800\":{}}", 0, "not valid JSON"},
        {"{\"\xff\":{}}", 0, "not valid JSON"},
        {"{\"__metadata__\":{\"a\":\"\\u0000\"}}", 0, "holds a NUL"},
        {"{\"t\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 0, "'t': a key is in its entry twice"},
        {"{\"__metadata__\":1}", 0, "__metadata__"},
        {"{\"__metadata__\":{\"a\":1}}", 0, "a value of \"__metadata__\" is not a string"},
        {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"1\"}}", 0, "a key is in \"__metadata__\" twice"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "\"__metadata__\" is in the header twice"},
        {"{\"t\":3}", 0, "'t': its entry is not an object"},
        {"{\"t\":{}}", 0, "'t': \"dtype\""},
        {"{" TENSOR("5", "[1]", "[0,4]") "}", 4, "'t': \"dtype\""},
        {"{" TENSOR("\"F3\\u0000\"", "[1]", "[0,4]") "}", 4, "\"dtype\" holds a NUL"},
        {"{" TENSOR("\"F32\"", "1", "[0,4]") "}", 4, "\"shape\""},
        {"{" TENSOR("\"F32\"", "{\"0\":1}", "[0,4]") "}", 4, "\"shape\""},
        {"{" TENSOR("\"F32\"", "[-1]", "[0,4]") "}", 4, "not a whole number"},
        {"{" TENSOR("\"F32\"", "[1.5]", "[0,6]") "}", 6, "not a whole number"},
        {"{" TENSOR("\"F32\"", "[\"1\"]", "[0,4]") "}", 4, "not a whole number"},
        {"{" TENSOR("\"F32\"", "[1e300]", "[0,4]") "}", 4, "not a whole number"},
        {"{" TENSOR("\"F32\"", "[1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4, "more than 8"},
        {"{" TENSOR("\"F32\"", "[4294967296,4294967296,4]", "[0,4]") "}", 4, "overflow"},
        {"{" TENSOR("\"F32\"", "[4611686018427387904]", "[0,0]") "}", 0, "does not have the 0 bytes"},
        {"{" TENSOR("\"F32\"", "[9223372036854775808]", "[0,0]") "}", 0, "not a whole number"},
        {"{" TENSOR("\"F32\"", "[4503599627370496,2048]", "[0,0]") "}", 0, "F32 (4503599627370496, 2048)"},
        {"{" TENSOR("\"F32\"", "[1]", "[0]") "}", 4, "data_offsets"},
        {"{" TENSOR("\"F32\"", "[1]", "[0,4,8]") "}", 4, "data_offsets"},
        {"{" TENSOR("\"F32\"", "[1]", "4") "}", 4, "data_offsets"},
        {"{" TENSOR("\"F32\"", "[1]", "[-4,0]") "}", 4, "data_offsets"},
        {"{" TENSOR("\"F32\"", "[1]", "[4,0]") "}", 4, "4 to 0 are not within the 4 bytes"},
        {"{" TENSOR("\"F32\"", "[1]", "[0,4]") "}", 3, "0 to 4 are not within the 3 bytes"},
        {"{" TENSOR("\"F32\"", "[2]", "[0,9007199254740992]") "}", 8, "not within the 8 bytes"},
        {"{" TENSOR("\"F32\"", "[2]", "[0,4]") "}", 4, "F32 (2) does not have the 4 bytes"},
        {"{" TENSOR("\"F32\"", "[]", "[0,8]") "}", 8, "F32 () does not have the 8 bytes"},
        {"{" TENSOR("\"F32\"", "[1]", "[0,4]") "}", 5, "1 bytes of data belong to no tensor"},
        {"{" TENSOR("\"F32\"", "[1]", "[4,8]") "}", 8, "hole"},
        {"{" TENSOR("\"F32\"", "[1]", "[0,4]") "," OTHER("3", "7") "}", 7, "overlaps"},
        {"{" TENSOR("\"F32\"", "[1]", "[0,4]") "," OTHER("0", "4") "}", 4, "overlaps"},
        {"{" TENSOR("\"F32\"", "[1]", "[0,4]") "," OTHER("5", "9") "}", 9, "hole"},
        {"{" TENSOR("\"F32\"", "[1]", "[0,4]") "," TENSOR("\"F32\"", "[1]", "[4,8]") "}", 8, "twice"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t size = 0;
        wi_safetensors file;
        char *const bytes = make_file(rows[i].header, rows[i].data, &size);
        assert_fails(wi_safetensors_parse(&file, NULL, "bad.safetensors", bytes, size), WEFT_ERROR_FORMAT,
            rows[i].part);
        assert_non_null(strstr(weft_last_error(), "'bad.safetensors'"));
        assert_int_equal(file.count, 0);
        free(bytes);
    }
}

static void bad_lengths_are_refused(void **state) {
    (void)state;
    wi_safetensors file;
    char tiny[] = "\2\0\0\0\0\0\0";
    assert_fails(wi_safetensors_parse(&file, NULL, "x", tiny, 7), WEFT_ERROR_FORMAT, "7 bytes are too few");
    assert_fails(wi_safetensors_parse(&file, NULL, "x", tiny, 0), WEFT_ERROR_FORMAT, "0 bytes are too few");
    assert_fails(wi_safetensors_parse(&file, NULL, "x", "\3\0\0\0\0\0\0\0{}", 10), WEFT_ERROR_FORMAT,
        "have 3 bytes, but only 2 bytes follow its length field");
    assert_fails(wi_safetensors_parse(&file, NULL, "x", "\377\377\377\377\377\377\377\377{}", 10),
        WEFT_ERROR_FORMAT, "have 18446744073709551615 bytes");
    assert_fails(
        wi_safetensors_parse(&file, NULL, "x", "\0\0\0\0\0\0\0\0", 8), WEFT_ERROR_FORMAT, "not valid JSON");
}

static void escapes_are_decoded(void **state) {
    (void)state;
    size_t size = 0;
    wi_safetensors file;
    char *const bytes = make_file("{\"__metadata__\":{\"\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00E9\\u20ac\"},"
                                  "\"\\ud83d\\ude00\":{\"more\":[{\"x\":null},true,[[]],-1.5e+3,{}],"
                                  "\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
        0, &size);
    assert_ok(wi_safetensors_parse(&file, NULL, "x", bytes, size));
    assert_string_equal(wi_safetensors_metadata(&file, ""), "\"\\/\b\f\n\r\t\xc3\xa9\xe2\x82\xac");
    assert_non_null(wi_safetensors_find(&file, "\xf0\x9f\x98\x80"));
    wi_safetensors_clear(&file);
    free(bytes);
}

/* The smallest entries there are: what the table takes is bounded by the header, and the time is a moment. */
static void long_headers_cost_little(void **state) {
    (void)state;
    enum { TENSORS = 100000, ENTRY = 64 };
    size_t size = 0, used = 1;
    wi_safetensors file;
    char *const header = malloc(TENSORS * ENTRY);
    header[0] = '{';
    for (int i = 0; i < TENSORS; i++)
        used +=
            (size_t)sprintf(header + used, "%s\"%x\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}",
                i ? "," : "", i * 7 % TENSORS);
    strcpy(header + used, "}");
    char *const bytes = make_file(header, 0, &size);
    const clock_t begin = clock(); /* of the processor: the machine may have other work */
    assert_ok(wi_safetensors_parse(&file, NULL, "x", bytes, size));
    assert_true(clock() - begin < 5 * CLOCKS_PER_SEC);
    assert_int_equal(file.count, TENSORS);
    assert_true(file.arena.bytes < 5 * size);
    wi_safetensors_clear(&file);
    free(bytes);
    free(header);
}

static void deep_nesting_is_refused(void **state) {
    (void)state;
    enum { DEPTH = 200000 };
    wi_safetensors file;
    size_t size = 0;
    char *const header = malloc(DEPTH + 1);
    memset(header, '[', DEPTH);
    header[DEPTH] = '\0';
    char *const bytes = make_file(header, 0, &size);
    assert_fails(wi_safetensors_parse(&file, NULL, "x", bytes, size), WEFT_ERROR_FORMAT, "not valid JSON");
    free(bytes);
    free(header);
}

/* Whatever is cut off or flipped, the parse returns: an error, or a table within bounds. */
static void mutilated_files_do_no_harm(void **state) {
    (void)state;
    static const char header[] = "{" TENSOR("\"F32\"", "[2,2]", "[0,16]") "," OTHER("16", "20") "}";
    size_t size = 0, refused = 0, tries = 0;
    uint32_t random = 1;
    char *const good = make_file(header, 20, &size);
    for (size_t cut = 0; cut < size; cut++) {
        wi_safetensors file;
        char *const part = malloc(cut + 1); /* of the exact size, so that a sanitizer sees reads past it */
        memcpy(part, good, cut);
        assert_status(wi_safetensors_parse(&file, NULL, "x", part, cut), WEFT_ERROR_FORMAT);
        free(part);
    }
    for (int i = 0; i < 20000; i++, tries++) {
        wi_safetensors file;
        char *const changed = malloc(size);
        memcpy(changed, good, size);
        for (int flips = 0; flips < 1 + i % 3; flips++) {
            random = random * 1664525u + 1013904223u;
            changed[(random >> 8) % (size - 20)] = (char)(random >> 24);
        }
        if (wi_safetensors_parse(&file, NULL, "x", changed, size) == WEFT_OK) {
            for (size_t t = 0; t < file.count; t++) {
                assert_true(file.tensors[t].begin <= file.tensors[t].end);
                assert_true(file.tensors[t].end <= file.data_bytes);
            }
            wi_safetensors_clear(&file);
        } else {
            refused++;
        }
        free(changed);
    }
    assert_true(refused > tries / 2);
    free(good);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_files_are_read),
        cmocka_unit_test(bad_headers_are_refused),
        cmocka_unit_test(bad_lengths_are_refused),
        cmocka_unit_test(escapes_are_decoded),
        cmocka_unit_test(long_headers_cost_little),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(mutilated_files_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
