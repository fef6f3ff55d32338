// A generative adversarial network (I. Goodfellow et al. 2014) learns points near a circle, as samples/10_gan.c: one
// discriminator that is used three times, two optimizers with rates of their own, and a plan for each of two steps.
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <weft/weft.hpp>

constexpr int64_t batch_size = 128, code = 4, width = 64;

// Two hidden layers; in a scope that shares, each call of one name is the same network.
static weft::tensor network(weft_graph *graph, const char *name, weft::tensor x, int64_t units) {
    weft::scope shared(graph, name, true);
    for (int layer = 0; layer < 2; layer++) x = leaky_relu(linear(x, width), 0.2);
    return linear(x, units);
}

// (batch_size, 2): points at a distance of 1 from the middle, give or take 0.05.
static weft::tensor real_points(weft_graph *graph) {
    weft::tensor angle = weft::uniform(graph, 0, 6.2831853f, {batch_size, 1});
    return weft::concat({cos(angle), sin(angle)}, 1) * weft::normal(graph, 1, 0.05f, {batch_size, 1});
}

// In how many of eight directions some points are.
static weft::tensor directions(weft::tensor points) {
    weft::tensor angle = atan2(slice(points, 1, 1, 2), slice(points, 1, 0, 1));
    weft::tensor eighth = floor((angle + 3.1415927) * (4 / 3.1415927));
    return sum(max(one_hot(cast(eighth, WEFT_I32) % 8, 8, WEFT_F32), 0));
}

static weft::optimizer rule(float rate) {
    return weft::adam(rate).beta1(0.5f);
}

static int steps_of(int count, char **arguments) {
    const int steps = count > 1 ? std::atoi(arguments[1]) : 2000;
    if (steps < 1) throw std::invalid_argument("usage: cpp_gan [STEPS]");
    return steps;
}

int main(int count, char **arguments) try {
    weft::context context;
    weft::graph graph = context.graph();

    // Cross-entropies: log(1 + e^-x) for the answer that x is real, log(1 + e^x) for the answer that it is not.
    weft::tensor fake = network(graph, "generator", weft::normal(graph, 0, 1, {batch_size, code}), 2);
    weft::tensor real = softplus(-network(graph, "discriminator", real_points(graph), 1));
    weft::tensor caught = softplus(network(graph, "discriminator", stop_gradient(fake), 1));
    weft::tensor passed = softplus(-network(graph, "discriminator", fake, 1));
    weft::tensor distance = mean(norm(fake, 1)), spread = weft::std(norm(fake, 1)), seen = directions(fake);

    weft::plan discriminate({train_step(mean(real + caught), rule(1e-3f), "discriminator.*")});
    weft::plan generate({train_step(mean(passed), rule(5e-4f), "generator.*"), distance, spread, seen});
    const int steps = steps_of(count, arguments);
    for (int step = 1; step <= steps; step++) {
        discriminate.run();
        generate.run();
        if (step % 500 != 0 && step != steps) continue;
        float far = 0, deviation = 0, of_eight = 0;
        generate.read(distance, far);
        generate.read(spread, deviation);
        generate.read(seen, of_eight);
        std::cout << "step " << step << ": distance " << far << " +- " << deviation << ", " << of_eight
                  << " of 8 directions\n";
    }
} catch (const std::exception &error) {
    std::cerr << "cpp_gan: " << error.what() << "\n";
    return 1;
}
