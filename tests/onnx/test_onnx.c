/* Networks of ONNX files compute what ONNX's own conformance cases say (Debian's package libonnx-testdata), and files that are damaged
 * or have what is not supported give an error. WEFT_ONNX_CASES: a pattern of names of cases. WEFT_ONNX_ROOT: another folder of
 * cases, as site-packages/onnx/backend/test/data/. */
/* test slow */
#include "base/file_read.h"
#include "file_network.h"
#include "graph/dtype.h"
#include "onnx/onnx_import.h"
#include "onnx/onnx_node.h"
#include "support/fixture.h"
#include "support/mutate.h"
#include <dirent.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOT "/usr/share/libonnx-testdata/data/"
enum {
    PATH = 1024,
    NAME = 256,
    CASES = 2048,
    FEWEST_RIGHT = 600,
    TOGETHER = 32,
    PREFIXES = 60,
    CHANGES = 200
};

/* What the case's files hold. */
typedef struct wi_onnx_case {
    char folder[2 * NAME + 2];
    wi_arena arena;
    WiOnnx__ModelProto *model;
    wi_onnx_numbers inputs[WI_ONNX_MOST_INPUTS], outputs[WI_ONNX_MOST_OUTPUTS];
    const wi_onnx_numbers *known[WI_ONNX_MOST_INPUTS];
    size_t input_count, output_count;
} wi_onnx_case;

/* A file of one tensor. WEFT_ERROR_FILE: there is none of that name. */
static weft_status read_tensor(wi_onnx_numbers *numbers, wi_arena *arena, const char *path) {
    char *data;
    size_t bytes;
    const weft_status found = wi_file_read(NULL, path, &data, &bytes);
    if (found != WEFT_OK) return found;
    WiOnnx__TensorProto *const tensor = wi_onnx__tensor_proto__unpack(NULL, bytes, (const uint8_t *)data);
    wi_release(NULL, data);
    const weft_status status = tensor ? wi_onnx_tensor_read(numbers, arena, tensor) : WEFT_ERROR_FORMAT;
    if (tensor) wi_onnx__tensor_proto__free_unpacked(tensor, NULL);
    return status;
}

static weft_status read_tensors(
    wi_onnx_numbers *list, size_t *count, size_t most, wi_onnx_case *c, const char *kind) {
    char path[PATH];
    weft_status status = WEFT_OK;
    for (*count = 0; status == WEFT_OK && *count < most; ++*count) {
        snprintf(path, sizeof path, "%s/test_data_set_0/%s_%zu.pb", c->folder, kind, *count);
        status = read_tensor(&list[*count], &c->arena, path);
        if (status != WEFT_OK) break;
    }
    return status == WEFT_ERROR_FILE ? WEFT_OK : status;
}

/* Cases give an op everything as an input. What says shapes, axes or bounds stands in the file of a real network. */
static bool is_of_host(const WiOnnx__GraphProto *graph, const char *input) {
    for (size_t k = 0; k < graph->n_node; k++) {
        const WiOnnx__NodeProto *const node = graph->node[k];
        const wi_onnx_op *const op = wi_onnx_op_of(node);
        for (size_t i = 0; op && i < node->n_input; i++)
            if (strcmp(node->input[i], input) == 0 && op->host >> i & 1) return true;
    }
    return false;
}

static weft_status read_case(wi_onnx_case *c) {
    char path[PATH];
    snprintf(path, sizeof path, "%s/model.onnx", c->folder);
    wi_arena_init(&c->arena, NULL);
    weft_status status = wi_onnx_file_read(&c->model, path);
    if (status == WEFT_OK) status = read_tensors(c->inputs, &c->input_count, WI_ONNX_MOST_INPUTS, c, "input");
    if (status == WEFT_OK)
        status = read_tensors(c->outputs, &c->output_count, WI_ONNX_MOST_OUTPUTS, c, "output");
    for (size_t i = 0; status == WEFT_OK && i < c->input_count; i++)
        c->known[i] =
            c->inputs[i].count == 0 || (i < c->model->graph->n_input &&
                                           is_of_host(c->model->graph, c->model->graph->input[i]->name))
                ? &c->inputs[i]
                : NULL;
    return status;
}

static void clear_case(wi_onnx_case *c) {
    wi_onnx_file_release(c->model);
    wi_arena_clear(&c->arena);
}

/* ---- running one ---- */

/* Images lie channels-last. */
static size_t place(const wi_onnx_numbers *numbers, size_t i) {
    if (numbers->rank != 4 || numbers->dtype != WEFT_F32) return i;
    const size_t channels = (size_t)numbers->dims[1], area = (size_t)(numbers->dims[2] * numbers->dims[3]);
    const size_t image = i / (channels * area), channel = i / area % channels, pixel = i % area;
    return (image * area + pixel) * channels + channel;
}

static void write_input(weft_plan *plan, weft_tensor *tensor, const wi_onnx_numbers *numbers) {
    const wi_format *const format = wi_format_of(numbers->dtype);
    void *const data = calloc(numbers->count + 1, format->size);
    for (size_t i = 0; i < numbers->count; i++) format->put(data, place(numbers, i), numbers->data[i]);
    /* An input of which only the shape counts is none of the plan's. */
    if (weft_plan_write(plan, tensor, data, numbers->count * format->size) != WEFT_OK &&
        !strstr(weft_last_error(), "no output of the plan depends on it"))
        fail_msg("%s", weft_last_error());
    free(data);
}

static bool is_near(double got, double wanted) {
    if (isnan(wanted) || isnan(got)) return isnan(wanted) && isnan(got);
    if (isinf(wanted)) return got == wanted;
    return fabs(got - wanted) <= 1e-5 + 2e-4 * fabs(wanted);
}

static bool is_right(weft_plan *plan, weft_tensor *tensor, const wi_onnx_numbers *wanted, const char *name) {
    const wi_format *const format = wi_format_of(weft_tensor_dtype(tensor));
    void *const data = calloc(wanted->count + 1, format->size);
    const weft_status status = weft_plan_read(plan, tensor, data, wanted->count * format->size);
    size_t i = 0;
    while (status == WEFT_OK && i < wanted->count && is_near(format->get(data, i), wanted->data[i])) i++;
    const bool right = status == WEFT_OK && i == wanted->count;
    if (status != WEFT_OK)
        print_error("%s: %s\n", name, weft_last_error());
    else if (!right)
        print_error("%s: element %zu is %g, not %g\n", name, i, format->get(data, i), wanted->data[i]);
    free(data);
    return right;
}

/* Supported cases, whose networks are parts of one plan, as PoCL takes longer to begin a program than to compile a kernel. */
static struct {
    weft_graph *graph;
    wi_onnx_case cases[TOGETHER];
    wi_onnx_import networks[TOGETHER];
    size_t count;
} group;

/* counts: wrong, not supported, right. */
static void run_group(int counts[3]) {
    static weft_tensor *outputs[TOGETHER * WI_ONNX_MOST_OUTPUTS];
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .inference = true};
    weft_plan *plan = NULL;
    size_t count = 0;
    for (size_t k = 0; k < group.count; k++)
        for (size_t i = 0; i < group.networks[k].output_count; i++)
            outputs[count++] = group.networks[k].outputs[i];
    assert_weft_ok(weft_plan_create(&plan, outputs, count, &options));
    for (size_t k = 0; k < group.count; k++)
        for (size_t i = 0, own = 0; i < group.cases[k].input_count; i++)
            if (!group.cases[k].known[i])
                write_input(plan, group.networks[k].inputs[own++].tensor, &group.cases[k].inputs[i]);
    assert_weft_ok(weft_plan_run(plan));
    for (size_t k = 0; k < group.count; k++) {
        wi_onnx_case *const c = &group.cases[k];
        wi_onnx_import *const network = &group.networks[k];
        bool right = true;
        for (size_t i = 0; i < network->output_count && i < c->output_count; i++)
            right = is_right(plan, network->outputs[i], &c->outputs[i], c->folder) && right;
        counts[right ? 2 : 0]++;
        wi_onnx_import_clear(network);
        clear_case(c);
    }
    weft_plan_release(plan);
    weft_graph_release(group.graph);
    group.graph = NULL;
    group.count = 0;
}

/* In a graph that nothing else needs: it keeps the error. */
static bool is_supported(const wi_onnx_case *c) {
    wi_onnx_import network = {0};
    weft_graph *const graph = test_graph();
    const weft_status status = wi_onnx_import_build(&network, graph, c->model, 0, c->known);
    wi_onnx_import_clear(&network);
    weft_graph_release(graph);
    return status == WEFT_OK;
}

static void try_case(int counts[3], const char *folder) {
    char scope[32];
    wi_onnx_case *const c = &group.cases[group.count];
    wi_onnx_import *const network = &group.networks[group.count];
    *c = (wi_onnx_case){0};
    *network = (wi_onnx_import){0};
    snprintf(c->folder, sizeof c->folder, "%.*s", 2 * NAME, folder);
    if (read_case(c) != WEFT_OK || !is_supported(c)) {
        print_message("%s: %s\n", folder, weft_last_error());
        counts[1]++;
        clear_case(c);
        return;
    }
    if (!group.graph) group.graph = test_graph();
    snprintf(scope, sizeof scope, "case%zu", group.count++);
    assert_weft_ok(weft_scope_begin(group.graph, scope, false));
    assert_weft_ok(wi_onnx_import_build(network, group.graph, c->model, 0, c->known));
    assert_weft_ok(weft_scope_end(group.graph));
    if (group.count == TOGETHER) run_group(counts);
}

/* ---- the cases ---- */

/* Cases that are left out, and why. */
static const struct {
    const char *pattern, *reason;
} left_out[] = {{"test_training_dropout*", "random numbers"}, {"test_operator_add*", "numbers beyond f32"},
    {"test_adam_multiple", "the case's epsilon is not in its file"},
    {"test_qlinearmatmul_?D_int8_*", "the case's numbers wrap around, where ONNX's text says saturate"}};

static bool is_left_out(const char *name) {
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (fnmatch(left_out[i].pattern, name, 0) == 0) {
            print_message("%s: left out: %s\n", name, left_out[i].reason);
            return true;
        }
    return false;
}

static void try_folder(int counts[3], const char *folder, const char *wanted) {
    struct dirent **entries;
    const int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char path[PATH];
        const char *const name = entries[i]->d_name;
        snprintf(path, sizeof path, "%.*s/%.*s", NAME, folder, NAME, name);
        if (name[0] != '.' && fnmatch(wanted, name, 0) == 0 && !is_left_out(name)) try_case(counts, path);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
}

/* Version 1.12 has this many that are right; WEFT_ONNX_CASES: only those whose names fit. */
static void test_cases(void **state) {
    static const char *const folders[] = {"node", "pytorch-converted", "pytorch-operator", "simple"};
    const char *const wanted = getenv("WEFT_ONNX_CASES"), *const root = getenv("WEFT_ONNX_ROOT");
    int counts[3] = {0};
    (void)state;
    for (size_t f = 0; f < sizeof folders / sizeof *folders; f++) {
        char folder[NAME];
        snprintf(folder, sizeof folder, "%s%s", root ? root : ROOT, folders[f]);
        try_folder(counts, folder, wanted ? wanted : test_reduced() ? "test_[Ccl]*" : "*");
    }
    if (group.count > 0) run_group(counts);
    print_message("%d right, %d not supported, %d wrong\n", counts[2], counts[1], counts[0]);
    assert_int_equal(counts[0], 0);
    if (!wanted && !root && !test_reduced()) assert_in_range(counts[2], FEWEST_RIGHT, CASES);
}

/* ---- what is not taken ---- */

/* The status of a network of one file; its line stays. */
static weft_status build(const char *path, int64_t batch) {
    WiOnnx__ModelProto *model;
    wi_onnx_import network;
    const weft_status read = wi_onnx_file_read(&model, path);
    if (read != WEFT_OK) return read;
    weft_graph *const graph = test_graph();
    const weft_status status = wi_onnx_import_build(&network, graph, model, batch, NULL);
    wi_onnx_import_clear(&network);
    wi_onnx_file_release(model);
    weft_graph_release(graph);
    return status;
}

static void test_errors(void **state) {
    (void)state;
    FILE *const page = fopen(test_path("page.onnx"), "w");
    assert_non_null(page);
    assert_true(fputs("<html>404</html>", page) >= 0);
    assert_int_equal(fclose(page), 0);
    assert_weft_fails(WEFT_ERROR_FORMAT, build(test_path("page.onnx"), 0), "page.onnx", "is an HTML page");
    assert_weft_fails(WEFT_ERROR_FILE, build("nowhere.onnx", 0), "nowhere.onnx");
    assert_weft_fails(
        WEFT_ERROR_FORMAT, build(WEFT_SOURCE_DIR "/README.md", 0), "README.md is not an ONNX file");
    assert_weft_fails(WEFT_ERROR_UNSUPPORTED, build(ROOT "node/test_nonzero_example/model.onnx", 0),
        "(NonZero): this op is not supported");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, build(ROOT "pytorch-converted/test_Conv2d/model.onnx", 7),
        "for a batch of 2, not 7");
    assert_weft_fails(WEFT_ERROR_UNSUPPORTED, build(ROOT "node/test_lstm_with_peepholes/model.onnx", 0),
        "(LSTM): clip, input_forget and peepholes");
}

/* Whether it is taken does not matter. */
static bool read_damaged(void *user, const char *bytes, size_t size) {
    (void)user;
    WiOnnx__ModelProto *const model = wi_onnx__model_proto__unpack(NULL, size, (const uint8_t *)bytes);
    if (!model) return false;
    weft_graph *const graph = test_graph();
    wi_onnx_import network = {0};
    const bool taken = model->graph && wi_onnx_import_build(&network, graph, model, 0, NULL) == WEFT_OK;
    wi_onnx_import_clear(&network);
    weft_graph_release(graph);
    wi_onnx_file_release(model);
    return taken;
}

/* Damaged files give an error or another network, and nothing else. */
static void test_damage(void **state) {
    static const char *const names[] = {"pytorch-converted/test_Conv2d",
        "pytorch-operator/test_operator_permute2", "node/test_slice", "node/test_lstm_defaults"};
    (void)state;
    for (size_t f = 0; f < sizeof names / sizeof *names; f++) {
        char path[PATH], *data;
        size_t bytes;
        snprintf(path, sizeof path, ROOT "%s/model.onnx", names[f]);
        assert_weft_ok(wi_file_read(NULL, path, &data, &bytes));
        const mutate_counts counts = mutate_some(data, bytes, PREFIXES, CHANGES, read_damaged, NULL);
        assert_true(counts.refused > 0 && counts.tries >= CHANGES);
        wi_release(NULL, data);
    }
}

/* A network is trained: its initializers are parameters. */
static void test_training(void **state) {
    bench_network network;
    bench_model model;
    float before, after;
    (void)state;
    assert_weft_ok(file_network_open(&network, ROOT "pytorch-converted/test_Conv2d/model.onnx"));
    assert_string_equal(network.name, "model.onnx");
    assert_int_equal(network.batch, 2);
    assert_weft_ok(bench_model_create(&model, test_context(), &network, &(bench_setting){.rate = 0.01f}));
    assert_int_equal(model.source_count, 1);
    assert_int_equal(weft_graph_parameter_count(model.graph), 2);
    assert_weft_ok(weft_plan_run(model.plan));
    assert_weft_ok(weft_plan_read(model.plan, model.loss, &before, sizeof before));
    for (int i = 0; i < 20; i++) assert_weft_ok(weft_plan_run(model.plan));
    assert_weft_ok(weft_plan_read(model.plan, model.loss, &after, sizeof after));
    assert_true(after < 0.9f * before && after > 0);
    bench_model_clear(&model);
}

int main(void) {
    if (access(ROOT, R_OK) != 0) {
        print_message("SKIPPED: " ROOT " is missing: install libonnx-testdata\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_damage), cmocka_unit_test(test_training)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
