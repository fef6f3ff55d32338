/* The names of the ops of op_list.h. */
#include "ops/op_table.h"

#define WI_MAP1(name, ...)    #name,
#define WI_MAP2(name, ...)    #name,
#define WI_MAP3(name, ...)    #name,
#define WI_NODE(name)         #name,
#define WI_FUNCTION_ROW(name) #name,
const char *const wi_op_names[] = {
#include "ops/op_list.h"
};
const size_t wi_op_count = sizeof wi_op_names / sizeof *wi_op_names;
