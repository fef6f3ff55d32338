/* See console.h. */
#include "console.h"
#include <direct.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <signal.h>
#include <stdlib.h>
#include <windows.h>

enum { LONGEST = 4096, USUAL_WIDTH = 80 };

static HANDLE handle_of(FILE *stream) {
    return (HANDLE)_get_osfhandle(_fileno(stream));
}

double console_seconds(void) {
    LARGE_INTEGER now, rate;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&rate);
    return (double)now.QuadPart / (double)rate.QuadPart;
}

/* A console before Windows 10 refuses the mode. */
bool console_is_terminal(void) {
    DWORD mode;
    const HANDLE console = handle_of(stderr);
    return GetConsoleMode(console, &mode) &&
           SetConsoleMode(console, mode | ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

int console_width(void) {
    CONSOLE_SCREEN_BUFFER_INFO size;
    if (!GetConsoleScreenBufferInfo(handle_of(stderr), &size)) return USUAL_WIDTH;
    return size.srWindow.Right - size.srWindow.Left + 1;
}

bool console_is_utf8(void) {
    return GetConsoleOutputCP() == CP_UTF8;
}

bool console_has_colours(void) {
    const char *const refused = getenv("NO_COLOR");
    return console_is_terminal() && !(refused && *refused);
}

void console_begin(void) {} /* the C runtime gives no file the number of a closed stream */

void console_be_silent(void) {
    (void)!freopen("NUL", "w", stdout);
}

static bool widen(wchar_t wide[LONGEST], const char *text) {
    if (MultiByteToWideChar(CP_UTF8, 0, text, -1, wide, LONGEST)) return true;
    errno = ENAMETOOLONG;
    return false;
}

bool console_is_folder(const char *path) {
    wchar_t wide[LONGEST];
    if (!widen(wide, path)) return false;
    const DWORD state = GetFileAttributesW(wide);
    return state != INVALID_FILE_ATTRIBUTES && state & FILE_ATTRIBUTE_DIRECTORY;
}

const char console_separators[] = "/\\";

bool console_make_folder(const char *path) {
    wchar_t wide[LONGEST];
    return widen(wide, path) && (_wmkdir(wide) == 0 || errno == EEXIST);
}

FILE *console_open(const char *path, const char *mode) {
    wchar_t wide_path[LONGEST], wide_mode[LONGEST];
    if (!widen(wide_path, path) || !widen(wide_mode, mode)) return NULL;
    return _wfopen(wide_path, wide_mode);
}

bool console_can_read(const char *path) {
    FILE *const file = console_open(path, "rb");
    if (file) fclose(file);
    return file != NULL;
}

bool console_cut(FILE *stream, long bytes) {
    return fflush(stream) == 0 && _chsize(_fileno(stream), bytes) == 0;
}

static void (*listener)(int number);

/* Windows runs this in a thread of its own, and ends the program when a handler of anything but Ctrl+C and Ctrl+Break returns. */
static BOOL WINAPI take_event(DWORD event) {
    if (!listener) return FALSE;
    listener(event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT ? SIGINT : SIGTERM);
    if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT) Sleep(INFINITE);
    return TRUE;
}

void console_listen(void (*asked)(int number)) {
    static bool registered;
    listener = asked;
    if (!registered) registered = SetConsoleCtrlHandler(take_event, TRUE);
}

void console_exit(int status) {
    DWORD mode;
    if (GetConsoleMode(handle_of(stderr), &mode)) (void)!_write(_fileno(stderr), "\n", 1);
    ExitProcess((UINT)status);
}

void console_set_variable(const char *name, const char *value) {
    (void)_putenv_s(name, value ? value : "");
}

/* ---- the program's begin ---- */

static UINT code_page; /* of the console, before the program */

static void restore_console(void) {
    SetConsoleOutputCP(code_page);
}

static char *narrow(const wchar_t *wide) {
    const int bytes = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
    char *const text = malloc((size_t)bytes + 1);
    if (text) WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, bytes, NULL, NULL);
    return text;
}

int main(int argc, char **argv);

/* What Windows starts (the linker's option -municode). Windows would give main its arguments in the code page of the system, which
 * lacks most characters. The arguments are not freed: the program ends with them. */
int wmain(int argc, wchar_t **wide) {
    char **const argv = calloc((size_t)argc + 1, sizeof *argv);
    for (int i = 0; argv && i < argc; i++)
        if (!(argv[i] = narrow(wide[i]))) return 1;
    if (!argv) return 1;
    (void)_setmode(_fileno(stdout), _O_BINARY);
    (void)_setmode(_fileno(stderr), _O_BINARY);
    code_page = GetConsoleOutputCP();
    if (code_page && SetConsoleOutputCP(CP_UTF8)) atexit(restore_console);
    return main(argc, argv);
}
