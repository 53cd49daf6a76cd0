/*
 * util/source.h - GLib sources of the main loop that their owner keeps a pointer to.
 */
#ifndef UTIL_SOURCE_H
#define UTIL_SOURCE_H

#include "util/base.h"

#include <glib-unix.h>

/*
 * source_watch_fd(), source_after_ms() - attach a source to the main loop.
 * @fn: runs in the main thread under the machine lock, until it returns G_SOURCE_REMOVE.
 *
 * Return: the source; give it to source_drop(), also after @fn removed it.
 * Context: any thread.
 */
GSource *source_watch_fd(int fd, GIOCondition cond, GUnixFDSourceFunc fn, void *opaque);
GSource *source_after_ms(unsigned ms, GSourceFunc fn, void *opaque);

/* source_drop() - detach and forget a source; harmless if there is none. */
void source_drop(GSource **source);

#endif
