/*
 * migration/incoming.c - waiting for a sender, the load thread, and what comes after.
 */
#include "migration/incoming.h"

#include "migration/ram-source.h"
#include "migration/return-path.h"
#include "util/error.h"
#include "util/lock.h"
#include "util/socket.h"

#include <glib-unix.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define READ_BYTES       (1 * MiB)
#define FAIL_DRAIN_MS    2000u /* for the sender to hear our reason before the reset */
#define SUCCESS_DRAIN_MS 5000u

/* ---- the end of a load ---- */

static void tell_failure(struct migration *m)
{
	g_autoptr(GError) error = NULL;

	error_set(&error, "%s", m->incoming_error);
	if (m->cb.incoming_failed)
		m->cb.incoming_failed(m->cb.opaque, error, m->incoming->exit_on_error);
}

/* Tells the sender why, as far as it can hear. */
static void report_to_sender(struct incoming *in, const GError *error)
{
	u32 status = GUINT32_TO_BE(1);

	if (in->return_path) {
		if (in->peer_is_ours)
			return_path_send(in->ch, RP_OWN_ERROR, error->message,
					 MIN(strlen(error->message), UINT16_MAX), NULL);
		return_path_send(in->ch, RP_SHUT, &status, sizeof(status), NULL);
		channel_end_write(in->ch);
		channel_drain(in->ch, FAIL_DRAIN_MS);
	}
}

static void load_failed(struct incoming *in, GError *error)
{
	struct migration *m = in->m;
	bool cancelled = __atomic_load_n(&in->ch->cancelled, __ATOMIC_RELAXED);

	report_to_sender(in, error);
	channel_close(in->ch, NULL);
	g_mutex_lock(&m->lock);
	g_free(m->incoming_error);
	/* Names in it come from the stream. */
	m->incoming_error = g_utf8_make_valid(error->message, -1);
	g_mutex_unlock(&m->lock);
	g_error_free(error);
	machine_lock();
	in->finished = true;
	machine_unlock();
	migration_set_incoming_status(m, STATUS_FAILED);
	if (!cancelled) /* by our own end */
		migration_call(m, tell_failure);
}

static void announce(struct migration *m)
{
	struct settings s;

	migration_settings(m, &s);
	if (m->cb.announce)
		m->cb.announce(m->cb.opaque, s.params.announce_initial, s.params.announce_max,
			       s.params.announce_rounds, s.params.announce_step);
}

/* The sender's run state, or what -S makes of it. Machine lock held. */
static void set_run_state(struct incoming *in)
{
	struct migration *m = in->m;
	int state =
		m->global.received ? run_state_from_name(m->global.runstate) : RUN_STATE_RUNNING;

	switch (state) {
	case RUN_STATE_RUNNING:
		if (in->autostart && migration_acquire_disks(m))
			vm_start(m->vm);
		else
			vm_set_run_state(m->vm, RUN_STATE_PAUSED);
		break;
	case RUN_STATE_INMIGRATE:
	case RUN_STATE_FINISH_MIGRATE:
	case RUN_STATE_POSTMIGRATE:
	case RUN_STATE_PRELAUNCH:
		/* Stages of another process's life; here the machine is simply stopped. */
		vm_set_run_state(m->vm, RUN_STATE_PAUSED);
		break;
	default: vm_set_run_state(m->vm, state); break;
	}
}

/* Return: whether the sender has been told, so that it does not run again. */
static bool confirm(struct incoming *in, GError **err)
{
	u32 status = 0;

	return !in->return_path || !return_path_send(in->ch, RP_SHUT, &status, sizeof(status), err);
}

static void load_completed(struct incoming *in)
{
	machine_lock();
	set_run_state(in);
	in->finished = true;
	machine_unlock();
	migration_set_incoming_status(in->m, STATUS_COMPLETED);
	migration_call(in->m, announce);
	/* The description that may follow is for tools that read stored streams. */
	channel_drain(in->ch, SUCCESS_DRAIN_MS);
	channel_close(in->ch, NULL);
}

static gpointer incoming_thread(gpointer data)
{
	struct incoming *in = data;
	GError *err = NULL;
	sigset_t pipe;
	int ret;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, NULL);

	migration_set_incoming_status(in->m, STATUS_ACTIVE);
	state_reader_init(&in->r, in->ch, READ_BYTES);
	ram_load_init(&in->ram, in->m->vm, &in->settings);
	ret = incoming_load(in, &err);
	ram_load_finish(&in->ram);
	if (!ret && !confirm(in, &err))
		ret = -EPIPE;
	if (ret)
		load_failed(in, err);
	else
		load_completed(in);
	state_reader_finish(&in->r);
	g_clear_error(&in->config_error);
	return NULL;
}

static void start_load(struct incoming *in)
{
	migration_settings(in->m, &in->settings);
	in->thread = g_thread_new("mig-incoming", incoming_thread, in);
}

/* ---- waiting for the sender ---- */

static void stop_listening(struct incoming *in)
{
	if (in->listen_watch)
		g_source_remove(in->listen_watch);
	in->listen_watch = 0;
	if (in->listen_fd >= 0)
		close(in->listen_fd);
	in->listen_fd = -1;
	if (in->unlink_path)
		unlink(in->unlink_path);
	g_clear_pointer(&in->unlink_path, g_free);
}

static gboolean sender_connects(gint fd, GIOCondition condition, gpointer data)
{
	struct incoming *in = data;
	int s = socket_accept(fd);

	if (s < 0) /* gone again before we looked */
		return G_SOURCE_CONTINUE;
	in->listen_watch = 0;
	stop_listening(in);
	channel_adopt_socket(in->ch, s);
	start_load(in);
	return G_SOURCE_REMOVE;
}

/* The bound address as QMP's SocketAddress. */
static JsonObject *bound_address(const struct socket_address *a, int fd)
{
	JsonObject *o = json_object_new();
	g_autofree char *text = socket_name_text(fd, false);
	char *colon = strrchr(text, ':');

	if (a->type == SOCKET_UNIX) {
		json_object_set_string_member(o, "type", "unix");
		json_object_set_string_member(o, "path", a->path);
		return o;
	}
	json_object_set_string_member(o, "type", "inet");
	json_object_set_string_member(o, "port", colon ? colon + 1 : "");
	if (colon)
		*colon = 0;
	/* Without the brackets of the text form. */
	if (text[0] == '[' && colon)
		colon[-1] = 0;
	json_object_set_string_member(o, "host", text[0] == '[' ? text + 1 : text);
	return o;
}

static int start_listening(struct incoming *in, const struct socket_address *a, GError **err)
{
	int fd = socket_listen(a, err);

	if (fd < 0)
		return fd;
	in->listen_fd = fd;
	if (a->type == SOCKET_UNIX && !a->abstract)
		in->unlink_path = g_strdup(a->path);
	if (in->addresses)
		json_array_unref(in->addresses);
	in->addresses = json_array_new();
	json_array_add_object_element(in->addresses, bound_address(a, fd));
	in->listen_watch = g_unix_fd_add(fd, G_IO_IN, sender_connects, in);
	return 0;
}

/* A descriptor that is handed over may be a listening socket. */
static bool is_listening(int fd)
{
	int on = 0;
	socklen_t len = sizeof(on);

	return !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &len) && on;
}

static int begin(struct incoming *in, const struct migration_address *a, GError **err)
{
	int ret;

	in->ch = channel_create();
	ret = channel_open(in->ch, a, false, err);
	if (ret < 0)
		return ret;
	migration_set_incoming_status(in->m, STATUS_SETUP);
	if (ret == 1) {
		ret = start_listening(in, a->socket, err);
	} else if (in->ch->is_socket && is_listening(in->ch->rfd)) {
		in->listen_fd = in->ch->rfd;
		in->ch->rfd = in->ch->wfd = -1;
		in->listen_watch = g_unix_fd_add(in->listen_fd, G_IO_IN, sender_connects, in);
	} else {
		start_load(in);
	}
	if (ret)
		migration_set_incoming_status(in->m, STATUS_NONE);
	return ret;
}

int migration_incoming(struct migration *m, const char *uri, JsonArray *channels,
		       bool exit_on_error, GError **err)
{
	struct incoming *in = m->incoming;
	struct migration_address *a;
	int ret;

	if (!in) {
		error_set(err, "migrate-incoming needs a machine that was started with "
			       "'-incoming defer'");
		return -EPERM;
	}
	if (in->started) {
		error_set(err, "the incoming migration has been started already");
		return -EBUSY;
	}
	if (!uri == !channels) {
		error_set(err, "exactly one of 'uri' and 'channels' is needed");
		return -EINVAL;
	}
	a = uri ? migration_address_parse(uri, err)
		: migration_address_from_channels(channels, err);
	if (!a)
		return -EINVAL;
	in->exit_on_error = exit_on_error;
	ret = begin(in, a, err);
	migration_address_free(a);
	if (ret)
		g_clear_pointer(&in->ch, channel_destroy);
	in->started = !ret;
	return ret;
}

int migration_incoming_prepare(struct migration *m, const char *uri, bool autostart, GError **err)
{
	struct incoming *in = g_new0(struct incoming, 1);

	g_assert(!m->incoming);
	in->m = m;
	in->autostart = autostart;
	in->listen_fd = -1;
	m->incoming = in;
	vm_set_run_state(m->vm, RUN_STATE_INMIGRATE);
	if (g_str_equal(uri, "defer"))
		return 0;
	return migration_incoming(m, uri, NULL, true, err);
}

bool migration_incoming_waiting(const struct migration *m)
{
	return m->incoming && !m->incoming->finished;
}

void migration_set_autostart(struct migration *m, bool autostart)
{
	if (m->incoming)
		m->incoming->autostart = autostart;
}

void incoming_destroy(struct incoming *in)
{
	if (!in)
		return;
	stop_listening(in);
	if (in->thread) {
		channel_cancel(in->ch);
		g_thread_join(in->thread);
	}
	if (in->addresses)
		json_array_unref(in->addresses);
	channel_destroy(in->ch);
	g_free(in);
}
