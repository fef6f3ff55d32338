/* weft/text.h: text and series of numbers as datasets: vocabularies, streams of tokens for truncated
 * backpropagation through time, windows of a series, and state that is carried from step to step. */
#ifndef WEFT_TEXT_H
#define WEFT_TEXT_H

#include <weft/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- vocabularies: which token has which number, from 0 by falling frequency (equals in the order of their
 * bytes); never changed once made, so any number of threads may read one ---- */
typedef struct weft_vocabulary weft_vocabulary;

typedef enum weft_text_level {
    WEFT_TEXT_CHARACTERS, /* each UTF-8 character, and each byte that is part of none: bytes stay bytes */
    WEFT_TEXT_WORDS       /* between blanks; each line ends with the word "<eos>"; the text must be UTF-8 */
} weft_text_level;

typedef struct weft_vocabulary_options {
    size_t struct_size;
    weft_text_level level; /* default characters */
    size_t minimum_count;  /* rarer tokens are left out; default 1 */
    size_t maximum_size;   /* the most frequent ones, the unknown token among them; default 0: no limit */
    bool unknown; /* there is a token for unknown ones: "<unk>" of words, U+FFFD of characters; default: only
                     when the text has it or tokens are left out */
} weft_vocabulary_options;
#define WEFT_VOCABULARY_OPTIONS_INIT .struct_size = sizeof(weft_vocabulary_options)

/* The tokens of a text. Words: all that is not UTF-8 is an error that names byte and line. options NULL:
 * every default. Errors: WEFT_ERROR_FILE, WEFT_ERROR_FORMAT (an empty text, bytes that are not UTF-8),
 * WEFT_ERROR_ARGUMENT. */
WEFT_API weft_status weft_vocabulary_from_file(weft_vocabulary **vocabulary, weft_context *context,
    const char *path, const weft_vocabulary_options *options);
/* The same of `bytes` bytes in memory. */
WEFT_API weft_status weft_vocabulary_from_text(weft_vocabulary **vocabulary, weft_context *context,
    const char *text, size_t bytes, const weft_vocabulary_options *options);
/* As a JSON file, written whole or not at all: {"weft_vocabulary": 1, "level": "characters" or "words",
 * "unknown": number or -1, "tokens": [...]}, a byte that is no UTF-8 as its number. */
WEFT_API weft_status weft_vocabulary_save(const weft_vocabulary *vocabulary, const char *path);
/* WEFT_ERROR_FORMAT names what is wrong in the file: another version, a token twice, or none. */
WEFT_API weft_status weft_vocabulary_load(
    weft_vocabulary **vocabulary, weft_context *context, const char *path);
WEFT_API weft_vocabulary *weft_vocabulary_retain(weft_vocabulary *vocabulary);
WEFT_API void weft_vocabulary_release(weft_vocabulary *vocabulary); /* NULL is fine */
/* WEFT_OK when the table, (vocabulary, width) as of an embedding or an output layer, has a row a token; else
 * WEFT_ERROR_SHAPE with both sizes: a vocabulary of another model. */
WEFT_API weft_status weft_vocabulary_check(const weft_vocabulary *vocabulary, const weft_tensor *table);

WEFT_API size_t weft_vocabulary_size(const weft_vocabulary *vocabulary);           /* tokens; 0 for NULL */
WEFT_API weft_text_level weft_vocabulary_level(const weft_vocabulary *vocabulary); /* its level */
WEFT_API int32_t weft_vocabulary_unknown(const weft_vocabulary *vocabulary);       /* its number; -1: none */
/* The token of a number, NUL-terminated (it may hold a NUL itself), borrowed; NULL: no such number. bytes may
 * be NULL. */
WEFT_API const char *weft_vocabulary_token(const weft_vocabulary *vocabulary, int32_t token, size_t *bytes);
/* The number of a token; -1: none. */
WEFT_API int32_t weft_vocabulary_find(const weft_vocabulary *vocabulary, const char *token, size_t bytes);
/* Text to numbers: writes up to capacity of them; *count is how many there are (tokens NULL with 0: to ask).
 * A token that is not there is the unknown one, and WEFT_ERROR_FORMAT with byte and line where there is none.
 * A last line without a line break has no "<eos>". */
WEFT_API weft_status weft_vocabulary_encode(const weft_vocabulary *vocabulary, const char *text, size_t bytes,
    int32_t *tokens, size_t capacity, size_t *count);
/* Numbers to text: words with blanks between them, "<eos>" as a line break. As snprintf: cut at capacity with
 * a NUL, *length is the whole length without it. WEFT_ERROR_ARGUMENT: a number out of range. */
WEFT_API weft_status weft_vocabulary_decode(const weft_vocabulary *vocabulary, const int32_t *tokens,
    size_t count, char *buffer, size_t capacity, size_t *length);

/* ---- text as a dataset for truncated backpropagation through time ----
 * The text is cut into `streams` pieces of equal length that lie beside each other, and these into windows of
 * `steps` tokens; what is left at the end, less than streams · steps + 1 tokens, is not used. A batch of
 * `streams` examples in the dataset's order (a loader without shuffle, a trainer with keep_order) is a window
 * of each stream, and the next batch the windows that follow. Columns of an example:
 *     "tokens" i32 (steps)   "next" i32 (steps), each the token after   "carry" f32 (): 0 in the first window
 * so a network whose inputs have the fixed shape (streams, steps) can start each window from the state in
 * which it left the one before (weft_carry_start), and from zeros at the beginning of each epoch. */
typedef struct weft_text_options {
    size_t struct_size;
    size_t streams; /* default 32 */
    size_t steps;   /* default 32 */
} weft_text_options;
#define WEFT_TEXT_OPTIONS_INIT .struct_size = sizeof(weft_text_options)

/* A file, encoded with the vocabulary. Errors: WEFT_ERROR_FILE; WEFT_ERROR_FORMAT (empty, not UTF-8 at the
 * level of words, a token that is not in the vocabulary, too short for a window of each stream). */
WEFT_API weft_status weft_dataset_open_text(weft_dataset **dataset, weft_context *context, const char *path,
    const weft_vocabulary *vocabulary, const weft_text_options *options);
/* Tokens in memory, whatever they stand for. */
WEFT_API weft_status weft_dataset_from_tokens(weft_dataset **dataset, weft_context *context,
    const int32_t *tokens, size_t count, const weft_text_options *options);

/* ---- state carried from step to step, on the device ----
 *     weft_tensor *state = weft_carried_state(g, 2, (int64_t[]){streams, width});
 *     weft_tensor *h = weft_carry_start(state, carry, 0);    ... h through the steps: final ...
 *     weft_tensor *keep = weft_assign(state, final);         an output of the plan, or the trainer's carries
 * The next run starts from what this one assigned. No gradient flows back through a state. */
/* f32 zeros, without a name, so that it is not saved with the weights. */
WEFT_API weft_tensor *weft_carried_state(weft_graph *graph, int rank, const int64_t *dims);
/* The state where carry is not 0, zeros where it is. carry: f32 (n), n the state's dimension `axis`; NULL:
 * the state. */
WEFT_API weft_tensor *weft_carry_start(weft_tensor *state, weft_tensor *carry, int axis);
/* Makes a state zeros again, from the host. */
WEFT_API weft_status weft_carry_reset(weft_tensor *state);

/* ---- a series of numbers as a dataset of windows ---- */
#define WEFT_MAX_SERIES 64
/* What was done to each field: (x - mean) / deviation, of the training rows (deviation 1 where it is 0). */
typedef struct weft_series_scale {
    size_t count;
    double mean[WEFT_MAX_SERIES], deviation[WEFT_MAX_SERIES];
} weft_series_scale;

typedef struct weft_series_options {
    size_t struct_size;
    const char *const *fields; /* names of the table's columns, ended by NULL; default: its last column */
    char separator;            /* default ',' */
    bool no_header;            /* default false: the first row holds names */
    size_t window;             /* rows that are seen; default 12 */
    size_t horizon;            /* rows that follow, to be forecast; default 1 */
    size_t stride;             /* rows from one window to the next; default 1 */
    double validation;         /* the last part of the rows, in [0, 1); default 0: none */
    bool keep_scale;           /* default false: numbers are normalised */
} weft_series_options;
#define WEFT_SERIES_OPTIONS_INIT .struct_size = sizeof(weft_series_options)

/* A CSV table whose rows are points in time, the oldest first. Columns: "window" f32 (window, fields),
 * "target" f32 (horizon, fields). Training windows and their targets lie before the validation's rows;
 * validation targets lie in these, their windows may begin before. validation and scale may be NULL. Errors:
 * WEFT_ERROR_FILE; WEFT_ERROR_FORMAT with line and column for a missing value or text, or too few rows;
 * WEFT_ERROR_ARGUMENT. */
WEFT_API weft_status weft_dataset_open_series(weft_dataset **training, weft_dataset **validation,
    weft_series_scale *scale, weft_context *context, const char *path, const weft_series_options *options);

#ifdef __cplusplus
}
#endif
#endif
