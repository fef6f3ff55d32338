/* Deep Q-learning (V. Mnih et al. 2015) balances a pole on a cart: one plan chooses actions, another learns from steps that
 * are drawn from memory, and a third moves the target network towards the one that learns. */
#include "cart.h"
#include "training_loop.h"
#include <stdio.h>
#include <weft/short_names.h>

enum { WIDTH = 128, FIRST = 500, LONGEST = 500 };
static option steps = {
    "--steps", OPTION_COUNT, "N", "steps of the cart, of which the first 500 are random", "8000"};

static tensor *network(graph *g, const char *scope, tensor *seen) {
    scope_begin(g, scope, true);
    tensor *values = linear(relu(linear(relu(linear(seen, WIDTH)), WIDTH)), 2);
    scope_end(g);
    return values;
}

typedef struct learner {
    tensor *seen, *next, *alive, *action, *chosen, *loss;
    plan *act, *learn, *follow;
} learner;

static status make(learner *l, graph *g) {
    plan *start = NULL;
    l->seen = input(g, "seen", F32, 4), l->next = input(g, "next", F32, 4);
    l->alive = input(g, "alive", F32), l->action = input(g, "action", I32);
    tensor *values = network(g, "online", l->seen);
    tensor *best = max(stop_gradient(network(g, "target", l->next)), 1);
    tensor *wanted = add_number(mul(mul_number(best, 0.99), l->alive), 1);
    tensor *taken = squeeze(gather(values, 1, unsqueeze(l->action, 1)), 1);
    l->chosen = argmax(values, 1), l->loss = huber(taken, wanted, 1);
    tensor *update = train_step(l->loss, adam(5e-4f), "online.*");
    status error = plan_create(&l->act, TENSORS(l->chosen), NULL);
    if (!error) error = plan_create(&l->learn, TENSORS(l->loss, update), WITH(plan, .batch = BATCH_SIZE));
    if (!error) error = plan_create(&l->follow, TENSORS(scope_copy(g, "online", "target", 0.01f)), NULL);
    if (!error) error = plan_create(&start, TENSORS(scope_copy(g, "online", "target", 1)), NULL);
    if (!error) error = plan_run(start);
    plan_release(start);
    return error;
}

static status learn(const learner *l, const memory *m, size_t count) {
    static batch b;
    float now = 0;
    const value values[] = {VALUE(l->seen, b.seen), VALUE(l->next, b.next), VALUE(l->alive, b.alive),
        VALUE(l->action, b.action), VALUE(l->loss, now)};
    memory_draw(m, count, &b);
    const status error = plan_step(l->learn, values, 5);
    trace_values(values, 5);
    return error ? error : plan_run(l->follow);
}

/* Steps of the cart, of which fewer and fewer are at random; prints how long the pole stood. */
static status train(training_loop *loop) {
    static game g;
    memory *const m = &g.memory;
    learner l = {.act = NULL};
    status error = make(&l, loop->graph);
    cart_place(g.seen);
    loop_keep(loop, "game", &g, sizeof g);
    if (!error) error = loop_begin(loop, option_count_of(&steps));
    while (loop_next(loop, &error)) {
        const size_t count = loop->step - 1, at = count % MEMORY;
        memcpy(m->seen[at], g.seen, sizeof g.seen);
        if (draw() < 0.02 || draw() < 1 - (double)count / 5000)
            m->action[at] = draw() < 0.5;
        else
            error = plan_step(l.act, VALUES(VALUE(l.seen, g.seen), VALUE(l.chosen, m->action[at])));
        const bool fell = cart_step(g.seen, m->action[at]);
        memcpy(m->next[at], g.seen, sizeof g.seen), m->alive[at] = !fell;
        if (fell || ++g.length == LONGEST) cart_again(&g);
        if (count >= FIRST && !error) error = learn(&l, m, count);
        if (loop_every(loop, 1000))
            printf("step %5zu: the pole stood for %.0f steps\n", loop->step, (double)g.mean);
    }
    plan_release(l.act), plan_release(l.learn), plan_release(l.follow);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {
        "dqn", "Learns to balance a pole on a cart, by deep Q-learning.", &steps, 1, .loops = true};
    return loop_main(&line, argc, argv, train);
}
