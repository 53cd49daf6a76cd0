/*
 * ui/vnc.h - VNC servers: the first console over the RFB protocol (RFC 6143), by libvncserver.
 *
 * Each server has a thread that does everything with its clients, from a copy of the picture that
 * it keeps up to date: a client that does not read costs other clients time, never the guest.
 * All functions: main thread, machine lock held.
 */
#ifndef UI_VNC_H
#define UI_VNC_H

#include "util/base.h"

#include <json-glib/json-glib.h>

struct display;
struct vnc_server;

/* One end of a connection, as QMP describes it. */
struct vnc_address {
	char *host, *service; /* a UNIX socket has its path as service */
	bool ipv6, is_unix;
};

enum vnc_client_change { VNC_CLIENT_CONNECTED, VNC_CLIENT_INITIALIZED, VNC_CLIENT_DISCONNECTED };

struct vnc_hooks {
	/* A client came, finished its handshake, or went; main thread, machine lock held. */
	void (*client)(void *opaque, struct vnc_server *s, const struct vnc_address *client,
		       enum vnc_client_change change);
	void *opaque;
};

/*
 * vnc_create() - begin to serve.
 * @opts:  of -vnc: "vnc" is the address; what is understood is removed.
 * @title: what viewers show as the name of the desktop.
 * @secret: the password of password-secret=; NULL: not given.
 *
 * Return: 0; -errno with @err that names option and value, or address and errno. "none" is no
 * server, and no error.
 */
int vnc_create(struct display *d, JsonObject *opts, const char *title, const char *secret,
	       const struct vnc_hooks *hooks, GError **err);

/* vnc_destroy_all() - end every server and its connections. */
void vnc_destroy_all(void);

/* vnc_find() - by its id; NULL: the first. NULL if there is none. */
struct vnc_server *vnc_find(const char *id);

/* vnc_foreach() - in the order of creation. */
void vnc_foreach(void (*fn)(struct vnc_server *s, void *opaque), void *opaque);

const char *vnc_id(const struct vnc_server *s);
bool vnc_has_password(const struct vnc_server *s); /* clients must know one */
unsigned vnc_listeners(const struct vnc_server *s, const struct vnc_address **list);
/* vnc_clients() - of connections that exist; free with g_ptr_array_unref(). */
GPtrArray *vnc_clients(struct vnc_server *s);
struct vnc_address *vnc_address_copy(const struct vnc_address *a);
void vnc_address_free(struct vnc_address *a);

/*
 * vnc_set_password() - for connections from now on; of the text the first eight bytes count.
 * vnc_expire_password() - after that time nobody gets in. @when: seconds since 1970; -1: never.
 *
 * Return: 0, or -EINVAL with @err: the server was started without password=on.
 */
int vnc_set_password(struct vnc_server *s, const char *password, GError **err);
int vnc_expire_password(struct vnc_server *s, s64 when, GError **err);

#endif
