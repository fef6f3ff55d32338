/* See wrong_answers.h. */
#include "wrong_answers.h"
#include <stdio.h>

enum { IN_ROW = 6, LONGEST_PATH = 4096 }; /* in a row: as in the pictures of weft_find_mistakes */

void mistakes_print(const weft_mistakes *found, const weft_dataset *folder, const char *const *names) {
    char path[LONGEST_PATH];
    for (size_t i = 0; i < found->count; i++) {
        const weft_mistake *const one = &found->worst[i];
        printf("row %zu, column %zu: ", i / IN_ROW + 1, i % IN_ROW + 1);
        if (folder && weft_dataset_file(folder, one->example, path, sizeof path, NULL) == WEFT_OK)
            printf("%s is ", path);
        else
            printf("example %zu is ", one->example + 1);
        if (names)
            printf("%s, but the answer is %s", names[one->label], names[one->predicted]);
        else
            printf("%d, but the answer is %d", (int)one->label, (int)one->predicted);
        printf(" with %.2f %%\n", 100 * one->probability);
    }
}

weft_status mistakes_show(weft_tensor *logits, weft_dataset *dataset, const char *picture) {
    weft_mistakes found;
    const weft_status status = weft_find_mistakes(&found, logits, dataset, NULL, picture);
    if (!status) mistakes_print(&found, NULL, NULL);
    return status;
}
