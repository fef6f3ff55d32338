/* See image_network.h. */
#include "image_network.h"
#include "console.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool image_network_known(const char *program, const char *model) {
    size_t i = 0;
    while (weft_model_name(i) && strcmp(weft_model_name(i), model) != 0) i++;
    if (weft_model_name(i)) return true;
    fprintf(stderr, "%s: there is no model '%s'; the models are", program, model);
    for (i = 0; weft_model_name(i); i++) fprintf(stderr, "%s %s", i ? "," : "", weft_model_name(i));
    fprintf(stderr, "\n");
    return false;
}

static bool is_one_of(const char *name, const char *const *names) {
    while (*names && strcmp(*names, name) != 0) names++;
    return *names != NULL;
}

image_format image_format_of(const char *model) {
    const char *const small[] = {"lenet5", "alexnet_r", "resnet20", "resnet56", NULL};
    const char *const inceptions[] = {"googlenet", "inception_v3", NULL};
    if (is_one_of(model, small))
        return (image_format){32, {0.4914f, 0.4822f, 0.4465f}, {0.2470f, 0.2435f, 0.2616f}};
    if (is_one_of(model, inceptions)) {
        const int64_t side = strcmp(model, "googlenet") == 0 ? 224 : 299;
        return (image_format){side, {0.5f, 0.5f, 0.5f}, {0.5f, 0.5f, 0.5f}};
    }
    const int64_t side = strcmp(model, "alexnet_s") == 0 ? 227 : 224;
    return (image_format){side, {0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}};
}

/* The file's text with a NUL behind it; NULL, with errno: it cannot be read. */
static char *read_text(const char *path) {
    FILE *const file = console_open(path, "rb");
    if (!file) return NULL;
    size_t used = 0, capacity = 4096;
    char *text = malloc(capacity);
    while (text) {
        used += fread(text + used, 1, capacity - used - 1, file);
        if (used + 1 < capacity) break;
        char *const grown = realloc(text, capacity *= 2);
        if (!grown) free(text);
        text = grown;
    }
    const bool failed = ferror(file) != 0;
    if (text) text[used] = '\0';
    (void)fclose(file);
    if (!failed) return text;
    free(text);
    return NULL;
}

/* Cuts the text into its lines; empty ones at the end are none. */
static bool cut_lines(class_names *names) {
    size_t lines = 1;
    for (const char *c = names->text; *c; c++) lines += *c == '\n';
    names->names = calloc(lines + 1, sizeof *names->names);
    if (!names->names) return false;
    char *rest = names->text + (strncmp(names->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0); /* a byte order mark */
    for (size_t i = 0; i < lines; i++) {
        char *const end = rest + strcspn(rest, "\n");
        names->names[i] = rest;
        if (end > rest && end[-1] == '\r') end[-1] = '\0';
        rest = end + (*end == '\n');
        *end = '\0';
        if (*names->names[i]) names->count = i + 1;
    }
    names->names[names->count] = NULL;
    return true;
}

bool class_names_read(class_names *names, const char *program, const char *path) {
    *names = (class_names){.text = read_text(path)};
    if (!names->text || !cut_lines(names)) {
        fprintf(stderr, "%s: cannot read '%s': %s\n", program, path, strerror(errno));
    } else if (names->count == 0) {
        fprintf(stderr, "%s: '%s' is empty, expected the name of one class on each line\n", program, path);
    } else {
        return true;
    }
    class_names_release(names);
    return false;
}

void class_names_release(class_names *names) {
    free(names->text);
    free(names->names);
    *names = (class_names){0};
}

bool class_names_write(
    const weft_dataset *dataset, size_t column, size_t classes, const char *program, const char *path) {
    FILE *const file = console_open(path, "wb");
    bool good = file != NULL;
    for (size_t i = 0; good && i < classes; i++) {
        const char *const name = weft_dataset_category(dataset, column, (int32_t)i);
        good = (name ? fprintf(file, "%s\n", name) : fprintf(file, "%zu\n", i)) > 0;
    }
    if (file && fclose(file) != 0) good = false;
    if (!good) fprintf(stderr, "%s: cannot write '%s': %s\n", program, path, strerror(errno));
    return good;
}

bool class_names_path(char *path, size_t capacity, const char *program, const char *weights) {
    const char *const slash = strrchr(weights, '/'), *const name = slash ? slash + 1 : weights;
    const char *const dot = strrchr(name, '.');
    const size_t length = dot && dot > name ? (size_t)(dot - weights) : strlen(weights);
    const int written = snprintf(path, capacity, "%.*s.names", (int)length, weights);
    if (written > 0 && (size_t)written < capacity) return true;
    fprintf(stderr, "%s: the path '%s' is too long\n", program, weights);
    return false;
}
