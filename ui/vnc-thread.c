/*
 * ui/vnc-thread.c - the thread of a VNC server, which alone talks to libvncserver.
 *
 * The library would start threads and listen by itself; it is fed connections here instead, so that
 * addresses, errors and the end are ours. Its calls block at most CLIENT_WAIT_MS for a client that
 * neither reads nor goes; that client is then dropped.
 */
#include "vnc-priv.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/error.h"
#include "util/log.h"
#include "util/main-loop.h"
#include "util/socket.h"

#define FRAME_US       33000 /* between looks at the picture */
#define CLIENT_WAIT_MS 5000
#define WIDTH_MAX      8192 /* libvncserver sends a line at least, from a buffer of 32 KiB */
#define BLANK_WIDTH    640  /* while the guest shows nothing */
#define BLANK_HEIGHT   480
#define BAND           16 /* lines that are compared, and sent, together */
#define BITS_A_SAMPLE  8
#define SAMPLES        3
#define BYTES_A_PIXEL  4

/* ---- Clients ---- */

struct report {
	struct vnc_server *server;
	struct vnc_address *addr;
	enum vnc_client_change change;
};

static void deliver_report(void *opaque)
{
	struct report *r = opaque;
	const struct vnc_hooks *h = &r->server->hooks;

	if (h->client)
		h->client(h->opaque, r->server, r->addr, r->change);
	vnc_address_free(r->addr);
	g_free(r);
}

static void report(struct vnc_client *c, enum vnc_client_change change)
{
	struct report *r = g_new0(struct report, 1);

	r->server = c->server;
	r->addr = vnc_address_copy(&c->addr);
	r->change = change;
	main_loop_call(deliver_report, r);
}

static void client_gone(struct _rfbClientRec *cl)
{
	struct vnc_client *c = cl->clientData;
	struct vnc_server *s = c->server;

	g_mutex_lock(&s->lock);
	g_ptr_array_remove(s->clients, c);
	g_mutex_unlock(&s->lock);
	s->nclients--;
	vnc_input_release(c);
	report(c, VNC_CLIENT_DISCONNECTED);
	close(c->fd);
	g_free(c->addr.host);
	g_free(c->addr.service);
	g_free(c);
}

static void fill_peer(struct vnc_client *c, int fd)
{
	g_autofree char *text = socket_name_text(fd, true);
	const char *colon = strrchr(text, ':');

	c->addr.is_unix = c->server->addr.is_unix;
	c->addr.ipv6 = *text == '[';
	if (c->addr.is_unix || !colon) {
		c->addr.host = g_strdup("");
		c->addr.service = g_strdup(text);
		return;
	}
	c->addr.host = c->addr.ipv6 ? g_strndup(text + 1, colon - text - 2)
				    : g_strndup(text, colon - text);
	c->addr.service = g_strdup(colon + 1);
}

static enum rfbNewClientAction new_client(struct _rfbClientRec *cl)
{
	struct vnc_server *s = cl->screen->screenData;
	struct vnc_client *c;

	c = g_new0(struct vnc_client, 1);
	c->server = s;
	c->fd = dup(s->accepted_fd);
	fill_peer(c, s->accepted_fd);
	cl->clientData = c;
	cl->clientGoneHook = client_gone;
	s->nclients++;
	g_mutex_lock(&s->lock);
	g_ptr_array_add(s->clients, c);
	g_mutex_unlock(&s->lock);
	report(c, VNC_CLIENT_CONNECTED);
	return RFB_CLIENT_ACCEPT;
}

/* RFC 6143, 7.2.2: the challenge, encrypted with the password. */
static rfbBool check_password(struct _rfbClientRec *cl, const char *response, int len)
{
	struct vnc_server *s = cl->screen->screenData;
	unsigned char expected[CHALLENGESIZE];
	char password[VNC_PASSWORD_MAX + 1];
	unsigned differs = 0;
	bool valid;

	g_mutex_lock(&s->lock);
	valid = s->has_password &&
		(s->expires_s < 0 || g_get_real_time() / G_USEC_PER_SEC < s->expires_s);
	memcpy(password, s->password, sizeof(password));
	g_mutex_unlock(&s->lock);
	if (!valid || len != CHALLENGESIZE)
		return FALSE;
	memcpy(expected, cl->authChallenge, CHALLENGESIZE);
	rfbEncryptBytes(expected, password);
	for (unsigned i = 0; i < CHALLENGESIZE; i++)
		differs |= expected[i] ^ (unsigned char)response[i];
	return !differs;
}

/* What the library has to say to a new client, to the client itself, which now takes the place of
 * the stand-in that it was said to. */
static void swap_in(struct _rfbClientRec *cl, int stand_in, int fd)
{
	char greeting[64];
	ssize_t n = recv(stand_in, greeting, sizeof(greeting), MSG_DONTWAIT);

	if (n > 0)
		send(fd, greeting, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	dup2(fd, cl->sock);
}

/*
 * The library looks for WebSockets before it greets a client: it waits for a client's first four
 * bytes, for ever if there are one to three. It gets to see a stand-in that sends nothing instead.
 * So there are no WebSockets, by which a page of some web site could get in through a browser.
 */
static void start_client(struct vnc_server *s, int fd)
{
	struct _rfbClientRec *cl;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		log_warn_once("VNC: no descriptor left for a connection: %s", g_strerror(errno));
		return;
	}
	if (pair[0] >= FD_SETSIZE) {
		close(pair[0]);
		close(pair[1]);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 },
		   sizeof(int)); /* UNIX: no such option */
	s->accepted_fd = fd;
	cl = rfbNewClient(s->screen, pair[0]); /* closes it when it fails */
	if (cl)
		swap_in(cl, pair[1], fd);
	close(pair[1]);
}

static void accept_client(struct vnc_server *s)
{
	int fd = socket_accept(s->listen_fd);

	if (fd < 0)
		return;
	if (s->nclients >= VNC_CLIENTS_MAX)
		log_warn_once("VNC: more than %d connections", VNC_CLIENTS_MAX);
	else
		start_client(s, fd);
	close(fd);
}

static void tell_initialized(struct vnc_server *s)
{
	rfbClientIteratorPtr it = rfbGetClientIterator(s->screen);
	rfbClientPtr cl;

	while ((cl = rfbClientIteratorNext(it))) {
		struct vnc_client *c = cl->clientData;

		if (c && !c->told && cl->state == RFB_NORMAL) {
			c->told = true;
			report(c, VNC_CLIENT_INITIALIZED);
		}
	}
	rfbReleaseClientIterator(it);
}

/* ---- The picture ---- */

/* Pixels are x8r8g8b8 in the host's order; the library would put red first. */
static void set_format(struct vnc_server *s)
{
	rfbPixelFormat *f = &s->screen->serverFormat;

	f->depth = SAMPLES * BITS_A_SAMPLE;
	f->redShift = 16;
	f->greenShift = 8;
	f->blueShift = 0;
}

static void resize(struct vnc_server *s, unsigned width, unsigned height)
{
	u32 *old = s->shadow;
	rfbClientIteratorPtr it;
	rfbClientPtr cl;

	s->width = width;
	s->height = height;
	s->shadow = g_new0(u32, (size_t)width * height);
	s->line = g_renew(u32, s->line, (size_t)width * BAND);
	rfbNewFramebuffer(s->screen, (char *)s->shadow, width, height, BITS_A_SAMPLE, SAMPLES,
			  BYTES_A_PIXEL);
	set_format(s);
	it = rfbGetClientIterator(s->screen);
	while ((cl = rfbClientIteratorNext(it)))
		s->screen->setTranslateFunction(cl);
	rfbReleaseClientIterator(it);
	g_free(old);
}

/* Copy what differs in a band of lines, at most BAND, and have it sent. */
static void refresh_band(struct vnc_server *s, const struct surface *from, unsigned x, unsigned y,
			 unsigned width, unsigned lines)
{
	unsigned first = lines, last = 0;

	surface_read(from, x, y, width, lines, s->line, width * BYTES_A_PIXEL);
	for (unsigned i = 0; i < lines; i++) {
		u32 *to = s->shadow + (size_t)(y + i) * s->width + x;

		if (!memcmp(to, s->line + (size_t)i * width, width * BYTES_A_PIXEL))
			continue;
		memcpy(to, s->line + (size_t)i * width, width * BYTES_A_PIXEL);
		first = MIN(first, i);
		last = i;
	}
	if (first <= last && first < lines)
		rfbMarkRectAsModified(s->screen, x, y + first, x + width, y + last + 1);
}

static void refresh_rect(struct vnc_server *s, const struct surface *from, pixman_box32_t b)
{
	b.x2 = MIN(b.x2, (int)s->width);
	b.y2 = MIN(b.y2, (int)s->height);
	if (b.x1 >= b.x2)
		return;
	for (int y = b.y1; y < b.y2; y += BAND)
		refresh_band(s, from, b.x1, y, b.x2 - b.x1, MIN(BAND, b.y2 - y));
}

static void draw_frame(struct vnc_server *s, const struct display_frame *f)
{
	unsigned width = f->surface ? MIN(f->surface->width, WIDTH_MAX) : BLANK_WIDTH;
	unsigned height = f->surface ? f->surface->height : BLANK_HEIGHT;
	const pixman_box32_t all = { 0, 0, width, height };
	const pixman_box32_t *rects;
	int n;

	if (width != s->width || height != s->height)
		resize(s, width, height);
	if (!f->surface) {
		memset(s->shadow, 0, (size_t)width * height * BYTES_A_PIXEL);
		rfbMarkRectAsModified(s->screen, 0, 0, width, height);
		return;
	}
	if (f->polled) {
		refresh_rect(s, f->surface, all);
		return;
	}
	rects = pixman_region32_rectangles((pixman_region32_t *)&f->changed, &n);
	for (int i = 0; i < n; i++)
		refresh_rect(s, f->surface, rects[i]);
}

/* RFB's cursors are drawn or not drawn, pixel by pixel: what is half transparent is drawn. */
static void draw_cursor(struct vnc_server *s, const struct display_cursor *from)
{
	rfbCursorPtr c = NULL;
	unsigned stride;

	if (from) {
		stride = (from->width + 7) / 8;
		c = calloc(1, sizeof(*c));
		c->cleanup = c->cleanupMask = c->cleanupSource = c->cleanupRichSource = TRUE;
		c->width = from->width;
		c->height = from->height;
		c->xhot = from->hot_x;
		c->yhot = from->hot_y;
		c->source = calloc(stride, from->height);
		c->mask = calloc(stride, from->height);
		c->richSource = calloc((size_t)from->width * from->height, BYTES_A_PIXEL);
		memcpy(c->richSource, from->pixels,
		       (size_t)from->width * from->height * BYTES_A_PIXEL);
		for (unsigned y = 0; y < from->height; y++)
			for (unsigned x = 0; x < from->width; x++)
				if (from->pixels[y * from->width + x] >> 31)
					c->mask[y * stride + x / 8] |= 0x80 >> x % 8;
	}
	rfbSetCursor(s->screen, c);
}

/* Return: whether the picture must be looked at again without being woken. */
static bool refresh(struct vnc_server *s)
{
	struct display_frame f;
	bool polled;

	g_atomic_int_set(&s->woken, 0);
	display_view_take(s->view, &f);
	polled = f.polled;
	if (f.surface || s->width != BLANK_WIDTH || s->height != BLANK_HEIGHT)
		draw_frame(s, &f);
	if (f.cursor_changed)
		draw_cursor(s, f.cursor);
	display_frame_clear(&f);
	return polled;
}

/* ---- The thread ---- */

static unsigned gather(struct vnc_server *s, struct pollfd *fds)
{
	rfbClientIteratorPtr it = rfbGetClientIterator(s->screen);
	rfbClientPtr cl;
	unsigned n = 0;

	fds[n++] = (struct pollfd){ .fd = s->wake_fd, .events = POLLIN };
	fds[n++] = (struct pollfd){ .fd = s->listen_fd, .events = POLLIN };
	while ((cl = rfbClientIteratorNext(it)) && n < VNC_CLIENTS_MAX + 2)
		if (cl->sock >= 0)
			fds[n++] = (struct pollfd){ .fd = cl->sock, .events = POLLIN };
	rfbReleaseClientIterator(it);
	return n;
}

/* A frame is due: woken long enough after the last one, or unreported changes are possible. */
static int time_to_frame_ms(struct vnc_server *s, bool polled)
{
	s64 left;

	if (!s->nclients || (!polled && !g_atomic_int_get(&s->woken)))
		return -1;
	left = s->last_frame_us + FRAME_US - g_get_monotonic_time();
	return left > 0 ? (left + 999) / 1000 : 0;
}

static gpointer run(gpointer opaque)
{
	struct pollfd fds[VNC_CLIENTS_MAX + 2];
	struct vnc_server *s = opaque;
	bool polled = true; /* so that the first client gets a picture */

	while (!g_atomic_int_get(&s->stopping)) {
		int wait = time_to_frame_ms(s, polled);
		unsigned n = gather(s, fds);
		eventfd_t count;

		if (poll(fds, n, wait) < 0 && errno != EINTR)
			break;
		eventfd_read(s->wake_fd, &count);
		if (fds[1].revents & POLLIN)
			accept_client(s);
		if (!time_to_frame_ms(s, polled)) {
			s->last_frame_us = g_get_monotonic_time();
			polled = refresh(s);
		}
		rfbProcessEvents(s->screen, 0);
		tell_initialized(s);
		if (!s->nclients)
			polled = true;
	}
	return NULL;
}

static void no_log(const char *format, ...)
{
}

static rfbScreenInfoPtr make_screen(struct vnc_server *s, const char *title)
{
	int argc = 0;
	rfbScreenInfoPtr screen = rfbGetScreen(&argc, NULL, BLANK_WIDTH, BLANK_HEIGHT,
					       BITS_A_SAMPLE, SAMPLES, BYTES_A_PIXEL);

	if (!screen)
		return NULL;
	screen->screenData = s;
	screen->desktopName = g_strdup(title);
	screen->port = screen->ipv6port = 0; /* we listen */
	screen->autoPort = FALSE;
	screen->ignoreSIGPIPE = FALSE;
	screen->maxClientWait = CLIENT_WAIT_MS;
	screen->deferUpdateTime = 0;
	screen->alwaysShared = s->shares_always;
	screen->cursor = NULL;
	screen->newClientHook = new_client;
	screen->kbdAddEvent = vnc_input_key;
	screen->ptrAddEvent = vnc_input_pointer;
	screen->passwordCheck = check_password;
	screen->authPasswdData = s->wants_password ? s : NULL;
	return screen;
}

int vnc_thread_start(struct vnc_server *s, const char *title, GError **err)
{
	sigset_t all, old;

	rfbLog = rfbErr = no_log;
	rfbMaxClientWait = CLIENT_WAIT_MS;
	s->screen = make_screen(s, title);
	if (!s->screen) {
		error_set(err, "no memory for a VNC server");
		return -ENOMEM;
	}
	resize(s, BLANK_WIDTH, BLANK_HEIGHT);
	rfbInitServer(s->screen);
	/* Signals are the main thread's; a client that went must not end the process (SIGPIPE). */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	s->thread = g_thread_new("vnc", run, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return 0;
}

void vnc_thread_stop(struct vnc_server *s)
{
	rfbClientIteratorPtr it;
	rfbClientPtr cl;

	g_atomic_int_set(&s->stopping, 1);
	g_mutex_lock(&s->lock);
	for (guint i = 0; i < s->clients->len; i++)
		shutdown(((struct vnc_client *)g_ptr_array_index(s->clients, i))->fd, SHUT_RDWR);
	g_mutex_unlock(&s->lock);
	eventfd_write(s->wake_fd, 1);
	g_thread_join(s->thread);
	it = rfbGetClientIterator(s->screen);
	while ((cl = rfbClientIteratorNext(it))) {
		rfbCloseClient(cl);
		rfbClientConnectionGone(cl);
	}
	rfbReleaseClientIterator(it);
	g_free((char *)s->screen->desktopName);
	rfbScreenCleanup(s->screen);
	g_free(s->shadow);
	g_free(s->line);
}
