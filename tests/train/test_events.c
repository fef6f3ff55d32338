/* Event files of a loop of the program's own: records, checksums and messages; bad arguments, folders and disks. */
#include "base/crc32c.h"
#include "base/platform.h"
#include "support/checks.h"
#include "support/event_records.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include "support/two_classes.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH_ROOM = 4096, FILE_NAME = 64 };
enum { TAG = 1, SIMPLE = 2, IMAGE = 4, HISTOGRAM = 5, TENSOR = 8, METADATA = 9 };

/* The only event file of the folder. */
static event_records read_only_file(const char *folder) {
    char path[PATH_ROOM];
    assert_int_equal(scratch_count(folder, "events.out.tfevents.", path), 1);
    return event_records_read(path);
}

static weft_events *open_events(const char *folder, size_t first_step) {
    weft_events *events = NULL;
    const weft_events_options options = {
        WEFT_EVENTS_OPTIONS_INIT, .folder = folder, .first_step = first_step};
    assert_ok(weft_events_create(&events, test_context(), &options));
    return events;
}

static proto_bytes value_of(const event_records *file, const char *tag, size_t index, size_t wanted_step) {
    proto_bytes value = {0};
    size_t step = 0;
    if (!event_value(file, tag, index, &value, &step)) fail_msg("no value '%s' number %zu", tag, index);
    assert_int_equal(step, wanted_step);
    return value;
}

static void checksums_are_those_of_the_rfc(void **state) {
    unsigned char bytes[32] = {0};
    (void)state;
    assert_int_equal(wi_crc32c("123456789", 9), 0xe3069283);
    assert_int_equal(wi_crc32c(bytes, sizeof bytes), 0x8a9136aa);
    for (unsigned char i = 0; i < 32; i++) bytes[i] = i;
    assert_int_equal(wi_crc32c(bytes, sizeof bytes), 0x46dd794e);
}

static void a_file_begins_with_its_version(void **state) {
    const char *const folder = scratch_path(*state, "version");
    weft_events_release(open_events(folder, 0));
    event_records file = read_only_file(folder);
    assert_int_equal(file.count, 1);
    assert_true(proto_is(file.records[0], 3, 0, "brain.Event:2"));
    assert_true(proto_double(file.records[0], 1) > 1.7e9); /* a time of day after 2023 */
    event_records_free(&file);
}

/* A run that continues says so after the version, and from which step on. */
static void a_continued_file_says_from_which_step_on(void **state) {
    const char *const folder = scratch_path(*state, "continued");
    weft_events_release(open_events(folder, 17));
    event_records file = read_only_file(folder);
    assert_int_equal(file.count, 2);
    assert_int_equal(event_step(file.records[1]), 17);
    assert_int_equal(proto_number(proto_message(file.records[1], 7, 0), 1), 1);
    event_records_free(&file);
}

static void scalars_have_tags_steps_and_values(void **state) {
    const char *const folder = scratch_path(*state, "scalars");
    weft_events *const events = open_events(folder, 0);
    for (size_t step = 1; step <= 300; step++)
        assert_ok(weft_events_scalar(events, "loss/training", step, 1.0 / (double)step));
    const weft_event_value values[] = {{"a", NAN}, {"<b>\n", -INFINITY}, {"bad \xff\xc3 end", 3}};
    assert_ok(weft_events_scalars(events, (size_t)1 << 40, values, 3));
    assert_ok(weft_events_flush(events)); /* the file is complete before the release */
    event_records file = read_only_file(folder);
    assert_int_equal(event_count(&file, "loss/training"), 300);
    for (size_t i = 0; i < 300; i++)
        assert_true(proto_float(value_of(&file, "loss/training", i, i + 1), SIMPLE) == 1.0f / (float)(i + 1));
    assert_true(isnan(proto_float(value_of(&file, "a", 0, (size_t)1 << 40), SIMPLE)));
    assert_true(isinf(proto_float(value_of(&file, "<b>\n", 0, (size_t)1 << 40), SIMPLE)));
    value_of(&file, "bad \xef\xbf\xbd\xef\xbf\xbd end", 0, (size_t)1 << 40);
    event_records_free(&file);
    weft_events_release(events);
}

static double packed_double(proto_bytes list, size_t index) {
    double value;
    assert_true(8 * (index + 1) <= list.size);
    memcpy(&value, list.data + 8 * index, sizeof value);
    return value;
}

static void histograms_count_the_finite_values(void **state) {
    const char *const folder = scratch_path(*state, "histograms");
    weft_events *const events = open_events(folder, 0);
    const float values[] = {-1, NAN, 3, 0.5f, INFINITY, 3, 2.99f}, same[] = {2, 2}, none[] = {NAN};
    assert_ok(weft_events_histogram(events, "some", 1, values, 7));
    assert_ok(weft_events_histogram(events, "same", 1, same, 2));
    assert_ok(weft_events_histogram(events, "none", 1, none, 1));
    assert_ok(weft_events_histogram(events, "none", 1, NULL, 0));
    weft_events_release(events);
    event_records file = read_only_file(folder);
    const proto_bytes some = proto_message(value_of(&file, "some", 0, 1), HISTOGRAM, 0);
    assert_true(proto_double(some, 1) == -1 && proto_double(some, 2) == 3 && proto_double(some, 3) == 5);
    assert_true(fabs(proto_double(some, 4) - (-1 + 3 + 0.5 + 3 + (double)2.99f)) < 1e-9);
    const proto_bytes limits = proto_message(some, 6, 0), counts = proto_message(some, 7, 0);
    assert_int_equal(limits.size, counts.size);
    double sum = 0;
    for (size_t i = 0; i < counts.size / 8; i++) {
        sum += packed_double(counts, i);
        if (i) assert_true(packed_double(limits, i) > packed_double(limits, i - 1));
    }
    assert_true(sum == 5 && packed_double(counts, 0) == 1 && packed_double(counts, counts.size / 8 - 1) == 3);
    assert_int_equal(proto_message(proto_message(value_of(&file, "same", 0, 1), HISTOGRAM, 0), 7, 0).size, 8);
    assert_int_equal(event_count(&file, "none"), 0);
    event_records_free(&file);
}

static void images_are_png_with_their_size(void **state) {
    const char *const folder = scratch_path(*state, "images");
    weft_events *const events = open_events(folder, 0);
    unsigned char pixels[3 * 4 * 5 * 3];
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (unsigned char)i;
    const weft_png_options options = {WEFT_PNG_OPTIONS_INIT, .dtype = WEFT_U8, .images = 3, .channels = 3,
        .height = 4, .width = 5, .columns = 3, .gap = WEFT_ZERO};
    assert_ok(weft_events_images(events, "made", 2, pixels, &options));
    weft_png_options bad = options;
    bad.height = 0;
    assert_fails(weft_events_images(events, "bad", 2, pixels, &bad), WEFT_ERROR_SHAPE, "bad");
    weft_events_release(events);
    event_records file = read_only_file(folder);
    const proto_bytes image = proto_message(value_of(&file, "made", 0, 2), IMAGE, 0);
    assert_int_equal(proto_number(image, 1), 4);
    assert_int_equal(proto_number(image, 2), 15);
    assert_int_equal(proto_number(image, 3), 3);
    assert_memory_equal(proto_message(image, 4, 0).data, "\x89PNG\r\n\x1a\n", 8);
    assert_int_equal(event_count(&file, "bad"), 0);
    event_records_free(&file);
}

static void assert_plugin(proto_bytes value, const char *name) {
    assert_true(proto_is(proto_message(proto_message(value, METADATA, 0), 1, 0), 1, 0, name));
}

static float packed_float(proto_bytes list, size_t index) {
    float value;
    assert_true(4 * (index + 1) <= list.size);
    memcpy(&value, list.data + 4 * index, sizeof value);
    return value;
}

static void texts_and_curves_are_tensors_of_their_plugins(void **state) {
    const char *const folder = scratch_path(*state, "tensors");
    weft_events *const events = open_events(folder, 0);
    const float scores[] = {0, 0.25f, 0.5f, 1};
    const int32_t labels[] = {0, 1, 0, 1}, wrong[] = {0, 1, 2, 1};
    assert_ok(weft_events_text(events, "note", 3, "<script>\xfe"));
    assert_ok(weft_events_pr_curve(events, "curve", 4, scores, labels, 4));
    assert_fails(
        weft_events_pr_curve(events, "curve", 4, scores, wrong, 4), WEFT_ERROR_ARGUMENT, "example 2");
    weft_events_release(events);
    event_records file = read_only_file(folder);
    assert_plugin(value_of(&file, "note", 0, 3), "text");
    assert_true(
        proto_is(proto_message(value_of(&file, "note", 0, 3), TENSOR, 0), 8, 0, "<script>\xef\xbf\xbd"));
    const proto_bytes curve = value_of(&file, "curve", 0, 4);
    assert_plugin(curve, "pr_curves");
    const proto_bytes numbers = proto_message(proto_message(curve, TENSOR, 0), 5, 0);
    const size_t columns = numbers.size / 4 / 6, middle = 63; /* the threshold 0.5 of 127 */
    const float wanted[6] = {1, 1, 1, 1, 0.5f, 0.5f}, first[6] = {2, 2, 0, 0, 0.5f, 1};
    assert_int_equal(columns, 127);
    for (size_t row = 0; row < 6; row++) {
        assert_true(packed_float(numbers, row * columns + middle) == wanted[row]);
        assert_true(packed_float(numbers, row * columns) == first[row]);
    }
    event_records_free(&file);
}

/* The bytes of plugin hparams: the fields of its message. */
static proto_bytes settings_of(const event_records *file, const char *tag, uint32_t field) {
    const proto_bytes value = value_of(file, tag, 0, 0);
    assert_plugin(value, "hparams");
    return proto_message(
        proto_message(proto_message(proto_message(value, METADATA, 0), 1, 0), 2, 0), field, 0);
}

static void settings_begin_and_end_a_session(void **state) {
    const char *const folder = scratch_path(*state, "settings");
    weft_events *const events = open_events(folder, 0);
    const weft_hyperparameter settings[] = {{"rate", .number = 0.5}, {"kind", .text = "adam"}};
    const char *const metrics[] = {"loss/training"};
    assert_ok(weft_events_hyperparameters(events, settings, 2, metrics, 1));
    weft_events_release(events);
    event_records file = read_only_file(folder);
    const proto_bytes columns = settings_of(&file, "_hparams_/experiment", 2);
    assert_true(proto_is(proto_message(columns, 4, 1), 1, 0, "kind"));
    assert_true(proto_is(proto_message(proto_message(columns, 5, 0), 1, 0), 2, 0, "loss/training"));
    const proto_bytes session = settings_of(&file, "_hparams_/session_start_info", 3);
    assert_true(proto_double(proto_message(proto_message(session, 1, 0), 2, 0), 2) == 0.5);
    assert_true(proto_is(proto_message(proto_message(session, 1, 1), 2, 0), 3, 0, "adam"));
    assert_int_equal(proto_number(settings_of(&file, "_hparams_/session_end_info", 4), 1), 1);
    event_records_free(&file);
}

static void networks_are_nodes_with_inputs_and_shapes(void **state) {
    char tag[8192] = "";
    const char *const folder = scratch_path(*state, "graph");
    weft_events *const events = open_events(folder, 0);
    const network net = make_network(test_context());
    assert_ok(weft_events_graph(events, WEFT_TENSORS(net.loss)));
    assert_fails(weft_events_graph(events, WEFT_TENSORS(NULL)), WEFT_ERROR_ARGUMENT, "weft_events_graph");
    for (size_t i = 0; i < weft_graph_parameter_count(net.graph); i++)
        assert_ok(weft_events_tensor(events, NULL, 1, weft_graph_parameter(net.graph, i)));
    assert_fails(weft_events_tensor(events, NULL, 1, net.loss), WEFT_ERROR_DTYPE, "weft_events_tensor");
    weft_tensor *const half =
        weft_parameter_dtype(net.graph, "half", WEFT_F16, weft_fill(1.5f), 1, (const int64_t[]){3});
    assert_ok(weft_events_tensor(events, NULL, 1, half));
    memset(tag, 't', sizeof tag - 1);
    assert_fails(weft_events_tensor(events, tag, 1, half), WEFT_ERROR_ARGUMENT, "the tag has 8191 bytes");
    weft_events_release(events);
    event_records file = read_only_file(folder);
    const proto_bytes graph = proto_message(file.records[1], 4, 0);
    proto_field node;
    size_t inputs = 0;
    bool has_weight = false;
    for (size_t i = 0; proto_find(graph, 1, i, &node); i++) {
        proto_field input;
        for (size_t k = 0; proto_find(node.bytes, 3, k, &input); k++) inputs++;
        has_weight = has_weight || proto_is(node.bytes, 1, 0, "linear1/weight");
        assert_true(proto_message(node.bytes, 5, 1).size > 0);
    }
    assert_true(inputs > 5 && has_weight);
    assert_true(proto_double(proto_message(value_of(&file, "linear1/weight", 0, 1), HISTOGRAM, 0), 3) == 16);
    assert_true(proto_double(proto_message(value_of(&file, "half", 0, 1), HISTOGRAM, 0), 4) == 4.5);
    event_records_free(&file);
    weft_graph_release(net.graph);
}

static void bad_arguments_are_named(void **state) {
    weft_events *const events = open_events(NULL, 0), *other = NULL;
    (void)state;
    assert_fails(weft_events_create(NULL, test_context(), NULL), WEFT_ERROR_ARGUMENT, "weft_events_create");
    assert_fails(weft_events_create(&other, NULL, NULL), WEFT_ERROR_ARGUMENT, "weft_events_create");
    assert_fails(weft_events_scalar(NULL, "a", 1, 1), WEFT_ERROR_ARGUMENT, "events is NULL");
    assert_fails(weft_events_scalar(events, NULL, 1, 1), WEFT_ERROR_ARGUMENT, "the tag is NULL");
    assert_fails(weft_events_scalars(events, 1, NULL, 1), WEFT_ERROR_ARGUMENT, "an array is NULL");
    assert_fails(weft_events_text(events, "a", 1, NULL), WEFT_ERROR_ARGUMENT, "weft_events_text");
    assert_fails(
        weft_events_histogram(events, "a", 1, NULL, 1), WEFT_ERROR_ARGUMENT, "weft_events_histogram");
    assert_fails(weft_events_images(events, "a", 1, NULL, NULL), WEFT_ERROR_ARGUMENT, "weft_events_images");
    assert_fails(
        weft_events_pr_curve(events, "a", 1, NULL, NULL, 1), WEFT_ERROR_ARGUMENT, "weft_events_pr_curve");
    assert_fails(weft_events_tensor(events, "a", 1, NULL), WEFT_ERROR_ARGUMENT, "weft_events_tensor");
    assert_fails(weft_events_graph(events, NULL, 1), WEFT_ERROR_ARGUMENT, "weft_events_graph");
    assert_fails(weft_events_hyperparameters(events, NULL, 1, NULL, 0), WEFT_ERROR_ARGUMENT, "is NULL");
    assert_fails(weft_events_flush(NULL), WEFT_ERROR_ARGUMENT, "weft_events_flush");
    assert_ok(weft_events_scalar(events, "goes nowhere", 1, 1));
    weft_events_release(weft_events_retain(events));
    weft_events_release(events);
    weft_events_release(NULL);
    assert_null(weft_events_retain(NULL));
    assert_null(weft_trainer_events(NULL));
}

static void a_folder_that_cannot_be_written_is_named(void **state) {
    char file[PATH_ROOM], inside[PATH_ROOM + 8];
    weft_events *events = NULL;
    snprintf(file, sizeof file, "%s", scratch_path(*state, "file"));
    snprintf(inside, sizeof inside, "%s/run", file);
    assert_ok(wi_file_write_atomic(file, "x", 1));
    const char *const folders[] = {file, inside, ""}, *const named[] = {file, file, "''"};
    for (size_t i = 0; i < 3; i++) {
        const weft_events_options options = {WEFT_EVENTS_OPTIONS_INIT, .folder = folders[i]};
        assert_fails(weft_events_create(&events, test_context(), &options), WEFT_ERROR_FILE, named[i]);
        assert_null(events);
    }
}

/* Two runs in one folder at the same time have files of their own. */
static void runs_in_one_folder_have_their_own_files(void **state) {
    const char *const folder = scratch_path(*state, "shared");
    char path[PATH_ROOM];
    weft_events *const one = open_events(folder, 0), *const other = open_events(folder, 0);
    assert_ok(weft_events_scalar(one, "a", 1, 1));
    assert_ok(weft_events_scalar(other, "a", 1, 2));
    weft_events_release(one);
    weft_events_release(other);
    assert_int_equal(scratch_count(folder, "events.out.tfevents.", path), 2);
}

/* Files may have so many bytes; more is an error, as on a full disk. */
static void limit_files(rlim_t bytes) {
    const struct rlimit limit = {bytes, RLIM_INFINITY};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_full_disk_is_logged_once_and_leaves_whole_records(void **state) {
    char folder[PATH_ROOM];
    scratch_log log = {.text = ""};
    weft_context *const context = scratch_context(*state, &log);
    weft_events *events = NULL;
    snprintf(folder, sizeof folder, "%s", scratch_path(*state, "full"));
    const weft_events_options options = {WEFT_EVENTS_OPTIONS_INIT, .folder = folder};
    assert_ok(weft_events_create(&events, context, &options));
    signal(SIGXFSZ, SIG_IGN);
    assert_ok(weft_events_scalar(events, "before", 1, 1));
    assert_ok(weft_events_flush(events));
    limit_files(200);
    for (size_t i = 1; i <= 20; i++) assert_ok(weft_events_scalar(events, "during", i, 1));
    assert_fails(weft_events_flush(events), WEFT_ERROR_FILE, "events.out.tfevents.");
    for (size_t i = 1; i <= 20; i++) assert_ok(weft_events_scalar(events, "during", i, 1));
    assert_fails(weft_events_flush(events), WEFT_ERROR_FILE, "events.out.tfevents.");
    limit_files(RLIM_INFINITY);
    assert_ok(weft_events_scalar(events, "after", 2, 1));
    weft_events_release(events);
    assert_int_equal(log.warnings, 1);
    assert_non_null(strstr(log.text, "the training goes on"));
    event_records file = read_only_file(folder);
    assert_int_equal(event_count(&file, "before"), 1);
    assert_int_equal(event_count(&file, "during"), 0);
    assert_int_equal(event_count(&file, "after"), 1);
    event_records_free(&file);
    weft_context_release(context);
}

/* An event file that cannot begin is not left behind. */
static void a_full_disk_leaves_no_empty_file(void **state) {
    const char *const folder = scratch_path(*state, "empty");
    weft_events *events = NULL;
    const weft_events_options options = {WEFT_EVENTS_OPTIONS_INIT, .folder = folder};
    weft_context *const context = test_context();
    signal(SIGXFSZ, SIG_IGN);
    limit_files(8);
    const weft_status status = weft_events_create(&events, context, &options);
    limit_files(RLIM_INFINITY);
    assert_int_equal(status, WEFT_ERROR_FILE);
    assert_int_equal(scratch_count(folder, "", NULL), 0);
}

static void a_removed_file_is_noticed(void **state) {
    char path[PATH_ROOM];
    const char *const folder = scratch_path(*state, "removed");
    weft_events *const events = open_events(folder, 0);
    assert_ok(weft_events_flush(events));
    assert_int_equal(scratch_count(folder, "events.out.tfevents.", path), 1);
    if (remove(path) != 0 || wi_file_exists(path)) { /* Windows keeps an open file */
        weft_events_release(events);
        print_message("skipped: this system does not remove a file that is open\n");
        skip();
    }
    assert_ok(weft_events_scalar(events, "a", 1, 1));
    assert_fails(weft_events_flush(events), WEFT_ERROR_FILE, "was removed");
    weft_events_release(events);
}

static void use_all(weft_context *context, const char *folder, bool *done) {
    weft_events *events = NULL;
    const weft_events_options options = {WEFT_EVENTS_OPTIONS_INIT, .folder = folder, .first_step = 2};
    const weft_hyperparameter setting = {"kind", .text = "adam"};
    const float values[] = {0, 1};
    const int32_t labels[] = {0, 1};
    const char *const metric = "loss";
    const weft_png_options picture = {WEFT_PNG_OPTIONS_INIT, .height = 1, .width = 2};
    weft_status status = weft_events_create(&events, context, &options);
    if (!status) status = weft_events_scalar(events, "loss", 2, 1);
    if (!status) status = weft_events_text(events, "text", 2, "text");
    if (!status) status = weft_events_histogram(events, "values", 2, values, 2);
    if (!status) status = weft_events_images(events, "picture", 2, values, &picture);
    if (!status) status = weft_events_pr_curve(events, "curve", 2, values, labels, 2);
    if (!status) status = weft_events_hyperparameters(events, &setting, 1, &metric, 1);
    if (!status) status = weft_events_flush(events);
    if (status) assert_int_equal(status, WEFT_ERROR_MEMORY);
    *done = !status;
    weft_events_release(events);
}

/* Each allocation fails once, wherever it is: an error or a complete file, and nothing leaks. */
static void lack_of_memory_is_an_error(void **state) {
    scratch_allocator allocator;
    scratch_allocator_init(&allocator, -1);
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .allocator = &allocator.hooks});
    const char *const folder = scratch_path(*state, "memory");
    const long before = atomic_load(&allocator.live);
    bool done = false;
    size_t failed = 0;
    for (; !done; failed++) {
        atomic_store(&allocator.made, 0);
        atomic_store(&allocator.fail_after, (long)failed);
        use_all(context, folder, &done);
        assert_int_equal(atomic_load(&allocator.live), before);
    }
    assert_true(failed > 10);
    atomic_store(&allocator.fail_after, -1);
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksums_are_those_of_the_rfc),
        SCRATCH_TEST(a_file_begins_with_its_version),
        SCRATCH_TEST(a_continued_file_says_from_which_step_on),
        SCRATCH_TEST(scalars_have_tags_steps_and_values),
        SCRATCH_TEST(histograms_count_the_finite_values),
        SCRATCH_TEST(images_are_png_with_their_size),
        SCRATCH_TEST(texts_and_curves_are_tensors_of_their_plugins),
        SCRATCH_TEST(settings_begin_and_end_a_session),
        SCRATCH_TEST(networks_are_nodes_with_inputs_and_shapes),
        cmocka_unit_test(bad_arguments_are_named),
        SCRATCH_TEST(a_folder_that_cannot_be_written_is_named),
        SCRATCH_TEST(runs_in_one_folder_have_their_own_files),
        SCRATCH_TEST(a_full_disk_is_logged_once_and_leaves_whole_records),
        SCRATCH_TEST(a_full_disk_leaves_no_empty_file),
        SCRATCH_TEST(a_removed_file_is_noticed),
        SCRATCH_TEST(lack_of_memory_is_an_error),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
