/* Small cases of recurrent scans and of their gradients for self-tests (kernels/kernel_op_case.h). The cell, the projection and
 * what is kept are those of the site. Lengths of rows and the direction are only arguments of the same code.
 *
 * Names are those of cl_kernels/recurrent/recurrent.clh, and layouts of results those of recurrent_cpu.cl. */
#include "kernels/kernel_op_case.h"
#include "kernels/recurrent/recurrent_arguments.h"
#include <math.h>

/* ROWS, UNITS: more rows than a work-group computes, and more units than its chunk has, both with tails. STEPS: the first step
 * reads the initial state, the others read the state of the step before. LIGHT: a factor of the weights, so small that sigmoid
 * and tanh do not saturate and errors stay visible. */
enum { STEPS = 3, ROWS = 19, UNITS = 150, WIDTH = 90, WAYS = 2 };
static const double LIGHT = 0.25;

typedef struct scan {
    wi_kernel_op_case *small;
    wi_cell cell;
    wi_scan_sections a;
    int64_t batch, units, width, gates, saved;
    bool projects, kept;
    double *x, *w, *h0, *c0, *bias, *wr; /* NULL: there is none */
    double *h, *c, *line, *more;         /* sections of a forward result that keeps everything */
    double *dy;
} scan;

static double sigmoid(double x) {
    return 1.0 / (1.0 + exp(-x));
}

static double dot(const double *x, const double *y, int64_t n) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* The product of x and a column of a matrix with n rows. */
static double dot_down(const double *x, const double *column, int64_t n, int64_t pitch) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * column[i * pitch];
    return sum;
}

/* ---- elements of the forward result ---- */

static double *h_at(const scan *s, int64_t step, int64_t row) {
    return s->h + (step * s->batch + row) * s->width;
}
/* The states c are stored in reverse order of time. */
static double *c_at(const scan *s, int64_t step, int64_t row) {
    return s->c + ((STEPS - step) * s->batch + row) * s->units;
}
static double *saved_at(const scan *s, int64_t t, int64_t row) {
    return s->line + (t * s->batch + row) * s->saved * s->units;
}
static double *more_at(const scan *s, int64_t t, int64_t row) {
    return s->more + (t * s->batch + row) * s->units;
}

/* ---- forward ---- */

/* The recurrent product of gate g of unit j. */
static double product(const scan *s, const double *h, int64_t g, int64_t j) {
    return dot(&s->w[(g * s->units + j) * s->width], h, s->width);
}

static void lstm_unit(const scan *s, int64_t t, int64_t row, const double *x, double *out, int64_t j) {
    const int64_t units = s->units;
    const double *const before = h_at(s, t, row);
    double *const saved = saved_at(s, t, row);
    for (int g = 0; g < 4; g++) {
        const double sum = product(s, before, g, j) + x[g * units + j];
        saved[g * units + j] = g == 2 ? tanh(sum) : sigmoid(sum);
    }
    double *const c = &c_at(s, t + 1, row)[j];
    *c = saved[units + j] * c_at(s, t, row)[j] + saved[j] * saved[2 * units + j];
    out[j] = saved[3 * units + j] * tanh(*c);
}

/* Computes the gates r and z; for a GRU that resets before its product, also r·h. */
static void gru_gates(const scan *s, int64_t t, int64_t row, const double *x, int64_t j) {
    const double *const before = h_at(s, t, row);
    double *const saved = saved_at(s, t, row);
    for (int g = 0; g < 2; g++)
        saved[g * s->units + j] = sigmoid(product(s, before, g, j) + x[g * s->units + j]);
    if (s->cell == WI_CELL_GRU_RESET_FIRST) more_at(s, t, row)[j] = saved[j] * before[j];
}

static void gru_unit(const scan *s, int64_t t, int64_t row, const double *x, int64_t j) {
    const int64_t units = s->units;
    const bool first = s->cell == WI_CELL_GRU_RESET_FIRST;
    const double *const before = h_at(s, t, row);
    double *const saved = saved_at(s, t, row);
    const double sum = product(s, first ? more_at(s, t, row) : before, 2, j) + (first ? 0.0 : s->bias[j]);
    saved[2 * units + j] = tanh(x[2 * units + j] + (first ? 1.0 : saved[j]) * sum);
    if (!first) saved[3 * units + j] = sum;
    const double z = saved[units + j];
    h_at(s, t + 1, row)[j] = (1.0 - z) * saved[2 * units + j] + z * before[j];
}

static void rnn_unit(const scan *s, int64_t t, int64_t row, const double *x, int64_t j) {
    const double sum = product(s, h_at(s, t, row), 0, j) + x[j];
    h_at(s, t + 1, row)[j] = s->cell == WI_CELL_RNN_TANH ? tanh(sum) : fmax(sum, 0.0);
}

static void forward_row(const scan *s, int64_t t, int64_t row) {
    const double *const x = &s->x[(t * s->batch + row) * s->gates * s->units];
    double *const out = s->projects ? more_at(s, t, row) : h_at(s, t + 1, row);
    const bool gru = s->cell == WI_CELL_GRU || s->cell == WI_CELL_GRU_RESET_FIRST;
    for (int64_t j = 0; j < s->units; j++) {
        if (s->cell == WI_CELL_LSTM) lstm_unit(s, t, row, x, out, j);
        if (gru) gru_gates(s, t, row, x, j);
        if (s->cell > WI_CELL_GRU_RESET_FIRST) rnn_unit(s, t, row, x, j);
    }
    for (int64_t j = 0; gru && j < s->units; j++) gru_unit(s, t, row, x, j);
    for (int64_t p = 0; s->projects && p < s->width; p++)
        h_at(s, t + 1, row)[p] = dot(&s->wr[p * s->units], out, s->units);
}

static void forward(const scan *s) {
    for (int64_t i = 0; i < s->batch * s->width; i++) h_at(s, 0, 0)[i] = s->h0[i];
    for (int64_t i = 0; s->c && i < s->batch * s->units; i++) c_at(s, 0, 0)[i] = s->c0[i];
    for (int64_t t = 0; t < STEPS; t++)
        for (int64_t row = 0; row < s->batch; row++) forward_row(s, t, row);
}

/* ---- both passes ---- */

static wi_shape shape2(int64_t a, int64_t b) {
    return (wi_shape){.rank = 2, .dims = {a, b}};
}
static wi_shape shape3(int64_t a, int64_t b, int64_t c) {
    return (wi_shape){.rank = 3, .dims = {a, b, c}};
}

/* Makes the case for one of the ways in which kernels divide the work. Class gpu: in way 0 launches seem expensive, so that each
 * group walks through all steps; in way 1 they seem to cost nothing, so that groups share each step. Class cpu: in way 0
 * work-items compute different rows; in way 1 there is one row, so that work-items share the units and wait for each other. */
static scan scan_of(wi_kernel_op_case *small, const wi_kernel_site *site, int way) {
    const wi_recurrent given = wi_recurrent_of(site);
    wi_recurrent_attributes *const attributes = &small->attributes.recurrent;
    scan s = {.small = small, .cell = given.cell, .projects = given.projects, .kept = given.kept};
    s.batch = way > 0 && small->profile.item_walks ? 1 : ROWS;
    s.units = UNITS;
    s.width = s.projects ? WIDTH : UNITS;
    s.gates = given.gates;
    s.saved = s.cell == WI_CELL_GRU_RESET_FIRST ? 3 : s.cell < WI_CELL_GRU_RESET_FIRST ? 4 : 0;
    s.a = wi_scan_sections_of(s.cell, STEPS, s.units, s.width, s.projects, true);
    small->profile.launch_seconds = way == 0 ? 1.0 : 0.0;
    *attributes = (wi_recurrent_attributes){.units = s.units,
        .steps = STEPS,
        .cell = s.cell,
        .forgets = !s.kept,
        .reads_dy = given.back,
        .gives_dh0 = given.back};
    return s;
}

static double *input(scan *s, int which, wi_shape shape, double unit) {
    s->small->attributes.recurrent.inputs |= 1u << which;
    return wi_kernel_op_case_input(s->small, shape, unit);
}

/* Creates an operand of the forward pass that is not an input of the gradient node. */
static double *hidden(const scan *s, int64_t count) {
    double *const numbers = wi_arena_take(s->small->arena, (size_t)count * sizeof *numbers);
    for (int64_t i = 0; numbers && i < count; i++)
        numbers[i] = (double)((uint32_t)i * 2654435761u >> 16) / 32768.0 - 1.0;
    return numbers;
}

static void place(scan *s, double *all) {
    s->h = all;
    s->c = s->a.c > 0 ? all + s->batch * s->a.h : NULL;
    s->line = all + s->batch * (s->a.h + s->a.c);
    s->more = s->line + s->batch * s->a.gates;
}

static int64_t kept_numbers(const scan *s) {
    return s->batch * (s->a.h + s->a.c + s->a.gates + s->a.more);
}

static void set_magnitudes(wi_kernel_op_case *small) {
    for (int64_t i = 0; i < small->count; i++) small->magnitude[i] = 1.0 + fabs(small->expected[i]);
}

/* ---- the case of a scan ---- */

static bool forward_inputs(scan *s) {
    const int64_t line = s->gates * s->units;
    s->x = input(s, WI_SCAN_X, shape3(STEPS, s->batch, line), 1.0);
    s->w = input(s, WI_SCAN_W, shape2(line, s->width), LIGHT);
    s->h0 = input(s, WI_SCAN_H0, shape2(s->batch, s->width), 1.0);
    const bool lstm = s->cell == WI_CELL_LSTM, gru = s->cell == WI_CELL_GRU;
    if (lstm) s->c0 = input(s, WI_SCAN_C0, shape2(s->batch, s->units), 1.0);
    if (gru) s->bias = input(s, WI_SCAN_BIAS, (wi_shape){.rank = 1, .dims = {s->units}}, 1.0);
    if (s->projects) s->wr = input(s, WI_SCAN_WR, shape2(s->width, s->units), LIGHT);
    return s->x && s->w && s->h0 && (!lstm || s->c0) && (!gru || s->bias) && (!s->projects || s->wr);
}

/* Sets the expected result. If the forward pass keeps nothing for a gradient, the result has only the states and the last c. */
static void expect(const scan *s, double *expected) {
    const double *const all = s->h;
    const int64_t count = s->batch * (s->kept ? s->a.h + s->a.c + s->a.gates + s->a.more : s->a.h);
    for (int64_t i = 0; i < count; i++) expected[i] = all[i];
    for (int64_t i = 0; !s->kept && s->c && i < s->batch * s->units; i++) expected[count + i] = s->c[i];
}

weft_status wi_recurrent_case(wi_kernel_op_case *small, const wi_kernel_site *site, int way, bool *more) {
    scan s = scan_of(small, site, way);
    const wi_scan_sections a = wi_scan_sections_of(s.cell, STEPS, s.units, s.width, s.projects, s.kept);
    double *const all = wi_arena_take(small->arena, (size_t)kept_numbers(&s) * sizeof *all);
    if (!forward_inputs(&s) || !all) return WEFT_ERROR_MEMORY;
    *more = way + 1 < WAYS;
    WI_TRY(wi_kernel_op_case_result(small, s.batch * (a.h + a.c + a.gates + a.more)));
    place(&s, all);
    forward(&s);
    expect(&s, small->expected);
    set_magnitudes(small);
    return WEFT_OK;
}

/* ---- the case of a gradient ---- */

/* Sections of the result. Each step reads dh and dc of all rows and replaces them by those of the step before. next: in a cell
 * with a projection, the gradient of the projection's input. */
typedef struct gradients {
    double *dx, *sums, *out, *dh, *dc, *next;
} gradients;

static double *lines_at(const scan *s, double *from, int64_t t, int64_t row) {
    return from + (t * s->batch + row) * s->gates * s->units;
}

/* dh: the gradient of the cell's output. */
static void lstm_back(const scan *s, const gradients *d, int64_t t, int64_t row, const double *dh) {
    const int64_t units = s->units;
    const double *const saved = saved_at(s, t, row);
    double *const dx = lines_at(s, d->dx, t, row), *const dc = &d->dc[row * units];
    for (int64_t j = 0; j < units; j++) {
        const double i = saved[j], f = saved[units + j], g = saved[2 * units + j], o = saved[3 * units + j];
        const double tangent = tanh(c_at(s, t + 1, row)[j]);
        const double both = dc[j] + dh[j] * o * (1.0 - tangent * tangent);
        dx[j] = both * g * i * (1.0 - i);
        dx[units + j] = both * c_at(s, t, row)[j] * f * (1.0 - f);
        dx[2 * units + j] = both * i * (1.0 - g * g);
        dx[3 * units + j] = dh[j] * tangent * o * (1.0 - o);
        dc[j] = both * f;
    }
}

/* Replaces dh by the part of the previous state's gradient that does not pass through the gates' products. */
static void gru_back(const scan *s, const gradients *d, int64_t t, int64_t row, double *dh) {
    const int64_t units = s->units;
    const bool first = s->cell == WI_CELL_GRU_RESET_FIRST;
    const double *const saved = saved_at(s, t, row), *const before = h_at(s, t, row);
    double *const dx = lines_at(s, d->dx, t, row), *const ds = lines_at(s, d->sums, t, row);
    for (int64_t j = 0; j < units; j++) {
        const double r = saved[j], z = saved[units + j], n = saved[2 * units + j];
        dx[units + j] = dh[j] * (before[j] - n) * z * (1.0 - z);
        dx[2 * units + j] = dh[j] * (1.0 - z) * (1.0 - n * n);
        dh[j] *= z;
        if (first) continue;
        dx[j] = dx[2 * units + j] * saved[3 * units + j] * r * (1.0 - r);
        ds[j] = dx[j];
        ds[units + j] = dx[units + j];
        ds[2 * units + j] = dx[2 * units + j] * r;
    }
    for (int64_t j = 0; first && j < units; j++) {
        const double r = saved[j],
                     sum = dot_down(&dx[2 * units], &s->w[2 * units * s->width + j], units, s->width);
        dx[j] = sum * before[j] * r * (1.0 - r);
        dh[j] += sum * r;
    }
}

static void rnn_back(const scan *s, const gradients *d, int64_t t, int64_t row, double *dh) {
    const double *const after = h_at(s, t + 1, row);
    double *const dx = lines_at(s, d->dx, t, row);
    for (int64_t j = 0; j < s->units; j++) {
        const double slope = s->cell == WI_CELL_RNN_TANH ? 1.0 - after[j] * after[j] : after[j] > 0.0;
        dx[j] = dh[j] * slope;
        dh[j] = 0.0;
    }
}

/* Replaces dh of the row, the gradient of the state after step t, by the gradient of the state before the step. */
static void back_row(const scan *s, const gradients *d, int64_t t, int64_t row) {
    double *const dh = &d->dh[row * s->width];
    const bool gru = s->cell == WI_CELL_GRU || s->cell == WI_CELL_GRU_RESET_FIRST;
    for (int64_t p = 0; p < s->width; p++) dh[p] += s->dy[(t * s->batch + row) * s->width + p];
    for (int64_t p = 0; s->projects && p < s->width; p++) d->out[(t * s->batch + row) * s->width + p] = dh[p];
    for (int64_t j = 0; s->projects && j < s->units; j++)
        d->next[j] = dot_down(dh, &s->wr[j], s->width, s->units);
    if (s->cell == WI_CELL_LSTM) lstm_back(s, d, t, row, s->projects ? d->next : dh);
    if (gru) gru_back(s, d, t, row, dh);
    if (s->cell > WI_CELL_GRU_RESET_FIRST) rnn_back(s, d, t, row, dh);
    const double *const line = lines_at(s, d->sums, t, row);
    const int64_t first = (s->cell == WI_CELL_GRU_RESET_FIRST ? 2 : s->gates) * s->units;
    for (int64_t p = 0; p < s->width; p++)
        dh[p] = (gru ? dh[p] : 0.0) + dot_down(line, &s->w[p], first, s->width);
}

/* Computes all steps, from the last to the first. A GRU that applies the reset gate after its product has separate gradients of the sums
 * of recurrent products (`sums`); in other cells these are equal to dx. */
static void walk_back(const scan *s, double *all, double *next) {
    const int64_t n = s->batch;
    double *const dh = all + n * (s->a.dx + s->a.sums + s->a.out);
    const gradients d = {all, s->a.sums ? all + n * s->a.dx : all, all + n * (s->a.dx + s->a.sums), dh,
        dh + n * s->a.dh0, next};
    for (int64_t t = STEPS - 1; t >= 0; t--)
        for (int64_t row = 0; row < n; row++) back_row(s, &d, t, row);
}

static bool back_inputs(scan *s, double **pack) {
    const int64_t line = s->gates * s->units;
    s->dy = input(s, WI_BACK_DY, shape3(STEPS, s->batch, s->width), 1.0);
    *pack = input(s, WI_BACK_Y, (wi_shape){.rank = 1, .dims = {kept_numbers(s)}}, 1.0);
    s->w = input(s, WI_BACK_W, shape2(line, s->width), LIGHT);
    if (s->projects) s->wr = input(s, WI_BACK_WR, shape2(s->width, s->units), LIGHT);
    s->x = hidden(s, STEPS * s->batch * line);
    s->h0 = hidden(s, s->batch * s->width);
    s->c0 = hidden(s, s->batch * s->units);
    s->bias = hidden(s, s->units);
    return s->dy && *pack && s->w && (!s->projects || s->wr) && s->x && s->h0 && s->c0 && s->bias;
}

weft_status wi_recurrent_gradient_case(
    wi_kernel_op_case *small, const wi_kernel_site *site, int way, bool *more) {
    scan s = scan_of(small, site, way);
    double *const next = wi_arena_take(small->arena, (size_t)s.units * sizeof *next), *pack;
    if (!back_inputs(&s, &pack) || !next) return WEFT_ERROR_MEMORY;
    *more = way + 1 < WAYS;
    WI_TRY(wi_kernel_op_case_result(small, s.batch * (s.a.dx + s.a.sums + s.a.out + s.a.dh0 + s.a.dc0)));
    for (int64_t i = 0; i < small->count; i++) small->expected[i] = 0.0;
    place(&s, pack);
    forward(&s);
    walk_back(&s, small->expected, next);
    set_magnitudes(small);
    return WEFT_OK;
}
