/* Walks through all faults of a kind in a program. Usage: fault KIND PROGRAM [CASES [SERIES NTH]]
 *
 * KIND: memory, opencl or files; PROGRAM: cnn, lstm, images, readers or devices. CASES: at most so many of each series,
 * spread evenly; "1/3": one of every third series; 0 or $WEFT_FAULTS=full: all, until the program passes untouched. SERIES
 * NTH: this case alone.
 * WEFT_FAULT_JOBS: so many processes share the series.
 * The cases run in a child process, which is started again behind a case that ends it or in which nothing moves. */
/* test.memory.{cnn,lstm,images,readers,devices} faults: memory {} 8 */
/* test.files.{cnn,lstm,images} faults: files {} 1/2 */
/* test.files.readers faults: files readers 0 */
/* test.opencl.{cnn,lstm,images,readers,devices} faults: opencl {} 1/4 */
/* With a queue for uploads, and with waits that sleep: the device of this machine asks for neither. */
/* test.opencl.{cnn,images}.queue faults WEFT_UPLOAD_QUEUE=1: opencl {} 1/12 */
/* test.opencl.{cnn,images}.sleep faults WEFT_UPLOAD_QUEUE=1 WEFT_WAIT=sleep: opencl {} 1/12 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "fault_case.h"
#include "fault_layer.h"
#include "support/scratch.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STUCK_SECONDS = 120, MOST_DEATHS = 20, LONGEST_CHAIN = 32, MOST_JOBS = 16 };

/* What the child tells. */
typedef struct progress {
    size_t series;
    long nth;
    long moved; /* counts cases */
    long outcomes[FAULT_WRONG + 1];
    bool finished;
} progress;

typedef struct walk {
    fault_setting setting;
    progress *shared, *all; /* this job's, and those of all jobs */
    long cases;
    size_t every; /* series */
    bool single;
    int jobs, job; /* this one walks every so manyth series, from this on */
} walk;

/* ---- the child ---- */

static long step_of(const walk *w, long calls) {
    return w->cases <= 0 || calls <= w->cases ? 1 : (calls + w->cases - 1) / w->cases;
}

/* Cases of neighbouring series stand at other places. */
static long first_of(size_t series, long step) {
    return 1 + (long)(series * 7 % (size_t)step);
}

/* A case goes into the chain where it fits, and else has a context of its own, behind the chain's end. */
static fault_outcome run_case(const walk *w, fault_chain *chain, size_t series, long nth, bool *last) {
    const bool fits = !w->single && fault_case_fits_chain(&w->setting, series, nth);
    *last = false;
    if ((!fits || chain->cases == LONGEST_CHAIN) && !fault_chain_end(&w->setting, chain, series, nth))
        w->shared->outcomes[FAULT_WRONG]++;
    if (!fits) return fault_case_run(&w->setting, series, nth, last);
    const fault_outcome outcome = fault_chain_run(&w->setting, chain, series, nth);
    if (outcome == FAULT_WRONG) fault_chain_end(&w->setting, chain, series, nth);
    return outcome;
}

static void walk_series(const walk *w, fault_chain *chain, size_t series, long from) {
    progress *const p = w->shared;
    const long step = w->single ? 1 : step_of(w, w->setting.calls[series].all);
    bool last = false;
    p->series = series;
    for (p->nth = from ? from : first_of(series, step);; p->nth += step) {
        const fault_outcome outcome = run_case(w, chain, series, p->nth, &last);
        p->outcomes[outcome]++;
        p->moved++;
        if (last || w->single) return;
    }
}

static int walk_all(walk *w, size_t series, long from) {
    const fault_kind *const kind = w->setting.kind;
    char *const folder = scratch_make();
    fault_chain chain = {0};
    w->setting.folder = folder;
    kind->open();
    const bool prepared = fault_case_prepare(&w->setting) && fault_layer_present();
    if (!fault_layer_present()) fprintf(stderr, "the OpenCL loader did not open the layer\n");
    const size_t count = kind->series();
    for (size_t s = series; prepared && s < count; s++) {
        if (!w->single && (w->setting.calls[s].all == 0 || s % w->every != 0)) continue;
        if (!w->single && s % (size_t)w->jobs != (size_t)w->job) continue;
        walk_series(w, &chain, s, s == series ? from : 0);
        if (w->single) break;
    }
    if (!fault_chain_end(&w->setting, &chain, w->shared->series, w->shared->nth))
        w->shared->outcomes[FAULT_WRONG]++;
    w->shared->finished = prepared;
    scratch_remove(folder);
    return prepared ? 0 : 1;
}

/* ---- the parent: it never calls OpenCL ---- */

/* Its exit status, as waitpid gives it; -1: it was stuck. */
static int watch(const walk *w, pid_t child) {
    long moved = w->shared->moved;
    int status = 0;
    for (double still = 0;; still += 0.05) {
        if (waitpid(child, &status, WNOHANG) == child) return status;
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
        if (w->shared->moved != moved) still = 0;
        moved = w->shared->moved;
        if (still < STUCK_SECONDS) continue;
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        return -1;
    }
}

static bool run_children(walk *w, size_t series, long from) {
    progress *const p = w->shared;
    for (int deaths = 0; deaths < MOST_DEATHS; deaths++) {
        p->moved = 0;
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            exit(walk_all(w, series, from)); /* LeakSanitizer looks at the end */
        }
        const int status = watch(w, child);
        if (p->finished || status == 0) return status == 0;
        if (WIFEXITED(status) && p->moved == 0 && p->nth == 0) return false;
        char text[600];
        w->setting.kind->describe(p->series, text, sizeof text);
        fprintf(stderr, "%s %s %zu.%ld (%s): %s (%d)\n", w->setting.kind->name, w->setting.subject->name,
            p->series, p->nth, text, status == -1 ? "it hangs" : "it ends the process", status);
        p->outcomes[FAULT_WRONG]++;
        if (w->single) return false;
        series = p->series;
        from = p->nth + 1;
    }
    return false;
}

static bool choose(fault_setting *setting, const char *kind, const char *subject) {
    static const fault_kind *const kinds[] = {&fault_kind_memory, &fault_kind_opencl, &fault_kind_files};
    static const fault_subject *const subjects[] = {
        &fault_cnn, &fault_lstm, &fault_images, &fault_readers, &fault_devices};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i]->name, kind) == 0) setting->kind = kinds[i];
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        if (strcmp(subjects[i]->name, subject) == 0) setting->subject = subjects[i];
    return setting->kind && setting->subject;
}

static void read_cases(walk *w, const char *text) {
    const char *const full = getenv("WEFT_FAULTS");
    char *end = NULL;
    w->every = 1;
    if (full && strcmp(full, "full") == 0) return;
    w->cases = strtol(text, &end, 10);
    if (*end == '/') w->every = strtoul(end + 1, NULL, 10);
    if (w->every == 0) w->every = 1;
#ifdef WITH_SANITIZERS
    /* AddressSanitizer maps the memory of a reader anew for each call that fails, in 20 times the time. */
    if (w->cases == 0 && !w->single) w->cases = 24;
#endif
}

/* Each job is a process that watches the one in which its cases run. */
static bool run_jobs(walk *w, size_t series, long from) {
    pid_t jobs[MOST_JOBS];
    bool ended = true;
    if (w->jobs == 1) return run_children(w, series, from);
    fflush(NULL);
    for (w->job = 0; w->job < w->jobs; w->job++) {
        w->shared = w->all + w->job;
        jobs[w->job] = fork();
        if (jobs[w->job] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            _exit(run_children(w, series, from) ? 0 : 1);
        }
    }
    for (int job = 0; job < w->jobs; job++) {
        int status = -1;
        ended = waitpid(jobs[job], &status, 0) == jobs[job] && status == 0 && ended;
    }
    return ended;
}

static bool print_sums(const walk *w) {
    long sums[FAULT_WRONG + 1] = {0};
    for (int job = 0; job < w->jobs; job++)
        for (int i = 0; i <= FAULT_WRONG; i++) sums[i] += w->all[job].outcomes[i];
    printf("%s, %s: %ld cases ended with their error and went on, %ld were tolerated, %ld were wrong\n",
        w->setting.kind->name, w->setting.subject->name, sums[FAULT_RETURNED], sums[FAULT_TOLERATED],
        sums[FAULT_WRONG]);
    return sums[FAULT_WRONG] == 0 && sums[FAULT_RETURNED] > 0;
}

int main(int argc, char **argv) {
    const char *const jobs = getenv("WEFT_FAULT_JOBS");
    walk w = {.single = argc == 6};
    if (argc < 3 || argc > 6 || argc == 5 || !choose(&w.setting, argv[1], argv[2])) {
        fprintf(stderr,
            "usage: fault memory|opencl|files cnn|lstm|images|readers|devices [CASES [SERIES NTH]]\n");
        return 2;
    }
    /* On an unknown driver a build that fails in a self-test is no error: another kernel serves, with other bits. */
    setenv("WEFT_SELF_TEST", "0", 1);
    if (!getenv("OPENCL_LAYERS")) {
        setenv("OPENCL_LAYERS", FAULT_LAYER_FILE, 1);
        execv("/proc/self/exe", argv);
    }
    read_cases(&w, argc > 3 ? argv[3] : "0");
    w.jobs = jobs && !w.single ? atoi(jobs) : 1;
    if (w.jobs < 1 || w.jobs > MOST_JOBS) return 2;
    w.all = w.shared =
        mmap(NULL, MOST_JOBS * sizeof *w.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (w.all == MAP_FAILED) return 1;
    const bool ended =
        run_jobs(&w, w.single ? strtoul(argv[4], NULL, 10) : 0, w.single ? strtol(argv[5], NULL, 10) : 0);
    const bool right = print_sums(&w);
    return ended && right ? 0 : 1;
}
