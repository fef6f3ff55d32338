/* Matrix factorisation (Y. Koren et al. 2009): a rating is the product of a user's and an item's vector and what each has of its
 * own. Both tables are updated by rows. */
#include "ratings.h"
#include "training_loop.h"
#include <weft/short_names.h>

enum { WIDTH = 8 };
static option steps = {"--steps", OPTION_COUNT, "N", "number of updates", "2000"};

/* Rows of a table of its own. */
static tensor *rows(tensor *numbers, int64_t count, int64_t width) {
    const initialiser small = init_normal(0, 0.1f);
    return embedding_layer(numbers, count, width, WITH(embedding, .initialiser = &small, .sparse = true));
}

static status train(training_loop *loop) {
    static ratings seen, unseen;
    float now = 0, away = 0;
    plan *learn = NULL, *test = NULL;
    graph *g = loop->graph;

    tensor *user = input(g, "user", I32), *item = input(g, "item", I32), *rating = input(g, "rating", F32);
    tensor *tastes = rows(user, USERS, WIDTH), *kinds = rows(item, ITEMS, WIDTH);
    tensor *strictness = rows(user, USERS, 1), *quality = rows(item, ITEMS, 1);
    tensor *product = sum(mul(tastes, kinds), 1), *own = squeeze(add(strictness, quality), 1);
    tensor *loss = mse(add(product, own), rating);
    status error = plan_create(
        &learn, TENSORS(loss, train_step(loss, adagrad(0.1f), NULL)), WITH(plan, .batch = BATCH_SIZE));
    if (!error) error = plan_create(&test, TENSORS(loss), WITH(plan, .batch = BATCH_SIZE));
    if (!error) error = loop_begin(loop, option_count_of(&steps));
    const value values[] = {
        VALUE(user, seen.users), VALUE(item, seen.items), VALUE(rating, seen.ratings), VALUE(loss, now)};
    while (loop_next(loop, &error)) {
        draw_ratings(&seen, false);
        error = plan_step(learn, values, 4);
        trace_values(values, 4);
        if (loop_every(loop, 500)) printf("step %4zu: loss %.4f\n", loop->step, (double)now);
    }
    draw_ratings(&unseen, true);
    if (!error && !loop->stopped) {
        error = plan_step(test, VALUES(VALUE(user, unseen.users), VALUE(item, unseen.items),
                                    VALUE(rating, unseen.ratings), VALUE(loss, away)));
        if (!error) printf("mean squared error of the test ratings: %.4f\n", (double)away);
    }
    plan_release(learn), plan_release(test);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {
        "factorise", "Learns a vector for each user and item from ratings.", &steps, 1, .loops = true};
    return loop_main(&line, argc, argv, train);
}
