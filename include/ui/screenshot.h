/*
 * ui/screenshot.h - pictures as files.
 */
#ifndef UI_SCREENSHOT_H
#define UI_SCREENSHOT_H

#include "ui/surface.h"

enum screenshot_format { SCREENSHOT_PPM, SCREENSHOT_PNG };

/*
 * screenshot_write() - write a picture into a file, which is replaced.
 *
 * Return: 0, or -errno with @err that names path and errno; the file may then be incomplete.
 * Context: any thread, without the machine lock: it blocks.
 */
int screenshot_write(const struct surface *s, enum screenshot_format format, const char *path,
		     GError **err);

#endif
