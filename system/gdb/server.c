/*
 * system/gdb/server.c - packets to and from the debugger, and the guest's stops.
 *
 * A packet is $DATA#SS with a checksum of two digits (GDB manual, E.1); a byte 3 outside of one
 * asks the guest to stop.
 */
#include "gdb/internal.h"
#include "qapi/gen/run-state.h"
#include "util/error.h"

#define INTERRUPT  3
#define ESCAPE     '}'
#define CHARDEV_ID "gdb" /* of a character device made for the server */

/* ---- out ---- */

static bool needs_escape(char c)
{
	return c == '$' || c == '#' || c == ESCAPE || c == '*';
}

static void write_packet(struct gdb_server *s)
{
	chardev_write(s->fe, s->last, strlen(s->last));
}

void gdb_send_bytes(struct gdb_server *s, const void *data, size_t len)
{
	GString *p = g_string_new("$");
	u8 sum = 0;

	for (size_t i = 0; i < len; i++) {
		char c = ((const char *)data)[i];

		if (needs_escape(c)) {
			g_string_append_c(p, ESCAPE);
			c ^= 0x20;
		}
		g_string_append_c(p, c);
	}
	for (size_t i = 1; i < p->len; i++)
		sum += (u8)p->str[i];
	g_string_append_printf(p, "#%02x", sum);
	g_free(s->last);
	s->last = g_string_free(p, FALSE);
	write_packet(s);
}

void gdb_send(struct gdb_server *s, const char *text)
{
	gdb_send_bytes(s, text, strlen(text));
}

void gdb_send_hex(struct gdb_server *s, const char *prefix, const char *text)
{
	GString *p = g_string_new(prefix);

	for (; *text; text++)
		g_string_append_printf(p, "%02x", (u8)*text);
	gdb_send(s, p->str);
	g_string_free(p, TRUE);
}

/* ---- running and stopping ---- */

/* Signal numbers of the protocol (GDB, include/gdb/signals.def). */
static int signal_of(enum run_state state)
{
	switch (state) {
	case RUN_STATE_DEBUG: return 5;     /* TRAP */
	case RUN_STATE_SHUTDOWN: return 3;  /* QUIT */
	case RUN_STATE_IO_ERROR: return 23; /* IO */
	case RUN_STATE_WATCHDOG: return 14; /* ALRM */
	case RUN_STATE_INTERNAL_ERROR:
	case RUN_STATE_GUEST_PANICKED: return 6; /* ABRT */
	default: return 2;                       /* INT */
	}
}

static void send_stop_event(struct gdb_server *s, int sig, const struct debug_event *event)
{
	static const char *const watch[] = { [DEBUG_WATCH_WRITE] = "watch",
					     [DEBUG_WATCH_READ] = "rwatch",
					     [DEBUG_WATCH_ACCESS] = "awatch" };
	GString *p = g_string_new(NULL);

	g_string_printf(p, "T%02xthread:%02x;", sig, gdb_thread(s->reg_cpu));
	if (event->kind == DEBUG_BREAK && s->hwbreak)
		g_string_append(p, "hwbreak:;");
	else if (event->kind >= DEBUG_WATCH_WRITE)
		g_string_append_printf(p, "%s:%" PRIx64 ";", watch[event->kind], event->addr);
	gdb_send(s, p->str);
	g_string_free(p, TRUE);
}

void gdb_send_stop(struct gdb_server *s)
{
	struct debug_event event = vm_debug_take_event(s->e->vm);
	bool any = event.kind != DEBUG_NONE;

	if (any)
		s->reg_cpu = s->run_cpu = event.cpu;
	send_stop_event(s, any ? signal_of(RUN_STATE_DEBUG) : signal_of(vm_run_state(s->e->vm)),
			&event);
}

void gdb_run(struct gdb_server *s)
{
	GError *err = NULL;

	s->running = true;
	qmp_cont(s->e->machine, &err);
	if (!err)
		return;
	gdb_send_hex(s, "O", err->message);
	gdb_send_hex(s, "O", "\n");
	g_error_free(err);
	s->running = false;
	gdb_send_stop(s);
}

static void state_changed(struct notifier *n, void *data)
{
	struct gdb_server *s = container_of(n, struct gdb_server, notifier);
	const struct run_state_change *change = data;

	/* During a migration or a snapshot the guest goes on, here or elsewhere. */
	if (change->running || !s->running || change->state == RUN_STATE_FINISH_MIGRATE ||
	    change->state == RUN_STATE_SAVE_VM || change->state == RUN_STATE_RESTORE_VM)
		return;
	s->running = false;
	vm_debug_step(s->e->vm, -1, false);
	gdb_send_stop(s);
}

/* ---- in ---- */

static void packet_complete(struct gdb_server *s)
{
	s->state = PACKET_NONE;
	if (!s->no_ack) {
		bool good = s->sum == s->sum_received;

		chardev_write(s->fe, good ? "+" : "-", 1);
		if (!good)
			return;
	}
	g_byte_array_append(s->in, (const u8 *)"", 1);
	gdb_command(s);
}

static void outside(struct gdb_server *s, u8 c)
{
	if (c == '$') {
		g_byte_array_set_size(s->in, 0);
		s->sum = 0;
		s->state = PACKET_DATA;
	} else if (c == INTERRUPT) {
		vm_stop(s->e->vm, RUN_STATE_PAUSED);
	} else if (c == '-' && s->last && !s->no_ack) {
		write_packet(s);
	}
}

/* A packet that is too long is cut; its checksum then decides nothing good. */
static void add_byte(struct gdb_server *s, u8 c)
{
	if (s->in->len < PACKET_SIZE)
		g_byte_array_append(s->in, &c, 1);
}

static void byte_in(struct gdb_server *s, u8 c)
{
	switch (s->state) {
	case PACKET_NONE: outside(s, c); return;
	case PACKET_DATA:
		if (c == '#') {
			s->state = PACKET_SUM1;
			return;
		}
		s->sum += c;
		if (c == ESCAPE)
			s->state = PACKET_ESCAPE;
		else
			add_byte(s, c);
		return;
	case PACKET_ESCAPE:
		s->sum += c;
		add_byte(s, c ^ 0x20);
		s->state = PACKET_DATA;
		return;
	case PACKET_SUM1:
		s->sum_received = g_ascii_xdigit_value(c) << 4;
		s->state = PACKET_SUM2;
		return;
	case PACKET_SUM2: s->sum_received |= g_ascii_xdigit_value(c) & 15; packet_complete(s);
	}
}

static size_t can_receive(void *opaque)
{
	return PACKET_SIZE;
}

static void receive(void *opaque, const u8 *buf, size_t len)
{
	for (size_t i = 0; i < len; i++)
		byte_in(opaque, buf[i]);
}

/*
 * The debugger went without a word: the guest, if it runs on the debugger's account or towards its
 * points, stops and stays so. One that the debugger detached from goes on.
 */
static void release(struct gdb_server *s)
{
	struct vm *vm = s->e->vm;

	if (vm_running(vm) && !s->running && !vm_debug_active(vm))
		return;
	s->running = false; /* nobody is there to be told */
	vm_stop(vm, RUN_STATE_PAUSED);
	vm_debug_clear(vm);
}

static void event(void *opaque, enum chardev_event event)
{
	struct gdb_server *s = opaque;

	if (event == CHARDEV_OPENED)
		vm_stop(s->e->vm, RUN_STATE_PAUSED);
	else if (event == CHARDEV_CLOSED)
		release(s);
	else
		return;
	s->running = false;
	s->state = PACKET_NONE;
	s->no_ack = s->hwbreak = s->physical = false;
	s->reg_cpu = s->run_cpu = 0;
	vm_debug_take_event(s->e->vm);
}

/* ---- life ---- */

/* "tcp:" and "unix:" mean to listen, and nobody needs to be there for the guest to start. */
static char *listening(const char *dev)
{
	bool socket = g_str_has_prefix(dev, "tcp:") || g_str_has_prefix(dev, "unix:");

	return socket && !strstr(dev, ",server") ? g_strconcat(dev, ",server=on,wait=off", NULL)
						 : g_strdup(dev);
}

struct gdb_server *gdb_server_create(struct emulator *e, const char *dev, GError **err)
{
	struct gdb_server *s;
	struct chardev_frontend fe = { .can_receive = can_receive,
				       .receive = receive,
				       .event = event };
	g_autofree char *text = listening(dev);

	if (!vm_debug_supported(e->vm) || !e->vm->ncpus || !e->vm->cpus[0]->ops->debug) {
		error_set(err, "-gdb %s: not available with -accel %s; use -accel tcg", dev,
			  e->vm->accel->ops->name);
		return NULL;
	}
	s = g_new0(struct gdb_server, 1);
	s->e = e;
	s->in = g_byte_array_new();
	s->xml = gdb_target_xml(e->vm->cpus[0]->ops->debug);
	s->chr = chardev_create_shorthand(CHARDEV_ID, text, NULL, err);
	fe.opaque = s;
	if (s->chr)
		s->fe = chardev_attach(s->chr, &fe, err);
	if (!s->fe) {
		g_prefix_error(err, "-gdb %s: ", dev);
		gdb_server_destroy(s, false);
		return NULL;
	}
	s->notifier.fn = state_changed;
	notifier_add(&e->vm->state_notifiers, &s->notifier);
	return s;
}

bool gdb_server_in_command(const struct gdb_server *s)
{
	return s->in_command;
}

void gdb_server_destroy(struct gdb_server *s, bool exited)
{
	bool own = s && s->chr && !strcmp(chardev_id(s->chr), CHARDEV_ID);

	if (!s)
		return;
	if (s->fe) {
		if (chardev_connected(s->fe)) {
			if (exited)
				gdb_send(s, "W00");
			release(s);
		}
		notifier_remove(&s->e->vm->state_notifiers, &s->notifier);
		chardev_detach(s->fe);
	}
	if (own && !exited) /* at exit what was sent is still to be delivered */
		chardev_remove(s->chr);
	g_byte_array_free(s->in, TRUE);
	g_free(s->last);
	g_free(s->xml);
	g_free(s);
}
