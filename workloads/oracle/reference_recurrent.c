/* See reference_recurrent.h. */
#include "oracle/reference_recurrent.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>

typedef const f64_array *array;

int64_t f64_cell_gates(f64_cell cell) {
    return cell == F64_LSTM ? 4 : cell == F64_GRU ? 3 : 1;
}

static int64_t units_of(const f64_network *n) {
    return n->weight_ih->dims[0] / f64_cell_gates(n->cell);
}

/* ---- products ---- */

static double dot_error(array x, size_t row, array w, size_t column, size_t count, double allowed) {
    double error = 0;
    for (size_t k = 0; k < count; k++) {
        const double a = fabs(x->value[row + k]), b = fabs(w->value[column + k]);
        error += allowed * a * b + x->error[row + k] * b + w->error[column + k] * a;
    }
    return error;
}

/* x (N, K) times rows from .. to of w (..., K), transposed, with a bias for each row or NULL. */
static array linear_rows(array x, array w, array b, int64_t from, int64_t to) {
    const size_t count = (size_t)x->dims[1], rows = (size_t)x->dims[0], width = (size_t)(to - from);
    const double allowed = 1e-6 * (1 + log2((double)count));
    f64_array *const y = f64_zeros(2, (const int64_t[]){x->dims[0], to - from});
    for (size_t at = 0; at < rows * width; at++) {
        const size_t row = at / width * count, column = ((size_t)from + at % width) * count;
        double sum = 0;
        for (size_t k = 0; k < count; k++) sum += x->value[row + k] * w->value[column + k];
        y->value[at] = sum;
        if (f64_tracks_errors())
            y->error[at] =
                dot_error(x, row, w, column, count, allowed) + f64_ulp(sum) + f64_stored_rounding(sum);
    }
    return b ? f64_add(y, f64_slice(b, 0, from, to)) : y;
}

static array linear(array x, array w, array b) {
    return linear_rows(x, w, b, 0, w->dims[0]);
}

/* ---- one step ---- */

static array gate(const f64_network *n, array sums, int which) {
    const int64_t units = units_of(n);
    return f64_slice(sums, 1, which * units, (which + 1) * units);
}

static f64_recurrent step_lstm(const f64_network *n, array x, array h, array c) {
    array sums = f64_add(linear(x, n->weight_ih, n->bias_ih), linear(h, n->weight_hh, n->bias_hh));
    array i = f64_sigmoid(gate(n, sums, 0)), f = f64_sigmoid(gate(n, sums, 1)),
          g = f64_tanh(gate(n, sums, 2)), o = f64_sigmoid(gate(n, sums, 3));
    array next = f64_add(f64_mul(f, c), f64_mul(i, g)), out = f64_mul(o, f64_tanh(next));
    return (f64_recurrent){.h = n->weight_hr ? linear(out, n->weight_hr, NULL) : out, .c = next};
}

static f64_recurrent step_gru(const f64_network *n, array x, array h) {
    const int64_t u = units_of(n);
    array from_x = linear(x, n->weight_ih, n->bias_ih), w = n->weight_hh, b = n->bias_hh;
    array from_h = linear_rows(h, w, b, 0, 2 * u);
    array r = f64_sigmoid(f64_add(gate(n, from_x, 0), gate(n, from_h, 0))),
          z = f64_sigmoid(f64_add(gate(n, from_x, 1), gate(n, from_h, 1)));
    array last = n->variant ? linear_rows(f64_mul(r, h), w, b, 2 * u, 3 * u)
                            : f64_mul(r, linear_rows(h, w, b, 2 * u, 3 * u));
    array next = f64_tanh(f64_add(gate(n, from_x, 2), last));
    return (f64_recurrent){.h = f64_add(f64_mul(f64_sub(f64_number(1), z), next), f64_mul(z, h))};
}

static f64_recurrent step_rnn(const f64_network *n, array x, array h) {
    array sums = f64_add(linear(x, n->weight_ih, n->bias_ih), linear(h, n->weight_hh, n->bias_hh));
    return (f64_recurrent){.h = n->variant ? f64_relu(sums) : f64_tanh(sums)};
}

static f64_recurrent step_any(const f64_network *n, array x, array h, array c) {
    switch (n->cell) {
    case F64_LSTM: return step_lstm(n, x, h, c);
    case F64_GRU: return step_gru(n, x, h);
    case F64_RNN: break;
    }
    return step_rnn(n, x, h);
}

f64_recurrent f64_recurrent_step(const f64_network *n, const f64_array *x) {
    return step_any(n, x, n->h0, n->c0);
}

/* ---- a sequence ---- */

/* (N, 1): 1 where step t of the row is valid. */
static array mask_of(const f64_network *n, int64_t rows, int64_t t, int64_t steps) {
    f64_array *const m = f64_zeros(2, (const int64_t[]){rows, 1});
    for (int64_t i = 0; i < rows; i++) {
        const int64_t length = (int64_t)n->lengths->value[i];
        m->value[i] = n->left_padded ? t >= steps - length : t < length;
    }
    return m;
}

static array choose(array m, array yes, array no) {
    return f64_add(f64_mul(m, yes), f64_mul(f64_sub(f64_number(1), m), no));
}

/* Moves `states` on by step t of x (N, T, I), and returns that step's y. */
static array take_step(const f64_network *n, array x, int64_t t, f64_recurrent *states) {
    const int64_t rows = x->dims[0];
    array at = f64_reshape(f64_slice(x, 1, t, t + 1), 2, (const int64_t[]){rows, x->dims[2]});
    f64_recurrent next = step_any(n, at, states->h, states->c);
    array m = n->lengths ? mask_of(n, rows, t, x->dims[1]) : NULL;
    if (m) next.h = choose(m, next.h, states->h);
    if (m && next.c) next.c = choose(m, next.c, states->c);
    *states = next;
    array y = m ? f64_mul(m, next.h) : next.h;
    return f64_reshape(y, 3, (const int64_t[]){rows, 1, y->dims[1]});
}

f64_recurrent f64_recurrent_sequence(const f64_network *n, const f64_array *given) {
    array x = n->time_major ? f64_permute(given, (const int[]){1, 0, 2}) : given;
    const int64_t rows = x->dims[0], steps = x->dims[1];
    f64_recurrent states = {.h = n->h0, .c = n->c0};
    if (!states.h) states.h = f64_zeros(2, (const int64_t[]){rows, n->weight_hh->dims[1]});
    if (!states.c) states.c = f64_zeros(2, (const int64_t[]){rows, units_of(n)});
    array *const ys = calloc((size_t)steps, sizeof(array));
    assert(ys);
    for (int64_t i = 0; i < steps; i++) {
        const int64_t t = n->reverse ? steps - 1 - i : i;
        ys[t] = take_step(n, x, t, &states);
    }
    states.y = f64_concat(ys, (size_t)steps, 1);
    free((void *)ys);
    if (n->time_major) states.y = f64_permute(states.y, (const int[]){1, 0, 2});
    return states;
}
