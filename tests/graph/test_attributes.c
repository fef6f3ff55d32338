/* Nodes with attributes: equal ones are made once, whatever the bytes beyond the struct of their op are, and no
 * byte of the struct is left out of the comparison. */
#include "support/fixture.h"

#include "graph/weft_graph.h"
#include <string.h>

static const wi_op sliced = {
    .name = "sliced", .kind = WI_GENERATOR, .attribute_bytes = sizeof(wi_slice_attributes)};
static const wi_op padded = {
    .name = "padded", .kind = WI_GENERATOR, .attribute_bytes = sizeof(wi_padding_attributes)};
static const wi_op plain = {.name = "plain", .kind = WI_GENERATOR};

static weft_tensor *node(weft_graph *graph, const wi_op *op, const wi_attributes *attributes) {
    const wi_shape shape = {.rank = 1, .dims = {4}};
    return wi_node(graph, op, NULL, 0, WEFT_F32, &shape, attributes);
}

/* Everything is `filling` but the struct of `sliced`. */
static wi_attributes slice(unsigned char filling) {
    const wi_slice_attributes given = {.start = 3, .step = 2, .axis = 1};
    wi_attributes attributes;
    memset(&attributes, filling, sizeof attributes);
    memcpy(&attributes, &given, sizeof given);
    return attributes;
}

static void test_beyond_the_struct(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    const wi_attributes zero = slice(0), other = slice(0xa5);
    weft_tensor *const made = node(graph, &sliced, &zero);
    assert_weft_ok(weft_graph_status(graph));
    assert_ptr_equal(made, node(graph, &sliced, &other));
    const wi_attributes held = wi_attributes_of(made);
    assert_memory_equal(&held, &zero, sizeof zero);
    weft_graph_release(graph);
}

static void check_every_byte(weft_graph *graph, const wi_op *op) {
    const wi_attributes zero = {.padding = {0}};
    weft_tensor *const made = node(graph, op, &zero);
    for (size_t i = 0; i < op->attribute_bytes; i++) {
        wi_attributes other = zero;
        ((unsigned char *)&other)[i] = 1;
        weft_tensor *const differs = node(graph, op, &other);
        assert_non_null(differs);
        assert_ptr_not_equal(made, differs);
        assert_ptr_equal(differs, node(graph, op, &other));
    }
}

static void test_every_byte(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    check_every_byte(graph, &sliced);
    check_every_byte(graph, &padded);
    weft_graph_release(graph);
}

/* The same op and attributes over another input. */
static void test_over(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){8, 4});
    weft_tensor *const y = weft_input_shape(graph, "y", WEFT_F32, 2, (const int64_t[]){8, 4});
    weft_tensor *of_x = weft_flip(x, 1), *of_y = weft_flip(y, 1);
    assert_weft_ok(weft_graph_status(graph));
    assert_ptr_not_equal(of_x, of_y);
    assert_ptr_equal(wi_node_over(of_x, &y, &of_x->shape), of_y);
    weft_tensor *sum_x = weft_exp(x), *sum_y = weft_exp(y);
    assert_ptr_equal(wi_node_over(sum_x, &y, &sum_x->shape), sum_y);
    weft_graph_release(graph);
}

/* An op that forgets to declare its struct, or a node that forgets to fill it. */
static void test_undeclared(void **state) {
    (void)state;
    const wi_attributes attributes = slice(0);
    weft_graph *graph = test_graph();
    assert_null(node(graph, &plain, &attributes));
    assert_int_equal(weft_graph_status(graph), WEFT_ERROR_INTERNAL);
    weft_graph_release(graph);
    graph = test_graph();
    assert_null(node(graph, &sliced, NULL));
    assert_int_equal(weft_graph_status(graph), WEFT_ERROR_INTERNAL);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beyond_the_struct),
        cmocka_unit_test(test_every_byte),
        cmocka_unit_test(test_over),
        cmocka_unit_test(test_undeclared),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
