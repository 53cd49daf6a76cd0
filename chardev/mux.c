/*
 * chardev/mux.c - several front ends on one character device, switched by an escape character.
 *
 * Source: QEMU's manual, "Keys in the character backend multiplexer".
 */
#include "chardev/char-priv.h"

#include "util/error.h"
#include "util/keyval.h"
#include "util/source.h"

#define DEFAULT_ESCAPE 1 /* Ctrl-a */
/* Input kept for a front end that has no room, so that the escapes still work when a guest hangs.
 */
#define HELD_MAX 1024

struct char_mux {
	struct chardev c;
	struct chardev *base;
	struct chardev_fe *base_fe;
	GSource *deliver; /* held input is to be handed out */
	bool escaped;     /* the last byte was the escape character */
	bool timestamps;
	bool line_start; /* the next byte of output starts a line */
	s64 epoch_us;    /* of the timestamps: the first line's time */
};

static struct char_mux *mux_of(struct chardev *c)
{
	return container_of(c, struct char_mux, c);
}

static int escape_char(void)
{
	return chardev_hooks.mux_escape ? chardev_hooks.mux_escape : DEFAULT_ESCAPE;
}

/* ---- Output ---- */

static void write_timestamp(struct char_mux *m)
{
	s64 us = g_get_monotonic_time();
	char stamp[40];
	int n, secs;

	if (!m->epoch_us)
		m->epoch_us = us;
	us -= m->epoch_us;
	secs = us / G_USEC_PER_SEC;
	n = g_snprintf(stamp, sizeof(stamp), "[%02d:%02d:%02d.%03d] ", secs / 3600, secs / 60 % 60,
		       secs % 60, (int)(us / 1000 % 1000));
	chardev_write(m->base_fe, stamp, n);
}

static size_t mux_write(struct chardev *c, const u8 *buf, size_t len)
{
	struct char_mux *m = mux_of(c);
	size_t done = 0;

	if (!m->timestamps)
		return chardev_write(m->base_fe, buf, len);
	while (done < len) {
		const u8 *nl = memchr(buf + done, '\n', len - done);
		size_t n = nl ? nl + 1 - (buf + done) : len - done;

		if (m->line_start)
			write_timestamp(m);
		chardev_write(m->base_fe, buf + done, n);
		m->line_start = nl != NULL;
		done += n;
	}
	return len;
}

static size_t mux_queued(struct chardev *c)
{
	return chardev_queued(mux_of(c)->base_fe);
}

static void say(struct char_mux *m, const char *text)
{
	chardev_write(m->base_fe, text, strlen(text));
}

static void help(struct char_mux *m)
{
	int esc = escape_char();
	g_autofree char *key = esc > 0 && esc < 27 ? g_strdup_printf("C-%c", esc + 'a' - 1)
						   : g_strdup_printf("0x%02x", esc);
	g_autofree char *text =
		g_strdup_printf("\r\n"
				"%1$s h    this list\r\n"
				"%1$s x    end the emulator\r\n"
				"%1$s s    write disk images back (with snapshot=on)\r\n"
				"%1$s t    time stamps on or off\r\n"
				"%1$s b    send a break\r\n"
				"%1$s c    go to the next of monitor and consoles\r\n"
				"%1$s %1$s  send %1$s\r\n",
				key);

	say(m, text);
}

/* ---- Input ---- */

/* Gives a front end what was kept for it. Return: whether nothing is left. */
static bool deliver_held(struct chardev *c)
{
	struct chardev_fe *fe = c->focus;

	/* A receiver may detach itself or move the focus. */
	while (fe && fe == c->focus && fe->held->len) {
		size_t room = fe->ready ? fe->ops.can_receive(fe->ops.opaque) : 0;
		size_t n = MIN(room, fe->held->len);
		g_autofree u8 *bytes = NULL;

		if (!n)
			return false;
		/* The receiver may come back to us, so the bytes leave the buffer first. */
		bytes = g_memdup2(fe->held->data, n);
		g_byte_array_remove_range(fe->held, 0, n);
		fe->ops.receive(fe->ops.opaque, bytes, n);
	}
	return true;
}

static void switch_focus(struct char_mux *m)
{
	GPtrArray *fes = m->c.fes;
	guint at;

	if (fes->len < 2 || !g_ptr_array_find(fes, m->c.focus, &at))
		return;
	chardev_fe_event(m->c.focus, CHARDEV_MUX_OUT);
	m->c.focus = fes->pdata[(at + 1) % fes->len];
	chardev_fe_event(m->c.focus, CHARDEV_MUX_IN);
}

static void run_escape(struct char_mux *m, u8 byte)
{
	switch (byte) {
	case 'h':
	case '?': help(m); break;
	case 'x':
		say(m, "\r\nterminated\r\n");
		if (chardev_hooks.quit)
			chardev_hooks.quit(chardev_hooks.opaque, 0);
		break;
	case 's':
		if (chardev_hooks.commit)
			chardev_hooks.commit(chardev_hooks.opaque);
		break;
	case 'b': chardev_send_break(&m->c); break;
	case 'c': switch_focus(m); break;
	case 't':
		g_mutex_lock(&m->c.lock);
		m->timestamps = !m->timestamps;
		m->line_start = true;
		m->epoch_us = 0;
		g_mutex_unlock(&m->c.lock);
		break;
	default: break;
	}
}

static size_t mux_can_receive(void *opaque)
{
	struct char_mux *m = opaque;
	struct chardev_fe *fe = m->c.focus;

	return fe ? HELD_MAX - MIN(HELD_MAX, fe->held->len) : HELD_MAX;
}

static void mux_receive(void *opaque, const u8 *buf, size_t len)
{
	struct char_mux *m = opaque;

	for (size_t i = 0; i < len; i++) {
		bool is_escape = buf[i] == escape_char();

		if (m->escaped && !is_escape) {
			m->escaped = false;
			deliver_held(&m->c);
			run_escape(m, buf[i]);
			continue;
		}
		m->escaped = is_escape && !m->escaped;
		if (!m->escaped && m->c.focus)
			g_byte_array_append(m->c.focus->held, &buf[i], 1);
	}
	deliver_held(&m->c);
}

static void mux_event(void *opaque, enum chardev_event event)
{
	struct char_mux *m = opaque;

	if (event == CHARDEV_OPENED || event == CHARDEV_CLOSED)
		chardev_set_open(&m->c, event == CHARDEV_OPENED);
	else if (event == CHARDEV_BREAK)
		chardev_send_break(&m->c);
}

static gboolean deliver_dispatch(gpointer opaque)
{
	struct char_mux *m = opaque;

	source_drop(&m->deliver);
	if (m->c.focus && deliver_held(&m->c))
		chardev_accept_input(m->base_fe);
	return G_SOURCE_REMOVE;
}

/* The caller may be a device in the middle of a register access: it gets nothing now. */
static void mux_update_input(struct chardev *c)
{
	struct char_mux *m = mux_of(c);

	if (!m->deliver)
		m->deliver = source_after_ms(0, deliver_dispatch, m);
}

static void mux_fe_changed(struct chardev *c, struct chardev_fe *fe, bool attached)
{
	if (attached)
		fe->held = g_byte_array_new();
}

static int mux_take_fds(struct chardev *c, int *fds, int max)
{
	return chardev_take_fds(mux_of(c)->base_fe, fds, max);
}

static int mux_open(struct chardev *c, JsonObject *opts, GError **err)
{
	struct char_mux *m = mux_of(c);
	g_autofree char *base_id = keyval_take_str(opts, "chardev");
	const struct chardev_frontend fe = {
		.can_receive = mux_can_receive,
		.receive = mux_receive,
		.event = mux_event,
		.opaque = m,
	};

	m->base = base_id ? chardev_find(base_id) : NULL;
	if (!m->base) {
		error_set(err, "a mux needs 'chardev' to name an existing chardev, not '%s'",
			  base_id ? base_id : "");
		return -ENODEV;
	}
	m->base_fe = chardev_attach(m->base, &fe, err);
	if (!m->base_fe)
		return -EBUSY;
	c->open = m->base->open;
	return 0;
}

static void mux_close(struct chardev *c)
{
	struct char_mux *m = mux_of(c);
	g_autofree char *own_base = g_strdup_printf("%s-base", c->id);

	source_drop(&m->deliver);
	chardev_detach(m->base_fe);
	/* The one that "mux=on" made goes with it. */
	if (!strcmp(m->base->id, own_base))
		chardev_remove(m->base);
}

const struct chardev_type char_type_mux = {
	.name = "mux",
	.size = sizeof(struct char_mux),
	.many_fes = true,
	.open = mux_open,
	.close = mux_close,
	.write = mux_write,
	.queued = mux_queued,
	.update_input = mux_update_input,
	.take_fds = mux_take_fds,
	.fe_changed = mux_fe_changed,
};
