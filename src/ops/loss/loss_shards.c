/* The part of a loss that a shard contributes (contract in loss_shards.h). */
#include "ops/loss/loss_shards.h"
#include "base/names.h"
#include "ops/op_table.h"

/* Adds to *power the exponent of the batch size in a factor that does not depend on the data; a mean over the batch has the exponent -1.
 * False: the factor is not a number times a power of the batch size. `sign` is -1 inside a divisor. */
static bool add_power(const weft_tensor *factor, int sign, int *power) {
    double value;
    int own = 0;
    if (!factor) return true;
    if (wi_is_constant(factor, &value, &own)) return *power += sign * own, true;
    if (factor->op == &wi_op_elements) {
        const wi_count_attributes *const count = &factor->attributes->count;
        *power += sign * (count->inverse ? -count->batch_power : count->batch_power);
        return true;
    }
    if (factor->op == &wi_op_mul)
        return add_power(factor->inputs[0], sign, power) && add_power(factor->inputs[1], sign, power);
    if (factor->op == &wi_op_div)
        return add_power(factor->inputs[0], sign, power) && add_power(factor->inputs[1], -sign, power);
    if (factor->op == &wi_op_reciprocal) return add_power(factor->inputs[0], -sign, power);
    for (int i = 0; i < factor->input_count; i++) {
        int inner = 0;
        if (!add_power(factor->inputs[i], 1, &inner)) return false;
        const bool passes = factor->op == &wi_op_reshape || factor->op == &wi_op_cast ||
                            factor->op == &wi_op_keep_f32 || factor->op == &wi_op_neg;
        if (inner != 0 && !passes) return false;
        *power += sign * inner;
    }
    return true;
}

/* Is the value a sum over all examples? */
static bool is_batch_sum(const weft_tensor *value) {
    if (value->op != &wi_op_sum) return false;
    const weft_tensor *const x = value->inputs[0];
    for (int axis = 0; axis < x->shape.rank; axis++)
        if (x->shape.dims[axis] < 0 && !(value->attributes->over.axes >> axis & 1u)) return false;
    return true;
}

/* A sum over the examples of a shard counts as it is. A mean counts by the share of examples, and so does a value that is the same in all
 * shards, such as a penalty on weights, so that it counts once. */
static weft_status add_summand(
    weft_tensor **part, const wi_shard_shares *shares, const wi_loss_summand *summand, bool is_fixed) {
    int power = 0;
    const bool known =
        add_power(summand->factor, 1, &power) &&
        (summand->varies ? is_batch_sum(summand->value) : add_power(summand->value, 1, &power));
    if (!known || (power != 0 && (power != -1 || !summand->varies)))
        WI_FAIL(WEFT_ERROR_UNSUPPORTED,
            "the loss cannot be divided into gradient shards: a summand of it, %s '%s', is neither a sum nor "
            "a mean "
            "over the examples; train it with one gradient shard",
            wi_article(summand->value->op->name), summand->value->op->name);
    weft_tensor *x = summand->factor ? weft_mul(summand->factor, summand->value) : summand->value;
    if (power == -1 || !summand->varies || is_fixed) x = weft_mul(shares->examples, x);
    *part = *part ? weft_add(*part, x) : x;
    return WEFT_OK;
}

weft_status wi_loss_of_shard(weft_tensor **part, wi_shard_shares *shares, const wi_loss_terms *terms,
    weft_tensor *loss, bool is_fixed) {
    weft_graph *const graph = loss->graph;
    wi_loss_sum sum;
    *part = NULL;
    WI_TRY(wi_loss_sum_find(&sum, loss));
    if (sum.is_too_long)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED,
            "the loss cannot be divided into gradient shards, because it has more than %d summands; train it "
            "with "
            "one gradient shard",
            WI_LOSS_SUMMANDS);
    const wi_scalar unsaved = {.value = 1, .is_unsaved = true};
    shares->examples = wi_ruled_scalar(graph, "shard.examples", unsaved);
    for (size_t i = 0; i < sum.count; i++) WI_TRY(add_summand(part, shares, &sum.rest[i], is_fixed));
    for (size_t i = 0; i < terms->count; i++) {
        shares->totals[i] = wi_ruled_scalar(graph, "shard.total", unsaved);
        weft_tensor *const x = weft_mul(shares->totals[i], terms->of[i].value);
        *part = *part ? weft_add(*part, x) : x;
    }
    return weft_graph_status(graph);
}
