/*
 * migration/vm-states.c - what belongs to no device: configuration, clock, run state.
 *
 * Layouts as on the wire of QEMU 7.2 and 11.1: "configuration" 1, "timer" 2, "globalstate" 1.
 */
#include "migration/internal.h"

#include "accel/runstate.h"
#include "util/error.h"

#include <stdio.h>

/* ---- configuration ---- */

static bool page_bits_needed(void *obj)
{
	return ((struct configuration *)obj)->page_bits;
}

static bool caps_needed(void *obj)
{
	return ((struct configuration *)obj)->ncaps;
}

static bool uuid_needed(void *obj)
{
	return ((struct configuration *)obj)->has_uuid;
}

static int uuid_loaded(void *obj, int version, GError **err)
{
	((struct configuration *)obj)->has_uuid = true;
	return 0;
}

static int cap_save(struct state_writer *w, void *field, size_t size, GError **err)
{
	state_put_cstr8(w, (char *)field + 1);
	return 0;
}

static int cap_load(struct state_reader *r, void *field, size_t size, int version, GError **err)
{
	state_get_cstr8(r, (char *)field + 1);
	return 0;
}

static const struct state_codec cap_codec = { .name = "capability",
					      .save = cap_save,
					      .load = cap_load };

static const struct state_field page_bits_fields[] = { FIELD_U32(struct configuration, page_bits),
						       FIELD_END };
static const struct state_field caps_fields[] = {
	FIELD_U32(struct configuration, ncaps),
	{ .name = "capabilities",
	  .type = STATE_CUSTOM,
	  .offset = offsetof(struct configuration, caps),
	  .size = sizeof(((struct configuration *)0)->caps[0]),
	  .count = ARRAY_SIZE(((struct configuration *)0)->caps),
	  .count_offset = offsetof(struct configuration, ncaps),
	  .count_size = 4,
	  .codec = &cap_codec },
	FIELD_END
};
static const struct state_field uuid_fields[] = { FIELD_BUFFER(struct configuration, uuid),
						  FIELD_END };

static const struct state_desc page_bits_state = {
	.name = "configuration/target-page-bits",
	.version = 1,
	.min_version = 1,
	.fields = page_bits_fields,
	.needed = page_bits_needed,
};
static const struct state_desc caps_state = {
	.name = "configuration/capabilities",
	.version = 1,
	.min_version = 1,
	.fields = caps_fields,
	.needed = caps_needed,
};
static const struct state_desc uuid_state = {
	.name = "configuration/uuid",
	.version = 1,
	.min_version = 1,
	.fields = uuid_fields,
	.needed = uuid_needed,
	.post_load = uuid_loaded,
};
static const struct state_desc *const configuration_subsections[] = { &page_bits_state, &caps_state,
								      &uuid_state, NULL };
static const struct state_field configuration_fields[] = {
	FIELD_U32(struct configuration, name_len),
	{ .name = "name",
	  .type = STATE_U8,
	  .offset = offsetof(struct configuration, name),
	  .size = 1,
	  .count = 255,
	  .count_offset = offsetof(struct configuration, name_len),
	  .count_size = 4 },
	FIELD_END
};
const struct state_desc configuration_state = {
	.name = "configuration",
	.version = 1,
	.min_version = 1,
	.fields = configuration_fields,
	.subsections = configuration_subsections,
};

void configuration_fill(struct configuration *c, struct migration *m, const struct settings *s)
{
	*c = (struct configuration){ .page_bits = m->target_page_bits };
	c->name_len = MIN(strlen(m->machine_name), sizeof(c->name) - 1);
	memcpy(c->name, m->machine_name, c->name_len);
	if (s->caps[CAP_IGNORE_SHARED]) {
		strcpy(c->caps[0].name, "x-ignore-shared");
		c->ncaps = 1;
	}
	c->has_uuid = s->caps[CAP_VALIDATE_UUID] && m->has_uuid;
	memcpy(c->uuid, m->uuid, sizeof(c->uuid));
}

static int check_uuid(const struct configuration *c, struct migration *m, GError **err)
{
	char theirs[37], ours[37];
	struct {
		const u8 *uuid;
		char *text;
	} both[] = { { c->uuid, theirs }, { m->uuid, ours } };

	if (!c->has_uuid || !m->has_uuid || !memcmp(c->uuid, m->uuid, sizeof(m->uuid)))
		return 0;
	for (unsigned i = 0; i < 2; i++) {
		char *p = both[i].text;

		for (unsigned k = 0; k < 16; k++)
			p += sprintf(p, "%s%02x", k == 4 || k == 6 || k == 8 || k == 10 ? "-" : "",
				     both[i].uuid[k]);
	}
	error_set(err, "the sender's machine has UUID %s, this one %s", theirs, ours);
	return -EINVAL;
}

int configuration_check(const struct configuration *c, struct migration *m,
			const struct settings *s, GError **err)
{
	bool ignore_shared = false;

	if (strcmp(c->name, m->machine_name)) {
		error_set(err, "the sender's machine type is '%s', this one's is '%s'", c->name,
			  m->machine_name);
		return -EINVAL;
	}
	if (c->page_bits && m->target_page_bits && c->page_bits != m->target_page_bits) {
		error_set(err, "the sender's target page size is 2^%u, this machine's is 2^%u",
			  c->page_bits, m->target_page_bits);
		return -EINVAL;
	}
	for (u32 i = 0; i < c->ncaps; i++) {
		if (!g_str_equal(c->caps[i].name, "x-ignore-shared")) {
			error_set(err,
				  "the sender uses capability '%s', which is not supported here",
				  c->caps[i].name);
			return -EINVAL;
		}
		ignore_shared = true;
	}
	if (ignore_shared != s->caps[CAP_IGNORE_SHARED]) {
		error_set(err, "capability 'x-ignore-shared' is %s at the sender, but %s here",
			  ignore_shared ? "on" : "off", ignore_shared ? "off" : "on");
		return -EINVAL;
	}
	return check_uuid(c, m, err);
}

/* ---- globalstate ---- */

#define GLOBAL_STATE_UNUSED 66u

void global_state_store(struct migration *m)
{
	struct global_state *g = &m->global;
	const char *name = run_state_name(vm_run_state(m->vm));

	memset(g->runstate, 0, sizeof(g->runstate));
	g_strlcpy(g->runstate, name, sizeof(g->runstate));
	g->size = strlen(name) + 1;
	g->has_vm_was_suspended = true;
	g->vm_was_suspended = vm_run_state(m->vm) == RUN_STATE_SUSPENDED;
}

static bool global_state_needed(void *obj)
{
	struct migration *m = container_of(obj, struct migration, global);
	struct settings s;

	migration_settings(m, &s);
	/* A receiver that gets none runs: say so when that would be wrong. */
	return s.store_global_state || strcmp(m->global.runstate, "running");
}

static int global_state_loaded(void *obj, int version, GError **err)
{
	struct global_state *g = obj;

	g->runstate[sizeof(g->runstate) - 1] = 0;
	if (run_state_from_name(g->runstate) < 0) {
		error_set(err, "unknown run state '%s'", g->runstate);
		return -EINVAL;
	}
	g->received = true;
	return 0;
}

static const struct state_field global_state_fields[] = {
	FIELD_U32(struct global_state, size),
	FIELD_BUFFER(struct global_state, runstate),
	FIELD_BOOL(struct global_state, has_vm_was_suspended),
	FIELD_BOOL(struct global_state, vm_was_suspended),
	FIELD_UNUSED(GLOBAL_STATE_UNUSED),
	FIELD_END
};
static const struct state_desc global_state = {
	.name = "globalstate",
	.version = 1,
	.min_version = 1,
	.priority = STATE_PRIO_LAST,
	.fields = global_state_fields,
	.needed = global_state_needed,
	.post_load = global_state_loaded,
};

/* ---- timer ---- */

static void clock_pre_save(void *obj)
{
	((struct clock_state *)obj)->cpu_clock_offset = clock_ns(CLOCK_TYPE_VIRTUAL);
}

static int clock_post_load(void *obj, int version, GError **err)
{
	clock_virtual_set_ns(((struct clock_state *)obj)->cpu_clock_offset);
	return 0;
}

static const struct state_field clock_fields[] = { FIELD_S64(struct clock_state, cpu_ticks_offset),
						   FIELD_UNUSED(8),
						   FIELD_S64(struct clock_state, cpu_clock_offset),
						   FIELD_END };
static const struct state_desc clock_state = {
	.name = "timer",
	.version = 2,
	.min_version = 2,
	.fields = clock_fields,
	.pre_save = clock_pre_save,
	.post_load = clock_post_load,
};

void vm_states_register(struct migration *m)
{
	state_register(m->states, "timer", -1, &clock_state, &m->clock);
	state_register(m->states, "globalstate", -1, &global_state, &m->global);
}

void vm_states_unregister(struct migration *m)
{
	state_unregister(m->states, &clock_state, &m->clock);
	state_unregister(m->states, &global_state, &m->global);
}
