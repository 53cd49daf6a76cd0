/*
 * tests/unit/monitor/pipe.c - a monitor whose transport is the test itself.
 */
#include "tests/unit/monitor/pipe.h"

static void write_out(void *opaque, const char *bytes, size_t len)
{
	struct pipe_end *p = opaque;

	g_mutex_lock(&p->lock);
	g_string_append_len(p->out, bytes, len);
	g_mutex_unlock(&p->lock);
}

static size_t queued(void *opaque)
{
	return ((struct pipe_end *)opaque)->extra_queued;
}

static void accept_input(void *opaque)
{
	((struct pipe_end *)opaque)->accepts++;
}

static int take_fds(void *opaque, int *fds, int max)
{
	struct pipe_end *p = opaque;
	int n = MIN(p->nfds, max);

	memcpy(fds, p->fds, n * sizeof(int));
	p->nfds = 0;
	return n;
}

static void close_pipe(void *opaque)
{
}

static const struct monitor_transport transport = {
	.write = write_out,
	.queued = queued,
	.accept_input = accept_input,
	.take_fds = take_fds,
	.close = close_pipe,
};

struct pipe_end *pipe_open(struct monitor_server *server, enum monitor_mode mode)
{
	struct pipe_end *p = g_new0(struct pipe_end, 1);

	g_mutex_init(&p->lock);
	p->out = g_string_new(NULL);
	p->mon = monitor_create(server, mode, &transport, p);
	monitor_opened(p->mon);
	return p;
}

void pipe_close(struct pipe_end *p)
{
	monitor_destroy(p->mon);
	g_string_free(p->out, TRUE);
	g_mutex_clear(&p->lock);
	g_free(p);
}

void pipe_send(struct pipe_end *p, const char *text)
{
	monitor_receive(p->mon, text, strlen(text));
}

char *pipe_take(struct pipe_end *p)
{
	char *text;

	g_mutex_lock(&p->lock);
	text = g_string_free(p->out, FALSE);
	p->out = g_string_new(NULL);
	g_mutex_unlock(&p->lock);
	return text;
}

char *pipe_run(struct pipe_end *p, const char *text)
{
	pipe_send(p, text);
	while (g_main_context_iteration(NULL, FALSE))
		;
	return pipe_take(p);
}
