/* The pieces of source that a plan's programs are put together from. */
#include "plan/known_code.h"
#include "plan/step_key.h"
#include "plan/verify.h"

/* The place in the plan of a piece that the graph knows; -1: none. */
static weft_status take_piece(wi_code *code, int number, int *index) {
    *index = number < 0 ? -1 : 0;
    while (number >= 0 && (size_t)*index < code->piece_count && code->pieces[*index].number != number)
        ++*index;
    if (number < 0 || (size_t)*index < code->piece_count) return WEFT_OK;
    WI_TRY(wi_grow(code->loops->partition->request->context->allocator, (void **)&code->pieces,
        &code->piece_capacity, code->piece_count + 1, sizeof *code->pieces));
    code->pieces[code->piece_count++] = code->known->pieces[number];
    return WEFT_OK;
}

weft_status wi_add_piece(wi_code *code, const wi_text *text, unsigned needs, int *index) {
    if (text->failed) return WEFT_ERROR_MEMORY;
    int number;
    const wi_cache_key hash = wi_text_key(text->data, text->length);
    wi_code_piece piece = {.text = text->data, .length = text->length, .needs = needs, .hash = hash};
    wi_piece_name(piece.name, hash);
    WI_TRY(wi_known_piece(code->known, &piece, &number));
    return take_piece(code, number, index);
}

/* ---- kernels of templates ---- */

typedef struct prepared {
    wi_kernel_plan kernel;
    const void *template;
} prepared;

static weft_status prepare_for_site(
    wi_code *code, const wi_selection *selection, const wi_kernel_site *site, void **made) {
    wi_arena *const arena = code->loops->partition->request->arena;
    prepared *const own = wi_arena_take(arena, sizeof *own);
    if (!own) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_implementation_prepare(selection->chosen, selection->variant, site, arena, &own->kernel));
    own->template = wi_known_template(code->known, &own->kernel);
    if (!own->template) return WEFT_ERROR_MEMORY;
    *made = own;
    return WEFT_OK;
}

static bool draws(const wi_kernel_plan *kernel) {
    for (int i = 0; i < kernel->count; i++) {
        for (int a = 0; a < kernel->launches[i]->argument_count; a++) {
            if (kernel->launches[i]->arguments[a].kind == WI_KERNEL_RANDOM) return true;
        }
    }
    return false;
}

/* What the chosen implementation launches, and with which macros its template is compiled. */
static weft_status prepare_kernel(wi_code *code, const wi_step *step) {
    const wi_partition *const p = code->loops->partition;
    wi_kernel_site site = wi_step_site(p, step);
    site.sums = step->sums;
    site.quads = step->kind == WI_STEP_PRODUCT &&
                 wi_step_elements(code->loops->partition, &code->loops->of[step->index]) > 1;
    wi_key_begin(&code->kernels);
    wi_key_add(&code->kernels, (uint64_t)site.sums << 1 | site.quads);
    wi_key_add_address(&code->kernels, step->selection->chosen);
    wi_key_add_address(&code->kernels, step->selection->variant);
    wi_key_add_site(&code->kernels, wi_step_device(p, step), &site);
    void **const known = wi_key_end(&code->kernels);
    if (!known) return WEFT_ERROR_MEMORY;
    if (!*known) WI_TRY(prepare_for_site(code, step->selection, &site, known));
    prepared *const own = *known;
    code->of[step->index].kernel = &own->kernel;
    code->of[step->index].template = own->template;
    code->draws = code->draws || draws(&own->kernel);
    return WEFT_OK;
}

/* ---- steps ---- */

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
    wi_key_map *const map = &code->known->steps;
    wi_key_begin(map);
    wi_key_add_address(map, wi_step_device(code->loops->partition, step));
    wi_key_add_address(map, code->of[step->index].template);
    wi_key_add(map, (uint64_t)step->kind << 32 | wi_step_needs(code->loops->partition, step));
    if (step->kind != WI_STEP_KERNEL) wi_key_add_code(map, code->loops, step);
    return wi_key_end(map);
}

static weft_status take_text(wi_code *code, wi_kernel_text *own, const wi_kernel_text *known) {
    *own = *known;
    return take_piece(code, known->piece, &own->piece);
}

static weft_status take_known(wi_code *code, const wi_step *step, const wi_known_step *known) {
    wi_step_code *const own = &code->of[step->index];
    WI_TRY(take_text(code, &own->whole, &known->whole));
    WI_TRY(take_text(code, &own->partial, &known->partial));
    return take_text(code, &own->combine, &known->combine);
}

static weft_status keep_text(wi_code *code, wi_kernel_text *kept, const wi_kernel_text *made) {
    return wi_known_keep(code->known, kept, made, made->piece < 0 ? -1 : code->pieces[made->piece].number);
}

static weft_status keep(wi_code *code, const wi_step *step, void **known) {
    const wi_step_code *const own = &code->of[step->index];
    wi_known_step *const kept = wi_arena_take(&code->known->arena, sizeof *kept);
    if (!kept) return WEFT_ERROR_MEMORY;
    WI_TRY(keep_text(code, &kept->whole, &own->whole));
    WI_TRY(keep_text(code, &kept->partial, &own->partial));
    WI_TRY(keep_text(code, &kept->combine, &own->combine));
    *known = kept;
    code->known->step_count++;
    return WEFT_OK;
}

static bool is_same_text(const wi_code *code, const wi_kernel_text *own, const wi_kernel_text *known) {
    const int number = own->piece < 0 ? -1 : code->pieces[own->piece].number;
    bool same = number == known->piece && own->argument_count == known->argument_count;
    for (int i = 0; same && i < own->argument_count; i++) {
        const wi_argument *const a = &own->arguments[i], *const b = &known->arguments[i];
        same = a->kind == b->kind && a->a == b->a && a->b == b->b && a->number == b->number;
    }
    return same;
}

/* Written anew, the code of a step is what is known of one like it. */
static weft_status verify_alike(wi_code *code, const wi_step *step, const wi_known_step *known) {
    const wi_step_code *const own = &code->of[step->index];
    WI_TRY(append_step(code, step));
    WI_REQUIRE(is_same_text(code, &own->whole, &known->whole) &&
                   is_same_text(code, &own->partial, &known->partial) &&
                   is_same_text(code, &own->combine, &known->combine),
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
        return take_known(code, step, *known);
    }
    WI_TRY(append_step(code, step));
    return keep(code, step, known);
}

/* ---- the pass ---- */

/* OpenCL C has a decimal point, whatever the program's locale has. */
weft_status wi_plan_code(const wi_loops *loops, wi_code *code) {
    const wi_partition *p = loops->partition;
    *code = (wi_code){.loops = loops};
    wi_key_map_init(&code->kernels, p->request->arena);
    code->of = wi_arena_take(p->request->arena, p->step_count * sizeof *code->of);
    if (!code->of) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_known_code_of(p->request->graph, &code->known));
    wi_locale locale;
    wi_locale_enter(&locale);
    weft_status status = WEFT_OK;
    for (size_t i = 0; i < p->step_count && status == WEFT_OK; i++) status = add_step(code, p->steps[i]);
    wi_locale_leave(&locale);
    return status;
}

void wi_code_clear(wi_code *code) {
    if (code->loops) wi_release(code->loops->partition->request->context->allocator, code->pieces);
}
