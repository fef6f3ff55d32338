/* Networks of ONNX files compute what ONNX's own conformance cases say (Debian's package libonnx-testdata), and files that are damaged
 * or have what is not supported give an error. WEFT_ONNX_CASES: a pattern of names of cases. WEFT_ONNX_ROOT: another folder of
 * cases, as site-packages/onnx/backend/test/data/. WEFT_ONNX_KNOWN: all inputs are constants, so that the host computes what it can.
 * WEFT_ONNX_OPEN: sizes that a file leaves open are the batch or the length, and get their size from the plan. */
/* test slow */
#include "base/file_read.h"
#include "base/platform.h"
#include "file_network.h"
#include "graph/dtype.h"
#include "onnx/onnx_host_inputs.h"
#include "onnx/onnx_types.h"
#include "onnx/onnx_wire.h"
#include "support/fixture.h"
#include "support/mutate.h"
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
    FEWEST_RIGHT = 960,
    TOGETHER = 32,
    PREFIXES = 60,
    CHANGES = 200
};

enum { MOST_INPUTS = 32, MOST_OUTPUTS = 64 };

/* What the case's files hold. */
typedef struct wi_onnx_case {
    char folder[2 * NAME + 2], path[PATH + 16];
    wi_arena arena;
    wi_onnx_file file;
    wi_onnx_numbers inputs[MOST_INPUTS], outputs[MOST_OUTPUTS];
    weft_onnx_value values[MOST_INPUTS]; /* of the inputs that the host must know */
    bool known[MOST_INPUTS];
    size_t input_count, output_count, value_count;
} wi_onnx_case;

static int type_of(const WiOnnx__ValueInfoProto *info) {
    return info->type && info->type->tensor_type ? info->type->tensor_type->elem_type : 0;
}

/* A file of one tensor, for this input or output. WEFT_ERROR_FILE: there is none of that name. */
static weft_status read_tensor(
    wi_onnx_numbers *numbers, wi_arena *arena, const char *path, const WiOnnx__ValueInfoProto *info) {
    char *data;
    size_t bytes;
    ProtobufCMessage *tensor;
    WI_TRY(wi_file_read(NULL, path, &data, &bytes));
    weft_status status =
        wi_onnx_unpack(&tensor, arena, &wi_onnx__tensor_proto__descriptor, data, bytes, path);
    /* NumPy has no bf16: its bits are whole numbers. */
    WiOnnx__TensorProto *const read = status == WEFT_OK ? (WiOnnx__TensorProto *)tensor : NULL;
    if (read && read->data_type == WI_ONNX_UINT16 && type_of(info) == WI_ONNX_BFLOAT16)
        read->data_type = WI_ONNX_BFLOAT16;
    if (status == WEFT_OK) status = wi_onnx_tensor_read(numbers, arena, read);
    wi_release(NULL, data);
    return status;
}

static weft_status read_tensors(wi_onnx_numbers *list, size_t *count, size_t most, wi_onnx_case *c,
    const char *kind, WiOnnx__ValueInfoProto **infos) {
    char path[PATH];
    weft_status status = WEFT_OK;
    for (*count = 0; status == WEFT_OK && *count < most; ++*count) {
        snprintf(path, sizeof path, "%s/test_data_set_0/%s_%zu.pb", c->folder, kind, *count);
        status = read_tensor(&list[*count], &c->arena, path, infos[*count]);
        if (status != WEFT_OK) break;
    }
    return status == WEFT_ERROR_FILE ? WEFT_OK : status;
}

/* An input that an op needs on the host. */
static bool is_of_host(const WiOnnx__GraphProto *graph, const char *input) {
    for (size_t k = 0; k < graph->n_node; k++) {
        const WiOnnx__NodeProto *const node = graph->node[k];
        const wi_onnx_op *const op = wi_onnx_op_of(node);
        for (size_t i = 0; op && i < node->n_input; i++)
            if (strcmp(node->input[i], input) == 0 && (op->host >> i & 1)) return true;
    }
    return false;
}

/* Cases of types that NumPy lacks may have numbers of another type. */
static weft_status check_type(const wi_onnx_numbers *numbers, const WiOnnx__ValueInfoProto *info) {
    const WiOnnx__TypeProto *const type = info->type;
    if (!type || !type->tensor_type || numbers->type == type->tensor_type->elem_type) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_UNSUPPORTED, "left out: the numbers of '%s' have another type than the network",
        info->name);
}

/* The numbers are given in the dtype in which they are compared. */
static void give_value(wi_onnx_case *c, size_t index) {
    const wi_onnx_numbers *const numbers = &c->inputs[index];
    void *const data = wi_arena_take(&c->arena, (numbers->count + 1) * sizeof(double));
    const weft_dtype dtype = numbers->dtype == WEFT_I32 ? WEFT_I64 : numbers->dtype;
    for (size_t i = 0; i < numbers->count; i++) {
        /* The largest i64 is no double. */
        const double number = dtype == WEFT_I64 && numbers->data[i] >= 0x1p63 ? 0x1p62 : numbers->data[i];
        wi_format_of(dtype)->put(data, i, number);
    }
    c->known[index] = true;
    c->values[c->value_count++] = (weft_onnx_value){
        c->file.model->graph->input[index]->name, dtype, numbers->rank, numbers->dims, data};
}

static weft_status read_case(wi_onnx_case *c, const char *folder) {
    snprintf(c->path, sizeof c->path, "%s/model.onnx", folder);
    wi_arena_init(&c->arena, NULL);
    weft_status status = wi_onnx_file_open(&c->file, c->path, &(wi_onnx_place){0});
    const WiOnnx__GraphProto *const graph = status == WEFT_OK ? c->file.model->graph : NULL;
    if (graph && (graph->n_input > MOST_INPUTS || graph->n_output > MOST_OUTPUTS))
        WI_FAIL(WEFT_ERROR_UNSUPPORTED, "left out: more inputs or outputs than this test has room for");
    if (graph) status = read_tensors(c->inputs, &c->input_count, graph->n_input, c, "input", graph->input);
    if (status == WEFT_OK)
        status = read_tensors(c->outputs, &c->output_count, graph->n_output, c, "output", graph->output);
    if (status != WEFT_OK) return status;
    /* Cases give an op everything as an input. What says shapes, axes or bounds stands in the file of a real network. */
    bool decides[MOST_INPUTS] = {0};
    WI_TRY(wi_onnx_host_inputs(decides, graph));
    for (size_t i = 0; i < c->input_count; i++) {
        WI_TRY(check_type(&c->inputs[i], graph->input[i]));
        decides[i] = decides[i] || is_of_host(graph, graph->input[i]->name);
        if (getenv("WEFT_ONNX_KNOWN") || c->inputs[i].count == 0 || decides[i]) give_value(c, i);
    }
    for (size_t i = 0; i < c->output_count; i++) WI_TRY(check_type(&c->outputs[i], graph->output[i]));
    return status;
}

static void clear_case(wi_onnx_case *c) {
    wi_onnx_file_close(&c->file);
    wi_arena_clear(&c->arena);
}

/* ---- running one ---- */

static void write_input(weft_plan *plan, weft_tensor *tensor, const wi_onnx_numbers *numbers) {
    const wi_format *const format = wi_format_of(numbers->dtype);
    void *const data = calloc(numbers->count + 1, format->size);
    for (size_t i = 0; i < numbers->count; i++) format->put(data, i, numbers->data[i]);
    /* An input of which only the shape counts is none of the plan's. */
    if (weft_plan_write(plan, tensor, data, numbers->count * format->size) != WEFT_OK &&
        !strstr(weft_last_error(), "no output of the plan depends on it"))
        fail_msg("%s", weft_last_error());
    free(data);
}

/* Whole numbers are exact. Floats of 16 bits, which are f32 here, differ by as much as they are rounded. */
static bool is_near(double got, double wanted, const wi_onnx_numbers *type) {
    if (isnan(wanted) || isnan(got)) return isnan(wanted) && isnan(got);
    if (isinf(wanted) || type->dtype != WEFT_F32) return got == wanted;
    return fabs(got - wanted) <= 1e-5 + (type->type == WI_ONNX_FLOAT16 ? 1e-3 : 2e-4) * fabs(wanted);
}

/* How many elements the case has in Weft. Results of these two have the largest size, and begin with the elements of the case. */
static size_t count_of(const weft_tensor *tensor, const wi_onnx_numbers *wanted, const char *name) {
    size_t count = 1;
    if (!strstr(name, "test_nonmaxsuppression") && !strstr(name, "test_unique")) return wanted->count;
    for (int i = 0; i < weft_tensor_rank(tensor); i++) count *= (size_t)weft_tensor_dimension(tensor, i);
    return count > wanted->count ? count : wanted->count;
}

static bool is_right(weft_plan *plan, weft_tensor *tensor, const wi_onnx_numbers *wanted, const char *name) {
    const wi_format *const format = wi_format_of(weft_tensor_dtype(tensor));
    const size_t count = count_of(tensor, wanted, name);
    void *const data = calloc(count + 1, format->size);
    const weft_status status = weft_plan_read(plan, tensor, data, count * format->size);
    size_t i = 0;
    while (status == WEFT_OK && i < wanted->count && is_near(format->get(data, i), wanted->data[i], wanted))
        i++;
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
    weft_onnx_model *models[TOGETHER];
    size_t count;
} group;

static void write_inputs(weft_plan *plan, const wi_onnx_case *c, const weft_onnx_model *model) {
    for (size_t i = 0; i < c->input_count; i++)
        if (weft_onnx_input(model, i)) write_input(plan, weft_onnx_input(model, i), &c->inputs[i]);
}

/* Is an axis of an input open in the file, and so in the graph? */
static bool stays_open(const wi_onnx_case *c, size_t input, int axis) {
    const WiOnnx__TypeProto *const type = c->file.model->graph->input[input]->type;
    const WiOnnx__ShapeProto *const shape = type && type->tensor_type ? type->tensor_type->shape : NULL;
    return getenv("WEFT_ONNX_OPEN") && shape && (size_t)axis < shape->n_dim &&
           !shape->dim[axis]->has_dim_value;
}

/* The sizes of open axes, which are those of the arrays of the case. */
static void size_plan(weft_plan_options *options, const wi_onnx_case *c) {
    for (size_t i = 0; i < c->input_count && i < c->file.model->graph->n_input; i++)
        for (int d = 0; d < c->inputs[i].rank && !c->known[i]; d++)
            if (stays_open(c, i, d)) *(d == 0 ? &options->batch : &options->length) = c->inputs[i].dims[d];
}

/* counts: wrong, not supported, right. */
static void run_group(int counts[3]) {
    static weft_tensor *outputs[TOGETHER * MOST_OUTPUTS];
    weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .inference = true};
    weft_plan *plan = NULL;
    size_t count = 0;
    for (size_t k = 0; k < group.count; k++) size_plan(&options, &group.cases[k]);
    for (size_t k = 0; k < group.count; k++)
        for (size_t i = 0; i < weft_onnx_output_count(group.models[k]); i++)
            outputs[count++] = weft_onnx_output(group.models[k], i);
    assert_weft_ok(weft_plan_create(&plan, outputs, count, &options));
    for (size_t k = 0; k < group.count; k++) write_inputs(plan, &group.cases[k], group.models[k]);
    assert_weft_ok(weft_plan_run(plan));
    for (size_t k = 0; k < group.count; k++) {
        wi_onnx_case *const c = &group.cases[k];
        bool right = true;
        for (size_t i = 0; i < weft_onnx_output_count(group.models[k]) && i < c->output_count; i++)
            right = is_right(plan, weft_onnx_output(group.models[k], i), &c->outputs[i], c->folder) && right;
        counts[right ? 2 : 0]++;
        weft_onnx_model_release(group.models[k]);
        clear_case(c);
    }
    weft_plan_release(plan);
    weft_graph_release(group.graph);
    group.graph = NULL;
    group.count = 0;
}

/* Cases have open sizes where the test's arrays have fixed ones. */
static weft_status load_case(
    weft_onnx_model **model, weft_graph *graph, const wi_onnx_case *c, const char *scope) {
    weft_onnx_size sizes[MOST_INPUTS * WEFT_MAX_RANK];
    static char labels[MOST_INPUTS * WEFT_MAX_RANK][NAME];
    weft_onnx_options options = {WEFT_ONNX_OPTIONS_INIT, .sizes = sizes, .values = c->values,
        .value_count = c->value_count, .scope = scope};
    const WiOnnx__GraphProto *const file = c->file.model->graph;
    for (size_t i = 0; i < c->input_count && i < file->n_input; i++)
        for (int d = 0; d < c->inputs[i].rank && !c->known[i]; d++) {
            if (stays_open(c, i, d)) continue;
            snprintf(labels[options.size_count], NAME, "%.200s:%d", file->input[i]->name, d);
            sizes[options.size_count] = (weft_onnx_size){labels[options.size_count], c->inputs[i].dims[d]};
            options.size_count++;
        }
    return weft_onnx_load(model, graph, c->path, &options);
}

/* In a graph that nothing else needs: it keeps the error. */
static bool is_supported(const wi_onnx_case *c) {
    weft_onnx_model *model;
    weft_graph *const graph = test_graph();
    const weft_status status = load_case(&model, graph, c, NULL);
    if (status == WEFT_OK) weft_onnx_model_release(model);
    weft_graph_release(graph);
    return status == WEFT_OK;
}

static void try_case(int counts[3], const char *folder) {
    char scope[32];
    wi_onnx_case *const c = &group.cases[group.count];
    *c = (wi_onnx_case){0};
    snprintf(c->folder, sizeof c->folder, "%.*s", 2 * NAME, folder);
    if (read_case(c, folder) != WEFT_OK || !is_supported(c)) {
        print_message("%s: %s\n", folder, weft_last_error());
        counts[1]++;
        clear_case(c);
        return;
    }
    if (!group.graph) group.graph = test_graph();
    snprintf(scope, sizeof scope, "case%zu", group.count);
    assert_weft_ok(load_case(&group.models[group.count++], group.graph, c, scope));
    if (group.count == TOGETHER || getenv("WEFT_ONNX_OPEN")) run_group(counts);
}

/* ---- the cases ---- */

/* Cases that are left out, and why; old: only those of Debian. */
static const struct {
    const char *pattern, *reason;
    bool old;
} left_out[] = {{"test_[bh]*nwindow*", "its pi has five digits", true},
    {"test_cast*_FLOAT_to_BFLOAT16*", "its numbers are cut off, where ONNX says rounded", true},
    {"test_castlike_BFLOAT16_to_FLOAT*", "an input has another size than the file says", true},
    {"test_averagepool_2d_ceil_last_window*", "its numbers have four digits", false},
    {"test_l2normalization_axis_0", "later versions of ONNX say 0 where it has NaN", false},
    {"test_training_dropout*", "random numbers", false}, {"test_bernoulli*", "random numbers", false},
    {"test_operator_add*", "numbers beyond f32", false},
    {"test_adam_multiple", "the case's epsilon is not in its file", false},
    {"test_qlinearmatmul_?D_int8_*", "the case's numbers wrap around, where ONNX's text says saturate",
        false}};

static bool is_left_out(const char *name) {
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (fnmatch(left_out[i].pattern, name, 0) == 0 && !(left_out[i].old && getenv("WEFT_ONNX_ROOT"))) {
            print_message("%s: left out: %s\n", name, left_out[i].reason);
            return true;
        }
    return false;
}

static void try_folder(int counts[3], const char *folder, const char *wanted) {
    wi_arena arena;
    const char **names = NULL;
    size_t count = 0;
    wi_arena_init(&arena, NULL);
    (void)wi_directory_list(&names, &count, &arena, folder); /* a missing folder has no cases */
    for (size_t i = 0; i < count; i++) {
        char path[PATH];
        snprintf(path, sizeof path, "%.*s/%.*s", NAME, folder, NAME, names[i]);
        if (names[i][0] != '.' && fnmatch(wanted, names[i], 0) == 0 && !is_left_out(names[i]))
            try_case(counts, path);
    }
    wi_release(NULL, (void *)names);
    wi_arena_clear(&arena);
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
static weft_status build(const char *path) {
    weft_onnx_model *model;
    weft_graph *const graph = test_graph();
    const weft_status status = weft_onnx_load(&model, graph, path, NULL);
    if (status == WEFT_OK) weft_onnx_model_release(model);
    weft_graph_release(graph);
    return status;
}

static void test_errors(void **state) {
    (void)state;
    FILE *const page = fopen(test_path("page.onnx"), "w");
    assert_non_null(page);
    assert_true(fputs("<html>404</html>", page) >= 0);
    assert_int_equal(fclose(page), 0);
    assert_weft_fails(WEFT_ERROR_FORMAT, build(test_path("page.onnx")), "page.onnx", "is an HTML page");
    assert_weft_fails(WEFT_ERROR_FILE, build("nowhere.onnx"), "nowhere.onnx");
    assert_weft_fails(
        WEFT_ERROR_FORMAT, build(WEFT_SOURCE_DIR "/README.md"), "README.md' is not an ONNX file");
    assert_weft_fails(WEFT_ERROR_UNSUPPORTED,
        build(ROOT "node/test_tfidfvectorizer_tf_only_bigrams_skip0/model.onnx"), "model.onnx'",
        "not supported: TfIdfVectorizer");
}

/* Whether it is taken does not matter. */
static bool read_damaged(void *user, const char *bytes, size_t size) {
    weft_onnx_model *model;
    weft_graph *const graph = test_graph();
    (void)user;
    const bool taken = weft_onnx_load_from_memory(&model, graph, bytes, size, NULL) == WEFT_OK;
    if (taken)
        weft_onnx_model_release(model);
    else
        assert_true(strlen(weft_last_error()) < 500);
    weft_graph_release(graph);
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
