/* See bench_scale.h. A process that a launcher has started measures in its job; another one starts jobs, and reads what their rank 0 prints. */
#include "bench_scale.h"
#include "base/platform.h"
#include "bench_measure.h"
#include "console.h"
#include "in_child.h"
#include "scale_measure.h"
#include "scale_table.h"
#include "show_warning.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NETWORKS = 16, MOST_RANKS = 1024, LONGEST_LINE = 4096, USUAL_RANKS = 2 };

typedef struct scale_options {
    const bench_network *networks[MOST_NETWORKS];
    size_t count;
    int64_t ranks, batch, shards, steps; /* ranks 0: not given; batch 0: that of each network */
    bool json;
    const char *device;
} scale_options;

static const char help[] =
    "usage: weft bench scale [OPTION]... [NETWORK]...\n"
    "       mpirun -n N weft bench scale [OPTION]... [NETWORK]...\n"
    "Measures training steps on 1, 2, 4, ... processes (ranks) of this machine, or in the job of a\n"
    "launcher, and how much of them is the exchange of gradients; estimates both for larger clusters\n"
    "from the measured latency and bandwidth between the ranks.\n"
    "  NETWORK         a network of 'weft bench seven'; default digits-CNN LSTM ResNet-56 VGG-16\n"
    "  --ranks N       without a launcher: measures up to N ranks; default 2\n"
    "  --batch N       examples of a rank; default the batch size of the network\n"
    "  --shards N      gradient shards of a rank; default 1\n"
    "  --steps N       measured steps; default 5\n"
    "  --device SEL    device; see weft --help\n"
    "  --json          prints one JSON object per line\n"
    "hidden: the exchange takes place while the rank computes; exposed: the rank waits for it.\n";

/* All ranks compile the same kernels: none says so. */
static weft_status create_context(weft_context **context, const scale_options *options) {
    const weft_context_options wanted = {
        WEFT_CONTEXT_OPTIONS_INIT, .log = show_warning, .device = options->device};
    return weft_context_create(context, &wanted);
}

static void print_table(const scale_options *options, const scale_table *table) {
    if (options->json)
        scale_table_print_json(table);
    else
        scale_table_print(table);
    fflush(stdout);
}

/* ---- in a job ---- */

static weft_status measure_network(const scale_options *options, weft_context *context, weft_distributed *job,
    const bench_network *network) {
    const scale_wanted wanted = {network, options->batch ? options->batch : network->batch,
        (size_t)options->shards, (size_t)options->steps};
    scale_table table = {.batch = wanted.batch, .count = 1, .runs[0].crowding = 1};
    snprintf(table.network, sizeof table.network, "%s", network->name);
    WI_TRY(scale_measure_step(&table.runs[0].step, context, job, &wanted));
    WI_TRY(scale_measure_link(&table.runs[0].step.link, job));
    if (weft_distributed_rank(job) == 0) print_table(options, &table);
    return WEFT_OK;
}

static weft_status measure_in_job(const scale_options *options, bool in_job) {
    weft_context *context = NULL;
    weft_distributed *job = NULL;
    weft_status status = create_context(&context, options);
    if (status == WEFT_OK && in_job) status = weft_distributed_open(&job, context, NULL);
    for (size_t i = 0; i < options->count && status == WEFT_OK; i++)
        status = measure_network(options, context, job, options->networks[i]);
    weft_distributed_release(job);
    weft_context_release(context);
    return status;
}

/* ---- starting jobs ---- */

static void set_default(const char *name, const char *value) {
    if (!wi_environment(name)) console_set_variable(name, value);
}

/* Gives each rank an equal share of a processor's cores, and lets Open MPI start more ranks than there are cores. *cores: of the device, which
 * all ranks use; 1 if it is not a processor. *threads: of a rank. */
static weft_status share_cores(const scale_options *options, double *cores, double *threads) {
    weft_context *context;
    char number[24];
    WI_TRY(create_context(&context, options));
    const weft_device_info *const device = weft_context_device(context);
    const int64_t all = device->is_cpu ? (int64_t)device->compute_units : 1;
    const int64_t share = all / options->ranks > 1 ? all / options->ranks : 1;
    *cores = (double)all;
    *threads = (double)share;
    if (options->device) console_set_variable("WEFT_DEVICE", options->device);
    snprintf(number, sizeof number, "%lld", (long long)share);
    if (device->is_cpu) {
        set_default("POCL_MAX_PTHREAD_COUNT", number);
        set_default("POCL_CPU_MAX_CU_COUNT", number);
    }
    set_default("OMPI_MCA_rmaps_base_oversubscribe", "1");
    set_default("OMPI_MCA_hwloc_base_binding_policy", "none");
    weft_context_release(context);
    return WEFT_OK;
}

/* The shell's parent is this process. */
static void command_for(char command[LONGEST_LINE], const scale_options *options, size_t ranks) {
    int length = snprintf(command, LONGEST_LINE,
        "mpirun -n %zu \"$(readlink /proc/$PPID/exe)\" bench scale --json --steps %lld --shards %lld", ranks,
        (long long)options->steps, (long long)options->shards);
    if (options->batch)
        length += snprintf(
            command + length, (size_t)(LONGEST_LINE - length), " --batch %lld", (long long)options->batch);
    for (size_t i = 0; i < options->count; i++)
        length +=
            snprintf(command + length, (size_t)(LONGEST_LINE - length), " %s", options->networks[i]->name);
}

/* Rank 0 prints the networks in the order in which they are named. */
static weft_status run_job(scale_table *tables, const scale_options *options, size_t ranks, double crowding) {
    char command[LONGEST_LINE], line[LONGEST_LINE];
    in_child_program program = {0};
    in_child_end end;
    size_t read = 0;
    command_for(command, options, ranks);
    if (!in_child_shell(&program, command)) WI_FAIL(WEFT_ERROR_FILE, "cannot start a shell for mpirun");
    while (fgets(line, sizeof line, program.output)) {
        if (read == options->count || !scale_table_read(&tables[read], line)) continue;
        tables[read].runs[tables[read].count - 1].crowding = crowding;
        read++;
    }
    in_child_wait(&end, &program);
    if (end.status == 0 && end.signal == 0 && read == options->count) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_STATE,
        "'mpirun -n %zu' ended with status %d: install an implementation of MPI (openmpi-bin), or start "
        "weft bench scale by the launcher of your cluster",
        ranks, end.status);
}

static weft_status start_jobs(const scale_options *options) {
    scale_table tables[MOST_NETWORKS] = {0};
    double cores, threads;
    WI_TRY(share_cores(options, &cores, &threads));
    for (size_t ranks = 1;; ranks *= 2) {
        if (ranks > (size_t)options->ranks) ranks = (size_t)options->ranks;
        const double crowding = (double)ranks * threads / cores;
        WI_TRY(run_job(tables, options, ranks, crowding > 1 ? crowding : 1));
        if (ranks == (size_t)options->ranks) break;
    }
    for (size_t i = 0; i < options->count; i++) print_table(options, &tables[i]);
    return WEFT_OK;
}

/* ---- options ---- */

static bool refuse(const char *format, const char *first, const char *second) {
    fprintf(stderr, format, first, second);
    return false;
}

static bool read_whole(int64_t *number, const char *text, int64_t most) {
    char *end;
    *number = strtoll(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && *number >= 1 && *number <= most;
}

static bool take_network(scale_options *options, const char *name) {
    const bench_network *const network = bench_network_find(name);
    if (!network || options->count == MOST_NETWORKS)
        return refuse("weft: %s is not a network%s; see weft bench scale --help\n", name, "");
    options->networks[options->count++] = network;
    return true;
}

static bool take_number(scale_options *options, const char *name, const char *value) {
    const struct {
        const char *name;
        int64_t *number, most;
    } rows[] = {{"--ranks", &options->ranks, MOST_RANKS}, {"--batch", &options->batch, 1 << 20},
        {"--shards", &options->shards, 64}, {"--steps", &options->steps, 10000}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) != 0) continue;
        if (!value) return refuse("weft: %s needs a value%s; see weft bench scale --help\n", name, "");
        return read_whole(rows[i].number, value, rows[i].most) ||
               refuse("weft: %s cannot be '%s'; see weft bench scale --help\n", name, value);
    }
    return refuse("weft: %s is not an option%s; see weft bench scale --help\n", name, "");
}

static bool parse(scale_options *options, int argc, char **argv) {
    static const char *const usual[] = {"digits-CNN", "LSTM", "ResNet-56", "VGG-16"};
    weft_context_options given = {TOOL_CONTEXT_OPTIONS_INIT};
    for (int i = 0; i < argc; i++) {
        if (bench_take_option(argc, argv, &i, &options->json, &given)) continue;
        if (argv[i][0] != '-') {
            if (!take_network(options, argv[i])) return false;
        } else if (!take_number(options, argv[i], i + 1 < argc ? argv[i + 1] : NULL)) {
            return false;
        } else {
            i++;
        }
    }
    options->device = given.device;
    if (options->count > 0) return true;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (!take_network(options, usual[i])) return false;
    return true;
}

int weft_bench_scale(int argc, char **argv) {
    scale_options options = {.shards = 1, .steps = 5};
    if (argc == 1 && strcmp(argv[0], "--help") == 0) return fputs(help, stdout) < 0;
    if (!parse(&options, argc, argv)) return 2;
    const bool launched = bench_has_launcher();
    if (launched && options.ranks)
        return refuse("weft: --ranks is for weft bench scale without a launcher%s%s\n", "", ""), 2;
    if (!options.ranks) options.ranks = USUAL_RANKS;
    const bool is_alone = options.ranks == 1;
    const weft_status status =
        launched || is_alone ? measure_in_job(&options, launched) : start_jobs(&options);
    if (status != WEFT_OK) fprintf(stderr, "weft: %s\n", weft_last_error());
    return status != WEFT_OK;
}
