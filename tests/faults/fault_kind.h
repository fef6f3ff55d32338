/* Kinds of faults, as series of cases: in case n of a series the nth call of something fails. */
#ifndef FAULT_KIND_H
#define FAULT_KIND_H

#include <weft/base.h>

typedef struct fault_kind {
    const char *name;
    void (*open)(void); /* once in a process, before all else */
    size_t (*series)(void);
    long (*calls)(size_t series);         /* since it was armed with 0 */
    void (*arm)(size_t series, long nth); /* 0: nothing fails */
    bool (*hit)(void);
    /* Whether a program may end with this error then. */
    bool (*expects)(size_t series, weft_status status, const char *line);
    bool (*is_remembered)(size_t series); /* the cache of programs remembers the failure, rightly */
    bool chains;                          /* its cases may follow each other in one context */
    void (*describe)(size_t series, char *text, size_t capacity);
} fault_kind;

extern const fault_kind fault_kind_memory, fault_kind_opencl, fault_kind_files;

#endif
