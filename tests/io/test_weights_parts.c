/* Parts of a network in files: what is saved, under which names and in which scope it is loaded, states that no file has,
 * tensors of dtypes that are not known. */
#include "support/checks.h"
#include "support/fixture.h"
#include <stdio.h>

enum { PATH_ROOM = 4096 };

static const char *const adapters[] = {"*.lora_a", "*.lora_b", NULL}, *const nothing[] = {"other.*", NULL};

/* "body.w", "body.lora_a", "body.lora_b", "head.w", filled with value, value + 1, ... */
static weft_graph *make_graph(float value) {
    static const char *const names[] = {"body.w", "body.lora_a", "body.lora_b", "head.w"};
    weft_graph *const graph = test_graph();
    for (int i = 0; i < 4; i++) weft_parameter(graph, names[i], weft_fill(value + (float)i), 2);
    assert_ok(weft_graph_status(graph));
    return graph;
}

static float first_of(weft_graph *graph, const char *name) {
    float values[2] = {0};
    weft_tensor *const tensor = weft_graph_find(graph, name);
    assert_non_null(tensor);
    assert_ok(weft_tensor_read(tensor, values, sizeof values));
    return values[0];
}

static void adapters_are_saved_alone(void **state) {
    (void)state;
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s", test_path("adapters"));
    weft_graph *const trained = make_graph(10), *const other = make_graph(0);
    weft_weights_save_options options = {WEFT_WEIGHTS_SAVE_OPTIONS_INIT, .only = adapters};
    assert_ok(weft_weights_save_with(trained, path, &options));
    assert_fails(weft_weights_load(other, path, NULL), WEFT_ERROR_FORMAT,
        "'body.w' of the graph is not in the file; tensor 'head.w' of the graph is not in the file");
    const weft_weights_options load = {WEFT_WEIGHTS_OPTIONS_INIT, .only = adapters};
    assert_ok(weft_weights_load(other, path, &load));
    assert_true(first_of(other, "body.lora_a") == 11 && first_of(other, "body.lora_b") == 12);
    assert_true(first_of(other, "body.w") == 0 && first_of(other, "head.w") == 3);
    options = (weft_weights_save_options){WEFT_WEIGHTS_SAVE_OPTIONS_INIT, .skip = adapters, .prefix = "body.",
        .new_prefix = "net.", .dtype = WEFT_F16};
    assert_ok(weft_weights_save_with(trained, path, &options));
    const weft_weights_options renamed = {
        WEFT_WEIGHTS_OPTIONS_INIT, .skip = adapters, .prefix = "net.", .new_prefix = "body."};
    assert_ok(weft_weights_load(other, path, &renamed));
    assert_true(first_of(other, "body.w") == 10 && first_of(other, "head.w") == 13);
    options = (weft_weights_save_options){WEFT_WEIGHTS_SAVE_OPTIONS_INIT, .only = nothing};
    assert_fails(weft_weights_save_with(trained, path, &options), WEFT_ERROR_ARGUMENT,
        "the option only names 'other.*', but the graph has no such parameter or state");
    options.only = options.skip = adapters;
    assert_fails(weft_weights_save_with(trained, path, &options), WEFT_ERROR_ARGUMENT,
        "only and skip exclude every parameter and state (4) of the graph");
    options =
        (weft_weights_save_options){WEFT_WEIGHTS_SAVE_OPTIONS_INIT, .prefix = "head.", .new_prefix = "body."};
    assert_fails(
        weft_weights_save_with(trained, path, &options), WEFT_ERROR_STATE, "two tensors are called 'body.w'");
    assert_ok(weft_weights_load(other, path, &renamed)); /* what did not succeed left the file */
    weft_graph_release(trained);
    weft_graph_release(other);
}

/* The rest of the graph is neither missing nor touched. */
static void a_file_goes_into_a_scope(void **state) {
    (void)state;
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s", test_path("scoped"));
    weft_graph *const base = test_graph(), *const graph = make_graph(0);
    weft_parameter(base, "w", weft_fill(7), 2);
    weft_parameter(base, "lora_a", weft_fill(8), 2);
    assert_ok(weft_weights_save(base, path));
    weft_weights_options options = {WEFT_WEIGHTS_OPTIONS_INIT, .into = "body"};
    assert_fails(weft_weights_load(graph, path, &options), WEFT_ERROR_FORMAT,
        "tensor 'body.lora_b' of the graph is not in the file");
    options.allow_missing = true;
    assert_ok(weft_weights_load(graph, path, &options));
    assert_true(first_of(graph, "body.w") == 7 && first_of(graph, "body.lora_a") == 8);
    assert_true(first_of(graph, "body.lora_b") == 2 && first_of(graph, "head.w") == 3);
    options.into = "head";
    assert_fails(weft_weights_load(graph, path, &options), WEFT_ERROR_FORMAT, "'head.lora_a' of the file");
    options.skip = (const char *const[]){"*.lora_a", NULL};
    assert_ok(weft_weights_load(graph, path, &options));
    assert_true(first_of(graph, "head.w") == 7);
    options.into = "bod";
    assert_fails(weft_weights_load(graph, path, &options), WEFT_ERROR_ARGUMENT,
        "the graph has no parameter or state in the scope 'bod'");
    options.into = "";
    assert_status(weft_weights_load(graph, path, &options), WEFT_ERROR_ARGUMENT);
    weft_graph_release(base);
    weft_graph_release(graph);
}

static weft_tensor *add_cache(weft_graph *graph, const char *name, bool transient) {
    const int64_t two = 2;
    weft_tensor *const state =
        (transient ? weft_transient_state : weft_state_shape)(graph, name, WEFT_F32, weft_fill(5), 1, &two);
    return weft_assign(state, weft_add_number(state, 1));
}

/* Neither of weights nor checkpoints, named or not; a file of when it was saved is read. */
static void transient_states_are_in_no_file(void **state) {
    (void)state;
    char weights[PATH_ROOM], checkpoint[PATH_ROOM];
    snprintf(weights, sizeof weights, "%s", test_path("weights"));
    snprintf(checkpoint, sizeof checkpoint, "%s", test_path("checkpoint"));
    for (int saved = 0; saved < 2; saved++) { /* in the graph that saves it is an ordinary state, or not */
        weft_graph *const graph = make_graph(10), *const other = make_graph(0),
                          *const without = make_graph(0);
        weft_tensor *const keeps[] = {add_cache(graph, "cache", !saved), add_cache(graph, "", true)};
        (void)add_cache(other, "cache", true);
        (void)add_cache(other, "", true);
        weft_plan *plan = NULL;
        assert_ok(weft_plan_create(&plan, keeps, 2, NULL));
        assert_ok(weft_plan_run(plan));
        assert_true(first_of(graph, "cache") == 6);
        assert_ok(weft_weights_save(graph, weights));
        assert_ok(weft_checkpoint_save(graph, checkpoint, NULL, 0));
        assert_ok(weft_weights_load(other, weights, NULL));
        assert_true(first_of(other, "cache") == 5 && first_of(other, "head.w") == 13);
        assert_ok(weft_checkpoint_load(other, checkpoint, NULL, 0));
        assert_true(first_of(other, "cache") == 5);
        if (!saved) {
            assert_ok(weft_weights_load(without, weights, NULL));
            assert_ok(weft_checkpoint_load(without, checkpoint, NULL, 0));
        } else {
            assert_fails(weft_weights_load(without, weights, NULL), WEFT_ERROR_FORMAT, "'cache' of the file");
        }
        weft_plan_release(plan);
        weft_graph_release(graph);
        weft_graph_release(other);
        weft_graph_release(without);
    }
}

/* The format gains dtypes; only who needs the tensor has to know its. */
static void unknown_dtypes_may_be_in_a_file(void **state) {
    (void)state;
    static const char header[] = "{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
                                 "\"scales\":{\"dtype\":\"F4_NEW\",\"shape\":[3],\"data_offsets\":[4,6]}}";
    static const unsigned char data[6] = {0, 0, 0x80, 0x3f, 1, 2};
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s", test_path("unknown"));
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    for (size_t i = 0; i < 8; i++) fputc((int)((sizeof header - 1) >> 8 * i & 255), file);
    assert_int_equal(fwrite(header, 1, sizeof header - 1, file), sizeof header - 1);
    assert_int_equal(fwrite(data, 1, sizeof data, file), sizeof data);
    assert_int_equal(fclose(file), 0);
    weft_graph *const graph = test_graph();
    weft_tensor *const w = weft_parameter(graph, "w", weft_zeros(), 1);
    const weft_weights_options extra = {WEFT_WEIGHTS_OPTIONS_INIT, .allow_extra = true};
    float value = 0;
    assert_ok(weft_weights_load(graph, path, &extra));
    assert_ok(weft_tensor_read(w, &value, sizeof value));
    assert_true(value == 1);
    weft_parameter(graph, "scales", weft_zeros(), 3);
    assert_fails(weft_weights_load(graph, path, &extra), WEFT_ERROR_DTYPE,
        "tensor 'scales' is F4_NEW in the file and F32 in the graph");
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adapters_are_saved_alone),
        cmocka_unit_test(a_file_goes_into_a_scope),
        cmocka_unit_test(transient_states_are_in_no_file),
        cmocka_unit_test(unknown_dtypes_may_be_in_a_file),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
