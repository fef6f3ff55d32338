/* Numbers of many elements have the bits that philox.h and wi_fmaf give for each element alone. */
#include "support/fixture.h"

#include "base/draws.h"
#include "base/philox.h"
#include "base/portable_math.h"
#include <math.h>
#include <string.h>

static float alone(const wi_draws *how, uint64_t index) {
    uint32_t words[4] = {(uint32_t)index, (uint32_t)(index >> 32), how->stream, how->last};
    wi_philox(words, how->seed);
    const float number = how->normal ? wi_normal_of(words[0], words[1]) : wi_uniform_of(words[0]);
    return wi_fmaf(number, how->scale, how->add);
}

static void check(const wi_draws *how, uint64_t first, size_t count) {
    static float got[1024];
    assert_true(count < 1024);
    got[count] = 123;
    wi_draw(how, first, count, got);
    for (size_t i = 0; i < count; i++) {
        const float wanted = alone(how, first + i);
        if (memcmp(&got[i], &wanted, sizeof wanted) != 0)
            fail_msg(
                "element %llu: %a, not %a", (unsigned long long)(first + i), (double)got[i], (double)wanted);
    }
    assert_true(got[count] == 123);
}

static const wi_draws kinds[] = {
    {.seed = 42, .stream = 3, .last = UINT32_MAX, .normal = true, .scale = 0.02f, .add = 0},
    {.seed = 0x123456789ABCDEFu, .stream = 0, .last = 5, .normal = true, .scale = 1.7f, .add = -0.3f},
    {.seed = 42, .stream = 3, .last = UINT32_MAX, .scale = 0.2f, .add = -0.1f},
    {.seed = UINT64_MAX, .stream = UINT32_MAX, .last = 0, .scale = 1, .add = 0},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void many_numbers_are_those_of_each_element(void **state) {
    (void)state;
    for (size_t k = 0; k < KINDS; k++)
        for (uint64_t first = 0; first < 500 * 1000; first += 1000) check(&kinds[k], first, 1000);
}

static void any_range_may_be_drawn(void **state) {
    (void)state;
    for (size_t k = 0; k < KINDS; k++)
        for (uint64_t first = 0; first < 18; first++)
            for (size_t count = 0; count < 35; count++) check(&kinds[k], first, count);
}

static void indices_have_64_bits(void **state) {
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        for (uint64_t before = 0; before < 20; before++) check(&kinds[k], ((uint64_t)1 << 32) - before, 40);
        check(&kinds[k], ((uint64_t)5 << 32) + 12345, 40);
    }
}

/* Elements whose radius or angle is at the end of its range, or where a formula changes its sign or its interval. */
static void radii_and_angles_at_the_edges(void **state) {
    (void)state;
    const struct {
        uint32_t index;
        int word;
        uint32_t value;
    } edges[] = {
        {342655u, 1, 0xC00000},
        {442028u, 1, 0xA00000},
        {1225746u, 1, 0x1FFFFF},
        {3143170u, 1, 0x9FFFFF},
        {4605199u, 1, 0x800000},
        {6837131u, 1, 0x600000},
        {7439785u, 1, 0xFFFFFF},
        {8521248u, 0, 0xB504F3},
        {8948933u, 0, 0xFFFFFF},
        {9284885u, 0, 0xB504F1},
        {9651152u, 0, 0xFFFFFE},
        {10591908u, 0, 0xB504F2},
        {11429975u, 1, 0xE00000},
        {13016018u, 0, 0x000001},
        {17491454u, 1, 0x000001},
        {19414770u, 1, 0x200000},
        {22053491u, 1, 0x400000},
        {26077918u, 1, 0x000000},
        {27147285u, 1, 0x5FFFFF},
        {92051243u, 0, 0x000000},
    };
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        uint32_t words[4] = {edges[i].index, 0, 0, UINT32_MAX};
        wi_philox(words, 7);
        assert_int_equal(words[edges[i].word] >> 8, edges[i].value);
        const float scales[] = {1, 0.02f, 0, -3, 1e-38f, 3e38f, INFINITY},
                    adds[] = {0, -0.0f, 0.7f, -1e-38f, 3e38f, INFINITY};
        for (int s = 0; s < 7; s++)
            for (int a = 0; a < 6; a++)
                for (int normal = 0; normal < 2; normal++) {
                    const wi_draws how = {.seed = 7,
                        .last = UINT32_MAX,
                        .normal = normal != 0,
                        .scale = scales[s],
                        .add = adds[a]};
                    check(&how, edges[i].index / 8 * 8, 8);
                }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_numbers_are_those_of_each_element),
        cmocka_unit_test(any_range_may_be_drawn),
        cmocka_unit_test(indices_have_64_bits),
        cmocka_unit_test(radii_and_angles_at_the_edges),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
