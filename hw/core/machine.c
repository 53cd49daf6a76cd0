/* hw/core/machine.c - life of a machine: create, options, init, reset, destroy. */
#include "hw/core/core.h"

#include "accel/vcpu.h"
#include "hw/machine.h"
#include "util/error.h"

static const struct property common_props[] = {
	PROP(struct machine, usb, "usb", BOOL, "off", "give the machine a USB controller"),
	PROP(struct machine, graphics, "graphics", BOOL, "on",
	     "off: no display devices by default"),
	PROP(struct machine, dump_guest_core, "dump-guest-core", BOOL, "on",
	     "include guest memory in core dumps of the process"),
	PROP(struct machine, mem_merge, "mem-merge", BOOL, "on",
	     "let the host merge equal pages of guest memory"),
	PROP_END
};

const struct property *machine_common_props(void)
{
	return common_props;
}

struct machine *machine_create(const struct hw_target *target, const struct machine_type *type,
			       struct vm *vm, struct state_registry *registry,
			       const struct machine_host *host)
{
	struct machine *m = g_malloc0(type->instance_size);

	assert(type->instance_size >= sizeof(struct machine));
	assert(!type->has_io || vm->io);
	m->type = type;
	m->target = target;
	m->host = host;
	m->vm = vm;
	m->registry = registry;
	m->globals = g_ptr_array_new();
	m->irq_sources = irq_sources_create();
	m->blobs = g_ptr_array_new();
	m->entries = g_array_new(FALSE, FALSE, sizeof(struct machine_entry));
	m->opt.rtc_clock = CLOCK_TYPE_HOST;
	properties_init(m, common_props);
	properties_init(m, type->props);
	return m;
}

const char *machine_cpu_model(const struct machine *m)
{
	return m->opt.cpu_model ?: m->type->default_cpu ?: "";
}

char *machine_cpu_type(const struct machine *m)
{
	const char *model = machine_cpu_model(m);

	return g_strdup_printf("%.*s-%s", (int)strcspn(model, ","), model, m->target->cpu_type);
}

static void fw_cfg_option_free(void *p)
{
	struct fw_cfg_option *o = p;

	g_free(o->name);
	g_bytes_unref(o->data);
	g_free(o);
}

static void options_free(struct machine_options *o)
{
	char *const strings[] = { o->kernel, o->initrd,    o->append,     o->bios,
				  o->dtb,    o->cpu_model, o->boot_order, o->name };

	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		g_free(strings[i]);
	if (o->fw_cfg) {
		g_ptr_array_foreach(o->fw_cfg, (GFunc)(void (*)(void))fw_cfg_option_free, NULL);
		g_ptr_array_unref(o->fw_cfg);
	}
}

void machine_destroy(struct machine *m)
{
	if (!m)
		return;
	while (m->devices.tail)
		device_destroy(m->devices.tail->data);
	if (m->type->finish)
		m->type->finish(m);
	while (m->buses.head)
		bus_destroy(m, m->buses.head->data);
	blobs_free(m);
	g_array_unref(m->entries);
	globals_free(m);
	g_array_unref(m->irq_sources);
	properties_free(m, common_props);
	properties_free(m, m->type->props);
	options_free(&m->opt);
	g_free(m);
}

const struct property *machine_find_prop(const struct machine *m, const char *name)
{
	return property_find(m->type->props, name) ?: property_find(common_props, name);
}

static int set_prop(struct machine *m, const char *key, JsonNode *value, GError **err)
{
	const struct prop_owner owner = { m->type->name, m->host };
	g_autofree char *name = g_strdelimit(g_strdup(key), "_", '-');
	g_autofree char *own = NULL, *common = NULL;
	const struct property *p = machine_find_prop(m, name);

	if (p)
		return property_set(m, p, &owner, value, err);
	own = properties_names(m->type->props);
	common = properties_names(common_props);
	error_set(err, "Property '%s-machine.%s' not found, the machine has: %s; and %s",
		  m->type->name, name, own, common);
	return -EINVAL;
}

int machine_set_props(struct machine *m, JsonObject *props, GError **err)
{
	JsonObjectIter it;
	const char *key;
	JsonNode *value;

	json_object_iter_init_ordered(&it, props);
	while (json_object_iter_next_ordered(&it, &key, &value))
		if (set_prop(m, key, value, err))
			return -EINVAL;
	return 0;
}

static int check_topology(struct machine_options *o, GError **err)
{
	unsigned parts = (o->sockets ?: 1) * (o->dies ?: 1) * (o->cores ?: 1) * (o->threads ?: 1);

	/* One part that was not given takes up what is left. */
	if (o->max_cpus % parts == 0 && parts != o->max_cpus) {
		unsigned *rest = !o->sockets ? &o->sockets : !o->cores ? &o->cores : &o->threads;

		if (!*rest) {
			*rest = o->max_cpus / parts;
			parts = o->max_cpus;
		}
	}
	o->sockets = o->sockets ?: 1;
	o->dies = o->dies ?: 1;
	o->cores = o->cores ?: 1;
	o->threads = o->threads ?: 1;
	if (parts == o->max_cpus)
		return 0;
	error_set(err,
		  "-smp: product of sockets %u, dies %u, cores %u, threads %u is %u, maxcpus is %u",
		  o->sockets, o->dies, o->cores, o->threads, parts, o->max_cpus);
	return -EINVAL;
}

static int check_cpus(struct machine *m, GError **err)
{
	struct machine_options *o = &m->opt;
	unsigned product = o->sockets * (o->dies ?: 1) * o->cores * o->threads;

	o->cpus = o->cpus ?: o->max_cpus ?: product ?: 1;
	o->max_cpus = o->max_cpus ?: MAX(o->cpus, product);
	if (o->cpus > o->max_cpus) {
		error_set(err, "-smp: cpus %u exceeds maxcpus %u", o->cpus, o->max_cpus);
		return -EINVAL;
	}
	if (o->max_cpus > m->type->max_cpus) {
		error_set(err, "Invalid SMP CPUs %u. The max CPUs supported by machine '%s' is %u",
			  o->max_cpus, m->type->name, m->type->max_cpus);
		return -EINVAL;
	}
	return check_topology(o, err);
}

static int check_options(struct machine *m, GError **err)
{
	struct machine_options *o = &m->opt;

	if (m->usb) {
		error_set(err,
			  "machine %s has no USB controller, usb=on cannot be satisfied (usb=off "
			  "can)",
			  m->type->name);
		return -ENOTSUP;
	}
	if (!o->kernel && (o->initrd || (o->append && *o->append))) {
		error_set(err, "%s is only allowed with -kernel",
			  o->initrd ? "-initrd" : "-append");
		return -EINVAL;
	}
	o->ram_size = ROUND_UP(o->ram_size ?: m->type->default_ram_size, (u64)DIRTY_PAGE_SIZE);
	o->max_ram_size = MAX(o->max_ram_size, o->ram_size);
	return check_cpus(m, err);
}

int machine_init(struct machine *m, GError **err)
{
	int ret = check_options(m, err);

	return ret ? ret : m->type->init(m, err);
}

int machine_done(struct machine *m, GError **err)
{
	int ret = m->type->done ? m->type->done(m, err) : 0;

	m->complete = !ret;
	return ret;
}

struct ramblock *machine_alloc_ram(struct machine *m, GError **err)
{
	struct ram_spec spec = {
		.id = m->type->default_ram_id,
		.size = m->opt.ram_size,
		.fd = -1,
		.flags = RAM_MIGRATABLE | (m->mem_merge ? RAM_MERGE : 0) |
			 (m->dump_guest_core ? 0 : RAM_DUMP_OFF),
	};

	if (!m->opt.ram)
		return ram_create(m->vm->ram, &spec, err);
	if (m->opt.ram->used_size != m->opt.ram_size) {
		error_set(err, "memory back end '%s' has %" PRIu64 " bytes, -m asks for %" PRIu64,
			  m->opt.ram->id, m->opt.ram->used_size, m->opt.ram_size);
		return NULL;
	}
	return m->opt.ram;
}

int machine_reset(struct machine *m, GError **err)
{
	struct vm *vm = m->vm;

	/* Children sit behind their parents in the list and are reset first. */
	for (GList *l = m->devices.tail; l; l = l->prev) {
		struct device *dev = l->data;

		if (dev->realized && dev->type->reset)
			dev->type->reset(dev);
	}
	blobs_write(m);
	for (int i = 0; i < vm->ncpus; i++) {
		int ret = vcpu_reset(vm->cpus[i], err);

		if (ret)
			return ret;
	}
	if (m->type->reset) {
		int ret = m->type->reset(m, err);

		if (ret)
			return ret;
	}
	for (guint i = 0; i < m->entries->len; i++) {
		const struct machine_entry *e = &g_array_index(m->entries, struct machine_entry, i);
		int ret = m->type->start_at(m, e->cpu, e->pc, err);

		if (ret)
			return ret;
	}
	return 0;
}

int machine_add_entry(struct machine *m, unsigned cpu, u64 pc, GError **err)
{
	const struct machine_entry e = { cpu, pc };

	if (!m->type->start_at) {
		error_set(err, "machine %s does not let vCPUs begin elsewhere; leave cpu-num out",
			  m->type->name);
		return -EINVAL;
	}
	if (cpu >= (unsigned)m->vm->ncpus) {
		error_set(err, "cpu-num=%u: there are %d vCPUs, counted from 0", cpu, m->vm->ncpus);
		return -EINVAL;
	}
	g_array_append_val(m->entries, e);
	return 0;
}

bool machine_powerdown(struct machine *m)
{
	return m->type->powerdown && m->type->powerdown(m);
}

void machine_rtc_changed(struct device *rtc, s64 offset_s)
{
	const struct machine_host *host = rtc->machine->host;
	g_autofree char *path = NULL;

	if (!host || !host->rtc_changed)
		return;
	path = device_path(rtc);
	host->rtc_changed(host->opaque, offset_s, path);
}
