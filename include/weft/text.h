/* weft/text.h: vocabularies, text as a dataset for truncated backpropagation through time, state that is carried from
 * step to step, and series of numbers as a dataset of sliding windows. */
#ifndef WEFT_TEXT_H
#define WEFT_TEXT_H

#include <weft/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- vocabularies: the number of each token ----
 * Tokens are numbered from 0 by falling frequency; equally frequent tokens are in the order of their bytes. A
 * vocabulary never changes, so that any number of threads may read it. */
typedef struct weft_vocabulary weft_vocabulary;

typedef enum weft_text_level {
    WEFT_TEXT_CHARACTERS, /* each UTF-8 character, and each byte that is not part of one */
    WEFT_TEXT_WORDS /* words separated by blanks, and "<eos>" for the end of each line; the text must be UTF-8 */
} weft_text_level;

typedef struct weft_vocabulary_options {
    size_t struct_size;
    weft_text_level level; /* default characters */
    size_t minimum_count;  /* tokens that occur less often are left out; default 1 */
    /* Keeps the most frequent tokens: at most this many, including the unknown token. Default 0: no limit. */
    size_t maximum_size;
    /* Adds the unknown token, which stands for tokens that are left out: "<unk>" for words, U+FFFD for characters.
     * Default false: it is added only if the text contains it or tokens are left out. */
    bool unknown;
} weft_vocabulary_options;
#define WEFT_VOCABULARY_OPTIONS_INIT .struct_size = sizeof(weft_vocabulary_options)

/* Creates a vocabulary of the tokens of a text file. options NULL means all defaults. Errors: WEFT_ERROR_FILE;
 * WEFT_ERROR_FORMAT (an empty text; at the level of words, bytes that are not UTF-8: the line names byte and line);
 * WEFT_ERROR_ARGUMENT. */
WEFT_API weft_status weft_vocabulary_from_file(weft_vocabulary **vocabulary, weft_context *context,
    const char *path, const weft_vocabulary_options *options);
/* Creates a vocabulary of the tokens of a text of `bytes` bytes in memory. */
WEFT_API weft_status weft_vocabulary_from_text(weft_vocabulary **vocabulary, weft_context *context,
    const char *text, size_t bytes, const weft_vocabulary_options *options);
/* Saves a JSON file, completely or not at all: {"weft_vocabulary": 1, "level": "characters" or "words", "unknown":
 * number or -1, "tokens": [...]}. A token is a string; a token of one byte that is not UTF-8, or is NUL, is a
 * number. */
WEFT_API weft_status weft_vocabulary_save(const weft_vocabulary *vocabulary, const char *path);
/* Loads a saved vocabulary. WEFT_ERROR_FORMAT: another version, a token that occurs twice, or no tokens. */
WEFT_API weft_status weft_vocabulary_load(
    weft_vocabulary **vocabulary, weft_context *context, const char *path);
WEFT_API weft_vocabulary *weft_vocabulary_retain(weft_vocabulary *vocabulary);
WEFT_API void weft_vocabulary_release(weft_vocabulary *vocabulary); /* NULL is allowed */
/* WEFT_OK if the table (vocabulary, width) of an embedding or output layer has one row per token. Otherwise
 * WEFT_ERROR_SHAPE with both sizes: the vocabulary belongs to another model. */
WEFT_API weft_status weft_vocabulary_check(const weft_vocabulary *vocabulary, const weft_tensor *table);

WEFT_API size_t weft_vocabulary_size(const weft_vocabulary *vocabulary);           /* tokens; 0 for NULL */
WEFT_API weft_text_level weft_vocabulary_level(const weft_vocabulary *vocabulary); /* characters or words */
/* The number of the unknown token; -1: there is none. */
WEFT_API int32_t weft_vocabulary_unknown(const weft_vocabulary *vocabulary);
/* The text of a token, borrowed; NULL: no token has this number. A NUL ends the text, which may contain NULs, too;
 * *bytes (bytes may be NULL) is its length without the NUL at the end. */
WEFT_API const char *weft_vocabulary_token(const weft_vocabulary *vocabulary, int32_t token, size_t *bytes);
/* The number of the token with this text; -1 if there is none. */
WEFT_API int32_t weft_vocabulary_find(const weft_vocabulary *vocabulary, const char *token, size_t bytes);
/* Converts a text to numbers: writes at most `capacity` numbers, and sets *count to the number of tokens. tokens NULL
 * with capacity 0: only sets *count. A token that is not in the vocabulary becomes the unknown token; if there is no
 * unknown token, the error WEFT_ERROR_FORMAT names byte and line. A last line without a line break gets no "<eos>". */
WEFT_API weft_status weft_vocabulary_encode(const weft_vocabulary *vocabulary, const char *text, size_t bytes,
    int32_t *tokens, size_t capacity, size_t *count);
/* Converts numbers to a text: words are separated by blanks, and "<eos>" becomes a line break. As with snprintf, the
 * text is truncated to capacity bytes including its NUL, and *length is the length of the whole text without the NUL.
 * WEFT_ERROR_ARGUMENT: a number out of range. */
WEFT_API weft_status weft_vocabulary_decode(const weft_vocabulary *vocabulary, const int32_t *tokens,
    size_t count, char *buffer, size_t capacity, size_t *length);

/* ---- text as a dataset for truncated backpropagation through time ----
 * The text is divided into `streams` streams of equal length, and each stream into sequences of `steps` tokens. The
 * tokens that remain at the end, fewer than streams · steps + 1, are not used. A batch of `streams` examples in the
 * order of the dataset (a loader without shuffle, a trainer with keep_order) has one sequence of each stream, and the
 * next batch has the sequences that follow them. Columns of an example:
 *     "tokens"  i32 (steps)
 *     "next"    i32 (steps), for each token the token after it
 *     "carry"   f32 (), 0 in the first sequence of a stream, otherwise 1
 * With inputs of the fixed shape (streams, steps), a network can therefore start each sequence from the state at the
 * end of the sequence before (weft_carry_start), and the first sequence of each epoch from zeros. */
typedef struct weft_text_options {
    size_t struct_size;
    size_t streams; /* default 32 */
    size_t steps;   /* default 32 */
} weft_text_options;
#define WEFT_TEXT_OPTIONS_INIT .struct_size = sizeof(weft_text_options)

/* A dataset from a text file, encoded with the vocabulary, whose tokens are the categories of "tokens" and "next".
 * Errors: WEFT_ERROR_FILE; WEFT_ERROR_FORMAT (an empty file, bytes that are not UTF-8 at the level of words, a token
 * that is not in a vocabulary without an unknown token, too few tokens for one sequence of each stream). */
WEFT_API weft_status weft_dataset_open_text(weft_dataset **dataset, weft_context *context, const char *path,
    const weft_vocabulary *vocabulary, const weft_text_options *options);
/* A dataset from tokens in memory, which may be any numbers. */
WEFT_API weft_status weft_dataset_from_tokens(weft_dataset **dataset, weft_context *context,
    const int32_t *tokens, size_t count, const weft_text_options *options);

/* ---- state carried from step to step, on the device ----
 *     weft_tensor *state = weft_carried_state(g, 2, (int64_t[]){streams, width});
 *     weft_tensor *h = weft_carry_start(state, carry, 0);    ... h through the steps: final ...
 *     weft_tensor *keep = weft_assign(state, final);         an output of the plan, or one of a trainer's carries
 * The next run starts from the state that this run assigned. No gradient flows back through a state. */
/* An f32 state of zeros without a name, so that files of weights do not contain it. */
WEFT_API weft_tensor *weft_carried_state(weft_graph *graph, int rank, const int64_t *dims);
/* The state where carry is not 0, and zeros where it is 0. carry: f32 (n), one number for each index of axis `axis` of
 * the state; NULL: the result is the state. */
WEFT_API weft_tensor *weft_carry_start(weft_tensor *state, weft_tensor *carry, int axis);
/* Sets a state to zeros, from the host. */
WEFT_API weft_status weft_carry_reset(weft_tensor *state);

/* ---- a series of numbers as a dataset of sliding windows ---- */
#define WEFT_MAX_SERIES 64
/* The normalisation of each field: (x - mean) / deviation, with mean and deviation of the training rows (a deviation
 * of 0 becomes 1). */
typedef struct weft_series_scale {
    size_t count;
    double mean[WEFT_MAX_SERIES], deviation[WEFT_MAX_SERIES];
} weft_series_scale;

typedef struct weft_series_options {
    size_t struct_size;
    const char *const *fields; /* names of columns of the table, ended by NULL; default: its last column */
    char separator;            /* default ',' */
    char decimal, thousands;   /* as in weft_csv_options */
    bool no_header;            /* default false: the first row contains names */
    size_t window;             /* number of input rows; default 12 */
    size_t horizon;            /* number of rows to forecast, after the window; default 1 */
    size_t stride;             /* rows from the start of one window to the start of the next; default 1 */
    double validation;         /* the fraction of rows, at the end, for validation, in [0, 1); default 0 */
    bool keep_scale;           /* default false: numbers are normalised; true: they are not changed */
    /* A series with the same number of fields, whose normalisation is used: the training's, for data that the trained
     * network is applied to. Default: mean and deviation of the training rows of this file. */
    const weft_dataset *like;
} weft_series_options;
#define WEFT_SERIES_OPTIONS_INIT .struct_size = sizeof(weft_series_options)

/* Datasets from a CSV table whose rows are points in time, the oldest first. Columns: "window" f32 (window, fields),
 * "target" f32 (horizon, fields). The windows and targets of *training are before the rows for validation. The targets
 * of *validation are in these rows, and its windows may begin before them. validation and scale may be NULL. Errors:
 * WEFT_ERROR_FILE; WEFT_ERROR_FORMAT (a text or a missing value, with line and column; or too few rows);
 * WEFT_ERROR_ARGUMENT. */
WEFT_API weft_status weft_dataset_open_series(weft_dataset **training, weft_dataset **validation,
    weft_series_scale *scale, weft_context *context, const char *path, const weft_series_options *options);

#ifdef __cplusplus
}
#endif
#endif
