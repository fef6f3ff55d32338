/* Sweeps over the space: how many a loop needs, and which value one sweep stages for later ones. */
#include "cl/opened_device.h"
#include "graph/formula.h"
#include "plan/layout/loops.h"

bool wi_is_reduction(const wi_value *value) {
    return wi_computes_node(value) && value->node->op->kind == WI_REDUCE;
}

static int max_int(int a, int b) {
    return a > b ? a : b;
}

static int member_sweep(const wi_loops *loops, const wi_step *step, const wi_value *value) {
    const wi_partition *p = loops->partition;
    int sweep = 0;
    if (!wi_computes_node(value) || wi_is_product_of(step, value)) return 0;
    for (int i = 0; i < value->node->input_count; i++) {
        const wi_value *input = wi_value_of_node(p, value->node->inputs[i]);
        if (!wi_is_member_of(input, value->step)) continue;
        sweep =
            max_int(sweep, loops->sweep[input - p->values] + (input->member.in_row && !value->member.in_row));
    }
    return sweep;
}

/* If the rows are long and not too many, the reduction can be split among work-items, whose partial results are then joined or
 * combined. */
static bool worth_splitting(const wi_loop *loop) {
    int64_t rows = 1, row = 1;
    for (int i = 0; i < loop->space.rank; i++) {
        if (loop->space.reduced[i])
            row *= loop->space.dims[i].general;
        else
            rows *= loop->space.dims[i].general;
    }
    return row >= 8192 && rows <= 65536;
}

/* Does a sweep have to compute the member for every element: a reduction of elements, or a stored result with all elements? */
static bool is_elements_work(const wi_value *value) {
    return wi_is_reduction(value) || (!value->member.in_row && value->storage >= 0);
}

void wi_count_sweeps(wi_loops *loops, wi_loop *loop) {
    const wi_step *step = loop->step;
    loop->sweeps = 1;
    for (int i = 0; i < step->member_count; i++) {
        const int index = step->members[i];
        const wi_value *member = &loops->partition->values[index];
        loops->sweep[index] = member_sweep(loops, step, member);
        if (is_elements_work(member)) loop->sweeps = max_int(loop->sweeps, loops->sweep[index] + 1);
    }
    loop->may_split = step->reduced && loop->sweeps == 1 && worth_splitting(loop);
}

/* ---- staged values ---- */

/* Does the input of a member depend on memory that varies along a row? Sources do not count, nor padded reads, because neither is in
 * memory that the step overwrites. */
static bool is_read_along(const wi_partition *p, const wi_loop *loop, int value) {
    const wi_value *input = &p->values[value];
    const int o = wi_loop_operand(loop, value, false);
    if (!wi_is_inline_in(input, loop->step->index))
        return o >= 0 && wi_operand_in_loop(loop, &loop->operands[o]);
    const weft_tensor *node = wi_inline_node(input);
    for (int i = 0; i < node->input_count && !wi_is_uniform_inline(input); i++) {
        const wi_value *from = wi_value_of_node(p, node->inputs[i]);
        const bool is_source = from->state == WI_VALUE_MEMORY && from->step < 0;
        if (!is_source && is_read_along(p, loop, (int)(from - p->values))) return true;
    }
    return false;
}

/* Is the input a member of this step with an element for every point of the space? */
static bool is_element_of(const wi_loop *loop, const wi_value *input) {
    return wi_is_member_of(input, loop->step->index) && !input->member.in_row;
}

/* By place of each member: what must be computed or read for its elements, if one chosen member is already staged. Members come after
 * their inputs. */
typedef struct needs {
    bool wanted[WI_MAX_MEMBERS]; /* depends on the chosen member */
    bool reads[WI_MAX_MEMBERS];  /* reads memory along a row in addition to what the chosen member reads */
} needs;

static void find_needs_of(const wi_partition *p, const wi_loop *loop, int place, needs *n) {
    const wi_value *value = &p->values[loop->step->members[place]];
    if (value->member.copy_of >= 0) n->reads[place] = is_read_along(p, loop, value->member.copy_of);
    if (!wi_computes_node(value)) return;
    for (int i = 0; i < value->node->input_count; i++) {
        const wi_value *input = wi_value_of_node(p, value->node->inputs[i]);
        const bool element = is_element_of(loop, input);
        n->wanted[place] |= element && n->wanted[input->member.place];
        n->reads[place] |=
            element ? n->reads[input->member.place] : is_read_along(p, loop, (int)(input - p->values));
    }
}

/* wanted: the chosen member. */
static needs find_needs(const wi_partition *p, const wi_loop *loop, int wanted) {
    needs n = {0};
    for (int place = 0; place < loop->step->member_count; place++) {
        n.wanted[place] = loop->step->members[place] == wanted;
        if (!n.wanted[place]) find_needs_of(p, loop, place, &n);
    }
    return n;
}

/* Is the member a map with a function call, costly enough to store and read back, and not stored anyway? */
static bool may_be_staged(const wi_value *value, weft_dtype dtype) {
    return !value->member.in_row && value->storage < 0 && wi_computes_node(value) &&
           value->node->op->kind == WI_MAP && value->node->dtype == dtype &&
           wi_formula_calls(value->node->op->float_formula);
}

/* Is the member needed by a reduction of the sweep that computes the member, and by a later sweep, and does no later sweep read other memory
 * along a row? */
static bool is_worth_staging(const wi_loops *loops, const wi_loop *loop, int index) {
    const wi_partition *p = loops->partition;
    const int sweep = loops->sweep[index];
    bool now = false, later = false;
    if (!may_be_staged(&p->values[index], loop->operands[loop->staging].dtype)) return false;
    const needs n = find_needs(p, loop, index);
    for (int i = 0; i < loop->step->member_count; i++) {
        const int member = loop->step->members[i];
        const wi_value *other = &p->values[member];
        if (!is_elements_work(other) || loops->sweep[member] < sweep) continue;
        if (loops->sweep[member] == sweep) {
            now = now || (n.wanted[i] && wi_is_reduction(other));
        } else {
            later = later || n.wanted[i];
            if (n.reads[i]) return false;
        }
    }
    return now && later;
}

bool wi_writes_last(const wi_loops *loops, const wi_loop *loop, const wi_operand *output) {
    const bool reduces = loop->step->reduced != 0;
    for (int d = 0; d < loop->space.rank && reduces; d++) {
        if (output->layout.strides[d].actual == 0) return false;
    }
    return !reduces || loops->sweep[output->value] == loop->sweeps - 1;
}

/* An example of a staged member is the exponential of a softmax. */
void wi_find_staged(const wi_loops *loops, wi_loop *loop) {
    const wi_step *step = loop->step;
    const wi_loop_profile *profile = &wi_step_device(loops->partition, step)->profile.loops;
    if (!step->reduced || loop->sweeps < 2 || !profile->stores_functions) return;
    for (int o = 0; o < loop->operand_count && loop->staging < 0; o++) {
        const wi_operand *output = &loop->operands[o];
        if (output->is_output && !wi_dtype_rounds(output->dtype) && wi_dtype_is_float(output->dtype) &&
            wi_writes_last(loops, loop, output))
            loop->staging = o;
    }
    for (int i = 0; i < step->member_count && loop->staging >= 0 && loop->staged < 0; i++) {
        if (is_worth_staging(loops, loop, step->members[i])) loop->staged = step->members[i];
    }
}
