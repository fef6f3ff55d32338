// weft.hpp: trainers, loaders and files; callbacks from lambdas, and exceptions that they throw.
#include "cpp_checks.hpp"
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#if __cplusplus >= 202002L
#include <span>
static_assert(std::is_convertible_v<std::span<const float>, weft::span<const float>>);
static_assert(std::is_convertible_v<std::span<float, 3>, weft::memory>);
static_assert(!std::is_convertible_v<std::span<const float>, weft::memory>);
#endif
static_assert(!std::is_convertible_v<const std::vector<float> &, weft::span<float>>);
static_assert(!std::is_convertible_v<const std::vector<float> &, weft::memory>);
static_assert(!std::is_constructible_v<bool, weft::tensor>);
static_assert(!std::is_copy_constructible_v<weft::loader> && std::is_copy_constructible_v<weft::plan>);
static_assert(!std::is_convertible_v<bool, weft::axes> && std::is_convertible_v<short, weft::axes>);

enum { EXAMPLES = 64 };

// y = 3 x0 - x1 is learned.
struct line {
    weft::context context;
    weft::graph graph = context.graph();
    std::vector<float> points = std::vector<float>(2 * EXAMPLES), targets = std::vector<float>(EXAMPLES);
    weft::tensor output, loss;
    weft::dataset data = nullptr;

    line() {
        for (size_t i = 0; i < points.size(); i++) points[i] = static_cast<float>(i * 37 % 101) / 101 - 0.5f;
        for (size_t i = 0; i < targets.size(); i++) targets[i] = 3 * points[2 * i] - points[2 * i + 1];
        data = weft::dataset::from_memory(
            context, EXAMPLES, {weft::make_column("x", {2}, points), weft::make_column("y", {}, targets)});
        output = linear(input(graph, "x", WEFT_F32, {2}), 1);
        loss = mse(output, input(graph, "y", WEFT_F32, {}));
    }
    weft::trainer_options options(size_t epochs) const {
        return weft::trainer_options().optimizer(weft::adam(0.05f)).epochs(epochs).batch(16);
    }
};

static void a_trainer_calls_lambdas() {
    line of;
    double last = 0;
    size_t steps = 0;
    auto counts = std::make_shared<int>(0);
    {
        weft::trainer trainer(nullptr);
        {
            weft::trainer_options options = of.options(3);
            options.on_epoch(
                [&last, counts](const weft_epoch *now) { last = now->loss; }); // nothing: it goes on
            weft::trainer_options copy = options;
            copy.on_step([&](const weft_epoch *now) { return (steps = now->step) < 6; });
            trainer = weft::trainer(of.loss, copy);
        }
        trainer.run(of.data);
        CHECK(steps == 6 && last > 0 && trainer.get_info().stopped && counts.use_count() > 1);
    }
    CHECK(counts.use_count() == 1);
}

static void a_step_of_one_s_own() {
    line of;
    size_t runs = 0;
    weft::trainer trainer(of.loss, of.options(1).step([&](weft_step *now) {
        weft::plan::retain(now->plan).run();
        runs++;
    }));
    trainer.run(of.data);
    CHECK(runs == 4);
}

struct odd {
    int number;
};

static void exceptions_pass_through_c() {
    line of;
    const auto thrown_by = [&](const weft::trainer_options &options) {
        weft::trainer trainer(of.loss, options);
        try {
            trainer.run(of.data);
        } catch (const odd &thrown) {
            return static_cast<int>(trainer.get_info().steps) * 100 + thrown.number;
        }
        return 0;
    };
    CHECK(thrown_by(of.options(2).on_step([](const weft_epoch *now) {
        if (now->step == 3) throw odd{7};
    })) == 307);
    CHECK(thrown_by(of.options(2).on_epoch([](const weft_epoch *) { throw odd{8}; })) == 408);
    CHECK(thrown_by(of.options(2).step([](weft_step *now) {
        if (now->step == 1) throw odd{9};
        weft::plan::retain(now->plan).run();
    })) == 109);
    weft::trainer trainer(of.loss, of.options(1)); // nothing remains
    trainer.run(of.data);

    bool thrown = false;
    try {
        (void)parameter(of.graph, "odd",
            weft::initialiser().kind(WEFT_INIT_CUSTOM).fill([](const weft_tensor *, float *) {
                throw odd{1};
            }),
            {2});
    } catch (const odd &) {
        thrown = true;
    }
    CHECK(thrown);
}

static void an_initialiser_from_a_lambda() {
    line of;
    float next = 0;
    weft::tensor w = parameter(of.graph, "w",
        weft::initialiser().kind(WEFT_INIT_CUSTOM).fill([&](const weft_tensor *, float *values) {
            for (int i = 0; i < 3; i++) values[i] = next++;
        }),
        {3});
    std::vector<float> values(3);
    w.read(values);
    CHECK(values == (std::vector<float>{0, 1, 2}));
    w.write(std::vector<float>{5, 6, 7});
    weft::linear_options kept = weft::linear_options().no_bias().weight_initialiser(
        weft::initialiser().kind(WEFT_INIT_CUSTOM).fill([&](const weft_tensor *, float *to) { *to = next; }));
    (void)linear(reshape(w, {3, 1}), 1, kept.name("later"));
    of.graph.find("later.weight").read(next);
    CHECK(next == 3);
}

static void a_loader_gives_typed_batches() {
    line of;
    weft::loader loader(of.data, weft::loader_options().batch(24));
    size_t examples = 0, batches = 0;
    for (loader.begin(0); loader.next(); batches++) {
        const weft::span<const float> x = loader.column<float>(0), y = loader.column<float>(1);
        CHECK(x.size() == 2 * loader.examples() && y.size() == loader.examples());
        CHECK(std::equal(y.begin(), y.end(), of.targets.begin() + static_cast<std::ptrdiff_t>(examples)));
        examples += loader.examples();
    }
    CHECK(examples == EXAMPLES && batches == 3);
    CHECK_THROWS(WEFT_ERROR_ARGUMENT, "type", loader.column<int32_t>(0));
    CHECK_THROWS(WEFT_ERROR_ARGUMENT, "column", loader.column<float>(2));
    const auto [drawn, others] = weft::dataset::split(of.data, 10, 0);
    CHECK(drawn.size() == 10 && others.size() == EXAMPLES - 10 && drawn.column(0)->rank == 1);
}

static void files_are_written_and_read(const std::string &folder) {
    line of;
    const std::string array = folder + "/array.npy", weights = folder + "/line.safetensors";
    weft::save_npy(array, WEFT_F32, of.points, {EXAMPLES, 2});
    weft::npy_array read(of.context, array, WEFT_F32), moved = std::move(read);
    CHECK(moved.dims().size() == 2 && moved.dims()[0] == EXAMPLES && read.dims().empty());
    CHECK(std::equal(of.points.begin(), of.points.end(), moved.data<float>().begin()));
    CHECK_THROWS(WEFT_ERROR_ARGUMENT, "dtype", moved.data<double>());

    weft::weights_save(of.graph, weights);
    weft::graph other(of.context);
    (void)linear(input(other, "x", WEFT_F32, {2}), 1);
    (void)parameter(other, "extra", weft::zeros(), {3});
    std::vector<std::string> differences;
    weft::weights_load(other, weights,
        weft::weights_options().allow_missing().allow_extra().on_difference(
            [&](weft_weights_difference, const char *name) { differences.emplace_back(name); }));
    CHECK(differences == std::vector<std::string>{"extra"});
    weft::tensor again =
        parameter(other, "w", weft::init_from_file(weights, std::string("linear1.weight")), {1, 2});
    std::vector<float> first(2), second(2);
    of.graph.find("linear1.weight").read(first);
    again.read(second);
    CHECK(first == second);
}

static void predictions_are_those_of_the_line() {
    line of;
    weft::trainer trainer(of.loss, of.options(200));
    trainer.run(of.data);
    const auto [loss, accuracy] = trainer.evaluate(of.data);
    CHECK(loss < 1e-4 && std::isnan(accuracy));
    std::vector<float> found(2);
    predict(of.output, 2, {weft::make_column("x", {2}, std::vector<float>{1, 0, 0, 1})}, found);
    CHECK(std::fabs(found[0] - 3) < 0.1f && std::fabs(found[1] + 1) < 0.1f);
    weft::metric_state state = metric_create(of.context, weft::metric_accuracy(), 2);
    const std::vector<float> outputs = {1, 0, 0, 1, 1, 0};
    const std::vector<int32_t> labels = {0, 1, 1};
    metric_add(state, weft::metric_rows().rows(3).outputs(outputs).labels(labels));
    CHECK(metric_values(state).size() == 1 && std::fabs(weft::metric_result(state) - 2.0 / 3) < 1e-9);
}

static const char *folder = ".";

int main(int count, char **arguments) {
    if (count > 1) folder = arguments[1];
    return run_checks(
        {{"a trainer calls lambdas", a_trainer_calls_lambdas}, {"a step of one's own", a_step_of_one_s_own},
            {"exceptions pass through C", exceptions_pass_through_c},
            {"an initialiser from a lambda", an_initialiser_from_a_lambda},
            {"a loader gives typed batches", a_loader_gives_typed_batches},
            {"files are written and read", [] { files_are_written_and_read(folder); }},
            {"predictions are those of the line", predictions_are_those_of_the_line}});
}
