/*
 * migration/source-switchover.c - the time in which the guest runs nowhere.
 */
#include "migration/source.h"

#include "migration/stream.h"
#include "util/error.h"
#include "util/lock.h"

/* One-way peers close at once; proxies may not. */
#define CLOSE_TIMEOUT_MS 1000u

static void stop_vm(struct source *s)
{
	struct vm *vm = s->m->vm;

	machine_lock();
	s->was_running = vm_running(vm);
	s->old_state = vm_run_state(vm);
	global_state_store(s->m);
	STAT_SET(s->stop_ns, monotonic_ns());
	STAT_SET(s->precopy_bytes, STAT_GET(s->ch->written));
	vm_stop(vm, RUN_STATE_FINISH_MIGRATE);
	s->vm_stopped = true;
	machine_unlock();
}

void source_restore_vm(struct source *s)
{
	struct vm *vm = s->m->vm;

	if (!s->vm_stopped)
		return;
	machine_lock();
	/* Somebody may have changed the state since (quit, reset): leave that alone. */
	if (vm_run_state(vm) == RUN_STATE_FINISH_MIGRATE) {
		bool ours = !s->disks_released || migration_acquire_disks(s->m);

		if (s->was_running && ours)
			vm_start(vm);
		else
			vm_set_run_state(vm, s->was_running ? RUN_STATE_PAUSED : s->old_state);
	}
	s->vm_stopped = false;
	machine_unlock();
}

/* Waits for migrate-continue where the user asked for a pause. */
static int pause_before(struct source *s, GError **err)
{
	struct migration *m = s->m;
	bool ok = true;

	if (s->settings.caps[CAP_PAUSE_BEFORE_SWITCHOVER]) {
		ok = migration_set_status(m, STATUS_ACTIVE, STATUS_PRE_SWITCHOVER);
		g_mutex_lock(&m->lock);
		while (!s->continue_requested &&
		       !__atomic_load_n(&s->cancel_requested, __ATOMIC_ACQUIRE))
			g_cond_wait(&m->changed, &m->lock);
		g_mutex_unlock(&m->lock);
		ok = ok && migration_set_status(m, STATUS_PRE_SWITCHOVER, STATUS_DEVICE);
	} else {
		ok = migration_set_status(m, STATUS_ACTIVE, STATUS_DEVICE);
	}
	if (ok)
		return 0;
	error_set(err, "cancelled");
	return -ECANCELED;
}

/* Before the last sync: what the images still write into guest memory belongs to the stream. */
static int release_disks(struct source *s, GError **err)
{
	const struct migration_callbacks *cb = &s->m->cb;
	int ret = 0;

	machine_lock();
	if (cb->release_disks)
		ret = cb->release_disks(cb->opaque, err);
	s->disks_released = !ret;
	machine_unlock();
	return ret;
}

static int last_sync(struct source *s, GError **err)
{
	s64 start = monotonic_ns();
	int ret;

	STAT_SET(s->actual.stop_ns, start - s->stop_ns);
	s->q.unlimited = true;
	ret = ram_source_sync(&s->ram, err);
	STAT_SET(s->actual.sync_ns, monotonic_ns() - start);
	return ret;
}

static int send_ram(struct source *s, GError **err)
{
	s64 start = monotonic_ns();
	int ret = 0;

	if (s->settings.send_switchover_start)
		ret = source_command(s, CMD_SWITCHOVER_START, NULL, 0, err);
	if (!ret)
		ret = ram_source_complete(&s->ram, err);
	if (!ret && s->settings.caps[CAP_VERIFY])
		ret = source_verify(s, err);
	STAT_SET(s->actual.ram_ns, monotonic_ns() - start);
	return ret;
}

/* From the end of the stream on the receiver may run: the guest must not run here again because
 * of a late cancel. */
static int commit(struct source *s, GError **err)
{
	bool cancelled;

	g_mutex_lock(&s->m->lock);
	cancelled = __atomic_load_n(&s->cancel_requested, __ATOMIC_ACQUIRE);
	s->committed = !cancelled;
	g_mutex_unlock(&s->m->lock);
	if (!cancelled)
		return 0;
	error_set(err, "cancelled");
	return -ECANCELED;
}

/* Every section into memory; nothing blocks while the lock is held. */
static int save_devices(struct source *s, struct state_writer *w, GString *json, GError **err)
{
	struct state_registry *reg = s->m->states;
	s64 start = monotonic_ns();
	int ret = 0;

	g_string_append_printf(json, "{\"page_size\":%" PRIu64 ",\"devices\":[", DIRTY_PAGE_SIZE);
	machine_lock();
	for (guint i = 0; i < reg->entries->len && !ret; i++)
		ret = state_save_entry(w, g_ptr_array_index(reg->entries, i),
				       s->settings.send_section_footer, json, err);
	machine_unlock();
	g_string_append(json, "]}");
	state_put_u8(w, ELEM_EOF);
	STAT_SET(s->actual.device_ns, monotonic_ns() - start);
	return ret;
}

static int send_devices(struct source *s, const struct state_writer *w, GError **err)
{
	s64 start = monotonic_ns();
	int ret = commit(s, err);

	if (!ret)
		ret = source_write(s, w->buf->data, w->buf->len, err);
	STAT_SET(s->actual.device_ns, s->actual.device_ns + monotonic_ns() - start);
	return ret;
}

static int send_description(struct source *s, const GString *json, GError **err)
{
	u32 be = GUINT32_TO_BE((u32)json->len);
	u8 type = ELEM_VMDESCRIPTION;
	int ret = send_queue_put(&s->q, &type, 1, err);

	if (!ret)
		ret = send_queue_put(&s->q, &be, sizeof(be), err);
	if (!ret)
		ret = send_queue_put(&s->q, json->str, json->len, err);
	return ret ? ret : send_queue_flush(&s->q, err);
}

/* The receiver's verdict, or that everything has been written. */
static int wait_for_receiver(struct source *s, GError **err)
{
	if (!s->rp.open && !s->ch->is_socket)
		return channel_close(s->ch, err);
	if (!s->rp.open) {
		channel_end_write(s->ch);
		/* A receiver that gave up leaves bytes unread, and the system tells us. */
		if (channel_drain(s->ch, CLOSE_TIMEOUT_MS) != -ECONNRESET)
			return channel_close(s->ch, err);
		error_set(err, "the receiver closed the connection before it had read everything; "
			       "its own log says why");
		return -ECONNRESET;
	}
	/* The channel stays open both ways until the result is here: what tunnels it may not know
	 * how to close one direction alone. */
	return_path_wait(&s->rp, &s->rp.shut, -1);
	if (return_path_error(&s->rp, err))
		return -EPROTO;
	/* Whoever answers pings also reports its result. */
	if (s->rp.shut || !s->rp.pong)
		return 0;
	error_set(err, "the receiver closed the connection without a result; its own log says why");
	return -EPIPE;
}

/* Stop, and everything over to the receiver. @sent: out: when the last device state was written. */
static int hand_over(struct source *s, struct state_writer *w, GString *json, s64 *sent,
		     GError **err)
{
	int ret;

	stop_vm(s);
	ret = pause_before(s, err);
	if (!ret)
		ret = release_disks(s, err);
	if (!ret)
		ret = last_sync(s, err);
	/* Saving may write guest memory, so it comes before the last pages. */
	if (!ret)
		ret = save_devices(s, w, json, err);
	if (!ret)
		ret = send_ram(s, err);
	if (!ret)
		ret = send_devices(s, w, err);
	*sent = monotonic_ns();
	if (!ret)
		ret = send_description(s, json, err);
	return ret ? ret : wait_for_receiver(s, err);
}

int source_switchover(struct source *s, GError **err)
{
	g_autoptr(GString) json = g_string_sized_new(128 * KiB);
	struct state_writer w;
	s64 sent;
	int ret;

	state_writer_init(&w);
	ret = hand_over(s, &w, json, &sent, err);
	state_writer_finish(&w);
	if (ret)
		return ret;

	if (s->rp.shut)
		STAT_SET(s->actual.resume_ns, MAX(s->rp.shut_ns - sent, 0));
	STAT_SET(s->downtime_ns, (s->rp.shut ? MAX(s->rp.shut_ns, sent) : sent) - s->stop_ns);
	STAT_SET(s->downtime_bytes, STAT_GET(s->ch->written) - STAT_GET(s->precopy_bytes));
	machine_lock();
	if (vm_run_state(s->m->vm) == RUN_STATE_FINISH_MIGRATE)
		vm_set_run_state(s->m->vm, RUN_STATE_POSTMIGRATE);
	s->vm_stopped = false;
	machine_unlock();
	return 0;
}
