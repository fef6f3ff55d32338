/* Where nodes and errors come from: the public call that the program made, the open scopes, and the place in the program's
 * text that WEFT_HERE told.
 *
 * A public function that is made of others begins a call; what they make and what fails in them is of that call, the
 * outermost one. A node keeps its origin, and what a plan or a gradient makes in its place has the same. */
#ifndef WI_ORIGIN_H
#define WI_ORIGIN_H

#include <stddef.h>
#include <stdint.h>
#include <weft/graph.h>

typedef struct wi_origin {
    const char *call;  /* "weft_linear"; NULL: an op of its own */
    const char *scope; /* "", or "tower.block." */
    const char *file;  /* NULL: not told */
    int line;
} wi_origin;

/* The part of a graph. */
typedef struct wi_origins {
    wi_origin *of; /* number 1 and on */
    size_t count, capacity;
    const char *call;
    uint32_t depth;   /* of calls within calls */
    uint32_t current; /* of what is made now; 0: not numbered yet */
    const char *scope;
    const char *file;
    int line;
} wi_origins;

/* Call of a public function made of others, as an expression over one of its inputs: the calls in it are of `call`. Functions that
 * a macro stands for have the name of the macro: weft_linear, weft_sum. */
#define WI_CALL(x, call, expression)        WI_CALL_IN(weft_tensor_graph(x), call, expression)
#define WI_CALL_IN(graph, call, expression) (wi_call_begin((graph), call), wi_call_end((graph), (expression)))
void wi_call_begin(weft_graph *graph, const char *call); /* NULL: nothing */
weft_tensor *wi_call_end(weft_graph *graph, weft_tensor *result);
/* The same of a function that returns a status: its error names the call, unless it is an older one of the graph. */
#define WI_STATUS_CALL(graph, call, expression)                                                              \
    (wi_call_begin((graph), call), wi_call_done((graph), (expression)))
weft_status wi_call_done(weft_graph *graph, weft_status status);

/* What is made now; 0: it cannot be told. */
uint32_t wi_origin_now(weft_graph *graph);
/* From here on, what is made is of that origin, whatever is called, up to wi_origin_leave with what this gave. */
uint32_t wi_origin_enter(weft_graph *graph, uint32_t origin);
void wi_origin_leave(weft_graph *graph, uint32_t before);
/* Sets the prefix of the open scopes; NULL: none is open. */
void wi_origin_set_scope(weft_graph *graph, const char *prefix);

/* " (in weft_linear, scope 'tower.block', after model.c:42)" without what is not known, "" for nothing. A line that begins with
 * the call needs no name of it. Returns text. */
enum { WI_ORIGIN_TEXT = 512 };
const char *wi_origin_print(
    const weft_graph *graph, uint32_t origin, const char *line, char text[WI_ORIGIN_TEXT]);

#endif
