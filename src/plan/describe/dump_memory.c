/* Dumps runs, placement and launches. */
#include "plan/describe/dump.h"

/* ---- runs ---- */

static void append_instances(const wi_run *run, wi_text *text) {
    for (int i = 0; i < run->instance_count; i++)
        wi_text_append(text, "%s storage %d in place %d", i ? "," : "  with", run->instances[i].storage,
            run->instances[i].place);
    wi_text_append(text, "\n");
}

void wi_dump_runs(const wi_materialised *runs, wi_text *text) {
    wi_text_append(text, "%zu runs, %zu of steps that ran before\n", runs->run_count, runs->again_count);
    for (size_t i = 0; i < runs->run_count; i++) {
        wi_text_append(text, "run %zu  step %d%s", i, runs->runs[i].step->index,
            runs->runs[i].is_repeated ? " again" : "");
        append_instances(&runs->runs[i], text);
    }
    wi_text_append(text, "outputs");
    append_instances(&runs->end, text);
}

/* ---- memory ---- */

static void append_place(const wi_placement *placement, size_t index, wi_text *text) {
    static const char *const kinds[] = {
        [WI_STORAGE_ARENA] = "arena", [WI_STORAGE_INPUT] = "input", [WI_STORAGE_BLOCK] = "block"};
    const wi_place *place = &placement->places[index];
    wi_text_append(text, "place %zu  %s, %zu bytes", index, kinds[place->kind], place->bytes);
    if (place->device > 0) wi_text_append(text, ", on device %d", place->device);
    if (place->keep)
        wi_text_append(text, ", kept");
    else if (place->first >= 0)
        wi_text_append(text, ", runs %d to %d", place->first, place->last);
    if (place->alias >= 0)
        wi_text_append(text, ", in place %d at byte %zu", place->alias, place->alias_offset);
    else if (place->kind == WI_STORAGE_ARENA)
        wi_text_append(text, ", chunk %zu at byte %zu", place->chunk, place->offset);
    wi_text_append(text, "\n");
}

static void append_chunk(const wi_placement *placement, size_t index, wi_text *text) {
    wi_text_append(text, "chunk %zu  %zu bytes", index, placement->chunk_bytes[index]);
    if (placement->chunk_device[index] > 0)
        wi_text_append(text, ", on device %d", placement->chunk_device[index]);
    wi_text_append(text, "\n");
}

void wi_dump_placement(const wi_placement *placement, wi_text *text) {
    for (size_t i = 0; i < placement->chunk_count; i++) append_chunk(placement, i, text);
    wi_text_append(text, "%zu bytes of arena, no arena has less than %zu; %zu bytes of inputs\n",
        placement->arena_bytes, placement->lower_bound, placement->io_bytes);
    for (size_t i = 0; i < placement->place_count; i++) append_place(placement, i, text);
    for (size_t i = 0; i < placement->runs->run_count; i++)
        if (placement->scratch[i] >= 0)
            wi_text_append(text, "run %zu  scratch in place %d\n", i, placement->scratch[i]);
    for (size_t i = 0; i < placement->runs->run_count; i++)
        if (placement->fixed[i] >= 0)
            wi_text_append(text, "run %zu  fixed scratch in place %d\n", i, placement->fixed[i]);
}

/* ---- launches ---- */

static void append_launch(const wi_plan_launch *launch, wi_text *text) {
    const wi_launch *own = &launch->launch;
    const bool copies = wi_launch_copies(launch);
    wi_text_append(text, "run %d  %s", launch->run->index,
        own->name ? own->name
        : copies  ? "a transfer"
                  : "a library's product");
    if (launch->run->step->device > 0) wi_text_append(text, " on device %d", launch->run->step->device);
    for (cl_uint d = 0; own->kernel && d < own->dimensions; d++)
        wi_text_append(text, "%s %zu/%zu", d ? "," : "", own->global[d], own->local[d]);
    wi_text_append(text, "  %d arguments, of which %d change and %d lie in inputs", launch->argument_count,
        launch->changing_count, launch->bound_count);
    if (launch->iterations > 0)
        wi_text_append(
            text, "; %d launches, %lld times", launch->launches_per_iteration, (long long)launch->iterations);
    wi_text_append(text, "\n");
}

void wi_dump_launches(const wi_launches *launches, wi_text *text) {
    for (size_t i = 0; i < launches->count; i++) append_launch(&launches->launches[i], text);
}
