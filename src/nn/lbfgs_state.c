/* The part of an L-BFGS optimizer that checkpoints and snapshots save (contract in lbfgs.h). */
#include "cl/context.h"
#include "nn/lbfgs.h"
#include <math.h>
#include <string.h>
#include <xxhash.h>

weft_status wi_lbfgs_allocate_pair(weft_lbfgs *o, wi_lbfgs_pair *p) {
    const weft_allocator *const allocator = o->graph->context->allocator;
    if (!p->step) p->step = wi_allocate_array(allocator, o->size, sizeof *p->step);
    if (!p->change) p->change = wi_allocate_array(allocator, o->size, sizeof *p->change);
    return p->step && p->change ? WEFT_OK : WEFT_ERROR_MEMORY;
}

/* ---- the format ----
 * A head, the direction, the previous gradient, and the pairs from the oldest to the newest, each as factor, step and
 * change. Everything else is computed when a step begins. */

typedef struct state_head {
    uint64_t parameters; /* hash of their names and sizes */
    uint64_t size, pairs, iterations, evaluations;
    double scale, length, loss, largest_gradient;
} state_head;

static uint64_t hash_names(const weft_lbfgs *o) {
    uint64_t hash = o->parameter_count;
    for (size_t i = 0; i < o->parameter_count; i++) {
        const char *const name = weft_tensor_name(o->parameters[i]);
        const uint64_t elements = wi_elements_of(o->parameters[i]);
        hash = XXH3_64bits_withSeed(name, strlen(name), hash);
        hash = XXH3_64bits_withSeed(&elements, sizeof elements, hash);
    }
    return hash;
}

static weft_lbfgs *owner_of(wi_host_state *state) {
    return (weft_lbfgs *)(void *)state;
}

static size_t bytes_of_pair(const weft_lbfgs *o) {
    return sizeof(double) + 2 * o->size * sizeof(float);
}

static size_t bytes_of_state(const weft_lbfgs *o, size_t pairs) {
    return sizeof(state_head) + 2 * o->size * sizeof(double) + pairs * bytes_of_pair(o);
}

static size_t size_of_state(wi_host_state *state) {
    return bytes_of_state(owner_of(state), owner_of(state)->pair_count);
}

static unsigned char *put(unsigned char *to, const void *data, size_t bytes) {
    memcpy(to, data, bytes);
    return to + bytes;
}

static void save_state(wi_host_state *state, unsigned char *to) {
    const weft_lbfgs *const o = owner_of(state);
    const size_t doubles = o->size * sizeof(double), floats = o->size * sizeof(float);
    const state_head head = {hash_names(o), o->size, o->pair_count, o->info.iterations, o->info.evaluations,
        o->scale, o->length, o->info.loss, o->info.largest_gradient};
    to = put(to, &head, sizeof head);
    to = put(to, o->direction, doubles);
    to = put(to, o->before, doubles);
    for (const wi_lbfgs_pair *p = o->pairs; p < o->pairs + o->pair_count; p++) {
        to = put(to, &p->factor, sizeof p->factor);
        to = put(to, p->step, floats);
        to = put(to, p->change, floats);
    }
}

void wi_lbfgs_begin_anew(weft_lbfgs *o) {
    o->pair_count = 0;
    o->scale = 1;
    o->length = 0;
    o->info = (weft_lbfgs_info){.loss = (double)NAN, .largest_gradient = (double)NAN};
}

static const unsigned char *get(void *to, const unsigned char *data, size_t bytes) {
    memcpy(to, data, bytes);
    return data + bytes;
}

/* Loads the newest pairs, at most as many as the option `history` allows. data: all `count` pairs. */
static weft_status load_pairs(weft_lbfgs *o, const unsigned char *data, size_t count) {
    const size_t most = (size_t)o->options.history, left_out = count > most ? count - most : 0;
    data += left_out * bytes_of_pair(o);
    for (size_t i = 0; i < count - left_out; i++) {
        wi_lbfgs_pair *const p = &o->pairs[i];
        WI_TRY(wi_lbfgs_allocate_pair(o, p));
        data = get(&p->factor, data, sizeof p->factor);
        data = get(p->step, data, o->size * sizeof *p->step);
        data = get(p->change, data, o->size * sizeof *p->change);
        o->pair_count++;
    }
    return WEFT_OK;
}

static weft_status load_fitting(weft_lbfgs *o, const state_head *head, const unsigned char *data) {
    data = get(o->direction, data + sizeof *head, o->size * sizeof *o->direction);
    data = get(o->before, data, o->size * sizeof *o->before);
    const weft_status status = load_pairs(o, data, (size_t)head->pairs);
    if (status != WEFT_OK) wi_lbfgs_begin_anew(o);
    if (status != WEFT_OK) return status;
    o->scale = head->scale;
    o->length = head->length;
    o->info = (weft_lbfgs_info){
        (size_t)head->iterations, (size_t)head->evaluations, head->loss, head->largest_gradient};
    return WEFT_OK;
}

static weft_status load_state(wi_host_state *state, const unsigned char *bytes, size_t size) {
    weft_lbfgs *const o = owner_of(state);
    state_head head = {0};
    if (bytes && size >= sizeof head) memcpy(&head, bytes, sizeof head);
    wi_lbfgs_begin_anew(o);
    const bool fits = bytes && head.parameters == hash_names(o) && head.size == o->size &&
                      head.pairs <= size / bytes_of_pair(o) && size == bytes_of_state(o, (size_t)head.pairs);
    if (fits) return load_fitting(o, &head, bytes);
    wi_log_line(&o->graph->context->log, WEFT_LOG_WARNING, "L-BFGS begins without a history: %s",
        bytes ? "the saved one belongs to other parameters" : "the checkpoint has none");
    return WEFT_OK;
}

void wi_lbfgs_keep(weft_lbfgs *o) {
    o->state = (wi_host_state){"lbfgs", size_of_state, save_state, load_state, 0, NULL};
    wi_host_state_add(o->graph, &o->state);
}
