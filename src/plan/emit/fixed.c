/* Fixed launches: they depend only on variables that the plan does not assign. These are constants, frozen parameters, and in inference all
 * parameters.
 *
 * A loop may be fixed as a whole, for example the loop that computes the scale of a norm with running statistics. Of a product, the
 * launches that pack weights may be fixed, in inference. The results of fixed launches stay in the plan's arena. The launches run again
 * after one of the variables was written by the caller, a file or another plan (run.c compares counts of writes). In a plan for training a
 * loop is fixed only if its results are at most a few times larger than its operands. If the results do not fit under the memory limit, no
 * launch is fixed (wi_schedule_unfix). */
#include "kernels/kernel_plan.h"
#include "plan/emit/code.h"
#include "plan/group/conflicts.h"

bool wi_is_fixed(const wi_partition *p, int value) {
    if (!p->request->inference || p->request->devices.count > 1) return false;
    return wi_is_stored_in(p, value, WI_STORAGE_BLOCK) &&
           !p->assigned[p->storages[wi_whole_storage(p, value)].block];
}

/* Does the plan assign no part of the value? A frozen parameter may share its block with parameters that the plan assigns. */
static bool is_constant(const wi_partition *p, int value) {
    if (!wi_is_stored_in(p, value, WI_STORAGE_BLOCK)) return false;
    const wi_storage *storage = &p->storages[wi_whole_storage(p, value)];
    for (size_t i = 0; p->assigned[storage->block] && i < p->assignment_count; i++)
        if (wi_assigns_part(p, &p->assignments[i], value)) return false;
    return true;
}

bool wi_step_is_fixed(const wi_schedule *schedule, const wi_step *step) {
    return step->kind == WI_STEP_LOOP && schedule->of[step->index].fixed_launches > 0;
}

static bool is_intermediate(const wi_partition *p, int value) {
    return wi_is_stored_in(p, value, WI_STORAGE_ARENA);
}

/* Are all steps that write to the memory of this value fixed? Several steps write the parts of a concatenation, and its last step alone is
 * in value->step. */
static bool is_written_once(const wi_schedule *schedule, int value) {
    const wi_partition *p = schedule->loops->partition;
    const int storage = wi_whole_storage(p, value);
    for (size_t i = 0; i < p->value_count; i++) {
        const wi_value *const own = &p->values[i];
        if (own->step < 0 || own->storage < 0 || wi_whole_storage(p, (int)i) != storage) continue;
        if (!wi_step_is_fixed(schedule, p->steps[own->step])) return false;
    }
    return true;
}

static bool is_fixed(const wi_schedule *schedule, int value) {
    const wi_partition *p = schedule->loops->partition;
    const int step = p->values[wi_base_of(p, value)].step;
    if (is_constant(p, value)) return true;
    return step >= 0 && wi_step_is_fixed(schedule, p->steps[step]) && is_written_once(schedule, value);
}

/* Must the kernel run in every run of the plan? Yes if it has an argument that differs between runs, or reports faults. */
static bool changes(const wi_kernel_text *kernel) {
    for (int i = 0; i < kernel->argument_count; i++) {
        const wi_argument_kind kind = kernel->arguments[i].kind;
        if (kind == WI_ARGUMENT_SCALAR || kind == WI_ARGUMENT_DRAWS || kind == WI_ARGUMENT_ITERATION ||
            kind == WI_ARGUMENT_FAULT)
            return true;
    }
    return false;
}

/* Are the results small enough to stay in memory? During training, activations need the memory. */
static bool is_worth_keeping(const wi_partition *p, const wi_loop *loop) {
    enum { TIMES = 4 };
    size_t read = 0, written = 0;
    for (int o = 0; o < loop->operand_count; o++) {
        const wi_operand *operand = &loop->operands[o];
        *(operand->is_output ? &written : &read) += wi_value_bytes(&p->values[operand->value]);
    }
    return p->request->inference || written <= TIMES * read;
}

/* Are all values that the loop reads fixed, and are all values that it writes in the arena? */
static bool is_fixed_loop(const wi_schedule *schedule, const wi_loop *loop, const wi_step_code *code) {
    const wi_partition *p = schedule->loops->partition;
    int inputs = 0;
    for (int o = 0; o < loop->operand_count; o++) {
        const wi_operand *operand = &loop->operands[o];
        if (operand->value < 0) return false;
        if (operand->is_output && !is_intermediate(p, operand->value)) return false;
        if (!operand->is_output && !is_fixed(schedule, operand->value)) return false;
        inputs += !operand->is_output;
    }
    return inputs > 0 && is_worth_keeping(p, loop) && !changes(&code->whole) && !changes(&code->partial) &&
           !changes(&code->combine);
}

/* Does the kernel pack operands, and are all of these fixed? */
static bool packs_fixed(const wi_schedule *schedule, const wi_step *step, const wi_kernel_plan *kernel) {
    for (int i = 0; i < WI_KERNEL_INPUTS; i++) {
        if (kernel->packed >> i & 1 && !is_fixed(schedule, step->sources[i])) return false;
    }
    return kernel->pack_count > 0;
}

void wi_find_fixed(wi_schedule *schedule, const wi_code *code) {
    const wi_partition *p = schedule->loops->partition;
    if (p->request->devices.count > 1 || p->request->plain) return;
    for (size_t i = 0; i < p->step_count; i++) {
        const wi_kernel_plan *kernel = schedule->of[i].kernel;
        wi_step_schedule *own = &schedule->of[i];
        if (p->steps[i]->kind == WI_STEP_LOOP &&
            is_fixed_loop(schedule, &schedule->loops->of[i], &code->of[i]))
            own->fixed_launches = own->launch_count;
        if (!p->request->inference || !kernel || !packs_fixed(schedule, p->steps[i], kernel)) continue;
        own->fixed_launches = kernel->pack_count;
        own->fixed_bytes = kernel->pack_bytes;
    }
}

bool wi_schedule_unfix(wi_schedule *schedule) {
    const size_t steps = schedule->loops->partition->step_count;
    bool any = false;
    for (size_t i = 0; i < steps; i++) {
        any = any || schedule->of[i].fixed_launches > 0;
        schedule->of[i].fixed_launches = 0;
        schedule->of[i].fixed_bytes = 0;
    }
    return any;
}
