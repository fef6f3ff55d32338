/* The optimizer's state divided among processes (contract in shards.h). Which rows a process updates is decided in nn/update.c. */
#include "base/platform.h"
#include "train/shards.h"

/* ---- parameters ---- */

typedef weft_status copy_function(const weft_tensor *parameter, size_t offset, float *numbers, size_t bytes);

static weft_status read_bytes(const weft_tensor *parameter, size_t offset, float *numbers, size_t bytes) {
    return wi_variable_read(parameter, offset, numbers, bytes);
}

static weft_status write_bytes(const weft_tensor *parameter, size_t offset, float *numbers, size_t bytes) {
    return wi_variable_write(parameter, offset, numbers, bytes);
}

/* Copies the bytes [first, end) of a range of parameters from or to the memory of the range. */
static weft_status copy_range(
    const wi_shards *shards, size_t range, size_t first, size_t end, float *numbers, copy_function *copy) {
    const wi_divided_update *const divided = &shards->divided;
    const weft_graph *const graph = shards->part->graph;
    const size_t begin = weft_graph_parameter(graph, divided->first[range])->variable->offset;
    for (size_t p = divided->first[range]; p < divided->first[range] + divided->length[range]; p++) {
        const weft_tensor *const parameter = weft_graph_parameter(graph, p);
        const size_t at = parameter->variable->offset - begin, after = at + parameter->variable->bytes;
        const size_t from = at > first ? at : first, to = after < end ? after : end;
        if (from < to) WI_TRY(copy(parameter, from - at, numbers + from / sizeof *numbers, to - from));
    }
    return WEFT_OK;
}

/* The range of bytes of part number `part`, of `parts` equal parts of `bytes` bytes. */
static wi_row_range part_of(size_t bytes, size_t part, size_t parts) {
    const wi_row_range rows = wi_part_of_rows((int64_t)(bytes / WI_FLAT_ROW_BYTES), part, parts);
    return (wi_row_range){rows.first * WI_FLAT_ROW_BYTES, rows.count * WI_FLAT_ROW_BYTES};
}

/* Reads the parameters that this process has updated, into the memory of the first shard's gradients, which are not needed any more. */
static weft_status read_own(wi_shards *shards) {
    const wi_divided_update *const divided = &shards->divided;
    float *numbers = wi_sum_slot(&shards->sum, 0);
    for (size_t i = 0; i < divided->count; numbers += divided->bytes[i++] / sizeof *numbers) {
        if (divided->length[i] == 0) continue; /* the counts of rows */
        const wi_row_range own = part_of(divided->bytes[i], divided->part, divided->parts);
        WI_TRY(
            copy_range(shards, i, (size_t)own.first, (size_t)(own.first + own.count), numbers, read_bytes));
    }
    return WEFT_OK;
}

static weft_status gather_range(const wi_shards *shards, size_t range, const float *own, float *all) {
    const wi_divided_update *const divided = &shards->divided;
    for (size_t r = 0; r < divided->parts; r++)
        shards->bytes[r] = (size_t)part_of(divided->bytes[range], r, divided->parts).count;
    const size_t at = (size_t)part_of(divided->bytes[range], divided->part, divided->parts).first;
    WI_TRY(wi_group_gather(shards->group, own + at / sizeof *own, shards->bytes, all));
    return copy_range(shards, range, 0, divided->bytes[range], all, write_bytes);
}

static weft_status gather_all(wi_shards *shards) {
    const wi_divided_update *const divided = &shards->divided;
    size_t at = 0;
    for (size_t i = 0; i < divided->count; at += divided->bytes[i++] / sizeof(float))
        if (divided->length[i] > 0) /* not the counts of rows */
            WI_TRY(gather_range(shards, i, wi_sum_slot(&shards->sum, 0) + at, shards->sum.result + at));
    return WEFT_OK;
}

weft_status wi_shards_gather_parameters(wi_shards *shards, weft_status status) {
    if (status == WEFT_OK) status = read_own(shards);
    WI_TRY(wi_group_meet(shards->group, WI_MEET_PARAMETERS, status));
    const double began = wi_clock_seconds();
    WI_TRY(gather_all(shards));
    shards->sum.seconds += wi_clock_seconds() - began;
    shards->sum.exposed_seconds += wi_clock_seconds() - began;
    return WEFT_OK;
}

/* The program has exchanged this process's part of the parameters with their averages (weft_average_swap). */
static weft_status share_parts(void *user, weft_status status) {
    wi_shards *const shards = user;
    if (status == WEFT_OK && !shards->sum.slots)
        status = wi_fail(WEFT_ERROR_STATE, "weft_average_swap: the averages are divided among processes "
                                           "(shard_optimizer), which exchange them "
                                           "only after weft_trainer_run");
    return wi_shards_gather_parameters(shards, status);
}

void wi_shards_share_averages(wi_shards *shards, bool shares) {
    if (!shards->part || !wi_shards_optimizer(shards)) return;
    shards->part->graph->share_parts = shares ? share_parts : NULL;
    shards->part->graph->shares = shares ? shards : NULL;
}

/* ---- states ---- */

/* The next optimizer state, from variable number *i on, that is divided among the processes; NULL: there are no more. */
static wi_variable *next_part(const wi_shards *shards, size_t *i) {
    const weft_graph *const graph = shards->part->graph;
    for (; *i < graph->variable_count; ++*i)
        if (graph->variables[*i]->role && graph->variables[*i]->whole_bytes) return graph->variables[(*i)++];
    return NULL;
}

void wi_shards_forget_states(wi_shards *shards) {
    if (!wi_shards_optimizer(shards)) return;
    wi_variable *state;
    for (size_t i = 0; (state = next_part(shards, &i));) {
        wi_release(shards->allocator, state->whole);
        state->whole = NULL;
    }
}

weft_status wi_shards_hold_states(wi_shards *shards) {
    if (!wi_shards_optimizer(shards)) return WEFT_OK;
    const wi_variable *state;
    wi_shards_forget_states(shards);
    for (size_t i = 0; (state = next_part(shards, &i));) {
        shards->part->graph->variables[i - 1]->whole = wi_allocate(shards->allocator, state->whole_bytes);
        if (!state->whole) return WEFT_ERROR_MEMORY;
    }
    return WEFT_OK;
}

weft_status wi_shards_take_states(wi_shards *shards) {
    if (!wi_shards_optimizer(shards)) return WEFT_OK;
    const wi_variable *state;
    for (size_t i = 0; (state = next_part(shards, &i));)
        WI_TRY(wi_variable_write(
            state->tensor, 0, state->whole + (state->covered - state->whole_covered), state->bytes));
    return WEFT_OK;
}

/* Each process reads its parts of the states; rank 0 reads them directly into the memory of the whole states. */
static weft_status read_parts(wi_shards *shards, unsigned char *own) {
    const wi_variable *state;
    for (size_t i = 0; (state = next_part(shards, &i)); own += state->bytes)
        WI_TRY(wi_variable_read(state->tensor, 0, own, state->bytes));
    return WEFT_OK;
}

static weft_status collect(wi_shards *shards, const unsigned char *own) {
    const wi_variable *state;
    for (size_t i = 0; (state = next_part(shards, &i)); own += state->bytes) {
        for (size_t r = 0; r < shards->divided.parts; r++)
            shards->bytes[r] = (size_t)part_of(state->whole_bytes, r, shards->divided.parts).count;
        WI_TRY(wi_group_collect(shards->group, own, shards->bytes, state->whole));
    }
    return WEFT_OK;
}

static weft_status gather_states(wi_shards *shards) {
    const wi_variable *state;
    size_t bytes = 0;
    for (size_t i = 0; (state = next_part(shards, &i));) bytes += state->bytes;
    weft_status status = WEFT_OK;
    unsigned char *const own = wi_allocate(shards->allocator, bytes + 1);
    if (!own) status = WEFT_ERROR_MEMORY;
    if (status == WEFT_OK && shards->divided.part == 0) status = wi_shards_hold_states(shards);
    if (status == WEFT_OK) status = read_parts(shards, own);
    status = wi_group_meet(shards->group, WI_MEET_PARAMETERS, status);
    if (status == WEFT_OK) status = collect(shards, own);
    wi_release(shards->allocator, own);
    return status;
}

weft_status wi_shards_gather_states(wi_shards *shards, bool wanted) {
    if (!wi_shards_optimizer(shards)) return WEFT_OK;
    WI_TRY(wi_group_any(shards->group, &wanted));
    return wanted ? gather_states(shards) : WEFT_OK;
}
