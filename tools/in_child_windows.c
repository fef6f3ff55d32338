/* See in_child.h. Windows cannot copy a process: run(data) is called here, and an exception of the driver ends the command with a line
 * that says what it was at. */
#include "in_child.h"
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

static char said[IN_CHILD_TEXT];

void in_child_say(const char *line) {
    snprintf(said, sizeof said, "%s", line);
}

static LONG WINAPI tell_of_exception(EXCEPTION_POINTERS *exception) {
    fflush(stdout);
    fprintf(stderr, "weft: the driver ended the process with exception 0x%08lx%s%s\n",
        exception->ExceptionRecord->ExceptionCode, said[0] ? " while " : "", said);
    return EXCEPTION_EXECUTE_HANDLER;
}

void in_child(in_child_end *end, int (*run)(const void *data), const void *data) {
    *end = (in_child_end){0};
    SetUnhandledExceptionFilter(tell_of_exception);
    end->status = run(data);
}

void in_child_watched(
    in_child_end *end, int (*run)(const void *data, int file), const void *data, in_child_watch *watch) {
    *end = (in_child_end){.status = 1};
    watch->hangs = false;
    const int file = _open("NUL", _O_WRONLY);
    if (file < 0) return;
    SetUnhandledExceptionFilter(tell_of_exception);
    end->status = run(data, file);
    _close(file);
}

/* Appends a word in quotation marks, in which a backslash before such a mark, and the mark itself, are doubled by a backslash. False:
 * no room. */
static bool append_word(char *line, size_t capacity, const char *word) {
    size_t used = strlen(line);
    if (used + 2 * strlen(word) + 4 > capacity) return false;
    if (used) line[used++] = ' ';
    line[used++] = '"';
    for (; *word; word++) {
        size_t backslashes = 0;
        for (; *word == '\\'; word++) backslashes++;
        const bool before_mark = *word == '"' || !*word;
        for (size_t i = 0; i < (before_mark ? 2 * backslashes : backslashes); i++) line[used++] = '\\';
        if (!*word) break;
        if (*word == '"') line[used++] = '\\';
        line[used++] = *word;
    }
    line[used++] = '"';
    line[used] = '\0';
    return true;
}

/* The shell removes the outermost pair of quotation marks. */
bool in_child_start(
    in_child_program *program, char *const *arguments, const char *const *variables, size_t count) {
    char line[8192] = "\"", path[4096];
    wchar_t wide[4096];
    const DWORD length = GetModuleFileNameW(NULL, wide, 4096);
    if (!length || length >= 4096 ||
        !WideCharToMultiByte(CP_UTF8, 0, wide, -1, path, sizeof path, NULL, NULL))
        return errno = ENAMETOOLONG, false;
    bool fits = append_word(line, sizeof line, path);
    for (size_t i = 1; fits && arguments[i]; i++) fits = append_word(line, sizeof line, arguments[i]);
    if (!fits || strlen(line) + 7 > sizeof line) return errno = ENAMETOOLONG, false;
    strcat(line, " 2>&1\"");
    for (size_t i = 0; i < count; i++) (void)_putenv_s(variables[2 * i], variables[2 * i + 1]);
    return in_child_shell(program, line);
}

bool in_child_shell(in_child_program *program, const char *command) {
    wchar_t wide[8192];
    fflush(NULL);
    program->process = -1;
    if (!MultiByteToWideChar(CP_UTF8, 0, command, -1, wide, 8192)) return errno = ENAMETOOLONG, false;
    program->output = _wpopen(wide, L"rb");
    return program->output != NULL;
}

void in_child_wait(in_child_end *end, const in_child_program *program) {
    *end = (in_child_end){.status = _pclose(program->output)};
}

void in_child_system(char *text, size_t capacity) {
    snprintf(text, capacity, "Windows, x86_64");
}
