/* Weights that fit a graph in part: what may be missing, what is skipped, other shapes, changed prefixes, and what a
 * program is told about it. */
#include "base/platform.h"
#include "support/checks.h"
#include "support/fixture.h"
#include <stdio.h>
#include <weft/weft.h>

enum { PATH_ROOM = 4096 };

/* "body.weight" (2), "body.bias" (2), "fc.weight" (classes), each filled with its value. */
static weft_graph *make_graph(const char *prefix, int64_t classes, float value) {
    weft_graph *const graph = test_graph();
    char name[64];
    snprintf(name, sizeof name, "%sbody.weight", prefix);
    weft_parameter(graph, name, weft_fill(value), 2);
    snprintf(name, sizeof name, "%sbody.bias", prefix);
    weft_parameter(graph, name, weft_fill(value + 1), 2);
    snprintf(name, sizeof name, "%sfc.weight", prefix);
    weft_parameter(graph, name, weft_fill(value + 2), classes);
    assert_ok(weft_graph_status(graph));
    return graph;
}

static float first_of(weft_graph *graph, const char *name) {
    float values[8] = {0};
    weft_tensor *const tensor = weft_graph_find(graph, name);
    assert_non_null(tensor);
    assert_ok(weft_tensor_read(tensor, values, sizeof(float) * (size_t)weft_tensor_dimension(tensor, 0)));
    return values[0];
}

static void save(char path[PATH_ROOM], const char *prefix, int64_t classes, float value) {
    weft_graph *const graph = make_graph(prefix, classes, value);
    snprintf(path, PATH_ROOM, "%s", test_path("partial"));
    assert_ok(weft_weights_save(graph, path));
    weft_graph_release(graph);
}

typedef struct told {
    int counts[3];
    char names[256];
} told;

static void note(void *user, weft_weights_difference difference, const char *name) {
    told *const it = user;
    it->counts[difference]++;
    strcat(it->names, name);
    strcat(it->names, " ");
}

static void a_new_head_keeps_its_values(void **state) {
    (void)state;
    char path[PATH_ROOM];
    save(path, "", 4, 10);
    weft_graph *const graph = make_graph("", 3, 0);
    const char *const head[] = {"fc.*", NULL}, *const body[] = {"body.*", NULL};
    const weft_weights_options ways[] = {{WEFT_WEIGHTS_OPTIONS_INIT, .skip = head},
        {WEFT_WEIGHTS_OPTIONS_INIT, .only = body}, {WEFT_WEIGHTS_OPTIONS_INIT, .allow_other_shapes = true}};
    assert_fails(weft_weights_load(graph, path, NULL), WEFT_ERROR_SHAPE,
        "'fc.weight' is (4) in the file and (3) in the graph");
    assert_true(first_of(graph, "body.weight") == 0);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        weft_graph *const other = make_graph("", 3, 0);
        assert_ok(weft_weights_load(other, path, &ways[i]));
        assert_true(first_of(other, "body.weight") == 10 && first_of(other, "body.bias") == 11);
        assert_true(first_of(other, "fc.weight") == 2);
        weft_graph_release(other);
    }
    const char *const bias[] = {"*.bias", NULL};
    const weft_weights_options both = {WEFT_WEIGHTS_OPTIONS_INIT, .only = body, .skip = bias};
    assert_ok(weft_weights_load(graph, path, &both));
    assert_true(first_of(graph, "body.weight") == 10 && first_of(graph, "body.bias") == 1);
    weft_graph_release(graph);
}

static void prefixes_are_changed(void **state) {
    (void)state;
    char path[PATH_ROOM];
    save(path, "module.", 3, 10);
    weft_graph *const plain = make_graph("", 3, 0), *const inner = make_graph("net.", 3, 0);
    weft_weights_options options = {WEFT_WEIGHTS_OPTIONS_INIT, .prefix = "module."};
    assert_fails(weft_weights_load(plain, path, NULL), WEFT_ERROR_FORMAT,
        "'body.bias' of the graph is not in the file; tensor 'body.weight' of the graph");
    assert_non_null(strstr(weft_last_error(), "'module.fc.weight' of the file is not in the graph"));
    assert_ok(weft_weights_load(plain, path, &options));
    assert_true(first_of(plain, "fc.weight") == 12);
    options.new_prefix = "net.";
    assert_ok(weft_weights_load(inner, path, &options));
    assert_true(first_of(inner, "net.fc.weight") == 12);
    save(path, "", 3, 20);
    options.prefix = "";
    assert_ok(weft_weights_load(inner, path, &options));
    assert_true(first_of(inner, "net.fc.weight") == 22);
    weft_graph_release(plain);
    weft_graph_release(inner);

    weft_graph *const twice = test_graph();
    weft_parameter(twice, "a", weft_zeros(), 1);
    weft_parameter(twice, "b.a", weft_zeros(), 1);
    assert_ok(weft_weights_save(twice, path));
    const weft_weights_options clash = {WEFT_WEIGHTS_OPTIONS_INIT, .prefix = "b."};
    assert_fails(weft_weights_load(twice, path, &clash), WEFT_ERROR_ARGUMENT, "two tensors are called 'a'");
    weft_graph_release(twice);
}

static void allowed_differences_are_told(void **state) {
    (void)state;
    char path[PATH_ROOM];
    told it = {{0}, ""};
    save(path, "", 4, 10);
    weft_graph *const graph = test_graph();
    weft_parameter(graph, "body.weight", weft_zeros(), 2);
    weft_parameter(graph, "fc.weight", weft_zeros(), 3);
    weft_parameter(graph, "new", weft_zeros(), 1);
    weft_weights_options options = {WEFT_WEIGHTS_OPTIONS_INIT, .allow_missing = true, .allow_extra = true,
        .on_difference = note, .user = &it};
    assert_fails(weft_weights_load(graph, path, &options), WEFT_ERROR_SHAPE, "'fc.weight'");
    assert_string_equal(it.names, "");
    options.allow_other_shapes = true;
    assert_ok(weft_weights_load(graph, path, &options));
    assert_int_equal(it.counts[WEFT_WEIGHTS_MISSING], 1);
    assert_int_equal(it.counts[WEFT_WEIGHTS_UNEXPECTED], 1);
    assert_int_equal(it.counts[WEFT_WEIGHTS_OTHER_SHAPE], 1);
    assert_string_equal(it.names, "fc.weight new body.bias ");
    assert_true(first_of(graph, "body.weight") == 10 && first_of(graph, "fc.weight") == 0);
    weft_graph_release(graph);
}

/* PyTorch counts batches in each norm; a checkpoint has more than weights. */
static void what_is_no_weight_is_skipped(void **state) {
    (void)state;
    char path[PATH_ROOM];
    weft_graph *const saved = make_graph("", 3, 10), *const graph = make_graph("", 3, 0);
    const int64_t one = 1;
    weft_tensor *updates[WEFT_MAX_UPDATES];
    size_t count = 0;
    weft_state_shape(saved, "bn.num_batches_tracked", WEFT_I32, weft_zeros(), 1, &one);
    snprintf(path, sizeof path, "%s", test_path("torch"));
    assert_ok(weft_weights_save(saved, path));
    assert_ok(weft_weights_load(graph, path, NULL));
    assert_true(first_of(graph, "body.weight") == 10);
    const weft_optimizer adam = weft_adam(0.1f);
    assert_ok(weft_minimize(
        weft_mean(weft_graph_find(saved, "fc.weight")), &adam, updates, WEFT_MAX_UPDATES, &count));
    assert_ok(weft_checkpoint_save(saved, path, NULL, 0));
    assert_ok(weft_weights_load(graph, path, NULL));
    weft_state_shape(saved, "more", WEFT_F32, weft_zeros(), 1, &one);
    assert_ok(weft_checkpoint_save(saved, path, NULL, 0));
    assert_fails(weft_weights_load(graph, path, NULL), WEFT_ERROR_FORMAT, "'more' of the file");
    weft_graph_release(saved);
    weft_graph_release(graph);
}

static void names_that_could_not_be_read_are_not_saved(void **state) {
    (void)state;
    static const struct {
        const char *name, *part;
    } rows[] = {{"__metadata__", "a tensor cannot be called '__metadata__'"}, {"w\xff", "is not UTF-8"}};
    for (size_t i = 0; i < 2; i++) {
        weft_graph *const graph = test_graph();
        weft_parameter(graph, rows[i].name, weft_zeros(), 1);
        assert_fails(weft_weights_save(graph, test_path("unreadable")), WEFT_ERROR_ARGUMENT, rows[i].part);
        assert_false(wi_file_exists(test_path("unreadable")));
        weft_graph_release(graph);
    }
}

/* A name that nothing has, and a file of which nothing is taken, leave a network with its first weights: they are errors,
 * whatever differences are allowed. */
static void what_selects_nothing_is_refused(void **state) {
    (void)state;
    char path[PATH_ROOM];
    save(path, "", 4, 10);
    weft_graph *const graph = make_graph("", 4, 0), *const other = make_graph("net.", 4, 0);
    const char *const typo[] = {"bdoy.*", NULL}, *const both[] = {"fc.*", "bdoy.*", NULL};
    static const char names_typo[] = "'bdoy.*', but neither the graph nor the file has such a tensor";
    weft_weights_options options = {WEFT_WEIGHTS_OPTIONS_INIT, .allow_missing = true, .allow_extra = true};
    options.only = typo;
    assert_fails(weft_weights_load(graph, path, &options), WEFT_ERROR_ARGUMENT, names_typo);
    options.only = both;
    assert_fails(weft_weights_load(graph, path, &options), WEFT_ERROR_ARGUMENT, "the option only names");
    options.only = NULL, options.skip = typo;
    assert_fails(weft_weights_load(graph, path, &options), WEFT_ERROR_ARGUMENT, "the option skip names");
    options.skip = NULL, options.prefix = "module.";
    assert_fails(weft_weights_load(graph, path, &options), WEFT_ERROR_ARGUMENT,
        "no tensor of the file has a name that begins with 'module.'");
    options.prefix = NULL;
    assert_fails(weft_weights_load(other, path, &options), WEFT_ERROR_FORMAT,
        "the file has none of the tensors that the graph needs, such as 'net.body.");
    assert_float_equal(first_of(graph, "body.weight"), 0, 0);
    assert_ok(weft_weights_load(graph, path, &options));
    assert_float_equal(first_of(graph, "body.weight"), 10, 0);
    weft_graph_release(graph), weft_graph_release(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_selects_nothing_is_refused),
        cmocka_unit_test(a_new_head_keeps_its_values),
        cmocka_unit_test(prefixes_are_changed),
        cmocka_unit_test(allowed_differences_are_told),
        cmocka_unit_test(what_is_no_weight_is_skipped),
        cmocka_unit_test(names_that_could_not_be_read_are_not_saved),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
