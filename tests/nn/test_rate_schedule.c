/* Every schedule follows PyTorch's for 50 steps (tests/golden/make_optimizer_golden.py), and refuses what is
 * no schedule. */
#include "support/checks.h"
#include "support/golden_file.h"
#include <math.h>
#include <weft/weft.h>

static const double tolerance = 1e-6; /* relative */

static const char *const kinds[] = {"constant", "step", "multi_step", "exponential", "cosine",
    "cosine_restarts", "one_cycle", "polynomial", "plateau"};

static weft_schedule_kind kind_of(const cJSON *item) {
    const char *const name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "kind"));
    for (int i = 0; i <= WEFT_SCHEDULE_PLATEAU; i++)
        if (strcmp(kinds[i], name) == 0) return (weft_schedule_kind)i;
    fail_msg("the file has a '%s'", name);
    return WEFT_SCHEDULE_CONSTANT;
}

/* By the constructors, with what they leave at its default set after. */
static weft_schedule read_schedule(const cJSON *item) {
    const uint64_t period = (uint64_t)golden_number(item, "period", 0);
    const float factor = (float)golden_number(item, "factor", 0);
    const float floor_rate = (float)golden_number(item, "floor", 0);
    const cJSON *const milestones = cJSON_GetObjectItemCaseSensitive(item, "milestones");
    uint64_t list[WEFT_MAX_MILESTONES];
    size_t count = 0;
    weft_schedule s = {0};
    switch (kind_of(item)) {
    case WEFT_SCHEDULE_STEP: s = weft_step_schedule(period, factor); break;
    case WEFT_SCHEDULE_MULTI_STEP:
        for (; (int)count < cJSON_GetArraySize(milestones); count++)
            list[count] = (uint64_t)cJSON_GetArrayItem(milestones, (int)count)->valuedouble;
        s = weft_multi_step_schedule(list, count, factor);
        break;
    case WEFT_SCHEDULE_EXPONENTIAL: s = weft_exponential_schedule(factor); break;
    case WEFT_SCHEDULE_COSINE: s = weft_cosine_schedule(period, floor_rate); break;
    case WEFT_SCHEDULE_COSINE_RESTARTS:
        s = weft_cosine_restarts_schedule(
            period, (uint32_t)golden_number(item, "period_factor", 0), floor_rate);
        break;
    case WEFT_SCHEDULE_ONE_CYCLE:
        s = weft_one_cycle_schedule(period);
        assert_true(s.per_step);
        s.rise = (float)golden_number(item, "rise", 0);
        s.divisor = (float)golden_number(item, "divisor", 0);
        s.end_divisor = (float)golden_number(item, "end_divisor", 0);
        break;
    case WEFT_SCHEDULE_POLYNOMIAL:
        s = weft_polynomial_schedule(period, (float)golden_number(item, "power", 0));
        break;
    case WEFT_SCHEDULE_PLATEAU:
        s = weft_plateau_schedule(factor, (uint64_t)golden_number(item, "patience", 0));
        s.threshold = (float)golden_number(item, "threshold", 0);
        s.cooldown = (uint64_t)golden_number(item, "cooldown", 0);
        s.floor = floor_rate;
        break;
    case WEFT_SCHEDULE_CONSTANT: break;
    }
    const double warmup = golden_number(item, "warmup", 0);
    return warmup > 0 ? weft_warmup(s, (uint64_t)warmup, (float)golden_number(item, "warmup_start", 0)) : s;
}

static void all_follow_pytorch(void **state) {
    (void)state;
    cJSON *const golden = golden_file("optimizer_golden.json");
    const cJSON *const cases = cJSON_GetObjectItemCaseSensitive(golden, "schedules");
    const float base = (float)golden_number(golden, "base", 0);
    bool seen[WEFT_SCHEDULE_PLATEAU + 1] = {true}; /* constant is tested below */
    for (int i = 0; i < cJSON_GetArraySize(cases); i++) {
        const cJSON *const item = cJSON_GetArrayItem(cases, i);
        const cJSON *const rates = cJSON_GetObjectItemCaseSensitive(item, "rates");
        const cJSON *const losses = cJSON_GetObjectItemCaseSensitive(item, "losses");
        const weft_schedule schedule = read_schedule(item);
        weft_plateau plateau = {0};
        seen[schedule.kind] = true;
        assert_int_equal(cJSON_GetArraySize(rates), 50);
        for (int t = 0; t < 50; t++) {
            float rate = -1;
            const double expected = cJSON_GetArrayItem(rates, t)->valuedouble;
            if (losses)
                assert_ok(weft_plateau_rate(
                    &schedule, &plateau, base, cJSON_GetArrayItem(losses, t)->valuedouble, &rate));
            else
                assert_ok(weft_schedule_rate(&schedule, base, (uint64_t)t, &rate));
            if (fabs((double)rate - expected) <= tolerance * expected + 1e-12) continue;
            fail_msg("case %d (%s), t = %d: %.9g instead of %.9g", i, kinds[schedule.kind], t, (double)rate,
                expected);
        }
    }
    for (int i = 0; i <= WEFT_SCHEDULE_PLATEAU; i++) assert_true(seen[i]);
    cJSON_Delete(golden);
}

static float rate_at(weft_schedule schedule, uint64_t t) {
    float rate = -1;
    assert_ok(weft_schedule_rate(&schedule, 1, t, &rate));
    return rate;
}

static void ends_are_defined(void **state) {
    (void)state;
    const weft_schedule constant = {0};
    assert_true(rate_at(constant, 0) == 1 && rate_at(constant, UINT64_MAX) == 1);
    assert_true(rate_at(weft_one_cycle_schedule(10), 9) == rate_at(weft_one_cycle_schedule(10), 1000));
    assert_true(rate_at(weft_polynomial_schedule(10, 2), 10) == 0);
    assert_true(rate_at(weft_polynomial_schedule(10, 2), UINT64_MAX) == 0);
    assert_true(rate_at(weft_polynomial_schedule(10, 0), 99) == 1);
    assert_true(rate_at(weft_cosine_restarts_schedule(3, 2, 0), UINT64_MAX) >= 0);
    assert_true(rate_at(weft_cosine_restarts_schedule(1, 1, 0), UINT64_MAX) == 1);
    assert_true(rate_at(weft_exponential_schedule(0.5f), UINT64_MAX) == 0);
    assert_true(rate_at(weft_warmup(constant, 4, 0.5f), 0) == 0.5f);
    assert_true(rate_at(weft_warmup(constant, 4, 0.5f), 4) == 1);
}

static void a_loss_that_is_no_number_is_not_better(void **state) {
    (void)state;
    const weft_schedule schedule = weft_plateau_schedule(0.5f, 1);
    weft_plateau plateau = {0};
    float rate = 0;
    const double losses[] = {(double)NAN, 1.0, (double)NAN, (double)INFINITY, 0.5};
    const float rates[] = {1, 1, 1, 0.5f, 0.5f};
    for (size_t i = 0; i < 5; i++) {
        assert_ok(weft_plateau_rate(&schedule, &plateau, 1, losses[i], &rate));
        if (rate != rates[i]) fail_msg("epoch %zu: %g", i, (double)rate);
    }
}

/* A reward with its sign changed, a log-likelihood: PyTorch's best·(1 - threshold) lies above a best below 0. */
static void losses_below_zero_count_as_those_above(void **state) {
    (void)state;
    const weft_schedule schedule = weft_plateau_schedule(0.5f, 2);
    const struct {
        double losses[5];
        float rate;
    } rows[] = {{{-10, -10, -10, -10, -10}, 0.5f}, {{-10, -9.9995, -9.999, -9.9985, -9.998}, 0.5f},
        {{-10, -10.0005, -10.0005, -10.0005, -10.0005}, 0.5f}, {{-10, -10.002, -10.004, -10.006, -10.008}, 1},
        {{1, -1, -2, -3, -4}, 1}, {{0, 0, 0, 0, 0}, 0.5f}, {{(double)-INFINITY, -1, -1, -1, -1}, 0.5f}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_plateau plateau = {0};
        float rate = 0;
        for (int t = 0; t < 5; t++)
            assert_ok(weft_plateau_rate(&schedule, &plateau, 1, rows[i].losses[t], &rate));
        if (rate != rows[i].rate) fail_msg("losses %zu: %g, not %g", i, (double)rate, (double)rows[i].rate);
        if (plateau.best > rows[i].losses[0]) fail_msg("losses %zu: best is %g", i, plateau.best);
    }
}

static weft_schedule with(weft_schedule schedule, size_t offset, float value) {
    memcpy((char *)&schedule + offset, &value, sizeof value);
    return schedule;
}
#define WITH(schedule, field, value) with(schedule, offsetof(weft_schedule, field), value)

static void bad_values_are_refused(void **state) {
    (void)state;
    const uint64_t falling[] = {5, 3};
    uint64_t many[WEFT_MAX_MILESTONES + 1];
    for (size_t i = 0; i <= WEFT_MAX_MILESTONES; i++) many[i] = i;
    weft_schedule per_step = weft_plateau_schedule(0.5f, 1);
    per_step.per_step = true;
    const weft_schedule unknown = {.kind = (weft_schedule_kind)99};
    const struct {
        weft_schedule schedule;
        const char *part;
    } rows[] = {
        {weft_step_schedule(0, 0.5f), "period is 0, expected 1"},
        {weft_step_schedule(3, 0), "factor is 0"},
        {weft_step_schedule(3, NAN), "factor"},
        {weft_step_schedule(3, -0.5f), "factor is -0.5, expected above 0"},
        {weft_multi_step_schedule(NULL, 0, 0.5f), "milestone_count is 0, expected 1 to 16"},
        {weft_multi_step_schedule(many, WEFT_MAX_MILESTONES + 1, 0.5f), "milestone_count is 17"},
        {weft_multi_step_schedule(falling, 2, 0.5f), "milestone 1 is 3, but the one before is 5"},
        {weft_multi_step_schedule(many, 2, INFINITY), "factor is inf"},
        {weft_exponential_schedule(0), "factor"},
        {weft_cosine_schedule(0, 0), "period"},
        {weft_cosine_schedule(5, -1), "floor is -1"},
        {weft_cosine_schedule(5, NAN), "floor"},
        {weft_cosine_restarts_schedule(0, 1, 0), "period is 0"},
        {weft_cosine_restarts_schedule(5, 0, 0), "period_factor is 0, expected 1"},
        {weft_one_cycle_schedule(0), "period is 0, expected 2"},
        {weft_one_cycle_schedule(3), "rise is 0.3 with a period of 3 steps"},
        {WITH(weft_one_cycle_schedule(50), divisor, 0), "divisor is 0"},
        {WITH(weft_one_cycle_schedule(50), end_divisor, NAN), "end_divisor"},
        {WITH(weft_one_cycle_schedule(50), rise, 1.5f), "rise is 1.5"},
        {WITH(weft_one_cycle_schedule(50), rise, 1), "rise is 1 with a period of 50"},
        {weft_polynomial_schedule(0, 1), "period"},
        {weft_polynomial_schedule(5, -1), "power is -1"},
        {weft_warmup(weft_step_schedule(3, 0.5f), 5, 0), "warmup_start is 0"},
        {weft_warmup(weft_step_schedule(3, 0.5f), 5, 1.5f), "warmup_start is 1.5"},
        {weft_warmup(weft_step_schedule(3, 0.5f), 5, NAN), "warmup_start"},
        {weft_plateau_schedule(1, 3), "factor is 1, expected below 1 for a plateau"},
        {weft_plateau_schedule(0, 3), "factor is 0"},
        {WITH(weft_plateau_schedule(0.5f, 3), threshold, 1), "threshold is 1"},
        {WITH(weft_plateau_schedule(0.5f, 3), threshold, NAN), "threshold"},
        {WITH(weft_plateau_schedule(0.5f, 3), floor, -1), "floor is -1"},
        {weft_warmup(weft_plateau_schedule(0.5f, 3), 5, 0.5f), "a plateau counts epochs"},
        {per_step, "a plateau counts epochs"},
        {weft_plateau_schedule(0.5f, 3), "weft_plateau_rate"},
        {unknown, "kind is 99"},
    };
    float rate = -1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_fails(
            weft_schedule_rate(&rows[i].schedule, 0.1f, 0, &rate), WEFT_ERROR_ARGUMENT, rows[i].part);
    const weft_schedule good = weft_step_schedule(3, 0.5f), plateau = weft_plateau_schedule(0.5f, 3);
    weft_plateau memory = {0};
    assert_fails(weft_schedule_rate(&good, NAN, 0, &rate), WEFT_ERROR_ARGUMENT, "base rate");
    assert_fails(weft_schedule_rate(&good, -1, 0, &rate), WEFT_ERROR_ARGUMENT, "base rate is -1");
    assert_fails(weft_schedule_rate(NULL, 1, 0, &rate), WEFT_ERROR_ARGUMENT, "NULL");
    assert_fails(weft_schedule_rate(&good, 1, 0, NULL), WEFT_ERROR_ARGUMENT, "NULL");
    assert_fails(weft_plateau_rate(&good, &memory, 1, 1, &rate), WEFT_ERROR_ARGUMENT, "not a plateau");
    assert_fails(weft_plateau_rate(&plateau, NULL, 1, 1, &rate), WEFT_ERROR_ARGUMENT, "NULL");
    assert_fails(weft_plateau_rate(&plateau, &memory, NAN, 1, &rate), WEFT_ERROR_ARGUMENT, "base rate");
    assert_true(rate == -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_follow_pytorch),
        cmocka_unit_test(ends_are_defined),
        cmocka_unit_test(a_loss_that_is_no_number_is_not_better),
        cmocka_unit_test(losses_below_zero_count_as_those_above),
        cmocka_unit_test(bad_values_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
