/* The messages of event files: Event of TensorFlow's event.proto, and what it contains. Each function writes a message
 * to an empty text, whose `failed` the caller checks. */
#ifndef WI_EVENT_MESSAGE_H
#define WI_EVENT_MESSAGE_H

#include "train/event_sink.h"

/* The first message of a file. time: seconds since 1970. */
void wi_event_message_version(wi_text *message, double time);
/* The run continues: readers forget earlier events of this step and later ones. */
void wi_event_message_start(wi_text *message, double time, size_t first_step);
/* An event of any kind but settings. */
void wi_event_message(wi_text *message, const wi_event *event);
/* Settings take two messages, one with the columns of the table of runs, and one with the values of this run. */
void wi_event_message_experiment(wi_text *message, const wi_event *settings);
void wi_event_message_session(wi_text *message, const wi_event *settings);
/* The run with settings has ended. */
void wi_event_message_end(wi_text *message, double time);

#endif
