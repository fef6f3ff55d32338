/* Decides which values are inline: computed by the steps that read them, instead of stored by one step and read by others. The steps
 * depend on this decision, so the partition asks for it while it assigns values to steps. Memory limits do not matter here.
 *
 * The first instance of a member is computed by its step. For each other step that reads the member, the device's profile says which of
 * two ways takes less time:
 *   stored    the step of the member writes it and this step reads it; readers that are not known yet pay their part of the write;
 *   inline    this step computes another instance. It reads the inputs, unless it reads them anyway, and repeats the operations.
 *             Inputs that are not in memory are stored for this purpose or computed here as well, whichever is faster.
 * If all readers compute a member, the first instance is removed (partition_unread.c).
 *
 * A map that reads only generators, inputs, parameters and states depends on no step; if it were stored, it would begin a step or join
 * an unrelated one. Such a map is inline unless storing it takes less time, although that adds a launch. */
#include "cl/opened_device.h"
#include "graph/formula.h"
#include "ops/op_descriptors.h"
#include "plan/layout/loops.h"
#include <math.h>

/* ---- operations ---- */

static int operations_of(const weft_tensor *node, const wi_operation_prices *prices) {
    const wi_op *op = node->op;
    if (op == &wi_op_uniform || op == &wi_op_normal) return prices->random;
    const bool is_float =
        node->input_count > 0 && wi_dtype_is_float(node->inputs[node->input_count - 1]->dtype);
    const wi_formula *const formula = is_float ? op->float_formula : op->int_formula;
    const wi_formula_prices of = {prices->simple, prices->division, prices->function};
    return formula ? wi_formula_cost(formula, &of) : prices->simple;
}

/* ---- time to compute a value in a step ---- */

/* Bounds the search: a graph of diamonds has exponentially many paths. */
enum { MOST_VISITS = 24 };

typedef struct inliner {
    const wi_partition *partition;
    int step;      /* the step that would compute the value; -1: not known yet */
    double points; /* elements of the space in which the step would compute the value */
    int operands, visits;
    double memory, arithmetic;          /* seconds */
    int stores[WI_MAX_INLINE_OPERANDS]; /* values that would have to be stored as inputs */
    int store_count;
    int computed[MOST_VISITS]; /* members of other steps that would be computed here, too */
    int computed_count;
} inliner;

static const wi_device_profile *device_of(const inliner *own) {
    const wi_partition *p = own->partition;
    return &p->request->devices.of[own->step < 0 ? p->device : p->steps[own->step]->device]->profile;
}

static double count_of(const wi_value *value) {
    return (double)wi_priced_count(&value->node->shape);
}

/* Seconds to read or write a value. */
static double traffic(const inliner *own, const wi_value *value) {
    return count_of(value) * (double)weft_dtype_size(value->format) / device_of(own)->bandwidth;
}

static void add_operations(inliner *own, const weft_tensor *node) {
    const wi_device_profile *device = device_of(own);
    const double peak = wi_device_peak(device, weft_dtype_size(wi_format_of(node->dtype)->compute));
    own->arithmetic += own->points * operations_of(node, &device->prices) / peak;
}

/* The time of memory traffic or of arithmetic, whichever is longer. The step reads or writes memory for each point of its space anyway;
 * arithmetic that takes no longer than this costs nothing. */
static double seconds_of(const inliner *own) {
    const double walk = own->points * sizeof(float) / device_of(own)->bandwidth;
    return fmax(own->memory, own->arithmetic - walk);
}

/* The contraction whose epilogue would compute the value; NULL: the step is not a contraction, or not known yet. */
static const wi_step *product_of(const inliner *own) {
    const wi_step *const step = own->step >= 0 ? own->partition->steps[own->step] : NULL;
    return step && step->kind == WI_STEP_PRODUCT ? step : NULL;
}

/* The epilogue of a contraction can only address some layouts. */
static bool fits(const inliner *own, const wi_value *value) {
    const wi_step *const product = product_of(own);
    wi_layout merged;
    return !product || wi_product_layout(product, value->extent, value->layout, &merged);
}

/* The epilogue of a contraction has no padded reads, and can only compute some generators. */
static bool computes(const inliner *own, const weft_tensor *node) {
    const wi_step *const product = product_of(own);
    if (!product) return true;
    return !node->op->reads_padded &&
           (node->input_count > 0 || wi_product_generates(own->partition, product, node));
}

static bool add_read(inliner *own, const wi_value *value) {
    if (!fits(own, value)) return false;
    own->memory += traffic(own, value);
    return ++own->operands <= WI_MAX_INLINE_OPERANDS;
}

static bool add_node(inliner *own, const weft_tensor *node);

/* Adds the time for storing the value in its step and reading the value in this step. The time of the write is divided among all readers
 * that are still to come. */
static bool store(inliner *own, int index) {
    const wi_value *value = &own->partition->values[index];
    if (own->store_count == WI_MAX_INLINE_OPERANDS || !wi_may_store(own->partition, index)) return false;
    for (int i = 0; i < own->store_count; i++) {
        if (own->stores[i] == index) return true;
    }
    own->stores[own->store_count++] = index;
    own->memory += traffic(own, value) / (1 + value->member.outside);
    return add_read(own, value);
}

static bool note(inliner *own, int index) {
    if (own->computed_count == MOST_VISITS) return false;
    own->computed[own->computed_count++] = index;
    return true;
}

/* For an input that is a member of another step and not stored yet: adds the time of storing the input or of computing it in this step,
 * whichever is faster. */
static bool add_member(inliner *own, int index) {
    const weft_tensor *node = own->partition->values[index].node;
    inliner stored = *own, computed = *own;
    const bool may_store = store(&stored, index);
    const bool may_compute = node->op->kind == WI_MAP && add_node(&computed, node) && note(&computed, index);
    const int visits = computed.visits;
    if (!may_store && !may_compute) return false;
    *own = may_compute && (!may_store || seconds_of(&computed) < seconds_of(&stored)) ? computed : stored;
    own->visits = visits;
    return true;
}

static bool add_input(inliner *own, weft_tensor *node) {
    const wi_partition *p = own->partition;
    const int index = wi_value_index(p, node);
    const wi_value *value = &p->values[index];
    if (wi_is_uniform_inline(value) || (own->step >= 0 && wi_step_reads(p, p->steps[own->step], index)))
        return true;
    if (value->state == WI_VALUE_INLINE) return add_node(own, value->inlined.expression);
    if (value->state == WI_VALUE_MEMORY || value->storage >= 0) return add_read(own, value);
    return add_member(own, index);
}

/* Adds the time of computing the node. False if that needs too many operands, or the search takes too long. */
static bool add_node(inliner *own, const weft_tensor *node) {
    if (++own->visits > MOST_VISITS || !computes(own, node)) return false;
    add_operations(own, node);
    for (int i = 0; i < node->input_count; i++) {
        if (!add_input(own, node->inputs[i])) return false;
    }
    for (int axis = 0; node->op->reads_padded && axis < node->shape.rank; axis++)
        own->operands += node->attributes->padding.mode[axis] != WI_PADDING_NONE;
    own->operands += node->input_count == 0;
    return own->operands <= WI_MAX_INLINE_OPERANDS;
}

/* ---- members of other steps ---- */

static bool may_be_inline(const wi_partition *p, const wi_value *value, int step) {
    return value->state == WI_VALUE_MEMBER && value->step != step && value->storage < 0 &&
           value->node->op->kind == WI_MAP && step >= 0 &&
           (p->steps[step]->kind == WI_STEP_LOOP || p->steps[step]->kind == WI_STEP_PRODUCT);
}

/* Is computing another instance in the step faster than storing the first instance and reading it? */
static bool is_computed_in(const wi_partition *p, int index, int step, inliner *own) {
    const wi_value *value = &p->values[index];
    if (p->request->plain || !may_be_inline(p, value, step)) return false;
    *own = (inliner){.partition = p, .step = step, .points = (double)wi_priced_count(&p->steps[step]->shape)};
    /* The step computes or reads the value already. */
    if (wi_step_reads(p, p->steps[step], index)) return true;
    if (!add_node(own, value->node)) return false;
    const double bytes = traffic(own, value), readers = value->member.outside > 1 ? value->member.outside : 1;
    return seconds_of(own) < bytes / readers + bytes;
}

bool wi_becomes_inline(const wi_partition *p, int index, int step) {
    inliner own;
    return is_computed_in(p, index, step, &own);
}

int wi_operands_of_reading(const wi_partition *p, int index, int step) {
    inliner own = {0};
    const wi_value *value = &p->values[index];
    if (value->state == WI_VALUE_INLINE) return value->inlined.operands;
    return is_computed_in(p, index, step, &own) ? own.operands : 1;
}

weft_status wi_read_from(wi_partition *p, int index, int step) {
    inliner own = {0};
    if (!is_computed_in(p, index, step, &own)) return wi_store_member(p, index);
    for (int i = 0; i < own.store_count; i++) WI_TRY(wi_store_member(p, own.stores[i]));
    const bool in_product = p->steps[step]->kind == WI_STEP_PRODUCT;
    for (int i = 0; i < own.computed_count && in_product; i++)
        p->values[own.computed[i]].member.keeps_layout = true;
    if (in_product) p->values[index].member.keeps_layout = true;
    p->values[index].member.outside--;
    return WEFT_OK;
}

bool wi_is_inline_in(const wi_value *value, int step) {
    return value->state == WI_VALUE_INLINE ||
           (value->state == WI_VALUE_MEMBER && value->step != step && value->storage < 0);
}

const weft_tensor *wi_inline_node(const wi_value *value) {
    return value->state == WI_VALUE_INLINE ? value->inlined.expression : value->node;
}

/* ---- maps of values that exist before the first step ---- */

static bool is_source(const wi_value *value) {
    return value->state == WI_VALUE_INLINE || (value->state == WI_VALUE_MEMORY && value->step < 0);
}

bool wi_is_inline(const wi_partition *p, int index) {
    const wi_value *value = &p->values[index];
    bool uniform = true;
    for (int i = 0; i < value->node->input_count; i++) {
        const wi_value *input = &p->values[wi_value_index(p, value->node->inputs[i])];
        if (!is_source(input)) return false;
        uniform = uniform && wi_is_uniform_inline(input);
    }
    if (uniform) return true;
    if (p->request->plain) return false;
    const size_t place = wi_place_of(p->order, value->node);
    inliner own = {.partition = p, .step = -1, .points = (double)p->order->widest[place]};
    if (!add_node(&own, value->node)) return false;
    const double bytes = traffic(&own, value), readers = p->order->readers[place];
    const double once = own.arithmetic * count_of(value) / own.points;
    return readers * seconds_of(&own) <=
           device_of(&own)->launch_seconds + fmax(own.memory + bytes, once) + readers * bytes;
}
