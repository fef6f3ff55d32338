/* Drawn trainings: a network, an optimizer with its options, precision, schedule and gradient shards are drawn, and computed on one device
 * without a limit and without an interruption. At drawn other places, which are several devices, several processes that are threads, a memory
 * limit, divided states of the optimizer, and a checkpoint between two of them, it ends with the same bits, or refuses in one line.
 * WEFT_TEST_TRAININGS=FIRST:COUNT tests others. */
/* test slow */
#include "drawn_trainings.h"
#include "support/thread_ranks.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 9 };

/* ---- drawing ---- */

static bool chance(test_random *random, int64_t of) {
    return test_random_below(random, of) == 0;
}

static weft_optimizer draw_optimizer(test_random *random) {
    static const weft_parameter_group groups[] = {
        {.parameters = "*bias", .rate_factor = 2, .weight_decay = 0}};
    const weft_optimizer kinds[] = {weft_sgd(0.05f), weft_sgd_momentum(0.05f, 0.9f, 0.01f), weft_adam(1e-2f),
        weft_adam(1e-2f), weft_adamw(1e-2f, 0.1f), weft_nadam(1e-2f), weft_rmsprop(1e-3f),
        weft_adagrad(1e-2f), weft_adadelta(1), weft_lamb(1e-2f, 0.01f), weft_lion(1e-3f, 0.01f)};
    weft_optimizer o = kinds[test_random_below(random, sizeof kinds / sizeof *kinds)];
    if (chance(random, 3)) o.clip_norm = 0.5f;
    if (chance(random, 6)) o.clip_value = 0.02f;
    if (chance(random, 3)) o.accumulate = 2 + (uint32_t)test_random_below(random, 2);
    if (chance(random, 4)) o.average_decay = 0.9f;
    if (chance(random, 5)) o.groups = groups, o.group_count = 1;
    return o;
}

static weft_schedule draw_schedule(test_random *random) {
    const weft_schedule kinds[] = {{0}, {0}, weft_exponential_schedule(0.7f),
        weft_per_step(weft_cosine_schedule(7, 0.1f)), weft_plateau_schedule(0.5f, 0),
        weft_warmup(weft_per_step(weft_step_schedule(3, 0.5f)), 2, 0.1f)};
    return kinds[test_random_below(random, sizeof kinds / sizeof *kinds)];
}

static drawn_training draw_training(test_random *random, uint64_t number) {
    static const size_t shards[] = {1, 2, 3, 4, 6, 12};
    static const weft_precision precisions[] = {
        WEFT_PRECISION_F32, WEFT_PRECISION_F32, WEFT_PRECISION_BF16, WEFT_PRECISION_F16};
    drawn_training t = {
        .number = number, .network = (drawn_network)test_random_below(random, DRAWN_NETWORKS)};
    t.optimizer = draw_optimizer(random);
    t.shards = shards[test_random_below(random, 6)];
    t.exchange = chance(random, 5) ? WEFT_BF16 : WEFT_F32;
    t.precision = precisions[test_random_below(random, 4)];
    t.schedule = draw_schedule(random);
    t.keeps_order = chance(random, 4);
    t.drops_last = chance(random, 4);
    t.watches = chance(random, 4);
    t.sparse = chance(random, 4);
    t.measures = chance(random, 3);
    return t;
}

/* Place 0 is on one device without a limit. */
static drawn_place draw_place(test_random *random, const drawn_training *t, const drawn_outcome *plain) {
    drawn_place place = {.devices = 1, .ranks = 1};
    const size_t most = t->shards < THREAD_RANKS ? t->shards : THREAD_RANKS;
    place.ranks = 1 + (size_t)test_random_below(random, (int64_t)most);
    place.devices = 1 + (size_t)test_random_below(random, (int64_t)(most / place.ranks));
    const weft_optimizer *const o = &t->optimizer;
    const bool may_divide = o->kind != WEFT_LAMB;
    place.shard_optimizer = place.ranks > 1 && chance(random, may_divide ? 2 : 8);
    const size_t percent = 30 + (size_t)test_random_below(random, 60);
    if (chance(random, 2)) place.limit = plain->peak * percent / 100;
    if (!place.limit && chance(random, 4)) place.plan_limit = plain->peak * percent / 100;
    return place;
}

/* ---- judging ---- */

static char about[1024];

static void describe(const drawn_training *t, const drawn_leg *legs, size_t count) {
    const weft_optimizer *const o = &t->optimizer;
    size_t at = (size_t)snprintf(about, sizeof about,
        "training %llu: network %d, optimizer %d (clip %g %g, accumulate %u, average %g, groups %zu), %zu "
        "shards, "
        "exchange %d, precision %d, schedule %d, order %d, drop %d, watches %d, "
        "sparse %d, measures %d;",
        (unsigned long long)t->number, (int)t->network, (int)o->kind, (double)o->clip_norm,
        (double)o->clip_value, o->accumulate, (double)o->average_decay, o->group_count, t->shards,
        (int)t->exchange, (int)t->precision, (int)t->schedule.kind, t->keeps_order, t->drops_last, t->watches,
        t->sparse, t->measures);
    for (size_t i = 0; i < count; i++)
        at += (size_t)snprintf(about + at, sizeof about - at,
            " %zu ranks of %zu devices, limits %zu %zu, divided states %d, until %zu;", legs[i].place.ranks,
            legs[i].place.devices, legs[i].place.limit, legs[i].place.plan_limit,
            legs[i].place.shard_optimizer, legs[i].until);
}

/* The number after a name in the text of a checkpoint becomes zeros. */
static void forget_number(unsigned char *file, size_t bytes, const char *name) {
    const size_t length = strlen(name);
    for (size_t i = 0; i + length + 40 < bytes; i++) {
        if (memcmp(file + i, name, length) != 0) continue;
        for (size_t k = i + length + 3; file[k] != '"' && k < bytes; k++) file[k] = '0';
        return;
    }
}

static size_t data_of(const drawn_outcome *it) {
    uint64_t bytes = 0;
    memcpy(&bytes, it->file, sizeof bytes);
    return (size_t)bytes + sizeof bytes;
}

static void assert_same_file(const drawn_outcome *one, const drawn_outcome *other) {
    const size_t a = data_of(one), b = data_of(other);
    if (one->file_bytes - a != other->file_bytes - b)
        fail_msg("%s\ncheckpoints have %zu and %zu bytes", about, one->file_bytes - a, other->file_bytes - b);
    for (size_t i = 0; a + i < one->file_bytes; i++)
        if (one->file[a + i] != other->file[b + i])
            fail_msg("%s\nbyte %zu of the checkpoint's %zu differs", about, i, one->file_bytes - a);
    forget_number(one->file, a, "trainer.seconds");
    forget_number(other->file, b, "trainer.seconds");
}

static bool same_number(double one, double other) {
    return memcmp(&one, &other, sizeof one) == 0 || (isnan(one) && isnan(other));
}

static void assert_same_numbers(const drawn_outcome *one, const drawn_outcome *other) {
    for (size_t e = 0; e < DRAWN_EPOCHS; e++)
        for (size_t i = 0; i < DRAWN_NUMBERS; i++)
            if (!same_number(one->epochs[e][i], other->epochs[e][i]))
                fail_msg("%s\nnumber %zu of epoch %zu is %.17g, not %.17g", about, i, e, other->epochs[e][i],
                    one->epochs[e][i]);
    for (size_t i = 0; i < 2; i++)
        if (!same_number(one->evaluated[i], other->evaluated[i]))
            fail_msg("%s\nevaluated number %zu is %.17g, not %.17g", about, i, other->evaluated[i],
                one->evaluated[i]);
}

/* The bits are the same, unless the plan divided the batch into micro-batches: then results differ by rounding. */
static void assert_same(const drawn_outcome *one, const drawn_outcome *other) {
    assert_int_equal(one->weight_count, other->weight_count);
    const bool exact = other->micro_batches == 1 && one->micro_batches == 1;
    for (size_t i = 0; i < one->weight_count; i++) {
        const double a = (double)one->weights[i], b = (double)other->weights[i];
        const double far = exact ? 0 : 0.05 * fmax(1, fabs(a));
        if (!(fabs(a - b) <= far)) fail_msg("%s\nweight %zu is %.9g, not %.9g", about, i, b, a);
    }
    if (!exact) return;
    assert_same_numbers(one, other);
    assert_same_file(one, other);
}

/* The number after "at least" in an error line, which names a limit that suffices. */
static size_t least_of(const char *line) {
    size_t least = 0;
    const char *const words = strstr(line, "at least ");
    return words && sscanf(words, "at least %zu bytes", &least) == 1 ? least : 0;
}

/* Options that do not go together are refused when the trainer is created. */
static bool is_refusal(const drawn_outcome *it) {
    return (it->status == WEFT_ERROR_UNSUPPORTED || it->status == WEFT_ERROR_ARGUMENT) &&
           strstr(it->line, "weft_trainer_create") && !strchr(it->line, '\n');
}

static size_t tried, refused;

/* Raises limits that are too small to what the error lines name. */
static drawn_outcome run_within(const drawn_training *t, drawn_leg *legs, size_t count) {
    drawn_outcome it = drawn_run(t, legs, count);
    for (int round = 0; it.status == WEFT_ERROR_MEMORY_LIMIT && round < 12; round++) {
        const size_t least = least_of(it.line);
        if (least == 0) break;
        for (size_t i = 0; i < count; i++) {
            drawn_place *const place = &legs[i].place;
            if (place->limit && place->limit < least) place->limit = least;
            if (place->plan_limit && place->plan_limit < least) place->plan_limit = least;
        }
        drawn_outcome_clear(&it);
        it = drawn_run(t, legs, count);
    }
    describe(t, legs, count);
    return it;
}

static void check_place(const drawn_training *t, const drawn_outcome *plain, test_random *random) {
    drawn_leg legs[2] = {{draw_place(random, t, plain), SIZE_MAX}, {draw_place(random, t, plain), SIZE_MAX}};
    const size_t count = 1 + (size_t)test_random_below(random, 2);
    if (count == 2) legs[0].until = 1 + (size_t)test_random_below(random, STEPS - 1);
    describe(t, legs, count);
    drawn_outcome it = run_within(t, legs, count);
    tried++;
    if (getenv("WEFT_TEST_VERBOSE"))
        fprintf(stderr, "%s\n  %s, micro-batches %d, host bytes %zu, peak %zu\n", about,
            it.status ? it.line : "ok", (int)it.micro_batches, it.host_bytes, it.peak);
    if (it.status != WEFT_OK) {
        if (!is_refusal(&it)) fail_msg("%s\nends with %s: %s", about, weft_status_name(it.status), it.line);
        refused++;
    } else
        assert_same(plain, &it);
    drawn_outcome_clear(&it);
}

static void check_training(uint64_t number) {
    test_random random = test_random_named("drawn trainings", number + 1);
    random.state = test_random_bits(&random);
    const drawn_training t = draw_training(&random, number);
    const drawn_leg whole = {{.devices = 1, .ranks = 1}, SIZE_MAX};
    describe(&t, &whole, 1);
    drawn_outcome plain = drawn_run(&t, &whole, 1);
    if (plain.status != WEFT_OK && !is_refusal(&plain)) fail_msg("%s\n%s", about, plain.line);
    if (getenv("WEFT_TEST_VERBOSE")) fprintf(stderr, "%s\n  %s\n", about, plain.status ? plain.line : "ok");
    for (int place = 0; plain.status == WEFT_OK && place < 2; place++) check_place(&t, &plain, &random);
    drawn_outcome_clear(&plain);
}

static void trainings_end_alike_wherever_they_are_computed(void **state) {
    unsigned long long first = 20, count = test_reduced() ? 2 : 10;
    const char *const asked = getenv("WEFT_TEST_TRAININGS");
    (void)state;
    if (asked) assert_int_equal(sscanf(asked, "%llu:%llu", &first, &count), 2);
    for (uint64_t i = first; i < first + count; i++) check_training(i);
    print_message("%zu of %zu places refused a training\n", refused, tried);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(trainings_end_alike_wherever_they_are_computed)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
