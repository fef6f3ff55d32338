/* The HTML page of a training (contract in event_sink.h). */
#include "base/status.h"
#include "train/event_sink.h"

weft_status wi_event_page_open(wi_event_sink **sink, const wi_event_output *output) {
    *sink = NULL;
    WI_FAIL(WEFT_ERROR_UNSUPPORTED, "cannot write '%s': this version of Weft writes no HTML pages yet",
        output->path);
}
