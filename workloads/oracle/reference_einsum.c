/* Einstein summation in float64, over all values of all letters: see reference_einsum.h. */
#include "oracle/reference_einsum.h"
#include <math.h>
#include <string.h>

/* ---- equations ---- */

/* Copies a term up to its end, without spaces; the ellipsis becomes `dots` digits. */
static const char *spell_term(const char *text, int dots, char *to) {
    for (; *text && *text != ',' && *text != '-'; text++) {
        if (*text == '.') {
            for (int i = 0; i < dots; i++) *to++ = (char)('9' - dots + 1 + i);
            text += 2;
        } else if (*text != ' ') {
            *to++ = *text;
        }
    }
    *to = '\0';
    return text;
}

static int times_in(const f64_equation *e, char label) {
    int times = 0;
    for (int i = 0; i < e->operands; i++)
        for (const char *c = e->of[i]; *c; c++) times += *c == label;
    return times;
}

/* The ellipsis, then the letters that stand once. */
static void spell_implicit(f64_equation *e, int dots) {
    int length = 0;
    for (int i = 0; i < dots; i++) e->out[length++] = (char)('9' - dots + 1 + i);
    for (int label = 'A'; label <= 'z'; label++)
        if (times_in(e, (char)label) == 1) e->out[length++] = (char)label;
    e->out[length] = '\0';
}

int f64_equation_letters(const char *term, bool *ellipsis) {
    char letters[F64_EQUATION];
    const char *const end = spell_term(term, 0, letters), *const dots = strchr(term, '.');
    *ellipsis = dots && dots < end;
    return (int)strlen(letters);
}

/* How many axes the ellipsis of a term stands for in an operand of this rank; 0 where there is none. */
static int ellipsis_rank(const char *term, int rank) {
    bool ellipsis;
    const int letters = f64_equation_letters(term, &ellipsis);
    return ellipsis ? rank - letters : 0;
}

f64_equation f64_equation_of(const char *text, int rank_a, int rank_b) {
    f64_equation e = {.operands = strchr(text, ',') ? 2 : 1};
    const int ranks[2] = {rank_a, rank_b};
    int most = 0;
    for (int i = 0; i < e.operands; i++) {
        const int dots = ellipsis_rank(text, ranks[i]);
        if (dots > most) most = dots;
        text = spell_term(text, dots, e.of[i]);
        if (*text == ',') text++;
    }
    if (*text == '-')
        (void)spell_term(text + 2, most, e.out);
    else
        spell_implicit(&e, most);
    return e;
}

/* ---- the sum ---- */

typedef struct contraction {
    const f64_array *operands[2];
    int count;
    int64_t sizes[F64_LABELS];     /* 0: no operand has the label */
    size_t strides[2][F64_LABELS]; /* 0 where an operand is broadcast */
    char summed[F64_LABELS];       /* labels that the result does not have */
    double allowed;
} contraction;

static void add_operand(contraction *c, const f64_array *x, const char *labels) {
    size_t stride = 1;
    for (int axis = x->rank - 1; axis >= 0; axis--) {
        const unsigned char label = (unsigned char)labels[axis];
        if (x->dims[axis] > 1) c->strides[c->count][label] += stride;
        if (x->dims[axis] > c->sizes[label]) c->sizes[label] = x->dims[axis];
        stride *= (size_t)x->dims[axis];
    }
    c->operands[c->count++] = x;
}

static void find_summed(contraction *c, const char *out) {
    double terms = 1;
    int count = 0;
    for (int label = 0; label < F64_LABELS; label++) {
        if (c->sizes[label] == 0 || strchr(out, label)) continue;
        c->summed[count++] = (char)label;
        terms *= (double)c->sizes[label];
    }
    c->allowed = 1e-6 * (1 + log2(terms));
}

static void add_term(const contraction *c, const size_t *at, double *value, double *error) {
    double product = 1, most = 1;
    for (int i = 0; i < c->count; i++) {
        product *= c->operands[i]->value[at[i]];
        most *= fabs(c->operands[i]->value[at[i]]) + c->operands[i]->error[at[i]];
    }
    *value += product;
    *error += most - fabs(product) + c->allowed * most + f64_overflow(most);
}

static void add_terms(const contraction *c, int depth, const size_t *from, double *value, double *error) {
    const unsigned char label = (unsigned char)c->summed[depth];
    size_t at[2] = {from[0], from[1]};
    if (!label) {
        add_term(c, at, value, error);
        return;
    }
    for (int64_t i = 0; i < c->sizes[label]; i++) {
        add_terms(c, depth + 1, at, value, error);
        at[0] += c->strides[0][label];
        at[1] += c->strides[1][label];
    }
}

f64_array *f64_einsum(const char *text, const f64_array *a, const f64_array *b) {
    const f64_equation e = f64_equation_of(text, a->rank, b ? b->rank : 0);
    contraction c = {.count = 0};
    int64_t dims[WEFT_MAX_RANK], index[WEFT_MAX_RANK] = {0};
    add_operand(&c, a, e.of[0]);
    if (b) add_operand(&c, b, e.of[1]);
    find_summed(&c, e.out);
    const int rank = (int)strlen(e.out);
    for (int i = 0; i < rank; i++) dims[i] = c.sizes[(unsigned char)e.out[i]];
    f64_array *const y = f64_zeros(rank, dims);
    for (size_t i = 0; i < y->count; i++, f64_next(index, rank, dims)) {
        size_t from[2] = {0, 0};
        for (int axis = 0; axis < 2 * rank; axis++)
            from[axis % 2] += c.strides[axis % 2][(unsigned char)e.out[axis / 2]] * (size_t)index[axis / 2];
        add_terms(&c, 0, from, &y->value[i], &y->error[i]);
        y->error[i] += f64_ulp(y->value[i]) + f64_stored_rounding(y->value[i]);
    }
    return y;
}
