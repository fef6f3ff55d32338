/* Arguments of the rows of public_calls.c, drawn from a call_source. A list of axes or dimensions has room for eight, because a random
 * rank may be larger than the list, and ends with WEFT_END. */
#ifndef PUBLIC_CALL_ARGUMENTS_H
#define PUBLIC_CALL_ARGUMENTS_H

#include "support/public_calls.h"

#include <limits.h>

enum { ROOM = WEFT_MAX_RANK + 1 };

/* ---- arguments ---- */

static inline int64_t whole(call_source *s, int64_t usual) {
    return s->whole(s, usual);
}

static inline int number_in(call_source *s, int64_t usual, int64_t least, int64_t most) {
    const int64_t value = whole(s, usual);
    return (int)(value < least ? least : value > most ? most : value);
}

static inline int small(call_source *s, int64_t usual) {
    return number_in(s, usual, INT_MIN, INT_MAX);
}

static inline size_t count(call_source *s, int64_t usual, int64_t most) {
    return (size_t)number_in(s, usual, 0, most);
}

static inline bool flag(call_source *s, bool usual) {
    return whole(s, usual) != 0;
}

static inline double number(call_source *s, double usual) {
    return s->number(s, usual);
}

static inline float single(call_source *s, double usual) {
    return (float)number(s, usual);
}

typedef struct list {
    int64_t of[ROOM];
} list;

static inline list list_of(call_source *s, int64_t a, int64_t b, int64_t c, int64_t d) {
    const int64_t usual[] = {a, b, c, d, WEFT_END};
    list l;
    bool ended = false;
    for (int i = 0; i < ROOM; i++) {
        ended = ended || i > 4 || usual[i] == WEFT_END;
        l.of[i] = ended ? WEFT_END : whole(s, usual[i]);
    }
    return l;
}

typedef struct axes {
    int of[ROOM];
} axes;

static inline axes axes_of(call_source *s, int a, int b, int c) {
    return (axes){{small(s, a), small(s, b), small(s, c), 3, 4, 5, 6, 7, 0}};
}

static inline weft_tensor *tensor(
    call_source *s, weft_dtype dtype, int rank, int64_t a, int64_t b, int64_t c, int64_t d) {
    return s->tensor(s, dtype, rank, (const int64_t[]){a, b, c, d});
}

#define END       WEFT_END
#define G         s->graph
#define IMAGE     tensor(s, WEFT_F32, 4, 2, 4, 6, 6)
#define ROWS      tensor(s, WEFT_F32, 2, 2, 4, 0, 0)
#define CUBE      tensor(s, WEFT_F32, 3, 2, 4, 6, 0)
#define MASK      tensor(s, WEFT_BOOL, 2, 2, 4, 0, 0)
#define LINE      tensor(s, WEFT_F32, 1, 4, 0, 0, 0)
#define INDEX     tensor(s, WEFT_I32, 2, 2, 4, 0, 0)
#define NAMES     tensor(s, WEFT_I32, 1, 2, 0, 0, 0) /* one label a row */
#define AXES(...) list_of(s, __VA_ARGS__).of

static inline weft_conv_options window_of(call_source *s, bool transposed) {
    weft_conv_options o = {WEFT_CONV_OPTIONS_INIT, .groups = whole(s, 1)};
    o.mode = (weft_conv_padding)number_in(s, WEFT_PADDING_EACH, 0, 3);
    for (int i = 0; i < 2; i++) {
        o.strides[i] = whole(s, 1);
        o.dilations[i] = whole(s, 1);
        o.paddings[i] = whole(s, 1);
        o.paddings_after[i] = whole(s, 0);
        if (transposed) o.output_paddings[i] = whole(s, 0);
    }
    return o;
}

static inline weft_pool_options pool_of(call_source *s, bool averages) {
    weft_pool_options o = {WEFT_POOL_OPTIONS_INIT, .ceil_mode = flag(s, false)};
    if (averages) o.divisor = whole(s, 0);
    for (int i = 0; i < 2; i++) {
        o.windows[i] = whole(s, 2);
        o.strides[i] = whole(s, 2);
        o.paddings[i] = whole(s, 1);
        o.dilations[i] = whole(s, 1);
    }
    return o;
}

static inline weft_resample_options resample_of(call_source *s) {
    const weft_resample_options o = {WEFT_RESAMPLE_OPTIONS_INIT,
        .mode = (weft_resample_mode)number_in(s, WEFT_RESAMPLE_LINEAR, 0, 2),
        .sizes = {whole(s, 3), whole(s, 0)}, .factors = {number(s, 0), number(s, 1.5)}};
    return o;
}

static inline weft_recurrent_options recurrent_of(call_source *s) {
    const weft_recurrent_options o = {WEFT_RECURRENT_OPTIONS_INIT, .layers = whole(s, 2),
        .projection = whole(s, 0), .bidirectional = flag(s, false), .dropout = single(s, 0),
        .time_major = flag(s, false)};
    return o;
}

static inline weft_class_loss_options classes_of(call_source *s) {
    const weft_class_loss_options o = {WEFT_CLASS_LOSS_OPTIONS_INIT, .ignore = flag(s, true),
        .ignored_label = small(s, -100), .reduction = (weft_loss_reduction)number_in(s, 0, -1, 5)};
    return o;
}

static inline weft_loss_options loss_of(call_source *s) {
    const weft_loss_options o = {
        WEFT_LOSS_OPTIONS_INIT, .reduction = (weft_loss_reduction)number_in(s, 0, -1, 5)};
    return o;
}

static inline weft_initialiser initialiser_of(call_source *s) {
    const weft_initialiser i = {.kind = (weft_initialiser_kind)number_in(s, WEFT_INIT_UNIFORM, -1, 8),
        .a = single(s, 0),
        .b = single(s, 1),
        .c = single(s, -1),
        .d = single(s, 1)};
    return i;
}

/* A valid name; further calls may get other ones. */
static const char *name(call_source *s) {
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    return names[count(s, 0, 7)];
}

/* A dimension of a tensor whose memory the call allocates: either small, or larger than any tensor can be. */
static inline int64_t host_size(call_source *s, int64_t usual) {
    const int64_t value = whole(s, usual);
    return value > 8 && value <= INT64_C(1) << 40 ? usual : value;
}

static inline weft_bag_options bags_of(call_source *s) {
    const weft_bag_options o = {WEFT_BAG_OPTIONS_INIT, .mode = (weft_bag_mode)number_in(s, 0, -1, 3),
        .padded = flag(s, true), .padding = whole(s, 1)};
    return o;
}

static inline weft_categorical_options drawn_of(call_source *s) {
    const weft_categorical_options o = {WEFT_CATEGORICAL_OPTIONS_INIT, .temperature = single(s, 1),
        .top_k = whole(s, 2), .top_p = single(s, 0.5), .min_p = single(s, 0)};
    return o;
}

#endif
