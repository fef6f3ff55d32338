/* The page of a trainer: the confusion matrix and the worst examples of validation, the profile of a step and the network;
 * that weights get the same bits as without a page; resumed runs, bad paths, and disks that fill. */
#include "base/platform.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/page_steps.h"
#include "support/scratch.h"
#include "train/dataset.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

enum {
    EXAMPLES = 100,
    SIDE = 8,
    PIXELS = SIDE * SIDE,
    CLASSES = 4,
    EPOCHS = 3,
    STEPS = 7,
    WRONG = 10,
    WORST = 24
};

typedef struct training {
    weft_graph *graph;
    weft_dataset *data;
    weft_trainer *trainer;
    weft_epoch last;
} training;

/* Images of a bright quadrant, whose number is the label; every tenth label is wrong. */
static weft_dataset *make_images(weft_context *context) {
    static float images[EXAMPLES][PIXELS];
    static int32_t labels[EXAMPLES];
    weft_dataset *data = NULL;
    for (int i = 0; i < EXAMPLES; i++) {
        const int quadrant = i % CLASSES;
        for (int p = 0; p < PIXELS; p++) {
            const int y = p / SIDE, x = p % SIDE;
            const bool is_bright = y / 4 * 2 + x / 4 == quadrant;
            images[i][p] = (is_bright ? 0.8f : 0.1f) + 0.01f * (float)((i * 7 + p * 3) % 10);
        }
        labels[i] = i % WRONG == 3 ? (quadrant + 1) % CLASSES : quadrant;
    }
    const weft_column columns[] = {
        {.name = "image", .dtype = WEFT_F32, .rank = 3, .dims = {1, SIDE, SIDE}, .data = images},
        {.name = "label", .dtype = WEFT_I32, .data = labels}};
    assert_ok(weft_dataset_from_memory(&data, context, EXAMPLES, columns, 2));
    return data;
}

static bool note_epoch(void *user, const weft_epoch *state) {
    ((training *)user)->last = *state;
    return true;
}

static void begin(training *t, weft_context *context, weft_trainer_options options) {
    *t = (training){.data = make_images(context)};
    assert_ok(weft_graph_create(&t->graph, context));
    weft_tensor *const image = weft_input(t->graph, "image", WEFT_F32, 1, SIDE, SIDE);
    weft_tensor *const label = weft_input(t->graph, "label", WEFT_I32);
    weft_tensor *const logits = weft_linear(
        weft_tanh(weft_linear(weft_flatten(image), 8, .name = "hidden")), CLASSES, .name = "head");
    options.struct_size = sizeof options;
    options.logits = logits;
    options.optimizer = weft_adam(0.02f);
    options.epochs = EPOCHS;
    options.batch = 16;
    options.on_epoch = note_epoch;
    options.user = t;
    assert_ok(weft_trainer_create(&t->trainer, weft_cross_entropy(logits, label), &options));
}

static void end(training *t) {
    weft_trainer_release(t->trainer);
    weft_dataset_release(t->data);
    weft_graph_release(t->graph);
}

/* A member of the page's data, up to the end of the page. */
static const char *member(const char *html, const char *name) {
    char text[64];
    snprintf(text, sizeof text, "\"%s\":", name);
    const char *const found = strstr(strstr(html, "id=\"data\">"), text);
    return found ? found + strlen(text) : NULL;
}

static char *read_page(const char *path) {
    char *html = NULL;
    size_t bytes = 0;
    assert_ok(wi_file_read(NULL, path, &html, &bytes));
    return html;
}

static size_t count_until(const char *text, const char *part, const char *end) {
    size_t count = 0;
    for (; (text = strstr(text, part)) != NULL && text < end; text += strlen(part)) count++;
    return count;
}

static float *run_divided(const char *path, size_t shards, char **html, double *accuracy) {
    training t;
    weft_dataset *const validation = make_images(test_context());
    float *const weights = malloc(PIXELS * 8 * sizeof *weights);
    begin(&t, test_context(),
        (weft_trainer_options){
            .validation = validation, .html = path, .command = "a <b> \xff", .gradient_shards = shards});
    assert_ok(weft_trainer_run(t.trainer, t.data));
    assert_ok(
        weft_tensor_read(weft_graph_find(t.graph, "hidden.weight"), weights, PIXELS * 8 * sizeof *weights));
    *accuracy = t.last.validation_accuracy;
    end(&t);
    weft_dataset_release(validation);
    if (path) *html = read_page(path);
    return weights;
}

static float *run(const char *path, char **html, double *accuracy) {
    return run_divided(path, 1, html, accuracy);
}

static void check_mistakes(const char *html, double accuracy) {
    const size_t wrong = (size_t)lround(EXAMPLES * (1.0 - accuracy));
    char text[64];
    snprintf(text, sizeof text, "[%zu,%d]", wrong, EXAMPLES);
    assert_ptr_equal(strstr(member(html, "rows"), text), member(html, "rows"));
    const char *at = member(html, "counts");
    unsigned right = 0, all = 0;
    for (int i = 0; i < CLASSES * CLASSES; i++) {
        at += strcspn(at, "0123456789");
        const unsigned count = (unsigned)strtoul(at, (char **)(uintptr_t)&at, 10);
        all += count;
        right += i % (CLASSES + 1) == 0 ? count : 0;
    }
    assert_int_equal(all, EXAMPLES);
    assert_int_equal(right, EXAMPLES - wrong);
    assert_true(wrong >= EXAMPLES / WRONG);
    const char *const examples = member(html, "examples"), *const next = strstr(examples, "\"pictures\"");
    assert_int_equal(count_until(examples, "\"png\":\"iVBOR", next), wrong < WORST ? wrong : WORST);
}

/* With gradient shards, too. */
static void a_page_shows_what_validation_got_wrong(void **state) {
    for (size_t shards = 1; shards <= 4; shards += 3) {
        char *html = NULL;
        double accuracy = 0.0, accuracy_without = 0.0;
        float *const with = run_divided(scratch_path(*state, "run.html"), shards, &html, &accuracy);
        float *const without = run_divided(NULL, shards, NULL, &accuracy_without);
        assert_memory_equal(with, without, PIXELS * 8 * sizeof *with);
        assert_true(accuracy == accuracy_without);
        check_mistakes(html, accuracy);
        free(with);
        free(without);
        wi_release(NULL, html);
    }
}

static void a_page_shows_network_profile_and_facts(void **state) {
    char *html = NULL;
    double accuracy;
    free(run(scratch_path(*state, "facts.html"), &html, &accuracy));
    static const char *const parts[] = {"[\"command\",\"a \\u003cb> \\ufffd\"]", "\"state\":\"ended\"",
        "\"parameters\":556", "[\"hidden/weight\",", "[\"head/bias\",", "\"profile\":{\"step\":3,",
        "[\"optimizer\",\"adam\"]"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(html, parts[i])) fail_msg("%s is missing", parts[i]);
    assert_string_equal(page_steps(html, "loss/validation"), "7,14,21");
    assert_true(count_until(strstr(html, "\"profile\""), "[\"", strstr(html, "\"nodes\"")) > 3);
    wi_release(NULL, html);
}

static void a_page_names_the_classes(void **state) {
    static const char *const names[CLASSES] = {"north", "east", "south", "<west>"};
    char path[4096];
    training t;
    snprintf(path, sizeof path, "%s", scratch_path(*state, "names.html"));
    weft_dataset *const validation = make_images(test_context());
    begin(&t, test_context(), (weft_trainer_options){.html = path, .validation = validation});
    assert_ok(wi_dataset_set_categories(t.data, 1, names, CLASSES));
    assert_ok(wi_dataset_set_categories(validation, 1, names, CLASSES));
    assert_ok(weft_trainer_run(t.trainer, t.data));
    end(&t);
    weft_dataset_release(validation);
    char *const html = read_page(path);
    const char *const found = member(html, "names"),
                      wanted[] = "[\"north\",\"east\",\"south\",\"\\u003cwest>\"]";
    assert_non_null(found);
    assert_int_equal(strncmp(found, wanted, strlen(wanted)), 0);
    wi_release(NULL, html);
}

/* Without validation nothing can be wrong, and a step callback runs its plan without a profile. */
static weft_status run_plan(void *user, weft_step *step) {
    (void)user;
    return weft_plan_run(step->plan);
}

static void a_page_of_a_callback_has_less(void **state) {
    char path[4096];
    training t;
    snprintf(path, sizeof path, "%s", scratch_path(*state, "callback.html"));
    begin(&t, test_context(), (weft_trainer_options){.html = path, .step = run_plan});
    assert_ok(weft_trainer_run(t.trainer, t.data));
    end(&t);
    char *const html = read_page(path);
    assert_null(member(html, "profile"));
    assert_null(member(html, "confusion"));
    assert_non_null(member(html, "nodes"));
    wi_release(NULL, html);
}

static void a_resumed_run_goes_on(void **state) {
    char path[4096], folder[4096];
    snprintf(path, sizeof path, "%s", scratch_path(*state, "resumed.html"));
    snprintf(folder, sizeof folder, "%s", scratch_path(*state, "checkpoints"));
    for (int i = 0; i < 2; i++) {
        training t;
        begin(&t, test_context(),
            (weft_trainer_options){.html = path, .checkpoint = folder, .log_steps = true});
        if (i == 1) assert_ok(weft_trainer_resume(t.trainer, folder, NULL));
        if (i == 0) assert_ok(weft_trainer_stop(t.trainer)); /* after the first step */
        assert_ok(weft_trainer_run(t.trainer, t.data));
        end(&t);
    }
    char *const html = read_page(path);
    assert_string_equal(
        page_steps(html, "loss/step"), "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21");
    assert_string_equal(page_steps(html, "loss/training"), "7,14,21");
    wi_release(NULL, html);
}

static void a_bad_path_is_an_error_at_the_start(void **state) {
    training t;
    begin(&t, test_context(), (weft_trainer_options){.html = *state});
    assert_fails(weft_trainer_run(t.trainer, t.data), WEFT_ERROR_FILE, *state);
    end(&t);
    begin(&t, test_context(), (weft_trainer_options){.html = "/nowhere/run.html"});
    assert_fails(weft_trainer_run(t.trainer, t.data), WEFT_ERROR_FILE, "/nowhere");
    end(&t);
}

/* The page does not fit, as on a full disk: the training ends well, and the log says so once. */
static void a_full_disk_does_not_end_the_training(void **state) {
    scratch_log log = {.text = ""};
    char path[4096];
    training t;
    struct rlimit any;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &any), 0); /* first, as Windows skips the test here */
    weft_context *const context = scratch_context(*state, &log);
    snprintf(path, sizeof path, "%s", scratch_path(*state, "full.html"));
    begin(&t, context, (weft_trainer_options){.html = path});
    assert_ok(wi_file_write_atomic(path, "old", 3));
    assert_ok(weft_trainer_run(t.trainer, t.data)); /* compiles kernels, whose files are larger */
    char *const whole = read_page(path);
    const struct rlimit small = {1000, any.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_ok(weft_trainer_run(t.trainer, t.data));
    end(&t);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &any), 0);
    assert_int_equal(log.warnings, 1);
    assert_non_null(strstr(log.text, "the training goes on"));
    assert_non_null(strstr(log.text, "full.html"));
    char *const left = read_page(path);
    assert_string_equal(left, whole);
    assert_int_equal(scratch_count(*state, ".tmp", NULL), 0);
    wi_release(NULL, whole);
    wi_release(NULL, left);
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(a_page_shows_what_validation_got_wrong),
        SCRATCH_TEST(a_page_shows_network_profile_and_facts),
        SCRATCH_TEST(a_page_names_the_classes),
        SCRATCH_TEST(a_page_of_a_callback_has_less),
        SCRATCH_TEST(a_resumed_run_goes_on),
        SCRATCH_TEST(a_bad_path_is_an_error_at_the_start),
        SCRATCH_TEST(a_full_disk_does_not_end_the_training),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
