/* `weft pack`: writes data of other formats as a file of records. */
#ifndef PACK_H
#define PACK_H

/* The words after `weft pack`. Returns the exit status. */
int weft_pack(int argc, char **argv);

#endif
