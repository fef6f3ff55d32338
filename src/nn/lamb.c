/* LAMB (You et al. 2020, algorithm 2, with the identity for φ): the step s is Adam's step plus weight decay, scaled
 * by |p| / |s| of the whole parameter.
 *
 * Each parameter begins at a row of the flat tensors, so that its norms are sums over whole rows. For any number of
 * parameters P and of rows R there are four launches:
 *   1  moments, step s, and the sums of s² and p² of each row            over (R, 16)
 *   2  these sums added up for each parameter, with other rows masked    over (P, 2, R)
 *   3  for each row, the sums of its parameter                           over (2, P, R)
 *   4  p ← p − rate·|p|/|s|·s                                            over (R, 16)
 * Launches 2 and 3 visit 2·P·R elements each, P / 8 per element of the parameters. This costs less than the gradients
 * of a batch of P / 48 examples. */
#include "nn/update_rules.h"
#include "ops/op_table.h"
#include <math.h>

static weft_tensor *row_sums(weft_tensor *x) {
    return wi_sum_keep(weft_square(x), 2u); /* (rows, 1) */
}

static weft_tensor *along_last(weft_tensor *x, int64_t rows) {
    return weft_reshape_shape(x, 3, (const int64_t[]){1, 1, rows});
}

/* bool, shape `space`: does the row (index along the last axis) belong to the parameter (index along `axis`)? */
static weft_tensor *belongs(weft_tensor *row_parameters, const wi_shape *space, int axis) {
    return weft_equal(row_parameters, wi_coordinate(weft_tensor_graph(row_parameters), space, axis));
}

/* (2, R): for each row, the sums of squares of the step and of p over the row's parameter. The sums per parameter are
 * permuted before they go back to the rows, so that the second reduction reads them from memory in another launch. */
static weft_tensor *parameter_sums(const wi_update *u, weft_tensor *of_step, weft_tensor *of_p) {
    weft_graph *const graph = u->graph;
    const int64_t rows = u->rows, parameters = (int64_t)u->length;
    const wi_shape there = {.rank = 3, .dims = {parameters, 2, rows}};
    const wi_shape back = {.rank = 3, .dims = {2, parameters, rows}};
    weft_tensor *const owner = along_last(wi_row_parameters(u), rows);
    if (!owner) return NULL;
    weft_tensor *const which = wi_coordinate(graph, &there, 1);
    weft_tensor *const both = weft_where(
        weft_equal(which, weft_number(which, 0)), along_last(of_step, rows), along_last(of_p, rows));
    weft_tensor *const own = weft_where(belongs(owner, &there, 0), both, weft_number(both, 0));
    weft_tensor *const sums = weft_permute(wi_sum_keep(own, 4u), 1, 0, 2);
    weft_tensor *const mine = weft_where(belongs(owner, &back, 1), sums, weft_number(sums, 0));
    return weft_reshape_shape(wi_sum_keep(mine, 2u), 2, (const int64_t[]){2, rows});
}

/* Line i of the sums (2, R), broadcast to the shape of the flat tensors: a view. */
static weft_tensor *line(const wi_update *u, weft_tensor *sums, int64_t i) {
    if (!sums) return NULL;
    return weft_expand(weft_transpose(weft_slice(sums, 0, i, i + 1)), u->shape.rank, u->shape.dims);
}

weft_tensor *wi_lamb_rule(wi_update *u) {
    const weft_optimizer *const o = u->optimizer;
    const wi_moments next = wi_update_moments(u);
    weft_tensor *const m = wi_unbiased(u, next.first, o->beta1);
    weft_tensor *const v = wi_unbiased(u, next.second, o->beta2);
    weft_tensor *step = weft_div(m, wi_root_plus(v, o->epsilon));
    if (u->decay) step = weft_add(step, weft_mul(u->p, u->decay));
    weft_tensor *const of_step = row_sums(step), *const of_p = row_sums(u->p);
    if (!of_step || !of_p) return NULL;
    weft_tensor *const sums = parameter_sums(u, of_step, of_p);
    weft_tensor *const squared =
        weft_div(line(u, sums, 1), line(u, sums, 0)); /* 0, infinite or NaN if a norm is 0 */
    weft_tensor *const one = weft_number(squared, 1), *const infinity = weft_number(squared, HUGE_VAL);
    weft_tensor *const finite = weft_where(weft_less(squared, infinity), weft_sqrt(squared), one);
    weft_tensor *const trust = weft_where(weft_less(weft_number(squared, 0), squared), finite, one);
    return weft_sub(u->p, weft_mul(weft_mul(step, trust), u->rate));
}
