/* See onnx_command.h. */
#include "onnx_command.h"
#include <stdio.h>
#include <string.h>

#ifdef WEFT_WITH_ONNX

static const char usage[] =
    "usage: weft onnx COMMAND FILE [OPTION]...\n"
    "Shows, runs, checks and trains networks of ONNX files.\n"
    "  info FILE     prints inputs, outputs, weights and operators, and what is not supported\n"
    "  run FILE      computes the outputs from arrays of NumPy\n"
    "  check FILE    compares the outputs of Weft's usual kernels with those of portable ones\n"
    "  train FILE    trains the network on arrays of NumPy and saves it\n"
    "weft onnx COMMAND --help explains the options.\n";

#define SHARED_OPTIONS                                                                                       \
    "  --size NAME=N          size of an open dimension: its name, or an input and an axis, as x:2\n"        \
    "  --value NAME=N[,N]...  numbers of an input, such as a shape or a sampling rate\n"                     \
    "  --device SEL           device; see weft --help\n"

static const struct onnx_command {
    const char *name;
    unsigned bit;
    weft_status (*run)(const onnx_options *options);
    const char *help;
} commands[] = {
    {"info", ONNX_INFO, onnx_info,
        "usage: weft onnx info FILE [OPTION]...\n"
        "Prints inputs, outputs, weights and operators of an ONNX file, and what is not supported.\n"
        "  --input NAME=FILE.npy  array of an input whose values decide a shape\n" SHARED_OPTIONS},
    {"run", ONNX_RUN, onnx_run,
        "usage: weft onnx run FILE --input NAME=FILE.npy... [OPTION]...\n"
        "Computes the outputs of an ONNX file and prints their shapes, least, mean and largest numbers.\n"
        "Sizes that the file leaves open are those of the arrays.\n"
        "  --input NAME=FILE.npy  array of an input\n"
        "  --random               draws the numbers of inputs that have no array\n"
        "  --open                 loads the file for any batch and length, and plans for those of the "
        "arrays\n"
        "  --output DIR           writes each output to DIR/NAME.npy\n"
        "  --repeat N             runs N times more and prints the time of a run\n" SHARED_OPTIONS},
    {"check", ONNX_CHECK, onnx_check,
        "usage: weft onnx check FILE [OPTION]...\n"
        "Computes the outputs of an ONNX file with random inputs, by the kernels that Weft chooses for the\n"
        "device and by the portable ones, and fails if the outputs differ by more than rounding.\n"
        "  --input NAME=FILE.npy  array of an input, in place of random numbers\n" SHARED_OPTIONS},
    {"train", ONNX_TRAIN, onnx_train,
        "usage: weft onnx train FILE --input NAME=FILE.npy... --target OUTPUT=FILE.npy [OPTION]...\n"
        "Trains the weights of an ONNX file. The first axis of each array counts the examples.\n"
        "  --input NAME=FILE.npy  array of an input\n"
        "  --target OUTPUT=FILE.npy\n"
        "                         what a value of the file should be: classes, or numbers\n"
        "  --loss NAME            cross_entropy (of logits and classes) or mse; default cross_entropy\n"
        "  --epochs N             passes over the examples; default 1\n"
        "  --batch N              examples per step; default that of the file, or 32\n"
        "  --optimizer NAME       adam, adamw or sgd (with momentum 0.9); default adam\n"
        "  --rate R               learning rate; default 0.001\n"
        "  --freeze NAMES         weights of these names stay; a star matches any characters\n"
        "  --output FILE.onnx     writes the trained network\n"
        "  --weights FILE.safetensors\n"
        "                         writes the trained weights\n"
        "  --events DIR           writes event files for TensorBoard to this folder\n"
        "  --html FILE            writes a page that shows the training\n" SHARED_OPTIONS},
};

static int run_command(const struct onnx_command *command, int argc, char **argv) {
    onnx_options options;
    int status = 2;
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0) return fputs(command->help, stdout) < 0;
    if (onnx_options_read(&options, command->bit, argc, argv)) status = command->run(&options) != WEFT_OK;
    if (status == 1) fprintf(stderr, "weft: %s\n", weft_last_error());
    onnx_options_clear(&options);
    return status;
}

int weft_onnx(int argc, char **argv) {
    const char *const name = argc > 0 ? argv[0] : "";
    if (strcmp(name, "--help") == 0) return fputs(usage, stdout) < 0;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(name, commands[i].name) == 0) return run_command(&commands[i], argc - 1, argv + 1);
    fprintf(stderr, "weft: the commands are: weft onnx info, run, check, train%s%s; see weft onnx --help\n",
        name[0] ? ", not " : "", name);
    return 2;
}

#else

int weft_onnx(int argc, char **argv) {
    (void)argc;
    (void)argv;
    fputs("weft: this weft was built without ONNX, which needs protobuf-c\n", stderr);
    return 1;
}

#endif
