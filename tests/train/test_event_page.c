/* The HTML page of a run: that its data can be read and are complete, in bounded memory, that no text becomes markup, that
 * a run goes on in its page, and what a bad path does. `test_event_page FILE` writes the page of a run that never
 * happened. */
#include "base/json.h"
#include "base/packed_text.h"
#include "base/platform.h"
#include "base/utf8.h"
#include "support/checks.h"
#include "support/made_up_run.h"
#include "support/page_steps.h"
#include "support/scratch.h"
#include "train/page/page_file.h"
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEPS = MADE_UP_EPOCHS * MADE_UP_STEPS, MOST_BYTES = 2000000 };

static wi_event_sink *open_page(const char *path, size_t first_step) {
    static const weft_hyperparameter facts[] = {
        {.name = "command", .text = "train_cifar --data '<cifar>' --html run.html"},
        {.name = "Weft", .text = "0.1.0"}, {.name = "device", .text = "made up"}};
    const wi_event_output output = {.path = path, .first_step = first_step, .facts = facts, .fact_count = 3};
    wi_event_sink *sink = NULL;
    assert_ok(wi_event_page_open(&sink, &output));
    return sink;
}

static char *read_page(const char *path, size_t *bytes) {
    char *html = NULL;
    assert_ok(wi_file_read(NULL, path, &html, bytes));
    return html;
}

/* The data of a page, which are valid JSON. They end the string html. */
static char *find_data(char *html) {
    char *const mark = strstr(html, "id=\"data\">");
    assert_non_null(mark);
    char *const data = mark + strlen("id=\"data\">"), *const end = strstr(data, "</script>");
    size_t at = 0;
    assert_non_null(end);
    *end = '\0';
    assert_true(wi_json_check(data, strlen(data), &at));
    return data;
}

static size_t count_text(const char *text, const char *part) {
    size_t count = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part)) count++;
    return count;
}

static void send_value(wi_event_sink *sink, const char *tag, size_t step, double value) {
    const weft_event_value values = {tag, value};
    wi_event event = {.kind = WI_EVENT_SCALARS, .tag = "", .step = step};
    event.of.scalars.values = &values;
    event.of.scalars.count = 1;
    assert_ok(sink->write(sink, &event));
}

/* The sink does not look into the PNG file. */
static weft_status send_bytes(wi_event_sink *sink, const char *tag, size_t step, size_t bytes) {
    unsigned char *const data = calloc(bytes, 1);
    wi_event event = {.kind = WI_EVENT_IMAGE, .tag = tag, .step = step};
    event.of.image = (wi_event_image){data, bytes};
    const weft_status status = sink->write(sink, &event);
    free(data);
    return status;
}

/* ---- a whole run ---- */

static void test_page_is_complete(void **state) {
    char path[4096];
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s", scratch_path(*state, "run.html"));
    wi_event_sink *const sink = open_page(path, 0);
    made_up_run_steps(sink, 0, STEPS);
    made_up_run_rest(sink);
    assert_ok(sink->flush(sink));
    char *html = read_page(path, &bytes);
    assert_non_null(strstr(html, "\"state\":\"running\""));
    wi_release(NULL, html);
    sink->close(sink);
    html = read_page(path, &bytes);
    print_message("a page of %d epochs has %zu bytes\n", MADE_UP_EPOCHS, bytes);
    assert_true(bytes < MOST_BYTES);
    const char *const data = find_data(html);
    static const char *const parts[] = {"\"state\":\"ended\"", "7.654321", "\"bad\":[1,77]", "[78000,",
        "\"run/device_memory\"", "samples/colours", "iVBORw0KGgo", "\"left\":[31,", "layer1/block1/linear1",
        "\"parameters\":592", "\\u003c/script>", "\\u003ccifar>", "\\u0001", "\"pairs\"", "\"counts\":[["};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(data, parts[i]) != (strcmp(parts[i], "\"pairs\"") == 0)) fail_msg("%s", parts[i]);
    assert_null(strchr(data, '<'));
    wi_release(NULL, html);
}

/* The page loads nothing, and its own texts are all the markup that it has. */
static void test_page_loads_nothing(void **state) {
    (void)state;
    char *text = NULL;
    assert_ok(wi_packed_text_unpack(&text, &wi_page_template, NULL, "the template"));
    assert_int_equal(strlen(text), wi_page_template.bytes);
    assert_null(strstr(text, "://"));
    assert_null(strstr(text, "innerHTML"));
    assert_null(strstr(text, "/*"));
    assert_int_equal(count_text(text, "<script"), 2);
    assert_non_null(strstr(text, "default-src 'none'"));
    wi_release(NULL, text);
}

#ifdef _WIN32 /* where names of files have neither < nor > */
#define FILE_NAME "img src=x&.html"
#define TITLE     "img src=x&#38;.html"
#else
#define FILE_NAME "<img src=x onerror=alert(1)>&\351.html" /* 351: not UTF-8 */
#define TITLE     "&#60;img src=x onerror=alert(1)&#62;&#38;\357\277\275.html"
#endif

static void test_names_are_escaped(void **state) {
    char path[4096];
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s", scratch_path(*state, FILE_NAME));
    wi_event_sink *const sink = open_page(path, 0);
    send_value(sink, "</noscript><script>alert(2)</script>/training", 1, 1.5);
    sink->close(sink);
    char *const html = read_page(path, &bytes);
    assert_int_equal(count_text(html, "<script"), 2);
    assert_int_equal(count_text(html, "</noscript>"), 1);
    assert_int_equal(count_text(html, "<img"), 0);
    assert_true(wi_utf8_is_text(html, bytes));
    assert_non_null(strstr(html, "<title>" TITLE "</title>"));
    assert_non_null(strstr(html, "&#60;script&#62;alert(2)"));
    wi_release(NULL, html);
}

/* ---- bounded memory ---- */

static void test_many_curves_and_pictures(void **state) {
    char path[4096], tag[64];
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s", scratch_path(*state, "many.html"));
    wi_event_sink *const sink = open_page(path, 0);
    for (size_t i = 0; i < 300; i++) {
        snprintf(tag, sizeof tag, "curve %zu", i);
        for (size_t step = 0; step < 400; step++) send_value(sink, tag, step, (double)(step % 7));
    }
    for (size_t i = 0; i < 60; i++) {
        snprintf(tag, sizeof tag, "picture %zu", i % 20);
        assert_ok(send_bytes(sink, tag, i, 10000 + 450 * i));
    }
    assert_ok(send_bytes(sink, "picture 0", 60, 37000));
    assert_fails(send_bytes(sink, "picture 0", 61, 38000), WEFT_ERROR_UNSUPPORTED, "picture 0");
    sink->close(sink);
    char *const html = read_page(path, &bytes);
    print_message("a page of 256 curves and 12 tags of pictures has %zu bytes\n", bytes);
    assert_true(bytes < MOST_BYTES);
    assert_non_null(strstr(find_data(html), "\"curves_left_out\":1"));
    wi_release(NULL, html);
}

/* Of more classes than a matrix shows, the page lists the pairs that are confused most, the largest count first. */
static void test_many_classes(void **state) {
    enum { CLASSES = 65, CONFUSED = 50, LISTED = 40 };
    static uint32_t counts[CLASSES * CLASSES];
    const wi_event_mistake worst = {.label = 2, .predicted = 1, .loss = (double)INFINITY, .probability = 0.5};
    char path[4096], text[32];
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s", scratch_path(*state, "classes.html"));
    wi_event_sink *const sink = open_page(path, 0);
    wi_event event = {.kind = WI_EVENT_MISTAKES, .tag = "", .step = 3};
    event.of.mistakes = (wi_event_mistakes){
        .classes = CLASSES, .rows = 9000, .wrong = 1325, .counts = counts, .worst = &worst, .count = 1};
    for (uint32_t i = 0; i < CLASSES; i++) counts[i * (CLASSES + 1)] = 100;
    for (uint32_t i = 1; i <= CONFUSED; i++) counts[i * CLASSES] = i % 2 ? i : CONFUSED + 2 - i;
    assert_ok(sink->write(sink, &event));
    sink->close(sink);
    char *const html = read_page(path, &bytes);
    const char *const data = find_data(html), *const pairs = strstr(data, "\"pairs\":[");
    assert_non_null(pairs);
    assert_null(strstr(data, "\"counts\""));
    const char *at = pairs + strlen("\"pairs\":[") - 1;
    uint32_t before = UINT32_MAX, listed = 0;
    for (unsigned label, predicted, count; sscanf(++at, "[%u,%u,%u]", &label, &predicted, &count) == 3;
         listed++) {
        assert_true(predicted == 0 && count <= before && counts[label * CLASSES] == count);
        before = count;
        at = strchr(at, ']') + 1;
    }
    assert_int_equal(listed, LISTED);
    snprintf(text, sizeof text, "[%d,0,%d]", CONFUSED, 2);
    assert_null(strstr(pairs, text));
    assert_non_null(strstr(data, "\"loss\":null"));
    wi_release(NULL, html);
}

/* Of many texts the page keeps the latest. */
static void test_many_texts(void **state) {
    enum { TEXTS = 45 };
    char path[4096], text[32];
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s", scratch_path(*state, "texts.html"));
    wi_event_sink *const sink = open_page(path, 0);
    for (size_t i = 0; i < TEXTS; i++) {
        wi_event event = {.kind = WI_EVENT_TEXT, .tag = "sample", .step = i + 1};
        snprintf(text, sizeof text, "text number %zu.", i);
        event.of.text = text;
        assert_ok(sink->write(sink, &event));
    }
    sink->close(sink);
    char *const html = read_page(path, &bytes);
    const char *const data = find_data(html);
    for (int i = 0; i < TEXTS; i++) {
        snprintf(text, sizeof text, "text number %d.", i);
        assert_int_equal(strstr(data, text) != NULL, i >= TEXTS - 40);
    }
    wi_release(NULL, html);
}

/* ---- runs that go on ---- */

/* Whether no step comes twice, or after a later one. */
static bool is_increasing(const char *steps) {
    size_t before = 0, count = 0;
    for (char *at = (char *)(uintptr_t)steps; *at; at += *at == ',', count++) {
        const size_t step = strtoul(at, &at, 10);
        if (step <= before) return false;
        before = step;
    }
    return count > 100 && before == 1170;
}

static void test_run_goes_on(void **state) {
    char path[4096], whole_path[4096];
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s", scratch_path(*state, "resumed.html"));
    snprintf(whole_path, sizeof whole_path, "%s", scratch_path(*state, "whole.html"));
    wi_event_sink *sink = open_page(path, 0);
    made_up_run_rest(sink);
    made_up_run_steps(sink, 0, 900); /* beyond the checkpoint of step 780 */
    sink->close(sink);
    sink = open_page(path, 781);
    made_up_run_steps(sink, 780, 1170);
    sink->close(sink);
    sink = open_page(whole_path, 0);
    made_up_run_steps(sink, 0, 1170);
    sink->close(sink);
    char *const resumed = read_page(path, &bytes), *const whole = read_page(whole_path, &bytes);
    static const char *const tags[] = {"loss/validation", "run/epoch", "loss/step"};
    for (size_t i = 0; i < 3; i++) {
        char steps[16384];
        snprintf(steps, sizeof steps, "%s", page_steps(resumed, tags[i]));
        if (i < 2) assert_string_equal(steps, "390,780,1170");
        if (i < 2) assert_string_equal(steps, page_steps(whole, tags[i]));
        if (i == 2) assert_true(is_increasing(steps));
    }
    const char *const data = find_data(resumed);
    assert_non_null(strstr(data, "samples/digits\",\"shots\":[{\"step\":390,\"png\":\"iVBOR"));
    assert_null(strstr(data, "\"step\":4290")); /* a picture from after the checkpoint */
    wi_release(NULL, resumed);
    wi_release(NULL, whole);
}

/* Restores from a page with one wrong byte, and from a page that ends too early. */
static void test_damaged_pages(void **state) {
    char path[4096], damaged_path[4096];
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s", scratch_path(*state, "good.html"));
    snprintf(damaged_path, sizeof damaged_path, "%s", scratch_path(*state, "damaged.html"));
    wi_event_sink *sink = open_page(path, 0);
    made_up_run_steps(sink, 0, 20);
    made_up_run_rest(sink);
    sink->close(sink);
    char *const html = read_page(path, &bytes);
    const size_t from = (size_t)(strstr(html, "\"curves\"") - html);
    for (size_t i = 0; i < 100; i++) {
        const size_t at = from + (i * 7919) % (i % 2 ? bytes - from : 3000);
        const char kept = html[at];
        html[at] = "\"{[0,]}x"[i % 8];
        assert_ok(wi_file_write_atomic(damaged_path, html, i % 5 ? bytes : at));
        html[at] = kept;
        sink = open_page(damaged_path, 15);
        sink->close(sink);
        size_t after = 0;
        char *const made = read_page(damaged_path, &after);
        (void)find_data(made);
        wi_release(NULL, made);
    }
    wi_release(NULL, html);
}

/* A picture that is no base64 would be markup of the new page. */
static void test_foreign_picture(void **state) {
    static const char old[] =
        "id=\"data\">{\"pictures\":[{\"tag\":\"a\",\"shots\":[{\"step\":1,\"png\":\"\\u003c/script>\"}]}],"
        "\"curves\":[7,{\"tag\":3,\"points\":{}},{\"tag\":\"b\",\"points\":[[-1,1e99],[null],9,[[]],{}]}]}"
        "</script>";
    char path[4096];
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s", scratch_path(*state, "foreign.html"));
    assert_ok(wi_file_write_atomic(path, old, sizeof old - 1));
    wi_event_sink *const sink = open_page(path, 9);
    sink->close(sink);
    char *const html = read_page(path, &bytes);
    assert_int_equal(count_text(html, "</script>"), 2);
    wi_release(NULL, html);
}

/* ---- what can go wrong ---- */

static void test_bad_paths(void **state) {
    wi_event_sink *sink = NULL;
    wi_event_output output = {.path = *state};
    assert_fails(wi_event_page_open(&sink, &output), WEFT_ERROR_FILE, *state);
    output.path = scratch_path(*state, "missing/run.html");
    assert_fails(wi_event_page_open(&sink, &output), WEFT_ERROR_FILE, "missing");
    assert_null(sink);
}

/* The folder disappears while the page is written: an error, and later the page is written again. */
static void test_folder_disappears(void **state) {
    char folder[4096], path[4200];
    snprintf(folder, sizeof folder, "%s", scratch_path(*state, "gone"));
    snprintf(path, sizeof path, "%s/run.html", folder);
    assert_ok(wi_directory_create(folder, 0777));
    wi_event_sink *const sink = open_page(path, 0);
    made_up_run_steps(sink, 0, 5);
    assert_int_equal(rmdir(folder), 0);
    assert_fails(sink->flush(sink), WEFT_ERROR_FILE, "gone");
    made_up_run_steps(sink, 5, 9);
    assert_ok(wi_directory_create(folder, 0777));
    sink->close(sink);
    assert_true(wi_file_exists(path));
}

static void test_no_memory(void **state) {
    char path[4096];
    snprintf(path, sizeof path, "%s", scratch_path(*state, "scarce.html"));
    for (long fail_after = 0; fail_after < 400; fail_after += 1 + fail_after / 8) {
        scratch_allocator allocator;
        wi_event_sink *sink = NULL;
        scratch_allocator_init(&allocator, fail_after);
        const wi_event_output output = {.allocator = &allocator.hooks, .path = path, .first_step = 100};
        if (wi_event_page_open(&sink, &output) == WEFT_OK) {
            for (size_t step = 1; step <= 40; step++) {
                const weft_event_value value = {step % 2 ? "a" : "b", 1.0};
                wi_event event = {.kind = WI_EVENT_SCALARS, .tag = "", .step = step};
                event.of.scalars.values = &value;
                event.of.scalars.count = 1;
                (void)sink->write(sink, &event);
            }
            (void)sink->flush(sink);
            sink->close(sink);
        }
        assert_int_equal(allocator.live, 0);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(test_page_is_complete),
        cmocka_unit_test(test_page_loads_nothing),
        SCRATCH_TEST(test_names_are_escaped),
        SCRATCH_TEST(test_many_curves_and_pictures),
        SCRATCH_TEST(test_many_classes),
        SCRATCH_TEST(test_many_texts),
        SCRATCH_TEST(test_run_goes_on),
        SCRATCH_TEST(test_damaged_pages),
        SCRATCH_TEST(test_foreign_picture),
        SCRATCH_TEST(test_bad_paths),
        SCRATCH_TEST(test_folder_disappears),
        SCRATCH_TEST(test_no_memory),
    };
    if (argc != 2) return cmocka_run_group_tests(tests, NULL, NULL);
    wi_event_sink *const sink = open_page(argv[1], 0);
    made_up_run_steps(sink, 0, STEPS);
    made_up_run_rest(sink);
    sink->close(sink);
    return 0;
}
