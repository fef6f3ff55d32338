/* See training_loop.h. */
#include "training_loop.h"
#include "console.h"
#include "progress.h"
#include "stopping.h"
#include "trace.h"
#include <stdio.h>

enum { EXTRAS = 2 + LOOP_KEPT, MOST_SETTINGS = 16 };

static weft_status run(training_loop *loop, weft_status (*train)(training_loop *loop)) {
    const weft_context_options shown = {PROGRAM_CONTEXT_OPTIONS_INIT};
    weft_status status = weft_context_create(&loop->context, &shown);
    if (status) return status;
    loop->graph = weft_context_graph(loop->context);
    status = weft_graph_set_precision(loop->graph, loop->line->precision);
    if (!status) status = train(loop);
    const weft_status of_graph = weft_graph_status(loop->graph); /* why a tensor of a plan was NULL */
    return of_graph ? of_graph : status;
}

int loop_main(command_line *line, int argc, char **argv, weft_status (*train)(training_loop *loop)) {
    training_loop loop = {.line = line};
    line->traces = true;
    if (!command_line_read(line, argc, argv, &loop.stopped)) return loop.stopped;
    const weft_status status = run(&loop, train);
    if (status) hide_progress(), fprintf(stderr, "%s: %s\n", line->program, weft_last_error());
    if (loop.events && weft_events_flush(loop.events))
        fprintf(stderr, "%s: events are missing: %s\n", line->program, weft_last_error());
    weft_events_release(loop.events);
    weft_context_release(loop.context);
    return status ? 1 : loop.stopped;
}

/* Into extras, with the number of the step in *step; returns how many there are. */
static size_t list_extras(const training_loop *loop, int64_t *step, weft_checkpoint_extra extras[EXTRAS]) {
    size_t count = 0;
    extras[count++] = (weft_checkpoint_extra){.name = "step", .dtype = WEFT_I64, .data = step};
    extras[count++] = (weft_checkpoint_extra){.name = "draws", .dtype = WEFT_I64, .data = draw_state()};
    for (size_t i = 0; i < loop->kept_count; i++) extras[count++] = loop->kept[i];
    return count;
}

static weft_status save(const training_loop *loop) {
    weft_checkpoint_extra extras[EXTRAS];
    int64_t step = (int64_t)loop->step;
    const size_t count = list_extras(loop, &step, extras);
    return weft_checkpoint_save(loop->graph, loop->line->checkpoint, extras, count);
}

void loop_keep(training_loop *loop, const char *name, void *data, size_t bytes) {
    loop->kept[loop->kept_count++] = (weft_checkpoint_extra){name, WEFT_U8, 1, {(int64_t)bytes}, data};
}

/* Begins with what the command line says. */
static weft_status begin_events(training_loop *loop) {
    const command_line *const line = loop->line;
    weft_hyperparameter settings[MOST_SETTINGS];
    size_t count = 0;
    if (!line->events && !line->html) return WEFT_OK;
    const weft_events_options options = {WEFT_EVENTS_OPTIONS_INIT, .folder = line->events, .html = line->html,
        .command = line->command, .first_step = loop->step ? loop->step + 1 : 0};
    weft_status status = weft_events_create(&loop->events, loop->context, &options);
    for (size_t i = 0; i < line->option_count && count < MOST_SETTINGS; i++)
        if (line->options[i].text)
            settings[count++] = (weft_hyperparameter){line->options[i].name + 2, line->options[i].text, 0};
    if (!status) status = weft_events_hyperparameters(loop->events, settings, count, NULL, 0);
    trace_events(loop->events);
    return status;
}

weft_status loop_begin(training_loop *loop, size_t last) {
    weft_checkpoint_extra extras[EXTRAS];
    const char *const path = loop->line->checkpoint;
    int64_t step = 0;
    const size_t count = list_extras(loop, &step, extras);
    if (loop->line->resume && console_can_read(path)) {
        const weft_status status = weft_checkpoint_load(loop->graph, path, extras, count);
        if (status) return status;
        printf("continuing after step %lld\n", (long long)step);
    }
    loop->step = (size_t)step, loop->last = last;
    weft_status status = trace_log(loop->line->csv_log, loop->step);
    if (!status) status = begin_events(loop);
    return status ? status : trace_begin(loop->line->trace, loop->graph);
}

bool loop_next(training_loop *loop, weft_status *status) {
    const char *name = NULL;
    const double loss = trace_end_step(loop->step, &name);
    const bool ended = loop->step >= loop->last, wanted = stopping_wanted();
    const bool due = loop->ran && (ended || loop->step % loop->line->checkpoint_every.steps == 0);
    if (*status) return false;
    if (loop->ran) show_loop(loop->step, loop->last, name, loss);
    if (!loop->listens) stopping_begin(NULL), loop->listens = true;
    if (loop->line->checkpoint && (due || wanted) && (*status = save(loop))) return false;
    if (!ended && !wanted) return loop->step++, loop->ran = true;
    if (loop->listens) loop->stopped = stopping_end(loop->line, loop->step), loop->listens = false;
    return false;
}

bool loop_every(const training_loop *loop, size_t steps) {
    const bool due = loop->step == loop->last || loop->step % steps == 0;
    if (due) hide_progress();
    return due;
}
