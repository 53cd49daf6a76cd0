/*
 * migration/migration.c - the migration object: commands, status, settings.
 */
#include "migration/migration.h"

#include "migration/dirty-rate.h"
#include "migration/incoming.h"
#include "migration/source.h"
#include "util/error.h"
#include "util/log.h"
#include "util/lock.h"
#include "util/main-loop.h"

static const char *const status_names[] = {
	[STATUS_NONE] = "none",
	[STATUS_SETUP] = "setup",
	[STATUS_CANCELLING] = "cancelling",
	[STATUS_CANCELLED] = "cancelled",
	[STATUS_ACTIVE] = "active",
	[STATUS_COMPLETED] = "completed",
	[STATUS_FAILED] = "failed",
	[STATUS_PRE_SWITCHOVER] = "pre-switchover",
	[STATUS_DEVICE] = "device",
};

const char *migration_status_name(enum migration_status s)
{
	return status_names[s];
}

struct migration *migration_create(struct vm *vm, struct state_registry *states,
				   const struct migration_machine *machine,
				   const struct migration_callbacks *callbacks)
{
	struct migration *m = g_new0(struct migration, 1);

	g_atomic_ref_count_init(&m->refs);
	m->vm = vm;
	m->states = states;
	m->machine_name = g_strdup(machine->name);
	m->target_page_bits = machine->target_page_bits;
	m->has_uuid = machine->uuid != NULL;
	if (machine->uuid)
		memcpy(m->uuid, machine->uuid, sizeof(m->uuid));
	if (callbacks)
		m->cb = *callbacks;
	g_mutex_init(&m->lock);
	g_cond_init(&m->changed);
	settings_init(&m->settings);
	m->blockers = g_ptr_array_new_with_free_func(g_free);
	m->rate = dirty_rate_create(vm);
	vm_states_register(m);
	return m;
}

/* Frees an ended migration, or ends one. */
static void join_source(struct migration *m)
{
	struct source *s = m->source;

	if (!s)
		return;
	m->source = NULL;
	machine_unlock();
	source_join(s);
	machine_lock();
}

static void unref(struct migration *m)
{
	if (!g_atomic_ref_count_dec(&m->refs))
		return;
	g_ptr_array_unref(m->blockers);
	g_mutex_clear(&m->lock);
	g_cond_clear(&m->changed);
	g_free(m->machine_name);
	g_free(m->error_desc);
	g_free(m->incoming_error);
	g_free(m);
}

void migration_destroy(struct migration *m)
{
	if (!m)
		return;
	if (m->source)
		source_cancel(m->source);
	join_source(m);
	machine_unlock();
	incoming_destroy(m->incoming);
	dirty_rate_destroy(m->rate);
	machine_lock();
	vm_states_unregister(m);
	m->vm = NULL;
	unref(m);
}

struct call {
	struct migration *m;
	void (*fn)(struct migration *m);
};

static void run_call(void *opaque)
{
	struct call *c = opaque;

	if (c->m->vm)
		c->fn(c->m);
	unref(c->m);
	g_free(c);
}

void migration_call(struct migration *m, void (*fn)(struct migration *m))
{
	struct call *c = g_new(struct call, 1);

	*c = (struct call){ m, fn };
	g_atomic_ref_count_inc(&m->refs);
	main_loop_call(run_call, c);
}

/* ---- status ---- */

static void tell_status(struct migration *m, enum migration_status s, bool events)
{
	if (events && m->cb.status)
		m->cb.status(m->cb.opaque, status_names[s]);
}

bool migration_set_status(struct migration *m, enum migration_status from, enum migration_status to)
{
	bool changed, events;

	g_mutex_lock(&m->lock);
	changed = m->status == from;
	events = m->settings.caps[CAP_EVENTS];
	if (changed)
		__atomic_store_n(&m->status, to, __ATOMIC_RELEASE);
	g_cond_broadcast(&m->changed);
	g_mutex_unlock(&m->lock);
	if (changed)
		tell_status(m, to, events);
	return changed;
}

void migration_set_incoming_status(struct migration *m, enum migration_status to)
{
	bool events;

	g_mutex_lock(&m->lock);
	__atomic_store_n(&m->incoming_status, to, __ATOMIC_RELEASE);
	events = m->settings.caps[CAP_EVENTS];
	g_mutex_unlock(&m->lock);
	tell_status(m, to, events);
}

bool migration_active(const struct migration *m)
{
	switch (migration_status_now(m)) {
	case STATUS_SETUP:
	case STATUS_ACTIVE:
	case STATUS_PRE_SWITCHOVER:
	case STATUS_DEVICE:
	case STATUS_CANCELLING: return true;
	default: return false;
	}
}

const char *migration_status(const struct migration *m)
{
	return status_names[migration_status_now(m)];
}

/* ---- commands ---- */

static int check_start(struct migration *m, const char *uri, JsonArray *channels, bool resume,
		       GError **err)
{
	if (resume) {
		error_set(err, "nothing to resume: 'resume' needs a post-copy migration in status "
			       "postcopy-paused");
		return -EINVAL;
	}
	if (!uri == !channels) {
		error_set(err, "exactly one of 'uri' and 'channels' is needed");
		return -EINVAL;
	}
	if (migration_incoming_waiting(m)) {
		error_set(err, "the machine is waiting for an incoming migration");
		return -EBUSY;
	}
	if (migration_active(m)) {
		error_set(err, "a migration is in progress already (status %s)",
			  migration_status(m));
		return -EBUSY;
	}
	if (vm_run_state(m->vm) == RUN_STATE_POSTMIGRATE) {
		error_set(err, "the machine is in state postmigrate: it runs elsewhere since the "
			       "previous migration, unless 'cont' says otherwise");
		return -EPERM;
	}
	if (m->blockers->len) {
		error_set(err, "migration is blocked: %s",
			  (char *)g_ptr_array_index(m->blockers, 0));
		return -EPERM;
	}
	return 0;
}

int migration_start(struct migration *m, const char *uri, JsonArray *channels, bool resume,
		    GError **err)
{
	int ret = check_start(m, uri, channels, resume, err);
	struct migration_address *a;
	struct channel *ch;
	struct source *s, *old = m->source;

	if (ret)
		return ret;
	a = uri ? migration_address_parse(uri, err)
		: migration_address_from_channels(channels, err);
	if (!a)
		return -EINVAL;
	ch = channel_create();
	ret = channel_open(ch, a, true, err);
	if (ret < 0) {
		channel_destroy(ch);
		migration_address_free(a);
		return ret;
	}
	g_mutex_lock(&m->lock);
	g_clear_pointer(&m->error_desc, g_free);
	g_mutex_unlock(&m->lock);
	migration_set_status(m, migration_status_now(m), STATUS_SETUP);
	s = source_start(m, a, ch);
	m->source = s;
	if (old) /* its thread has set the final status, and ends without any lock */
		source_join(old);
	return 0;
}

void migration_cancel(struct migration *m)
{
	if (migration_active(m) && migration_status_now(m) != STATUS_CANCELLING)
		source_cancel(m->source);
}

int migration_continue(struct migration *m, const char *state, GError **err)
{
	enum migration_status now = migration_status_now(m);

	if (strcmp(state, migration_status_name(now)) || now != STATUS_PRE_SWITCHOVER) {
		error_set(err,
			  "migrate-continue '%s': the migration is in state '%s', and only "
			  "pre-switchover can be continued",
			  state, migration_status_name(now));
		return -EINVAL;
	}
	g_mutex_lock(&m->lock);
	m->source->continue_requested = true;
	g_cond_broadcast(&m->changed);
	g_mutex_unlock(&m->lock);
	return 0;
}

int migration_pause(struct migration *m, GError **err)
{
	error_set(err,
		  "migrate-pause needs a migration in status postcopy-active; the status is '%s'",
		  migration_status(m));
	return -EINVAL;
}

int migration_recover(struct migration *m, const char *uri, GError **err)
{
	error_set(err,
		  "migrate-recover to '%s' needs an incoming post-copy migration in status "
		  "postcopy-paused",
		  uri);
	return -EINVAL;
}

int migration_start_postcopy(struct migration *m, GError **err)
{
	error_set(err, "migrate-start-postcopy needs capability 'postcopy-ram' switched on before "
		       "the migration, and that is not supported");
	return -EINVAL;
}

/* ---- settings ---- */

void migration_settings(struct migration *m, struct settings *out)
{
	g_mutex_lock(&m->lock);
	*out = m->settings;
	g_mutex_unlock(&m->lock);
}

static void set_settings(struct migration *m, const struct settings *s)
{
	g_mutex_lock(&m->lock);
	m->settings = *s;
	g_cond_broadcast(&m->changed); /* a sender may sleep on an old limit */
	g_mutex_unlock(&m->lock);
}

int migration_set_capabilities(struct migration *m, JsonArray *capabilities, GError **err)
{
	struct settings s;
	int ret = 0;

	if (migration_active(m) ||
	    __atomic_load_n(&m->incoming_status, __ATOMIC_ACQUIRE) == STATUS_ACTIVE) {
		error_set(err, "capabilities cannot change while a migration is in progress");
		return -EBUSY;
	}
	migration_settings(m, &s);
	for (guint i = 0; i < json_array_get_length(capabilities) && !ret; i++) {
		JsonObject *o = json_array_get_object_element(capabilities, i);

		ret = settings_set_capability(
			&s, json_object_get_string_member_with_default(o, "capability", ""),
			json_object_get_boolean_member_with_default(o, "state", FALSE), err);
	}
	if (!ret)
		ret = settings_check_capabilities(&s, err);
	if (!ret)
		set_settings(m, &s);
	return ret;
}

JsonArray *migration_capabilities(const struct migration *m)
{
	return settings_capabilities(&m->settings);
}

int migration_set_parameters(struct migration *m, JsonObject *parameters, GError **err)
{
	struct settings s;
	int ret;

	migration_settings(m, &s);
	ret = settings_set_parameters(&s, parameters, err);
	if (!ret)
		set_settings(m, &s);
	return ret;
}

JsonObject *migration_parameters(struct migration *m)
{
	return settings_parameters(&m->settings);
}

int migration_set_global(struct migration *m, const char *name, const char *value, GError **err)
{
	return settings_set_global(&m->settings, name, value, err);
}

int migration_add_blocker(struct migration *m, const char *reason, GError **err)
{
	if (migration_active(m)) {
		error_set(err, "a migration is running: it cannot be blocked by '%s'", reason);
		return -EBUSY;
	}
	g_ptr_array_add(m->blockers, g_strdup(reason));
	return 0;
}

void migration_del_blocker(struct migration *m, const char *reason)
{
	guint i;

	if (g_ptr_array_find_with_equal_func(m->blockers, reason, g_str_equal, &i))
		g_ptr_array_remove_index(m->blockers, i);
}

bool migration_acquire_disks(struct migration *m)
{
	g_autoptr(GError) err = NULL;

	if (!m->cb.acquire_disks || !m->cb.acquire_disks(m->cb.opaque, &err))
		return true;
	log_warn("the guest stays stopped: %s", err->message);
	return false;
}
