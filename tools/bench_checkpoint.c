/* See bench_checkpoint.h. A file of the same bytes is written in pieces of 1 MiB, as dd does, and synced, in turns with the
 * checkpoint: what the disk can do changes from minute to minute. Both files are new ones; a round before those that count
 * makes the system find the memory for them. */
#include "bench_checkpoint.h"
#include "base/median.h"
#include "base/platform.h"
#include "base/system_file.h"
#include "bench_measure.h"
#include "bench_networks.h"
#include "io/graph_state.h"
#include "show_warning.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5, PIECE = 1 << 20, PATH_ROOM = 4096 };

typedef struct times {
    double step, copy, file, disk, fraction, step_while_writing;
} times;

typedef struct measurement {
    bench_model model;
    wi_saved_list list;
    wi_checkpoint_image image;
    char path[PATH_ROOM], plain[PATH_ROOM];
    atomic_bool writing;
    weft_status written;
    times rounds[ROUNDS];
} measurement;

static weft_status build(measurement *m, weft_context *context, const bench_network *network) {
    const bench_setting momentum = {.rate = 1e-3f, .momentum = 0.9f};
    WI_TRY(bench_model_create(&m->model, context, network, &momentum));
    WI_TRY(wi_list_graph(&m->list, m->model.graph));
    return wi_checkpoint_image_reserve(&m->image, m->path, &m->list);
}

static void *write_image(void *argument) {
    measurement *const m = argument;
    m->written = wi_checkpoint_image_write(&m->image, m->path);
    atomic_store(&m->writing, false);
    return NULL;
}

/* The same bytes, as dd writes them. */
static bool write_plain(const measurement *m) {
    const int file = wi_open(m->plain, WI_OPEN_EMPTIED);
    bool good = file >= 0;
    for (size_t at = 0; good && at < m->image.size; at += PIECE) {
        const size_t left = m->image.size - at, piece = left < PIECE ? left : PIECE;
        good = wi_write_all(file, m->image.bytes + at, piece);
    }
    good = good && wi_sync(file);
    if (file >= 0) wi_close(file);
    return good;
}

/* Steps while a thread writes the file, as in a training. */
static weft_status step_while_writing(measurement *m, double *seconds) {
    wi_thread thread = {0};
    int steps = 0;
    double all = 0, one = 0;
    atomic_store(&m->writing, true);
    WI_TRY(wi_thread_start(&thread, write_image, m));
    for (; atomic_load(&m->writing); steps++, all += one) WI_TRY(bench_time_plan(&one, m->model.plan, 1));
    wi_thread_join(&thread);
    *seconds = steps ? all / steps : 0;
    return m->written;
}

static weft_status measure(measurement *m, times *t) {
    WI_TRY(bench_time_plan(&t->step, m->model.plan, 3));
    double begin = wi_clock_seconds();
    WI_TRY(wi_checkpoint_image_fill(&m->image, m->path, &m->list));
    t->copy = wi_clock_seconds() - begin;
    begin = wi_clock_seconds();
    WI_TRY(wi_checkpoint_image_write(&m->image, m->path));
    t->file = wi_clock_seconds() - begin;
    WI_TRY(wi_file_remove(m->path));
    begin = wi_clock_seconds();
    if (!write_plain(m)) WI_FAIL(WEFT_ERROR_FILE, "cannot write '%s'", m->plain);
    t->disk = wi_clock_seconds() - begin;
    t->fraction = t->disk / t->file;
    WI_TRY(wi_file_remove(m->plain));
    WI_TRY(wi_checkpoint_image_fill(&m->image, m->path, &m->list));
    WI_TRY(step_while_writing(m, &t->step_while_writing));
    return wi_file_remove(m->path);
}

static double median(const measurement *m, size_t offset) {
    double values[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        memcpy(&values[i], (const char *)&m->rounds[i] + offset, sizeof values[i]);
    return wi_median(values, ROUNDS);
}

static void show(const measurement *m, bool json) {
    const double mega = (double)m->image.size / 1e6, step = median(m, offsetof(times, step)),
                 copy = median(m, offsetof(times, copy)), file = median(m, offsetof(times, file)),
                 disk = median(m, offsetof(times, disk)),
                 busy = median(m, offsetof(times, step_while_writing));
    printf(
        json ? "{\"megabytes\": %.1f, \"step_ms\": %.1f, \"copy_ms\": %.1f, \"step_while_writing_ms\": %.1f, "
               "\"file_mb_s\": %.1f, \"disk_mb_s\": %.1f, \"fraction\": %.3f}\n"
             : "checkpoint of %.1f MB, medians of all rounds: training step %.1f ms, copy of the state %.1f "
               "ms, training step while the file is written %.1f ms\nwriting the file with checksum and sync "
               "%.1f MB/s, writing the same bytes like dd %.1f MB/s, ratio %.3f\n",
        mega, 1e3 * step, 1e3 * copy, 1e3 * busy, mega / file, mega / disk,
        median(m, offsetof(times, fraction)));
}

static weft_status run(measurement *m, weft_context *context, const bench_network *network) {
    wi_saved_list_init(&m->list, NULL);
    WI_TRY(build(m, context, network));
    WI_TRY(measure(m, &m->rounds[0])); /* compiles, too */
    for (int i = 0; i < ROUNDS; i++) WI_TRY(measure(m, &m->rounds[i]));
    return WEFT_OK;
}

int weft_bench_checkpoint(int argc, char **argv) {
    weft_context_options options = {TOOL_CONTEXT_OPTIONS_INIT};
    weft_context *context = NULL;
    const bench_network *network = bench_network_find("FCN-S");
    const char *folder = ".";
    bool json = false;
    if (argc == 1 && strcmp(argv[0], "--help") == 0)
        return puts("usage: weft bench checkpoint [OPTION]...\nMeasures saving a checkpoint of a training "
                    "with momentum, compared with writing as many bytes.\n  --folder DIR    folder for the "
                    "files; default the current folder\n  --network NAME  network of 'weft bench seven'; "
                    "default FCN-S\n  --device SEL    device; see weft --help\n  --json          prints one "
                    "JSON object per line") < 0;
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--folder") == 0 && i + 1 < argc)
            folder = argv[++i];
        else if (strcmp(argv[i], "--network") == 0 && i + 1 < argc)
            network = bench_network_find(argv[++i]);
        else if (!bench_take_option(argc, argv, &i, &json, &options))
            return fprintf(stderr,
                       "weft: '%s' is not an option of bench checkpoint; see weft bench checkpoint --help\n",
                       argv[i]),
                   2;
    }
    if (!network) return fprintf(stderr, "weft: --network must be a network of 'weft bench seven'\n"), 2;
    measurement *const m = calloc(1, sizeof *m);
    if (!m) return 1;
    snprintf(m->path, sizeof m->path, "%s/weft_bench.checkpoint", folder);
    snprintf(m->plain, sizeof m->plain, "%s/weft_bench.plain", folder);
    weft_status status = weft_context_create(&context, &options);
    if (status == WEFT_OK) status = run(m, context, network);
    if (status == WEFT_OK) show(m, json);
    if (status != WEFT_OK) fprintf(stderr, "weft: %s\n", weft_last_error());
    (void)wi_unlink(m->path), (void)wi_unlink(m->plain);
    wi_checkpoint_image_clear(&m->image);
    wi_saved_list_clear(&m->list);
    bench_model_clear(&m->model);
    weft_context_release(context);
    free(m);
    return status != WEFT_OK;
}
