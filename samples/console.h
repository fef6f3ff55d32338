/* What differs between operating systems for a program that is started at a terminal (console_posix.c, console_windows.c).
 *
 * On Windows the arguments of main are UTF-8, and so is what is printed; lines end with a line feed only. */
#ifndef CONSOLE_H
#define CONSOLE_H

#include <stdbool.h>
#include <stdio.h>

/* A clock that only goes forward. */
double console_seconds(void);
/* Whether stderr is a terminal on which a line can be written again. */
bool console_is_terminal(void);
/* Columns of the terminal; 80 where there is none, or it does not say. */
int console_width(void);
/* Whether the terminal shows UTF-8, so that block and Braille characters can be shown. */
bool console_is_utf8(void);
/* Whether colours are welcome: on a terminal, unless the user has set NO_COLOR (no-color.org). */
bool console_has_colours(void);
/* First of all: a standard stream that is closed becomes the null device, so that no file that is opened later gets what is printed. */
void console_begin(void);
/* From now on nothing is printed on stdout. */
void console_be_silent(void);
/* From now on, `asked` is called when the user or the system asks the program to end (SIGINT, SIGTERM; on Windows Ctrl+C, a closed
 * window), with the number of the signal. It may only do what a handler of a signal may. NULL: the program ends at once, as without. */
void console_listen(void (*asked)(int number));
/* Ends the program at once, from `asked` as well, with a line feed to a terminal's stderr. */
void console_exit(int status);
/* Sets a variable of the environment, for this process; NULL removes it. */
void console_set_variable(const char *name, const char *value);

/* fopen() of a path in UTF-8. */
FILE *console_open(const char *path, const char *mode);
/* Whether a file is there that can be read. */
bool console_can_read(const char *path);
/* Cuts the file of the stream after so many bytes. */
bool console_cut(FILE *stream, long bytes);
/* Whether a folder is there. */
bool console_is_folder(const char *path);
/* The characters that separate the folders of a path. */
extern const char console_separators[];
/* Makes a folder, whose parent exists. It may exist, too; false: errno says why it does not. */
bool console_make_folder(const char *path);

#endif
