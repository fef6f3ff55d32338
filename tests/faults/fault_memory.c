/* malloc and its relatives (contract in fault_memory.h). They stand in the program itself, so that every library gets these. */
#define _GNU_SOURCE /* dl_iterate_phdr, dladdr, RTLD_NEXT */
#include "fault_memory.h"
#include "fault_layer.h"
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define OVERRIDE __attribute__((visibility("default"), noinline))

enum { TABLE = 1 << 18, MOST_RANGES = 32, EARLY_BYTES = 1 << 16, THREADS = 256, MAPPINGS = 256 };

typedef struct range {
    uintptr_t begin, end;
} range;

typedef struct block {
    const void *memory, *site;
    size_t bytes;
    unsigned long number;
} block;

static struct {
    range ours[MOST_RANGES], library[MOST_RANGES];
    int ours_count, library_count;
    atomic_bool open;
    atomic_long remaining; /* until the failing one; 0: none */
    atomic_long asked;
    atomic_bool lasting, hit;
    const void *_Atomic site;
    pthread_mutex_t lock; /* of all that follows */
    block blocks[TABLE];  /* open addressing */
    size_t live;
    unsigned long number, mark;
    range mapped[MAPPINGS]; /* empty ones are free */
    size_t mapped_at_mark;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool is_own_thread;

/* ---- the real ones ---- */

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
} real;

/* Looking them up allocates itself. */
static _Alignas(16) char early[EARLY_BYTES];
static size_t early_used;
static bool looking_up;

static bool is_early(const void *memory) {
    return (const char *)memory >= early && (const char *)memory < early + EARLY_BYTES;
}

static void *take_early(size_t bytes) {
    const size_t size = (bytes + 15) / 16 * 16;
    if (size > EARLY_BYTES - early_used) return NULL;
    void *const memory = early + early_used;
    early_used += size;
    return memory;
}

static void look_up(void) {
    if (real.free || looking_up) return;
    looking_up = true;
    *(void **)&real.malloc = dlsym(RTLD_NEXT, "malloc");
    *(void **)&real.calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&real.realloc = dlsym(RTLD_NEXT, "realloc");
    *(void **)&real.free = dlsym(RTLD_NEXT, "free");
    looking_up = false;
}

/* ---- whose code ---- */

static bool is_in(const range *ranges, int count, const void *code) {
    for (int i = 0; i < count; i++)
        if ((uintptr_t)code >= ranges[i].begin && (uintptr_t)code < ranges[i].end) return true;
    return false;
}

bool fault_memory_is_ours(const void *code) {
    return is_in(state.ours, state.ours_count, code);
}

bool fault_memory_is_library(const void *code) {
    return is_in(state.library, state.library_count, code);
}

static bool is_parser(const char *path) {
    static const char *const names[] = {"/libcjson.", "/libpng", "/libjpeg.", "/libz.", "/libxxhash."};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(path, names[i])) return true;
    return *path == '\0'; /* the program */
}

static void add_ranges(const struct dl_phdr_info *info, range *ranges, int *count) {
    for (int i = 0; i < info->dlpi_phnum && *count < MOST_RANGES; i++) {
        const ElfW(Phdr) *const part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        const uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        ranges[(*count)++] = (range){begin, begin + part->p_memsz};
    }
}

static int note_module(struct dl_phdr_info *info, size_t bytes, void *user) {
    (void)bytes, (void)user;
    static bool program_seen;
    const bool program = *info->dlpi_name == '\0' && !program_seen;
    if (program) program_seen = true;
    if (program || (*info->dlpi_name && is_parser(info->dlpi_name)))
        add_ranges(info, state.ours, &state.ours_count);
    else if (strstr(info->dlpi_name, "/libc.so"))
        add_ranges(info, state.library, &state.library_count);
    return 0;
}

void fault_memory_open(void) {
    look_up();
    is_own_thread = true;
    dl_iterate_phdr(note_module, NULL);
    atomic_store(&state.open, true);
}

const char *fault_memory_name(const void *code) {
    static char name[512];
    Dl_info found;
    if (!code || !dladdr(code, &found)) return "?";
    const char *const slash = strrchr(found.dli_fname, '/');
    snprintf(name, sizeof name, "%s+%#tx", slash ? slash + 1 : found.dli_fname,
        (const char *)code - (const char *)found.dli_fbase - 1);
    return name;
}

/* ---- which fail ---- */

void fault_memory_arm(long nth, bool lasting) {
    atomic_store(&state.hit, false);
    if (nth) atomic_store(&state.site, NULL); /* else it is still asked for */
    atomic_store(&state.asked, 0);
    atomic_store(&state.lasting, lasting);
    atomic_store(&state.remaining, nth);
}

long fault_memory_asked(void) {
    return atomic_load(&state.asked);
}

bool fault_memory_hit(void) {
    return atomic_load(&state.hit);
}

const void *fault_memory_site(void) {
    return atomic_load(&state.site);
}

static bool counts(const void *site) {
    if (!atomic_load_explicit(&state.open, memory_order_relaxed) || fault_layer_inside()) return false;
    return fault_memory_is_ours(site) || (is_own_thread && fault_memory_is_library(site));
}

static bool fails(const void *site) {
    atomic_fetch_add_explicit(&state.asked, 1, memory_order_relaxed);
    if (atomic_load_explicit(&state.remaining, memory_order_relaxed) <= 0) return false;
    const long left = atomic_fetch_sub(&state.remaining, 1);
    if (left != 1) return false;
    if (atomic_load(&state.lasting)) atomic_store(&state.remaining, 1);
    if (!atomic_exchange(&state.hit, true)) atomic_store(&state.site, site);
    errno = ENOMEM;
    return true;
}

/* ---- what lives ---- */

static size_t place_of(const void *memory) {
    const uint64_t hash = (uint64_t)(uintptr_t)memory * 0x9e3779b97f4a7c15u;
    return (size_t)(hash >> 32) % TABLE;
}

static void note(const void *memory, size_t bytes, const void *site) {
    if (!memory) return;
    pthread_mutex_lock(&state.lock);
    size_t at = place_of(memory);
    while (state.blocks[at].memory && state.live < TABLE / 2) at = (at + 1) % TABLE;
    if (state.live < TABLE / 2) {
        state.blocks[at] = (block){memory, site, bytes, ++state.number};
        state.live++;
    }
    pthread_mutex_unlock(&state.lock);
}

/* The gap is closed by those that were pushed on by what stood there. */
static void remove_at(size_t gap) {
    for (size_t at = (gap + 1) % TABLE; state.blocks[at].memory; at = (at + 1) % TABLE) {
        const size_t home = place_of(state.blocks[at].memory);
        const bool may_move = (at + TABLE - home) % TABLE >= (at + TABLE - gap) % TABLE;
        if (!may_move) continue;
        state.blocks[gap] = state.blocks[at];
        gap = at;
    }
    state.blocks[gap] = (block){0};
    state.live--;
}

static void forget(const void *memory) {
    if (!memory || !atomic_load_explicit(&state.open, memory_order_relaxed)) return;
    pthread_mutex_lock(&state.lock);
    size_t at = place_of(memory);
    while (state.blocks[at].memory && state.blocks[at].memory != memory) at = (at + 1) % TABLE;
    if (state.blocks[at].memory) remove_at(at);
    pthread_mutex_unlock(&state.lock);
}

size_t fault_memory_live(void) {
    return state.live;
}

static size_t mapped_bytes(void) {
    size_t sum = 0;
    pthread_mutex_lock(&state.lock);
    for (int i = 0; i < MAPPINGS; i++) sum += state.mapped[i].end - state.mapped[i].begin;
    pthread_mutex_unlock(&state.lock);
    return sum;
}

/* The memory of a buffer goes when the driver's threads have finished with it, which may be after its release. */
static size_t mapped_since_mark(void) {
    enum { WAITS = 2000 };
    const struct timespec millisecond = {.tv_nsec = 1000000};
    for (int i = 0; i < WAITS && mapped_bytes() > state.mapped_at_mark; i++) nanosleep(&millisecond, NULL);
    const size_t mapped = mapped_bytes();
    return mapped > state.mapped_at_mark ? mapped - state.mapped_at_mark : 0;
}

void fault_memory_mark(void) {
    state.mark = state.number;
    state.mapped_at_mark = mapped_bytes();
}

size_t fault_memory_print_leaks(void) {
    size_t found = 0;
    for (size_t i = 0; i < TABLE; i++) {
        const block *const b = &state.blocks[i];
        if (!b->memory || b->number <= state.mark) continue;
        if (found++ < 5)
            fprintf(stderr, "    leak of %zu bytes from %s\n", b->bytes, fault_memory_name(b->site));
    }
    const size_t mapped = mapped_since_mark();
    if (mapped != 0) fprintf(stderr, "    %zu bytes stay mapped\n", mapped);
    return found + (mapped != 0);
}

/* ---- in the place of the C library's ---- */

OVERRIDE void *malloc(size_t bytes) {
    const void *const site = __builtin_return_address(0);
    look_up();
    if (!real.malloc) return take_early(bytes);
    const bool counted = counts(site);
    if (counted && fails(site)) return NULL;
    void *const memory = real.malloc(bytes);
    if (counted) note(memory, bytes, site);
    return memory;
}

OVERRIDE void *calloc(size_t count, size_t size) {
    const void *const site = __builtin_return_address(0);
    look_up();
    if (!real.calloc) return take_early(count * size);
    const bool counted = counts(site);
    if (counted && fails(site)) return NULL;
    void *const memory = real.calloc(count, size);
    if (counted) note(memory, count * size, site);
    return memory;
}

OVERRIDE void *realloc(void *old, size_t bytes) {
    const void *const site = __builtin_return_address(0);
    look_up();
    const bool counted = counts(site);
    if (counted && fails(site)) return NULL;
    forget(old); /* before it can be another thread's */
    void *const memory = real.realloc(old, bytes);
    if (counted) note(memory ? memory : old, bytes, site);
    return memory;
}

OVERRIDE void free(void *memory) {
    look_up();
    if (is_early(memory) || !real.free) return;
    forget(memory);
    real.free(memory);
}

/* What is mapped may be unmapped in pieces, at its ends. A file that is mapped is no memory. */
static uintptr_t whole_pages(size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

static void note_mapped(uintptr_t begin, size_t bytes) {
    pthread_mutex_lock(&state.lock);
    for (int i = 0; i < MAPPINGS; i++) {
        if (state.mapped[i].begin != state.mapped[i].end) continue;
        state.mapped[i] = (range){begin, begin + whole_pages(bytes)};
        break;
    }
    pthread_mutex_unlock(&state.lock);
}

static void forget_mapped(uintptr_t begin, size_t bytes) {
    const uintptr_t end = begin + whole_pages(bytes);
    pthread_mutex_lock(&state.lock);
    for (int i = 0; i < MAPPINGS; i++) {
        range *const r = &state.mapped[i];
        if (begin <= r->begin && end > r->begin) r->begin = end < r->end ? end : r->end;
        if (begin < r->end && end >= r->end) r->end = begin > r->begin ? begin : r->begin;
    }
    pthread_mutex_unlock(&state.lock);
}

OVERRIDE void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset) {
    const void *const site = __builtin_return_address(0);
    const bool counted = (flags & MAP_ANONYMOUS) && counts(site);
    if (counted && fails(site)) return MAP_FAILED;
    void *const memory = (void *)syscall(SYS_mmap, at, bytes, protection, flags, file, offset);
    if (counted && memory != MAP_FAILED) note_mapped((uintptr_t)memory, bytes);
    return memory;
}

OVERRIDE int munmap(void *memory, size_t bytes) {
    forget_mapped((uintptr_t)memory, bytes); /* before it can be another thread's */
    return (int)syscall(SYS_munmap, memory, bytes);
}

/* ---- threads ---- */

typedef struct start {
    void *(*function)(void *);
    void *argument;
} start;

static start starts[THREADS];
static atomic_uint next_start;

void *fault_memory_run_thread(void *user) {
    const start given = *(start *)user;
    is_own_thread = true;
    return given.function(given.argument);
}

void *fault_memory_thread(void *(*function)(void *), void *argument) {
    start *const own = &starts[atomic_fetch_add(&next_start, 1) % THREADS];
    *own = (start){function, argument};
    return own;
}
