/* setenv and unsetenv for the tests, which replace those of the C library. Threads of drivers (PoCL's, for example) read the environment
 * when a kernel runs for the first time, perhaps while a test sets a variable for its next plan. The C library frees the array of variables
 * when one is added, so that such a thread could read freed memory. These functions free nothing. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

enum { MOST_VARIABLES = 4096 };

/* All texts that were ever in the environment are kept, because threads may still read values that were replaced. */
typedef struct variable {
    struct variable *before;
    char text[];
} variable;

static char *table[MOST_VARIABLES + 1];
static variable *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The index of the variable in environ, or of the NULL at its end. */
static size_t place_of(const char *name, size_t length) {
    size_t place = 0;
    while (table[place] && !(strncmp(table[place], name, length) == 0 && table[place][length] == '='))
        place++;
    return place;
}

static void take_environment(void) {
    if (environ == table) return;
    size_t count = 0;
    for (; environ && environ[count] && count < MOST_VARIABLES; count++) table[count] = environ[count];
    environ = table;
}

static char *make(const char *name, size_t length, const char *value) {
    const size_t value_length = strlen(value);
    variable *const made = malloc(sizeof *made + length + value_length + 2);
    if (!made) return NULL;
    made->before = all;
    all = made;
    memcpy(made->text, name, length);
    made->text[length] = '=';
    memcpy(made->text + length + 1, value, value_length + 1);
    return made->text;
}

static int set(const char *name, const char *value, int overwrite) {
    const size_t length = strlen(name), place = place_of(name, length);
    if (table[place] && !overwrite) return 0;
    char *const text = place < MOST_VARIABLES ? make(name, length, value) : NULL;
    if (text) table[place] = text;
    return text ? 0 : -1;
}

int setenv(const char *name, const char *value, int overwrite) {
    pthread_mutex_lock(&lock);
    take_environment();
    const int status = set(name, value, overwrite);
    pthread_mutex_unlock(&lock);
    if (status != 0) errno = ENOMEM;
    return status;
}

int unsetenv(const char *name) {
    pthread_mutex_lock(&lock);
    take_environment();
    for (size_t i = place_of(name, strlen(name)); table[i]; i++) table[i] = table[i + 1];
    pthread_mutex_unlock(&lock);
    return 0;
}
