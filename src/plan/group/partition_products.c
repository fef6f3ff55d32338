/* Matrix products and convolutions. Their operands are stored values. */
#include "kernels/convolution/conv_product.h"
#include "plan/group/partition.h"
#include <weft/ops.h>

/* ---- layouts ---- */

/* Can the first `lead` dimensions be addressed with one stride? At most one of them is larger than 1, or the strides are multiples of one
 * another. */
static bool merge_leading(const wi_extent *extent, const wi_layout *layout, int lead, wi_size *stride) {
    int last = -1;
    *stride = wi_size_of(0);
    for (int i = lead - 1; i >= 0; i--) {
        if (wi_size_is(extent->dims[i], 1)) continue;
        if (last < 0)
            *stride = layout->strides[i];
        else if (!wi_size_equal(layout->strides[i], wi_size_mul(layout->strides[last], extent->dims[last])))
            return false;
        last = i;
    }
    return true;
}

wi_layout wi_broadcast_layout(const wi_extent *from, const wi_layout *layout, const wi_extent *to) {
    wi_layout wide = {.offset = layout->offset};
    for (int i = 1; i <= from->rank; i++) {
        if (!wi_size_is(from->dims[from->rank - i], 1))
            wide.strides[to->rank - i] = layout->strides[from->rank - i];
    }
    return wide;
}

bool wi_product_layout(
    const wi_step *step, const wi_extent *extent, const wi_layout *layout, wi_layout *merged) {
    const int rank = step->extent.rank;
    for (int i = 0; i < extent->rank - rank;
         i++) /* an operand of an inline value may have more axes than the product */
        if (!wi_size_is(extent->dims[i], 1)) return false;
    const wi_layout wide = wi_broadcast_layout(extent, layout, &step->extent);
    *merged = (wi_layout){.offset = wide.offset};
    merged->strides[2] = wide.strides[rank - 1];
    if (step->has_merged_rows) return merge_leading(&step->extent, &wide, rank - 1, &merged->strides[1]);
    merged->strides[1] = wide.strides[rank - 2];
    return merge_leading(&step->extent, &wide, rank - 2, &merged->strides[0]);
}

wi_layout wi_generator_layout(const weft_tensor *generator, const wi_extent *extent) {
    if (generator->op != &wi_op_coordinate) return wi_layout_contiguous(extent);
    wi_layout layout = {0};
    layout.strides[generator->attributes->along.axis] = wi_size_of(1);
    return layout;
}

bool wi_product_generates(const wi_partition *p, const wi_step *step, const weft_tensor *generator) {
    const wi_extent extent = wi_extent_of(&generator->shape, p->request->batch);
    const wi_layout layout = wi_generator_layout(generator, &extent);
    wi_layout merged;
    return wi_product_layout(step, &extent, &layout, &merged);
}

/* An operand of a product: its value, and its sizes and layout with the product's leading dimensions and the operand's last two. */
typedef struct operand {
    int value;
    wi_extent extent;
    wi_layout layout;
    wi_size batch; /* the stride of the leading dimensions */
} operand;

/* False: the leading dimensions have no single stride. */
static bool lay_operand(operand *x, const wi_partition *p, const wi_extent *product) {
    const wi_value *const value = &p->values[x->value];
    const int rank = product->rank, own = value->extent->rank;
    x->extent = *product;
    x->extent.dims[rank - 2] = value->extent->dims[own - 2];
    x->extent.dims[rank - 1] = value->extent->dims[own - 1];
    x->layout = wi_broadcast_layout(value->extent, value->layout, &x->extent);
    return merge_leading(&x->extent, &x->layout, rank - 2, &x->batch);
}

/* Copies an operand that is broadcast along some leading dimensions but not along all, so that it has a single batch stride. */
static weft_status write_stretched(
    wi_partition *p, const weft_tensor *product, weft_tensor *node, int *index) {
    wi_shape shape = product->shape;
    shape.dims[shape.rank - 2] = node->shape.dims[node->shape.rank - 2];
    shape.dims[shape.rank - 1] = node->shape.dims[node->shape.rank - 1];
    weft_tensor *stretched = weft_expand(node, shape.rank, shape.dims);
    if (!stretched) return weft_graph_status(p->request->graph);
    const int from = *index;
    int view;
    WI_TRY(wi_new_value(p, stretched, &view));
    wi_make_view(p, view, from);
    const wi_value *x = &p->values[from];
    const wi_layout layout = wi_broadcast_layout(x->extent, x->layout, p->values[view].extent);
    WI_TRY(wi_set_layout(p, view, &layout));
    return wi_copy_value(p, view, -1, NULL, index);
}

/* Finds an operand of a product, copied if necessary, in memory. */
static weft_status find_operand(wi_partition *p, int product, int input, operand *x) {
    weft_tensor *result = p->values[product].node;
    const wi_extent *const extent = p->values[product].extent;
    x->value = wi_value_index(p, result->inputs[input]);
    WI_TRY(wi_in_memory(p, &x->value));
    if (lay_operand(x, p, extent)) return WEFT_OK;
    WI_TRY(write_stretched(p, result, result->inputs[input], &x->value));
    (void)lay_operand(x, p, extent);
    return WEFT_OK;
}

/* ---- products ---- */

/* Is the operand the same matrix for all indices of the leading dimensions? */
static bool is_one_matrix(const operand *x) {
    for (int i = 0; i < x->extent.rank - 2; i++)
        if (!wi_size_is(x->extent.dims[i], 1) && !wi_size_is(x->layout.strides[i], 0)) return false;
    return true;
}

/* A batch of products with the same matrix B is one product with more rows, if strides can express these rows of A. */
static void merge_rows(wi_step *s, const operand *a, const operand *b) {
    wi_size row;
    const int rows = s->extent.rank - 1;
    if (rows < 2 || !is_one_matrix(b) || !merge_leading(&a->extent, &a->layout, rows, &row)) return;
    s->has_merged_rows = true;
    s->gemm.m *= s->gemm.batch;
    s->gemm.batch = 1;
    s->gemm.a_row = row.actual;
    s->gemm.a_batch = s->gemm.b_batch = 0;
}

weft_status wi_group_product(wi_partition *p, int index) {
    weft_tensor *node = p->values[index].node;
    const wi_extent *const extent = p->values[index].extent;
    const int rank = extent->rank;
    operand a, b;
    int step;
    WI_TRY(find_operand(p, index, 0, &a));
    WI_TRY(find_operand(p, index, 1, &b));
    WI_TRY(wi_new_step(p, WI_STEP_PRODUCT, &node->shape, &step));
    wi_step *s = p->steps[step];
    s->sources[0] = a.value;
    s->sources[1] = b.value;
    s->gemm = (wi_gemm_shape){.batch = 1,
        .m = extent->dims[rank - 2].actual,
        .n = extent->dims[rank - 1].actual,
        .k = a.extent.dims[rank - 1].actual,
        .a_batch = a.batch.actual,
        .a_row = a.layout.strides[rank - 2].actual,
        .a_column = a.layout.strides[rank - 1].actual,
        .b_batch = b.batch.actual,
        .b_row = b.layout.strides[rank - 2].actual,
        .b_column = b.layout.strides[rank - 1].actual};
    for (int i = 0; i < rank - 2; i++) s->gemm.batch *= extent->dims[i].actual;
    if (!p->request->plain) merge_rows(s, &a, &b);
    wi_add_member(p, step, index);
    return wi_select_for(p, s);
}

/* A convolution as a product of the windows of the image and the weight. For the epilogue the result is (images · outer spatial axes,
 * last spatial axis, channels). */
weft_status wi_group_convolution(wi_partition *p, int index) {
    const weft_tensor *node = p->values[index].node;
    const wi_extent *const extent = p->values[index].extent;
    int image = wi_value_index(p, node->inputs[0]), weight = wi_value_index(p, node->inputs[1]), step;
    wi_conv_geometry *geometry = wi_arena_take(p->request->arena, sizeof *geometry);
    if (!geometry) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_in_memory(p, &image));
    WI_TRY(wi_in_memory(p, &weight));
    for (int tries = 0; tries < 2; tries++) {
        const wi_value *x = &p->values[image], *w = &p->values[weight];
        if (wi_conv_geometry_of(geometry, node, x->extent, x->layout, w->extent, w->layout, extent)) break;
        WI_TRY(wi_contiguous(p, &image));
    }
    WI_TRY(wi_new_step(p, WI_STEP_PRODUCT, &node->shape, &step));
    wi_step *s = p->steps[step];
    s->sources[0] = image;
    s->sources[1] = weight;
    s->gemm = (wi_gemm_shape){.batch = geometry->images * geometry->made[0] * geometry->made[1],
        .m = geometry->made[2],
        .n = geometry->filters * geometry->groups,
        .k = wi_conv_terms(geometry),
        .convolution = geometry};
    wi_add_member(p, step, index);
    return wi_select_for(p, s);
}
