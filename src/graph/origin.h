/* The origins of nodes and errors: the program's call of a public function, the open scopes, and the line of the program that
 * WEFT_HERE recorded.
 *
 * A public function that calls others begins a call. Nodes and errors of the functions that it calls have the outermost call
 * as their origin. Nodes by which a plan replaces a node, and nodes of its gradient, have the origin of the node. */
#ifndef WI_ORIGIN_H
#define WI_ORIGIN_H

#include <stddef.h>
#include <stdint.h>
#include <weft/graph.h>

typedef struct wi_origin {
    const char *call;  /* "weft_linear"; NULL: the function that creates the op */
    const char *scope; /* "", or "tower.block." */
    const char *file;  /* NULL: not known */
    int line;
} wi_origin;

/* The origins of a graph. */
typedef struct wi_origins {
    wi_origin *of; /* of[i] has number i + 1 */
    size_t count, capacity;
    uint32_t depth;                  /* of nested calls */
    uint32_t current;                /* the number of the origin of new nodes; 0: it has none yet */
    const char *call, *scope, *file; /* of new nodes; NULL: none */
    int line;
} wi_origins;

/* The body of a public function that calls others: evaluates the expression as part of the call `call`. x is one of the
 * inputs. If users call the function through a macro, `call` is the name of the macro: weft_linear, weft_sum. */
#define WI_CALL(x, call, expression)        WI_CALL_IN(weft_tensor_graph(x), call, expression)
#define WI_CALL_IN(graph, call, expression) (wi_call_begin((graph), call), wi_call_end((graph), (expression)))
void wi_call_begin(weft_graph *graph, const char *call); /* graph may be NULL */
weft_tensor *wi_call_end(weft_graph *graph, weft_tensor *result);
/* The same for a function that returns a status. Its error names the call, unless the graph had the error before. */
#define WI_STATUS_CALL(graph, call, expression)                                                              \
    (wi_call_begin((graph), call), wi_call_done((graph), (expression)))
weft_status wi_call_done(weft_graph *graph, weft_status status);

/* The number of the origin of new nodes; 0: out of memory. */
uint32_t wi_origin_now(weft_graph *graph);
/* New nodes have this origin until wi_origin_leave is called with the returned value. */
uint32_t wi_origin_enter(weft_graph *graph, uint32_t origin);
void wi_origin_leave(weft_graph *graph, uint32_t before);
/* Sets the prefix of the open scopes; NULL: none is open. */
void wi_origin_set_scope(weft_graph *graph, const char *prefix);

/* Writes " (in weft_linear, scope 'tower.block', after model.c:42)", or those parts that are known, and returns the text. The call is
 * left out if `line`, the message that this is added to, begins with its name. */
enum { WI_ORIGIN_TEXT = 512 };
const char *wi_origin_print(
    const weft_graph *graph, uint32_t origin, const char *line, char text[WI_ORIGIN_TEXT]);

#endif
