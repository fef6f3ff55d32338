/* Sizes and arguments of recurrent scans (contract in recurrent_arguments.h). */
#include "kernels/recurrent/recurrent_arguments.h"

const char *const wi_recurrent_headers[] = {"elementwise.clh", "recurrent.clh", NULL};

wi_recurrent wi_recurrent_of(const wi_kernel_site *site) {
    const weft_tensor *node = site->node;
    const bool back = node->op == &wi_op_recurrent_back;
    const wi_recurrent_attributes *const attributes = &node->attributes->recurrent;
    wi_recurrent s = {
        .site = site, .node = node, .cell = wi_cell_of(node), .back = back, .kept = !attributes->forgets};
    s.w = wi_scan_index(node, back ? WI_BACK_W : WI_SCAN_W);
    s.wr = wi_scan_index(node, back ? WI_BACK_WR : WI_SCAN_WR);
    s.lengths = wi_scan_index(node, back ? WI_BACK_LENGTHS : WI_SCAN_LENGTHS);
    s.projects = s.wr >= 0;
    s.second = s.projects || s.cell == WI_CELL_GRU_RESET_FIRST;
    s.gates = wi_cell_gates(s.cell);
    s.a = wi_scan_sections_of(
        s.cell, attributes->steps, attributes->units, site->inputs[s.w].dims[1].actual, s.projects, s.kept);
    const int64_t row =
        back ? s.a.dx + s.a.sums + s.a.out + s.a.dh0 + s.a.dc0 : s.a.h + s.a.c + s.a.gates + s.a.more;
    s.batch = site->result.dims[0].actual / row;
    s.iterations = s.a.steps + (back && attributes->gives_dh0 ? 1 : 0);
    return s;
}

void wi_recurrent_begin(const wi_recurrent *s, wi_kernel_plan *plan) {
    const int64_t products = s->gates * s->a.units * s->a.width + (s->projects ? s->a.units * s->a.width : 0);
    plan->flops = 2.0 * (double)(s->batch * s->a.steps) * (double)products;
    wi_kernel_macro_int(plan, "WEFT_CELL", s->cell);
    wi_kernel_macro_int(plan, "WEFT_PROJECT", s->projects);
    wi_kernel_macro_int(plan, "WEFT_KEEP", s->kept);
    wi_kernel_macro_int(plan, "WEFT_BACK", s->back);
}

/* ---- arguments ---- */

#define INTS(launch, ...)  wi_kernel_ints(launch, WI_KERNEL_NUMBERS(__VA_ARGS__))
#define LONGS(launch, ...) wi_kernel_longs(launch, WI_KERNEL_NUMBERS(__VA_ARGS__))

/* Appends an input. If the node does not have the input (index -1), appends w, which the kernel then ignores. */
static void optional_input(const wi_recurrent *s, wi_kernel_launch *launch, int index) {
    wi_kernel_input(launch, index >= 0 ? index : s->w);
}

/* Appends two arguments: 1 if the node has lengths, else 0; and the lengths. */
static void lengths_input(const wi_recurrent *s, wi_kernel_launch *launch) {
    wi_kernel_int(launch, s->lengths >= 0);
    optional_input(s, launch, s->lengths);
}

/* Appends the weights that the products read: the packed ones if they are packed. */
static void weights_input(const wi_recurrent *s, wi_kernel_launch *launch) {
    if (s->packed > 0) {
        wi_kernel_scratch(launch, 0);
        wi_kernel_scratch(launch, s->packed);
    } else {
        wi_kernel_input(launch, s->w);
        optional_input(s, launch, s->wr);
    }
}

/* Appends the memory for the packed weights; if weights are not packed, the result, which the kernel then does not use for
 * them. */
static void packed_output(const wi_recurrent *s, wi_kernel_launch *launch) {
    for (int i = 0; i < 2; i++) {
        if (s->packed > 0)
            wi_kernel_scratch(launch, i * s->packed);
        else
            wi_kernel_result(launch);
    }
}

void wi_recurrent_prepare_arguments(const wi_recurrent *s, wi_kernel_launch *launch, int64_t rows) {
    const wi_scan_sections *a = &s->a;
    const int h0 = s->back ? -1 : wi_scan_index(s->node, WI_SCAN_H0),
              c0 = s->back ? -1 : wi_scan_index(s->node, WI_SCAN_C0);
    wi_kernel_input(launch, s->w);
    optional_input(s, launch, s->wr);
    packed_output(s, launch);
    wi_kernel_int(launch, (h0 >= 0 ? 1 : 0) + (c0 >= 0 ? 2 : 0));
    optional_input(s, launch, h0);
    optional_input(s, launch, c0);
    lengths_input(s, launch);
    wi_kernel_result(launch);
    if (s->back)
        wi_kernel_result(launch); /* not used */
    else
        wi_kernel_faults(launch);
    INTS(launch, s->panels, s->panels_r, a->steps, s->batch, a->units, a->width, rows, !s->back);
    const int64_t c_first = s->kept || s->states_apart ? a->steps * a->units : 0;
    LONGS(launch, s->batch * (s->node->attributes->recurrent.reverse ? a->steps * a->width : 0),
        s->batch * (c_first + (s->states_apart ? 0 : a->h)));
}

static void forward_arguments(const wi_recurrent *s, wi_kernel_launch *launch, int phases) {
    const wi_scan_sections *a = &s->a;
    const int64_t n = s->batch, one = s->kept ? 1 : 0;
    const int bias = wi_scan_index(s->node, WI_SCAN_BIAS);
    wi_kernel_input(launch, wi_scan_index(s->node, WI_SCAN_X));
    wi_kernel_int(launch, bias >= 0);
    optional_input(s, launch, bias);
    lengths_input(s, launch);
    wi_kernel_result(launch);
    weights_input(s, launch);
    wi_kernel_iteration(launch);
    INTS(launch, s->steps, phases, a->steps, n, a->units, a->width, s->rows, s->blocks,
        s->node->attributes->recurrent.reverse, s->node->attributes->recurrent.pads_left);
    LONGS(launch, n * a->h, (s->kept || s->states_apart ? 1 : 0) * n * a->units, n * (a->h + a->c),
        one * n * (a->gates / a->steps), n * (a->h + a->c + a->gates), one * n * a->units);
}

static void back_arguments(const wi_recurrent *s, wi_kernel_launch *launch, int phases) {
    const wi_scan_sections *a = &s->a;
    const int64_t n = s->batch, dh0 = n * (a->dx + a->sums + a->out), dc0 = dh0 + n * a->dh0;
    const bool has_y = s->node->attributes->recurrent.reads_dy;
    const int dh = wi_scan_index(s->node, WI_BACK_DH), dc = wi_scan_index(s->node, WI_BACK_DC);
    wi_kernel_input(launch, WI_BACK_Y);
    wi_kernel_int(launch, (has_y ? 1 : 0) + (dh >= 0 ? 2 : 0) + (dc >= 0 ? 4 : 0));
    wi_kernel_input(launch, WI_BACK_DY);
    optional_input(s, launch, dh);
    optional_input(s, launch, dc);
    lengths_input(s, launch);
    wi_kernel_result(launch);
    weights_input(s, launch);
    wi_kernel_iteration(launch);
    INTS(launch, s->steps, s->iterations, phases, a->steps, n, a->units, a->width, s->rows, s->blocks,
        s->node->attributes->recurrent.reverse, s->node->attributes->recurrent.pads_left);
    LONGS(launch, n * a->h, n * (a->h + a->c), a->sums ? n * a->dx : 0, n * (a->dx + a->sums), dh0, dc0);
    for (int i = 0; i < 3; i++)
        wi_kernel_long(launch, has_y ? s->site->layouts[WI_BACK_DY].strides[i].actual : 0);
}

void wi_recurrent_walk_arguments(const wi_recurrent *s, wi_kernel_launch *launch, int phases) {
    (s->back ? back_arguments : forward_arguments)(s, launch, phases);
}
