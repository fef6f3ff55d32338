/* weft/text.h: text and series of numbers as datasets: vocabularies, sequences of tokens for truncated
 * backpropagation through time, sliding windows of a series, and state that is carried from step to step. */
#ifndef WEFT_TEXT_H
#define WEFT_TEXT_H

#include <weft/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- vocabularies: the number of each token ----
 * Tokens are numbered from 0 by falling frequency; equally frequent ones are in the order of their bytes. A
 * vocabulary never changes, so any number of threads may read it. */
typedef struct weft_vocabulary weft_vocabulary;

typedef enum weft_text_level {
    WEFT_TEXT_CHARACTERS, /* each UTF-8 character, and each byte that is not part of one */
    WEFT_TEXT_WORDS       /* separated by blanks; each line ends with the word "<eos>"; the text must be
                             UTF-8 */
} weft_text_level;

typedef struct weft_vocabulary_options {
    size_t struct_size;
    weft_text_level level; /* default characters */
    size_t minimum_count;  /* rarer tokens are left out; default 1 */
    size_t maximum_size;   /* keeps the most frequent tokens and the unknown one; 0 (the default): no limit */
    bool unknown; /* adds a token for unknown ones: "<unk>" for words, U+FFFD for characters; default: only if
                     the text contains it or tokens are left out */
} weft_vocabulary_options;
#define WEFT_VOCABULARY_OPTIONS_INIT .struct_size = sizeof(weft_vocabulary_options)

/* The tokens of a text. With words, text that is not UTF-8 is an error that names byte and line. options NULL
 * means all defaults. Errors: WEFT_ERROR_FILE, WEFT_ERROR_FORMAT (an empty text, bytes that are not UTF-8),
 * WEFT_ERROR_ARGUMENT. */
WEFT_API weft_status weft_vocabulary_from_file(weft_vocabulary **vocabulary, weft_context *context,
    const char *path, const weft_vocabulary_options *options);
/* The same for `bytes` bytes in memory. */
WEFT_API weft_status weft_vocabulary_from_text(weft_vocabulary **vocabulary, weft_context *context,
    const char *text, size_t bytes, const weft_vocabulary_options *options);
/* Saves a JSON file, completely or not at all: {"weft_vocabulary": 1, "level": "characters" or "words",
 * "unknown": number or -1, "tokens": [...]}, in which a byte that is not UTF-8 is a number (as is a NUL
 * alone). */
WEFT_API weft_status weft_vocabulary_save(const weft_vocabulary *vocabulary, const char *path);
/* WEFT_ERROR_FORMAT names what is wrong in the file: another version, a token that occurs twice, or no
 * tokens. */
WEFT_API weft_status weft_vocabulary_load(
    weft_vocabulary **vocabulary, weft_context *context, const char *path);
WEFT_API weft_vocabulary *weft_vocabulary_retain(weft_vocabulary *vocabulary);
WEFT_API void weft_vocabulary_release(weft_vocabulary *vocabulary); /* NULL is allowed */
/* WEFT_OK if the table, (vocabulary, width) as in an embedding or an output layer, has one row per token.
 * Else WEFT_ERROR_SHAPE with both sizes: the vocabulary belongs to another model. */
WEFT_API weft_status weft_vocabulary_check(const weft_vocabulary *vocabulary, const weft_tensor *table);

WEFT_API size_t weft_vocabulary_size(const weft_vocabulary *vocabulary);           /* tokens; 0 for NULL */
WEFT_API weft_text_level weft_vocabulary_level(const weft_vocabulary *vocabulary); /* characters or words */
WEFT_API int32_t weft_vocabulary_unknown(
    const weft_vocabulary *vocabulary); /* of the unknown token; -1: none */
/* The token of a number, NUL-terminated (it may contain a NUL itself), borrowed; NULL if there is none. bytes
 * may be NULL. */
WEFT_API const char *weft_vocabulary_token(const weft_vocabulary *vocabulary, int32_t token, size_t *bytes);
/* The number of a token; -1 if there is none. */
WEFT_API int32_t weft_vocabulary_find(const weft_vocabulary *vocabulary, const char *token, size_t bytes);
/* Text to numbers: writes at most capacity of them and sets *count to the number of tokens (tokens may be
 * NULL with capacity 0 to get it). A token that is not in the vocabulary becomes the unknown token; without
 * one it is WEFT_ERROR_FORMAT with byte and line. A last line without a line break gets no "<eos>". */
WEFT_API weft_status weft_vocabulary_encode(const weft_vocabulary *vocabulary, const char *text, size_t bytes,
    int32_t *tokens, size_t capacity, size_t *count);
/* Numbers to text: words are separated by blanks, "<eos>" becomes a line break. As with snprintf, the text is
 * truncated to capacity with its NUL, and *length is the whole length without it. WEFT_ERROR_ARGUMENT: a
 * number out of range. */
WEFT_API weft_status weft_vocabulary_decode(const weft_vocabulary *vocabulary, const int32_t *tokens,
    size_t count, char *buffer, size_t capacity, size_t *length);

/* ---- text as a dataset for truncated backpropagation through time ----
 * The text is cut into `streams` streams of equal length, and each stream into sequences of `steps` tokens.
 * The tokens that remain at the end, fewer than streams · steps + 1, are not used. A batch of `streams`
 * examples in the order of the dataset (a loader without shuffle, a trainer with keep_order) has one sequence
 * of each stream, and the next batch has the sequences that follow. Columns of an example:
 *     "tokens"  i32 (steps)
 *     "next"    i32 (steps), for each token the one after it
 *     "carry"   f32 (), 0 in the first sequence of a stream, else 1
 * So a network whose inputs have the fixed shape (streams, steps) can start each sequence from the state at
 * the end of the one before (weft_carry_start), and from zeros at the beginning of each epoch. */
typedef struct weft_text_options {
    size_t struct_size;
    size_t streams; /* default 32 */
    size_t steps;   /* default 32 */
} weft_text_options;
#define WEFT_TEXT_OPTIONS_INIT .struct_size = sizeof(weft_text_options)

/* A file, encoded with the vocabulary. Errors: WEFT_ERROR_FILE; WEFT_ERROR_FORMAT (an empty file, not
 * UTF-8 at the level of words, a token that is not in the vocabulary, too short for one sequence of each
 * stream). The tokens of the vocabulary are the categories of the columns "tokens" and "next". */
WEFT_API weft_status weft_dataset_open_text(weft_dataset **dataset, weft_context *context, const char *path,
    const weft_vocabulary *vocabulary, const weft_text_options *options);
/* Tokens in memory, of any meaning. */
WEFT_API weft_status weft_dataset_from_tokens(weft_dataset **dataset, weft_context *context,
    const int32_t *tokens, size_t count, const weft_text_options *options);

/* ---- state carried from step to step, on the device ----
 *     weft_tensor *state = weft_carried_state(g, 2, (int64_t[]){streams, width});
 *     weft_tensor *h = weft_carry_start(state, carry, 0);    ... h through the steps: final ...
 *     weft_tensor *keep = weft_assign(state, final);         an output of the plan, or one of the carries
 * The next run starts from what this one assigned. No gradient flows back through a state. */
/* An f32 state of zeros without a name, so that it is not saved with the weights. */
WEFT_API weft_tensor *weft_carried_state(weft_graph *graph, int rank, const int64_t *dims);
/* The state where carry is not 0, else zeros. carry: f32 (n), where n is the dimension `axis` of the state;
 * NULL: the state everywhere. */
WEFT_API weft_tensor *weft_carry_start(weft_tensor *state, weft_tensor *carry, int axis);
/* Sets a state to zeros, from the host. */
WEFT_API weft_status weft_carry_reset(weft_tensor *state);

/* ---- a series of numbers as a dataset of sliding windows ---- */
#define WEFT_MAX_SERIES 64
/* The normalisation of each field: (x - mean) / deviation of the training rows (a deviation of 0 becomes
 * 1). */
typedef struct weft_series_scale {
    size_t count;
    double mean[WEFT_MAX_SERIES], deviation[WEFT_MAX_SERIES];
} weft_series_scale;

typedef struct weft_series_options {
    size_t struct_size;
    const char *const *fields; /* names of columns of the table, ended by NULL; default: its last column */
    char separator;            /* default ',' */
    char decimal, thousands;   /* as weft_csv_options */
    bool no_header;            /* default false: the first row contains names */
    size_t window;             /* input rows; default 12 */
    size_t horizon;            /* rows after them to forecast; default 1 */
    size_t stride;             /* rows from one window to the next; default 1 */
    double validation;         /* fraction of the rows, the last ones, in [0, 1); default 0: none */
    bool keep_scale;           /* default false: numbers are normalised; true: unchanged */
    /* Numbers are normalised as those of this series are, with as many fields: of the data that a network was trained
     * with, for other data that it meets. Default: by the training rows. */
    const weft_dataset *like;
} weft_series_options;
#define WEFT_SERIES_OPTIONS_INIT .struct_size = sizeof(weft_series_options)

/* A CSV table whose rows are points in time, the oldest first. Columns: "window" f32 (window, fields),
 * "target" f32 (horizon, fields). Training windows and their targets are before the rows of the validation.
 * Validation targets are in these rows; their windows may begin before them. validation and scale may be
 * NULL. Errors: WEFT_ERROR_FILE; WEFT_ERROR_FORMAT with line and column for text or a missing value, or for
 * too few rows; WEFT_ERROR_ARGUMENT. */
WEFT_API weft_status weft_dataset_open_series(weft_dataset **training, weft_dataset **validation,
    weft_series_scale *scale, weft_context *context, const char *path, const weft_series_options *options);

#ifdef __cplusplus
}
#endif
#endif
