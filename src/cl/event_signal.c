/* Signals of events (contract in event_signal.h). Their memory is no program's allocator's, which may be gone before the last call. */
#include "cl/event_signal.h"
#include "base/memory.h"
#include "base/platform.h"
#include "cl/driver.h"
#include <math.h>
#include <time.h>

struct wi_event_signal {
    wi_mutex lock;
    wi_condition changed;
    bool given;
    int holders; /* the owner, and calls that are expected */
};

wi_event_signal *wi_event_signal_make(void) {
    pthread_condattr_t attributes;
    wi_event_signal *const signal = wi_allocate(NULL, sizeof *signal);
    if (!signal) return NULL;
    signal->holders = 1;
    pthread_mutex_init(&signal->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&signal->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return signal;
}

static void let_go(wi_event_signal *signal, bool gives) {
    pthread_mutex_lock(&signal->lock);
    signal->given |= gives;
    const bool last = --signal->holders == 0;
    if (gives) pthread_cond_signal(&signal->changed);
    pthread_mutex_unlock(&signal->lock);
    if (!last) return;
    pthread_cond_destroy(&signal->changed);
    pthread_mutex_destroy(&signal->lock);
    wi_release(NULL, signal);
}

/* A thread of the driver's may have had the lock when this process was forked, and its calls do not come here. */
void wi_event_signal_release(wi_event_signal *signal) {
    if (wi_process_lost_driver())
        wi_release(NULL, signal);
    else if (signal)
        let_go(signal, false);
}

static void CL_CALLBACK give(cl_event event, cl_int state, void *signal) {
    (void)event;
    (void)state;
    let_go(signal, true);
}

bool wi_event_signal_expect(wi_event_signal *signal, cl_event event) {
    pthread_mutex_lock(&signal->lock);
    signal->holders++;
    pthread_mutex_unlock(&signal->lock);
    if (clSetEventCallback(event, CL_COMPLETE, give, signal) == CL_SUCCESS) return true;
    let_go(signal, false);
    return false;
}

void wi_event_signal_wait(wi_event_signal *signal, double seconds) {
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    const double at = (double)end.tv_nsec * 1e-9 + seconds;
    end.tv_sec += (time_t)at;
    end.tv_nsec = (long)((at - floor(at)) * 1e9);
    pthread_mutex_lock(&signal->lock);
    while (!signal->given && pthread_cond_timedwait(&signal->changed, &signal->lock, &end) == 0) continue;
    signal->given = false;
    pthread_mutex_unlock(&signal->lock);
}
