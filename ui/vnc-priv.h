/*
 * ui/vnc-priv.h - a VNC server, between its options and its thread.
 */
#ifndef UI_VNC_PRIV_H
#define UI_VNC_PRIV_H

#include "ui/display.h"
#include "ui/vnc.h"

#include <rfb/rfb.h>

#define VNC_PASSWORD_MAX 8 /* bytes; RFC 6143, 7.2.2 */
#define VNC_CLIENTS_MAX  32

/* One connection; in the server's list while it exists. */
struct vnc_client {
	struct vnc_server *server;
	struct vnc_address addr;
	int fd;      /* a duplicate of the socket, to shut it down from elsewhere */
	bool told;   /* VNC_CLIENT_INITIALIZED was reported */
	u8 keys[96]; /* bit map of keys that it holds down */
	u8 buttons;  /* mask as in RFB */
	int last_x, last_y;
};

struct vnc_server {
	char *id;
	struct display *display;
	struct display_view *view;
	struct vnc_hooks hooks;
	struct vnc_address addr;
	int listen_fd, wake_fd;
	bool wants_password, shares_always;
	GThread *thread;
	gint stopping, pending; /* atomic; pending: input not yet delivered */

	/* Of the thread alone. */
	rfbScreenInfoPtr screen;
	u32 *shadow; /* what clients have, or will be sent: width x height pixels */
	u32 *line;   /* scratch, a line of the picture */
	unsigned width, height, nclients;
	int accepted_fd; /* of the client that is being made */
	s64 last_frame_us;
	gint woken; /* atomic */

	GMutex lock; /* a leaf, guards what follows */
	GPtrArray *clients;
	bool has_password;
	char password[VNC_PASSWORD_MAX + 1];
	s64 expires_s; /* since 1970; -1: never */
};

/* ui/vnc-thread.c */
int vnc_thread_start(struct vnc_server *s, const char *title, GError **err);
void vnc_thread_stop(struct vnc_server *s);

/* ui/vnc-input.c: what clients do, on its way to the main thread. Calls of libvncserver. */
void vnc_input_key(rfbBool down, rfbKeySym keysym, struct _rfbClientRec *cl);
void vnc_input_pointer(int buttons, int x, int y, struct _rfbClientRec *cl);
void vnc_input_release(struct vnc_client *c); /* it goes: let go of what it holds down */

#endif
