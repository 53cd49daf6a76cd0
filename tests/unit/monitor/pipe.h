/*
 * tests/unit/monitor/pipe.h - a monitor whose transport is the test itself.
 */
#ifndef TESTS_UNIT_MONITOR_PIPE_H
#define TESTS_UNIT_MONITOR_PIPE_H

#include "monitor/internal.h"

struct pipe_end {
	struct monitor *mon;
	GMutex lock;
	GString *out;        /* what the monitor wrote and the test has not taken */
	size_t extra_queued; /* pretended to wait for the peer */
	int fds[8];
	int nfds; /* come with the next bytes */
	unsigned accepts;
};

struct pipe_end *pipe_open(struct monitor_server *server, enum monitor_mode mode);
void pipe_close(struct pipe_end *p);

void pipe_send(struct pipe_end *p, const char *text);

/* pipe_take() - what the monitor wrote so far; free with g_free(). */
char *pipe_take(struct pipe_end *p);

/* pipe_run() - send, dispatch the main loop until nothing is pending, take. */
char *pipe_run(struct pipe_end *p, const char *text);

#endif
