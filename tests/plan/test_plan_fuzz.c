/* Random networks: whatever the planner fuses, moves, shares and overwrites, the numbers are the reference's.
 *
 * A program is a list of instructions over numbered values. It is run twice, as an expression of the library
 * and in float64; half of its values are outputs of the plan, and so is the gradient of a loss with regard to
 * each input. */
#include "support/op_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS_COUNT = 5, MAX_VALUES = 30, GRAPHS = 4 };

typedef enum instruction_kind {
    ADD,
    SUB,
    MUL,
    MAXIMUM,
    WHERE,
    TANH,
    SIGMOID,
    RELU,
    EXP,
    SQUARE,
    SUM,
    MEAN,
    MAX,
    SOFTMAX,
    TRANSPOSE,
    FLATTEN,
    SLICE,
    CONCAT,
    MATMUL,
    KINDS
} instruction_kind;

typedef struct instruction {
    instruction_kind kind;
    int a, b, axis; /* values, by number; the axis for those that have one */
} instruction;

typedef struct program {
    instruction code[MAX_VALUES];
    int count; /* values: the inputs, then one an instruction */
} program;

/* ---- one instruction, twice ---- */

static weft_tensor *apply(const instruction *i, weft_tensor *const *values) {
    weft_tensor *const a = values[i->a], *const b = values[i->b];
    const int64_t axes[] = {i->axis, WEFT_END};
    switch (i->kind) {
    case ADD: return weft_add(a, b);
    case SUB: return weft_sub(a, b);
    case MUL: return weft_mul(a, b);
    case MAXIMUM: return weft_maximum(a, b);
    case WHERE: return weft_where(weft_less(a, b), a, weft_neg(b));
    case TANH: return weft_tanh(a);
    case SIGMOID: return weft_sigmoid(a);
    case RELU: return weft_relu(a);
    case EXP: return weft_exp(weft_tanh(a));
    case SQUARE: return weft_square(a);
    case SUM: return weft_sum_axes(a, axes, i->b % 2);
    case MEAN: return weft_mean_axes(a, axes, i->b % 2);
    case MAX: return weft_max_axes(a, axes, i->b % 2);
    case SOFTMAX: return weft_softmax(a, i->axis);
    case TRANSPOSE: return weft_transpose(a);
    case FLATTEN: return weft_flatten(a);
    case SLICE: return weft_slice(a, i->axis, 1, -1);
    case CONCAT: return weft_concat((weft_tensor *const[]){a, b}, 2, i->axis);
    case MATMUL: return weft_matmul(a, b);
    case KINDS: break;
    }
    return NULL;
}

static double choose(double a, double b, double c) {
    (void)c;
    return a < b ? a : -b;
}

static f64_array *evaluate(const instruction *i, const f64_array *const *values) {
    const f64_array *const a = values[i->a], *const b = values[i->b];
    const int64_t axes[] = {i->axis, WEFT_END};
    switch (i->kind) {
    case ADD: return f64_add(a, b);
    case SUB: return f64_sub(a, b);
    case MUL: return f64_mul(a, b);
    case MAXIMUM: return f64_maximum(a, b);
    case WHERE: return f64_map(choose, a, b, NULL);
    case TANH: return f64_tanh(a);
    case SIGMOID: return f64_sigmoid(a);
    case RELU: return f64_relu(a);
    case EXP: return f64_exp(f64_tanh(a));
    case SQUARE: return f64_square(a);
    case SUM: return f64_sum(a, axes, i->b % 2);
    case MEAN: return f64_mean(a, axes, i->b % 2);
    case MAX: return f64_max(a, axes, i->b % 2);
    case SOFTMAX: return f64_softmax(a, i->axis);
    case TRANSPOSE: return f64_transpose(a);
    case FLATTEN: return f64_reshape(a, 2, (const int64_t[]){a->dims[0], (int64_t)a->count / a->dims[0]});
    case SLICE: return f64_slice(a, i->axis, 1, -1);
    case CONCAT: return f64_concat((const f64_array *const[]){a, b}, 2, i->axis);
    case MATMUL: return f64_matmul(a, b);
    case KINDS: break;
    }
    return NULL;
}

/* ---- which instructions fit ---- */

static bool broadcast_fits(const weft_tensor *a, const weft_tensor *b) {
    for (int axis = -1; axis >= -weft_tensor_rank(a) && axis >= -weft_tensor_rank(b); axis--) {
        const int64_t m = weft_tensor_dimension(a, axis), n = weft_tensor_dimension(b, axis);
        if (m != n && m != 1 && n != 1) return false;
    }
    return true;
}

static bool concat_fits(const weft_tensor *a, const weft_tensor *b, int join) {
    const int64_t m = weft_tensor_dimension(a, join), n = weft_tensor_dimension(b, join);
    if (weft_tensor_rank(a) != weft_tensor_rank(b) || (m < 0) != (n < 0)) return false;
    for (int axis = 0; axis < weft_tensor_rank(a); axis++)
        if (axis != join && weft_tensor_dimension(a, axis) != weft_tensor_dimension(b, axis)) return false;
    return true;
}

static bool fits(const instruction *i, weft_tensor *const *values) {
    const weft_tensor *const a = values[i->a], *const b = values[i->b];
    const int rank = weft_tensor_rank(a);
    if (i->kind <= WHERE) return broadcast_fits(a, b);
    if (i->kind <= SQUARE) return true;
    if (rank == 0) return false;
    switch (i->kind) {
    case TRANSPOSE: return rank >= 2;
    case FLATTEN: return rank >= 3 && weft_tensor_dimension(a, 0) < 0;
    case SLICE: return weft_tensor_dimension(a, i->axis) > 2;
    case CONCAT: return concat_fits(a, b, i->axis);
    case MATMUL:
        return rank >= 2 && weft_tensor_rank(b) >= 2 && rank == weft_tensor_rank(b) &&
               weft_tensor_dimension(a, -1) == weft_tensor_dimension(b, -2) &&
               (rank == 2 || weft_tensor_dimension(a, 0) == weft_tensor_dimension(b, 0));
    default: return true;
    }
}

/* Values that float32 cannot follow (large, or uncertain because a comparison is close) are not built upon.
 */
static bool is_tame(const f64_array *value) {
    if (value->count > 4000 || value->rank > 4) return false;
    for (size_t i = 0; i < value->count; i++)
        if (!(fabs(value->value[i]) < 50) || !(value->error[i] < 1e-3)) return false;
    return true;
}

/* ---- making a program ---- */

static const op_input inputs[INPUTS_COUNT] = {F32(-1, 1, WEFT_BATCH, 6), F32(-1, 1, 6, 5),
    F32_PARAMETER(-1, 1, 5), F32(-1, 1, WEFT_BATCH, 1), F32(-1, 1, WEFT_BATCH, 3, 6)};

static f64_array *input_values(int which, uint64_t number, int64_t batch) {
    int64_t dims[WEFT_MAX_RANK];
    const int rank = f64_list_length(inputs[which].dims);
    for (int i = 0; i < rank; i++) dims[i] = inputs[which].dims[i] < 0 ? batch : inputs[which].dims[i];
    f64_array *const values = f64_zeros(rank, dims);
    test_random random = test_random_named("fuzz input", number * INPUTS_COUNT + (uint64_t)which);
    for (size_t i = 0; i < values->count; i++)
        values->value[i] = (double)(float)test_random_between(&random, inputs[which].low, inputs[which].high);
    return values;
}

static weft_tensor *input_tensor(weft_graph *graph, int which) {
    char name[16];
    snprintf(name, sizeof name, "input%d", which);
    const int rank = f64_list_length(inputs[which].dims);
    if (inputs[which].values == OP_PARAMETER)
        return weft_parameter_shape(
            graph, name, (weft_initialiser){.kind = WEFT_INIT_CONSTANT}, rank, inputs[which].dims);
    return weft_input_shape(graph, name, WEFT_F32, rank, inputs[which].dims);
}

/* Draws instructions until the program is full; `tensors` gets the library's values. */
static void make_program(program *p, weft_graph *graph, uint64_t number, weft_tensor **tensors) {
    const f64_array *values[MAX_VALUES];
    test_random random = test_random_named("fuzz program", number);
    const int length = test_reduced() ? 16 : MAX_VALUES;
    for (p->count = 0; p->count < INPUTS_COUNT; p->count++) {
        values[p->count] = input_values(p->count, number, 7);
        tensors[p->count] = input_tensor(graph, p->count);
    }
    while (p->count < length) {
        instruction i = {(instruction_kind)test_random_below(&random, KINDS), 0, 0, 0};
        /* mostly of late values, so that chains grow long */
        const int64_t recent = test_random_below(&random, 3) ? p->count - (p->count > 12 ? 8 : 0) : p->count;
        i.a = (int)(p->count - 1 - test_random_below(&random, recent < 8 ? 8 : p->count) % p->count);
        i.b = (int)test_random_below(&random, p->count);
        const int rank = weft_tensor_rank(tensors[i.a]);
        i.axis = rank ? (int)test_random_below(&random, rank) : 0;
        if (!fits(&i, tensors)) continue;
        values[p->count] = evaluate(&i, values);
        if (!is_tame(values[p->count])) continue;
        tensors[p->count] = apply(&i, tensors);
        assert_weft_ok(weft_graph_status(graph));
        p->code[p->count++] = i;
    }
}

static void evaluate_program(const program *p, const f64_array **values) {
    for (int i = INPUTS_COUNT; i < p->count; i++) values[i] = evaluate(&p->code[i], values);
}

/* ---- the gradient of the mean square of the last values ---- */

enum { LOSS_TERMS = 4 };

static weft_tensor *loss_tensor(const program *p, weft_tensor *const *tensors) {
    weft_tensor *loss = NULL;
    for (int i = p->count - LOSS_TERMS; i < p->count; i++) {
        weft_tensor *const term = weft_mean(weft_sigmoid(tensors[i]));
        loss = loss ? weft_add(loss, term) : term;
    }
    return loss;
}

static double loss_at(const program *p, const f64_array *const *sources, int which, const f64_array *source) {
    const f64_mark mark = f64_pool_mark();
    const f64_array *values[MAX_VALUES];
    memcpy(values, sources, INPUTS_COUNT * sizeof *values);
    values[which] = source;
    evaluate_program(p, values);
    double loss = 0;
    for (int i = p->count - LOSS_TERMS; i < p->count; i++)
        loss += f64_mean(f64_sigmoid(values[i]), NULL, false)->value[0];
    f64_pool_release(mark);
    return loss;
}

static void check_gradient(
    const program *p, const f64_array *const *sources, int which, const float *gradient) {
    const double step = 1e-6;
    const f64_array *const source = sources[which];
    f64_array *const up = f64_copy(source), *const down = f64_copy(source);
    test_random random = test_random_named("fuzz direction", (uint64_t)which);
    double along = 0, squares = 0;
    for (size_t i = 0; i < source->count; i++) {
        const double direction = test_random_between(&random, -1, 1), part = direction * (double)gradient[i];
        up->value[i] += step * direction;
        down->value[i] -= step * direction;
        along += part;
        squares += part * part;
    }
    f64_track_errors(false);
    const double expected = (loss_at(p, sources, which, up) - loss_at(p, sources, which, down)) / (2 * step);
    f64_track_errors(true);
    if (fabs(along - expected) > 1e-4 * sqrt(squares) + 1e-8)
        fail_msg("gradient of input %d: %.9g instead of %.9g along a direction", which, along, expected);
}

/* ---- one random network at one batch size ---- */

/* What to look at when a network fails: WEFT_TEST_VERBOSE=1 prints it. */
static void show_program(const program *p, weft_tensor *const *tensors) {
    static const char *const names[] = {"add", "sub", "mul", "maximum", "where", "tanh", "sigmoid", "relu",
        "exp", "square", "sum", "mean", "max", "softmax", "transpose", "flatten", "slice", "concat",
        "matmul"};
    for (int i = 0; i < p->count; i++) {
        const instruction *const code = &p->code[i];
        print_message("%3d = %s(%d, %d) axis %d  (", i, i < INPUTS_COUNT ? "input" : names[code->kind],
            code->a, code->b, code->axis);
        for (int k = 0; k < weft_tensor_rank(tensors[i]); k++)
            print_message(" %lld", (long long)weft_tensor_dimension(tensors[i], k));
        print_message(" )\n");
    }
}

typedef struct network {
    uint64_t number;
    program program;
    weft_graph *graph;
    weft_tensor *tensors[MAX_VALUES];
    weft_tensor *gradients[INPUTS_COUNT];
    int shown[MAX_VALUES], shown_count; /* values that are outputs */
} network;

static void check_values(const network *n, weft_plan *plan, const f64_array *const *values) {
    static float got[4000 * 3];
    for (int i = 0; i < n->shown_count; i++) {
        const int which = n->shown[i];
        char what[80];
        snprintf(what, sizeof what, "network %d, value %d", (int)n->number, which);
        assert_true(values[which]->count <= sizeof got / sizeof *got);
        assert_weft_ok(weft_plan_read(plan, n->tensors[which], got, values[which]->count * sizeof *got));
        op_assert_close(what, WEFT_F32, got, values[which]);
    }
    for (int i = 0; i < INPUTS_COUNT; i++) {
        assert_weft_ok(weft_plan_read(plan, n->gradients[i], got, values[i]->count * sizeof *got));
        check_gradient(&n->program, values, i, got);
    }
}

/* Within all the memory that it likes, or the least that it can do with. */
static weft_plan *plan_within(weft_tensor *const *outputs, size_t count, int64_t batch, bool least) {
    weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = batch, .memory_limit = 1};
    weft_plan *plan = NULL;
    if (least) {
        assert_weft_fails(
            WEFT_ERROR_MEMORY_LIMIT, weft_plan_create(&plan, outputs, count, &options), "at least");
        assert_int_equal(
            sscanf(weft_last_error(), "plan: needs at least %zu bytes", &options.memory_limit), 1);
    }
    if (!least) options.memory_limit = 0;
    assert_weft_ok(weft_plan_create(&plan, outputs, count, &options));
    return plan;
}

static void run_network(const network *n, int64_t batch, bool least) {
    weft_tensor *outputs[MAX_VALUES + 2 * INPUTS_COUNT];
    size_t count = 0;
    for (int i = 0; i < n->shown_count; i++) outputs[count++] = n->tensors[n->shown[i]];
    for (int i = 0; i < INPUTS_COUNT; i++) {
        outputs[count++] = n->gradients[i];
        outputs[count++] = n->tensors[i]; /* so that the plan has every input */
    }
    weft_plan *const plan = plan_within(outputs, count, batch, least);
    const f64_array *values[MAX_VALUES];
    for (int i = 0; i < INPUTS_COUNT; i++) {
        f64_array *const input = input_values(i, n->number, batch);
        float *const memory = calloc(input->count, sizeof *memory);
        assert_non_null(memory);
        f64_to_dtype(WEFT_F32, input->value, input->count, memory);
        const size_t bytes = input->count * sizeof *memory;
        assert_weft_ok(inputs[i].values == OP_PARAMETER
                           ? weft_tensor_write(n->tensors[i], memory, bytes)
                           : weft_plan_write(plan, n->tensors[i], memory, bytes));
        free(memory);
        values[i] = input;
    }
    evaluate_program(&n->program, values);
    for (int run = 0; run < 2; run++) { /* the second run meets what the first left in memory */
        assert_weft_ok(weft_plan_run(plan));
        check_values(n, plan, values);
    }
    weft_plan_release(plan);
}

static void test_network(void **state) {
    network n = {.number = (uint64_t)(uintptr_t)*state, .graph = test_graph()};
    f64_track_errors(true);
    make_program(&n.program, n.graph, n.number, n.tensors);
    test_random random = test_random_named("fuzz outputs", n.number);
    for (int i = INPUTS_COUNT; i < n.program.count; i++)
        if (test_random_below(&random, 2)) n.shown[n.shown_count++] = i;
    assert_weft_ok(weft_gradients(loss_tensor(&n.program, n.tensors), n.tensors, INPUTS_COUNT, n.gradients));
    if (getenv("WEFT_TEST_VERBOSE")) show_program(&n.program, n.tensors);
    run_network(&n, 7, false);
    run_network(&n, 7, true);
    if (!test_reduced()) run_network(&n, 16, false);
    weft_graph_release(n.graph);
    f64_pool_release(NULL);
}

int main(void) {
    static char names[GRAPHS][32];
    struct CMUnitTest tests[GRAPHS];
    const size_t count = test_reduced() ? 1 : GRAPHS;
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "network %zu", i);
        tests[i] = (struct CMUnitTest){names[i], test_network, NULL, NULL, (void *)(uintptr_t)i};
    }
    return test_finish(_cmocka_run_group_tests("random networks", tests, count, NULL, NULL));
}
