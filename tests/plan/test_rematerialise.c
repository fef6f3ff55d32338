/* The search for what to compute again, on models made by hand: chains of layers forward and back, and random
 * ones whose sweeps are checked against a plain recount. */
#include "support/fixture.h"

#include "plan/arrange/rematerialise.h"
#include <math.h>
#include <string.h>

enum { BYTES = 1000, MOST = 160 };

typedef struct maker {
    wi_arena arena;
    wi_model model;
    int writes[MOST][4], reads[MOST][4], steps[MOST][1];
} maker;

static void begin(maker *m, int steps, int storages) {
    memset(m, 0, sizeof *m);
    wi_arena_init(&m->arena, NULL);
    m->model.steps = wi_arena_take(&m->arena, (size_t)steps * sizeof *m->model.steps);
    m->model.storages = wi_arena_take(&m->arena, (size_t)storages * sizeof *m->model.storages);
    m->model.units = wi_arena_take(&m->arena, (size_t)steps * sizeof *m->model.units);
    m->model.storage_count = storages;
    for (int i = 0; i < storages; i++)
        m->model.storages[i] =
            (wi_model_storage){.bytes = BYTES, .unit = -1, .first_writer = -1, .is_modelled = true};
}

/* The next step: reads a and b (-1: nothing) and writes c, in a second; a unit of its own. */
static int add_step(maker *m, int a, int b, int c) {
    const int index = m->model.step_count++;
    wi_model_step *step = &m->model.steps[index];
    *step = (wi_model_step){.step = index,
        .reads = m->reads[index],
        .writes = m->writes[index],
        .unit = c < 0 ? -1 : m->model.unit_count,
        .latest = MOST,
        .is_needed = c < 0,
        .seconds = 1};
    if (a >= 0) step->reads[step->read_count++] = a;
    if (b >= 0 && b != a) step->reads[step->read_count++] = b;
    if (c < 0) return index;
    step->writes[step->write_count++] = c;
    m->model.storages[c].unit = m->model.unit_count;
    m->model.storages[c].first_writer = index;
    m->steps[index][0] = index;
    m->model.units[m->model.unit_count++] =
        (wi_model_unit){.steps = m->steps[index], .count = 1, .seconds = 1};
    return index;
}

/* Layer i makes value i of value i - 1; backwards, gradient i - 1 is made of gradient i and value i - 1. The
 * last gradient is an output. */
static void make_chain(maker *m, int layers) {
    begin(m, 2 * layers + 1, 2 * layers + 2);
    add_step(m, -1, -1, 0);
    for (int i = 1; i <= layers; i++) add_step(m, i - 1, -1, i);
    for (int i = layers; i > 0; i--) add_step(m, i - 1, i == layers ? i : layers + 1 + i, layers + i);
    m->model.storages[layers + 1].is_output = true;
}

static void end(maker *m) {
    wi_arena_clear(&m->arena);
}

/* ---- a plain recount ---- */

static const wi_life *life_at(const wi_sweep *sweep, int storage, int run) {
    for (int i = 0; i < sweep->life_count; i++) {
        const wi_life *life = &sweep->lives[i];
        if (life->storage == storage && life->first <= run && life->last >= run) return life;
    }
    return NULL;
}

static bool writes(const wi_model_step *step, int storage) {
    for (int i = 0; i < step->write_count; i++) {
        if (step->writes[i] == storage) return true;
    }
    return false;
}

/* What is read is there and was written by the run that its life begins with. */
static void check_reads(const wi_sweep *sweep, const wi_model *model) {
    for (int run = 0; run < sweep->run_count; run++) {
        const wi_model_step *step = &model->steps[sweep->runs[run].step];
        for (int i = 0; sweep->runs_needed[run] && i < step->read_count; i++) {
            const wi_life *life = life_at(sweep, step->reads[i], run);
            assert_non_null(life);
            assert_true(life->first < run && sweep->runs_needed[life->first]);
            assert_true(writes(&model->steps[sweep->runs[life->first].step], step->reads[i]));
        }
    }
}

static void check_peak(const wi_sweep *sweep, const wi_model *model) {
    size_t most = 0;
    for (int run = 0; run <= sweep->run_count; run++) {
        size_t bytes = 0;
        for (int i = 0; i < model->storage_count; i++) {
            const wi_life *life = life_at(sweep, i, run);
            bytes += life ? model->storages[i].bytes : 0;
        }
        const bool counts = run == sweep->run_count || sweep->runs_needed[run];
        if (counts && bytes > most) most = bytes;
    }
    assert_int_equal(sweep->peak, most);
}

static void check_runs(const wi_sweep *sweep, const wi_model *model) {
    int own = 0;
    for (int run = 0; run < sweep->run_count; run++) {
        const wi_replay *item = &sweep->runs[run];
        if (item->at == item->step)
            assert_int_equal(item->step, own++);
        else
            assert_true(item->step < item->at && item->at <= model->steps[item->step].latest);
    }
    assert_int_equal(own, model->step_count);
}

/* The sweep of the replays, recounted. */
static wi_sweep swept(maker *m, const wi_replays *replays, size_t target) {
    wi_sweep sweep;
    assert_weft_ok(wi_sweep_make(&sweep, &m->model, &m->arena));
    wi_sweep_run(&sweep, &m->model, replays, target);
    check_runs(&sweep, &m->model);
    check_reads(&sweep, &m->model);
    check_peak(&sweep, &m->model);
    return sweep;
}

static wi_sweep searched(maker *m, size_t target, wi_replays *replays) {
    size_t reached;
    assert_weft_ok(wi_replays_make(replays, &m->model, &m->arena));
    assert_weft_ok(wi_rematerialise_search(replays, &m->model, target, &m->arena, &reached));
    const wi_sweep sweep = swept(m, replays, target);
    assert_int_equal(sweep.peak, reached);
    return sweep;
}

/* ---- tests ---- */

static void test_nothing_to_do(void **state) {
    (void)state;
    maker m;
    wi_replays replays;
    make_chain(&m, 16);
    const wi_sweep sweep = searched(&m, SIZE_MAX, &replays);
    assert_int_equal(replays.count, 0);
    assert_int_equal(sweep.peak, 18 * BYTES); /* values 0 .. 16 and a gradient */
    assert_true(sweep.seconds == 33);
    end(&m);
}

/* Memory of the order of the square root of the depth, for at most one more forward pass. */
static void test_chain_in_root_memory(void **state) {
    (void)state;
    for (int layers = 16; layers <= 64; layers += 16) {
        maker m;
        wi_replays replays;
        make_chain(&m, layers);
        const size_t target = (size_t)(2 * ceil(sqrt(layers)) + 3) * BYTES;
        const wi_sweep sweep = searched(&m, target, &replays);
        print_message("%d layers: %zu of %zu bytes, %.0f seconds of %d\n", layers, sweep.peak, target,
            sweep.seconds, 2 * layers + 1);
        assert_true(sweep.peak <= target);
        assert_true(sweep.seconds <= 3 * layers + 1);
        end(&m);
    }
}

/* Any depth fits into a few layers' memory; a little less than the least is refused by the search. */
static void test_least(void **state) {
    (void)state;
    maker m;
    wi_replays replays;
    size_t least;
    make_chain(&m, 32);
    assert_weft_ok(wi_replays_make(&replays, &m.model, &m.arena));
    assert_weft_ok(wi_rematerialise_least(&replays, &m.model, &m.arena, &least));
    const wi_sweep sweep = swept(&m, &replays, SIZE_MAX);
    print_message("least: %zu bytes, %.0f seconds\n", least, sweep.seconds);
    assert_int_equal(sweep.peak, least);
    assert_true(least <= 8 * BYTES);
    end(&m);
}

/* A value that is first read at the end is computed there, which costs nothing. */
static void test_late_step_moves(void **state) {
    (void)state;
    maker m;
    wi_replays replays;
    begin(&m, 5, 4);
    add_step(&m, -1, -1, 0);
    add_step(&m, 0, -1, 1); /* wanted by the last step alone */
    add_step(&m, 0, -1, 2);
    add_step(&m, 0, 2, 3);
    add_step(&m, 1, 3, -1);
    const wi_sweep sweep = searched(&m, 3 * BYTES, &replays);
    assert_int_equal(replays.count, 1);
    assert_int_equal(sweep.peak, 3 * BYTES);
    assert_true(sweep.seconds == 5);
    end(&m);
}

/* What reads a variable is not run again after the variable has changed. */
static void test_latest(void **state) {
    (void)state;
    for (int latest = 0; latest < 2; latest++) {
        maker m;
        wi_replays replays;
        make_chain(&m, 16);
        for (int i = 0; i < m.model.step_count; i++) m.model.steps[i].latest = latest ? MOST : i;
        const wi_sweep sweep = searched(&m, 12 * BYTES, &replays);
        assert_int_equal(sweep.excess <= 0, latest);
        assert_int_equal(replays.count > 0, latest);
        end(&m);
    }
}

/* The cheap ones of two kinds of layers are chosen. */
static void test_cheapest(void **state) {
    (void)state;
    maker m;
    wi_replays replays;
    make_chain(&m, 32);
    for (int i = 0; i < m.model.step_count; i += 2) {
        m.model.steps[i].seconds = 100;
        m.model.units[m.model.steps[i].unit].seconds = 100;
    }
    const wi_sweep sweep = searched(&m, 20 * BYTES, &replays);
    assert_true(sweep.peak <= 20 * BYTES);
    for (int i = 0; i < replays.count; i++) assert_int_equal(replays.items[i].step % 2, 1);
    end(&m);
}

static void make_random(maker *m, test_random *random, int steps) {
    begin(m, steps, steps);
    for (int i = 0; i < steps; i++) {
        const int near = i > 0 ? i - 1 - (int)test_random_below(random, i < 4 ? i : 4) : -1;
        const int far = i > 0 && test_random_below(random, 2) ? (int)test_random_below(random, i) : -1;
        add_step(m, near, far, i);
        m->model.storages[i].bytes = 1 + (size_t)test_random_below(random, 2 * BYTES);
        if (test_random_below(random, 8) == 0) m->model.steps[i].latest = i + 2;
        if (test_random_below(random, 16) == 0) m->model.storages[i].is_output = true;
    }
    m->model.storages[steps - 1].is_output = true;
}

static void test_random_models(void **state) {
    (void)state;
    test_random random = test_random_named("rematerialise", 1);
    for (int round = 0; round < 60; round++) {
        maker m;
        wi_replays replays;
        make_random(&m, &random, 20 + (int)test_random_below(&random, 100));
        assert_weft_ok(wi_replays_make(&replays, &m.model, &m.arena));
        const size_t whole = swept(&m, &replays, SIZE_MAX).peak;
        for (size_t percent = 100; percent >= 20; percent -= 16) {
            const size_t target = whole * percent / 100;
            const wi_sweep sweep = searched(&m, target, &replays);
            assert_true(sweep.peak <= whole);
            assert_int_equal(sweep.excess <= 0, sweep.peak <= target);
        }
        end(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_chain_in_root_memory), cmocka_unit_test(test_least),
        cmocka_unit_test(test_late_step_moves), cmocka_unit_test(test_latest),
        cmocka_unit_test(test_cheapest), cmocka_unit_test(test_random_models)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
