/* Initial values of variables. A random number is a function (Philox) of the context's seed, the variable's stream and the
 * element's index, so that values are the same for all devices. */
#include "graph/initial.h"
#include "base/draws.h"
#include "base/integers.h"
#include "base/philox.h"
#include "base/portable_math.h"
#include "cl/context.h"
#include "graph/sizes.h"
#include <stdio.h>
#include <string.h>

/* INITIAL_DRAW: the last word of the counter, which is not the number of any run of a plan. BLOCK: values drawn at once. */
enum { INITIAL_DRAW = -1, BLOCK = 256 };

/* ---- checks ---- */

bool wi_initialiser_known(weft_initialiser_kind kind) {
    return (unsigned)kind <= WEFT_INIT_CUSTOM;
}

static weft_status check_numbers(const weft_initialiser *how, const char *name) {
    const float numbers[] = {how->a, how->b, how->c, how->d};
    char what[160];
    snprintf(what, sizeof what, "initialiser of '%.120s'", name);
    for (int i = 0; i < 4; i++) WI_TRY(wi_check_number(what, (double)numbers[i]));
    return WEFT_OK;
}

/* Refuses a gain of 0, the value in a struct whose field `a` was not set, because all weights would be 0. */
static weft_status check_gain(const weft_initialiser *how, const char *name) {
    if (isfinite(how->a) && how->a != 0) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_ARGUMENT, "initialiser of '%s': gain %g; `a` must be finite and not 0", name,
        (double)how->a);
}

static weft_status check(const wi_variable *variable) {
    const weft_initialiser *how = &variable->initialiser;
    const char *name = weft_tensor_name(variable->tensor);
    if (how->kind != WEFT_INIT_CUSTOM) WI_TRY(check_numbers(how, name));
    switch (how->kind) {
    case WEFT_INIT_TRUNCATED_NORMAL:
        if (!(how->b > 0) || !isfinite(how->a) || !isfinite(how->b) || !isfinite(how->c) ||
            !isfinite(how->d) || !(how->c < how->d))
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "initialiser of '%s': truncated normal of mean %g, deviation %g in [%g, %g]; the deviation "
                "must "
                "be above 0, the bounds finite and in order",
                name, (double)how->a, (double)how->b, (double)how->c, (double)how->d);
        return WEFT_OK;
    case WEFT_INIT_UNIFORM:
        if (!wi_uniform_exists(how->a, how->b))
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "initialiser of '%s': uniform from %g to %g; the bounds must be finite and in order", name,
                (double)how->a, (double)how->b);
        return WEFT_OK;
    case WEFT_INIT_NORMAL:
        if (!wi_normal_exists(how->a, how->b))
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "initialiser of '%s': normal of mean %g and deviation %g; both must be finite, and the "
                "deviation 0 "
                "or more",
                name, (double)how->a, (double)how->b);
        return WEFT_OK;
    case WEFT_INIT_GLOROT_UNIFORM:
    case WEFT_INIT_GLOROT_NORMAL:
    case WEFT_INIT_HE_UNIFORM:
    case WEFT_INIT_HE_NORMAL: return check_gain(how, name);
    case WEFT_INIT_ORTHOGONAL:
        WI_TRY(check_gain(how, name));
        if (variable->tensor->shape.rank < 2)
            WI_FAIL(WEFT_ERROR_SHAPE,
                "initialiser of '%s': an orthogonal initialiser needs a tensor of rank 2 or more, not %d",
                name, variable->tensor->shape.rank);
        return WEFT_OK;
    case WEFT_INIT_CONSTANT:
        if (variable->tensor->dtype == WEFT_I32 && !(how->a >= -0x1p31f && how->a < 0x1p31f))
            WI_FAIL(WEFT_ERROR_ARGUMENT, "initialiser of '%s': %g is outside the range of i32", name,
                (double)how->a);
        return WEFT_OK;
    case WEFT_INIT_CUSTOM:
        if (!how->fill)
            WI_FAIL(WEFT_ERROR_ARGUMENT, "initialiser of '%s': the custom initialiser has no function", name);
        return WEFT_OK;
    default: return WEFT_OK;
    }
}

/* Converts the f32 values of a custom initialiser in place to the variable's dtype, backwards if its elements are larger. */
static void convert_filled(const wi_format *format, void *data, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const size_t at = format->size > sizeof(float) ? count - 1 - i : i;
        format->put(data, at, (double)((const float *)data)[at]);
    }
}

/* The caller's function may fail without a message, or with one that does not name the variable. */
static weft_status fill(wi_variable *variable) {
    const weft_initialiser *how = &variable->initialiser;
    const char *const name = weft_tensor_name(variable->tensor);
    char line[WI_ERROR_LINE], quoted[512];
    snprintf(quoted, sizeof quoted, "'%.500s'", name);
    wi_error_save(line, sizeof line);
    wi_error_restore("");
    const weft_status status = how->fill(how, variable->tensor, variable->data);
    if (status == WEFT_OK)
        wi_error_restore(line);
    else if (!*weft_last_error())
        WI_FAIL(status, "initialiser of '%s': its function returned %s", name, weft_status_name(status));
    else if (!strstr(weft_last_error(), quoted))
        WI_FAIL(status, "initialiser of '%s': %s", name, weft_last_error());
    return status;
}

weft_status wi_initialise(wi_variable *variable) {
    const weft_initialiser *how = &variable->initialiser;
    const weft_allocator *allocator = variable->tensor->graph->context->allocator;
    WI_TRY(check(variable));
    if (how->kind != WEFT_INIT_CUSTOM) return WEFT_OK;
    const wi_format *format = wi_format_of(variable->tensor->dtype);
    const size_t count = variable->bytes / format->size;
    variable->data = wi_allocate_array(
        allocator, count ? count : 1, format->size > sizeof(float) ? format->size : sizeof(float));
    if (!variable->data) return WEFT_ERROR_MEMORY;
    WI_TRY(fill(variable));
    convert_filled(format, variable->data, count);
    return WEFT_OK;
}

/* ---- distributions ---- */

static void fans(const wi_shape *shape, double *in, double *out) {
    double inner = 1;
    for (int i = 2; i < shape->rank; i++) inner *= (double)shape->dims[i];
    *out = (shape->rank > 0 ? (double)shape->dims[0] : 1) * inner;
    *in = (shape->rank > 1 ? (double)shape->dims[1] : *out) * inner;
}

/* Replaces the initialisers that depend on the fans by U(a, b) or N(a, b). */
static weft_initialiser resolve(weft_initialiser given, const wi_shape *shape) {
    double in, out;
    fans(shape, &in, &out);
    double reach = 0, deviation = 0;
    switch (given.kind) {
    case WEFT_INIT_GLOROT_UNIFORM: reach = given.a * sqrt(6 / (in + out)); break;
    case WEFT_INIT_HE_UNIFORM: reach = given.a * sqrt(3 / in); break;
    case WEFT_INIT_GLOROT_NORMAL: deviation = given.a * sqrt(2 / (in + out)); break;
    case WEFT_INIT_HE_NORMAL: deviation = given.a / sqrt(in); break;
    default: return given;
    }
    if (reach > 0)
        return (weft_initialiser){.kind = WEFT_INIT_UNIFORM, .a = (float)-reach, .b = (float)reach};
    return (weft_initialiser){.kind = WEFT_INIT_NORMAL, .b = (float)deviation};
}

static wi_draws draws_of(const wi_variable *variable, bool normal, float scale, float add) {
    return (wi_draws){.seed = variable->tensor->graph->context->seed,
        .stream = variable->stream,
        .last = (uint32_t)INITIAL_DRAW,
        .normal = normal,
        .scale = scale,
        .add = add};
}

/* Draws four random words for an element. Numbers outside the limits of a truncated distribution are drawn again: each attempt has other
 * words. */
static void draw_attempt(const wi_draws *from, uint64_t index, uint32_t attempt, uint32_t words[4]) {
    words[0] = (uint32_t)index;
    words[1] = (uint32_t)(index >> 32);
    words[2] = from->stream;
    words[3] = from->last - attempt;
    wi_philox(words, from->seed);
}

/* Rejection sampling: of normal numbers if enough of them are within the bounds (Robert 1995), otherwise of uniform numbers,
 * which are accepted in proportion to the density. In a tail the interval ends where the density is exp(-25) of its largest. */
typedef struct truncation {
    double mean, deviation, low, high, mode; /* low, high and mode in units of the deviation from the mean */
    bool by_normal;
} truncation;

static truncation truncation_of(const weft_initialiser *how) {
    truncation t = {.mean = (double)how->a, .deviation = (double)how->b};
    t.low = ((double)how->c - t.mean) / t.deviation;
    t.high = ((double)how->d - t.mean) / t.deviation;
    t.mode = t.low > 0 ? t.low : t.high < 0 ? t.high : 0;
    t.by_normal = t.low <= 0 && t.high >= 0 && t.high - t.low > 2;
    const double reach = sqrt(t.mode * t.mode + 50);
    if (t.high > reach) t.high = reach;
    if (t.low < -reach) t.low = -reach;
    return t;
}

static bool attempt_truncated(
    const truncation *t, const wi_draws *from, uint64_t index, uint32_t attempt, double *z) {
    uint32_t words[4];
    draw_attempt(from, index, attempt, words);
    *z = t->by_normal ? (double)wi_normal_of(words[0], words[1])
                      : t->low + (t->high - t->low) * (double)wi_uniform_of(words[0]);
    return *z >= t->low && *z <= t->high &&
           (t->by_normal || (double)wi_uniform_of(words[1]) < wi_math_exp((t->mode * t->mode - *z * *z) / 2));
}

static double truncated(const truncation *t, const wi_draws *from, uint64_t index, uint32_t attempt) {
    enum { ATTEMPTS = 1 << 16 };
    double z;
    for (; attempt < ATTEMPTS; attempt++)
        if (attempt_truncated(t, from, index, attempt, &z)) return z;
    return t->mode;
}

/* Draws the first attempts of all elements at once, because most normal numbers are within the bounds. */
static void draw_truncated(
    const weft_initialiser *how, const wi_draws *from, uint64_t first, size_t count, float *values) {
    const truncation t = truncation_of(how);
    if (t.by_normal) wi_draw(from, first, count, values);
    for (size_t i = 0; i < count; i++) {
        double z = t.by_normal ? (double)values[i] : t.high + 1;
        if (!(z >= t.low && z <= t.high)) z = truncated(&t, from, first + i, t.by_normal);
        const float value = (float)(t.mean + z * t.deviation);
        values[i] = value < how->c ? how->c : value > how->d ? how->d : value;
    }
}

/* ---- orthogonal matrices ---- */

/* Four independent sums, because each addition to a single one would wait for the one before. */
static double dot(const double *a, const double *b, int64_t count) {
    double sums[4] = {0};
    int64_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (int k = 0; k < 4; k++) sums[k] += a[i + k] * b[i + k];
    for (; i < count; i++) sums[0] += a[i] * b[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* Makes the vectors orthonormal in place by two passes of Gram-Schmidt, which is as accurate as Householder reflections (Giraud et
 * al. 2005). The result is Q of the QR decomposition whose R has a positive diagonal. */
static void orthonormalise(double *vectors, int64_t count, int64_t length) {
    for (int64_t j = 0; j < count; j++) {
        double *const v = vectors + j * length;
        for (int64_t k = 0; k < 2 * j; k++) {
            const double *const q = vectors + k % j * length;
            const double share = dot(q, v, length);
            for (int64_t i = 0; i < length; i++) v[i] -= share * q[i];
        }
        const double norm = sqrt(dot(v, v, length));
        for (int64_t i = 0; i < length; i++) v[i] /= norm;
    }
}

static weft_status orthogonal(const wi_variable *variable, void *values) {
    const weft_allocator *allocator = variable->tensor->graph->context->allocator;
    const wi_format *format = wi_format_of(variable->tensor->dtype);
    const int64_t all = (int64_t)(variable->bytes / format->size);
    if (all == 0) return WEFT_OK;
    const int64_t rows = variable->tensor->shape.dims[0], columns = all / rows;
    const bool wide = rows < columns; /* the rows are made orthonormal, otherwise the columns */
    const int64_t count = wide ? rows : columns, length = wide ? columns : rows;
    double *vectors = wi_allocate_array(allocator, (size_t)all, sizeof *vectors);
    if (!vectors) return WEFT_ERROR_MEMORY;
    const wi_draws from = draws_of(variable, true, 1, 0);
    for (int64_t i = 0; i < all; i += BLOCK) {
        float numbers[BLOCK];
        const int64_t some = wi_min64(BLOCK, all - i);
        wi_draw(&from, (uint64_t)i, (size_t)some, numbers);
        for (int64_t k = 0; k < some; k++) {
            const int64_t row = (i + k) / columns, column = (i + k) % columns;
            vectors[wide ? i + k : column * length + row] = (double)numbers[k];
        }
    }
    orthonormalise(vectors, count, length);
    for (int64_t i = 0; i < all; i++) {
        const int64_t row = i / columns, column = i % columns;
        const double value = (double)variable->initialiser.a * vectors[wide ? i : column * length + row];
        format->put(values, (size_t)i, value);
    }
    wi_release(allocator, vectors);
    return WEFT_OK;
}

/* ---- content ---- */

/* A truncated normal is computed from a standard one; adding -0 keeps the sign of zeros. */
static wi_draws draws_for(const wi_variable *variable, const weft_initialiser *how) {
    switch (how->kind) {
    case WEFT_INIT_NORMAL: return draws_of(variable, true, how->b, how->a);
    case WEFT_INIT_TRUNCATED_NORMAL: return draws_of(variable, true, 1, -0.0f);
    default: return draws_of(variable, false, how->b - how->a, how->a);
    }
}

static void values_of(
    const weft_initialiser *how, const wi_draws *from, uint64_t first, size_t count, float *values) {
    switch (how->kind) {
    case WEFT_INIT_UNIFORM:
    case WEFT_INIT_NORMAL: wi_draw(from, first, count, values); return;
    case WEFT_INIT_TRUNCATED_NORMAL: draw_truncated(how, from, first, count, values); return;
    default:
        for (size_t i = 0; i < count; i++) values[i] = how->a;
    }
}

static void store(weft_dtype dtype, void *content, size_t first, size_t count, const float *values) {
    const wi_format *const format = wi_format_of(dtype);
    if (dtype == WEFT_F32)
        memcpy((float *)content + first, values, count * sizeof *values);
    else
        for (size_t i = 0; i < count; i++) format->put(content, first + i, (double)values[i]);
}

static weft_status computed_content(const wi_variable *variable, void *content) {
    const weft_initialiser how = resolve(variable->initialiser, &variable->tensor->shape);
    if (how.kind == WEFT_INIT_ORTHOGONAL) return orthogonal(variable, content);
    const weft_dtype dtype = variable->tensor->dtype;
    const size_t count = variable->bytes / wi_format_of(dtype)->size;
    const wi_draws from = draws_for(variable, &how);
    for (size_t i = 0; i < count; i += BLOCK) {
        float values[BLOCK];
        const size_t some = count - i < BLOCK ? count - i : BLOCK;
        values_of(&how, &from, i, some, values);
        store(dtype, content, i, some, values);
    }
    return WEFT_OK;
}

weft_status wi_initial_content(const wi_variable *variable, void *content) {
    if (variable->data) {
        memcpy(content, variable->data, variable->bytes);
        return WEFT_OK;
    }
    WI_TRY(computed_content(variable, content));
    if (variable->zero_bytes) memset((char *)content + variable->zero_from, 0, variable->zero_bytes);
    return WEFT_OK;
}
