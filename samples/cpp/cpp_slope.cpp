// A loop of one's own, as in the tutorial's chapter 4: finds y(t) with y' = -y and y(0) = 1 without data, because the loss
// measures how far y' + y is from 0. The loss contains y', a gradient of the network.
#include <cmath>
#include <iostream>
#include <weft/weft.hpp>

constexpr int points = 64, steps = 600;

static weft::tensor network(weft_graph *graph, weft::tensor t) {
    weft::scope shared(graph, "y", true); // both calls are the same network
    return linear(tanh(linear(tanh(linear(t, 32)), 32)), 1);
}

int main() try {
    weft::context context;
    weft::graph graph = context.graph();

    weft::tensor t = input(graph, "t", WEFT_F32, {1}); // (batch, 1)
    weft::tensor y = network(graph, t);
    weft::tensor slope = gradient(sum(y), t); // y'(t), as a node like any other
    weft::tensor start = network(graph, array(graph, WEFT_F32, std::vector<float>{0}, {1, 1}));
    weft::tensor loss = mean(square(slope + y)) + sum(square(start - 1));

    // A plan whose outputs are the loss and the update: each run is one step.
    weft::optimizer adam = weft::adam(5e-3f).schedule(per_step(weft::cosine_schedule(steps, 0)));
    weft::plan training({loss, train_step(loss, adam)}, weft::plan_options().batch(points));

    std::vector<float> times(points);
    for (int i = 0; i < points; i++) times[static_cast<size_t>(i)] = 2 * static_cast<float>(i) / (points - 1);
    training.write(t, times);
    for (int step = 0; step < steps; step++) {
        training.run();
        if (step % 100) continue;
        float now = 0;
        training.read(loss, now);
        std::cout << "step " << step << ": loss " << now << "\n";
    }

    const std::vector<float> at = {0, 1, 2};
    std::vector<float> found(3);
    predict(y, at.size(), {weft::make_column("t", {1}, at)}, found);
    for (size_t i = 0; i < at.size(); i++)
        std::cout << "y(" << at[i] << ") = " << found[i] << ", exp(-" << at[i] << ") = " << std::exp(-at[i])
                  << "\n";
} catch (const std::exception &error) {
    std::cerr << "cpp_slope: " << error.what() << "\n";
    return 1;
}
