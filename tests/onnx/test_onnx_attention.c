/* Attention, rotary embeddings and sums of products of ONNX against their definitions in double precision. */
#include "support/fixture.h"
#include "support/onnx_case.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static onnx_bytes file;

static void fill(const char *name, double *numbers, size_t count) {
    test_random random = test_random_named(name, 0);
    for (size_t i = 0; i < count; i++) numbers[i] = (double)(float)test_random_between(&random, -2, 2);
}

/* ---- attention ---- */

enum {
    N = 2,
    HEADS = 4,
    SHARED = 2,
    QUERIES = 3,
    OWN = 5,
    PAST = 2,
    MOST_KEYS = OWN + PAST,
    WIDTH = 4,
    FEW = 3
};

/* What the nodes take: q (N, HEADS, QUERIES, WIDTH), k and v (N, SHARED, OWN, WIDTH), a past of PAST keys, a mask of bools and of
 * floats for OWN keys, for all of them and for FEW, and numbers of keys. */
static struct {
    double q[N][HEADS][QUERIES][WIDTH], k[N][SHARED][OWN][WIDTH], v[N][SHARED][OWN][WIDTH];
    double past_k[N][SHARED][PAST][WIDTH], past_v[N][SHARED][PAST][WIDTH];
    double bools[QUERIES][MOST_KEYS], floats[QUERIES][MOST_KEYS];
    double few_bools[QUERIES][FEW], few_floats[QUERIES][FEW], own_bools[QUERIES][OWN],
        own_floats[QUERIES][OWN];
    double lengths[N];
} given;

typedef struct attention {
    const char *attributes, *mask;
    double scale, softcap;
    bool causal, past, lengths, flat;
    int mode; /* of the fourth output; -1: it is not wanted */
} attention;

static const attention attentions[] = {{"scale=0.3", "", 0.3, 0, false, false, false, false, -1},
    {"qk_matmul_output_mode=0", "", 0.5, 0, false, false, false, false, 0},
    {"", "own_bools", 0.5, 0, false, false, false, false, -1},
    {"qk_matmul_output_mode=3", "own_floats", 0.5, 0, false, false, false, false, 3},
    {"is_causal=1", "", 0.5, 0, true, false, false, false, -1},
    {"is_causal=1 qk_matmul_output_mode=3", "own_bools", 0.5, 0, true, false, false, false, 3},
    {"is_causal=1 qk_matmul_output_mode=3", "own_floats", 0.5, 0, true, false, false, false, 3},
    {"is_causal=1", "bools", 0.5, 0, true, true, false, false, -1},
    {"is_causal=1", "", 0.5, 0, true, true, false, false, -1},
    {"", "own_floats", 0.5, 0, false, false, true, false, -1},
    {"", "few_bools", 0.5, 0, false, false, false, false, -1},
    {"", "few_floats", 0.5, 0, false, false, false, false, -1},
    {"softcap=1.5 qk_matmul_output_mode=3", "", 0.5, 1.5, false, false, false, false, 3},
    {"softcap=1.5 qk_matmul_output_mode=2", "", 0.5, 1.5, false, false, false, false, 2},
    {"q_num_heads=4 kv_num_heads=2", "", 0.5, 0, false, false, false, true, -1}};
enum { ATTENTIONS = sizeof attentions / sizeof *attentions };

/* What the mask adds to the score of a query and a key. */
static double masked(const attention *a, int query, int key) {
    const double away = -(double)INFINITY;
    if (strcmp(a->mask, "own_bools") == 0) return given.own_bools[query][key] != 0 ? 0 : away;
    if (strcmp(a->mask, "own_floats") == 0) return given.own_floats[query][key];
    if (strcmp(a->mask, "bools") == 0) return given.bools[query][key] != 0 ? 0 : away;
    if (strcmp(a->mask, "few_bools") == 0) return key < FEW && given.few_bools[query][key] != 0 ? 0 : away;
    if (strcmp(a->mask, "few_floats") == 0) return key < FEW ? given.few_floats[query][key] : away;
    return 0;
}

static const double *key_of(int n, int head, int key, bool past, bool of_values) {
    const int shared = head / (HEADS / SHARED);
    if (past && key < PAST) return of_values ? given.past_v[n][shared][key] : given.past_k[n][shared][key];
    return of_values ? given.v[n][shared][key - (past ? PAST : 0)]
                     : given.k[n][shared][key - (past ? PAST : 0)];
}

/* One query: its result, and the numbers of the fourth output. */
static void attend(const attention *a, int n, int head, int query, double *y, double *shown) {
    const int keys = OWN + (a->past ? PAST : 0);
    double weight[MOST_KEYS], all = 0, most = -(double)INFINITY;
    memset(y, 0, WIDTH * sizeof *y);
    for (int key = 0; key < keys; key++) {
        double score = 0;
        for (int d = 0; d < WIDTH; d++)
            score += given.q[n][head][query][d] * key_of(n, head, key, a->past, false)[d] * a->scale;
        if (a->softcap != 0) score = a->softcap * tanh(score / a->softcap);
        shown[key] = score;
        if (a->causal && key > query + (a->past ? PAST : 0)) score = -(double)INFINITY;
        if (a->lengths && key >= (int)given.lengths[n]) score = -(double)INFINITY;
        weight[key] = score + masked(a, query, key);
        most = fmax(most, weight[key]);
    }
    for (int key = 0; key < keys; key++) all += exp(weight[key] - most);
    for (int key = 0; key < keys; key++) {
        const double p = isinf(most) ? 0 : exp(weight[key] - most) / all;
        if (a->mode == 3) shown[key] = p;
        for (int d = 0; d < WIDTH; d++) y[d] += p * key_of(n, head, key, a->past, true)[d];
    }
}

static void fill_given(void) {
    fill("q", &given.q[0][0][0][0], sizeof given.q / sizeof(double));
    fill("k", &given.k[0][0][0][0], sizeof given.k / sizeof(double));
    fill("v", &given.v[0][0][0][0], sizeof given.v / sizeof(double));
    fill("past k", &given.past_k[0][0][0][0], sizeof given.past_k / sizeof(double));
    fill("past v", &given.past_v[0][0][0][0], sizeof given.past_v / sizeof(double));
    fill("own", &given.own_floats[0][0], QUERIES * OWN);
    fill("few", &given.few_floats[0][0], QUERIES * FEW);
    for (int i = 0; i < QUERIES; i++) {
        /* The second query has no key at all. */
        for (int j = 0; j < MOST_KEYS; j++) given.bools[i][j] = i != 1 && (i + j) % 3 != 1;
        for (int j = 0; j < OWN; j++) given.own_bools[i][j] = i != 1 && (i + 2 * j) % 3 != 1;
        for (int j = 0; j < FEW; j++) given.few_bools[i][j] = i == j || j == 0;
    }
    given.lengths[0] = 4, given.lengths[1] = 1;
}

/* q, k and v with the heads side by side are made by nodes of the network. */
static void put_flat(void) {
    static const double three[] = {0, 0, -1};
    static const char *const names[] = {"q", "k", "v"};
    onnx_case_constant(&file, "flat", CASE_INT64, "3", three);
    for (int i = 0; i < 3; i++) {
        char moved[8], flat[8], in[16];
        snprintf(moved, sizeof moved, "%s_m", names[i]);
        snprintf(flat, sizeof flat, "%s_f", names[i]);
        snprintf(in, sizeof in, "%s flat", moved);
        onnx_case_node(&file, "Transpose", names[i], moved, "perm=[0,2,1,3]");
        onnx_case_node(&file, "Reshape", in, flat, "");
    }
}

#define TAKE(array) ((onnx_case_input){(const double *)(array), sizeof(array) / sizeof(double)})

static void write_attentions(onnx_case_input *inputs) {
    const size_t model = onnx_begin_model(&file);
    const onnx_case_input all[] = {TAKE(given.q), TAKE(given.k), TAKE(given.v), TAKE(given.past_k),
        TAKE(given.past_v), TAKE(given.own_bools), TAKE(given.own_floats), TAKE(given.bools),
        TAKE(given.few_bools), TAKE(given.few_floats), TAKE(given.lengths)};
    memcpy(inputs, all, sizeof all);
    onnx_input(&file, "q", "2 4 3 4");
    onnx_input(&file, "k", "2 2 5 4");
    onnx_input(&file, "v", "2 2 5 4");
    onnx_input(&file, "past_k", "2 2 2 4");
    onnx_input(&file, "past_v", "2 2 2 4");
    onnx_input_typed(&file, "own_bools", CASE_BOOL, "3 5");
    onnx_input(&file, "own_floats", "3 5");
    onnx_input_typed(&file, "bools", CASE_BOOL, "3 7");
    onnx_input_typed(&file, "few_bools", CASE_BOOL, "3 3");
    onnx_input(&file, "few_floats", "3 3");
    onnx_input_typed(&file, "lengths", CASE_INT64, "2");
    put_flat();
    for (int i = 0; i < ATTENTIONS; i++) {
        const attention *const a = &attentions[i];
        char in[96], out[64], y[16], shown[16], k[16];
        snprintf(y, sizeof y, "y%d", i);
        snprintf(shown, sizeof shown, "s%d", i);
        snprintf(k, sizeof k, "k%d", i);
        snprintf(in, sizeof in, "%s %s %s %s %s", a->flat ? "q_f k_f v_f" : "q k v", *a->mask ? a->mask : "-",
            a->past ? "past_k" : "-", a->past ? "past_v" : "-", a->lengths ? "lengths" : "-");
        snprintf(out, sizeof out, a->mode >= 0 ? "%s %s - %s" : "%s %s", y, k, shown);
        onnx_case_node(&file, "Attention", in, out, a->attributes);
        onnx_output(&file, y);
        onnx_output(&file, k);
        if (a->mode >= 0) onnx_output(&file, shown);
    }
    onnx_end_model(&file, model);
}

static void test_attention(void **state) {
    static onnx_case_result results[3 * ATTENTIONS];
    onnx_case_input inputs[11];
    const onnx_case_result *result = results;
    (void)state;
    fill_given();
    write_attentions(inputs);
    onnx_case_run(&file, inputs, results);
    for (int i = 0; i < ATTENTIONS; i++) {
        const attention *const a = &attentions[i];
        const int keys = OWN + (a->past ? PAST : 0);
        double y[N * HEADS * QUERIES * WIDTH], shown[N * HEADS * QUERIES * MOST_KEYS],
            k[N * SHARED * MOST_KEYS * WIDTH];
        char what[96];
        for (int at = 0; at < N * HEADS * QUERIES; at++) {
            const int n = at / HEADS / QUERIES, head = at / QUERIES % HEADS, query = at % QUERIES;
            const int to = a->flat ? (n * QUERIES + query) * HEADS + head : at;
            attend(a, n, head, query, y + to * WIDTH, shown + at * keys);
        }
        for (int at = 0; at < N * SHARED * keys; at++)
            memcpy(k + at * WIDTH,
                key_of(at / keys / SHARED, at / keys % SHARED * (HEADS / SHARED), at % keys, a->past, false),
                WIDTH * sizeof *k);
        snprintf(what, sizeof what, "attention %d (%s %s)", i, a->attributes, a->mask);
        onnx_case_compare(what, result++, y, N * HEADS * QUERIES * WIDTH, 1e-5);
        onnx_case_compare(what, result++, k, (size_t)(N * SHARED * keys * WIDTH), 0);
        if (a->mode >= 0)
            onnx_case_compare(what, result++, shown, (size_t)(N * HEADS * QUERIES * keys), 1e-5);
    }
}

/* ---- rotary embeddings ---- */

enum { LENGTH = 3, PLACES = 6 };
static double x[N][HEADS][LENGTH][WIDTH], cosine[PLACES][WIDTH / 2], sine[PLACES][WIDTH / 2];
static const double places[N][LENGTH] = {{0, 5, 2}, {1, 1, 4}};

/* The first `width` elements of a head at a position. */
static void turn(const double *from, double *to, int place, int width, bool neighbours) {
    const int half = width / 2;
    memcpy(to, from, WIDTH * sizeof *to);
    for (int i = 0; i < half; i++) {
        const int a = neighbours ? 2 * i : i, b = neighbours ? 2 * i + 1 : i + half;
        to[a] = cosine[place][i] * from[a] - sine[place][i] * from[b];
        to[b] = sine[place][i] * from[a] + cosine[place][i] * from[b];
    }
}

static void test_rotary(void **state) {
    static onnx_case_result results[4];
    static const double one[] = {1}, begin[] = {0}, turned[] = {0, 0, -1};
    double y[N * HEADS * LENGTH * WIDTH];
    (void)state;
    fill("x", &x[0][0][0][0], sizeof x / sizeof(double));
    fill("cosine", &cosine[0][0], PLACES * WIDTH / 2);
    fill("sine", &sine[0][0], PLACES * WIDTH / 2);
    const size_t model = onnx_begin_model(&file);
    onnx_input(&file, "x", "2 4 3 4");
    onnx_input(&file, "c", "6 2");
    onnx_input(&file, "s", "6 2");
    onnx_input_typed(&file, "places", CASE_INT64, "2 3");
    onnx_case_constant(&file, "one", CASE_INT64, "1", one);
    onnx_case_constant(&file, "zero", CASE_INT64, "1", begin);
    onnx_case_constant(&file, "turned", CASE_INT64, "3", turned);
    onnx_case_node(&file, "Transpose", "x", "x_m", "perm=[0,2,1,3]");
    onnx_case_node(&file, "Reshape", "x_m turned", "x_f", "");
    onnx_case_node(&file, "Slice", "c zero one one", "c1", "");
    onnx_case_node(&file, "Slice", "s zero one one", "s1", "");
    onnx_case_node(&file, "RotaryEmbedding", "x c s places", "a", "");
    onnx_case_node(&file, "RotaryEmbedding", "x c1 s1 places", "b", "interleaved=1 rotary_embedding_dim=2");
    onnx_case_node(&file, "RotaryEmbedding", "x_f c s places", "d", "interleaved=1");
    onnx_case_node(&file, "RotaryEmbedding", "x_f c s places", "e", "num_heads=4");
    for (const char *name = "abde"; *name; name++) onnx_output(&file, (const char[]){*name, 0});
    onnx_end_model(&file, model);
    const onnx_case_input inputs[] = {TAKE(x), TAKE(cosine), TAKE(sine), TAKE(places)};
    onnx_case_run(&file, inputs, results);
    for (int i = 0; i < 4; i++) {
        for (int at = 0; at < N * HEADS * LENGTH; at++) {
            const int n = at / HEADS / LENGTH, head = at / LENGTH % HEADS, l = at % LENGTH;
            const int to = i < 2 ? at : (n * LENGTH + l) * HEADS + head;
            turn(x[n][head][l], y + to * WIDTH, (int)places[n][l], i == 1 ? 2 : WIDTH, i == 1 || i == 2);
        }
        onnx_case_compare("RotaryEmbedding", &results[i], y, N * HEADS * LENGTH * WIDTH, 1e-5);
    }
}

/* ---- sums of products ---- */

/* The equations have operands m (2, 3), n (3, 4), o (4, 2), t (2, 3, 2) and u (3). */
static void test_einsum(void **state) {
    static const char *const equations[][2] = {{"ab,bc,cd->ad", "m n o"}, {"ab,bc,cd", "m n o"},
        {"ab,bc,cd->da", "m n o"}, {"...a,ab,b->...", "m n q"}, {"...ab,bc,a", "t o2 u"}};
    static onnx_case_result results[5];
    double m[2][3], n[3][4], o[4][2], t[2][3][2], u[3], q[4], o2[2][2], wanted[4][8] = {{0}}, other[4] = {0};
    (void)state;
    fill("m", &m[0][0], 6), fill("n", &n[0][0], 12), fill("o", &o[0][0], 8), fill("t", &t[0][0][0], 12);
    fill("u", u, 3), fill("r", q, 4), fill("o2", &o2[0][0], 4);
    const size_t model = onnx_begin_model(&file);
    onnx_input(&file, "m", "2 3"), onnx_input(&file, "n", "3 4"), onnx_input(&file, "o", "4 2");
    onnx_input(&file, "t", "2 3 2"), onnx_input(&file, "u", "3"), onnx_input(&file, "q", "4");
    onnx_input(&file, "o2", "2 2");
    for (int i = 0; i < 5; i++) {
        char attribute[64], y[] = {'y', (char)('0' + i), 0};
        snprintf(attribute, sizeof attribute, "equation=%s", equations[i][0]);
        onnx_case_node(&file, "Einsum", equations[i][1], y, attribute);
        onnx_output(&file, y);
    }
    onnx_end_model(&file, model);
    const onnx_case_input inputs[] = {TAKE(m), TAKE(n), TAKE(o), TAKE(t), TAKE(u), TAKE(q), TAKE(o2)};
    onnx_case_run(&file, inputs, results);
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 3; b++)
            for (int c = 0; c < 4; c++) {
                for (int d = 0; d < 2; d++) {
                    wanted[0][a * 2 + d] += m[a][b] * n[b][c] * o[c][d];
                    wanted[1][d * 2 + a] += m[a][b] * n[b][c] * o[c][d];
                }
                wanted[2][a] += m[a][b] * n[b][c] * q[c];
            }
    for (int e = 0; e < 2; e++)
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 2; b++)
                for (int c = 0; c < 2; c++) other[e * 2 + c] += t[e][a][b] * o2[b][c] * u[a];
    onnx_case_compare(equations[0][0], &results[0], wanted[0], 4, 1e-5);
    onnx_case_compare(equations[1][0], &results[1], wanted[0], 4, 1e-5);
    onnx_case_compare(equations[2][0], &results[2], wanted[1], 4, 1e-5);
    onnx_case_compare(equations[3][0], &results[3], wanted[2], 2, 1e-5);
    onnx_case_compare(equations[4][0], &results[4], other, 4, 1e-5);
}

/* ---- refusals ---- */

static const struct {
    const char *op, *inputs, *attributes, *error;
} refused[] = {
    {"Attention", "q k k", "is_causal=1 qk_matmul_output_mode=1", "is not the same in all versions"},
    {"Attention", "q k k", "left_window_size=2", "are not the same in all versions"},
    {"Attention", "q k k mask1", "", "a mask whose last axis has the size 1"},
    {"Attention", "q odd odd", "", "cannot be divided into its heads"},
    {"Attention", "flat flat flat", "q_num_heads=3 kv_num_heads=3", "cannot be divided into its heads"},
    {"RotaryEmbedding", "q c c", "rotary_embedding_dim=8", "its caches do not match its heads"},
    {"Einsum", "c c c", "equation=ab,bc->ac", "its equation does not match its operands"},
    {"Einsum", "c c c", "equation=ab,bc,c!->a", "its equation does not match its operands"},
    {"Einsum", "c c c", "equation=ab,...bcd,ce->a", "its equation does not match its operands"},
    {"Einsum", "r r r r", "equation=abcde,fghij,abcde,fghij->", "has too many axes"},
    {"Einsum", "c", "", "its equation is missing"}};

static void test_refusals(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const size_t model = onnx_begin_model(&file);
        onnx_input(&file, "q", "2 4 3 4");
        onnx_input(&file, "k", "2 2 5 4");
        onnx_input(&file, "odd", "2 3 5 4");
        onnx_input(&file, "flat", "2 3 16");
        onnx_input(&file, "mask1", "3 1");
        onnx_input(&file, "c", "2 2");
        onnx_input(&file, "r", "2 2 2 2 2");
        onnx_case_node(
            &file, refused[i].op, refused[i].inputs, i == 0 ? "y - - s" : "y", refused[i].attributes);
        onnx_output(&file, "y");
        if (i == 0) onnx_output(&file, "s");
        onnx_end_model(&file, model);
        onnx_case_refused(&file, refused[i].op, refused[i].error);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_attention), cmocka_unit_test(test_rotary),
        cmocka_unit_test(test_einsum), cmocka_unit_test(test_refusals)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
