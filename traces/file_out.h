/* Output files that appear under their name only when whole: written beside it, renamed at the end. What is
 * there already and no plain file (a device, a pipe, a link) stays what it is: it is written in place. A name
 * that ends with .gz is compressed. */
#pragma once

#include "sim/base/diag.h"

typedef struct FileOut FileOut;

/* Starts a file; FileOut lives until file_out_close() or file_out_drop(). */
Status file_out_open(const char *path, FileOut **out, Diag *diag);
void file_out_text(FileOut *out, Str text);
/* Ends the file and gives it its name. A write that failed on the way is told here. */
Status file_out_close(FileOut *out, Diag *diag);
/* Throws away what was written; NULL is fine. */
void file_out_drop(FileOut *out);
/* Writes a whole text. */
Status file_write(const char *path, Str text, Diag *diag);
/* Creates a folder and those above it that are missing. */
Status folder_make(const char *path, Diag *diag);
