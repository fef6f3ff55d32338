/* Distillation (G. Hinton et al. 2015): a large network learns digits; then a small one learns from what the large one thinks
 * of all ten classes, at a high temperature, and from the labels. */
#include "digits.h"
#include <weft/short_names.h>

enum { BATCH_SIZE = 64, TESTED = 640, TEMPERATURE = 4 };
enum { DATA, STEPS, STUDENT_STEPS, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = DIGITS_OPTION,
    [STEPS] = {"--steps", OPTION_COUNT, "N", "number of updates of the teacher", "200"},
    [STUDENT_STEPS] = {"--student-steps", OPTION_COUNT, "N", "number of updates of the student", "1500"},
};

static tensor *make_teacher(tensor *image, bool inference) {
    graph *g = tensor_graph(image);
    scope_begin(g, "teacher", true), scope_inference(g, inference);
    tensor *x = relu(batch_norm(conv2d(image, 32, 3, .padding = 1, .no_bias = true)));
    x = max_pool2d(relu(batch_norm(conv2d(x, 64, 3, .padding = 1, .no_bias = true))), 2);
    x = linear(flatten(x), 10);
    scope_end(g);
    return x;
}

static tensor *make_student(tensor *image) {
    graph *g = tensor_graph(image);
    scope_begin(g, "student", true);
    tensor *x = linear(relu(linear(flatten(image), 24)), 10);
    scope_end(g);
    return x;
}

/* How far the student's probabilities are from the teacher's. */
static tensor *distillation_loss(tensor *logits, tensor *teacher_logits) {
    tensor *own = log_softmax(div_number(logits, TEMPERATURE), 1);
    tensor *wanted = softmax(div_number(teacher_logits, TEMPERATURE), 1);
    tensor *loss = kl_div_loss(own, wanted, false, WITH(loss, .reduction = LOSS_BATCH_MEAN));
    return mul_number(loss, TEMPERATURE * TEMPERATURE);
}

static tensor *count_right(tensor *logits, tensor *label) {
    return sum(cast(equal(argmax(logits, 1), label), I32));
}

static status train(training_loop *loop) {
    static float images[BATCH_SIZE][DIGIT_PIXELS], unseen_images[TESTED][DIGIT_PIXELS];
    static int32_t labels[BATCH_SIZE], unseen_labels[TESTED];
    static const char *const names[] = {"teacher", "student"};
    float now = 0;
    int32_t right[2];
    dataset *seen = NULL, *unseen = NULL;
    plan *learn[2] = {NULL}, *classify = NULL;
    graph *g = loop->graph;
    tensor *image = input(g, "image", F32, 1, 8, 8), *label = input(g, "label", I32);
    tensor *teacher = make_teacher(image, false), *student = make_student(image);
    tensor *soft = distillation_loss(student, make_teacher(image, true)),
           *hard = cross_entropy(student, label);
    tensor *losses[] = {cross_entropy(teacher, label), mul_number(add(soft, hard), 0.5)};
    tensor *rights[] = {count_right(teacher, label), count_right(student, label)};
    status error = dataset_open_idx(&seen, loop->context, options[DATA].text, "train") ||
                   dataset_open_idx(&unseen, loop->context, options[DATA].text, "t10k");
    for (int i = 0; i < 2 && !error; i++) {
        tensor *update = train_step(losses[i], adam(2e-3f), i ? "student.*" : "teacher.*");
        error = plan_create(&learn[i], TENSORS(losses[i], update), WITH(plan, .batch = BATCH_SIZE));
    }
    if (!error)
        error = plan_create(&classify, rights, 2, WITH(plan, .batch = TESTED, .inference = true)) ||
                loop_begin(loop, option_count_of(&options[STEPS]));
    for (int i = 0; i < 2 && !error && !loop->stopped; i++) {
        const value values[] = {VALUE(image, images), VALUE(label, labels), VALUE(losses[i], now)};
        if (i) loop->last += option_count_of(&options[STUDENT_STEPS]);
        if (loop->step > loop->last) continue; /* that part was over when the checkpoint was saved */
        while (loop_next(loop, &error)) {
            if (!draw_digits(seen, 0, 9, BATCH_SIZE, images, labels)) break;
            error = plan_step(learn[i], values, 3);
            trace_values(values, 3);
            if (loop_every(loop, 250))
                printf("step %4zu: loss of the %s %.3f\n", loop->step, names[i], (double)now);
        }
    }
    if (!error && !loop->stopped && draw_digits(unseen, 0, 9, TESTED, unseen_images, unseen_labels)) {
        error = plan_step(classify, VALUES(VALUE(image, unseen_images), VALUE(label, unseen_labels),
                                        VALUE(rights[0], right[0]), VALUE(rights[1], right[1])));
        for (int i = 0; i < 2 && !error; i++)
            printf("%s of %lld parameters: %d of %d digits are right\n", names[i],
                (long long)graph_element_count(g, i ? "student.*" : "teacher.*"), right[i], TESTED);
    }
    plan_release(learn[0]), plan_release(learn[1]), plan_release(classify);
    dataset_release(seen), dataset_release(unseen);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {"distillation",
        "Trains a large network on digits, and a small one on the large one's predictions.", options, OPTIONS,
        .loops = true};
    return loop_main(&line, argc, argv, train);
}
