/* What the programs ask the operating system about the terminal; no other file of theirs needs to know it. */
#ifndef CONSOLE_H
#define CONSOLE_H

#include <stdbool.h>

/* A clock that only goes forward. */
double console_seconds(void);
/* Whether stderr is a terminal on which a line can be written again. */
bool console_is_terminal(void);
/* Columns of the terminal; 80 where there is none, or it does not say. */
int console_width(void);
/* Whether the user's locale is one of UTF-8, so that block and Braille characters can be shown. */
bool console_is_utf8(void);
/* Whether colours are welcome: on a terminal, unless the user has set NO_COLOR (no-color.org). */
bool console_has_colours(void);
/* Sets a variable of the environment, for this process. */
void console_set_variable(const char *name, const char *value);
/* From now on nothing is printed on stdout. */
void console_be_silent(void);
/* Whether a folder is there. */
bool console_is_folder(const char *path);
/* Makes a folder, whose parent exists. It may exist, too; false: errno says why it does not. */
bool console_make_folder(const char *path);

#endif
