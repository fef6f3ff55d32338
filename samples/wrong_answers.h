/* What a classifier of images gets wrong, as a list and as a picture. */
#ifndef WRONG_ANSWERS_H
#define WRONG_ANSWERS_H

#include <weft/weft.h>

/* Prints a line for each of the worst mistakes, with its place in the picture. folder: the dataset, of a folder of images, whose files are
 * named; NULL: examples have numbers alone. names: of the classes; NULL: they have numbers alone. */
void mistakes_print(const weft_mistakes *found, const weft_dataset *folder, const char *const *names);
/* weft_find_mistakes, whose result is printed without names. */
weft_status mistakes_show(weft_tensor *logits, weft_dataset *dataset, const char *picture);

#endif
