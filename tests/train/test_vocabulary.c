/* Vocabularies: what becomes a token, in which order, unknown ones, files, and texts that are none. */
#include "support/fixture.h"
#include "support/scratch.h"

#include <stdio.h>
#include <string.h>

static const char *write_file(const char *name, const char *content, size_t bytes) {
    const char *const path = test_path(name);
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(content, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
    return path;
}

static weft_vocabulary *of_text_bytes(const char *text, size_t bytes, weft_vocabulary_options options) {
    weft_vocabulary *v = NULL;
    assert_weft_ok(weft_vocabulary_from_text(&v, test_context(), text, bytes, &options));
    return v;
}

static weft_vocabulary *of_text(const char *text, weft_vocabulary_options options) {
    return of_text_bytes(text, strlen(text), options);
}
#define OPTIONS(...) ((weft_vocabulary_options){WEFT_VOCABULARY_OPTIONS_INIT, __VA_ARGS__})
#define WORDS        .level = WEFT_TEXT_WORDS

static void assert_tokens(const weft_vocabulary *v, const char *const *tokens, size_t count) {
    assert_int_equal(weft_vocabulary_size(v), count);
    for (size_t i = 0; i < count; i++) {
        size_t bytes = 0;
        assert_string_equal(weft_vocabulary_token(v, (int32_t)i, &bytes), tokens[i]);
        assert_int_equal(bytes, strlen(tokens[i]));
        assert_int_equal(weft_vocabulary_find(v, tokens[i], bytes), i);
    }
    assert_null(weft_vocabulary_token(v, (int32_t)count, NULL));
    assert_null(weft_vocabulary_token(v, -1, NULL));
}
#define ASSERT_TOKENS(v, ...)                                                                                \
    assert_tokens(                                                                                           \
        v, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void assert_encodes(
    const weft_vocabulary *v, const char *text, size_t bytes, const int32_t *wanted, size_t count) {
    int32_t tokens[64];
    size_t got = 0;
    assert_weft_ok(weft_vocabulary_encode(v, text, bytes, tokens, 64, &got));
    assert_int_equal(got, count);
    assert_memory_equal(tokens, wanted, count * sizeof *tokens);
    assert_weft_ok(weft_vocabulary_encode(v, text, bytes, NULL, 0, &got));
    assert_int_equal(got, count);
}
#define ASSERT_ENCODES(v, text, ...)                                                                         \
    assert_encodes(v, text, sizeof text - 1, (const int32_t[]){__VA_ARGS__},                                 \
        sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

/* The most frequent first, equals in the order of their bytes; there and back again. */
static void test_characters(void **state) {
    (void)state;
    const char text[] = "abbé\na";
    weft_vocabulary *const v = of_text(text, OPTIONS(.level = WEFT_TEXT_CHARACTERS));
    ASSERT_TOKENS(v, "a", "b", "\n", "é");
    assert_int_equal(weft_vocabulary_unknown(v), -1);
    ASSERT_ENCODES(v, text, 0, 1, 1, 3, 2, 0);
    char back[16];
    size_t length = 0;
    assert_weft_ok(
        weft_vocabulary_decode(v, (const int32_t[]){0, 1, 1, 3, 2, 0}, 6, back, sizeof back, &length));
    assert_int_equal(length, sizeof text - 1);
    assert_string_equal(back, text);
    assert_weft_ok(weft_vocabulary_decode(v, (const int32_t[]){0, 1, 1}, 3, back, 3, &length));
    assert_string_equal(back, "ab");
    assert_int_equal(length, 3);
    assert_weft_fails(WEFT_ERROR_ARGUMENT,
        weft_vocabulary_decode(v, (const int32_t[]){0, 4}, 2, back, sizeof back, &length),
        "token 1 is 4, not in 0..3");
    weft_vocabulary_release(v);
}

/* Bytes that are no UTF-8 (a lone continuation, an overlong form, a surrogate, a cut character), and NUL. */
static void test_bytes_stay_bytes(void **state) {
    (void)state;
    static const char text[] = "a\x80\xC0\xAF\xED\xA0\x80\0z\xE2\x82";
    weft_vocabulary *v = NULL, *loaded = NULL;
    assert_weft_ok(weft_vocabulary_from_text(&v, test_context(), text, sizeof text - 1, NULL));
    assert_int_equal(weft_vocabulary_size(v), 10); /* 0x80 twice; 0xE2 and 0x82 are two */
    int32_t tokens[16];
    char back[16];
    size_t count = 0, length = 0;
    assert_weft_ok(weft_vocabulary_encode(v, text, sizeof text - 1, tokens, 16, &count));
    assert_int_equal(count, 11);
    assert_weft_ok(weft_vocabulary_decode(v, tokens, count, back, sizeof back, &length));
    assert_int_equal(length, sizeof text - 1);
    assert_memory_equal(back, text, sizeof text);
    assert_weft_ok(weft_vocabulary_save(v, test_path("bytes.json")));
    assert_weft_ok(weft_vocabulary_load(&loaded, test_context(), test_path("bytes.json")));
    int32_t again[16];
    assert_weft_ok(weft_vocabulary_encode(loaded, text, sizeof text - 1, again, 16, &count));
    assert_memory_equal(tokens, again, count * sizeof *tokens);
    weft_vocabulary_release(v);
    weft_vocabulary_release(loaded);
}

/* As the Penn Treebank's files are read: words between blanks, each line ends with <eos>, <unk> is a word. */
static void test_words(void **state) {
    (void)state;
    weft_vocabulary *const v = of_text(" the cat <unk> \n the\tdog\r\n\n the end", OPTIONS(WORDS));
    ASSERT_TOKENS(v, "<eos>", "the", "<unk>", "cat", "dog", "end");
    assert_int_equal(weft_vocabulary_unknown(v), 2);
    ASSERT_ENCODES(v, "the zebra\nthe", 1, 2, 0, 1);
    char back[32];
    size_t length = 0;
    assert_weft_ok(
        weft_vocabulary_decode(v, (const int32_t[]){1, 3, 0, 1, 4}, 5, back, sizeof back, &length));
    assert_string_equal(back, "the cat\nthe dog");
    weft_vocabulary_release(v);
}

static void test_rare_and_too_many(void **state) {
    (void)state;
    const char text[] = "a a a b b c d";
    weft_vocabulary *v = of_text(text, OPTIONS(WORDS, .minimum_count = 2));
    ASSERT_TOKENS(v, "a", "<unk>", "b"); /* two left out */
    ASSERT_ENCODES(v, "b c a", 2, 1, 0);
    weft_vocabulary_release(v);
    v = of_text(text, OPTIONS(WORDS, .maximum_size = 3));
    ASSERT_TOKENS(v, "a", "<unk>", "b");
    weft_vocabulary_release(v);
    v = of_text(text, OPTIONS(WORDS, .maximum_size = 4)); /* all four fit, and none is unknown */
    ASSERT_TOKENS(v, "a", "b", "c", "d");
    assert_int_equal(weft_vocabulary_unknown(v), -1);
    weft_vocabulary_release(v);
    v = of_text(text, OPTIONS(WORDS, .unknown = true));
    ASSERT_TOKENS(v, "a", "b", "c", "d", "<unk>");
    weft_vocabulary_release(v);
    v = of_text("aab", OPTIONS(.level = WEFT_TEXT_CHARACTERS, .minimum_count = 2));
    ASSERT_TOKENS(v, "a", "\xEF\xBF\xBD");
    ASSERT_ENCODES(v, "ab", 0, 1);
    weft_vocabulary_release(v);
}

static void test_files(void **state) {
    (void)state;
    const char text[] = "say \"hi\" \\ \x01 caf\xC3\xA9\n";
    weft_vocabulary *v = NULL, *loaded = NULL;
    const weft_vocabulary_options words = OPTIONS(WORDS, .unknown = true);
    assert_weft_ok(
        weft_vocabulary_from_file(&v, test_context(), write_file("v.txt", text, sizeof text - 1), &words));
    assert_weft_ok(weft_vocabulary_save(v, test_path("v.json")));
    assert_weft_ok(weft_vocabulary_load(&loaded, test_context(), test_path("v.json")));
    assert_int_equal(weft_vocabulary_size(loaded), weft_vocabulary_size(v));
    assert_int_equal(weft_vocabulary_level(loaded), WEFT_TEXT_WORDS);
    assert_int_equal(weft_vocabulary_unknown(loaded), weft_vocabulary_unknown(v));
    for (int32_t i = 0; i < (int32_t)weft_vocabulary_size(v); i++)
        assert_string_equal(weft_vocabulary_token(loaded, i, NULL), weft_vocabulary_token(v, i, NULL));
    weft_vocabulary_release(weft_vocabulary_retain(loaded));
    weft_vocabulary_release(loaded);
    weft_vocabulary_release(v);
    weft_vocabulary_release(NULL);
}

/* What C strings cannot hold: words with a NUL. The texts are compared by their lengths. */
static void test_words_with_zeros(void **state) {
    (void)state;
    static const char text[] = "a\0b a\0c \0 a \"\\\x01\x7f\xC3\xA9\n\n<eos>\0 <eos>";
    const size_t bytes = sizeof text - 1;
    weft_vocabulary *const v = of_text_bytes(text, bytes, OPTIONS(WORDS)), *loaded = NULL;
    assert_weft_ok(weft_vocabulary_save(v, test_path("zeros.json")));
    assert_weft_ok(weft_vocabulary_load(&loaded, test_context(), test_path("zeros.json")));
    assert_int_equal(weft_vocabulary_size(v), 7);
    assert_int_equal(weft_vocabulary_size(loaded), 7);
    for (int32_t i = 0; i < 7; i++) {
        size_t wanted = 0, got = 0;
        const char *const one = weft_vocabulary_token(v, i, &wanted);
        const char *const other = weft_vocabulary_token(loaded, i, &got);
        assert_int_equal(got, wanted);
        assert_memory_equal(other, one, wanted + 1);
        assert_int_equal(weft_vocabulary_find(loaded, one, wanted), i);
    }
    int32_t tokens[16];
    char back[64];
    size_t count = 0, length = 0;
    assert_weft_ok(weft_vocabulary_encode(loaded, text, bytes, tokens, 16, &count));
    assert_weft_ok(weft_vocabulary_decode(loaded, tokens, count, back, sizeof back, &length));
    assert_int_equal(length, bytes - strlen(" <eos>") + 1);
    assert_memory_equal(back, text, bytes - strlen(" <eos>"));
    weft_vocabulary_release(loaded);
    weft_vocabulary_release(v);
}

/* A vocabulary that does not fit the model. */
static void test_another_model(void **state) {
    (void)state;
    weft_vocabulary *const v = of_text("abc", OPTIONS(.level = WEFT_TEXT_CHARACTERS));
    weft_graph *const graph = test_graph();
    weft_tensor *const tokens = weft_input(graph, "tokens", WEFT_I32, 2);
    assert_non_null(weft_embedding(tokens, 3, 2));
    assert_non_null(weft_embedding(tokens, 4, 2));
    assert_weft_ok(weft_vocabulary_check(v, weft_graph_find(graph, "embedding1.weight")));
    assert_weft_fails(WEFT_ERROR_SHAPE, weft_vocabulary_check(v, weft_graph_find(graph, "embedding2.weight")),
        "a vocabulary of 3 tokens does not fit 'embedding2.weight' of shape (4, 2): it belongs to another "
        "model");
    weft_graph_release(graph);
    weft_vocabulary_release(v);
}

/* ---- bad input ---- */

static void assert_no_text(
    const char *line, const char *text, size_t bytes, weft_vocabulary_options options) {
    weft_vocabulary *v = NULL;
    assert_weft_fails(WEFT_ERROR_FORMAT,
        weft_vocabulary_from_file(&v, test_context(), write_file("bad.txt", text, bytes), &options),
        "bad.txt'", line);
    assert_null(v);
}

static void test_bad_texts(void **state) {
    (void)state;
    const weft_vocabulary_options words = OPTIONS(WORDS);
    assert_no_text("the text is empty", "", 0, words);
    assert_no_text("the text is empty", "", 0, OPTIONS(.level = WEFT_TEXT_CHARACTERS));
    assert_no_text("the text is empty: there are only blanks", " \t ", 3, words);
    assert_no_text("line 2, byte 7 of the text (counted from 0): 0xFF is not valid UTF-8, which words need",
        "one\ntwo\xFF\n", 9, words);
    assert_no_text("line 1, byte 3 of the text (counted from 0): 0xE2", "abc\xE2\x82", 5, words);
    weft_vocabulary *v = of_text("one two\n", OPTIONS(WORDS));
    size_t count = 0;
    assert_weft_fails(WEFT_ERROR_FORMAT, weft_vocabulary_encode(v, "one\n two three", 14, NULL, 0, &count),
        "line 2, byte 9 of the text (counted from 0): 'three' is not in the vocabulary, which has no unknown "
        "token");
    weft_vocabulary_release(v);
    v = NULL;
    assert_weft_fails(
        WEFT_ERROR_FILE, weft_vocabulary_from_file(&v, test_context(), test_path("none"), NULL), "none");
    assert_weft_fails(WEFT_ERROR_ARGUMENT,
        weft_vocabulary_from_text(&v, test_context(), "a", 1, &(weft_vocabulary_options){.struct_size = 1}),
        "the options have struct_size 1");
    const weft_vocabulary_options one = OPTIONS(.maximum_size = 1);
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_vocabulary_from_text(&v, test_context(), "a", 1, &one),
        "a maximum_size of 1 leaves only the unknown token");
}

static void test_bad_files(void **state) {
    (void)state;
    static const struct {
        const char *json, *line;
    } bad[] = {
        {"", "not valid JSON"},
        {"{\"weft_vocabulary\": 1", "not valid JSON"},
        {"{\"weft_vocabulary\": 1, \"tokens\": [\"\xC3(\"]}", "not valid JSON at byte 35"},
        {"{\"weft_vocabulary\": 1, \"tokens\": [\"\\ud800\"]}", "not valid JSON at byte 35"},
        {"[1]", "is not a vocabulary: the number"},
        {"{}", "is not a vocabulary: the number \"weft_vocabulary\" is missing"},
        {"{\"weft_vocabulary\": 2}", "a vocabulary of version 2; this library reads version 1"},
        {"{\"weft_vocabulary\": 1, \"level\": \"lines\"}", "the level is neither"},
        {"{\"weft_vocabulary\": 1, \"level\": \"words\"}", "the list \"tokens\" is missing"},
        {"{\"weft_vocabulary\": 1, \"level\": \"words\", \"tokens\": []}", "is missing or empty"},
        {"{\"weft_vocabulary\": 1, \"level\": \"words\", \"tokens\": [\"a\", true]}", "token 1 is neither"},
        {"{\"weft_vocabulary\": 1, \"level\": \"words\", \"tokens\": [\"a\", 256]}", "token 1 is neither"},
        {"{\"weft_vocabulary\": 1, \"level\": \"words\", \"tokens\": [\"a\", 1.5]}", "token 1 is neither"},
        {"{\"weft_vocabulary\": 1, \"level\": \"words\", \"tokens\": [\"a\", \"\"]}", "token 1 is neither"},
        {"{\"weft_vocabulary\": 1, \"level\": \"words\", \"tokens\": 3}", "the list \"tokens\" is missing"},
        {"{\"weft_vocabulary\": 3, \"tokens\": [{}]}", "a vocabulary of version 3"},
        {"{\"weft_vocabulary\": 1, \"level\": \"words\", \"tokens\": [\"a\", \"b\", \"a\"]}",
            "tokens 0 and 2 are both 'a'"},
        {"{\"weft_vocabulary\": 1, \"level\": \"words\", \"unknown\": 0, \"tokens\": [\"a\"]}",
            "\"unknown\" must be -1"},
        {"{\"weft_vocabulary\": 1, \"level\": \"words\", \"unknown\": -1, \"tokens\": [\"<unk>\"]}",
            "\"unknown\" must be 0"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        weft_vocabulary *v = NULL;
        assert_weft_fails(WEFT_ERROR_FORMAT,
            weft_vocabulary_load(
                &v, test_context(), write_file("bad.json", bad[i].json, strlen(bad[i].json))),
            bad[i].line);
        assert_null(v);
    }
}

/* Whatever allocation fails, it is told and nothing is leaked. */
static void test_out_of_memory(void **state) {
    (void)state;
    const weft_vocabulary_options words = OPTIONS(WORDS, .minimum_count = 2);
    scratch_allocator allocator;
    scratch_allocator_init(&allocator, -1);
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .allocator = &allocator.hooks});
    const long before = atomic_load(&allocator.live);
    for (long fail = 0;; fail++) {
        weft_vocabulary *v = NULL;
        atomic_store(&allocator.fail_after, atomic_load(&allocator.made) + fail);
        const weft_status status = weft_vocabulary_from_text(&v, context, "a b a c\n", 8, &words);
        atomic_store(&allocator.fail_after, -1);
        weft_vocabulary_release(v);
        assert_int_equal(atomic_load(&allocator.live), before);
        if (status == WEFT_OK) break;
        assert_int_equal(status, WEFT_ERROR_MEMORY);
        assert_true(fail < 100);
    }
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_bytes_stay_bytes),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_rare_and_too_many),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_words_with_zeros),
        cmocka_unit_test(test_another_model),
        cmocka_unit_test(test_bad_texts),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_out_of_memory),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
