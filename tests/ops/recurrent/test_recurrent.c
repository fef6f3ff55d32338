/* LSTM, GRU and RNN over time against float64, step by step: options, lengths, states, sizes across the
 * kernels' tiles; single steps; bad input. */
/* test slow gpu:optimised */
/* test.mixed format=mixed WEFT_RECURRENT=amx optimised */
/* test.mixed.model format=mixed WEFT_RECURRENT=amx WEFT_MATRIX_ENGINES=model */
/* test.mixed.cpu format=mixed WEFT_RECURRENT=cpu WEFT_MATRIX_ENGINES=0 optimised */
/* test.forward_naive WEFT_RECURRENT=forward_naive reduced slow */
/* test.gradient_naive WEFT_RECURRENT=back_naive reduced slow */
/* test.{rows8,rows4,rows2,rows4_256,rows2_256,rows4_64} gpu WEFT_RECURRENT=gpu/{} */
/* test.{rows8,rows4,rows2,rows4_256,rows2_256,rows4_64}.blocks gpu WEFT_RECURRENT=gpu/{} "WEFT_BUILD_OPTIONS=-cl-opt-disable -D WEFT_R_BLOCK_FIRST=1 -D WEFT_R_ALIGNED=1" */
/* test.mixed.gpu format=mixed */
/* test.mixed.roomy48.mma device=roomy48 format=mixed WEFT_RECURRENT=gpu_mma WEFT_MATRIX_ENGINES=model-mma optimised */
/* test.mixed.slow.mma device=slow format=mixed WEFT_RECURRENT=gpu_mma WEFT_MATRIX_ENGINES=model-mma optimised */
/* test.mixed.roomy48.{wmma,wmma12,mfma,xmx8,xmx16} device=roomy48 format=mixed WEFT_RECURRENT=gpu_{} WEFT_MATRIX_ENGINES=model-{} WEFT_TEST_CASES=*units* optimised */
/* test.{least,processor,group8,group1} device={} reduced short_launches */
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include "oracle/reference_recurrent.h"

/* ---- the cases' shape: start holds flags; inputs stand in this order, those that there are ---- */

enum {
    BIASED = 1,
    H0 = 2,
    C0 = 4,
    PROJECTED = 8,
    LENGTHS = 16,
    LEFT = 32,
    REVERSE = 64,
    TIME_MAJOR = 128,
    VARIANT = 256,  /* RNN: relu; GRU: reset_first */
    ONLY_LAST = 512 /* the result is the last states alone */
};
enum { LSTM = F64_LSTM, GRU = F64_GRU, RNN = F64_RNN };

typedef struct given {
    int x, w_ih, w_hh, b_ih, b_hh, h0, c0, w_hr, lengths; /* -1: not there */
} given;

static given inputs_of(const op_case *c) {
    int next = 3;
    given g = {.x = 0, .w_ih = 1, .w_hh = 2};
    g.b_ih = c->start & BIASED ? next++ : -1;
    g.b_hh = c->start & BIASED ? next++ : -1;
    g.h0 = c->start & H0 ? next++ : -1;
    g.c0 = c->start & C0 ? next++ : -1;
    g.w_hr = c->start & PROJECTED ? next++ : -1;
    g.lengths = c->start & LENGTHS ? next++ : -1;
    return g;
}

static weft_tensor *pick(weft_tensor *const *inputs, int index) {
    return index < 0 ? NULL : inputs[index];
}

static weft_recurrent_weights weights_of(const given *g, weft_tensor *const *inputs) {
    return (weft_recurrent_weights){.weight_ih = inputs[g->w_ih],
        .weight_hh = inputs[g->w_hh],
        .bias_ih = pick(inputs, g->b_ih),
        .bias_hh = pick(inputs, g->b_hh),
        .weight_hr = pick(inputs, g->w_hr)};
}

/* y, h and c side by side: (N, T·P + P + H). */
static weft_tensor *side_by_side(const op_case *c, weft_recurrent r) {
    weft_tensor *parts[3];
    size_t count = 0;
    if (!r.h) return NULL;
    if (r.y && !(c->start & ONLY_LAST)) {
        weft_tensor *const y = c->start & TIME_MAJOR ? weft_permute(r.y, 1, 0, 2) : r.y;
        parts[count++] = weft_reshape(
            y, weft_tensor_dimension(y, 0), weft_tensor_dimension(y, 1) * weft_tensor_dimension(y, 2));
    }
    parts[count++] = r.h;
    if (r.c) parts[count++] = r.c;
    return count == 1 ? parts[0] : weft_concat(parts, count, 1);
}

static weft_tensor *build_sequence(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    const given g = inputs_of(c);
    const weft_recurrent_weights w = weights_of(&g, inputs);
    weft_sequence_options o = {WEFT_SEQUENCE_OPTIONS_INIT, .h0 = pick(inputs, g.h0), .c0 = pick(inputs, g.c0),
        .lengths = pick(inputs, g.lengths), .left_padded = (c->start & LEFT) != 0,
        .reverse = (c->start & REVERSE) != 0, .time_major = (c->start & TIME_MAJOR) != 0};
    o.relu = c->axis == RNN && (c->start & VARIANT);
    o.reset_first = c->axis == GRU && (c->start & VARIANT);
    return side_by_side(c, c->axis == LSTM  ? weft_lstm_with(inputs[0], &w, &o)
                           : c->axis == GRU ? weft_gru_with(inputs[0], &w, &o)
                                            : weft_rnn_with(inputs[0], &w, &o));
}

static weft_tensor *build_cell(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    const given g = inputs_of(c);
    const weft_recurrent_weights w = weights_of(&g, inputs);
    const bool variant = c->start & VARIANT;
    return side_by_side(c, c->axis == LSTM  ? weft_lstm_cell(inputs[0], inputs[g.h0], inputs[g.c0], &w)
                           : c->axis == GRU ? weft_gru_cell(inputs[0], inputs[g.h0], &w, variant)
                                            : weft_rnn_cell(inputs[0], inputs[g.h0], &w, variant));
}

/* ---- references ---- */

static const f64_array *input_at(const f64_array *const *inputs, int index) {
    return index < 0 ? NULL : inputs[index];
}

static f64_network network_of(const op_case *c, const f64_array *const *inputs) {
    const given g = inputs_of(c);
    return (f64_network){.cell = (f64_cell)c->axis,
        .variant = (c->start & VARIANT) != 0,
        .weight_ih = inputs[g.w_ih],
        .weight_hh = inputs[g.w_hh],
        .bias_ih = input_at(inputs, g.b_ih),
        .bias_hh = input_at(inputs, g.b_hh),
        .weight_hr = input_at(inputs, g.w_hr),
        .h0 = input_at(inputs, g.h0),
        .c0 = input_at(inputs, g.c0),
        .lengths = input_at(inputs, g.lengths),
        .left_padded = (c->start & LEFT) != 0,
        .reverse = (c->start & REVERSE) != 0,
        .time_major = (c->start & TIME_MAJOR) != 0};
}

static f64_array *reference_sequence(const op_case *c, const f64_array *const *inputs) {
    const f64_network n = network_of(c, inputs);
    const f64_recurrent r = f64_recurrent_sequence(&n, inputs[0]);
    const f64_array *parts[3], *y = n.time_major ? f64_permute(r.y, (const int[]){1, 0, 2}) : r.y;
    size_t count = 0;
    if (!(c->start & ONLY_LAST))
        parts[count++] = f64_reshape(y, 2, (const int64_t[]){y->dims[0], y->dims[1] * y->dims[2]});
    parts[count++] = r.h;
    if (c->axis == LSTM) parts[count++] = r.c;
    return f64_concat(parts, count, 1);
}

static f64_array *reference_cell(const op_case *c, const f64_array *const *inputs) {
    const f64_network n = network_of(c, inputs);
    const f64_recurrent r = f64_recurrent_step(&n, inputs[0]);
    return f64_concat((const f64_array *const[]){r.h, r.c}, c->axis == LSTM ? 2 : 1, 1);
}

/* ---- cases ---- */

#define X(...) F32(-1.5, 1.5, __VA_ARGS__)
#define W(...) F32(-0.6, 0.6, __VA_ARGS__)
#define B      WEFT_BATCH

/* What reduced runs have: small, but every weight changes results by more than mixed precision may. */
#define LARGE(...) F32(-2, 2, __VA_ARGS__)

/* "engine": for interpreters of OpenCL, one group of a matrix engine's kernels, whose loop over the states has two blocks. */
static const op_case lstm_cases[] = {
    CASE("engine, two blocks, projection, lengths", sequence,
        INPUTS(X(2, 2, 2), W(136, 2), F32(-0.3, 0.3, 136, 33), X(2, 33), X(2, 34), F32(-0.3, 0.3, 33, 34),
            I32(0, 2, 2)),
        .axis = LSTM, .start = H0 | C0 | PROJECTED | LENGTHS),
    CASE("two of each", sequence, INPUTS(X(2, 2, 2), LARGE(8, 2), LARGE(8, 2), X(2, 2), X(2, 2)),
        .axis = LSTM, .start = H0 | C0),
    CASE("all inputs, batch", sequence,
        INPUTS(X(B, 3, 5), W(28, 5), W(28, 7), W(28), W(28), X(B, 7), X(B, 7)), .axis = LSTM,
        .start = BIASED | H0 | C0),
    CASE("reverse", sequence, INPUTS(X(3, 2, 5), W(28, 5), W(28, 7), W(28), W(28), X(3, 7), X(3, 7)),
        .axis = LSTM, .start = BIASED | H0 | C0 | REVERSE),
    CASE("h0 alone, last states alone", sequence, INPUTS(X(3, 2, 5), W(28, 5), W(28, 7), X(3, 7)),
        .axis = LSTM, .start = H0 | ONLY_LAST),
    CASE(
        "across tiles of rows and units", sequence, INPUTS(X(31, 3, 4), W(156, 4), W(156, 39)), .axis = LSTM),
    CASE("seven rows", sequence, INPUTS(X(7, 2, 3), W(20, 3), W(20, 5)), .axis = LSTM, .start = REVERSE),
    CASE("time-major, wide", sequence, INPUTS(X(2, 3, 3), F32(-0.1, 0.1, 1040, 3), F32(-0.1, 0.1, 1040, 260)),
        .axis = LSTM, .start = TIME_MAJOR),
    CASE("few rows, shared units", sequence,
        INPUTS(X(1, 4, 3), F32(-0.2, 0.2, 520, 3), F32(-0.2, 0.2, 520, 130), X(1, 130), X(1, 130)),
        .axis = LSTM, .start = H0 | C0),
    CASE("few rows, shared units, lengths, reverse", sequence,
        INPUTS(
            X(3, 4, 3), F32(-0.2, 0.2, 520, 3), F32(-0.2, 0.2, 520, 130), X(3, 130), X(3, 130), I32(0, 4, 3)),
        .axis = LSTM, .start = H0 | C0 | LENGTHS | REVERSE),
    CASE("many steps", sequence, INPUTS(X(1, 35, 2), W(16, 2), W(16, 4)), .axis = LSTM),
    CASE("projection", sequence,
        INPUTS(X(B, 3, 5), W(28, 5), W(28, 3), W(28), W(28), X(B, 3), X(B, 7), W(3, 7)), .axis = LSTM,
        .start = BIASED | H0 | C0 | PROJECTED),
    CASE("projection, lengths, reverse", sequence,
        INPUTS(X(5, 4, 5), W(28, 5), W(28, 3), X(5, 3), X(5, 7), W(3, 7), I32(0, 4, 5)), .axis = LSTM,
        .start = H0 | C0 | PROJECTED | LENGTHS | REVERSE),
    CASE("few rows, shared units, projection", sequence,
        INPUTS(X(1, 3, 3), F32(-0.2, 0.2, 520, 3), F32(-0.2, 0.2, 520, 70), X(1, 70), X(1, 130),
            F32(-0.2, 0.2, 70, 130)),
        .axis = LSTM, .start = H0 | C0 | PROJECTED),
    CASE("lengths", sequence, INPUTS(X(B, 4, 3), W(28, 3), W(28, 7), X(B, 7), X(B, 7), I32(0, 4, B)),
        .axis = LSTM, .start = H0 | C0 | LENGTHS),
    CASE("lengths, reverse", sequence, INPUTS(X(6, 4, 3), W(28, 3), W(28, 7), X(6, 7), X(6, 7), I32(0, 4, 6)),
        .axis = LSTM, .start = H0 | C0 | LENGTHS | REVERSE),
    CASE("lengths, left", sequence, INPUTS(X(6, 4, 3), W(28, 3), W(28, 7), X(6, 7), X(6, 7), I32(0, 4, 6)),
        .axis = LSTM, .start = H0 | C0 | LENGTHS | LEFT),
    CASE("lengths, left, reverse", sequence,
        INPUTS(X(6, 4, 3), W(28, 3), W(28, 7), X(6, 7), X(6, 7), I32(0, 4, 6)), .axis = LSTM,
        .start = H0 | C0 | LENGTHS | LEFT | REVERSE),
};

static const op_case gru_cases[] = {
    CASE("engine, two blocks, reset first", sequence,
        INPUTS(X(2, 2, 2), W(102, 2), F32(-0.3, 0.3, 102, 34), X(2, 34)), .axis = GRU, .start = H0 | VARIANT),
    CASE("two of each", sequence, INPUTS(X(2, 2, 2), LARGE(6, 2), LARGE(6, 2), X(2, 2)), .axis = GRU,
        .start = H0),
    CASE("all inputs, batch", sequence, INPUTS(X(B, 3, 5), W(21, 5), W(21, 7), W(21), W(21), X(B, 7)),
        .axis = GRU, .start = BIASED | H0),
    CASE("lengths, reverse", sequence,
        INPUTS(X(6, 4, 5), W(21, 5), W(21, 7), W(21), W(21), X(6, 7), I32(0, 4, 6)), .axis = GRU,
        .start = BIASED | H0 | LENGTHS | REVERSE),
    CASE("across tiles", sequence, INPUTS(X(31, 3, 4), W(117, 4), W(117, 39)), .axis = GRU),
    CASE("nine rows", sequence, INPUTS(X(9, 2, 3), W(15, 3), W(15, 5)), .axis = GRU),
    CASE("few rows, shared units", sequence,
        INPUTS(X(1, 3, 3), F32(-0.2, 0.2, 480, 3), F32(-0.2, 0.2, 480, 160), F32(-0.2, 0.2, 480),
            F32(-0.2, 0.2, 480), X(1, 160)),
        .axis = GRU, .start = BIASED | H0),
    CASE("reset first, batch", sequence, INPUTS(X(B, 3, 5), W(21, 5), W(21, 7), W(21), W(21), X(B, 7)),
        .axis = GRU, .start = BIASED | H0 | VARIANT),
    CASE("reset first, lengths", sequence,
        INPUTS(X(6, 4, 5), W(21, 5), W(21, 7), W(21), W(21), X(6, 7), I32(0, 4, 6)), .axis = GRU,
        .start = BIASED | H0 | LENGTHS | VARIANT),
    CASE("reset first, few rows, shared units", sequence,
        INPUTS(X(1, 3, 3), F32(-0.2, 0.2, 480, 3), F32(-0.2, 0.2, 480, 160), X(1, 160)), .axis = GRU,
        .start = H0 | VARIANT),
    CASE("reset first, across tiles", sequence, INPUTS(X(31, 3, 4), W(117, 4), W(117, 39)), .axis = GRU,
        .start = VARIANT),
};

static const op_case rnn_cases[] = {
    CASE("engine, two blocks", sequence, INPUTS(X(2, 2, 2), W(34, 2), F32(-0.3, 0.3, 34, 34), X(2, 34)),
        .axis = RNN, .start = H0),
    CASE("size 1", sequence, INPUTS(X(1, 1, 1), W(1, 1), W(1, 1)), .axis = RNN),
    CASE("two of each", sequence, INPUTS(X(2, 2, 2), LARGE(2, 2), LARGE(2, 2), X(2, 2)), .axis = RNN,
        .start = H0),
    CASE("all inputs, batch", sequence, INPUTS(X(B, 3, 5), W(7, 5), W(7, 7), W(7), W(7), X(B, 7)),
        .axis = RNN, .start = BIASED | H0),
    CASE("lengths, left", sequence, INPUTS(X(6, 4, 5), W(7, 5), W(7, 7), W(7), W(7), X(6, 7), I32(0, 4, 6)),
        .axis = RNN, .start = BIASED | H0 | LENGTHS | LEFT),
    CASE("across tiles", sequence, INPUTS(X(31, 3, 4), W(170, 4), F32(-0.1, 0.1, 170, 170)), .axis = RNN),
    CASE("few rows, shared units", sequence,
        INPUTS(X(1, 3, 3), F32(-0.1, 0.1, 300, 3), F32(-0.1, 0.1, 300, 300), X(1, 300)), .axis = RNN,
        .start = H0 | REVERSE),
    CASE("relu", sequence, INPUTS(X(B, 3, 5), W(7, 5), W(7, 7), W(7), W(7), X(B, 7)), .axis = RNN,
        .start = BIASED | H0 | VARIANT),
};

static const op_case lstm_cell_cases[] = {
    CASE("plain", cell, INPUTS(X(B, 5), W(28, 5), W(28, 7), W(28), W(28), X(B, 7), X(B, 7)), .axis = LSTM,
        .start = BIASED | H0 | C0),
    CASE("projection, no bias", cell, INPUTS(X(3, 5), W(28, 5), W(28, 3), X(3, 3), X(3, 7), W(3, 7)),
        .axis = LSTM, .start = H0 | C0 | PROJECTED),
};
static const op_case gru_cell_cases[] = {
    CASE("plain", cell, INPUTS(X(B, 5), W(21, 5), W(21, 7), W(21), W(21), X(B, 7)), .axis = GRU,
        .start = BIASED | H0),
    CASE("reset first", cell, INPUTS(X(3, 5), W(21, 5), W(21, 7), W(21), W(21), X(3, 7)), .axis = GRU,
        .start = BIASED | H0 | VARIANT),
};
static const op_case rnn_cell_cases[] = {
    CASE("tanh", cell, INPUTS(X(B, 5), W(7, 5), W(7, 7), W(7), W(7), X(B, 7)), .axis = RNN,
        .start = BIASED | H0),
    CASE("relu, no bias", cell, INPUTS(X(3, 5), W(7, 5), W(7, 7), X(3, 7)), .axis = RNN,
        .start = H0 | VARIANT),
};

int main(void) {
    static const op_cases ops[] = {RECURRENT_OPS(COVERED_CASES)};
    const int failed = op_suite_run("recurrent", ops, sizeof ops / sizeof *ops);
    return test_finish(failed);
}
