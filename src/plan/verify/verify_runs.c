/* Invariants of the runs: each run reads values that an earlier run has written to the same place. */
#include "plan/verify/verify.h"

/* A value that has been written to a place. */
typedef struct written {
    int value, place;
} written;

typedef struct check {
    const wi_materialised *runs;
    const wi_partition *partition;
    bool *ran; /* by step */
    written *list;
    size_t count, capacity;
} check;

static bool is_written(const check *c, int value, int place) {
    for (size_t i = c->count; i-- > 0;) {
        if (c->list[i].value == value && c->list[i].place == place) return true;
    }
    return false;
}

static weft_status write_value(check *c, const wi_run *run, int value) {
    const int place = wi_place_of_value(c->runs, run, value, NULL);
    if (is_written(c, value, place)) return WEFT_OK;
    WI_TRY(wi_grow(
        c->partition->request->allocator, (void **)&c->list, &c->capacity, c->count + 1, sizeof *c->list));
    c->list[c->count++] = (written){value, place};
    return WEFT_OK;
}

/* A value that a step computes must have been written to the place that the run reads. A joined value is not checked, because several
 * steps write it. */
static weft_status check_read(const check *c, const wi_run *run, const char *thing, int index, int value) {
    const int base = wi_base_of(c->partition, value);
    if (c->partition->values[base].state != WI_VALUE_MEMBER) return WEFT_OK;
    WI_REQUIRE(is_written(c, base, wi_place_of_value(c->runs, run, base, NULL)), WI_PASS_MATERIALISE, thing,
        index, "it reads a value that no earlier run computes");
    return WEFT_OK;
}

static weft_status check_instances(const check *c, const wi_run *run, int index) {
    const size_t first = c->partition->storage_count;
    for (int i = 0; i < run->instance_count; i++) {
        const size_t place = (size_t)run->instances[i].place;
        WI_REQUIRE(place >= first && place - first < c->runs->instance_count &&
                       c->runs->instance_of[place - first] == run->instances[i].storage,
            WI_PASS_MATERIALISE, "run", index, "an instance belongs to another storage");
    }
    return WEFT_OK;
}

static bool outlives_the_plan(const wi_partition *p, int value) {
    return p->storages[wi_whole_storage(p, value)].kind == WI_STORAGE_BLOCK;
}

static weft_status check_values(check *c, const wi_run *run) {
    const wi_step *step = run->step;
    const wi_loop *loop = &c->runs->schedule->loops->of[step->index];
    for (int i = 0; i < 2 && step->kind == WI_STEP_PRODUCT; i++)
        WI_TRY(check_read(c, run, "run", run->index, step->sources[i]));
    for (int o = 0; o < loop->operand_count; o++) {
        const wi_operand *operand = &loop->operands[o];
        if (operand->value >= 0 && !operand->is_output)
            WI_TRY(check_read(c, run, "run", run->index, operand->value));
    }
    for (int o = 0; o < loop->operand_count; o++) {
        const wi_operand *operand = &loop->operands[o];
        if (!operand->is_output) continue;
        WI_REQUIRE(!run->is_repeated || !outlives_the_plan(c->partition, operand->value), WI_PASS_MATERIALISE,
            "run", run->index, "a step that assigns a variable runs twice");
        WI_TRY(write_value(c, run, operand->value));
    }
    return WEFT_OK;
}

static weft_status check_run(check *c, size_t index) {
    const wi_run *run = &c->runs->runs[index];
    WI_REQUIRE(
        run->index == (int)index, WI_PASS_MATERIALISE, "run", index, "its number differs from its index");
    WI_REQUIRE(run->is_repeated == c->ran[run->step->index], WI_PASS_MATERIALISE, "run", index,
        "it records wrongly whether its step ran before");
    WI_TRY(check_instances(c, run, (int)index));
    WI_TRY(check_values(c, run));
    c->ran[run->step->index] = true;
    return WEFT_OK;
}

static weft_status check_end(const check *c) {
    const wi_partition *p = c->partition;
    WI_TRY(check_instances(c, &c->runs->end, (int)c->runs->run_count));
    for (size_t i = 0; i < p->order->output_count; i++)
        if (p->output_values[i] >= 0)
            WI_TRY(check_read(c, &c->runs->end, "output", (int)i, p->output_values[i]));
    for (size_t i = 0; i < p->step_count; i++)
        WI_REQUIRE(c->ran[i], WI_PASS_MATERIALISE, "step", i, "it never runs");
    return WEFT_OK;
}

static weft_status check_all(check *c) {
    for (size_t i = 0; i < c->runs->run_count; i++) WI_TRY(check_run(c, i));
    return check_end(c);
}

weft_status wi_verify_runs(const wi_materialised *runs) {
    const wi_partition *p = runs->schedule->loops->partition;
    check c = {.runs = runs, .partition = p};
    c.ran = wi_arena_take(p->request->arena, (p->step_count + 1) * sizeof *c.ran);
    if (!c.ran) return WEFT_ERROR_MEMORY;
    const weft_status status = check_all(&c);
    wi_release(p->request->allocator, c.list);
    return status;
}
