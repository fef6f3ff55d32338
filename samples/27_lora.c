/* Adapters of low rank (E. Hu et al. 2022): a network learns digits; then it is frozen, and small adapters beside its layers
 * learn to read the same digits with rows and columns exchanged. Only the adapters are trained then, and saved. */
#include "digits.h"
#include <weft/short_names.h>

enum { BATCH_SIZE = 64, TESTED = 640, WIDTH = 128, RANK = 4 };
enum { DATA, STEPS, ADAPTER_STEPS, SAVE, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = DIGITS_OPTION,
    [STEPS] = {"--steps", OPTION_COUNT, "N", "number of updates of the network", "400"},
    [ADAPTER_STEPS] = {"--adapter-steps", OPTION_COUNT, "N", "number of updates of the adapters", "600"},
    [SAVE] = {"--save", OPTION_OUTPUT, "FILE", "file in which only the adapters are saved; default none",
        NULL},
};

/* A linear layer, and a product of low rank that is added to what it gives. */
static tensor *adapted_linear(const char *name, tensor *x, int64_t units, bool adapted) {
    graph *g = tensor_graph(x);
    const int64_t inputs = tensor_dimension(x, 1);
    scope_begin(g, name, true);
    tensor *y = linear(x, units, .name = "layer");
    if (adapted) {
        tensor *down = parameter(g, "down", init_normal(0, 1 / sqrtf((float)inputs)), RANK, inputs);
        tensor *up = parameter(g, "up", zeros(), units, RANK);
        y = add(y, linear_with(linear_with(x, down, NULL), up, NULL));
    }
    scope_end(g);
    return y;
}

static tensor *network(tensor *image, bool adapted) {
    tensor *x = relu(adapted_linear("first", flatten(image), WIDTH, adapted));
    x = relu(adapted_linear("second", x, WIDTH, adapted));
    return adapted_linear("third", x, 10, adapted);
}

static tensor *count_right(tensor *logits, tensor *label) {
    return sum(cast(equal(argmax(logits, 1), label), I32));
}

static status train(training_loop *loop) {
    static float images[BATCH_SIZE][DIGIT_PIXELS], unseen_images[TESTED][DIGIT_PIXELS];
    static int32_t labels[BATCH_SIZE], unseen_labels[TESTED], upright, before, turned;
    static const char *const layers[] = {"*.layer.*", NULL};
    float now = 0;
    graph *g = loop->graph;
    dataset *seen = NULL, *unseen = NULL;
    plan *learn[2] = {NULL}, *classify = NULL;

    tensor *image = input(g, "image", F32, 1, 8, 8), *label = input(g, "label", I32);
    tensor *other = swap_axes(image, 2, 3), *plain = network(image, false), *adapted = network(other, true);
    tensor *losses[] = {cross_entropy(plain, label), cross_entropy(adapted, label)};
    tensor *rights[] = {
        count_right(plain, label), count_right(network(other, false), label), count_right(adapted, label)};
    status error = dataset_open_idx(&seen, loop->context, options[DATA].text, "train") ||
                   dataset_open_idx(&unseen, loop->context, options[DATA].text, "t10k");
    for (int i = 0; i < 2 && !error; i++) {
        tensor *update = train_step(losses[i], adam(i ? 5e-3f : 2e-3f), NULL);
        error = plan_create(&learn[i], TENSORS(losses[i], update), WITH(plan, .batch = BATCH_SIZE)) ||
                freeze(g, layers[0], true); /* in what is made from now on */
    }
    if (!error)
        error = plan_create(&classify, rights, 3, WITH(plan, .batch = TESTED, .inference = true)) ||
                loop_begin(loop, option_count_of(&options[STEPS]));
    for (int i = 0; i < 2 && !error && !loop->stopped; i++) {
        const value values[] = {VALUE(image, images), VALUE(label, labels), VALUE(losses[i], now)};
        if (i) loop->last += option_count_of(&options[ADAPTER_STEPS]);
        if (loop->step > loop->last) continue; /* that part was over when the checkpoint was saved */
        while (loop_next(loop, &error)) {
            if (!draw_digits(seen, 0, 9, BATCH_SIZE, images, labels)) break;
            error = plan_step(learn[i], values, 3);
            trace_values(values, 3);
            if (loop_every(loop, 200)) printf("step %4zu: loss %.3f\n", loop->step, (double)now);
        }
    }
    if (!error && !loop->stopped && options[SAVE].text)
        error = weights_save_with(g, options[SAVE].text, WITH(weights_save, .skip = layers));
    if (!error && !loop->stopped && draw_digits(unseen, 0, 9, TESTED, unseen_images, unseen_labels)) {
        error = plan_step(
            classify, VALUES(VALUE(image, unseen_images), VALUE(label, unseen_labels),
                          VALUE(rights[0], upright), VALUE(rights[1], before), VALUE(rights[2], turned)));
        if (!error)
            printf("%d of %d digits are right, and %d of the rotated ones\n", upright, TESTED, before);
        const long long all = graph_element_count(g, NULL), rest = graph_element_count(g, layers[0]);
        if (!error)
            printf("with adapters %d of the rotated ones are right; the adapters have %lld parameters, the "
                   "network %lld\n",
                turned, all - rest, rest);
    }
    for (int i = 0; i < 2; i++) plan_release(learn[i]);
    plan_release(classify), dataset_release(seen), dataset_release(unseen);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {"lora", "Learns digits, then rotated digits with low-rank adapters.", options,
        OPTIONS, .loops = true};
    return loop_main(&line, argc, argv, train);
}
