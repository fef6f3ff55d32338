/* The selection of an implementation for each contraction and kernel op (kernels/selection.h). The partition selects as soon as the layouts
 * of a step's operands are known, and before maps join the step's epilogue, because not every implementation has an epilogue. */
#include "base/key_map.h"
#include "cl/opened_device.h"
#include "kernels/selection.h"
#include "ops/op_table.h"
#include "plan/group/partition.h"

/* Returns the offset modulo 16 elements, which is all that matters for alignment. Equal layers, whose parameters begin at different
 * offsets, then have equal sites. */
static wi_size beyond_rows(wi_size offset) {
    enum { ROW = 16 };
    return (wi_size){offset.general % ROW, offset.actual % ROW};
}

wi_kernel_site wi_step_site(const wi_partition *p, const wi_step *step) {
    const wi_value *result = &p->values[step->members[0]];
    wi_kernel_site site = {.node = result->node,
        .device = &wi_step_device(p, step)->profile,
        .inference = p->request->inference,
        .result = *result->extent,
        .product = step->kind == WI_STEP_PRODUCT && !step->by_segments ? &step->gemm : NULL};
    for (int i = 0; i < result->node->input_count; i++) {
        site.inputs[i] = *p->values[step->sources[i]].extent;
        site.layouts[i] = *p->values[step->sources[i]].layout;
        site.layouts[i].offset = beyond_rows(site.layouts[i].offset);
        site.formats[i] = p->values[step->sources[i]].format;
        site.fixed |= (uint32_t)wi_is_fixed(p, step->sources[i]) << i;
    }
    site.result_format = result->format;
    site.precision = wi_multiplied_format(p->order, result->node);
    site.products = p->request->matmul_precision;
    site.most_scratch = p->request->most_scratch;
    return site;
}

/* ---- equal steps, as in the layers of a network, share one selection ---- */

static void add_sizes(wi_key_map *map, const wi_size *sizes, int count) {
    for (int i = 0; i < count; i++) {
        wi_key_add(map, (uint64_t)sizes[i].general);
        wi_key_add(map, (uint64_t)sizes[i].actual);
    }
}

static void add_extent(wi_key_map *map, const wi_extent *extent) {
    wi_key_add(map, (uint64_t)extent->rank);
    add_sizes(map, extent->dims, extent->rank);
}

static void add_shape(wi_key_map *map, const weft_tensor *node) {
    wi_key_add(map, (uint64_t)node->dtype << 32 | (uint64_t)node->shape.rank);
    for (int i = 0; i < node->shape.rank; i++) wi_key_add(map, (uint64_t)node->shape.dims[i]);
}

static void add_attributes(wi_key_map *map, const weft_tensor *node) {
    if (node->op->attribute_bytes > 0) wi_key_add_bytes(map, node->attributes, node->op->attribute_bytes);
}

/* The key does not need site->product, which the node and the layouts of its inputs determine. */
void wi_key_add_site(wi_key_map *map, const wi_device *device, const wi_kernel_site *site) {
    const weft_tensor *const node = site->node;
    wi_key_add_address(map, device);
    wi_key_add_address(map, node->op);
    add_attributes(map, node);
    add_shape(map, node);
    add_extent(map, &site->result);
    wi_key_add(map, (uint64_t)site->result_format << 48 | (uint64_t)site->precision << 32 | site->fixed);
    for (int i = 0; i < node->input_count; i++) {
        add_shape(map, node->inputs[i]);
        add_extent(map, &site->inputs[i]);
        add_sizes(map, &site->layouts[i].offset, 1);
        add_sizes(map, site->layouts[i].strides, site->inputs[i].rank);
        wi_key_add(map, (uint64_t)site->formats[i]);
    }
}

static weft_status select_for_site(
    const wi_partition *p, wi_device *device, const wi_kernel_site *site, void **made) {
    wi_selection *const selection = wi_arena_take(p->request->arena, sizeof *selection);
    if (!selection) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_select(selection, device, site->node->op, site));
    *made = selection;
    return WEFT_OK;
}

weft_status wi_select_for(wi_partition *p, wi_step *step) {
    const wi_kernel_site site = wi_step_site(p, step);
    wi_device *const device = wi_step_device(p, step);
    wi_key_begin(p->selections);
    wi_key_add_site(p->selections, device, &site);
    void **const known = wi_key_end(p->selections);
    if (!known) return WEFT_ERROR_MEMORY;
    if (!*known) WI_TRY(select_for_site(p, device, &site, known));
    step->selection = *known;
    return WEFT_OK;
}

bool wi_step_is_library(const wi_step *step) {
    return step->kind == WI_STEP_PRODUCT && !step->selection->chosen->file;
}
