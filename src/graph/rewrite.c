/* The passes that rewrite the nodes of a plan (contract in rewrite.h). */
#include "cl/context.h"
#include "graph/op_rules.h"
#include "graph/weft_graph.h"
#include <stdlib.h>
#include <string.h>

/* An entry of the stack of nodes that are being rewritten. */
typedef struct wi_visit {
    weft_tensor *node;
    weft_tensor
        *made; /* what a rule returned for the node; its image will be the node's image. NULL: not yet */
    int next;  /* the index of the input to be visited next */
} wi_visit;

/* ---- what is known about nodes ---- */

static wi_rewritten *note_of(const wi_rewrite *rewrite, weft_tensor *node) {
    wi_rewritten *const note = &node->rewritten;
    const uint64_t pass = rewrite->graph->rewrite_passes;
    if (note->pass != pass) *note = (wi_rewritten){.pass = pass & WI_MOST_PASSES};
    return note;
}

static weft_tensor *image_of(const wi_rewrite *rewrite, const weft_tensor *node) {
    const wi_rewritten *const note = wi_rewrite_known(rewrite, node);
    return note ? note->image : NULL;
}

/* Sets the image of the node. An image is its own image, and takes over the count of the node's readers. */
static void set_image(wi_rewrite *rewrite, weft_tensor *node, weft_tensor *image) {
    wi_rewritten *const of_image = note_of(rewrite, image), *const of_node = note_of(rewrite, node);
    of_node->image = image;
    of_node->entered = false;
    of_image->image = image;
    of_image->kept |= of_node->kept;
    if (of_image->readers < of_node->readers) of_image->readers = of_node->readers;
    if (rewrite->replaced && image != node) rewrite->replaced(rewrite->asker, node, image);
}

/* ---- counts ---- */

static weft_status count(wi_rewrite *rewrite, const wi_op *op, const char *what) {
    for (size_t i = 0; i < rewrite->count_count; i++) {
        wi_rewrite_count *const known = &rewrite->counts[i];
        if (known->op != op || known->what != what || known->stage != rewrite->stage) continue;
        known->count++;
        return WEFT_OK;
    }
    WI_TRY(wi_grow(rewrite->graph->context->allocator, (void **)&rewrite->counts, &rewrite->count_capacity,
        rewrite->count_count + 1, sizeof *rewrite->counts));
    rewrite->counts[rewrite->count_count++] =
        (wi_rewrite_count){.op = op, .what = what, .stage = rewrite->stage, .count = 1};
    return WEFT_OK;
}

/* ---- rules ---- */

weft_tensor *wi_rewrite_apply(wi_rewrite *rewrite, const weft_tensor *y, weft_tensor *const *inputs) {
    for (const wi_rule *rule = rewrite->graph->plain ? NULL : wi_rules_of(rewrite->graph, y->op)->rewrites;
         rule && rule->name; rule++) {
        if (rule->stage > rewrite->stage) continue;
        weft_tensor *const made = rule->apply(rewrite, y, inputs);
        if (!made || made == y) continue;
        const weft_status status = count(rewrite, y->op, rule->name);
        return status == WEFT_OK ? made : wi_graph_fail_recorded(rewrite->graph, status);
    }
    return NULL;
}

static weft_tensor *over_images(weft_tensor *y, weft_tensor *const *inputs) {
    if (y->input_count == 0 || memcmp(inputs, y->inputs, (size_t)y->input_count * sizeof *inputs) == 0)
        return y;
    return wi_node_over(y, inputs, &y->shape);
}

/* ---- composites ---- */

static weft_status add_root(wi_rewrite *rewrite, weft_tensor *root) {
    WI_TRY(wi_grow(rewrite->graph->context->allocator, (void **)&rewrite->roots, &rewrite->root_capacity,
        rewrite->root_count + 1, sizeof *rewrite->roots));
    rewrite->roots[rewrite->root_count++] = root;
    return WEFT_OK;
}

/* Lists y for add_effects. y's assignments are ordered by the id of the caller's node that y replaces. To find this
 * node, the function goes down the stack as long as an entry's node was created to replace the node of the entry
 * below. */
static weft_status note_effective(wi_rewrite *rewrite, weft_tensor *y) {
    size_t from = rewrite->depth - 1;
    while (from > 0 && rewrite->stack[from - 1].made == rewrite->stack[from].node) from--;
    WI_TRY(wi_grow(rewrite->graph->context->allocator, (void **)&rewrite->effective,
        &rewrite->effective_capacity, rewrite->effective_count + 1, sizeof *rewrite->effective));
    rewrite->effective[rewrite->effective_count++] = (wi_effective){y, rewrite->stack[from].node->id};
    return WEFT_OK;
}

static int by_order(const void *a, const void *b) {
    const wi_effective *const x = a, *const y = b;
    return (x->order > y->order) - (x->order < y->order);
}

/* Returns the index of the root that an assignment to the variable replaces: an earlier assignment of a composite, or,
 * if the op may replace outputs of the plan, an output that assigns to the variable. Returns root_count if there is no
 * such root. */
static size_t root_for(const wi_rewrite *rewrite, const wi_op *op, const weft_tensor *variable) {
    const size_t known = wi_rewrite_effect_on(rewrite, variable);
    for (size_t i = 0; op->guards && known == rewrite->root_count && i < rewrite->first_effect; i++) {
        const weft_tensor *const root = rewrite->roots[i];
        if (root->op->kind == WI_ASSIGN && root->inputs[0] == variable) return i;
    }
    return known;
}

/* Of several assignments to a variable only the last becomes a root, because its value includes those before it. */
static weft_status add_effects(wi_rewrite *rewrite) {
    weft_tensor *effect;
    rewrite->first_effect = rewrite->root_count;
    if (rewrite->effective_count > 1)
        qsort(rewrite->effective, rewrite->effective_count, sizeof *rewrite->effective, by_order);
    for (size_t i = 0; i < rewrite->effective_count; i++) {
        weft_tensor *const y = rewrite->effective[i].node;
        for (int number = 0; (effect = y->op->effect(y, number, rewrite)) != NULL; number++) {
            const size_t known = root_for(rewrite, y->op, effect->inputs[0]);
            if (known == rewrite->root_count) WI_TRY(add_root(rewrite, effect));
            rewrite->roots[known] = effect;
        }
        WI_TRY(weft_graph_status(rewrite->graph));
    }
    rewrite->effective_count = 0;
    return WEFT_OK;
}

/* Calls the composite's functions for a plan, and writes the nodes that replace it. */
static weft_status lower(wi_rewrite *rewrite, weft_tensor *y, weft_tensor **made) {
    const wi_op *const op = y->op;
    weft_tensor **const lowered = &wi_lowered_of(y)->to[rewrite->inference];
    if (op->check) WI_TRY(op->check(y, rewrite->batch, rewrite->inference));
    if (op->effect && !rewrite->inference) WI_TRY(note_effective(rewrite, y));
    if (op->in_training && !rewrite->inference && !rewrite->in_training) {
        rewrite->names_it = op->in_training(y);
        if (rewrite->names_it) rewrite->in_training = y;
    }
    *made = *lowered ? *lowered : op->lower(y, rewrite->inference);
    WI_TRY(weft_graph_status(rewrite->graph));
    *lowered = *made; /* for later plans, now that it is complete */
    return count(rewrite, op, "lowered");
}

/* ---- ops written by parts ---- */

/* Writes to *made the node of the op that y and its parts are, or NULL. */
static weft_status recognise(wi_rewrite *rewrite, weft_tensor *y, weft_tensor **made) {
    wi_recognised found;
    *made = NULL;
    if (rewrite->graph->plain || rewrite->stage != WI_STAGE_FORM) return WEFT_OK;
    const wi_recogniser *const recogniser = wi_recognise(y, &found);
    WI_TRY(weft_graph_status(rewrite->graph));
    if (!recogniser) return WEFT_OK;
    for (int i = 0; i < found.part_count; i++) {
        const weft_tensor *const part = found.parts[i];
        if (wi_rewrite_is_kept(rewrite, part) ||
            wi_reads_of_part(y, &found, part) < wi_rewrite_readers(rewrite, part))
            return WEFT_OK;
    }
    *made = found.node;
    return count(rewrite, y->op, recogniser->name);
}

/* ---- the walk ---- */

static weft_status push(wi_rewrite *rewrite, weft_tensor *node) {
    WI_TRY(wi_grow(rewrite->graph->context->allocator, (void **)&rewrite->stack, &rewrite->stack_capacity,
        rewrite->depth + 1, sizeof *rewrite->stack));
    rewrite->stack[rewrite->depth++] = (wi_visit){.node = node};
    return WEFT_OK;
}

static weft_status enter(wi_rewrite *rewrite, weft_tensor *node) {
    note_of(rewrite, node)->entered = true;
    return push(rewrite, node);
}

static void leave(wi_rewrite *rewrite, weft_tensor *made) {
    weft_tensor *const known = image_of(rewrite, made);
    set_image(rewrite, rewrite->stack[--rewrite->depth].node, known ? known : made);
}

/* Creates the node at the plan's sizes. If the node is an input of the graph, records the pair of both nodes, because
 * the caller refers to the original one. */
static weft_status give_sizes(
    wi_rewrite *rewrite, weft_tensor *y, weft_tensor *const *inputs, weft_tensor **made) {
    WI_TRY(wi_make_at_sizes(y, inputs, &rewrite->given, made));
    note_of(rewrite, *made)->kept |= wi_rewrite_is_kept(rewrite, y);
    if (y->op != &wi_op_input) return WEFT_OK;
    WI_TRY(wi_grow(rewrite->graph->context->allocator, (void **)&rewrite->inputs, &rewrite->input_capacity,
        rewrite->input_count + 1, sizeof *rewrite->inputs));
    rewrite->inputs[rewrite->input_count++] = (wi_size_input){y, *made};
    return WEFT_OK;
}

/* Writes to *made the node that replaces y; `inputs` are the images of y's inputs. *done: *made is y's image; otherwise
 * *made must be rewritten first. */
static weft_status replace(
    wi_rewrite *rewrite, weft_tensor *y, weft_tensor *const *inputs, weft_tensor **made, bool *done) {
    *done = false;
    WI_TRY(recognise(rewrite, y, made));
    if (*made) return WEFT_OK;
    if (wi_sizes_follow(y, inputs, &rewrite->given)) return give_sizes(rewrite, y, inputs, made);
    *made = wi_rewrite_apply(rewrite, y, inputs);
    WI_TRY(weft_graph_status(rewrite->graph));
    if (*made) return WEFT_OK;
    *made = over_images(y, inputs);
    WI_TRY(weft_graph_status(rewrite->graph));
    const wi_op_kind kind = y->op->kind;
    *done = kind != WI_COMPOSITE && kind != WI_KERNEL;
    if (*made != y || *done) return WEFT_OK;
    if (kind == WI_COMPOSITE) return lower(rewrite, y, made);
    *made = rewrite->replace_kernel(rewrite->asker, y);
    *done = *made == y;
    WI_TRY(weft_graph_status(rewrite->graph));
    return *done ? WEFT_OK : count(rewrite, y->op, "replaced by another kernel op");
}

/* Handles the node on top of the stack when all its inputs have images: sets the image of the node, or pushes the node
 * that replaces it on the stack. */
static weft_status rewrite_top(wi_rewrite *rewrite) {
    weft_tensor *const y = rewrite->stack[rewrite->depth - 1].node, *made = NULL;
    const weft_allocator *const allocator = rewrite->graph->context->allocator;
    const size_t count = (size_t)y->input_count;
    weft_tensor *few[WI_KERNEL_INPUTS],
        **const inputs = count > WI_KERNEL_INPUTS ? wi_allocate_array(allocator, count, sizeof *inputs) : few;
    if (!inputs) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) inputs[i] = image_of(rewrite, y->inputs[i]);
    bool done = false;
    const uint32_t before = wi_origin_enter(rewrite->graph, y->origin);
    const weft_status status = replace(rewrite, y, inputs, &made, &done);
    wi_origin_leave(rewrite->graph, before);
    if (inputs != few) wi_release(allocator, inputs);
    WI_TRY(status);
    const wi_rewritten *const note = note_of(rewrite, made);
    if (done || note->image || note->entered) {
        leave(rewrite, made);
        return WEFT_OK;
    }
    rewrite->stack[rewrite->depth - 1].made = made;
    return enter(rewrite, made);
}

/* Depth-first without recursion, because graphs may be deeper than a thread's stack. */
static weft_status visit_from(wi_rewrite *rewrite, weft_tensor *root) {
    if (!image_of(rewrite, root)) WI_TRY(enter(rewrite, root));
    while (rewrite->depth > 0) {
        wi_visit *const top = &rewrite->stack[rewrite->depth - 1];
        if (top->made) {
            leave(rewrite, image_of(rewrite, top->made));
        } else if (top->next < top->node->input_count) {
            weft_tensor *const input = top->node->inputs[top->next++];
            if (!image_of(rewrite, input)) WI_TRY(enter(rewrite, input));
        } else {
            WI_TRY(rewrite_top(rewrite));
        }
    }
    return WEFT_OK;
}

/* ---- passes ---- */

/* Counts the readers of all nodes that the root needs, unless another root has done so. */
static weft_status count_readers_from(wi_rewrite *rewrite, weft_tensor *root) {
    wi_rewritten *note = note_of(rewrite, root);
    if (note->counted) return WEFT_OK;
    note->counted = true;
    WI_TRY(push(rewrite, root));
    while (rewrite->depth > 0) {
        wi_visit *const top = &rewrite->stack[rewrite->depth - 1];
        if (top->next == top->node->input_count) {
            rewrite->depth--;
            continue;
        }
        weft_tensor *const input = top->node->inputs[top->next++];
        note = note_of(rewrite, input);
        if (note->readers < WI_MOST_READERS) note->readers++;
        if (note->counted) continue;
        note->counted = true;
        WI_TRY(push(rewrite, input));
    }
    return WEFT_OK;
}

/* The loop includes roots that composites add while it runs. */
static weft_status run_pass(wi_rewrite *rewrite, wi_stage stage) {
    rewrite->stage = stage;
    rewrite->graph->rewrite_passes++;
    memset(rewrite->drawn, 0, rewrite->drawn_count * sizeof *rewrite->drawn);
    for (size_t i = 0; i < rewrite->root_count; i++) note_of(rewrite, rewrite->roots[i])->kept = true;
    for (size_t i = 0; i < rewrite->root_count; i++) WI_TRY(count_readers_from(rewrite, rewrite->roots[i]));
    for (size_t i = 0; i < rewrite->root_count; i++) {
        WI_TRY(visit_from(rewrite, rewrite->roots[i]));
        rewrite->roots[i] = image_of(rewrite, rewrite->roots[i]);
        if (i + 1 == rewrite->root_count) WI_TRY(add_effects(rewrite));
    }
    for (size_t i = 0; i < rewrite->root_count; i++) { /* includes the roots that add_effects has replaced */
        WI_TRY(visit_from(rewrite, rewrite->roots[i]));
        rewrite->roots[i] = image_of(rewrite, rewrite->roots[i]);
    }
    return WEFT_OK;
}

weft_status wi_rewrite_begin(wi_rewrite *rewrite, weft_tensor *const *outputs, size_t count) {
    const weft_allocator *const allocator = rewrite->graph->context->allocator;
    rewrite->drawn = wi_allocate_array(allocator, rewrite->graph->streams + 1, sizeof *rewrite->drawn);
    if (!rewrite->drawn) return WEFT_ERROR_MEMORY;
    rewrite->drawn_count = rewrite->graph->streams + 1;
    for (size_t i = 0; i < count; i++) WI_TRY(add_root(rewrite, outputs[i]));
    return WEFT_OK;
}

weft_status wi_rewrite_run(wi_rewrite *rewrite) {
    WI_TRY(run_pass(rewrite, WI_STAGE_FORM));
    return run_pass(rewrite, WI_STAGE_MATCH);
}

void wi_rewrite_end(wi_rewrite *rewrite) {
    const weft_allocator *const allocator = rewrite->graph->context->allocator;
    wi_release(allocator, rewrite->roots);
    wi_release(allocator, rewrite->effective);
    wi_release(allocator, rewrite->stack);
    wi_release(allocator, rewrite->drawn);
    wi_release(allocator, rewrite->counts);
    wi_release(allocator, rewrite->inputs);
}
