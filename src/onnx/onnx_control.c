/* If, Loop and Scan, whose conditions and numbers of iterations the host must know. Loops are unrolled: the network has the nodes of each
 * iteration. */
#include "onnx/onnx_scope.h"
#include "onnx/onnx_sizes.h"
#include <math.h>
#include <string.h>

/* ---- bodies ---- */

struct wi_onnx_body {
    const WiOnnx__GraphProto *graph;
    wi_onnx_copier copier;
};

/* Marks the initializers of the body that nodes of the body read as weights. */
static void mark_weights(wi_onnx_import *n, const wi_onnx_body *body) {
    for (size_t i = 0; i < body->graph->n_node; i++) {
        wi_onnx_node *const node = body->graph->node[i];
        for (size_t k = 0; k < node->n_input; k++) {
            wi_onnx_name *name;
            HASH_FIND_STR(body->copier.names, node->input[k], name);
            wi_onnx_value *const value =
                name && name->is_fixed && name->to ? wi_onnx_find(n, name->to) : NULL;
            if (value && value->stored) wi_onnx_mark_inner_weight(n, node, k, value);
        }
    }
}

static bool is_constant(wi_onnx_node *node) {
    return node->op_type && strcmp(node->op_type, "Constant") == 0 && (!node->domain || !node->domain[0]);
}

/* Do two tensors have the same data in the file, as copies of a subgraph do? */
static bool has_data(const WiOnnx__TensorProto *a, const WiOnnx__TensorProto *b) {
    return a && a->n_dims == b->n_dims && a->dims == b->dims && a->data_address == b->data_address &&
           a->raw_data.data == b->raw_data.data && a->float_data == b->float_data &&
           a->int32_data == b->int32_data && a->int64_data == b->int64_data &&
           a->uint64_data == b->uint64_data && a->double_data == b->double_data;
}

/* Creates the values of a body that are the same in all iterations. A body inside another body is opened in each iteration of the outer one,
 * and uses the values of its first iteration again. */
static weft_status make_fixed(wi_onnx_import *n, wi_onnx_body *body) {
    wi_onnx_copier *const c = &body->copier;
    for (size_t i = 0; i < body->graph->n_initializer; i++) {
        wi_onnx_name *const name = wi_onnx_declare(c, body->graph->initializer[i]->name);
        if (!name) return WEFT_ERROR_MEMORY;
        name->is_fixed = true;
        const wi_onnx_value *const before = wi_onnx_find(n, name->from);
        if (name->from[0] && (!before || has_data(before->stored, body->graph->initializer[i])))
            name->to = name->from;
        if (name->to && before) continue;
        const WiOnnx__TensorProto *const stored = wi_onnx_copy_tensor(c, body->graph->initializer[i]);
        wi_onnx_value *const value = stored ? wi_onnx_add(n, stored->name) : NULL;
        wi_onnx_numbers shape;
        if (!value) return WEFT_ERROR_MEMORY;
        WI_TRY(wi_onnx_tensor_describe(&shape, stored));
        value->stored = stored;
        value->type = stored->data_type;
    }
    for (size_t i = 0; i < body->graph->n_node; i++) {
        wi_onnx_node *const node = body->graph->node[i];
        for (size_t k = 0; k < node->n_output; k++) {
            wi_onnx_name *const name = wi_onnx_declare(c, node->output[k]);
            if (!name) return WEFT_ERROR_MEMORY;
            name->is_fixed = is_constant(node);
        }
        wi_onnx_node *const copy = is_constant(node) ? wi_onnx_copy_node(c, node) : NULL;
        if (is_constant(node)) WI_TRY(copy ? wi_onnx_build_node(n, copy) : WEFT_ERROR_MEMORY);
    }
    return WEFT_OK;
}

wi_onnx_body *wi_onnx_body_open(wi_onnx_import *n, wi_onnx_node *node, const char *attribute) {
    const WiOnnx__AttributeProto *const given = wi_onnx_attribute(node, attribute);
    wi_onnx_body *const body = given && given->g ? wi_arena_take(&n->arena, sizeof *body) : NULL;
    if (!given || !given->g) wi_onnx_fail(n, node, WEFT_ERROR_FORMAT, "it has no graph '%s'", attribute);
    if (!body || n->status != WEFT_OK) return NULL;
    *body = (wi_onnx_body){.graph = given->g, .copier = {.n = n}};
    const weft_status status = make_fixed(n, body);
    if (status != WEFT_OK) wi_onnx_fail(n, node, status, "%s", weft_last_error());
    if (n->status != WEFT_OK) return NULL;
    mark_weights(n, body);
    return body;
}

const WiOnnx__GraphProto *wi_onnx_body_graph(const wi_onnx_body *body) {
    return body->graph;
}

static weft_status build_copies(wi_onnx_import *n, wi_onnx_body *body) {
    for (size_t i = 0; i < body->graph->n_node; i++) {
        if (is_constant(body->graph->node[i])) continue;
        WiOnnx__NodeProto *const copy = wi_onnx_copy_node(&body->copier, body->graph->node[i]);
        wi_onnx_nodes nodes = {0};
        if (!copy || body->copier.failed) return n->status != WEFT_OK ? n->status : WEFT_ERROR_MEMORY;
        WI_TRY(wi_onnx_inline(n, &copy, 1, &nodes));
        for (size_t k = 0; k < nodes.count; k++) WI_TRY(wi_onnx_build_node(n, nodes.of[k]));
    }
    return WEFT_OK;
}

bool wi_onnx_body_run(
    wi_onnx_import *n, wi_onnx_body *body, const char *const *inputs, const char **outputs) {
    const WiOnnx__GraphProto *const graph = body->graph;
    wi_onnx_name *name, *next;
    if (n->status != WEFT_OK) return false;
    HASH_ITER (hh, body->copier.names, name, next)
        if (!name->is_fixed) name->to = NULL;
    for (size_t i = 0; i < graph->n_input; i++) {
        name = wi_onnx_declare(&body->copier, graph->input[i]->name);
        if (name) name->to = inputs[i];
    }
    n->copied++;
    const weft_status status = build_copies(n, body);
    if (n->status == WEFT_OK) n->status = status;
    for (size_t i = 0; n->status == WEFT_OK && i < graph->n_output; i++)
        outputs[i] = wi_onnx_renamed(&body->copier, graph->output[i]->name);
    return n->status == WEFT_OK;
}

/* ---- numbers that decide ---- */

/* The single number of an input whose value the host must know, or `otherwise` if the input is absent. */
static double decide(
    wi_onnx_import *n, wi_onnx_node *node, size_t index, double otherwise, const char *what) {
    const wi_onnx_numbers *const known = wi_onnx_known(n, node, index);
    if (!wi_onnx_has(node, index)) return otherwise;
    if (known && known->count == 1 && !(known->open && wi_onnx_is_open(known->data[0])))
        return known->data[0];
    wi_onnx_fail(
        n, node, WEFT_ERROR_UNSUPPORTED, "%s depends on the network's inputs or on an open size", what);
    return otherwise;
}

/* An array of `count` names. */
static const char **names(wi_onnx_import *n, wi_onnx_node *node, size_t count) {
    const char **const made = wi_arena_take(&n->arena, (count + 1) * sizeof(const char *));
    if (!made) wi_onnx_fail(n, node, WEFT_ERROR_MEMORY, "out of memory");
    return made;
}

/* Has the body exactly this many inputs, and at least this many outputs? Otherwise records an error. */
static bool fits(
    wi_onnx_import *n, wi_onnx_node *node, const wi_onnx_body *body, size_t inputs, size_t outputs) {
    if (!body || n->status != WEFT_OK) return false;
    if (body->graph->n_input == inputs && body->graph->n_output >= outputs) return true;
    wi_onnx_fail(n, node, WEFT_ERROR_FORMAT, "its graph has %zu inputs and %zu outputs, expected %zu and %zu",
        body->graph->n_input, body->graph->n_output, inputs, outputs);
    return false;
}

static weft_tensor *build_if(wi_onnx_import *n, wi_onnx_node *node) {
    const double condition = decide(n, node, 0, 0, "the condition");
    if (n->status != WEFT_OK) return NULL;
    wi_onnx_body *const body = wi_onnx_body_open(n, node, condition != 0 ? "then_branch" : "else_branch");
    const char **const outputs = body ? names(n, node, body->graph->n_output) : NULL;
    if (outputs && fits(n, node, body, 0, node->n_output) && wi_onnx_body_run(n, body, NULL, outputs))
        for (size_t i = 0; i < node->n_output; i++) wi_onnx_alias(n, node, i, outputs[i]);
    return NULL;
}

/* ---- loops ---- */

/* The names of a loop's values. *Carried* values pass from each iteration to the next; each iteration computes one of the *parts* of a joined
 * result. */
typedef struct loop_run {
    wi_onnx_body *body;
    size_t carried, parts, most, count; /* most: the largest number of iterations */
    const char **in, **out;             /* of the body */
    const char **made;                  /* part p of iteration t: made[p * most + t] */
} loop_run;

static bool prepare(wi_onnx_import *n, wi_onnx_node *node, loop_run *loop) {
    if (n->status != WEFT_OK || loop->parts * loop->most > WI_ONNX_MOST_COPIED) {
        wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "it has too many iterations");
        return false;
    }
    loop->in = names(n, node, loop->body->graph->n_input);
    loop->out = names(n, node, loop->body->graph->n_output);
    loop->made = names(n, node, loop->parts * loop->most);
    return n->status == WEFT_OK;
}

/* Builds one iteration. in_before, out_before: how many inputs and outputs of the body precede the carried ones. */
static bool build_iteration(wi_onnx_import *n, loop_run *loop, size_t in_before, size_t out_before) {
    if (!wi_onnx_body_run(n, loop->body, loop->in, loop->out)) return false;
    for (size_t i = 0; i < loop->carried; i++) loop->in[in_before + i] = loop->out[out_before + i];
    for (size_t p = 0; p < loop->parts; p++)
        loop->made[p * loop->most + loop->count] = loop->out[out_before + loop->carried + p];
    loop->count++;
    return true;
}

/* Sets a result of a loop without iterations, which has no elements. Its shape is that of the body's output. */
static void make_empty(
    wi_onnx_import *n, wi_onnx_node *node, size_t index, const WiOnnx__ValueInfoProto *info) {
    const WiOnnx__TensorTypeProto *const type = info->type ? info->type->tensor_type : NULL;
    wi_onnx_numbers *const made = wi_arena_take(&n->arena, sizeof *made);
    bool known = type && type->shape && type->shape->n_dim < WEFT_MAX_RANK && made;
    for (size_t d = 0; known && d < type->shape->n_dim; d++) {
        made->dims[d + 1] = type->shape->dim[d]->dim_value;
        known = type->shape->dim[d]->has_dim_value && made->dims[d + 1] >= 0;
    }
    if (known && wi_onnx_dtype(&made->dtype, type->elem_type, "an output") == WEFT_OK) {
        made->rank = (int)type->shape->n_dim + 1;
        made->type = type->elem_type;
        made->data = wi_arena_take(&n->arena, sizeof *made->data);
        wi_onnx_set_numbers(n, node, index, made);
        return;
    }
    wi_onnx_fail(
        n, node, WEFT_ERROR_UNSUPPORTED, "it has no iterations, and output %zu has no fixed shape", index);
}

/* Sets the node's outputs: the carried values after the last iteration, and the joined parts of all iterations. */
static void finish_loop(wi_onnx_import *n, wi_onnx_node *node, const loop_run *loop) {
    for (size_t i = 0; i < loop->carried && n->status == WEFT_OK; i++)
        wi_onnx_alias(n, node, i, loop->in[2 + i]);
    for (size_t p = 0; p < loop->parts && loop->carried + p < node->n_output && n->status == WEFT_OK; p++)
        if (loop->count > 0)
            wi_onnx_join(n, node, loop->carried + p, loop->made + p * loop->most, loop->count, 0, true);
        else
            make_empty(n, node, loop->carried + p, loop->body->graph->output[1 + loop->carried + p]);
}

/* Is the condition, which an iteration has computed, true, so that there is a next iteration? */
static bool goes_on(wi_onnx_import *n, wi_onnx_node *node, const char *condition) {
    char *input[] = {(char *)condition};
    const WiOnnx__NodeProto asked = {
        .name = node->name, .op_type = node->op_type, .input = input, .n_input = 1};
    return decide(n, &asked, 0, 1, "the condition of an iteration") != 0;
}

static void run_loop(wi_onnx_import *n, wi_onnx_node *node, loop_run *loop, double all, bool goes) {
    const int64_t yes = 1;
    loop->in[1] = wi_onnx_add_wholes(n, node, 0, &yes, 1, WEFT_BOOL);
    for (size_t i = 0; i < loop->carried; i++) loop->in[2 + i] = node->input[2 + i];
    for (size_t t = 0; goes && (double)t < all && n->status == WEFT_OK; t++) {
        const int64_t number = (int64_t)t;
        if (t == WI_ONNX_MOST_ITERATIONS) {
            wi_onnx_fail(
                n, node, WEFT_ERROR_UNSUPPORTED, "it has more than %d iterations", WI_ONNX_MOST_ITERATIONS);
            return;
        }
        loop->in[0] = wi_onnx_add_wholes(n, node, 0, &number, 1, WEFT_I32);
        if (!build_iteration(n, loop, 2, 1)) return;
        goes = goes_on(n, node, loop->out[0]);
    }
    finish_loop(n, node, loop);
}

static weft_tensor *build_loop(wi_onnx_import *n, wi_onnx_node *node) {
    const double all = decide(n, node, 0, (double)INFINITY, "the number of iterations");
    const bool goes = decide(n, node, 1, 1, "the condition") != 0;
    loop_run loop = {.carried = node->n_input > 2 ? node->n_input - 2 : 0};
    loop.most = all < WI_ONNX_MOST_ITERATIONS ? (size_t)(all > 0 ? all : 0) + 1 : WI_ONNX_MOST_ITERATIONS;
    loop.body = n->status == WEFT_OK ? wi_onnx_body_open(n, node, "body") : NULL;
    if (!fits(n, node, loop.body, 2 + loop.carried, 1 + node->n_output)) return NULL;
    if (loop.body->graph->n_output < 1 + loop.carried)
        return wi_onnx_fail(n, node, WEFT_ERROR_FORMAT, "its graph has too few outputs");
    loop.parts = loop.body->graph->n_output - 1 - loop.carried;
    if (prepare(n, node, &loop)) run_loop(n, node, &loop, all, goes);
    return NULL;
}

/* ---- scans ---- */

static int64_t entry(wi_onnx_node *node, const char *attribute, size_t index) {
    const wi_onnx_list list = wi_onnx_wholes(node, attribute);
    return index < (size_t)list.count ? list.of[index] : 0;
}

/* The number of iterations of a scan: the size of its inputs along the axes that are scanned. */
static size_t scan_size(wi_onnx_import *n, wi_onnx_node *node, size_t states) {
    int64_t size = -1;
    for (size_t i = states; i < node->n_input; i++) {
        wi_onnx_numbers x;
        if (!wi_onnx_describe(n, node, i, &x)) return 0;
        const int axis = wi_onnx_axis(entry(node, "scan_input_axes", i - states), x.rank);
        const int64_t here = axis >= 0 && axis < x.rank ? x.dims[axis] : -1;
        if (here < 0 || here > WI_ONNX_MOST_ITERATIONS || (size >= 0 && size != here))
            wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
                "the axes that are scanned need one size, which is known and at most %d",
                WI_ONNX_MOST_ITERATIONS);
        size = here;
    }
    return n->status == WEFT_OK && size > 0 ? (size_t)size : 0;
}

/* Creates the slices of the scanned inputs that iteration t reads, and writes their names. */
static void take_parts(wi_onnx_import *n, wi_onnx_node *node, const loop_run *scan, size_t t) {
    for (size_t i = scan->carried; i < node->n_input && n->status == WEFT_OK; i++) {
        const size_t input = i - scan->carried;
        const char *const directions = n->version < 9 ? "directions" : "scan_input_directions";
        const bool back = entry(node, directions, input) != 0;
        const int64_t at = (int64_t)(back ? scan->most - 1 - t : t);
        const char **const in = names(n, node, 2);
        if (!in) return;
        in[0] = node->input[i];
        in[1] = wi_onnx_add_wholes(n, node, 0, &at, 1, WEFT_I32);
        scan->in[i] = wi_onnx_new_name(n, node->input[i]);
        wi_onnx_build_part(n, node,
            &(wi_onnx_part){"Gather", in, 2, &scan->in[i], 1, entry(node, "scan_input_axes", input)});
    }
}

static void run_scan(wi_onnx_import *n, wi_onnx_node *node, loop_run *scan) {
    for (size_t i = 0; i < scan->carried; i++) scan->in[i] = node->input[i];
    for (size_t t = 0; t < scan->most; t++) {
        take_parts(n, node, scan, t);
        if (!build_iteration(n, scan, 0, 0)) return;
    }
    for (size_t i = 0; i < scan->carried; i++) wi_onnx_alias(n, node, i, scan->in[i]);
    for (size_t p = 0; p < scan->parts; p++) {
        const char **const parts = names(n, node, scan->most);
        const bool back = entry(node, "scan_output_directions", p) != 0;
        for (size_t t = 0; parts && t < scan->most; t++)
            parts[t] = scan->made[p * scan->most + (back ? scan->most - 1 - t : t)];
        if (parts)
            wi_onnx_join(
                n, node, scan->carried + p, parts, scan->most, entry(node, "scan_output_axes", p), true);
    }
}

static weft_tensor *build_scan(wi_onnx_import *n, wi_onnx_node *node) {
    const int64_t scanned = wi_onnx_whole(node, "num_scan_inputs", 0);
    if (scanned < 1 || scanned > (int64_t)node->n_input)
        return wi_onnx_fail(
            n, node, WEFT_ERROR_FORMAT, "it scans %lld of its %zu inputs", (long long)scanned, node->n_input);
    loop_run scan = {.carried = node->n_input - (size_t)scanned};
    scan.most = scan_size(n, node, scan.carried);
    scan.body = scan.most > 0 ? wi_onnx_body_open(n, node, "body") : NULL;
    if (scan.most == 0) wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "there is nothing to scan");
    if (fits(n, node, scan.body, node->n_input, node->n_output) &&
        scan.body->graph->n_output >= scan.carried) {
        scan.parts = scan.body->graph->n_output - scan.carried;
        if (prepare(n, node, &scan)) run_scan(n, node, &scan);
    }
    return NULL;
}

/* In opset 8 all inputs and results have a first axis of examples, and each example is scanned separately. Input 0 is the lengths of the
 * examples. */
static weft_tensor *build_scans(wi_onnx_import *n, wi_onnx_node *node) {
    wi_onnx_numbers x;
    if (n->version >= 9) return build_scan(n, node);
    if (wi_onnx_has(node, 0) || node->n_input < 2)
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "lengths of examples are not supported");
    if (!wi_onnx_describe(n, node, 1, &x)) return NULL;
    const int64_t examples = x.rank > 0 ? x.dims[0] : 0;
    if (examples < 1 || examples > WI_ONNX_MOST_ITERATIONS)
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "it needs a known number of examples");
    const char **const results = names(n, node, (size_t)examples * node->n_output);
    for (int64_t e = 0; results && e < examples && n->status == WEFT_OK; e++) {
        const char **const in = names(n, node, node->n_input), **const out = names(n, node, node->n_output);
        const char *const index = wi_onnx_add_wholes(n, node, 0, &e, 1, WEFT_I32);
        for (size_t i = 1; in && out && i < node->n_input; i++) {
            const char **const from = names(n, node, 2);
            if (!from) return NULL;
            from[0] = node->input[i];
            from[1] = index;
            in[i - 1] = wi_onnx_new_name(n, node->input[i]);
            wi_onnx_build_part(n, node, &(wi_onnx_part){"Gather", from, 2, &in[i - 1], 1, 0});
        }
        for (size_t o = 0; in && out && o < node->n_output; o++)
            results[o * (size_t)examples + (size_t)e] = out[o] = wi_onnx_new_name(n, node->output[o]);
        if (!in || !out || n->status != WEFT_OK) return NULL;
        WiOnnx__NodeProto one = *node;
        one.input = (char **)in;
        one.n_input--;
        one.output = (char **)out;
        build_scan(n, &one);
    }
    for (size_t o = 0; results && o < node->n_output; o++)
        wi_onnx_join(n, node, o, &results[o * (size_t)examples], (size_t)examples, 0, true);
    return NULL;
}

const wi_onnx_op wi_onnx_control_ops[] = {{"If", .build = build_if, .host = 1u << 0},
    {"Loop", .build = build_loop, .host = 1u << 0 | 1u << 1}, {"Scan", .build = build_scans}, {0}};
