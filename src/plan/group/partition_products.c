/* Matrix products and convolutions. Their operands are stored values. */
#include "kernels/convolution/conv_product.h"
#include "plan/group/partition.h"
#include <weft/ops.h>

/* ---- layouts ---- */

/* Can all leading dimensions (all but the last two) be addressed with one stride? At most one of them is larger than 1, or the strides
 * are multiples of one another. */
static bool merge_batch(const wi_extent *extent, const wi_layout *layout, int lead, wi_size *stride) {
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
    merged->strides[1] = wide.strides[rank - 2];
    merged->strides[2] = wide.strides[rank - 1];
    return merge_batch(&step->extent, &wide, rank - 2, &merged->strides[0]);
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

/* *wide: the operand's layout with the product's leading dimensions and the operand's last two. *batch: the stride of the leading
 * dimensions; false if they have no single stride. */
static bool operand_layout(const wi_extent *product, const wi_value *value, wi_layout *wide, wi_size *batch) {
    const int rank = product->rank, own = value->extent->rank;
    wi_extent full = *product;
    full.dims[rank - 2] = value->extent->dims[own - 2];
    full.dims[rank - 1] = value->extent->dims[own - 1];
    *wide = wi_broadcast_layout(value->extent, value->layout, &full);
    return merge_batch(&full, wide, rank - 2, batch);
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
    WI_TRY(wi_lay_value(p, view, &layout));
    return wi_copy_value(p, view, -1, NULL, index);
}

/* Finds an operand of a product, copied if necessary, in memory. *wide: its layout, with the batch stride in strides[0] if there are
 * leading dimensions. */
static weft_status product_operand(wi_partition *p, int product, int input, int *index, wi_layout *wide) {
    weft_tensor *result = p->values[product].node;
    const wi_extent *const extent = p->values[product].extent;
    *index = wi_value_index(p, result->inputs[input]);
    WI_TRY(wi_in_memory(p, index));
    wi_size batch;
    if (!operand_layout(extent, &p->values[*index], wide, &batch)) {
        WI_TRY(write_stretched(p, result, result->inputs[input], index));
        (void)operand_layout(extent, &p->values[*index], wide, &batch);
    }
    if (extent->rank > 2) wide->strides[0] = batch;
    return WEFT_OK;
}

/* ---- products ---- */

weft_status wi_take_product(wi_partition *p, int index) {
    weft_tensor *node = p->values[index].node;
    const wi_extent *const extent = p->values[index].extent;
    const int rank = extent->rank;
    wi_layout layout_a, layout_b;
    int a, b, step;
    WI_TRY(product_operand(p, index, 0, &a, &layout_a));
    WI_TRY(product_operand(p, index, 1, &b, &layout_b));
    WI_TRY(wi_new_step(p, WI_STEP_PRODUCT, &node->shape, &step));
    wi_step *s = p->steps[step];
    s->sources[0] = a;
    s->sources[1] = b;
    const wi_extent *extent_a = p->values[a].extent;
    s->gemm = (wi_gemm_shape){.batch = 1,
        .m = extent->dims[rank - 2].actual,
        .n = extent->dims[rank - 1].actual,
        .k = extent_a->dims[extent_a->rank - 1].actual,
        .a_row = layout_a.strides[rank - 2].actual,
        .a_column = layout_a.strides[rank - 1].actual,
        .b_row = layout_b.strides[rank - 2].actual,
        .b_column = layout_b.strides[rank - 1].actual};
    for (int i = 0; i < rank - 2; i++) s->gemm.batch *= extent->dims[i].actual;
    if (rank > 2) {
        s->gemm.a_batch = layout_a.strides[0].actual;
        s->gemm.b_batch = layout_b.strides[0].actual;
    }
    wi_add_member(p, step, index);
    return wi_select_for(p, s);
}

/* A convolution as a product of the windows of the image and the weight. For the epilogue the result is (images · outer spatial axes,
 * last spatial axis, channels). */
weft_status wi_take_convolution(wi_partition *p, int index) {
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
