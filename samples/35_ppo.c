/* Proximal policy optimisation (J. Schulman et al. 2017) balances a pole on a cart. */
#include "rollout.h"
#include "training_loop.h"
#include <stdio.h>
#include <weft/short_names.h>

enum { EPOCHS = 10, WIDTH = 64 };
static const double GAMMA = 0.99, LAMBDA = 0.95, CLIP = 0.2;
static option steps = {"--steps", OPTION_COUNT, "N", "rounds of playing and learning from it", "40"};

typedef struct learner {
    tensor *seen, *action, *old, *alive, *now, *next; /* what was played; next: the values a step later */
    tensor *chosen, *log_prob, *value, *loss;
    plan *act, *learn;
} learner;

static tensor *network(tensor *seen, int64_t outputs) {
    return linear(weft_tanh(linear(weft_tanh(linear(seen, WIDTH)), WIDTH)), outputs);
}

static tensor *taken(tensor *log_probs, tensor *action) {
    return squeeze(gather(log_probs, 1, unsqueeze(action, 1)), 1);
}

/* With generalised advantage estimation; each step earns 1. */
static tensor *ppo_loss(const learner *l, tensor *log_probs) {
    tensor *factor = mul_number(l->alive, GAMMA);
    tensor *delta = add_number(sub(mul(factor, l->next), l->now), 1);
    tensor *advantage = linear_scan(mul_number(factor, LAMBDA), delta, 0, true),
           *returns = add(advantage, l->now);
    tensor *scaled = div(sub(advantage, mean(advantage)), add_number(std(advantage), 1e-8));
    tensor *ratio = weft_exp(sub(taken(log_probs, l->action), l->old));
    tensor *gain = mean(minimum(mul(ratio, scaled), mul(clamp(ratio, 1 - CLIP, 1 + CLIP), scaled)));
    tensor *entropy = neg(mean(sum(mul(weft_exp(log_probs), log_probs), 1)));
    return sub(sub(mul_number(mse(l->value, returns), 0.5), gain), mul_number(entropy, 0.01));
}

static status make(learner *l, graph *g) {
    l->seen = input(g, "seen", F32, 4), l->action = input(g, "action", I32);
    l->old = input(g, "old", F32), l->alive = input(g, "alive", F32);
    l->now = input(g, "now", F32), l->next = input(g, "next", F32);
    tensor *log_probs = log_softmax(network(l->seen, 2), 1);
    l->value = squeeze(network(l->seen, 1), 1);
    l->chosen = categorical(log_probs, 1, 0, 1), l->log_prob = taken(log_probs, l->chosen);
    l->loss = ppo_loss(l, log_probs);
    optimizer rule = adam(2e-3f);
    rule.clip_norm = 0.5f;
    tensor *update = train_step(l->loss, rule, NULL);
    status error = plan_create(&l->act, TENSORS(l->chosen, l->log_prob, l->value), NULL) ||
                   plan_create(&l->learn, TENSORS(l->loss, update), WITH(plan, .batch = HORIZON));
    return error;
}

static status play(const learner *l, player *p, rollout *r) {
    status error = OK;
    for (int t = 0; t < HORIZON && !error; t++) {
        memcpy(r->seen[t], p->seen, sizeof p->seen);
        error = plan_step(l->act, VALUES(VALUE(l->seen, p->seen), VALUE(l->chosen, r->actions[t]),
                                      VALUE(l->log_prob, r->log_probs[t]), VALUE(l->value, r->values[t])));
        r->alive[t] = play_on(p, r->actions[t]);
    }
    if (error) return error;
    return plan_step(l->act, VALUES(VALUE(l->seen, p->seen), VALUE(l->value, r->values[HORIZON])));
}

static status learn(const learner *l, rollout *r) {
    float now = 0;
    status error = OK;
    const value values[] = {VALUE(l->seen, r->seen), VALUE(l->action, r->actions),
        VALUE(l->old, r->log_probs), VALUE(l->alive, r->alive), {l->now, r->values, sizeof r->alive},
        {l->next, r->values + 1, sizeof r->alive}, VALUE(l->loss, now)};
    trace_values(values, 6);
    for (int i = 0; i < EPOCHS && !error; i++) {
        error = plan_step(l->learn, values, 7);
        trace_values(values + 6, 1);
    }
    return error;
}

static status train(training_loop *loop) {
    static rollout r;
    player p = {.length = 0};
    learner l = {.act = NULL};
    status error = make(&l, loop->graph);
    cart_place(p.seen), loop_keep(loop, "player", &p, sizeof p);
    if (!error) error = loop_begin(loop, option_count_of(&steps));
    while (loop_next(loop, &error)) {
        error = play(&l, &p, &r) || learn(&l, &r);
        if (loop_every(loop, 10))
            printf("step %3zu: the pole stood for %.0f steps\n", loop->step, (double)p.mean);
    }
    plan_release(l.act), plan_release(l.learn);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {"ppo", "Learns to balance a pole on a cart, by proximal policy optimisation.",
        &steps, 1, .loops = true};
    return loop_main(&line, argc, argv, train);
}
