/* The weft command: what devices there are, whether they compute right, how fast they are. */
#include "advise.h"
#include "bench_attention.h"
#include "bench_checkpoint.h"
#include "bench_conv.h"
#include "bench_curve.h"
#include "bench_gemm.h"
#include "bench_gpt.h"
#include "bench_images.h"
#include "bench_lstm.h"
#include "bench_map.h"
#include "bench_rows.h"
#include "bench_scale.h"
#include "bench_seven.h"
#include "cache_command.h"
#include "check.h"
#include "check_random.h"
#include "console.h"
#include "device_formats.h"
#include "in_child.h"
#include "onnx_command.h"
#include "pack.h"
#include "tune.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

static const char usage[] =
    "usage: weft COMMAND [ARGUMENT]...\n"
    "Tests, tunes and measures Weft on the OpenCL devices of this machine.\n"
    "\n"
    "  devices             lists the devices\n"
    "  check               tests that a device computes every op, or programs drawn at random\n"
    "  tune                measures which kernels are the fastest on a device and saves the choices\n"
    "  advise              measures training steps on every device, and estimates their time on others\n"
    "  onnx info|run|check|train\n"
    "                      shows, runs, checks or trains the network of an ONNX file\n"
    "  cache export|import writes or reads compiled kernels as a file, to ship with a program\n"
    "  pack                writes images, tables or arrays as a file of records for training\n"
    "  bench seven         measures training steps of whole networks\n"
    "  bench gemm|conv|attention|lstm\n"
    "                      measures products, convolutions, attention or an LSTM layer\n"
    "  bench map|reduce    measures elementwise ops or reductions, compared with a copy\n"
    "  bench gpt|rows      measures a GPT, or sparse updates of embedding tables\n"
    "  bench curve         trains a network on given batches and prints the loss of each step\n"
    "  bench images|checkpoint|scale\n"
    "                      measures loading images, saving checkpoints, or several processes\n"
    "  --version           prints the version\n"
    "\n"
    "weft COMMAND --help explains the options of a command. Where they take a device SEL, it is gpu,\n"
    "cpu, part of a name, or platform:device as 'weft devices' prints it; without it WEFT_DEVICE or\n"
    "the best device is used.\n";

static const char check_usage[] =
    "usage: weft check [OPTION]...\n"
    "Computes every op on a device and compares the results with recorded ones and with float64.\n"
    "  --device SEL      device; see weft --help\n"
    "  --precision NAME  f32, bf16, f16, f64 or all; default f32\n"
    "  --only OP         tests one op, by its name or a public function: conv, conv2d, weft_conv2d\n"
    "  --all             tests all recorded cases of an op; default one case\n"
    "  --forget          tests kernels again that failed to compile or failed their self-test\n"
    "  --report FILE     writes the results and the devices to a file, for a bug report\n"
    "\n"
    "usage: weft check --random SECONDS [OPTION]...\n"
    "Computes random programs of ops on a device and compares the results with float64.\n"
    "  --device SEL      device; see weft --help\n"
    "  --precision NAME  f32, bf16, f16, mixed (bf16) or mixed_f16; default f32\n"
    "  --engine NAME     emulates this matrix engine (as WEFT_MATRIX_ENGINES), or all in turn\n"
    "  --only OP         tests only programs with this op\n"
    "  --seed N          seed of the programs; default today, in days since 1970\n"
    "  --first N         number of the first program; default 0\n"
    "  --count N         number of programs; default as many as the seconds allow\n"
    "  --show            prints the programs as C, with their numbers\n"
    "  --stop            stops at the first program that fails\n"
    "  --progress        prints the number of each program before it is computed\n";

static int fail(void) {
    fprintf(stderr, "weft: %s\n", weft_last_error());
    return 1;
}

static int bad_usage(const char *what) {
    fprintf(stderr, "weft: %s; see weft --help\n", what);
    return 2;
}

static const char *kind(const weft_device_info *info) {
    return info->is_gpu ? "GPU" : info->is_cpu ? "CPU" : "accelerator";
}

static void show_device(const weft_device_info *info) {
    printf("%s  %s\n", info->selector, info->name);
    printf("     %s, %s, %s, driver %s\n", kind(info), info->platform, info->opencl, info->driver);
    printf("     %u compute units at %u MHz, %llu MiB, largest block %llu MiB, local memory %llu KiB\n",
        info->compute_units, info->clock_mhz, (unsigned long long)(info->global_memory >> 20),
        (unsigned long long)(info->largest_allocation >> 20), (unsigned long long)(info->local_memory >> 10));
    printf("     kernels of class %s\n", info->device_class == WEFT_CLASS_GPU ? "gpu" : "cpu");
}

/* What is known without opening it is shown before that. */
static weft_status describe_device(size_t index) {
    weft_device_info info;
    const weft_status status = weft_device_get(index, &info);
    if (status != WEFT_OK) return status;
    show_device(&info);
    fflush(stdout);
    return device_formats_show(&info);
}

/* In a child: from the device of this number on. One that cannot be described does not hide the others. */
static int list_devices(const void *first) {
    char number[32];
    size_t count = 0;
    int failed = 0;
    if (weft_device_count(&count) != WEFT_OK) return fail();
    if (count == 0) {
        fprintf(stderr, "weft: there is no OpenCL device on this machine: install an OpenCL driver, such as "
                        "the package pocl-opencl-icd, which runs on any CPU\n");
        return 1;
    }
    for (size_t i = *(const size_t *)first; i < count; i++) {
        snprintf(number, sizeof number, "%zu", i);
        in_child_say(number);
        if (describe_device(i) != WEFT_OK) failed = fail();
    }
    return failed;
}

/* Nor does one whose driver ends the process. */
static int devices(void) {
    in_child_end end;
    size_t first = 0;
    int failed = 0;
    for (;;) {
        in_child(&end, list_devices, &first);
        if (end.signal == 0) return failed ? failed : end.status;
        failed = 1;
        fprintf(stderr, "weft: the driver ended the process with signal %d\n", end.signal);
        if (!end.said[0]) return failed;
        first = strtoul(end.said, NULL, 10) + 1;
    }
}

static int bad_check_argument(const char *argument) {
    static const char *const with_value[] = {"--device", "--precision", "--only", "--report"};
    for (size_t i = 0; i < sizeof with_value / sizeof *with_value; i++) {
        if (strcmp(argument, with_value[i]) != 0) continue;
        fprintf(stderr, "weft: %s needs a value; see weft check --help\n", argument);
        return 2;
    }
    fprintf(stderr, "weft: check has no option '%s'; see weft check --help\n", argument);
    return 2;
}

static int check(int argc, char **argv) {
    weft_check_options asked = {.formats = CHECK_F32};
    bool forget = false;
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--random") == 0) return weft_check_random(argc, argv);
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--all") == 0)
            asked.all = true;
        else if (strcmp(argv[i], "--forget") == 0)
            forget = true;
        else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc)
            asked.device = argv[++i];
        else if (strcmp(argv[i], "--report") == 0 && i + 1 < argc)
            asked.report = argv[++i];
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            asked.only = argv[++i];
        else if (strcmp(argv[i], "--precision") != 0 || i + 1 == argc)
            return bad_check_argument(argv[i]);
        else if (!weft_check_read_precision(&asked.formats, argv[++i]))
            return bad_usage("--precision of check must be f32, bf16, f16, f64 or all");
    }
    if (forget && weft_check_forget() != WEFT_OK) return fail();
    return weft_check(&asked);
}

static int bench(int argc, char **argv) {
    const char *const what = argc > 0 ? argv[0] : "";
    if (strcmp(what, "seven") == 0) return weft_bench_seven(argc - 1, argv + 1);
    if (strcmp(what, "curve") == 0) return weft_bench_curve(argc - 1, argv + 1);
    if (strcmp(what, "gemm") == 0) return weft_bench_gemm(argc - 1, argv + 1);
    if (strcmp(what, "conv") == 0) return weft_bench_conv(argc - 1, argv + 1);
    if (strcmp(what, "map") == 0) return weft_bench_map(argc - 1, argv + 1);
    if (strcmp(what, "reduce") == 0) return weft_bench_reduce(argc - 1, argv + 1);
    if (strcmp(what, "attention") == 0) return weft_bench_attention(argc - 1, argv + 1);
    if (strcmp(what, "gpt") == 0) return weft_bench_gpt(argc - 1, argv + 1);
    if (strcmp(what, "rows") == 0) return weft_bench_rows(argc - 1, argv + 1);
    if (strcmp(what, "images") == 0) return weft_bench_images(argc - 1, argv + 1);
    if (strcmp(what, "lstm") == 0) return weft_bench_lstm(argc - 1, argv + 1);
    if (strcmp(what, "checkpoint") == 0) return weft_bench_checkpoint(argc - 1, argv + 1);
    if (strcmp(what, "scale") == 0) return weft_bench_scale(argc - 1, argv + 1);
    return bad_usage("the benchmarks are: weft bench seven, gemm, conv, map, reduce, attention, gpt, images, "
                     "lstm, rows, curve, checkpoint, scale");
}

/* Each benchmark, and these commands, have helps of their own. */
static bool wants_help(int argc, char **argv) {
    const char *const command = argc > 1 ? argv[1] : "";
    static const char *const own[] = {"advise", "cache", "onnx", "pack", "tune"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(command, own[i]) == 0) return false;
    const int first = strcmp(command, "bench") == 0 ? 2 : 1, last = first == 2 ? 3 : argc;
    for (int i = first; i < argc && i < last; i++)
        if (strcmp(argv[i], "--help") == 0) return true;
    return false;
}

static int run(int argc, char **argv) {
    const char *const command = argc > 1 ? argv[1] : "--help";
    if (wants_help(argc, argv)) return fputs(strcmp(command, "check") == 0 ? check_usage : usage, stdout) < 0;
    if (strcmp(command, "devices") == 0)
        return argc == 2 ? devices() : bad_usage("devices takes no arguments");
    if (strcmp(command, "check") == 0) return check(argc - 2, argv + 2);
    if (strcmp(command, "tune") == 0) return weft_tune(argc - 2, argv + 2);
    if (strcmp(command, "pack") == 0) return weft_pack(argc - 2, argv + 2);
    if (strcmp(command, "cache") == 0) return weft_cache(argc - 2, argv + 2);
    if (strcmp(command, "bench") == 0) return bench(argc - 2, argv + 2);
    if (strcmp(command, "advise") == 0) return weft_advise(argc - 2, argv + 2);
    if (strcmp(command, "onnx") == 0) return weft_onnx(argc - 2, argv + 2);
    if (strcmp(command, "--version") == 0) return printf("weft %s\n", weft_version()) < 0;
    if (strcmp(command, "--help") != 0) {
        fprintf(stderr, "weft: '%s' is not a command; see weft --help\n", command);
        return 2;
    }
    fputs(usage, argc > 1 ? stdout : stderr);
    return argc > 1 ? 0 : 2;
}

int main(int argc, char **argv) {
    console_begin();
    setvbuf(stdout, NULL, _IOLBF, 0);
    return in_child_written(run(argc, argv));
}
