/*
 * chardev/char.h - character devices: the host's side of serial ports, monitors, consoles.
 */
#ifndef CHARDEV_CHAR_H
#define CHARDEV_CHAR_H

#include "util/base.h"

#include <json-glib/json-glib.h>

struct chardev;

enum chardev_event {
	CHARDEV_OPENED, /* a peer is there */
	CHARDEV_CLOSED,
	CHARDEV_BREAK,
	CHARDEV_MUX_IN, /* a multiplexed front end gained the input focus */
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
	/* On a mux the newest front end gets the input focus, but not one that sets this as long
	 * as there is another: a monitor, so that "-serial mon:stdio" starts at the serial port. */
	bool background;
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

/* chardev_create_qmp() - from chardev-add's "backend": { "type": ..., "data": { ... } }. */
struct chardev *chardev_create_qmp(const char *id, JsonObject *backend, GError **err);

/*
 * chardev_create_shorthand() - from the form that -serial, -monitor, -qmp take: "stdio",
 * "mon:stdio", "null", "none" (NULL without error), "file:PATH", "pipe:", "pty", "unix:PATH,...",
 * "tcp:HOST:PORT,server=on", "telnet:", "fd:N", "chardev:ID", "/dev/...", "vc", "ringbuf".
 * @is_mon_mux: out: the "mon:" prefix was given (mux with a monitor); may be NULL.
 */
struct chardev *chardev_create_shorthand(const char *id, const char *text, bool *is_mon_mux,
					 GError **err);

struct chardev *chardev_find(const char *id);
void chardev_remove(struct chardev *c);       /* no front end attached */
bool chardev_in_use(const struct chardev *c); /* has a front end, or a mux above it */
const char *chardev_id(const struct chardev *c);
const char *chardev_type_name(const struct chardev *c); /* "socket", "mux", ... */
/* chardev_filename() - how users see it: "pty:/dev/pts/1", "unix:PATH,server=on", ... */
const char *chardev_filename(const struct chardev *c);

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

/* chardev_accept_input() - can_receive() may have grown; resume reading, never before the call
 * returned. Any thread with the machine lock held. */
void chardev_accept_input(struct chardev_fe *fe);

/* chardev_take_fds() - descriptors that came by SCM_RIGHTS with the last bytes received; the
 * caller owns them. Return: how many were stored in @fds. */
int chardev_take_fds(struct chardev_fe *fe, int *fds, int max);

bool chardev_connected(const struct chardev_fe *fe);

/* chardev_send_break() - give the front end a break, as if it came in (chardev-send-break). */
void chardev_send_break(struct chardev *c);

/* chardev_ringbuf_read() - take up to @max bytes out of a ringbuf; NULL with @err if @c is none.
 * chardev_ringbuf_write() - add bytes; 0, or -EINVAL with @err. */
GByteArray *chardev_ringbuf_read(struct chardev *c, size_t max, GError **err);
int chardev_ringbuf_write(struct chardev *c, const void *buf, size_t len, GError **err);

/* chardev_foreach() - for query-chardev: id, back end description as users see it, whether a
 * front end is there (frontend-open). */
void chardev_foreach(void (*fn)(const char *id, const char *filename, bool open, void *opaque),
		     void *opaque);

/* chardev_types() - the names of all types, NULL-terminated; free the array, not the names.
 * chardev_types_help() - one type a line, for -chardev help. */
const char **chardev_types(void);
char *chardev_types_help(void);

/* What the rest of the program does for character devices; set once at start-up. */
struct chardev_hooks {
	void (*quit)(void *opaque, int exit_code); /* the mux's escape x; testdev's q */
	void (*commit)(void *opaque);              /* the mux's escape s */
	void *opaque;
	int mux_escape;       /* -echr; 0: Ctrl-a (1) */
	bool stdio_no_signal; /* -nographic: stdio's default is signal=off */
};
void chardev_set_hooks(const struct chardev_hooks *hooks);

/*
 * chardev_cleanup() - at exit: flush what waits (for at most a second), remove socket files,
 * restore the terminal.
 *
 * Context: main thread, machine lock held; no chardev is used afterwards.
 */
void chardev_cleanup(void);

#endif
