/*
 * chardev/char.h - character devices: the host's side of serial ports, monitors, consoles.
 */
#ifndef CHARDEV_CHAR_H
#define CHARDEV_CHAR_H

#include "util/base.h"

#include <json-glib/json-glib.h>

struct chardev;

enum chardev_event {
	CHARDEV_OPENED,  /* a peer is there */
	CHARDEV_CLOSED,
	CHARDEV_BREAK,
	CHARDEV_MUX_IN,  /* a multiplexed front end gained the input focus */
	CHARDEV_MUX_OUT,
};

/* Who uses a chardev: a device or a monitor. Callbacks come in the main thread with the machine
 * lock held. */
struct chardev_frontend {
	/* can_receive() - bytes that receive() would take now; 0 pauses reading. */
	size_t (*can_receive)(void *opaque);
	void (*receive)(void *opaque, const u8 *buf, size_t len);
	void (*event)(void *opaque, enum chardev_event event); /* may be NULL */
	void *opaque;
};

/*
 * chardev_create() - make a character device.
 * @id:   user's or generated id.
 * @opts: options as after -chardev ("backend" names the type), or the QMP form flattened.
 *
 * Return: the device, registered under its id; NULL with @err.
 * Context: main thread, machine lock held.
 */
struct chardev *chardev_create(const char *id, JsonObject *opts, GError **err);

/*
 * chardev_create_shorthand() - from the form that -serial, -monitor, -qmp take: "stdio",
 * "mon:stdio", "null", "none" (NULL without error), "file:PATH", "pipe:", "pty", "unix:PATH,...",
 * "tcp:HOST:PORT,server=on", "telnet:", "fd:N", "chardev:ID", "/dev/...", "vc", "ringbuf".
 * @is_mon_mux: out: the "mon:" prefix was given (mux with a monitor); may be NULL.
 */
struct chardev *chardev_create_shorthand(const char *id, const char *text, bool *is_mon_mux,
					 GError **err);

struct chardev *chardev_find(const char *id);
void chardev_remove(struct chardev *c); /* no front end attached */
const char *chardev_id(const struct chardev *c);

/*
 * chardev_attach() - connect a front end; a mux takes several.
 *
 * Return: a handle for the calls below; NULL with @err if the device is in use.
 */
struct chardev_fe;
struct chardev_fe *chardev_attach(struct chardev *c, const struct chardev_frontend *fe,
				  GError **err);
void chardev_detach(struct chardev_fe *fe);

/*
 * chardev_write() - send bytes without blocking; what the peer does not take is queued.
 *
 * Return: bytes accepted (len), or 0 if nobody is connected and the type drops output then.
 * Context: any thread.
 */
size_t chardev_write(struct chardev_fe *fe, const void *buf, size_t len);
size_t chardev_queued(struct chardev_fe *fe); /* bytes waiting for the peer */

/* chardev_accept_input() - can_receive() may have grown; resume reading. */
void chardev_accept_input(struct chardev_fe *fe);

/* chardev_take_fds() - descriptors that came by SCM_RIGHTS with the last bytes received; the
 * caller owns them. Return: how many were stored in @fds. */
int chardev_take_fds(struct chardev_fe *fe, int *fds, int max);

bool chardev_connected(const struct chardev_fe *fe);

/* chardev_foreach() - for query-chardev: id, back end description as users see it, open state. */
void chardev_foreach(void (*fn)(const char *id, const char *filename, bool open, void *opaque),
		     void *opaque);

/* chardev_types_help() - one type a line, for -chardev help. */
char *chardev_types_help(void);

#endif
