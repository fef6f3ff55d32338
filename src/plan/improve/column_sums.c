/* Sums over all axes but the last of what a product's epilogue makes: the gradients of a norm's parameters and of biases. They
 * become a part of that product, for implementations that add up columns (wi_implementation.sums) and devices on which that
 * saves a launch and a pass over memory (wi_loop_profile.sums).
 *
 * A loop moves to the product as a whole, with what it computes from its sums. It needs nothing that is made between the two. */
#include "plan/group/partition.h"
#include "plan/improve/improve.h"

/* Steps from a product to its sums, and sums that an item of a product keeps for each of its columns. */
enum { LOOK_BACK = 4, MOST_SUMS = 4 };

/* A product and a loop after it. */
typedef struct pair {
    const wi_partition *p;
    const wi_step *product, *loop;
} pair;

/* ---- what the loop reads ---- */

static bool node_fits(const pair *c, const weft_tensor *node);

/* Where each element, or each column, is at hand: memory that an epilogue can walk through, and what the product has in registers. */
static bool value_fits(const pair *c, int index) {
    const wi_value *const value = &c->p->values[index];
    const bool is_member = value->state == WI_VALUE_MEMBER;
    wi_layout merged;
    if (is_member && value->step == c->loop->index) return true;
    if (is_member && value->step == c->product->index) return !value->in_row;
    if (wi_is_inline_in(value, c->loop->index))
        return wi_is_uniform_inline(value) || node_fits(c, wi_inline_node(value));
    return value->step != c->product->index &&
           wi_product_layout(c->product, value->extent, value->layout, &merged);
}

static bool node_fits(const pair *c, const weft_tensor *node) {
    if (node->op->reads_padded || node->input_count == 0) return false;
    for (int i = 0; i < node->input_count; i++)
        if (!value_fits(c, wi_value_index(c->p, node->inputs[i]))) return false;
    return true;
}

/* ---- which loops ---- */

static bool is_sum(const weft_tensor *node) {
    return node->op == &wi_op_sum && wi_format_of(node->inputs[0]->dtype)->compute == WEFT_F32;
}

/* How many sums the loop has; 0: it has other reductions, or members that the product cannot compute. */
static int count_sums(const pair *c) {
    int sums = 0;
    for (int m = 0; m < c->loop->member_count; m++) {
        const wi_value *const member = &c->p->values[c->loop->members[m]];
        wi_layout merged;
        if (member->node->op->kind == WI_REDUCE && !is_sum(member->node)) return 0;
        if (!node_fits(c, member->node)) return 0;
        if (member->storage >= 0 && !wi_product_layout(c->product, member->extent, member->layout, &merged))
            return 0;
        sums += member->node->op->kind == WI_REDUCE;
    }
    return sums;
}

static bool has_room(const pair *c) {
    const wi_step *const a = c->product, *const b = c->loop;
    return a->member_count + b->member_count < WI_MAX_MEMBERS &&
           a->input_count + b->input_count + wi_count_stored(c->p, a) + wi_count_stored(c->p, b) <=
               WI_MAX_OPERANDS;
}

/* The loop's sums as members of the product; 0: they stay where they are. */
static int sums_of(const pair *c) {
    const wi_step *const a = c->product, *const b = c->loop;
    if (a->kind != WI_STEP_PRODUCT || !a->selection->chosen->sums || a->device != b->device ||
        !wi_shape_equal(&a->shape, &b->shape) || !has_room(c))
        return 0;
    if (!wi_step_meets(c->p, b->index, (wi_step_range){a->index, a->index}) ||
        wi_step_meets(c->p, b->index, (wi_step_range){a->index + 1, b->index - 1}))
        return 0;
    const int sums = count_sums(c);
    return a->sums + sums <= MOST_SUMS ? sums : 0;
}

/* Axes of one element may be reduced or not. */
static bool reduces_to_columns(const wi_partition *p, const wi_step *step) {
    const int rank = step->shape.rank;
    if (step->kind != WI_STEP_LOOP || rank < 2 || step->reduced == 0 || step->reduced >> (rank - 1) & 1)
        return false;
    for (int i = 0; i < rank - 1; i++)
        if (!(step->reduced >> i & 1) && step->shape.dims[i] != 1) return false;
    return wi_is_simple_loop(p, step);
}

static bool give_sums(wi_partition *p, int loop) {
    if (!reduces_to_columns(p, p->steps[loop])) return false;
    for (int product = loop - 1; product >= 0 && product >= loop - LOOK_BACK; product--) {
        const pair c = {p, p->steps[product], p->steps[loop]};
        const int sums = sums_of(&c);
        if (sums == 0) continue;
        wi_move_members(p, loop, product);
        p->steps[product]->sums += sums;
        return true;
    }
    return false;
}

weft_status wi_add_column_sums(wi_partition *p) {
    bool any = false;
    for (size_t i = 1; i < p->step_count; i++)
        any |= wi_step_device(p, p->steps[i])->profile.loops.sums && give_sums(p, (int)i);
    return any ? wi_drop_unread(p) : WEFT_OK;
}
