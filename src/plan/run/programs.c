/* Finds the programs of a plan. Pieces that a known program contains are taken from that program. All other pieces become one new
 * program, or two if some compute quads, because WEFT_LANES then differs.
 *
 * A plan with another batch size therefore compiles only the kernels that differ, and a plan for inference reuses pieces of a plan for
 * training. A cold start still compiles a single program, because beginning a program takes long. The new pieces depend on the
 * plans created before; the cache on disk finds programs by piece. */
#include "cl/device_progress.h"
#include "cl/kernel_source.h"
#include "cl/program.h"
#include "plan/run/launches.h"
#include <string.h>

enum { PREFIXES = 16 }; /* by the WI_NEEDS_ bits of a piece */

/* The search on one device. */
typedef struct search {
    wi_device *device;
    int index; /* device index */
    const wi_code *code;
    wi_program **programs;    /* by piece; NULL: not found, or not needed */
    bool *needed;             /* by piece */
    bool *unused;             /* by piece: this search compiles it */
    wi_cache_key *keys;       /* by piece */
    wi_text before[PREFIXES]; /* by needs: the definitions in front of pieces; empty: not created yet */
    wi_cache_key before_keys[PREFIXES];
} search;

static void need(search *s, int piece) {
    if (piece >= 0) s->needed[piece] = true;
}

static void find_needed(search *s) {
    const wi_partition *p = s->code->loops->partition;
    for (size_t i = 0; i < p->step_count; i++) {
        if (p->steps[i]->device != s->index) continue;
        need(s, s->code->of[i].whole.piece);
        need(s, s->code->of[i].partial.piece);
        need(s, s->code->of[i].combine.piece);
        need(s, s->code->of[i].shared_piece);
    }
}

/* Creates the definitions in front of pieces with these needs, unless they exist. */
static weft_status fill_prefix(search *s, unsigned needs) {
    wi_text *text = &s->before[needs];
    if (text->length > 0) return WEFT_OK;
    if (needs & WI_NEEDS_QUADS)
        wi_text_append(
            text, "#undef WEFT_LANES\n#define WEFT_LANES %d\n", s->device->profile.loops.map_elements);
    WI_TRY(wi_kernel_source_include(text, "common.clh"));
    if (needs & WI_NEEDS_DOUBLES) WI_TRY(wi_kernel_source_include(text, "doubles.clh"));
    if (needs & WI_NEEDS_PADDING) WI_TRY(wi_kernel_source_include(text, "padding.clh"));
    if (needs & WI_NEEDS_FUNCTIONS) WI_TRY(wi_kernel_source_include(text, "elementwise.clh"));
    if (text->failed) return WEFT_ERROR_MEMORY;
    s->before_keys[needs] = wi_text_key(text->data, text->length);
    return WEFT_OK;
}

static weft_status find_known(search *s) {
    for (size_t i = 0; i < s->code->piece_count; i++) {
        const wi_code_piece *piece = &s->code->pieces[i];
        if (!s->needed[i]) continue;
        WI_TRY(fill_prefix(s, piece->needs));
        WI_TRY(wi_program_piece_key(&s->keys[i], s->device, s->before_keys[piece->needs], piece->hash));
        WI_TRY(wi_program_find_piece(&s->programs[i], s->device, "plan", s->keys[i]));
    }
    return WEFT_OK;
}

static bool is_missing(const search *s, size_t piece) {
    return s->needed[piece] && !s->programs[piece];
}

/* Is the piece to be compiled as part of this new program: the one with quads (`quads` is WI_NEEDS_QUADS) or the one without (0)? */
static bool belongs(const search *s, size_t piece, unsigned quads) {
    return is_missing(s, piece) && (s->code->pieces[piece].needs & WI_NEEDS_QUADS) == quads;
}

static void append_missing(const search *s, unsigned quads, wi_text *source) {
    for (size_t i = 0; i < s->code->piece_count; i++) {
        const wi_code_piece *piece = &s->code->pieces[i];
        if (!belongs(s, i, quads)) continue;
        wi_text_append(source, "#define WEFT_NAME(suffix) %s_##suffix\n", piece->name);
        wi_text_append_bytes(source, piece->text, strlen(piece->text));
        wi_text_append(source, "#undef WEFT_NAME\n");
    }
}

static weft_status build_missing(search *s, unsigned quads) {
    bool any = false;
    unsigned needs = quads;
    for (size_t i = 0; i < s->code->piece_count; i++) {
        any = any || belongs(s, i, quads);
        needs |= belongs(s, i, quads) ? s->code->pieces[i].needs : 0;
    }
    if (!any) return WEFT_OK;
    WI_TRY(fill_prefix(s, needs));
    wi_text *source = &s->before[needs];
    append_missing(s, quads, source);
    if (source->failed) return WEFT_ERROR_MEMORY;
    wi_program *built;
    size_t count = 0;
    WI_TRY(wi_program_get(&built, s->device, "plan", source->data, NULL));
    for (size_t i = 0; i < s->code->piece_count; i++) {
        if (!belongs(s, i, quads)) continue;
        s->programs[i] = built;
        WI_TRY(wi_program_add_piece(s->device, built, s->keys[i]));
        count++;
    }
    wi_progress_add(s->device, count);
    return WEFT_OK;
}

static size_t note_missing(search *s) {
    size_t count = 0;
    for (size_t i = 0; i < s->code->piece_count; i++) {
        s->unused[i] = is_missing(s, i);
        count += s->unused[i];
    }
    return count;
}

static weft_status find_programs(search *s) {
    find_needed(s);
    WI_TRY(find_known(s));
    const size_t missing = note_missing(s);
    if (missing == 0) return WEFT_OK;
    wi_progress_begin(s->device, missing, "kernels");
    weft_status status = build_missing(s, 0);
    if (status == WEFT_OK) status = build_missing(s, WI_NEEDS_QUADS);
    wi_progress_end(s->device);
    return status;
}

static weft_status search_device(const wi_code *code, int device, wi_launches *launches) {
    const wi_request *request = code->loops->partition->request;
    wi_arena *const arena = request->arena;
    const size_t first = (size_t)device * code->piece_count;
    search s = {.device = request->devices.of[device],
        .index = device,
        .code = code,
        .programs = launches->programs + first,
        .unused = launches->unused + first};
    s.needed = wi_arena_take(arena, code->piece_count * sizeof *s.needed);
    s.keys = wi_arena_take(arena, code->piece_count * sizeof *s.keys);
    if (!s.needed || !s.keys) return WEFT_ERROR_MEMORY;
    for (int i = 0; i < PREFIXES; i++) wi_text_init(&s.before[i], request->allocator);
    const weft_status status = find_programs(&s);
    for (int i = 0; i < PREFIXES; i++) wi_text_clear(&s.before[i]);
    return status;
}

weft_status wi_plan_programs(const wi_code *code, wi_launches *launches) {
    const wi_request *request = code->loops->partition->request;
    const size_t count = (size_t)request->devices.count * code->piece_count;
    launches->programs = wi_arena_take(request->arena, count * sizeof *launches->programs);
    launches->unused = wi_arena_take(request->arena, count * sizeof *launches->unused);
    if (!launches->programs || !launches->unused) return WEFT_ERROR_MEMORY;
    for (int d = 0; d < request->devices.count; d++) WI_TRY(search_device(code, d, launches));
    return WEFT_OK;
}
