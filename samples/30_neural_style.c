/* Style transfer (L. Gatys et al. 2016): the pixels of an image learn to have the features of a digit and the correlations of
 * features of a pattern, through a convolutional network with random weights that does not change. */
#include "digits.h"
#include <stdlib.h>
#include <weft/short_names.h>

enum { SIZE = 32, WIDTH = 16, LEVELS = 3 };
enum { DATA, STEPS, STYLE, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = DIGITS_OPTION,
    [STEPS] = {"--steps", OPTION_COUNT, "N", "number of updates", "200"},
    [STYLE] = {"--style", OPTION_AMOUNT, "W", "weight of the style in the loss", "30"},
};

/* What the network sees at three sizes of the image; in a scope that shares, all calls are one network. */
static void features(tensor *x, tensor *seen[LEVELS]) {
    scope_begin(tensor_graph(x), "network", true);
    for (int i = 0; i < LEVELS; i++)
        seen[i] = relu(conv2d(i ? avg_pool2d(seen[i - 1], 2) : x, WIDTH << i, 3, .padding = 1));
    scope_end(tensor_graph(x));
}

/* How often features of the image come together. */
static tensor *gram_matrix(tensor *x) {
    x = flatten_axes(x, 2, 3);
    return div_number(matmul(x, transpose(x)), (double)tensor_dimension(x, 2));
}

static tensor *squared_distance(tensor *a, tensor *b) {
    return sum(square(sub(a, b)));
}

/* Slanted stripes. */
static tensor *make_pattern(graph *g) {
    tensor *place = arange(g, F32, 0, SIZE, 1);
    tensor *stripes = weft_sin(mul_number(add(unsqueeze(place, 1), place), 0.9));
    return reshape(add_number(mul_number(stripes, 0.5), 0.5), 1, 1, SIZE, SIZE);
}

static void show_image(float (*image)[SIZE]) {
    for (int row = 0; row < SIZE; row += 2, putchar('\n')) /* characters are twice as high as wide */
        for (int i = 0; i < SIZE; i++) putchar(" .:-=+*#%@"[(int)(9.99f * image[row][i])]);
}

static status train(training_loop *loop) {
    float pixels[1][DIGIT_PIXELS] = {{0}}, drawn[SIZE][SIZE], content_now = 0, style_now = 0, now = 0;
    dataset *digits = NULL;
    plan *learn = NULL;
    graph *g = loop->graph;
    tensor *seen[LEVELS], *style[LEVELS], *wanted[LEVELS], *style_loss = NULL;
    status error = dataset_open_idx(&digits, loop->context, options[DATA].text, "train");
    if (error || !draw_digits(digits, 0, 9, 1, pixels, NULL)) goto done;

    tensor *digit = array(g, F32, pixels, SHAPE(1, 1, 8, 8)),
           *content = upsample_linear(digit, SIZE / 8, false);
    tensor *image = parameter(g, "image", init_uniform(0, 1), 1, 1, SIZE, SIZE);
    features(image, seen), features(content, wanted), features(make_pattern(g), style);
    tensor *content_loss = squared_distance(seen[LEVELS - 1], wanted[LEVELS - 1]);
    for (int i = 0; i < LEVELS; i++) {
        tensor *distance = squared_distance(gram_matrix(seen[i]), gram_matrix(style[i]));
        style_loss = i ? add(style_loss, distance) : distance;
    }
    tensor *loss = add(content_loss, mul_number(style_loss, strtod(options[STYLE].text, NULL)));
    error = plan_create(&learn,
                TENSORS(loss, content_loss, style_loss, train_step(loss, adam(0.03f), "image"),
                    assign_after(image, clamp(image, 0, 1))),
                NULL) ||
            loop_begin(loop, option_count_of(&options[STEPS]));
    trace_values(VALUES(VALUE(digit, pixels)));
    const value values[] = {VALUE(loss, now), VALUE(content_loss, content_now), VALUE(style_loss, style_now)};
    while (loop_next(loop, &error)) {
        error = plan_step(learn, values, 3);
        trace_values(values, 1);
        if (loop->step == 1 || loop_every(loop, 100))
            printf(
                "step %4zu: content %.3f, style %.4f\n", loop->step, (double)content_now, (double)style_now);
    }
    if (!error && !loop->stopped) {
        error = tensor_read(image, drawn, sizeof drawn);
        if (!error) show_image(drawn);
    }
done:
    plan_release(learn), dataset_release(digits);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {
        "neural_style", "Draws a digit in the style of a pattern.", options, OPTIONS, .loops = true};
    return loop_main(&line, argc, argv, train);
}
