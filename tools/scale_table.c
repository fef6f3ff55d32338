/* See scale_table.h. */
#include "scale_table.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

static const size_t cluster_ranks[] = {2, 4, 8, 16, 64, 256};
enum { CLUSTERS = sizeof cluster_ranks / sizeof *cluster_ranks };

/* The run with the fewest ranks that exchange anything; NULL: there is none. */
static const scale_run *base_of(const scale_table *table) {
    for (size_t i = 0; i < table->count; i++)
        if (table->runs[i].step.ranks > 1) return &table->runs[i];
    return NULL;
}

static scale_expectation expect(const scale_run *base, size_t ranks, double crowding) {
    return scale_expect(&base->step, ranks, crowding / base->crowding);
}

static double error_of(double expected, double measured) {
    return measured > 0 ? expected / measured - 1 : 0;
}

static bool is_measured(const scale_table *table, size_t ranks) {
    for (size_t i = 0; i < table->count; i++)
        if (table->runs[i].step.ranks == ranks) return true;
    return false;
}

/* ---- text ---- */

static void print_row(const scale_table *table, size_t ranks, const scale_expectation *e, double alone) {
    const double examples = (double)ranks * (double)table->batch / e->step;
    printf("%7zu%12.2f%13.2f%12.2f%13.2f%12.1f%11.0f%%", ranks, 1e3 * e->step, 1e3 * e->exchange,
        1e3 * e->hidden, 1e3 * (e->exchange - e->hidden), examples, 100 * alone / e->step);
}

static void print_link(const scale_step *step) {
    printf("  between %zu ranks: latency %.1f us, bandwidth %.2f GB/s; additions %.2f GB/s\n", step->ranks,
        1e6 * step->link.latency, 1e-9 * step->link.bandwidth, 1e-9 * step->link.adding);
}

static void print_measured(const scale_table *table, const scale_run *base, double alone) {
    for (size_t i = 0; i < table->count; i++) {
        const scale_run *const run = &table->runs[i];
        const scale_step *const step = &run->step;
        const double hidden = scale_hidden(step);
        const scale_expectation measured = {step->step, step->exposed + hidden, hidden};
        print_row(table, step->ranks, &measured, alone);
        if (base && step->ranks > 1) {
            const scale_expectation e = expect(base, step->ranks, run->crowding);
            printf("  expected step %+.0f%%, exchange %+.0f%%", 100 * error_of(e.step, step->step),
                100 * error_of(e.exchange, step->exchange));
        }
        printf("\n");
    }
}

void scale_table_print(const scale_table *table) {
    const scale_run *const base = base_of(table), *const first = &table->runs[0];
    const double alone =
        base && first->step.ranks > 1 ? base->step.step - base->step.exposed : first->step.step;
    printf("%s: %lld examples and %zu shard%s for each rank, %.2f MB of gradients\n", table->network,
        (long long)table->batch, first->step.shards, first->step.shards == 1 ? "" : "s",
        1e-6 * first->step.bytes);
    if (base) print_link(&base->step);
    printf("%7s%12s%13s%12s%13s%12s%12s\n", "ranks", "step ms", "exchange ms", "hidden ms", "exposed ms",
        "examples/s", "efficiency");
    print_measured(table, base, alone);
    for (size_t i = 0; base && i < CLUSTERS; i++) {
        if (is_measured(table, cluster_ranks[i])) continue;
        const scale_expectation e = expect(base, cluster_ranks[i], 1);
        print_row(table, cluster_ranks[i], &e, alone / first->crowding);
        printf("  expected\n");
    }
    printf("\n");
}

/* ---- JSON ---- */

static void print_object(const scale_table *table, const scale_step *step) {
    printf("{\"net\": \"%s\", \"ranks\": %zu, \"shards\": %zu, \"batch\": %lld, \"bytes\": %.0f, "
           "\"step_ms\": %.4f, "
           "\"exchange_ms\": %.4f, \"exposed_ms\": %.4f, \"hidden_ms\": %.4f, \"processor_ms\": %.4f",
        table->network, step->ranks, step->shards, (long long)table->batch, step->bytes, 1e3 * step->step,
        1e3 * step->exchange, 1e3 * step->exposed, 1e3 * scale_hidden(step), 1e3 * step->processor);
    if (step->ranks > 1)
        printf(", \"latency_us\": %.4f, \"bandwidth_gbytes_s\": %.6f, \"adding_gbytes_s\": %.6f",
            1e6 * step->link.latency, 1e-9 * step->link.bandwidth, 1e-9 * step->link.adding);
    printf("}\n");
}

static void print_expected(
    const scale_table *table, size_t ranks, const scale_expectation *e, const scale_step *measured) {
    printf("{\"net\": \"%s\", \"ranks\": %zu, \"expected\": true, \"step_ms\": %.4f, \"exchange_ms\": %.4f, "
           "\"hidden_ms\": %.4f, \"exposed_ms\": %.4f",
        table->network, ranks, 1e3 * e->step, 1e3 * e->exchange, 1e3 * e->hidden,
        1e3 * (e->exchange - e->hidden));
    if (measured)
        printf(", \"step_error\": %.4f, \"exchange_error\": %.4f", error_of(e->step, measured->step),
            error_of(e->exchange, measured->exchange));
    printf("}\n");
}

/* What was measured is expected with as many processors as it had. */
void scale_table_print_json(const scale_table *table) {
    const scale_run *const base = base_of(table);
    for (size_t i = 0; i < table->count; i++) {
        const scale_run *const run = &table->runs[i];
        print_object(table, &run->step);
        if (!base || run->step.ranks < 2) continue;
        const scale_expectation e = expect(base, run->step.ranks, run->crowding);
        print_expected(table, run->step.ranks, &e, &run->step);
    }
    for (size_t i = 0; base && i < CLUSTERS; i++) {
        if (is_measured(table, cluster_ranks[i])) continue;
        const scale_expectation e = expect(base, cluster_ranks[i], 1);
        print_expected(table, cluster_ranks[i], &e, NULL);
    }
}

static double number_of(const cJSON *object, const char *name) {
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static void take(scale_step *step, const cJSON *object) {
    *step = (scale_step){.ranks = (size_t)number_of(object, "ranks"),
        .shards = (size_t)number_of(object, "shards"),
        .bytes = number_of(object, "bytes"),
        .step = 1e-3 * number_of(object, "step_ms"),
        .exchange = 1e-3 * number_of(object, "exchange_ms"),
        .processor = 1e-3 * number_of(object, "processor_ms"),
        .exposed = 1e-3 * number_of(object, "exposed_ms"),
        .link = {1e-6 * number_of(object, "latency_us"), 1e9 * number_of(object, "bandwidth_gbytes_s"),
            1e9 * number_of(object, "adding_gbytes_s")}};
}

bool scale_table_read(scale_table *table, const char *line) {
    cJSON *const object = cJSON_Parse(line);
    const char *const name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "net"));
    const bool taken = name && !cJSON_HasObjectItem(object, "expected") && table->count < SCALE_RUNS &&
                       (table->count == 0 || strcmp(table->network, name) == 0);
    if (taken) {
        snprintf(table->network, sizeof table->network, "%s", name);
        table->batch = (int64_t)number_of(object, "batch");
        table->runs[table->count].crowding = 1;
        take(&table->runs[table->count++].step, object);
    }
    cJSON_Delete(object);
    return taken;
}
