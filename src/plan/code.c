/* The pieces of source that a plan's programs are put together from. */
#include "plan/code.h"
#include "plan/step_key.h"
#include "plan/verify.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_same(wi_cache_key a, wi_cache_key b) {
    return a.high == b.high && a.low == b.low;
}

static weft_status new_piece(wi_code *code, wi_cache_key hash, int *index) {
    const weft_allocator *allocator = code->loops->partition->request->context->allocator;
    WI_TRY(wi_grow(allocator, (void **)&code->pieces, &code->piece_capacity, code->piece_count + 1,
        sizeof *code->pieces));
    *index = (int)code->piece_count++;
    wi_code_piece *piece = &code->pieces[*index];
    *piece = (wi_code_piece){.hash = hash};
    snprintf(piece->name, sizeof piece->name, "k%016" PRIx64, hash.high);
    return WEFT_OK;
}

weft_status wi_add_piece(wi_code *code, wi_text *text, size_t alone, unsigned needs, int *index) {
    if (text->failed) return WEFT_ERROR_MEMORY;
    const wi_cache_key hash = wi_text_key(text->data, text->length);
    for (size_t i = 0; i < code->piece_count; i++) {
        if (!is_same(code->pieces[i].hash, hash)) continue;
        *index = (int)i;
        return WEFT_OK;
    }
    WI_TRY(new_piece(code, hash, index));
    code->pieces[*index].needs = needs;
    code->pieces[*index].alone = alone < text->length ? wi_text_key(text->data, alone) : hash;
    code->bundles = code->bundles || alone < text->length;
    code->pieces[*index].text = text->data;
    code->pieces[*index].length = text->length;
    wi_text_init(text, text->allocator);
    return WEFT_OK;
}

static weft_status prepare_for_site(
    const wi_selection *selection, const wi_kernel_site *site, wi_arena *arena, void **made) {
    wi_kernel_plan *const kernel = wi_arena_take(arena, sizeof *kernel);
    if (!kernel) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_implementation_prepare(selection->chosen, selection->variant, site, arena, kernel));
    *made = kernel;
    return WEFT_OK;
}

/* What the chosen implementation launches, and with which macros its template is compiled. */
static weft_status prepare_kernel(wi_code *code, const wi_step *step) {
    const wi_partition *const p = code->loops->partition;
    wi_kernel_site site = wi_step_site(p, step);
    site.sums = step->sums;
    wi_key_begin(&code->kernels);
    wi_key_add(&code->kernels, (uint64_t)site.sums);
    wi_key_add_address(&code->kernels, step->selection->chosen);
    wi_key_add_address(&code->kernels, step->selection->variant);
    wi_key_add_site(&code->kernels, wi_step_device(p, step), &site);
    void **const known = wi_key_end(&code->kernels);
    if (!known) return WEFT_ERROR_MEMORY;
    if (!*known) WI_TRY(prepare_for_site(step->selection, &site, p->request->arena, known));
    code->of[step->index].kernel = *known;
    return WEFT_OK;
}

unsigned wi_step_needs(const wi_partition *p, const wi_step *step) {
    const weft_tensor *node = p->values[step->members[0]].node;
    bool doubles = node->dtype == WEFT_F64;
    for (int i = 0; i < node->input_count; i++) doubles = doubles || node->inputs[i]->dtype == WEFT_F64;
    return doubles ? WI_NEEDS_DOUBLES : 0;
}

static weft_status append_step(wi_code *code, const wi_step *step) {
    switch (step->kind) {
    case WI_STEP_PRODUCT: return wi_code_product(code, step);
    case WI_STEP_KERNEL: return wi_code_kernel(code, step);
    case WI_STEP_TRANSFER: return WEFT_OK;
    case WI_STEP_LOOP: break;
    }
    return wi_code_loop(code, step);
}

/* Where the code of steps like this one is noted. */
static void **find_alike(wi_code *code, const wi_step *step) {
    wi_key_begin(&code->steps);
    wi_key_add_address(&code->steps, code->of[step->index].kernel);
    wi_key_add(&code->steps, wi_step_needs(code->loops->partition, step));
    if (step->kind != WI_STEP_KERNEL) wi_key_add_code(&code->steps, code->loops, step);
    return wi_key_end(&code->steps);
}

/* Written anew, the code of a step is what is known of one like it. */
static weft_status verify_alike(wi_code *code, const wi_step *step, const wi_step_code *known) {
    const wi_step_code *const own = &code->of[step->index];
    WI_TRY(append_step(code, step));
    WI_REQUIRE(own->whole.piece == known->whole.piece && own->partial.piece == known->partial.piece &&
                   own->combine.piece == known->combine.piece,
        WI_PASS_CODE, "step", step->index, "steps of one key have the same code");
    return WEFT_OK;
}

static weft_status add_step(wi_code *code, const wi_step *step) {
    wi_step_code *const own = &code->of[step->index];
    own->whole.piece = own->partial.piece = own->combine.piece = -1;
    if (step->kind == WI_STEP_TRANSFER || wi_step_is_library(step)) return WEFT_OK;
    if (step->kind != WI_STEP_LOOP) WI_TRY(prepare_kernel(code, step));
    void **const known = find_alike(code, step);
    if (!known) return WEFT_ERROR_MEMORY;
    if (*known) {
        if (wi_verify_is_on()) WI_TRY(verify_alike(code, step, *known));
        *own = *(const wi_step_code *)*known;
        return WEFT_OK;
    }
    WI_TRY(append_step(code, step));
    *known = own;
    return WEFT_OK;
}

/* The longest piece that has all of this one, and more kernels of bundles of its template; none: itself. */
static int find_bundled(const wi_code *code, int piece) {
    const wi_code_piece *const own = &code->pieces[piece];
    size_t longest = own->length;
    for (size_t i = 0; i < code->piece_count; i++) {
        const wi_code_piece *const other = &code->pieces[i];
        if (other->length <= longest || !is_same(other->alone, own->alone) ||
            memcmp(other->text, own->text, own->length) != 0)
            continue;
        longest = other->length;
        piece = (int)i;
    }
    return piece;
}

/* A template is compiled once, however many of the launches of its steps may be bundled. */
static void join_bundled(wi_code *code) {
    const size_t steps = code->bundles ? code->loops->partition->step_count : 0;
    for (size_t i = 0; i < steps; i++) {
        int *const piece = &code->of[i].whole.piece;
        if (*piece >= 0) *piece = find_bundled(code, *piece);
    }
}

/* OpenCL C has a decimal point, whatever the program's locale has. */
weft_status wi_plan_code(const wi_loops *loops, wi_code *code) {
    const wi_partition *p = loops->partition;
    *code = (wi_code){.loops = loops};
    wi_key_map_init(&code->kernels, p->request->arena);
    wi_key_map_init(&code->steps, p->request->arena);
    code->of = wi_arena_take(p->request->arena, p->step_count * sizeof *code->of);
    if (!code->of) return WEFT_ERROR_MEMORY;
    wi_locale locale;
    wi_locale_enter(&locale);
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < p->step_count && status == WEFT_OK; i++) status = add_step(code, p->steps[i]);
    if (status == WEFT_OK) join_bundled(code);
    wi_locale_leave(&locale);
    return status;
}

void wi_code_forget_texts(wi_code *code) {
    for (size_t i = 0; i < code->piece_count; i++) {
        wi_release(code->loops->partition->request->context->allocator, code->pieces[i].text);
        code->pieces[i].text = NULL;
    }
}

void wi_code_clear(wi_code *code) {
    if (!code->loops) return;
    wi_code_forget_texts(code);
    wi_release(code->loops->partition->request->context->allocator, code->pieces);
}
