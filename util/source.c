/* util/source.c - GLib sources of the main loop that their owner keeps a pointer to. */
#include "util/source.h"

GSource *source_watch_fd(int fd, GIOCondition cond, GUnixFDSourceFunc fn, void *opaque)
{
	GSource *source = g_unix_fd_source_new(fd, cond);

	g_source_set_callback(source, G_SOURCE_FUNC(fn), opaque, NULL);
	g_source_attach(source, NULL);
	return source;
}

GSource *source_after_ms(unsigned ms, GSourceFunc fn, void *opaque)
{
	GSource *source = ms ? g_timeout_source_new(ms) : g_idle_source_new();

	g_source_set_priority(source, G_PRIORITY_DEFAULT);
	g_source_set_callback(source, fn, opaque, NULL);
	g_source_attach(source, NULL);
	return source;
}

void source_drop(GSource **source)
{
	if (!*source)
		return;
	g_source_destroy(*source);
	g_source_unref(*source);
	*source = NULL;
}
