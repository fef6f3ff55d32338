/* The oracle's ops in the order of the op table, and what all families share: see oracle.h. A row of the op table without an
 * oracle_op_<name> does not link. */
#include "graph/shape.h"
#include "oracle/dtype_values.h"
#include "oracle/oracle.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROW(name)                                          extern const oracle_op oracle_op_##name;
#define WI_MAP1(name, types, of_float, of_int, da)         ROW(name)
#define WI_MAP2(name, types, of_float, of_int, da, db)     ROW(name)
#define WI_MAP3(name, types, of_float, of_int, da, db, dc) ROW(name)
#define WI_NODE(name)                                      ROW(name)
#define WI_FUNCTION_ROW(name)                              ROW(name)
#include "ops/op_list.h"
#undef ROW

static const oracle_op *const rows[] = {
#define ROW(name)                                          &oracle_op_##name,
#define WI_MAP1(name, types, of_float, of_int, da)         ROW(name)
#define WI_MAP2(name, types, of_float, of_int, da, db)     ROW(name)
#define WI_MAP3(name, types, of_float, of_int, da, db, dc) ROW(name)
#define WI_NODE(name)                                      ROW(name)
#define WI_FUNCTION_ROW(name)                              ROW(name)
#include "ops/op_list.h"
#undef ROW
};

size_t oracle_op_count(void) {
    return sizeof rows / sizeof *rows;
}

const oracle_op *oracle_op_at(size_t index) {
    return rows[index];
}

const oracle_op *oracle_find(const char *name) {
    for (size_t i = 0; i < oracle_op_count(); i++)
        if (strcmp(oracle_op_at(i)->name, name) == 0) return oracle_op_at(i);
    return NULL;
}

/* ---- sizes ---- */

/* times · symbol + rest, where the symbol is the one that leaves the smaller rest; an ordinary number has neither. */
static int64_t without_symbols(int64_t n, const oracle_sizes *sizes) {
    if (!wi_is_symbolic(n)) return n;
    const int64_t lengths = (n + WEFT_LENGTH / 2) / WEFT_LENGTH,
                  batches = (n + WI_BATCH_HANDLE / 2) / WI_BATCH_HANDLE;
    const int64_t of_length = n - lengths * WEFT_LENGTH, of_batch = n - batches * WI_BATCH_HANDLE;
    const bool batch = llabs(of_batch) < llabs(of_length);
    return (batch ? batches * sizes->batch : lengths * sizes->length) + (batch ? of_batch : of_length);
}

int64_t oracle_size(int64_t size, const oracle_sizes *sizes) {
    return size < 0 ? sizes->batch * without_symbols(-size, sizes) : without_symbols(size, sizes);
}

int64_t oracle_given(int64_t size, const oracle_sizes *sizes) {
    return sizes->fixed ? oracle_size(size, sizes) : size;
}

int oracle_sizes_of(const int64_t *list, const oracle_sizes *sizes, int64_t *to) {
    const int rank = f64_list_length(list);
    for (int i = 0; i < rank; i++) to[i] = oracle_size(list[i], sizes);
    to[rank] = WEFT_END;
    return rank;
}

int oracle_given_of(const int64_t *list, const oracle_sizes *sizes, int64_t *to) {
    const int rank = f64_list_length(list);
    for (int i = 0; i < rank; i++) to[i] = oracle_given(list[i], sizes);
    to[rank] = WEFT_END;
    return rank;
}

int64_t oracle_end(int64_t end, const oracle_sizes *sizes) {
    return end > 0 ? oracle_size(end, sizes) : end;
}

int64_t oracle_given_end(int64_t end, const oracle_sizes *sizes) {
    return end > 0 ? oracle_given(end, sizes) : end;
}

double oracle_rounding(const oracle_sizes *sizes, double value) {
    size_t count;
    const f64_narrow_format *const narrow = f64_narrow_formats(&count);
    for (size_t i = 0; i < count; i++)
        if (narrow[i].dtype == sizes->format) return ldexp(fabs(value), -narrow[i].fraction_bits);
    return 0;
}

int oracle_axis(int64_t axis, int rank) {
    return (int)(axis < 0 ? axis + rank : axis);
}

static double magnitude(double a, double b, double c) {
    (void)b, (void)c;
    return fabs(a);
}

f64_array *oracle_magnitudes(const f64_array *a) {
    return f64_map(magnitude, a, NULL, NULL);
}
