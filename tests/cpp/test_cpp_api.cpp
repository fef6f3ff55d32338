// weft.hpp: owners, errors, memory of C++ types, structs with setters, callbacks, operators.
#include "cpp_checks.hpp"
#include <array>
#include <cmath>

// What a plan computes for one output.
static std::vector<float> computed(weft::tensor output) {
    weft::plan plan({output});
    plan.run();
    size_t size = 1;
    for (int i = 0; i < output.rank(); i++) size *= static_cast<size_t>(output.dimension(i));
    std::vector<float> values(size);
    plan.read(output, values);
    return values;
}

static weft::tensor constant(weft_graph *graph, const std::vector<float> &values) {
    return array(weft::graph::retain(graph), WEFT_F32, values, {static_cast<int64_t>(values.size())});
}

// ---- owners ----

static void an_object_lives_as_long_as_its_owners() {
    const auto seen = std::make_shared<int>(0);
    weft::plan last(nullptr);
    {
        weft::context context(weft::context_options().log([seen](weft_log_level, const char *) { ++*seen; }));
        weft::graph graph = context.graph();
        weft::graph other(context);
        weft::graph copy = graph;
        CHECK(copy.get() == graph.get() && other.get() != graph.get());
        weft::plan plan({constant(graph, {1, 2}) + 1});
        weft::plan moved = std::move(plan);
        CHECK(!plan && moved);
        last = moved;
        CHECK(last.get() == moved.get());
        last = *&last;
    }
    CHECK(seen.use_count() == 2); // the plan keeps the context, which keeps the callback
    last.run();
    last = nullptr;
    CHECK(seen.use_count() == 1);
}

static void an_owner_gives_and_takes() {
    weft::context context;
    weft_graph *raw = nullptr;
    CHECK(weft_graph_create(&raw, context) == WEFT_OK);
    weft::graph graph = weft::graph::adopt(raw);
    weft::graph shared = weft::graph::retain(graph);
    weft_graph *const given = shared.detach();
    CHECK(given == raw && !shared);
    weft_graph_release(given);
    CHECK(graph.context().get() == context.get());
    weft::snapshot snapshot(graph);
    snapshot.take();
    snapshot.restore();
}

static void a_context_that_fails_keeps_nothing() {
    const auto seen = std::make_shared<int>(0);
    CHECK_THROWS(WEFT_ERROR_NO_DEVICE, "no such device", {
        weft::context none(
            weft::context_options().device("no such device").log([seen](weft_log_level, const char *) {}));
    });
    CHECK(seen.use_count() == 1);
}

// ---- errors ----

static void errors_are_exceptions() {
    weft::context context;
    weft::graph graph(context);
    weft::tensor x = input(graph, "x", WEFT_F32, {3});
    CHECK(x.rank() == 2 && x.dimension(0) == WEFT_BATCH && x.dtype() == WEFT_F32 &&
          x.name() == std::string("x"));
    CHECK(graph.find("y") == nullptr && graph.find_input("x") != nullptr);
    CHECK_THROWS(WEFT_ERROR_ARGUMENT, "relu", relu(weft::tensor()));
    CHECK_THROWS(WEFT_ERROR_ARGUMENT, "concat", weft::concat({}, 1));
    CHECK(graph.status() == WEFT_OK);
    CHECK_THROWS(WEFT_ERROR_SHAPE, "matmul", matmul(x, x));
    CHECK(graph.status() == WEFT_ERROR_SHAPE);                 // as in C, the graph keeps its first error
    CHECK_THROWS(WEFT_ERROR_SHAPE, "matmul", weft::plan({x})); // and later calls report it
    CHECK_THROWS(WEFT_ERROR_FILE, "none", weft::dataset::open_idx(context, "none", "train"));
    CHECK_THROWS(WEFT_ERROR_ARGUMENT, "", weft::plan(nullptr).run());
}

// ---- memory ----

static void memory_of_many_types_is_taken() {
    weft::context context;
    weft::graph graph(context);
    weft::tensor x = input(graph, "x", WEFT_F32, {2});
    weft::tensor twice = x * 2, total = sum(x);
    weft::plan plan({twice, total}, weft::plan_options().batch(2));
    const std::vector<float> vector = {1, 2, 3, 4};
    const std::array<float, 4> array = {5, 6, 7, 8};
    float numbers[4] = {0, 0, 0, 0}, now = 0;
    const auto run = [&](weft::const_memory memory) {
        plan.write(x, memory);
        plan.run();
        plan.read(twice, numbers);
        plan.read(total, now);
    };
    run(vector);
    CHECK(numbers[3] == 8 && now == 10);
    run(array);
    CHECK(numbers[0] == 10 && now == 26);
    run(numbers);
    CHECK(numbers[0] == 20 && now == 52);
    run({vector.data(), sizeof(float) * 4});
    CHECK(numbers[0] == 2);
    run(weft::span<const float>(vector));
    plan.step(std::array{weft::value_in(x, array), weft::value_out(total, now)});
    CHECK(now == 26);
    plan.step({weft::value_in(x, vector), weft::value_out(total, now)});
    CHECK(now == 10);
    const std::vector<double> other = {1, 2, 3, 4};
    const std::vector<int32_t> whole = {1, 2, 3, 4};
    CHECK_THROWS(WEFT_ERROR_DTYPE, "elements of f32", plan.write(x, other));
    CHECK_THROWS(WEFT_ERROR_DTYPE, "elements of f32", plan.write(x, whole));
    CHECK_THROWS(WEFT_ERROR_ARGUMENT, "", plan.write(x, weft::span<const float>(vector.data(), 3)));
    CHECK_THROWS(WEFT_ERROR_ARGUMENT, "size", weft::array(graph, WEFT_F32, vector, {3}));
}

static void lists_come_back_as_vectors() {
    weft::context context;
    weft::graph graph(context);
    weft::tensor x = input(graph, "x", WEFT_F32, {6});
    const std::vector<weft::tensor> halves = split(x, 1, 2), parts = split_sizes(x, 1, {1, 2, 3});
    CHECK(
        halves.size() == 2 && halves[1].dimension(1) == 3 && parts.size() == 3 && parts[2].dimension(1) == 3);
    CHECK(weft::stack(halves, 0).rank() == 3);
    weft::tensor w = parameter(graph, "w", weft::fill(2), {6});
    weft::tensor loss = mean(x * w);
    CHECK(weft::gradients(loss, {w, x}).size() == 2);
    CHECK(!weft::minimize(loss, weft::sgd(0.1f)).empty());
    weft::plan plan({loss});
    CHECK(plan.describe(WEFT_FORMAT_JSON).find("\"steps\"") != std::string::npos);
    CHECK(plan.get_info().batch == 1);
    const auto vocabulary = weft::vocabulary::from_text(context, "hello", weft::vocabulary_options());
    const std::vector<int32_t> tokens = vocabulary.encode("hole");
    CHECK(tokens.size() == 4 && vocabulary.decode(tokens) == "hole" && vocabulary.token(tokens[0]) == "h");
    const auto [bytes, peak] = context.memory();
    CHECK(bytes <= peak);
}

// ---- operators ----

static void operators_compute() {
    weft::context context;
    weft::graph graph(context);
    weft::tensor a = constant(graph, {1, 2, 3}), b = constant(graph, {4, 2, 1});
    const auto is = [](weft::tensor x, std::vector<float> expected) { return computed(x) == expected; };
    CHECK(is(a + b, {5, 4, 4}) && is(a - b, {-3, 0, 2}) && is(a * b, {4, 4, 3}) && is(a / b, {0.25f, 1, 3}));
    CHECK(is(a + 1, {2, 3, 4}) && is(1 - a, {0, -1, -2}) && is(2L / b, {0.5f, 1, 2}) &&
          is(a * 0.5f, {0.5f, 1, 1.5f}));
    CHECK(is(-a, {-1, -2, -3}) && is(b % 3, {1, 2, 1}) && is(7 % b, {3, 1, 0}));
    const auto truth = [&](weft::tensor x) { return computed(cast(x, WEFT_F32)); };
    using numbers = std::vector<float>;
    CHECK(truth(a < b) == (numbers{1, 0, 0}) && truth(a >= b) == (numbers{0, 1, 1}) &&
          truth(a == b) == (numbers{0, 1, 0}));
    CHECK(truth(a > 1) == (numbers{0, 1, 1}) && truth(2 < a) == (numbers{0, 0, 1}) &&
          truth(2 >= a) == (numbers{1, 1, 0}));
    CHECK(truth(a != 2) == (numbers{1, 0, 1}) && truth(~(a == b) & (a < 3)) == (numbers{1, 0, 0}));
    CHECK(truth((a == b) | (a < 2)) == (numbers{1, 1, 0}) && truth((a == b) ^ (a < 3)) == (numbers{1, 0, 0}));
    a += b;
    a *= 2;
    CHECK(is(a, {10, 8, 8}) && is(a[0], {10}) && is(a[-1], {8}) && is(sum(reshape(a, {1, 3}), {0, 1}), {26}));
    CHECK(is(sum(reshape(a, {3, 1}), 1, true), {10, 8, 8}) && is(max(a), {10}) &&
          is(weft::flip(a), {8, 8, 10}));
}

// ---- structs with setters ----

static std::string text(const char *start, int number) {
    return start + std::to_string(number) + std::string(64, '.');
}

static void structs_keep_what_they_point_to() {
    weft::context context;
    weft::graph graph(context);
    weft::linear_options named;
    {
        const std::string name = text("layer", 1);
        named.name(name).no_bias().weight_initialiser(weft::fill(3));
    }
    const weft::linear_options copy = named.name(text("other", 2));
    named = weft::linear_options();
    CHECK(copy.get().name == text("other", 2) && copy.get().no_bias && copy.get().weight_initialiser->a == 3);
    weft::tensor y = linear(constant(graph, {1, 1}), 1, copy);
    CHECK(computed(y)[0] == 6 && graph.find(text("other", 2) + ".weight") != nullptr);

    weft::weights_options which =
        weft::weights_options().only({"a.*", text("b", 3)}).skip(std::vector<std::string>{"c"});
    CHECK(which.get().only[0] == std::string("a.*") && which.get().only[1] == text("b", 3) &&
          !which.get().only[2]);
    CHECK(which.get().skip[0] == std::string("c") && !which.get().skip[1]);

    weft::trainer_options options =
        weft::trainer_options().metrics({weft::metric_top_k(3), weft::metric_f1(WEFT_AVERAGE_MICRO)});
    CHECK(options.get().metric_count == 2 && options.get().metrics[0].k == 3 && options.get().epochs == 0);
    options.optimizer(
        weft::adam(0.5f).groups({weft::parameter_group().parameters(text("p", 4)).rate_factor(2)}));
    CHECK(
        options.get().optimizer.rate == 0.5f && options.get().optimizer.groups[0].parameters == text("p", 4));
    CHECK(weft::conv_options().strides({2, 1}).get().strides[2] == 0);
    CHECK_THROWS(WEFT_ERROR_ARGUMENT, "too long", weft::conv_options().strides({1, 2, 3, 4}));
    CHECK(weft::multi_step_schedule({3, 6}, 0.5f).get().milestone_count == 2);
    CHECK(weft::schedule().milestones({3, 6, 9}).get().milestone_count == 3);
}

int main() {
    return run_checks({{"an object lives as long as its owners", an_object_lives_as_long_as_its_owners},
        {"an owner gives and takes", an_owner_gives_and_takes},
        {"a context that fails keeps nothing", a_context_that_fails_keeps_nothing},
        {"errors are exceptions", errors_are_exceptions},
        {"memory of many types is taken", memory_of_many_types_is_taken},
        {"lists come back as vectors", lists_come_back_as_vectors}, {"operators compute", operators_compute},
        {"structs keep what they point to", structs_keep_what_they_point_to}});
}
