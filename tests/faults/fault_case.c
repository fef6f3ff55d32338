/* Cases (contract in fault_case.h). */
#include "fault_case.h"
#include "fault_layer.h"
#include "fault_memory.h"
#include "support/scratch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Only what the case itself prints goes through this, so that the count of findings is right. */
typedef struct report {
    const fault_setting *setting;
    size_t series;
    long nth;
    long objects; /* OpenCL objects that are the program's own */
    bool wrong;
} report;

static void complain(report *r, const char *what, const char *detail) {
    char text[600];
    r->setting->kind->describe(r->series, text, sizeof text);
    fprintf(stderr, "%s %s %zu.%ld (%s): %s%s\n", r->setting->kind->name, r->setting->subject->name,
        r->series, r->nth, text, what, detail);
    r->wrong = true;
}

/* ---- programs ---- */

static weft_status attempt(const fault_subject *subject, fault_world *world, int from, int *reached) {
    weft_status status = WEFT_OK;
    for (*reached = from; *reached < FAULT_STEPS; ++*reached)
        if ((status = subject->steps[*reached](world)) != WEFT_OK) return status;
    return WEFT_OK;
}

static void clear_from(const fault_subject *subject, fault_world *world, int from) {
    for (int step = FAULT_STEPS - 1; step >= from; step--) subject->clear[step](world);
}

static bool is_reference(const report *r, const fault_world *world) {
    const fault_world *const right = &r->setting->reference;
    return world->result_count == right->result_count &&
           memcmp(world->result, right->result, right->result_count * sizeof *right->result) == 0;
}

/* ---- what must hold ---- */

static void check_error(report *r, weft_status status) {
    const char *const line = weft_last_error();
    char text[2200];
    snprintf(text, sizeof text, "%s: %s", weft_status_name(status), line);
    if (!*line || strchr(line, '\n') || strstr(line, "weft_device_get"))
        complain(r, "no error line of its own: ", text);
    else if (!r->setting->kind->expects(r->series, status, line))
        complain(r, "another error: ", text);
}

static void check_left(report *r) {
    char text[256];
    fault_layer_describe_live(text, sizeof text);
    if (fault_layer_live() != r->objects) complain(r, "OpenCL objects are left: ", text);
    if (fault_memory_print_leaks() != 0) complain(r, "memory is left", "");
}

static void check_files(report *r, const char *folder) {
    char path[4096] = "";
    if (scratch_count(folder, ".tmp", path) > 0) complain(r, "a temporary file is left: ", path);
}

/* ---- a case ---- */

static void begin(const fault_setting *setting, fault_world *world, const char *name) {
    *world = setting->reference;
    world->result_count = 0;
    snprintf(world->folder, sizeof world->folder, "%.400s/%s", setting->folder, name);
    mkdir(world->folder, 0700);
}

static void end(fault_world *world) {
    scratch_remove(strdup(world->folder));
}

/* Nothing fails any more: each graph that is left computes what it should. A kernel of which it is remembered that it does not
 * compile is an error in every plan that needs it. */
static void use_graphs(report *r, fault_world *world) {
    const fault_subject *const subject = r->setting->subject;
    const double *const right = r->setting->reference.used;
    if (!subject->use || r->setting->kind->is_remembered(r->series)) return;
    for (int graph = 0; graph < FAULT_GRAPHS; graph++) {
        double numbers[FAULT_NUMBERS] = {0};
        bool there = false;
        const weft_status status = subject->use(world, graph, numbers, &there);
        if (!there) continue;
        if (status != WEFT_OK)
            complain(r, "the graph cannot be used: ", weft_last_error());
        else if (memcmp(numbers, right, sizeof numbers) != 0)
            complain(r, "the graph computes something else", "");
    }
}

/* Nothing fails any more: the program goes on from where it can, to the same end. */
static void go_on(report *r, fault_world *world, int reached) {
    const fault_subject *const subject = r->setting->subject;
    int again = reached == FAULT_STEPS - 1 ? subject->again : reached;
    if (r->setting->kind->is_remembered(r->series)) {
        again = 0;
        snprintf(world->cache, sizeof world->cache, "%.400s/other", world->folder);
    }
    clear_from(subject, world, again);
    const weft_status status = attempt(subject, world, again, &reached);
    if (status != WEFT_OK) complain(r, "it does not go on afterwards: ", weft_last_error());
    if (status == WEFT_OK && !is_reference(r, world)) complain(r, "it goes on to another result", "");
}

/* From a step on, with the nth call of the series from there on failing; then the steps are cleared. *hit: there was an nth
 * call. */
static weft_status strike(report *r, fault_world *world, int from, long nth, bool *hit) {
    const fault_kind *const kind = r->setting->kind;
    const fault_subject *const subject = r->setting->subject;
    int reached = from;
    (void)weft_device_get(0, NULL); /* the last error is this one, before */
    kind->arm(r->series, nth);
    const weft_status status = attempt(subject, world, from, &reached);
    if (status == WEFT_OK) clear_from(subject, world, from);
    *hit = kind->hit();
    kind->arm(r->series, 0);
    if (status == WEFT_OK && !is_reference(r, world)) complain(r, "no error, and another result", "");
    if (status != WEFT_OK) check_error(r, status);
    check_files(r, world->folder);
    check_files(r, world->cache);
    if (status != WEFT_OK) use_graphs(r, world);
    if (status != WEFT_OK) go_on(r, world, reached);
    clear_from(subject, world, from);
    return status;
}

static fault_outcome outcome_of(const report *r, weft_status status, bool hit) {
    if (hit && status == WEFT_OK && getenv("FAULT_SHOW"))
        fprintf(stderr, "tolerated: %zu.%ld\n", r->series, r->nth);
    return r->wrong            ? FAULT_WRONG
           : !hit              ? FAULT_UNTOUCHED
           : status == WEFT_OK ? FAULT_TOLERATED
                               : FAULT_RETURNED;
}

fault_outcome fault_case_run(const fault_setting *setting, size_t series, long nth, bool *last) {
    report r = {setting, series, nth, fault_layer_live(), false};
    fault_world world;
    bool hit = false;
    begin(setting, &world, "case");
    if (setting->kind->is_remembered(series))
        snprintf(world.cache, sizeof world.cache, "%.400s/cache", world.folder);
    fault_memory_mark();
    const weft_status status = strike(&r, &world, 0, nth, &hit);
    check_left(&r);
    end(&world);
    *last = !hit;
    return outcome_of(&r, status, hit);
}

/* ---- chains ---- */

bool fault_case_fits_chain(const fault_setting *setting, size_t series, long nth) {
    return setting->kind->chains && !setting->kind->is_remembered(series) &&
           nth > setting->calls[series].before && nth <= setting->calls[series].all &&
           setting->calls[series].used == setting->calls[series].all - setting->calls[series].before;
}

static weft_status begin_chain(const fault_setting *setting, fault_chain *chain) {
    weft_status status = WEFT_OK;
    *chain = (fault_chain){.objects = fault_layer_live()};
    fault_memory_mark();
    setting->kind->arm(0, 0);
    begin(setting, &chain->world, "chain");
    for (int step = 0; step < setting->subject->again && status == WEFT_OK; step++)
        status = setting->subject->steps[step](&chain->world);
    return status;
}

fault_outcome fault_chain_run(const fault_setting *setting, fault_chain *chain, size_t series, long nth) {
    report r = {setting, series, nth, 0, false};
    bool hit = false;
    if (chain->cases == 0 && begin_chain(setting, chain) != WEFT_OK)
        complain(&r, "without a fault: ", weft_last_error());
    chain->cases++;
    (void)weft_context_trim(chain->world.context, NULL); /* as many buffers are created in each case */
    const weft_status status =
        strike(&r, &chain->world, setting->subject->again, nth - setting->calls[series].before, &hit);
    if (!hit) complain(&r, "the call is not made in a used context", "");
    end(&chain->world);
    mkdir(chain->world.folder, 0700);
    return outcome_of(&r, status, hit);
}

bool fault_chain_end(const fault_setting *setting, fault_chain *chain, size_t series, long nth) {
    report r = {setting, series, nth, chain->objects, false};
    char text[64];
    if (chain->cases == 0) return true;
    clear_from(setting->subject, &chain->world, 0);
    check_left(&r);
    snprintf(text, sizeof text, "%d", chain->cases);
    if (r.wrong) complain(&r, "cases in a chain that ends here: ", text);
    end(&chain->world);
    chain->cases = 0;
    return !r.wrong;
}

/* ---- the reference ---- */

/* Twice from the step `again` on: counts the second time, in a context that all was done in. */
static weft_status count_calls(fault_setting *setting, fault_world *world) {
    const fault_kind *const kind = setting->kind;
    const fault_subject *const subject = setting->subject;
    const size_t count = kind->series();
    weft_status status = WEFT_OK;
    int reached = 0;
    kind->arm(0, 0);
    for (int step = 0; step < subject->again && status == WEFT_OK; step++)
        status = subject->steps[step](world);
    for (size_t s = 0; s < count; s++) setting->calls[s].before = kind->calls(s);
    for (int turn = 0; turn < 2 && status == WEFT_OK; turn++) {
        (void)weft_context_trim(world->context, NULL);
        kind->arm(0, 0);
        status = attempt(subject, world, subject->again, &reached);
        for (size_t s = 0; s < count; s++) setting->calls[s].used = kind->calls(s);
        clear_from(subject, world, subject->again);
        end(world);
        mkdir(world->folder, 0700);
    }
    return status;
}

/* What the first graph gives; the others must give the same. */
static weft_status use_reference(fault_setting *setting) {
    fault_world *const world = &setting->reference;
    report r = {setting, 0, 0, 0, false};
    bool there = false;
    if (!setting->subject->use) return WEFT_OK;
    const weft_status status = setting->subject->use(world, 0, world->used, &there);
    if (status == WEFT_OK && there) use_graphs(&r, world);
    return r.wrong || !there ? WEFT_ERROR_INTERNAL : status;
}

bool fault_case_prepare(fault_setting *setting) {
    fault_world *const world = &setting->reference;
    int reached = 0;
    snprintf(world->data, sizeof world->data, "%.400s/data", setting->folder);
    snprintf(world->cache, sizeof world->cache, "%.400s/cache", setting->folder);
    snprintf(world->folder, sizeof world->folder, "%.400s/reference", setting->folder);
    mkdir(world->data, 0700);
    mkdir(world->folder, 0700);
    weft_status status = setting->subject->prepare(world);
    world->result_count = 0;
    setting->kind->arm(0, 0);
    if (status == WEFT_OK) status = attempt(setting->subject, world, 0, &reached);
    for (size_t s = 0; s < setting->kind->series(); s++) setting->calls[s].all = setting->kind->calls(s);
    if (status == WEFT_OK) status = use_reference(setting);
    clear_from(setting->subject, world, 0);
    fault_world counted;
    begin(setting, &counted, "counted");
    if (status == WEFT_OK && setting->kind->chains) status = count_calls(setting, &counted);
    if (status != WEFT_OK) fprintf(stderr, "without a fault: %s\n", weft_last_error());
    clear_from(setting->subject, &counted, 0);
    end(&counted);
    return status == WEFT_OK;
}
