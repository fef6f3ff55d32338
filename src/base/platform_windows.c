/* Clock, threads, environment, memory and processes of Windows (contracts in platform.h, pages.h and process.h). */
#include "base/pages.h"
#include "base/platform.h"
#include "base/process.h"
#include "base/system_file.h"

#include <errno.h>
#include <locale.h>
#include <process.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#ifndef CREATE_WAITABLE_TIMER_HIGH_RESOLUTION /* Windows 10, version 1803 */
#define CREATE_WAITABLE_TIMER_HIGH_RESOLUTION 2
#endif

double wi_clock_seconds(void) {
    LARGE_INTEGER now, rate;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&rate);
    return (double)now.QuadPart / (double)rate.QuadPart;
}

/* Sleep() takes up to 16 ms more than it was asked for; such a timer does not. */
void wi_clock_sleep(double seconds) {
    const HANDLE timer = CreateWaitableTimerExW(
        NULL, NULL, CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, SYNCHRONIZE | TIMER_MODIFY_STATE);
    const LARGE_INTEGER relative = {.QuadPart = -(LONGLONG)(1e7 * seconds) - 1};
    if (timer && SetWaitableTimer(timer, &relative, 0, NULL, NULL, FALSE))
        WaitForSingleObject(timer, INFINITE);
    else
        Sleep((DWORD)(1e3 * seconds) + 1);
    if (timer) CloseHandle(timer);
}

size_t wi_processor_count(void) {
    const DWORD count = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    return count > 1 ? count : 1;
}

/* setlocale() gives the name of a locale in memory that its next call reuses. */
void wi_locale_enter(wi_locale *locale) {
    locale->mode = _configthreadlocale(_ENABLE_PER_THREAD_LOCALE);
    locale->before = _strdup(setlocale(LC_ALL, NULL));
    locale->own = locale->before;
    if (locale->before) setlocale(LC_ALL, "C");
}

void wi_locale_leave(wi_locale *locale) {
    if (locale->before) setlocale(LC_ALL, locale->before);
    free(locale->before);
    if (locale->mode > 0) _configthreadlocale(locale->mode);
}

/* The values that wi_environment has returned. They stay valid until the process ends, like those of getenv() on other systems. */
typedef struct kept_value {
    struct kept_value *next;
    char text[];
} kept_value;

static const char *keep_value(const char *text) {
    static SRWLOCK lock = SRWLOCK_INIT;
    static kept_value *first;
    kept_value *value;
    AcquireSRWLockExclusive(&lock);
    for (value = first; value && strcmp(value->text, text) != 0;) value = value->next;
    const size_t bytes = strlen(text) + 1;
    if (!value && (value = malloc(sizeof *value + bytes))) {
        memcpy(value->text, text, bytes);
        value->next = first;
        first = value;
    }
    ReleaseSRWLockExclusive(&lock);
    return value ? value->text : NULL;
}

/* getenv() would give the value in the code page of the system, which lacks most characters of paths. */
const char *wi_environment(const char *name) {
    wchar_t wide[64], value[WI_PATH_CAPACITY];
    char text[WI_PATH_CAPACITY];
    if (!MultiByteToWideChar(CP_UTF8, 0, name, -1, wide, sizeof wide / sizeof *wide)) return NULL;
    const DWORD length = GetEnvironmentVariableW(wide, value, WI_PATH_CAPACITY);
    if (length == 0 || length >= WI_PATH_CAPACITY) return NULL;
    return WideCharToMultiByte(CP_UTF8, 0, value, -1, text, sizeof text, NULL, NULL) ? keep_value(text)
                                                                                     : NULL;
}

const char *wi_cache_home(const char **below) {
    *below = "/weft/cache";
    return wi_environment("LOCALAPPDATA");
}

void wi_error_text(int error, char *text, size_t capacity) {
    strerror_s(text, capacity, error);
}

/* ---- locks and threads ---- */

void wi_mutex_init(wi_mutex *mutex) {
    InitializeSRWLock((SRWLOCK *)mutex);
}

void wi_mutex_destroy(wi_mutex *mutex) {
    (void)mutex;
}

void wi_mutex_lock(wi_mutex *mutex) {
    AcquireSRWLockExclusive((SRWLOCK *)mutex);
}

void wi_mutex_unlock(wi_mutex *mutex) {
    ReleaseSRWLockExclusive((SRWLOCK *)mutex);
}

void wi_condition_init(wi_condition *condition) {
    InitializeConditionVariable((CONDITION_VARIABLE *)condition);
}

void wi_condition_destroy(wi_condition *condition) {
    (void)condition;
}

void wi_condition_wait(wi_condition *condition, wi_mutex *mutex) {
    SleepConditionVariableSRW((CONDITION_VARIABLE *)condition, (SRWLOCK *)mutex, INFINITE, 0);
}

void wi_condition_wait_for(wi_condition *condition, wi_mutex *mutex, double seconds) {
    SleepConditionVariableSRW(
        (CONDITION_VARIABLE *)condition, (SRWLOCK *)mutex, (DWORD)(1e3 * seconds) + 1, 0);
}

void wi_condition_wake_one(wi_condition *condition) {
    WakeConditionVariable((CONDITION_VARIABLE *)condition);
}

void wi_condition_wake_all(wi_condition *condition) {
    WakeAllConditionVariable((CONDITION_VARIABLE *)condition);
}

static unsigned __stdcall run_thread(void *argument) {
    const wi_thread *const thread = argument;
    (void)thread->function(thread->argument);
    return 0;
}

weft_status wi_thread_start(wi_thread *thread, void *(*function)(void *), void *argument) {
    thread->function = function;
    thread->argument = argument;
    thread->handle = (HANDLE)_beginthreadex(NULL, 0, run_thread, thread, 0, NULL);
    thread->running = thread->handle != NULL;
    if (thread->running) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_MEMORY, "cannot start a thread: error %d", errno);
}

void wi_thread_join(wi_thread *thread) {
    if (!thread->running) return;
    WaitForSingleObject(thread->handle, INFINITE);
    CloseHandle(thread->handle);
    thread->running = false;
}

/* ---- memory and processes ---- */

/* Large pages need a privilege that users do not have. */
void *wi_pages_map(size_t bytes) {
    (void)bytes;
    return NULL;
}

void wi_pages_unmap(void *pages, size_t bytes) {
    (void)pages, (void)bytes;
}

/* Windows has no fork(). */
bool wi_process_driver_is_lost;

weft_status wi_process_check_driver(void) {
    return WEFT_OK;
}

weft_status wi_process_begin_driver(void) {
    return WEFT_OK;
}
