/* The classes of folders of images: given, taken of another dataset, and met by a trainer. */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/image_examples.h"
#include "support/image_tree.h"
#include <stdio.h>
#include <unistd.h>

#if defined(WEFT_WITH_PNG) && defined(WEFT_WITH_JPEG)
enum { SIDE = IMAGE_TREE_SIDE };

static weft_status open_with(weft_dataset **dataset, weft_image_options options) {
    options.struct_size = sizeof options;
    return weft_dataset_open_image_folder(dataset, test_context(), image_tree_root(), &options);
}

static int32_t label(const weft_dataset *dataset, size_t example) {
    return ((const int32_t *)weft_dataset_column(dataset, 1)->data)[example];
}

/* The option classes, and like, which takes them of another folder. */
static void classes_can_be_given(void **state) {
    (void)state;
    static const char *const three[] = {"dog", "cat", "fox", NULL}, *const twice[] = {
                                                                        "cat", "dog", "cat", NULL};
    weft_dataset *first = NULL, *second = NULL;
    image_tree_begin("given");
    image_tree_folder("cat");
    image_tree_folder("fox");
    image_tree_put("cat/1.png", 10);
    image_tree_put("fox/1.png", 20);
    assert_ok(open_with(&first, (weft_image_options){.classes = three}));
    assert_int_equal(weft_dataset_category_count(first, 1), 3);
    assert_int_equal(weft_dataset_size(first), 2);
    assert_true(label(first, 0) == 1 && label(first, 1) == 2);
    unlink(image_tree_path("cat/1.png")); /* an empty folder of a class that is known is fine */
    assert_ok(open_with(&second, (weft_image_options){.like = first}));
    assert_int_equal(weft_dataset_size(second), 1);
    assert_int_equal(label(second, 0), 2);
    assert_string_equal(weft_dataset_category(second, 1, 0), "dog");
    weft_dataset_release(second);
    image_tree_folder("wolf");
    assert_fails(open_with(&second, (weft_image_options){.like = first}), WEFT_ERROR_ARGUMENT,
        "wolf' is not one of the 3 classes");
    assert_fails(open_with(&second, (weft_image_options){.classes = twice}), WEFT_ERROR_ARGUMENT,
        "the class 'cat' is given twice");
    assert_fails(open_with(&second, (weft_image_options){.classes = three, .like = first}),
        WEFT_ERROR_ARGUMENT, "the options classes and like are both set");
    weft_dataset_release(first);
    weft_dataset *const plain = image_examples_make(NULL, 2, 3, SIDE, SIDE);
    assert_fails(open_with(&second, (weft_image_options){.like = plain}), WEFT_ERROR_ARGUMENT,
        "has no categories in a column 'label'");
    weft_dataset_release(plain);
}

static weft_dataset *open_animals(const char *root, const char *const *animals) {
    weft_dataset *dataset = NULL;
    char name[64];
    image_tree_begin(root);
    for (; *animals; animals++) {
        image_tree_folder(*animals);
        snprintf(name, sizeof name, "%s/1.png", *animals);
        image_tree_put(name, **animals == 'c' ? 0 : **animals == 'd' ? 80 : 160);
    }
    assert_ok(open_with(&dataset, (weft_image_options){0}));
    return dataset;
}

/* A network that tells the three by their red: 0, 80/255 and 160/255. */
static weft_trainer *make_judge(weft_graph *graph, weft_dataset *validation) {
    static const float slopes[] = {0, 40, 80}, offsets[] = {0, -6.25f, -25};
    const int64_t three[] = {3};
    weft_trainer *trainer = NULL;
    weft_tensor *const image = weft_input(graph, "image", WEFT_F32, 3, SIDE, SIDE);
    weft_tensor *const red = weft_reshape(weft_slice(weft_flatten(image), 1, 0, 1), WEFT_BATCH, 1);
    weft_tensor *const logits = weft_add(weft_mul(red, weft_array(graph, WEFT_F32, slopes, 1, three)),
        weft_add(
            weft_array(graph, WEFT_F32, offsets, 1, three), weft_parameter(graph, "b", weft_zeros(), 3)));
    const weft_trainer_options options = {
        WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_sgd(1e-6f), .logits = logits, .validation = validation};
    weft_tensor *const loss = weft_cross_entropy(logits, weft_input(graph, "label", WEFT_I32));
    assert_ok(weft_trainer_create(&trainer, loss, &options));
    return trainer;
}

/* Without a dog, fox is 1 in the folder for testing and 2 in that for training. */
static void a_class_that_is_not_tested_changes_no_number(void **state) {
    (void)state;
    double accuracy = 0;
    weft_dataset *const training = open_animals("training", (const char *const[]){"cat", "dog", "fox", NULL}),
                        *const testing = open_animals("testing", (const char *const[]){"cat", "fox", NULL}),
                        *const other = open_animals("other", (const char *const[]){"cat", "wolf", NULL});
    assert_int_equal(label(testing, 1), 1);
    weft_graph *const graph = test_graph();
    weft_trainer *const trainer = make_judge(graph, testing);
    assert_ok(weft_trainer_run(trainer, training));
    assert_ok(weft_trainer_evaluate(trainer, training, NULL, &accuracy));
    assert_true(accuracy == 1);
    assert_ok(weft_trainer_evaluate(trainer, testing, NULL, &accuracy));
    assert_true(accuracy == 1);
    assert_fails(weft_trainer_evaluate(trainer, other, NULL, NULL), WEFT_ERROR_ARGUMENT,
        "example 1 is 'wolf', which is not one of the 3 categories of the training data: 'cat', 'dog', "
        "'fox'");
    weft_trainer_release(trainer);
    weft_graph_release(graph);
    weft_dataset_release(training);
    weft_dataset_release(testing);
    weft_dataset_release(other);
}
#endif

int main(void) {
#if defined(WEFT_WITH_PNG) && defined(WEFT_WITH_JPEG)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_can_be_given),
        cmocka_unit_test(a_class_that_is_not_tested_changes_no_number),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
#else
    print_message("folders of images need PNG and JPEG, which the library was built without\n");
    return test_finish(0);
#endif
}
