/* The sizes of new nodes, and numbers that are not sizes (contract in sizes.h). */
#include "base/integers.h"
#include "graph/sizes.h"
#include "graph/weft_graph.h"
#include <math.h>
#include <string.h>

/* ---- numbers that are not sizes ---- */

enum { MOST_TIMES = 64, MOST_REST = 1 << 12 };

/* Is the number what C makes of a multiple of a symbol for a parameter of 32 bits? */
static bool is_shortened(double value, int64_t symbol) {
    enum { MOST_SHORT_TIMES = 2 };
    for (int64_t times = 1; times <= MOST_SHORT_TIMES; times++) {
        const uint32_t shortened = (uint32_t)(times * symbol);
        if (fabs(value - (double)shortened) <= MOST_REST ||
            fabs(value - (double)(int32_t)shortened) <= MOST_REST)
            return true;
    }
    return false;
}

/* What the number stands for if it is, perhaps rounded to f32, a multiple of a symbol plus a small number; NULL: nothing. */
static const char *symbol_of(double value) {
    static const char *const batch = "of a batch axis", *const length = "WEFT_LENGTH";
    const double unit = (double)(WEFT_LENGTH & -WEFT_LENGTH), n = fabs(value), whole = round(n / unit);
    if (is_shortened(value, WEFT_LENGTH)) return length;
    if (is_shortened(value, WI_BATCH_HANDLE)) return batch;
    if (whole > MOST_TIMES * 0x1p21 || fabs(n - whole * unit) > MOST_REST) return NULL;
    for (int64_t times = 1; times <= MOST_TIMES; times++) {
        const double prime = whole / (double)times;
        if (prime * unit == (double)WEFT_LENGTH) return length;
        if (prime * unit == (double)WI_BATCH_HANDLE) return batch;
        if (prime == floor(prime) && wi_is_size_prime((uint32_t)prime)) return "a weft_symbol";
    }
    return NULL;
}

static weft_status check_named(const char *op, const char *name, double value) {
    const char *const symbol = symbol_of(value);
    if (!symbol) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT,
        "%s: %s%s%.0f is a placeholder for a size that only plans know (%s), not a number; weft_size(x, "
        "axis) gives the size as a tensor",
        op, name, *name ? " = " : "", value, symbol);
}

weft_status wi_check_number(const char *op, double value) {
    return check_named(op, "", value);
}

weft_status wi_check_numbers(const char *op, const wi_named_number *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) WI_TRY(check_named(op, numbers[i].name, numbers[i].value));
    return WEFT_OK;
}

bool wi_takes_numbers(weft_graph *graph, const char *op, const wi_named_number *numbers, size_t count) {
    const weft_status status = wi_check_numbers(op, numbers, count);
    if (status != WEFT_OK) wi_graph_fail_recorded(graph, status);
    return status == WEFT_OK;
}

bool wi_takes_number(weft_graph *graph, const char *op, double value) {
    const weft_status status = wi_check_number(op, value);
    if (status != WEFT_OK) wi_graph_fail_recorded(graph, status);
    return status == WEFT_OK;
}

/* ---- the sizes of a new node ---- */

static bool has_batch_factor(const weft_graph *graph, const wi_polynomial *p) {
    bool has = false;
    for (int i = 0; i < p->count && !has; i++)
        for (int k = 0; k < WI_MOST_FACTORS && p->terms[i].factors[k] != WI_NO_FACTOR && !has; k++) {
            const wi_size_entry *const entry = &graph->sizes.of[p->terms[i].factors[k]];
            has = entry->divisor > 1 ? has_batch_factor(graph, &entry->of) : entry->symbol == WI_SYMBOL_BATCH;
        }
    return has;
}

/* Notes a size in its only form; false: it is none. */
static bool note_size(const weft_graph *graph, int64_t dim, wi_size_flags *flags) {
    wi_polynomial p;
    if (!wi_is_symbolic(dim)) return true;
    if (!wi_polynomial_of(graph, wi_magnitude(dim), false, &p)) return false;
    flags->symbolic = true;
    flags->cuts_batch = flags->cuts_batch || has_batch_factor(graph, &p);
    return true;
}

/* Is the node a slice, a padding or a selection (topk) between a multiple of the batch and a number that some batch sizes do not allow, as x[0:3]? A plan must
 * check it at its batch size, even if the result has a fixed size. */
static bool leaves_batch(
    const wi_op *op, const weft_tensor *x, const wi_shape *shape, const wi_attributes *attributes) {
    for (int axis = 0; axis < shape->rank; axis++) {
        const int64_t from = x->shape.dims[axis], to = shape->dims[axis];
        if ((from < 0) == (to < 0)) continue;
        const int64_t outer = from < 0 ? -from : -to, inner = from < 0 ? to : from;
        const int64_t start = op->kind == WI_VIEW ? attributes->slice.start
                              : op->reads_padded  ? attributes->padding.before[axis]
                                                  : 0,
                      step = op->kind == WI_VIEW ? attributes->slice.step
                             : op->reads_padded  ? attributes->padding.step
                                                 : 1;
        const bool numbers = !wi_is_symbolic(outer) && !wi_is_symbolic(inner) && !wi_is_symbolic(start);
        if (!numbers || start < 0 || start + (inner - 1) * wi_max64(step, 1) + 1 > outer) return true;
    }
    return false;
}

bool wi_sizes_of_node(weft_graph *graph, const wi_op *op, weft_tensor *const *inputs, int count,
    wi_shape *shape, wi_attributes *attributes, wi_size_flags *flags) {
    char text[WI_SHAPE_TEXT];
    bool good = true;
    const bool has_rank =
        shape->rank >= 0 && shape->rank <= WEFT_MAX_RANK; /* wi_shape_check refuses others */
    for (int i = 0; has_rank && i < shape->rank && good; i++) {
        shape->dims[i] = wi_dim_canonical(graph, shape->dims[i]);
        good = note_size(graph, shape->dims[i], flags);
    }
    for (int word = 0; op->dimensions >> word && good; word++) {
        const int64_t given = wi_attribute_size(attributes, word), size = wi_dim_canonical(graph, given);
        if (!(op->dimensions >> word & 1) || !wi_is_symbolic(given)) continue;
        /* A multiple of the batch that was calculated as a number stays a handle, which says that plans must replace it. */
        wi_set_attribute_size(attributes, word, given < 0 ? size : wi_counted(graph, size));
        good = note_size(graph, wi_attribute_size(attributes, word), flags);
    }
    if (!good)
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "%s: %s has a size that is too large, or that is not a sum, product or quotient of sizes of this "
            "graph",
            op->name, wi_shape_print(graph, shape, text));
    const bool moves = has_rank && ((op->kind == WI_KERNEL && op->fits) ||
                                       (op->dimensions && (op->kind == WI_VIEW || op->reads_padded)));
    flags->cuts_batch = flags->cuts_batch || (moves && leaves_batch(op, inputs[0], shape, attributes));
    flags->symbolic = flags->symbolic || flags->cuts_batch;
    for (int i = 0; i < count; i++) {
        flags->symbolic = flags->symbolic || inputs[i]->is_symbolic;
        flags->cuts_batch = flags->cuts_batch || inputs[i]->cuts_batch;
    }
    return true;
}

weft_status wi_sizes_check_required(weft_graph *graph, const wi_given *given) {
    for (size_t i = 0; i < graph->sizes.required_count; i++) {
        const wi_polynomial *const p = &graph->sizes.required[i];
        char text[WI_SHAPE_TEXT];
        int missing = -1;
        const int64_t value = wi_polynomial_at(graph, p, given, &missing);
        if (missing >= 0 || value >= 0) continue;
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "weft_plan_create: the network computes with sizes at which %s is 0 or more, but it is %lld",
            wi_shape_print(graph, &(wi_shape){.rank = 1, .dims = {wi_polynomial_dim(graph, p, true)}}, text),
            (long long)value);
    }
    return WEFT_OK;
}
