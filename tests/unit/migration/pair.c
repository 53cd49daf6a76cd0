/* tests/unit/migration/pair.c - machines in this process that migrate to each other. */
#include "pair.h"

#include "util/error.h"
#include "util/lock.h"
#include "util/main-loop.h"

#include <unistd.h>

#define DEADLINE_US (20 * G_USEC_PER_SEC)

static bool extra_needed(void *obj)
{
	return ((struct fake_device *)obj)->has_extra;
}

static int extra_loaded(void *obj, int version, GError **err)
{
	((struct fake_device *)obj)->has_extra = true;
	return 0;
}

static const struct state_field extra_fields[] = { FIELD_U32(struct fake_device, extra),
						   FIELD_END };
static const struct state_desc extra_state = {
	.name = "fake/extra",
	.version = 1,
	.min_version = 1,
	.fields = extra_fields,
	.needed = extra_needed,
	.post_load = extra_loaded,
};
static const struct state_desc *const fake_subsections[] = { &extra_state, NULL };

static int fake_loaded(void *obj, int version, GError **err)
{
	struct fake_device *d = obj;

	d->loads++;
	if (!d->refuse)
		return 0;
	error_set(err, "wide %" PRIu64 " is not to this device's taste", d->wide);
	return -EINVAL;
}

static const struct state_field fake_fields[] = { FIELD_U32(struct fake_device, id),
						  FIELD_U64(struct fake_device, wide),
						  FIELD_BOOL(struct fake_device, flag),
						  FIELD_BUFFER(struct fake_device, bytes),
						  FIELD_ARRAY(struct fake_device, words, U16),
						  FIELD_U32(struct fake_device, count),
						  { .name = "counted",
						    .type = STATE_U8,
						    .offset = offsetof(struct fake_device, counted),
						    .size = 1,
						    .count = 8,
						    .count_offset =
							    offsetof(struct fake_device, count),
						    .count_size = 4 },
						  FIELD_END };
static const struct state_desc fake_state = {
	.name = "fake",
	.version = 2,
	.min_version = 1,
	.fields = fake_fields,
	.subsections = fake_subsections,
	.post_load = fake_loaded,
};

static void status_event(void *opaque, const char *status)
{
	struct fake_vm *v = opaque;

	g_mutex_lock(&v->writer_lock);
	g_string_append_printf(v->events, "%s ", status);
	g_mutex_unlock(&v->writer_lock);
}

static void pass_event(void *opaque, u64 pass)
{
	((struct fake_vm *)opaque)->passes = pass;
}

static void incoming_failed(void *opaque, const GError *error, bool exit)
{
	struct fake_vm *v = opaque;

	g_free(v->incoming_error);
	v->incoming_error = g_strdup(error->message);
}

/* A stopped VM's guest does not write: wait for it to park. */
static void run_changed(struct notifier *n, void *data)
{
	struct fake_vm *v = container_of(n, struct fake_vm, run_notifier);
	const struct run_state_change *c = data;

	g_mutex_lock(&v->writer_lock);
	v->writer_run = c->running;
	g_cond_broadcast(&v->writer_cond);
	while (v->writer && !c->running && !v->writer_parked)
		g_cond_wait(&v->writer_cond, &v->writer_lock);
	g_mutex_unlock(&v->writer_lock);
}

static gpointer writer_thread(gpointer data)
{
	struct fake_vm *v = data;
	u64 page = 0;

	for (;;) {
		g_mutex_lock(&v->writer_lock);
		while (!v->writer_run && !v->writer_quit) {
			v->writer_parked = true;
			g_cond_broadcast(&v->writer_cond);
			g_cond_wait(&v->writer_cond, &v->writer_lock);
		}
		v->writer_parked = false;
		if (v->writer_quit) {
			g_mutex_unlock(&v->writer_lock);
			return NULL;
		}
		g_mutex_unlock(&v->writer_lock);
		for (unsigned i = 0; i < 64; i++, page = (page + 7) % v->window_pages)
			fake_log_write(&v->log, v->ram, (page << DIRTY_PAGE_BITS) + page % 500 * 8,
				       ++v->writes);
		if (v->pace_us)
			g_usleep(v->pace_us);
	}
}

static struct ramblock *add_block(struct vm *vm, const char *id, u64 size, u32 flags)
{
	struct ram_spec spec = { .id = id, .size = size, .flags = flags, .fd = -1 };
	GError *err = NULL;
	struct ramblock *b = ram_create(vm->ram, &spec, &err);

	g_assert_no_error(err);
	return b;
}

struct fake_vm *fake_vm_create(const struct fake_vm_spec *spec)
{
	static const struct vm_owner owner;
	static const struct fake_vm_spec plain;
	struct migration_machine machine = { .name = "fake-1.0" };
	struct fake_vm *v = g_new0(struct fake_vm, 1);
	struct migration_callbacks cb = {
		.status = status_event,
		.pass = pass_event,
		.incoming_failed = incoming_failed,
		.opaque = v,
	};

	if (!spec)
		spec = &plain;
	if (spec->machine)
		machine.name = spec->machine;
	g_mutex_init(&v->writer_lock);
	g_cond_init(&v->writer_cond);
	v->events = g_string_new(NULL);
	v->vm = vm_create(false, &owner);
	v->ram = add_block(v->vm, "fake.ram", spec->ram_bytes ? spec->ram_bytes : 8 * MiB,
			   RAM_MIGRATABLE);
	v->rom = add_block(v->vm, "/rom@tables", 64 * KiB, RAM_MIGRATABLE);
	fake_log_init(&v->log, v->vm->ram, spec->initially_set);
	v->vm->tracker = dirty_tracker_create(v->vm->ram, &fake_log_ops, &v->log);
	v->states = state_registry_create();
	if (!spec->no_device)
		state_register(v->states, "0000:00:01.0/fake", -1, &fake_state, &v->dev);
	v->m = migration_create(v->vm, v->states, &machine, &cb);
	v->run_notifier.fn = run_changed;
	notifier_add(&v->vm->state_notifiers, &v->run_notifier);
	return v;
}

void fake_vm_destroy(struct fake_vm *v)
{
	g_mutex_lock(&v->writer_lock);
	v->writer_quit = true;
	g_cond_broadcast(&v->writer_cond);
	g_mutex_unlock(&v->writer_lock);
	if (v->writer)
		g_thread_join(v->writer);
	v->writer = NULL;
	/* Machines of one process share the virtual clock. */
	vm_stop(v->vm, RUN_STATE_SHUTDOWN);
	migration_destroy(v->m);
	pump_ms(1); /* calls of its threads to the main loop */
	state_registry_destroy(v->states);
	notifier_remove(&v->vm->state_notifiers, &v->run_notifier);
	fake_log_finish(&v->log);
	vm_destroy(v->vm);
	g_string_free(v->events, TRUE);
	g_free(v->incoming_error);
	g_mutex_clear(&v->writer_lock);
	g_cond_clear(&v->writer_cond);
	g_free(v);
}

void fake_vm_fill(struct fake_vm *v, u64 n, u64 seed)
{
	u64 *words = (u64 *)v->ram->host, x = seed;

	for (u64 i = 0; i < n * DIRTY_PAGE_SIZE / 8; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		words[i] = x;
	}
	memset(v->rom->host, 0xe0 + (seed & 15), v->rom->used_size / 2);
}

void fake_vm_write(struct fake_vm *v, u64 pages, u64 pace_us)
{
	v->window_pages = pages;
	v->pace_us = pace_us;
	v->writer_run = vm_running(v->vm);
	v->writer = g_thread_new("writer", writer_thread, v);
}

bool fake_vm_equal(const struct fake_vm *a, const struct fake_vm *b)
{
	return a->ram->used_size == b->ram->used_size &&
	       !memcmp(a->ram->host, b->ram->host, a->ram->used_size) &&
	       !memcmp(a->rom->host, b->rom->host, a->rom->used_size);
}

void fake_vm_cap(struct fake_vm *v, const char *name, bool on)
{
	g_autoptr(JsonArray) list = json_array_new();
	JsonObject *o = json_object_new();
	GError *err = NULL;

	json_object_set_string_member(o, "capability", name);
	json_object_set_boolean_member(o, "state", on);
	json_array_add_object_element(list, o);
	migration_set_capabilities(v->m, list, &err);
	g_assert_no_error(err);
}

void fake_vm_param(struct fake_vm *v, const char *name, s64 value)
{
	g_autoptr(JsonObject) o = json_object_new();
	GError *err = NULL;

	json_object_set_int_member(o, name, value);
	migration_set_parameters(v->m, o, &err);
	g_assert_no_error(err);
}

static gboolean tick(gpointer data)
{
	return G_SOURCE_CONTINUE;
}

static bool reached(struct fake_vm *v, const char *status)
{
	g_autoptr(JsonObject) o = migration_query(v->m);

	return !g_strcmp0(json_object_get_string_member_with_default(o, "status", "none"), status);
}

static void pump(struct fake_vm *v, const char *status, s64 us)
{
	s64 end = g_get_monotonic_time() + us;
	guint id = g_timeout_add(2, tick, NULL);

	while (g_get_monotonic_time() < end && !(v && reached(v, status)))
		main_loop_iterate(true);
	g_source_remove(id);
}

void pump_ms(unsigned ms)
{
	pump(NULL, NULL, ms * 1000);
}

void pump_until(struct fake_vm *v, const char *status)
{
	pump(v, status, DEADLINE_US);
	if (!reached(v, status)) {
		g_autofree char *error = query_error(v);
		g_autoptr(JsonObject) o = migration_query(v->m);

		g_error("status is %s, not %s: %s",
			json_object_get_string_member_with_default(o, "status", "none"), status,
			error ? error : "");
	}
}

void pump_incoming(struct fake_vm *v, const char *status)
{
	pump_until(v, status);
}

char *fake_vm_listen(struct fake_vm *v)
{
	static unsigned serial;
	char *uri =
		g_strdup_printf("unix:%s/tidemark-test-%d-%u", g_get_tmp_dir(), getpid(), serial++);
	GError *err = NULL;

	migration_incoming_prepare(v->m, "defer", true, &err);
	g_assert_no_error(err);
	migration_incoming(v->m, uri, NULL, false, &err);
	g_assert_no_error(err);
	return uri;
}

s64 query_int(struct fake_vm *v, const char *object, const char *member)
{
	g_autoptr(JsonObject) o = migration_query(v->m);
	JsonObject *in = !object ? o
			 : json_object_has_member(o, object)
				 ? json_object_get_object_member(o, object)
				 : NULL;

	return in ? json_object_get_int_member_with_default(in, member, -1) : -1;
}

char *query_error(struct fake_vm *v)
{
	g_autoptr(JsonObject) o = migration_query(v->m);

	return g_strdup(json_object_get_string_member_with_default(o, "error-desc", NULL));
}

void fake_vm_set_device(struct fake_vm *v)
{
	v->dev = (struct fake_device){
		.id = 0x11223344,
		.wide = 0x5566778899aabbccull,
		.flag = true,
		.words = { 1, 2, 3 },
		.count = 5,
		.counted = { 9, 8, 7, 6, 5 },
		.extra = 77,
		.has_extra = true,
	};
	memset(v->dev.bytes, 0xa5, sizeof(v->dev.bytes));
}

void fake_vm_check_device(const struct fake_vm *a, const struct fake_vm *b)
{
	g_assert_cmpuint(b->dev.id, ==, a->dev.id);
	g_assert_cmpuint(b->dev.wide, ==, a->dev.wide);
	g_assert_true(b->dev.flag == a->dev.flag);
	g_assert_cmpmem(b->dev.bytes, 16, a->dev.bytes, 16);
	g_assert_cmpmem(b->dev.words, 6, a->dev.words, 6);
	g_assert_cmpmem(b->dev.counted, 8, a->dev.counted, 8);
	g_assert_cmpuint(b->dev.extra, ==, a->dev.extra);
	g_assert_cmpuint(b->dev.loads, ==, 1);
}

void fake_vm_migrate(struct fake_vm *v, const char *uri)
{
	GError *err = NULL;

	migration_start(v->m, uri, NULL, false, &err);
	g_assert_no_error(err);
}

void expect_failure(int ret, GError **err, const char *text)
{
	g_assert_cmpint(ret, <, 0);
	if (!strstr((*err)->message, text))
		g_error("'%s' is not in '%s'", text, (*err)->message);
	g_clear_error(err);
}
