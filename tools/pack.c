/* See pack.h. Each kind of source is a row of a table, with the function that opens it as a dataset. */
#include "pack.h"
#include "show_warning.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

enum { MOST_SOURCES = 64 };

static const char usage[] =
    "usage: weft pack [OPTION]... KIND SOURCE... FILE\n"
    "Writes the examples of a source one after the other, each with a checksum, as a file of records, which\n"
    "weft_dataset_open_records reads. KIND and SOURCE are:\n"
    "  images FOLDER           folder with a subfolder of PNG and JPEG files for each class\n"
    "  cifar10 FOLDER          folder with the binary files of CIFAR-10\n"
    "  cifar100 FOLDER         folder with the binary files of CIFAR-100\n"
    "  idx IMAGES LABELS       IDX files, as those of MNIST\n"
    "  csv TABLE               CSV table; each of its columns is one of the records\n"
    "  npy NAME[:DTYPE]=ARRAY...\n"
    "                          NumPy files, one for each column; DTYPE is f32 (default), i32 or u8\n"
    "\n"
    "  --size N          images: resizes the shorter side to N pixels, and takes the square in the centre;\n"
    "                    needed unless all images have the same size\n"
    "  --skip-unreadable images: leaves out files that cannot be decoded\n"
    "  --test            cifar10, cifar100: the test images instead of the training images\n"
    "  --separator C     csv: the character between cells; default a comma\n"
    "  --no-header       csv: the first row has data, not names\n";

typedef struct pack {
    weft_context *context;
    const char *kind, *sources[MOST_SOURCES], *file;
    size_t source_count;
    long size; /* 0: as it is */
    char separator;
    bool skip, test, no_header;
} pack;

static weft_status open_images(weft_dataset **dataset, const pack *p) {
    const weft_transform square[] = {
        weft_transform_resize_shorter(p->size), weft_transform_centre_crop(p->size, p->size)};
    const weft_image_options options = {WEFT_IMAGE_OPTIONS_INIT, .transforms = square,
        .transform_count = p->size ? 2 : 0, .bytes = true, .skip_unreadable = p->skip};
    return weft_dataset_open_image_folder(dataset, p->context, p->sources[0], &options);
}

static weft_status open_cifar(weft_dataset **dataset, const pack *p) {
    const weft_image_options options = {WEFT_IMAGE_OPTIONS_INIT, .bytes = true};
    const bool fine = strcmp(p->kind, "cifar100") == 0;
    const weft_cifar which = fine ? (p->test ? WEFT_CIFAR_100_TEST : WEFT_CIFAR_100_TRAIN)
                                  : (p->test ? WEFT_CIFAR_10_TEST : WEFT_CIFAR_10_TRAIN);
    return weft_dataset_open_cifar(dataset, p->context, p->sources[0], which, &options);
}

static weft_status open_idx(weft_dataset **dataset, const pack *p) {
    return weft_dataset_open_idx_files(dataset, p->context, p->sources[0], p->sources[1]);
}

static weft_status open_csv(weft_dataset **dataset, const pack *p) {
    const weft_csv_options options = {
        WEFT_CSV_OPTIONS_INIT, .separator = p->separator, .no_header = p->no_header};
    return weft_dataset_open_csv(dataset, p->context, p->sources[0], &options);
}

/* Cuts NAME[:DTYPE]=ARRAY into its parts, in place. */
static bool read_column(char *text, weft_npy_column *column) {
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_I32, WEFT_U8};
    char *const equal = strchr(text, '=');
    if (!equal || equal == text || !equal[1]) return false;
    *equal = '\0';
    *column = (weft_npy_column){.name = text, .path = equal + 1, .dtype = WEFT_F32};
    char *const colon = strrchr(text, ':');
    if (!colon) return true;
    *colon = '\0';
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (strcmp(weft_dtype_name(dtypes[i]), colon + 1) != 0) continue;
        column->dtype = dtypes[i];
        return colon > text;
    }
    return false;
}

static weft_status open_npy(weft_dataset **dataset, const pack *p) {
    weft_npy_column columns[MOST_SOURCES];
    for (size_t i = 0; i < p->source_count; i++)
        (void)read_column((char *)(uintptr_t)p->sources[i], &columns[i]); /* argv may be changed */
    return weft_dataset_open_npy(dataset, p->context, columns, p->source_count);
}

static const struct kind {
    const char *name;
    weft_status (*open)(weft_dataset **dataset, const pack *p);
    size_t least, most; /* sources */
} kinds[] = {{"images", open_images, 1, 1}, {"cifar10", open_cifar, 1, 1}, {"cifar100", open_cifar, 1, 1},
    {"idx", open_idx, 2, 2}, {"csv", open_csv, 1, 1}, {"npy", open_npy, 1, MOST_SOURCES}};

static weft_status run(pack *p, const struct kind *kind) {
    const weft_context_options options = {TOOL_CONTEXT_OPTIONS_INIT};
    weft_dataset *dataset = NULL;
    weft_status status = weft_output_check(p->file);
    if (status == WEFT_OK) status = weft_context_create(&p->context, &options);
    if (status == WEFT_OK) status = kind->open(&dataset, p);
    if (status == WEFT_OK) status = weft_dataset_save_records(dataset, p->file);
    if (status == WEFT_OK) printf("%zu records in %s\n", weft_dataset_size(dataset), p->file);
    if (weft_dataset_skipped(dataset)) printf("%zu files were left out\n", weft_dataset_skipped(dataset));
    weft_dataset_release(dataset);
    return status;
}

static int bad_usage(const char *what, const char *word) {
    fprintf(stderr, "weft: pack: %s%s%s%s; see weft pack --help\n", what, word ? " '" : "", word ? word : "",
        word ? "'" : "");
    return 2;
}

/* The value of an option that needs one; NULL: there is none. */
static const char *value_of(int *i, int argc, char **argv) {
    return *i + 1 < argc ? argv[++*i] : NULL;
}

static bool take_size(pack *p, const char *value) {
    char *end = NULL;
    p->size = value ? strtol(value, &end, 10) : 0;
    return p->size > 0 && p->size <= 65536 && !*end;
}

/* Reads the words; 0: they are right. */
static int read_words(pack *p, int argc, char **argv) {
    const char *words[MOST_SOURCES + 2];
    size_t count = 0;
    for (int i = 0; i < argc; i++) {
        const char *const word = argv[i];
        if (strcmp(word, "--skip-unreadable") == 0)
            p->skip = true;
        else if (strcmp(word, "--test") == 0)
            p->test = true;
        else if (strcmp(word, "--no-header") == 0)
            p->no_header = true;
        else if (strcmp(word, "--size") == 0) {
            if (!take_size(p, value_of(&i, argc, argv))) return bad_usage("--size must be 1 to 65536", NULL);
        } else if (strcmp(word, "--separator") == 0) {
            const char *const value = value_of(&i, argc, argv);
            if (!value || strlen(value) != 1) return bad_usage("--separator must be one character", NULL);
            p->separator = *value;
        } else if (strncmp(word, "--", 2) == 0)
            return bad_usage("there is no option", word);
        else if (count == sizeof words / sizeof *words)
            return bad_usage("there are too many sources", NULL);
        else
            words[count++] = word;
    }
    if (count < 2) return bad_usage("KIND, SOURCE or FILE is missing", NULL);
    p->kind = words[0];
    p->file = words[count - 1];
    p->source_count = count - 2;
    memcpy((void *)p->sources, words + 1, p->source_count * sizeof *words);
    return 0;
}

static int check_columns(const pack *p) {
    for (size_t i = 0; i < p->source_count; i++) {
        char text[4096];
        weft_npy_column column;
        snprintf(text, sizeof text, "%s", p->sources[i]);
        if (!read_column(text, &column)) return bad_usage("not NAME[:f32|i32|u8]=ARRAY:", p->sources[i]);
    }
    return 0;
}

int weft_pack(int argc, char **argv) {
    pack p = {0};
    if (argc == 1 && strcmp(argv[0], "--help") == 0) return fputs(usage, stdout) < 0;
    const int wrong = read_words(&p, argc, argv);
    if (wrong) return wrong;
    size_t k = 0;
    while (k < sizeof kinds / sizeof *kinds && strcmp(kinds[k].name, p.kind) != 0) k++;
    if (k == sizeof kinds / sizeof *kinds)
        return bad_usage("KIND must be images, cifar10, cifar100, idx, csv or npy, not", p.kind);
    if (p.source_count < kinds[k].least || p.source_count > kinds[k].most)
        return bad_usage("the number of sources is wrong for", p.kind);
    if (kinds[k].open == open_npy && check_columns(&p)) return 2;
    const weft_status status = run(&p, &kinds[k]);
    if (status != WEFT_OK) fprintf(stderr, "weft: %s\n", weft_last_error());
    weft_context_release(p.context);
    return status != WEFT_OK;
}
