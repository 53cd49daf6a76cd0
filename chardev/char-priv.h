/*
 * chardev/char-priv.h - what the types of character devices share.
 */
#ifndef CHARDEV_CHAR_PRIV_H
#define CHARDEV_CHAR_PRIV_H

#include "chardev/char.h"

/* Output that the peer does not take is queued up to here; what comes then is dropped. */
#define CHARDEV_QUEUE_MAX (16 * MiB)

struct chardev_type {
	const char *name;
	size_t size; /* of the instance, which starts with struct chardev */
	bool many_fes;

	/* Main thread. open() takes the options it knows; what is left is refused by the core.
	 * When it fails, close() is not called. */
	int (*open)(struct chardev *c, JsonObject *opts, GError **err);
	void (*close)(struct chardev *c);

	/* Any thread, c->lock held. Return: bytes accepted. */
	size_t (*write)(struct chardev *c, const u8 *buf, size_t len);
	size_t (*queued)(struct chardev *c); /* may be NULL */

	/* Main thread: chardev_room() may have changed. May be NULL. */
	void (*update_input)(struct chardev *c);
	int (*take_fds)(struct chardev *c, int *fds, int max); /* may be NULL */

	/* Main thread; may be NULL: a front end came or went. */
	void (*fe_changed)(struct chardev *c, struct chardev_fe *fe, bool attached);
};

struct chardev {
	const struct chardev_type *type;
	char *id;
	char *filename;
	GMutex lock; /* guards what write() uses */
	bool open;   /* a peer is there; main thread writes, under the lock */
	GPtrArray *fes;
	struct chardev_fe *focus; /* who gets input */
	int log_fd;
	u64 dropped; /* bytes that found the queue full */
};

struct chardev_fe {
	struct chardev *c;
	struct chardev_frontend ops;
	bool ready; /* has been told the present state */
	GSource *starter;
	GByteArray *held; /* of a mux: input that came while it had no room */
};

extern const struct chardev_type char_type_null, char_type_vc, char_type_testdev, char_type_stdio,
	char_type_file, char_type_pipe, char_type_fd, char_type_serial, char_type_pty,
	char_type_socket, char_type_udp, char_type_ringbuf, char_type_mux;

extern struct chardev_hooks chardev_hooks;

/* chardev_room() - bytes the front end would take; 0 without one. Main thread. */
size_t chardev_room(struct chardev *c);
/* chardev_deliver() - give bytes, at most chardev_room(), to the front end. Main thread. */
void chardev_deliver(struct chardev *c, const u8 *buf, size_t len);
/* chardev_set_open() - a peer came or went; tells the front ends. Main thread. */
void chardev_set_open(struct chardev *c, bool open);
void chardev_event(struct chardev *c, enum chardev_event event);
void chardev_fe_event(struct chardev_fe *fe, enum chardev_event event);
void chardev_set_filename(struct chardev *c, char *filename); /* takes it */
size_t chardev_write_locked(struct chardev *c, const u8 *buf, size_t len);

/* A mux above @base is a chardev of its own. */
struct chardev *mux_create(const char *id, struct chardev *base, GError **err);

/*
 * struct char_stream - descriptors with a queue for output and a source for input.
 * Used by every type whose host side is a descriptor.
 */
struct char_stream {
	struct chardev *c;
	int in_fd, out_fd; /* -1: none; may be the same */
	bool is_socket;
	bool is_dgram;    /* datagrams: each is read whole, errors are not the end */
	GByteArray *rest; /* of a datagram, what the front end had no room for */
	/* The open file description may be shared with other processes (stdio, an fd set), so it
	 * must not be made non-blocking: ask before each write, and write little. */
	bool ask_first;
	bool ended;     /* end of file without a hangup(): nothing more to read */
	bool keep_open; /* char_stream_stop() does not close */
	GSource *in, *out, *hup, *rest_later;
	int in_cond; /* what @in waits for */
	GByteArray *queue;
	/* hangup() - end of file or an error; main thread. NULL: input just ends. */
	void (*hangup)(struct char_stream *s);
	/* filter() - change received bytes in place (telnet). Return: the new length. May be NULL.
	 */
	size_t (*filter)(struct char_stream *s, u8 *buf, size_t len);
	/* stuck_hup() - the peer of a socket is gone, but input that nobody takes is left. */
	void (*stuck_hup)(struct char_stream *s);
	int fds[16]; /* received by SCM_RIGHTS, not taken yet */
	int nfds;
};

/* char_stream_init() - @s belongs to @c; descriptors are set by char_stream_start(). */
void char_stream_init(struct char_stream *s, struct chardev *c);
/* char_stream_start() - use descriptors (owned from now on, unless keep_open). Main thread. */
void char_stream_start(struct char_stream *s, int in_fd, int out_fd);
/* char_stream_stop() - close; drops the queue. Main thread; c->lock not held. */
void char_stream_stop(struct char_stream *s);
/* Lock held, any thread. */
size_t char_stream_write(struct char_stream *s, const u8 *buf, size_t len);
size_t char_stream_queued(const struct char_stream *s);
void char_stream_update_input(struct char_stream *s); /* main thread */
int char_stream_take_fds(struct char_stream *s, int *fds, int max);
/* char_stream_flush() - wait until the queue is out, at most @ms. Main thread, lock not held. */
void char_stream_flush(struct char_stream *s, int ms);

#endif
