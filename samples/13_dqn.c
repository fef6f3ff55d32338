/* Deep Q-learning (V. Mnih et al. 2015) balances a pole on a cart: one plan chooses actions, another learns from steps that
 * are drawn from memory, and a third moves the target network towards the one that learns. */
#include "cart.h"
#include "training_loop.h"
#include <stdio.h>
enum { BATCH = 64, WIDTH = 128, FIRST = 500, LONGEST = 500 };
enum { STEPS, TRACE, OPTIONS };
static option options[OPTIONS] = {
    [STEPS] = {"--steps", OPTION_COUNT, "N", "steps of the cart, the first 500 at random", "8000"},
    [TRACE] = TRACE_OPTION,
};

static weft_tensor *values(weft_graph *graph, const char *scope, weft_tensor *seen) {
    weft_scope_begin(graph, scope, true);
    weft_tensor *y = weft_linear(weft_relu(weft_linear(weft_relu(weft_linear(seen, WIDTH)), WIDTH)), 2);
    weft_scope_end(graph);
    return y;
}

typedef struct learner {
    weft_tensor *seen, *next, *alive, *action, *chosen, *outputs[2]; /* the loss, and the update */
    weft_plan *act, *learn, *start, *follow;
} learner;

static weft_status make(learner *l, weft_graph *graph) {
    const weft_optimizer adam = weft_adam(5e-4f);
    const weft_plan_options many = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    l->seen = weft_input(graph, "seen", WEFT_F32, 4), l->next = weft_input(graph, "next", WEFT_F32, 4);
    l->alive = weft_input(graph, "alive", WEFT_F32), l->action = weft_input(graph, "action", WEFT_I32);
    weft_tensor *q = values(graph, "online", l->seen);
    weft_tensor *best = weft_max(weft_stop_gradient(values(graph, "target", l->next)), 1);
    weft_tensor *wanted = weft_add_number(weft_mul(weft_mul_number(best, 0.99), l->alive), 1);
    weft_tensor *taken = weft_squeeze(weft_gather(q, 1, weft_unsqueeze(l->action, 1)), 1);
    l->chosen = weft_argmax(q, 1);
    l->outputs[0] = weft_huber(taken, wanted, 1);
    l->outputs[1] = weft_optimizer_minimize(weft_optimizer_create(graph, &adam), l->outputs[0], "online.*");
    weft_tensor *copy = weft_scope_copy(graph, "online", "target", 1),
                *follow = weft_scope_copy(graph, "online", "target", 0.01f);
    weft_status status = weft_plan_create(&l->act, &l->chosen, 1, NULL);
    if (!status) status = weft_plan_create(&l->learn, l->outputs, 2, &many);
    if (!status) status = weft_plan_create(&l->follow, &follow, 1, NULL);
    if (!status) status = weft_plan_create(&l->start, &copy, 1, NULL);
    return status ? status : weft_plan_run(l->start);
}

static weft_status learn(const learner *l, const memory *m, size_t count) {
    static memory b;
    const size_t rows = sizeof(float[BATCH][4]), column = sizeof(float[BATCH]);
    float loss = 0;
    const weft_value values[] = {{l->seen, b.seen, rows}, {l->next, b.next, rows},
        {l->alive, b.alive, column}, {l->action, b.action, column}, {l->outputs[0], &loss, sizeof loss}};
    memory_draw(m, count, &b, BATCH); /* into the first rows */
    weft_status status = weft_plan_step(l->learn, values, 5);
    if (!status) status = weft_plan_run(l->follow);
    trace_step(&loss, 1, 4, b.seen, rows, b.next, rows, b.alive, column, b.action, column);
    return status;
}

/* Steps of the cart, of which fewer and fewer are at random; prints how long the pole stood. */
static weft_status play(const learner *l, training_loop *loop) {
    static game g;
    memory *const m = &g.memory;
    cart_place(g.seen);
    loop_keep(loop, "game", &g, sizeof g);
    weft_status status = loop_begin(loop);
    while (loop_next(loop, &status)) {
        const size_t step = loop->step - 1, at = step % MEMORY;
        const weft_value act[] = {
            {l->seen, g.seen, sizeof g.seen}, {l->chosen, &m->action[at], sizeof(int32_t)}};
        const bool random = draw() < 0.02 || draw() < 1 - (double)step / 5000;
        memcpy(m->seen[at], g.seen, sizeof g.seen);
        if (random) m->action[at] = draw() < 0.5;
        if (!random) status = weft_plan_step(l->act, act, 2);
        const bool fell = cart_step(g.seen, m->action[at]);
        memcpy(m->next[at], g.seen, sizeof g.seen), m->alive[at] = !fell;
        if (fell || ++g.length == LONGEST) cart_again(&g);
        if (step >= FIRST && !status) status = learn(l, m, step);
        if (loop_every(loop, 1000))
            printf("step %5zu: the pole stood for %.0f steps\n", loop->step, (double)g.mean);
    }
    return status;
}

int main(int argc, char **argv) {
    command_line line = {"dqn", "Learns to balance a pole on a cart.", options, OPTIONS, .loops = true};
    weft_context *context = NULL;
    learner l = {.seen = NULL};
    int end = 0;
    if (!command_line_read(&line, argc, argv, &end)) return end;
    weft_status status = loop_context(&context, &line);
    training_loop loop = {.line = &line, .last = option_count_of(&options[STEPS])};
    if (!status) status = make(&l, loop.graph = weft_context_graph(context));
    if (!status) status = trace_begin(options[TRACE].text, loop.graph);
    if (!status) status = play(&l, &loop);
    if (status) fprintf(stderr, "dqn: %s\n", weft_last_error());
    weft_plan_release(l.act), weft_plan_release(l.learn), weft_plan_release(l.start),
        weft_plan_release(l.follow);
    weft_context_release(context);
    return status ? 1 : loop.stopped;
}
