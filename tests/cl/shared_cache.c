/* A process for kill_and_share.sh: opens contexts on a cache folder without end, and in each builds or loads the same
 * few programs, runs them and saves them. Ends with status 1 when a number is wrong or anything fails; with ROUNDS after
 * as many contexts, and then says how many programs it had to build in the last one.
 * Usage: shared_cache FOLDER [ROUNDS] */
#include "cl/device_values.h"
#include "support/small_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAMS = 4, BLOCK = 2 << 20 };

/* A warning is what a reader of another's half-written file would get. */
static void count_warning(void *user, weft_log_level level, const char *line) {
    if (level != WEFT_LOG_WARNING) return;
    fprintf(stderr, "%s\n", line);
    ++*(int *)user;
}

/* An entry that takes as long to write as a large program: many a kill comes amid it. */
static weft_status use_block(wi_device *device) {
    static char block[BLOCK];
    wi_cache_entry entry;
    const wi_cache_key key = wi_disk_cache_key(device, "a block", "");
    for (size_t i = 0; i < BLOCK; i++) block[i] = (char)(i * 2654435761u >> 13);
    if (!wi_disk_cache_write(device, key, WI_CACHE_INDEX, block, BLOCK))
        WI_FAIL(WEFT_ERROR_INTERNAL, "the block cannot be written");
    WI_TRY(wi_disk_cache_read(device, key, &entry));
    const bool same = entry.data && entry.bytes == BLOCK && memcmp(entry.data, block, BLOCK) == 0;
    wi_release(device->host.allocator, entry.data);
    if (!same) WI_FAIL(WEFT_ERROR_INTERNAL, "the block is not what was written");
    return WEFT_OK;
}

static weft_status use_all(weft_context *context) {
    for (int i = 0; i < PROGRAMS; i++) {
        char options[32];
        snprintf(options, sizeof options, "-D NUMBER=%d", i);
        WI_TRY(small_program_use(context, options));
        wi_device_value_set(wi_context_device(context), options, i);
        wi_programs_save(wi_context_device(context));
        WI_TRY(use_block(wi_context_device(context)));
    }
    for (int i = 0; i < PROGRAMS; i++) {
        char name[32];
        double value = -1;
        snprintf(name, sizeof name, "-D NUMBER=%d", i);
        if (!wi_device_value_get(wi_context_device(context), name, &value) || value != i)
            WI_FAIL(WEFT_ERROR_INTERNAL, "the value of '%s' is %g", name, value);
    }
    return WEFT_OK;
}

int main(int argc, char **argv) {
    const long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    weft_status status = WEFT_OK;
    size_t built = 0;
    int warnings = 0;
    if (argc < 2) return fprintf(stderr, "usage: shared_cache FOLDER [ROUNDS]\n"), 2;
    for (long i = 0; status == WEFT_OK && warnings == 0 && (rounds == 0 || i < rounds); i++) {
        weft_context *context = NULL;
        status = weft_context_create(
            &context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .cache_dir = argv[1],
                          .log = count_warning, .log_user = &warnings});
        if (status == WEFT_OK) status = use_all(context);
        if (context) built = wi_programs_stats(wi_context_device(context))->built;
        weft_context_release(context);
    }
    if (status != WEFT_OK) fprintf(stderr, "shared_cache: %s\n", weft_last_error());
    printf("built %zu\n", built);
    return status != WEFT_OK || warnings > 0;
}
