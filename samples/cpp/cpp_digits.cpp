// The README's first program in C++: learns to read handwritten digits.
#include <iostream>
#include <weft/weft.hpp>

// From images (batch, 1, 8, 8) to a score for each digit, (batch, 10).
static weft::tensor network(weft::tensor image) {
    weft::tensor features = max_pool2d(relu(conv2d(image, 32, 3)), 2);
    return linear(flatten(features), 10);
}

int main() try {
    weft::context context; // opens the default device
    weft::dataset digits = weft::dataset::open_idx(context, "data/digits", "train");
    weft::dataset unseen = weft::dataset::open_idx(context, "data/digits", "t10k");

    weft::graph graph = context.graph();
    weft::tensor scores = network(input(graph, "image", WEFT_F32, {1, 8, 8}));
    weft::tensor loss = cross_entropy(scores, input(graph, "label", WEFT_I32));

    weft::trainer trainer(
        loss, weft::trainer_options().optimizer(weft::adam(1e-3f)).epochs(20).logits(scores));
    trainer.run(digits);
    auto [unseen_loss, accuracy] = trainer.evaluate(unseen);
    std::cout << "accuracy on digits that it has not seen: " << accuracy << "\n";
    weights_save(graph, "digits.safetensors");
} catch (const std::exception &error) {
    std::cerr << error.what() << "\n";
    return 1;
}
