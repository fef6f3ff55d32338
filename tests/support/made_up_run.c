#include "support/made_up_run.h"
#include "base/host.h"
#include "io/png_write.h"
#include "support/checks.h"
#include <math.h>
#include <stdio.h>

/* Numbers that look random, from 0 to 1. */
static double noise(size_t i) {
    const double x = sin((double)i * 12.9898) * 43758.5453;
    return x - floor(x);
}

static void send(wi_event_sink *sink, const wi_event *event) {
    assert_ok(sink->write(sink, event));
}

static wi_event event_of(wi_event_kind kind, const char *tag, size_t step) {
    return (wi_event){.kind = kind, .tag = tag, .step = step, .time = wi_day_seconds() + 0.37 * (double)step};
}

static void send_values(wi_event_sink *sink, size_t step, const weft_event_value *values, size_t count) {
    wi_event event = event_of(WI_EVENT_SCALARS, "", step);
    event.of.scalars.values = values;
    event.of.scalars.count = count;
    send(sink, &event);
}

static void send_step(wi_event_sink *sink, size_t step) {
    const double part = (double)step / (MADE_UP_EPOCHS * MADE_UP_STEPS);
    const double loss = 0.08 + 2.2 * exp(-9.0 * part) + 0.4 * exp(-3.0 * part) * noise(step);
    const weft_event_value values[] = {
        {"loss/step", step == MADE_UP_PEAK_STEP ? MADE_UP_PEAK
                      : step == 77              ? (double)NAN
                                                : loss},
        {"accuracy/step", 1.0 - 0.3 * loss},
        {"run/learning_rate", 0.05 * (1.0 + cos(3.14159 * part))},
    };
    send_values(sink, step, values, 3);
}

static void send_epoch(wi_event_sink *sink, size_t step) {
    const size_t epoch = step / MADE_UP_STEPS;
    const double part = (double)epoch / MADE_UP_EPOCHS, loss = 0.06 + 2.0 * exp(-9.0 * part),
                 validation = loss + 0.08 + 0.25 * part + 0.03 * noise(epoch);
    const weft_event_value values[] = {{"loss/training", loss}, {"loss/validation", validation},
        {"accuracy/training", 1.0 - 0.35 * loss},
        {"accuracy/validation", 0.96 - 0.33 * loss - 0.01 * noise(epoch)},
        {"top_5/validation", 0.998 - 0.1 * loss}, {"run/epoch", (double)epoch},
        {"run/seconds", 0.37 * (double)step}, {"run/device_memory", 3.4e8}};
    send_values(sink, step, values, sizeof values / sizeof *values);
}

void made_up_run_steps(wi_event_sink *sink, size_t first, size_t last) {
    for (size_t step = first + 1; step <= last; step++) {
        send_step(sink, step);
        if (step % MADE_UP_STEPS == 0) send_epoch(sink, step);
    }
}

/* A disc that moves, with some noise. */
static void paint(unsigned char *pixels, int64_t side, int64_t channels, size_t seed) {
    const double cx = (double)side * (0.3 + 0.4 * noise(seed)),
                 cy = (double)side * (0.3 + 0.4 * noise(seed + 7));
    for (int64_t i = 0; i < side * side; i++)
        for (int64_t c = 0; c < channels; c++) {
            const double dx = (double)(i % side) - cx, dy = (double)(i / side) - cy;
            const double value = exp(-(dx * dx + dy * dy) / (double)(side * side) * (12.0 + 6.0 * (double)c));
            pixels[i * channels + c] = (unsigned char)(230.0 * value + 25.0 * noise((size_t)(i * 3 + c)));
        }
}

static void send_picture(wi_event_sink *sink, const char *tag, size_t step, int64_t side, int64_t channels) {
    unsigned char *const pixels = malloc((size_t)(side * side * channels));
    wi_event event = event_of(WI_EVENT_IMAGE, tag, step);
    wi_text png;
    wi_text_init(&png, NULL);
    paint(pixels, side, channels, step);
    assert_ok(wi_png_write(&png, &(wi_png_image){pixels, side, side, channels}));
    event.of.image = (wi_event_image){(const unsigned char *)png.data, png.length};
    send(sink, &event);
    wi_text_clear(&png);
    free(pixels);
}

enum { CLASSES = 10, WORST = 24, SIDE = 32 };

static void send_mistakes(wi_event_sink *sink, size_t step) {
    static const char *const names[CLASSES] = {
        "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "<b>truck</b>"};
    static unsigned char pixels[WORST][SIDE * SIDE * 3];
    uint32_t counts[CLASSES * CLASSES];
    wi_event_mistake worst[WORST];
    wi_event event = event_of(WI_EVENT_MISTAKES, "", step);
    size_t wrong = 0;
    for (size_t i = 0; i < CLASSES * CLASSES; i++) {
        const bool right = i % (CLASSES + 1) == 0;
        counts[i] = right ? 900 + (uint32_t)(80.0 * noise(i)) : (uint32_t)(30.0 * pow(noise(i), 4.0));
        wrong += right ? 0 : counts[i];
    }
    for (size_t i = 0; i < WORST; i++) {
        paint(pixels[i], SIDE, 3, i * 31);
        worst[i] = (wi_event_mistake){.index = 37 * i,
            .label = (int32_t)(i % CLASSES),
            .predicted = (int32_t)((i * 3 + 1) % CLASSES),
            .loss = 9.0 - 0.3 * (double)i,
            .probability = 0.999 - 0.02 * (double)i,
            .pixels = pixels[i]};
    }
    event.of.mistakes =
        (wi_event_mistakes){CLASSES, 10000, wrong, counts, names, worst, WORST, SIDE, SIDE, 3};
    send(sink, &event);
}

static void send_profile(wi_event_sink *sink) {
    static const char *const kinds[] = {"contraction", "contraction", "loop", "kernel", "transfer"};
    weft_profile_row rows[30];
    wi_event event = event_of(WI_EVENT_PROFILE, "", 3);
    weft_profile_info info = {.rows = 61, .launches = 90, .wall_seconds = 0.36, .enqueue_seconds = 0.002};
    for (size_t i = 0; i < 30; i++) {
        rows[i] = (weft_profile_row){kinds[i % 5], "conv_cpu 12x32", "(128, 64, 32, 32)",
            "conv2d gradient of the data, relu", 1 + i % 3, 0.06 / (double)(i + 1), 0.0,
            2e9 / (double)(i + 1), 3e7};
        info.device_seconds += rows[i].seconds;
        info.flops += rows[i].flops;
        info.bytes += rows[i].bytes;
    }
    info.device_seconds += 0.004;
    event.of.profile = (wi_event_profile){info, rows, 30};
    send(sink, &event);
}

static void send_network(wi_event_sink *sink) {
    static const uint32_t first[] = {0, 1}, second[] = {2}, third[] = {3, 4}, last[] = {5};
    const wi_event_node nodes[] = {
        {"image", "input", "(batch, 3, 32, 32)", WEFT_F32, 4, {-1, 3, 32, 32}, false, NULL, 0},
        {"conv1/weight", "parameter", "(16, 3, 3, 3)", WEFT_F32, 4, {16, 3, 3, 3}, true, NULL, 0},
        {"conv1/conv2d_2", "conv2d", "(batch, 16, 32, 32)", WEFT_F32, 4, {-1, 16, 32, 32}, false, first, 2},
        {"relu_3", "relu", "(batch, 16, 32, 32)", WEFT_F32, 4, {-1, 16, 32, 32}, false, second, 1},
        {"layer1/block1/linear1/weight", "parameter", "(10, 16)", WEFT_F32, 2, {10, 16}, true, NULL, 0},
        {"layer1/block1/linear1/matmul_5", "matmul", "(batch, 10)", WEFT_F32, 2, {-1, 10}, false, third, 2},
        {"cross_entropy_6", "cross_entropy", "()", WEFT_F32, 0, {0}, false, last, 1}};
    wi_event event = event_of(WI_EVENT_GRAPH, "", 0);
    event.of.graph = (wi_event_graph){nodes, sizeof nodes / sizeof *nodes};
    send(sink, &event);
}

static void send_settings(wi_event_sink *sink) {
    static const weft_hyperparameter settings[] = {{.name = "learning_rate", .number = 0.1},
        {.name = "optimizer", .text = "sgd"}, {.name = "batch", .number = 128},
        {.name = "</script><script>alert(1)</script>", .text = "\"quoted\" & <b>bold</b> \xe2\x80\xa8 \x01"}};
    wi_event event = event_of(WI_EVENT_SETTINGS, "", 0);
    event.of.settings = (wi_event_settings){settings, 4, NULL, 0};
    send(sink, &event);
}

void made_up_run_rest(wi_event_sink *sink) {
    const size_t steps = MADE_UP_EPOCHS * MADE_UP_STEPS;
    send_settings(sink);
    send_network(sink);
    send_profile(sink);
    for (size_t step = MADE_UP_STEPS; step <= steps; step += 10 * MADE_UP_STEPS) {
        wi_event event = event_of(WI_EVENT_TEXT, "generated", step);
        event.of.text = "Alice was beginning to get very tired of <i>sitting</i> by her sister on the bank";
        send(sink, &event);
        send_picture(sink, "samples/digits", step, 128, 1);
        send_picture(sink, "samples/colours", step, 192, 3);
    }
    send_mistakes(sink, steps);
}
