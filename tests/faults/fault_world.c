/* What the programs share. */
#include "fault_subject.h"
#include <stdio.h>
#include <stdlib.h>

weft_status fault_open_context(fault_world *world) {
    const char *const device = getenv("WEFT_DEVICE");
    const weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT,
        .device = device && *device ? device : "portable", .cache_dir = world->cache, .seed = 5};
    return weft_context_create(&world->context, &options);
}

void fault_close_context(fault_world *world) {
    weft_context_release(world->context);
    world->context = NULL;
}

const char *fault_path(const char *folder, const char *name) {
    static _Thread_local char paths[4][2 * FAULT_PATH];
    static _Thread_local int next;
    char *const path = paths[next = (next + 1) % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}
