/*
 * monitor/transport.c - a monitor on a character device.
 */
#include "chardev/char.h"
#include "monitor/internal.h"

struct char_transport {
	struct monitor *mon;
	struct chardev_fe *fe;
	bool open;    /* a peer is there */
	bool greeted; /* and the monitor knows */
	bool hidden;  /* on a mux: another front end has the terminal */
	guint greeter;
};

static void transport_write(void *opaque, const char *bytes, size_t len)
{
	struct char_transport *t = opaque;

	chardev_write(t->fe, bytes, len);
}

static size_t transport_queued(void *opaque)
{
	struct char_transport *t = opaque;

	return chardev_queued(t->fe);
}

static void transport_accept_input(void *opaque)
{
	struct char_transport *t = opaque;

	chardev_accept_input(t->fe);
}

static int transport_take_fds(void *opaque, int *fds, int max)
{
	struct char_transport *t = opaque;

	return chardev_take_fds(t->fe, fds, max);
}

static void cancel_greeting(struct char_transport *t)
{
	if (t->greeter)
		g_source_remove(t->greeter);
	t->greeter = 0;
}

static void transport_close(void *opaque)
{
	struct char_transport *t = opaque;

	cancel_greeting(t);
	chardev_detach(t->fe);
	g_free(t);
}

static const struct monitor_transport char_transport = {
	.write = transport_write,
	.queued = transport_queued,
	.accept_input = transport_accept_input,
	.take_fds = transport_take_fds,
	.close = transport_close,
};

static size_t on_can_receive(void *opaque)
{
	struct char_transport *t = opaque;

	return monitor_can_receive(t->mon);
}

static void on_receive(void *opaque, const u8 *buf, size_t len)
{
	struct char_transport *t = opaque;

	monitor_receive(t->mon, buf, len);
}

static gboolean greet(gpointer opaque)
{
	struct char_transport *t = opaque;

	t->greeter = 0;
	t->greeted = true;
	monitor_opened(t->mon);
	return G_SOURCE_REMOVE;
}

static void on_event(void *opaque, enum chardev_event event)
{
	struct char_transport *t = opaque;

	switch (event) {
	case CHARDEV_OPENED:
		if (t->open)
			break;
		t->open = true;
		/*
		 * A person's monitor on a mux greets when it gets the terminal, not before. Whether
		 * it has it may be what the very next event says.
		 */
		if (t->mon->qmp)
			greet(t);
		else if (!t->hidden)
			t->greeter = g_idle_add(greet, t);
		break;
	case CHARDEV_CLOSED:
		cancel_greeting(t);
		if (t->greeted)
			monitor_closed(t->mon);
		t->open = t->greeted = false;
		break;
	case CHARDEV_MUX_OUT:
		t->hidden = true;
		cancel_greeting(t);
		break;
	case CHARDEV_MUX_IN:
		t->hidden = false;
		cancel_greeting(t);
		if (t->greeted)
			monitor_focused(t->mon);
		else if (t->open)
			greet(t);
		break;
	case CHARDEV_BREAK: break;
	}
}

struct monitor *monitor_attach(struct monitor_server *server, struct chardev *c,
			       enum monitor_mode mode, GError **err)
{
	struct char_transport *t = g_new0(struct char_transport, 1);
	struct chardev_frontend fe = {
		.can_receive = on_can_receive,
		.receive = on_receive,
		.event = on_event,
		.opaque = t,
		.background = true,
	};

	t->fe = chardev_attach(c, &fe, err);
	if (!t->fe) {
		g_free(t);
		return NULL;
	}
	/* Nothing is called back before the main loop's next turn. */
	t->mon = monitor_create(server, mode, &char_transport, t);
	return t->mon;
}

void monitor_detach(struct monitor *mon)
{
	monitor_destroy(mon);
}
