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

fault_outcome fault_case_run(const fault_setting *setting, size_t series, long nth, bool *last) {
    const fault_kind *const kind = setting->kind;
    report r = {setting, series, nth, fault_layer_live(), false};
    fault_world world;
    int reached = 0;
    begin(setting, &world, "case");
    if (kind->is_remembered(series)) snprintf(world.cache, sizeof world.cache, "%.400s/cache", world.folder);
    (void)weft_device_get(0, NULL); /* the last error is this one, before */
    fault_memory_mark();
    kind->arm(series, nth);
    const weft_status status = attempt(setting->subject, &world, 0, &reached);
    if (status == WEFT_OK) clear_from(setting->subject, &world, 0);
    const bool hit = kind->hit();
    kind->arm(series, 0);
    if (status == WEFT_OK && !is_reference(&r, &world)) complain(&r, "no error, and another result", "");
    if (status != WEFT_OK) check_error(&r, status);
    check_files(&r, world.folder);
    check_files(&r, world.cache);
    if (status != WEFT_OK) go_on(&r, &world, reached);
    clear_from(setting->subject, &world, 0);
    check_left(&r);
    end(&world);
    if (hit && status == WEFT_OK && getenv("FAULT_SHOW"))
        fprintf(stderr, "tolerated: %zu.%ld\n", series, nth);
    *last = !hit;
    return r.wrong             ? FAULT_WRONG
           : !hit              ? FAULT_UNTOUCHED
           : status == WEFT_OK ? FAULT_TOLERATED
                               : FAULT_RETURNED;
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
    if (status != WEFT_OK) fprintf(stderr, "without a fault: %s\n", weft_last_error());
    clear_from(setting->subject, world, 0);
    return status == WEFT_OK;
}
