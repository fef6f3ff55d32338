/* See options_outputs.h. */
#include "base/options_outputs.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include <string.h>

weft_status call_events(const void *given) {
    weft_events *events = NULL;
    const weft_status status = weft_events_create(&events, test_context(), given);
    weft_events_release(events);
    return status;
}

weft_status call_png(const void *given) {
    const float pixel = 0;
    return weft_image_save_png(test_path("picture.png"), &pixel, given);
}

/* Options are checked before there is a look at the file. */
weft_status call_records(const void *given) {
    weft_dataset *dataset = NULL;
    const weft_status status =
        weft_dataset_open_records(&dataset, test_context(), test_path("nowhere"), given);
    return status == WEFT_ERROR_FILE ? WEFT_OK : status;
}

/* Options are checked before the context, without which nothing is joined. */
weft_status call_distributed(const void *given) {
    weft_distributed *job = NULL;
    const weft_status status = weft_distributed_open(&job, NULL, given);
    return strstr(weft_last_error(), "context must not be NULL") ? WEFT_OK : status;
}
