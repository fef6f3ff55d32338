/* Text in JSON. */
#ifndef JSON_TEXT_H
#define JSON_TEXT_H

/* Prints the text in quotes, with what JSON does not allow in them escaped. */
void json_text_print(const char *text);

#endif
