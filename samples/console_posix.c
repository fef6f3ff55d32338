/* See console.h. */
#include "console.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { USUAL_WIDTH = 80 };

double console_seconds(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool console_is_terminal(void) {
    const char *const kind = getenv("TERM");
    return isatty(STDERR_FILENO) && !(kind && strcmp(kind, "dumb") == 0);
}

int console_width(void) {
    struct winsize size = {0};
    for (int file = STDOUT_FILENO; file <= STDERR_FILENO; file++)
        if (ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return USUAL_WIDTH;
}

/* The first of the three that is set decides (POSIX, Environment Variables). */
bool console_is_utf8(void) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *locale = NULL;
    for (int i = 0; i < 3 && !(locale && *locale); i++) locale = getenv(names[i]);
    return locale && (strstr(locale, "UTF-8") || strstr(locale, "utf8") || strstr(locale, "UTF8") ||
                         strstr(locale, "utf-8"));
}

bool console_has_colours(void) {
    const char *const refused = getenv("NO_COLOR");
    return console_is_terminal() && !(refused && *refused);
}

/* open() takes the lowest number that is free. */
void console_begin(void) {
    int file = 0;
    while (file >= 0 && file <= STDERR_FILENO) file = open("/dev/null", O_RDWR);
    if (file >= 0) close(file);
}

void console_be_silent(void) {
    (void)!freopen("/dev/null", "w", stdout);
}

bool console_is_folder(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

const char console_separators[] = "/";

bool console_make_folder(const char *path) {
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

FILE *console_open(const char *path, const char *mode) {
    return fopen(path, mode);
}

bool console_can_read(const char *path) {
    return access(path, R_OK) == 0;
}

bool console_cut(FILE *stream, long bytes) {
    return ftruncate(fileno(stream), (off_t)bytes) == 0;
}

void console_listen(void (*asked)(int number)) {
    static const int numbers[] = {SIGINT, SIGTERM};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = asked ? asked : SIG_DFL;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) (void)sigaction(numbers[i], &action, NULL);
}

void console_exit(int status) {
    if (isatty(STDERR_FILENO)) (void)!write(STDERR_FILENO, "\n", 1);
    _exit(status);
}

void console_set_variable(const char *name, const char *value) {
    (void)(value ? setenv(name, value, 1) : unsetenv(name));
}
