/*
 * target/arm/semihost-files.h - files that a guest has open by semihosting.
 *
 * All functions may block and be called by several vCPUs at once; none touches guest memory.
 * Errors are -errno.
 */
#ifndef TARGET_ARM_SEMIHOST_FILES_H
#define TARGET_ARM_SEMIHOST_FILES_H

#include "target/arm/semihosting.h"

/* Handles are 1 and up. */
s64 semihost_open(const char *name, unsigned mode); /* mode 0 to 11 as fopen's r, rb, r+, ... */
s64 semihost_close(s64 handle);
s64 semihost_write(s64 handle, const void *buf, size_t len); /* bytes written */
/* semihost_read() - bytes read, 0 at the end; -EAGAIN: nothing yet, ask again. */
s64 semihost_read(s64 handle, void *buf, size_t len);
s64 semihost_is_tty(s64 handle);
s64 semihost_seek(s64 handle, u64 pos);
s64 semihost_length(s64 handle);

/* The console itself. semihost_console_read() - as semihost_read(). */
void semihost_console_write(const void *buf, size_t len);
s64 semihost_console_read(void *buf, size_t len);

void semihost_files_init(const struct semihosting_console *console); /* NULL: standard streams */
void semihost_files_close(void);

#endif
