/* Runs suites of op cases: see op_case.h. */
#include "cl/context.h"
#include "support/op_case_shared.h"

#include "graph/weft_graph.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REDUCED_ELEMENTS = 48 };

static struct suite {
    const op_cases *ops;
    size_t op_count;
    weft_graph *graph;
    op_state *states;
    size_t count;
    weft_tensor **outputs; /* of a plan: values and gradients */
    size_t output_count;
} suite;

static const weft_initialiser zeros = {.kind = WEFT_INIT_CONSTANT};
static const int64_t batches[OP_BATCHES] = {3, 1, 17};

static size_t batch_count(void) {
    return test_reduced() ? 1 : OP_BATCHES;
}

void *op_take(size_t count, size_t size) {
    void *const memory = calloc(count ? count : 1, size);
    assert_non_null(memory);
    return memory;
}

/* In cases, f32 stands for the float format that is tested. */
static weft_dtype dtype_of(const op_input *input) {
    return input->dtype == WEFT_F32 ? op_tested_format()->dtype : input->dtype;
}

/* ---- shapes at a batch size ---- */

static int dims_at(const int64_t *list, int64_t batch, int64_t *dims) {
    const int rank = f64_list_length(list);
    for (int i = 0; i < rank; i++) dims[i] = list[i] < 0 ? -list[i] * batch : list[i];
    return rank;
}

/* The shape of the memory behind an input's view; a list as in op_input. */
static void source_list(const op_input *input, int64_t *list) {
    const int rank = f64_list_length(input->dims);
    memcpy(list, input->dims, sizeof input->dims);
    for (int i = 0; input->view == OP_REVERSED && i < rank; i++) list[i] = input->dims[rank - 1 - i];
    if (input->view == OP_TRANSPOSED) {
        list[rank - 1] = input->dims[rank - 2];
        list[rank - 2] = input->dims[rank - 1];
    }
    if (input->view == OP_SLICED) list[rank - 1] += 3;
}

static weft_tensor *view_tensor(const op_input *input, weft_tensor *source) {
    const int rank = weft_tensor_rank(source);
    int axes[WEFT_MAX_RANK];
    for (int i = 0; i < rank; i++) axes[i] = rank - 1 - i;
    switch (input->view) {
    case OP_TRANSPOSED: return weft_transpose(source);
    case OP_REVERSED: return weft_permute_axes(source, rank, axes);
    case OP_SLICED: return weft_slice(source, -1, 2, -1);
    case OP_WHOLE: break;
    }
    return source;
}

static f64_array *view_array(const op_input *input, f64_array *source) {
    int axes[WEFT_MAX_RANK];
    for (int i = 0; i < source->rank; i++) axes[i] = source->rank - 1 - i;
    switch (input->view) {
    case OP_TRANSPOSED: return f64_transpose(source);
    case OP_REVERSED: return f64_permute(source, axes);
    case OP_SLICED: return f64_slice(source, -1, 2, -1);
    case OP_WHOLE: break;
    }
    return source;
}

/* ---- numbers ---- */

static size_t common_divisor(size_t a, size_t b) {
    return b == 0 ? a : common_divisor(b, a % b);
}

/* Element i of `count` numbers with few digits. The range is divided into `count` intervals, one for each element, so that no two are
 * equal. */
static double apart(test_random *random, const op_input *input, size_t i, size_t count) {
    size_t step = count * 5 / 8 + 1;
    while (common_divisor(count, step) > 1) step++;
    const double part = (double)(i * step % count) + test_random_between(random, 0.25, 0.75);
    const double x =
        op_nearest(op_tested_format()->dtype, input->low + (input->high - input->low) * part / (double)count);
    /* Moves x away from multiples of 1/8, where functions may have kinks and jumps. */
    return x * 8 == floor(x * 8) ? x + op_rounding(op_tested_format()->dtype, x) : x;
}

/* The values of an input, rounded to its dtype; every call returns the same ones. */
static f64_array *source_values(const op_state *s, int which, int64_t batch) {
    const op_input *const input = &s->c->inputs[which];
    int64_t list[WEFT_MAX_RANK + 1], dims[WEFT_MAX_RANK];
    source_list(input, list);
    f64_array *const values = f64_zeros(dims_at(list, batch, dims), dims);
    test_random random = test_random_named(s->title, (uint64_t)which);
    const bool whole = input->values == OP_WHOLE_RANDOM || input->dtype != WEFT_F32;
    const bool coarse = !whole && op_tested_format()->precision < 24;
    for (size_t i = 0; i < values->count; i++) {
        const double x =
            coarse ? apart(&random, input, i, values->count)
                   : test_random_between(&random, input->low, whole ? input->high + 1 : input->high);
        values->value[i] = whole ? floor(x) : op_nearest(op_tested_format()->dtype, x);
    }
    return values;
}

f64_array *op_weight_values(const op_state *s, const f64_array *output) {
    f64_array *const weights = f64_zeros(output->rank, output->dims);
    test_random random = test_random_named(s->title, 99);
    for (size_t i = 0; i < weights->count; i++)
        weights->value[i] = op_nearest(weft_tensor_dtype(s->output), test_random_between(&random, -1, 1));
    return weights;
}

f64_array *op_reference_value(const op_state *s, f64_array *const *sources) {
    const f64_array *inputs[OP_CASE_INPUTS] = {NULL};
    for (int i = 0; i < s->input_count; i++) inputs[i] = view_array(&s->c->inputs[i], sources[i]);
    return s->c->reference(s->c, inputs);
}

static void write_tensor(weft_plan *plan, weft_tensor *tensor, bool parameter, const f64_array *values) {
    const weft_dtype dtype = weft_tensor_dtype(tensor);
    const size_t bytes = values->count * weft_dtype_size(dtype);
    void *const data = op_take(bytes, 1);
    f64_to_dtype(dtype, values->value, values->count, data);
    if (parameter)
        assert_weft_ok(weft_tensor_write(tensor, data, bytes));
    else
        assert_weft_ok(weft_plan_write(plan, tensor, data, bytes));
    free(data);
}

/* ---- building the graph of all cases ---- */

static void build_sources(op_state *s) {
    for (; s->input_count < OP_CASE_INPUTS; s->input_count++) {
        const op_input *const input = &s->c->inputs[s->input_count];
        if (input->values == OP_ABSENT) return;
        int64_t list[WEFT_MAX_RANK + 1];
        char name[176];
        source_list(input, list);
        const int rank = f64_list_length(list);
        for (int i = 0; i < rank; i++) s->has_batch |= list[i] < 0;
        snprintf(name, sizeof name, "%s %d", s->title, s->input_count);
        const weft_dtype dtype = dtype_of(input);
        s->sources[s->input_count] = input->values == OP_PARAMETER
                                         ? weft_parameter_dtype(suite.graph, name, dtype, zeros, rank, list)
                                         : weft_input_shape(suite.graph, name, dtype, rank, list);
    }
}

static void build_gradients(op_state *s) {
    if (s->c->no_gradient) return;
    const int rank = weft_tensor_rank(s->output);
    int64_t dims[WEFT_MAX_RANK];
    for (int i = 0; i < rank; i++) dims[i] = weft_tensor_dimension(s->output, i);
    s->weights = weft_input_shape(suite.graph, "weights", weft_tensor_dtype(s->output), rank, dims);
    weft_tensor *wrt[OP_CASE_INPUTS], *gradients[OP_CASE_INPUTS];
    int which[OP_CASE_INPUTS];
    size_t count = 0;
    for (int i = 0; i < s->input_count; i++) {
        if (s->c->inputs[i].dtype != WEFT_F32) continue;
        which[count] = i;
        wrt[count++] = s->sources[i];
    }
    assert_weft_ok(weft_gradients(weft_sum(weft_mul(s->output, s->weights)), wrt, count, gradients));
    for (size_t i = 0; i < count; i++) s->gradients[which[i]] = gradients[i];
}

/* The search can stop at nodes that are older than `on`, because a node is created after its inputs. */
bool op_depends_on(const weft_tensor *tensor, const weft_tensor *on) {
    if (tensor == on) return true;
    for (int i = 0; tensor->id > on->id && i < tensor->input_count; i++)
        if (op_depends_on(tensor->inputs[i], on)) return true;
    return false;
}

/* If all gradients are zero (floor), no output depends on the weights, and the plan does not have them as an input. */
static void drop_unread_weights(op_state *s) {
    bool read = false;
    for (int i = 0; s->weights && i < s->input_count; i++)
        read |= s->gradients[i] && op_depends_on(s->gradients[i], s->weights);
    if (!read) s->weights = NULL;
}

static void build_state(op_state *s) {
    weft_tensor *inputs[OP_CASE_INPUTS] = {NULL};
    build_sources(s);
    for (int i = 0; i < s->input_count; i++) inputs[i] = view_tensor(&s->c->inputs[i], s->sources[i]);
    s->output = s->c->build(s->c, suite.graph, inputs);
    if (!s->output) print_error("%s:\n", s->title);
    assert_weft_ok(weft_graph_status(suite.graph));
    assert_non_null(s->output);
    build_gradients(s);
    drop_unread_weights(s);
}

/* ---- running the plans ---- */

static size_t count_at(const weft_tensor *tensor, int64_t batch) {
    size_t count = 1;
    for (int i = 0; i < weft_tensor_rank(tensor); i++) {
        const int64_t dim = weft_tensor_dimension(tensor, i);
        count *= (size_t)(dim < 0 ? -dim * batch : dim);
    }
    return count;
}

static void *read_tensor(weft_plan *plan, weft_tensor *tensor, int64_t batch) {
    const size_t bytes = count_at(tensor, batch) * weft_dtype_size(weft_tensor_dtype(tensor));
    void *const data = op_take(bytes, 1);
    assert_weft_ok(weft_plan_read(plan, tensor, data, bytes));
    return data;
}

static double *read_numbers(weft_plan *plan, weft_tensor *tensor, int64_t batch) {
    const size_t count = count_at(tensor, batch);
    void *const data = read_tensor(plan, tensor, batch);
    double *const numbers = op_take(count, sizeof *numbers);
    f64_from_dtype(weft_tensor_dtype(tensor), data, count, numbers);
    free(data);
    return numbers;
}

static void write_state(weft_plan *plan, const op_state *s, int64_t batch) {
    const f64_mark mark = f64_pool_mark();
    for (int i = 0; i < s->input_count; i++)
        write_tensor(plan, s->sources[i], s->c->inputs[i].values == OP_PARAMETER, source_values(s, i, batch));
    if (s->weights) {
        int64_t dims[WEFT_MAX_RANK];
        const int rank = weft_tensor_rank(s->output);
        for (int i = 0; i < rank; i++) {
            const int64_t dim = weft_tensor_dimension(s->output, i);
            dims[i] = dim < 0 ? -dim * batch : dim;
        }
        write_tensor(plan, s->weights, false, op_weight_values(s, f64_zeros(rank, dims)));
    }
    f64_pool_release(mark);
}

/* A case without a batch dimension runs only with the first batch size. */
static bool is_run(const op_state *s, size_t which) {
    return which == 0 || s->has_batch;
}

static void take_outputs(size_t which) {
    suite.output_count = 0;
    for (size_t i = 0; i < suite.count; i++) {
        const op_state *const s = &suite.states[i];
        if (!is_run(s, which)) continue;
        suite.outputs[suite.output_count++] = s->output;
        for (int k = 0; k < s->input_count; k++)
            if (s->gradients[k]) suite.outputs[suite.output_count++] = s->gradients[k];
    }
}

static void run_batch(size_t which) {
    const int64_t batch = batches[which];
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = batch};
    weft_plan *plan = NULL;
    take_outputs(which);
    if (suite.output_count == 0) return;
    assert_weft_ok(weft_plan_create(&plan, suite.outputs, suite.output_count, &options));
    for (size_t i = 0; i < suite.count; i++)
        if (is_run(&suite.states[i], which)) write_state(plan, &suite.states[i], batch);
    assert_weft_ok(weft_plan_run(plan));
    for (size_t i = 0; i < suite.count; i++) {
        op_state *const s = &suite.states[i];
        if (!is_run(s, which)) continue;
        s->results[which].output = read_tensor(plan, s->output, batch);
        for (int k = 0; k < s->input_count; k++)
            if (s->gradients[k]) s->results[which].gradients[k] = read_numbers(plan, s->gradients[k], batch);
    }
    weft_plan_release(plan);
}

static int suite_setup(void **unused) {
    (void)unused;
    suite.graph = test_graph();
    op_set_precision(suite.graph);
    suite.outputs = op_take(suite.count * (1 + OP_CASE_INPUTS), sizeof(weft_tensor *));
    for (size_t i = 0; i < suite.count; i++) build_state(&suite.states[i]);
    for (size_t i = 0; i < batch_count(); i++) run_batch(i);
    return 0;
}

static int suite_teardown(void **unused) {
    (void)unused;
    for (size_t i = 0; i < suite.count; i++) {
        for (int which = 0; which < OP_BATCHES; which++) {
            free(suite.states[i].results[which].output);
            for (int k = 0; k < OP_CASE_INPUTS; k++) free(suite.states[i].results[which].gradients[k]);
        }
    }
    free(suite.outputs);
    weft_graph_release(suite.graph);
    f64_pool_release(NULL);
    return 0;
}

static void check_batch(const op_state *s, size_t which) {
    const int64_t batch = batches[which];
    const op_result *const r = &s->results[which];
    f64_array *sources[OP_CASE_INPUTS] = {NULL};
    char what[200];
    for (int i = 0; i < s->input_count; i++) sources[i] = source_values(s, i, batch);
    f64_track_errors(true);
    const f64_array *const wanted = op_reference_value(s, sources);
    snprintf(what, sizeof what, "%s: batch %lld", s->title, (long long)batch);
    assert_int_equal(weft_tensor_rank(s->output), wanted->rank);
    assert_int_equal(count_at(s->output, batch), wanted->count);
    op_assert_values(what, weft_tensor_dtype(s->output), r->output, wanted, s->c->roundings);
    f64_track_errors(false);
    for (int i = 0; i < s->input_count; i++)
        if (s->gradients[i]) op_check_gradient(s, batch, sources, i, r->gradients[i]);
}

static void test_case(void **initial) {
    const op_state *const s = *initial;
    for (size_t i = 0; i < batch_count() && is_run(s, i); i++) {
        const f64_mark mark = f64_pool_mark();
        check_batch(s, i);
        f64_pool_release(mark);
    }
}

/* ---- checking that the graph of a case contains its op ---- */

static bool is_function(const char *op) {
#define WI_MAP1(...)
#define WI_MAP2(...)
#define WI_MAP3(...)
#define WI_NODE(...)
#define WI_FUNCTION_ROW(name)                                                                                \
    if (strcmp(op, #name) == 0) return true;
#include "ops/op_list.h"
    return false;
}

static bool holds(const weft_tensor *tensor, const char *op) {
    if (strcmp(tensor->op->name, op) == 0) return true;
    for (int i = 0; i < tensor->input_count; i++)
        if (holds(tensor->inputs[i], op)) return true;
    return false;
}

static void test_op_present(void **initial) {
    const op_cases *const op = *initial;
    for (size_t i = 0; i < suite.count; i++) {
        const op_state *const s = &suite.states[i];
        const bool ours = s->c >= op->cases && s->c < op->cases + op->count;
        if (ours && (is_function(op->op) || holds(s->output, op->op))) return;
    }
    print_error("no case of %s holds a node of that op\n", op->op);
    fail();
}

/* ---- the suite ---- */

/* Elements of the case's largest input. */
static int64_t size_of(const op_case *c) {
    int64_t most = 0;
    for (int i = 0; i < OP_CASE_INPUTS && c->inputs[i].values != OP_ABSENT; i++) {
        int64_t list[WEFT_MAX_RANK + 1], dims[WEFT_MAX_RANK], count = 1;
        source_list(&c->inputs[i], list);
        const int rank = dims_at(list, batches[0], dims);
        for (int k = 0; k < rank; k++) count *= dims[k];
        if (count > most) most = count;
    }
    return most;
}

/* With $WEFT_TEST_REDUCED, an op's cases of few elements run; if it has none, its smallest case does. */
static bool is_in_reduced(const op_cases *ops, size_t which) {
    const int64_t size = size_of(&ops->cases[which]);
    if (size <= REDUCED_ELEMENTS) return true;
    for (size_t i = 0; i < ops->count; i++) {
        const int64_t other = size_of(&ops->cases[i]);
        if (other < size || (other == size && i < which)) return false;
    }
    return true;
}

static void add_cases(const op_cases *ops) {
    for (size_t i = 0; i < ops->count; i++) {
        if (test_reduced() && !test_selects_some() && !is_in_reduced(ops, i)) continue;
        op_state *const s = &suite.states[suite.count];
        s->c = &ops->cases[i];
        snprintf(s->title, sizeof s->title, "%s: %s", ops->op ? ops->op : "fusion", s->c->name);
        if (test_selects(s->title)) suite.count++;
    }
}

int op_suite_run(const char *name, const op_cases *ops, size_t count) {
    size_t total = 0, test_count = 0;
    if (op_tested_format()->dtype == WEFT_F64 && !wi_context_device(test_context())->caps.fp64) {
        print_message("%s: the device has no f64\n", name);
        return 0;
    }
    for (size_t i = 0; i < count; i++) total += ops[i].count;
    suite.ops = ops;
    suite.op_count = count;
    suite.states = calloc(total, sizeof *suite.states);
    struct CMUnitTest *const tests = calloc(total + count, sizeof *tests);
    if (!suite.states || !tests) return 1;
    for (size_t i = 0; i < count; i++) add_cases(&ops[i]);
    if (suite.count == 0) {
        print_error("%s: there is no case '%s'\n", name, getenv("WEFT_TEST_CASES"));
        return 1;
    }
    for (size_t i = 0; i < suite.count; i++)
        tests[test_count++] =
            (struct CMUnitTest){suite.states[i].title, test_case, NULL, NULL, &suite.states[i]};
    for (size_t i = 0; i < count; i++) {
        union {
            const op_cases *from;
            void *to;
        } const initial = {.from = &ops[i]};
        if (ops[i].op)
            tests[test_count++] = (struct CMUnitTest){ops[i].op, test_op_present, NULL, NULL, initial.to};
    }
    const int failed = _cmocka_run_group_tests(name, tests, test_count, suite_setup, suite_teardown);
    if (op_tested_format()->dtype != WEFT_F32) cmocka_set_test_filter("nothing else"); /* is about formats */
    free(tests);
    free(suite.states);
    return failed;
}
