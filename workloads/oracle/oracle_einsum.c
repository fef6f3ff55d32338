/* Einstein summation: see oracle.h. */
#include "oracle/draw.h"
#include "oracle/reference_einsum.h"
#include <string.h>

static const char *const equations[] = {"ij,jk->ik", "ij,jk", "zj,ja", "bj,jB", "ij,jk->ki", "ji,kj->ik",
    " i j , jk -> ki ", "bij,bjk->bik", "bij,bkj->kbi", "bqhd,bkhd->bhqk", "bhqk,bkhd->bqhd", "bti,oi->bto",
    "abc,cbd->da", "i,j->ij", "ia,j->jai", "i,i->", "i,i", "bi,bi->b", "ij,j->i", "ij,ij->ij", "ij,ji->ji",
    "ij,k->", "ijs,jk->ik", "ij,jks->ik", ",ij->ji", "i,->i", "...ij,...jk->...ik", "...ij,jk",
    "i...,ki->k...", "...ij,jk->ik", "...i,ij", "...,...->...", "...,...", "a...b,b...->...a", "ii,ij->ij",
    "ij,ji->", "ii,jj->ij", "iij,kjk->ik", "i,ii->i", "abcd,ab->dc", "abcd,db->ac", "ij->ji", "ij", "ba",
    "bij->bj", "ij->", "i->i", "ii", "ii->i", "bii->ib", "iaii->ai", "ijij->ji", "...ij->...ji", "...i->...",
    "...i->i...", "i...->", "...ii->...i", "...", "abc->cab", "->", "abcd->bd"};

/* The dimensions of labels, as the library writes sizes; 0: not chosen. */
typedef int64_t label_sizes[F64_LABELS];

/* The dimensions of an existing value, with one size for axes of one label; true: they are as they were. */
static bool take_sizes(
    const oracle_draw *draw, int value, const char *labels, label_sizes sizes, int64_t *dims) {
    const f64_array *const x = draw_array(draw, value);
    int64_t counts[F64_LABELS] = {0};
    bool same = true;
    for (int i = 0; i < x->rank; i++) {
        const unsigned char label = (unsigned char)labels[i];
        if (sizes[label] != 0) same = same && sizes[label] == draw_dim(draw, value, i);
        if (sizes[label] != 0 && counts[label] <= x->dims[i]) continue;
        sizes[label] = draw_dim(draw, value, i);
        counts[label] = x->dims[i];
    }
    for (int i = 0; i < x->rank; i++) dims[i] = sizes[(unsigned char)labels[i]];
    dims[x->rank] = WEFT_END;
    return same;
}

/* Those of the other operand: sizes of 1 broadcast. */
static void give_sizes(oracle_draw *draw, const char *labels, label_sizes sizes, int64_t *dims) {
    label_sizes given = {0};
    int rank = 0;
    for (; labels[rank]; rank++) {
        const unsigned char label = (unsigned char)labels[rank];
        const bool other = draw_chance(draw, 10);
        if (sizes[label] == 0) sizes[label] = draw_size(draw, 33);
        if (given[label] == 0)
            given[label] = !other ? sizes[label] : sizes[label] == 1 ? draw_size(draw, 3) : 1;
        if (sizes[label] == 1) sizes[label] = given[label];
        dims[rank] = given[label];
    }
    dims[rank] = WEFT_END;
}

/* The number of terms of the whole result. */
static bool is_short(const oracle_draw *draw, const label_sizes sizes) {
    int64_t all[WEFT_MAX_RANK + 1];
    int count = 0;
    for (int label = 0; label < F64_LABELS; label++) {
        if (sizes[label] == 0) continue;
        if (count == WEFT_MAX_RANK) return false;
        all[count++] = sizes[label];
    }
    all[count] = WEFT_END;
    return draw_count_of(draw, all) < 300000;
}

/* Letters of a term, and axes for its ellipsis. */
static int draw_rank_of(oracle_draw *draw, const char *term, int most_dots) {
    bool ellipsis;
    const int letters = f64_equation_letters(term, &ellipsis);
    return letters + (ellipsis ? (int)draw_below(draw, most_dots + 1) : 0);
}

ORACLE_DRAW(einsum) {
    call->text = equations[draw_below(draw, (int64_t)(sizeof equations / sizeof *equations))];
    const char *const comma = strchr(call->text, ',');
    const int rank = draw_rank_of(draw, call->text, 3);
    const int rank_b = comma ? draw_rank_of(draw, comma + 1, 3) : 0;
    const int a = draw_value_within(draw, DRAW_FLOAT, rank, rank, -40, 40);
    if (a < 0) return false;
    const f64_equation e = f64_equation_of(call->text, rank, rank_b);
    label_sizes sizes = {0};
    int64_t dims[WEFT_MAX_RANK + 1];
    const bool same = take_sizes(draw, a, e.of[0], sizes, dims);
    call->inputs[0] = same ? a : draw_shaped(draw, draw_format(draw), dims, -4, 4);
    if (comma) {
        give_sizes(draw, e.of[1], sizes, dims);
        if (!is_short(draw, sizes)) return false;
        call->inputs[1] = draw_shaped(draw, draw_format(draw), dims, -4, 4);
    }
    return call->inputs[0] >= 0 && (call->inputs[1] >= 0 || !comma);
}
ORACLE_BUILD(einsum) {
    ORACLE_UNUSED;
    return weft_einsum(call->text, in[0], in[1]);
}
/* The library may store the products in the program's format before it adds them up. */
ORACLE_EVALUATE(einsum) {
    f64_array *const y = f64_einsum(call->text, in[0], in[1]);
    if (!f64_tracks_errors() || sizes->format == WEFT_F32) return y;
    const f64_array *const most =
        f64_einsum(call->text, oracle_magnitudes(in[0]), in[1] ? oracle_magnitudes(in[1]) : NULL);
    for (size_t i = 0; i < y->count; i++) y->error[i] += oracle_rounding(sizes, most->value[i]);
    return y;
}
ORACLE_OP(einsum, "weft_einsum($t, $0, $1)");
