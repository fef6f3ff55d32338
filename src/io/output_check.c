/* Tests whether a file can be written, before the work whose result goes to the file. */
#include "io/output_check.h"
#include "base/file_target.h"
#include "base/platform.h"
#include <errno.h>
#include <weft/io.h>

weft_status weft_output_check(const char *path) {
    wi_file_writer *writer = NULL;
    if (!path || !*path)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_output_check: path is %s", path ? "empty" : "NULL");
    WI_TRY(wi_file_writer_begin(&writer, NULL, path));
    wi_file_writer_abandon(writer);
    return WEFT_OK;
}

weft_status wi_line_output_check(const char *path) {
    wi_path_info info;
    bool missing = false;
    const weft_status looked = wi_path_look(&info, path, &missing);
    if (missing) return weft_output_check(path);
    WI_TRY(looked);
    if (info.kind == WI_PATH_FOLDER) return wi_file_fail("write", path, EISDIR);
    return wi_path_can_be_written(path) ? WEFT_OK : wi_file_fail("write", path, EACCES);
}
