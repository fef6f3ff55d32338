/* Draws programs: see random_program.h. */
#include "random/drawing.h"
#include "random/pairs.h"
#include <math.h>
#include <string.h>

/* Values that f32 cannot follow (large, or uncertain because comparisons are close) are not built upon. */
static bool is_tame(const f64_array *a) {
    size_t uncertain = 0;
    for (size_t i = 0; i < a->count; i++) {
        if (!(fabs(a->value[i]) < 1e4)) return false;
        uncertain += !(a->error[i] <= 1e-2 * fmax(1, fabs(a->value[i])));
    }
    return uncertain * 20 <= a->count;
}

static void rebuild(oracle_draw *draw) {
    weft_context *const context = weft_graph_context(draw->built.graph);
    weft_graph_release(draw->built.graph);
    draw->failed = program_build(&draw->built, context, draw->p, draw->p->count, &draw->sizes) != WEFT_OK;
}

/* The call becomes value p->count, unless the library refuses it or its numbers are wild. */
static bool accept(oracle_draw *draw, const oracle_call *call) {
    program *const p = draw->p;
    const int at = p->count;
    p->values[at] = (program_value){.is_call = true, .call = *call};
    draw->built.tensors[at] = program_build_call(&draw->built, call, &draw->sizes);
    if (weft_graph_status(draw->built.graph) != WEFT_OK || !draw->built.tensors[at]) return false;
    p->values[at].source.dtype = weft_tensor_dtype(draw->built.tensors[at]);
    draw->arrays[at] = program_evaluate_call(p, at, &draw->sizes, draw->arrays);
    if ((int64_t)draw->arrays[at]->count > 4 * draw->most || draw->arrays[at]->rank > 7) return false;
    if (draw->arrays[at]->count == 0 || !is_tame(draw->arrays[at])) return false;
    p->count++;
    return true;
}

static bool draw_call(oracle_draw *draw, const oracle_op *op, oracle_call *call) {
    *call = (oracle_call){.op = op, .dims = {WEFT_END}};
    for (int i = 0; i < ORACLE_INPUTS; i++) call->inputs[i] = -1;
    const bool drawn = op->draw(draw, call);
    for (int i = 0; i < ORACLE_INPUTS; i++)
        if (call->inputs[i] >= 0 && call->input_count <= i) call->input_count = i + 1;
    call->draws = program_draws_before(draw->p, draw->p->count);
    return drawn && !draw->failed;
}

static void forget_since(oracle_draw *draw, int count) {
    draw->p->count = count;
    rebuild(draw);
}

static int64_t largest_input(const oracle_draw *draw, const oracle_call *call) {
    int64_t most = 0;
    for (int i = 0; i < call->input_count; i++)
        if (call->inputs[i] >= 0 && draw_count(draw, call->inputs[i]) > most)
            most = draw_count(draw, call->inputs[i]);
    return most;
}

static bool try_op(oracle_draw *draw, const oracle_op *op) {
    const int count = draw->p->count;
    oracle_call call;
    if (draw_call(draw, op, &call) && accept(draw, &call)) {
        draw->p->values[draw->p->count - 1].elements = largest_input(draw, &call);
        return true;
    }
    forget_since(draw, count);
    return false;
}

/* ---- the subject: of several calls the one with the most pairs that no program of its op has ---- */

typedef struct candidate {
    program_random random; /* that draws it */
    int missing;           /* such pairs; -1: it cannot be drawn */
} candidate;

static candidate draw_candidate(oracle_draw *draw, const oracle_op *op, int number) {
    const int count = draw->p->count;
    candidate c = {program_random_of(draw->p->seed, draw->p->number, 6000 + (uint64_t)number), -1};
    oracle_call call;
    draw->random = c.random;
    if (draw_call(draw, op, &call)) {
        const int64_t elements = largest_input(draw, &call);
        if (draw->options->pairs) program_pairs_note(draw->options->pairs, &call, elements, false);
        c.missing = program_pairs_missing(draw->covered, &call, elements);
    }
    forget_since(draw, count);
    return c;
}

static bool try_subject(oracle_draw *draw, const oracle_op *op) {
    candidate candidates[PROGRAM_CANDIDATES];
    const int asked = draw->options->candidates;
    const int count = asked > 0 && asked < PROGRAM_CANDIDATES ? asked : PROGRAM_CANDIDATES;
    for (int i = 0; i < count; i++) candidates[i] = draw_candidate(draw, op, i);
    for (int done = 0; done < count; done++) {
        int best = 0;
        for (int i = 1; i < count; i++)
            if (candidates[i].missing > candidates[best].missing) best = i;
        if (candidates[best].missing < 0) break;
        candidates[best].missing = -1;
        draw->random = candidates[best].random;
        if (!try_op(draw, op)) continue;
        const program_value *const value = &draw->p->values[draw->p->count - 1];
        program_pairs_note(draw->covered, &value->call, value->elements, true);
        return true;
    }
    return false;
}

static bool is_alike(const oracle_draw *draw, int a, int b) {
    const int rank = draw_rank(draw, a);
    if (draw_dtype(draw, a) != draw_dtype(draw, b) || rank != draw_rank(draw, b)) return false;
    for (int i = 0; i < rank; i++)
        if (draw_dim(draw, a, i) != draw_dim(draw, b, i)) return false;
    return true;
}

/* A state may get the latest value of its dtype and shape. */
static void draw_assignment(oracle_draw *draw, int state) {
    program_value *const values = draw->p->values;
    if (values[state].is_call || values[state].source.kind != PROGRAM_STATE || values[state].source.changed ||
        values[state].source.below)
        return;
    if (!draw_chance(draw, 60)) return;
    for (int i = draw->p->count - 1; i > state && values[state].assigned == 0; i--)
        if (values[i].is_call && is_alike(draw, state, i)) values[state].assigned = i;
}

static bool has_first_gradient_only(const oracle_call *call) {
    return call->op->first_gradient_only;
}

static void draw_outputs(oracle_draw *draw) {
    program *const p = draw->p;
    bool read[PROGRAM_VALUES] = {false};
    for (int i = 0; i < p->count; i++)
        for (int k = 0; p->values[i].is_call && k < p->values[i].call.input_count; k++)
            if (p->values[i].call.inputs[k] >= 0) read[p->values[i].call.inputs[k]] = true;
    for (int i = 0; i < p->count; i++)
        p->values[i].shown = p->values[i].is_call && (!read[i] || draw_chance(draw, 40));
    for (int i = p->count - 1; i >= 0 && p->loss_count < PROGRAM_LOSS_TERMS; i--) {
        const bool may =
            p->values[i].is_call && p->values[i].source.dtype == p->format && !program_has_no_gradient(p, i);
        if (may && (!read[i] || draw_chance(draw, 30))) p->loss[p->loss_count++] = i;
    }
    for (int i = 0; i < p->count; i++) draw_assignment(draw, i);
    p->minimizes =
        p->loss_count > 0 && program_stored(p) == WEFT_F32 && !p->inference && draw_chance(draw, 20);
    p->clip_norm = p->minimizes && draw_chance(draw, 50) ? 0.5f : 0;
    for (int i = 0; i < p->count; i++) p->frozen |= (uint64_t)(p->minimizes && draw_chance(draw, 25)) << i;
    p->second = p->loss_count > 0 && draw_chance(draw, 20);
    for (int term = 0; term < p->loss_count; term++)
        p->second = p->second && !program_any_call(p, p->loss[term], has_first_gradient_only);
}

static void draw_frame(oracle_draw *draw) {
    static const int64_t mosts[] = {64, 512, 512, 2048, 4096, 4096, 12288}, batches[] = {2, 3, 5},
                         lengths[] = {3, 5, 8};
    program *const p = draw->p;
    p->free_batch = draw_chance(draw, 65);
    p->free_length = draw_chance(draw, 25);
    p->inference = draw_chance(draw, 15);
    p->batch = batches[draw_below(draw, 3)];
    p->length = lengths[draw_below(draw, 3)];
    draw->most = mosts[draw_below(draw, 7)];
}

static size_t common_divisor(size_t a, size_t b) {
    return b == 0 ? a : common_divisor(b, a % b);
}

/* The subject is one op after the other, in an order that differs from round to round, so that every op is the subject of as many programs
 * as any other. */
typedef struct round_order {
    size_t count, first,
        step; /* op number i of the round is op first + i · step of the table, modulo count */
} round_order;

static round_order order_of(const program_options *options, uint64_t round) {
    program_random random = program_random_of(options->seed, round, 3);
    round_order order = {.count = oracle_op_count()};
    order.first = program_random_bits(&random) % order.count;
    order.step = 1 + program_random_bits(&random) % order.count;
    /* A step without a common divisor meets each op once. */
    while (common_divisor(order.count, order.step) > 1) order.step++;
    return order;
}

static size_t op_in(const round_order *order, uint64_t i) {
    return (order->first + i % order->count * order->step) % order->count;
}

static const oracle_op *subject_of(const program_options *options, uint64_t number) {
    if (options->only) return oracle_find(options->only);
    const round_order order = order_of(options, number / oracle_op_count());
    return oracle_op_at(op_in(&order, number));
}

/* The program that has the subject in that round. */
static uint64_t number_in_round(const program_options *options, const oracle_op *subject, uint64_t round) {
    if (options->only) return round;
    const round_order order = order_of(options, round);
    uint64_t i = 0;
    while (oracle_op_at(op_in(&order, i)) != subject) i++;
    return round * order.count + i;
}

/* Half of the other calls are ops that the planner fuses, moves and shares most, so that each op meets them often; half are any. */
static const oracle_op *draw_op(oracle_draw *draw) {
    static const char *const common[] = {"add", "mul", "sub", "where", "exp", "tanh", "relu", "sum", "mean",
        "max", "var", "softmax", "logsumexp", "layer_norm", "reshape", "permute", "slice", "concat", "expand",
        "pad", "roll", "matmul", "linear_with", "conv_with"};
    if (draw_chance(draw, 50)) return oracle_find(common[draw_below(draw, sizeof common / sizeof *common)]);
    return oracle_op_at((size_t)draw_below(draw, (int64_t)oracle_op_count()));
}

/* `covered` has the pairs of the subject's calls in the programs before, and gets those of its call here. With `begun`, what comes after
 * that call is left out. */
static bool draw_after(program *p, weft_context *context, const program_options *options, uint64_t number,
    program_pairs *covered, bool begun) {
    *p = (program){
        .seed = options->seed, .number = number, .format = options->format, .precision = options->precision};
    oracle_draw draw = {.p = p,
        .random = program_random_of(options->seed, number, 0),
        .options = options,
        .covered = covered};
    const oracle_op *const subject = subject_of(options, number);
    draw_frame(&draw);
    draw.sizes = program_sizes(p, context);
    if (!subject || program_build(&draw.built, context, p, 0, &draw.sizes) != WEFT_OK) return false;
    const int calls = 2 + (int)draw_below(&draw, PROGRAM_CALLS - 1), at = (int)draw_below(&draw, calls);
    for (int done = 0, tries = 0; done < calls && tries < 60 && p->count < PROGRAM_VALUES - 10; tries++) {
        const bool is_subject = done == at && tries < 40;
        const bool taken = is_subject ? try_subject(&draw, subject) : try_op(&draw, draw_op(&draw));
        done += taken;
        if (begun && is_subject && taken) break;
    }
    if (!begun) draw_outputs(&draw);
    weft_graph_release(draw.built.graph);
    return true;
}

/* The pairs that the subject has in the rounds before are those of the programs that are drawn there: they are drawn again. So that these
 * are few, every 16th round begins anew. */
bool program_draw(program *p, weft_context *context, const program_options *options, uint64_t number) {
    enum { ROUNDS = 16 };
    const uint64_t round = options->only ? number : number / oracle_op_count();
    const oracle_op *const subject = subject_of(options, number);
    program_options silent = *options;
    program_pairs *const covered = program_pairs_create();
    bool drawn = covered && subject;
    silent.pairs = NULL;
    for (uint64_t r = round - round % ROUNDS; r < round && drawn; r++) {
        const f64_mark mark = f64_pool_mark();
        drawn = draw_after(p, context, &silent, number_in_round(options, subject, r), covered, true);
        f64_pool_release(mark);
    }
    drawn = drawn && draw_after(p, context, options, number, covered, false);
    program_pairs_release(covered);
    return drawn;
}
