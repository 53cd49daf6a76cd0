/* tests/unit/hw/isa-machine.c - a machine with bare buses, to test devices on. */
#include "tests/unit/hw/isa-machine.h"

#include "hw/devices.h"
#include "util/lock.h"

bool isa_lines[24];
s64 isa_time_ns;
struct isa_requests isa_requests;

struct isa_machine {
	struct machine m;
	struct mapping ram;
};

static int isa_init(struct machine *m, GError **err)
{
	struct isa_machine *isa = (struct isa_machine *)m;

	bus_add(m, "System", "main-system-bus");
	bus_add(m, "ISA", "isa.0");
	isa->ram = (struct mapping){ .name = "ram",
				     .size = m->opt.ram_size,
				     .kind = MAP_RAM,
				     .block = machine_alloc_ram(m, err) };
	address_space_map(m->vm->memory, &isa->ram);
	return 0;
}

static void isa_finish(struct machine *m)
{
	address_space_unmap(m->vm->memory, &((struct isa_machine *)m)->ram);
}

static void isa_irq(struct machine *m, unsigned line, bool level)
{
	isa_lines[line] = level;
}

static const struct machine_type isa_type = {
	.name = "isa",
	.default_ram_id = "ram",
	.default_ram_size = 4 * MiB,
	.max_cpus = 4,
	.has_io = true,
	.instance_size = sizeof(struct isa_machine),
	.init = isa_init,
	.irq_set = isa_irq,
	.finish = isa_finish,
};

/* The devices under test, without machines and what these pull in. */
static const struct machine_type *const machines[] = { &isa_type, NULL };
static const struct device_type *const *const tables[] = {
	hw_acpi_devices,     hw_char_arm_devices,
	hw_char_isa_devices, hw_gpio_devices,
	hw_misc_devices,     hw_misc_isa_devices,
	hw_nvram_devices,    hw_rtc_arm_devices,
	hw_rtc_isa_devices,  NULL,
};
const struct hw_target isa_target = { "isa", "isa-cpu", NULL, machines, tables };

static void on_panic(void *opaque, unsigned events)
{
	isa_requests.panic_events = events;
}

static void on_rtc(void *opaque, s64 offset_s, const char *path)
{
	isa_requests.rtc_changes++;
	isa_requests.rtc_offset_s = offset_s;
	g_assert_true(g_str_has_prefix(path, "/machine/"));
}

static const struct machine_host host = { .chardev = fake_chardev,
					  .guest_panicked = on_panic,
					  .rtc_changed = on_rtc };

/* ---- what the process would do ---- */

static void on_shutdown(void *opaque, enum shutdown_cause cause, int exit_code)
{
	isa_requests.shutdown = cause;
	isa_requests.exit_code = exit_code;
}

static void on_reset(void *opaque, enum shutdown_cause cause)
{
	isa_requests.reset = cause;
}

static const struct vm_owner owner = { .shutdown = on_shutdown, .reset = on_reset };

void isa_run_requests(void)
{
	while (g_main_context_iteration(NULL, FALSE))
		;
}

static s64 now(void)
{
	return isa_time_ns;
}

void isa_run_to(s64 ns)
{
	for (;;) {
		s64 next = timer_run_virtual();

		if (next < 0 || next > ns)
			break;
		isa_time_ns = MAX(isa_time_ns, next);
	}
	isa_time_ns = ns;
	timer_run_virtual();
}

struct machine *isa_machine(s64 rtc_offset_s)
{
	struct machine *m = machine_create(&isa_target, &isa_type, fake_vm(&owner), NULL, &host);

	clock_virtual_set_source(now, NULL);
	memset(&isa_requests, 0, sizeof(isa_requests));
	memset(isa_lines, 0, sizeof(isa_lines));
	isa_time_ns = 1000 * NS_PER_S;
	fake_backlog = 0;
	m->opt.rtc_clock = CLOCK_TYPE_VIRTUAL;
	m->opt.rtc_offset_s = rtc_offset_s;
	g_assert_cmpint(machine_init(m, NULL), ==, 0);
	return m;
}

void isa_machine_free(struct machine *m)
{
	struct vm *vm = m->vm;

	machine_destroy(m);
	vm_destroy(vm);
}

struct device *isa_device(struct machine *m, const char *options)
{
	const struct device_type *t = device_type_find(m->target, options);
	struct device *dev;

	if (t && !t->user_creatable) {
		dev = device_create(m, options, NULL, NULL);
		g_assert_cmpint(device_realize(dev, NULL, NULL), ==, 0);
	} else {
		g_assert_null(fake_add(m, options, &dev));
	}
	if (dev->type->reset)
		dev->type->reset(dev);
	return dev;
}

u8 in8(struct machine *m, u16 port)
{
	return address_space_ld(m->vm->io, port, 1, NULL);
}

void out8(struct machine *m, u16 port, u8 val)
{
	address_space_st(m->vm->io, port, val, 1);
}

static const char *type_name(const struct state_field *f)
{
	static const char *const names[] = {
		[STATE_BOOL] = "bool",     [STATE_U8] = "uint8",
		[STATE_U16] = "uint16",    [STATE_U32] = "uint32",
		[STATE_U64] = "uint64",    [STATE_S8] = "int8",
		[STATE_S16] = "int16",     [STATE_S32] = "int32",
		[STATE_S64] = "int64",     [STATE_TIMER] = "timer",
		[STATE_BUFFER] = "buffer", [STATE_UNUSED] = "unused_buffer",
		[STATE_STRUCT] = "struct",
	};

	return names[f->type];
}

static size_t wire_size(const struct state_desc *d)
{
	size_t sum = 0;

	for (const struct state_field *f = d->fields; f->type != STATE_END; f++)
		sum += f->type == STATE_STRUCT  ? wire_size(f->desc)
		       : f->type == STATE_TIMER ? 8
						: f->size;
	return sum;
}

static void add_layout(GString *s, const struct state_desc *d, int indent)
{
	for (const struct state_field *f = d->fields; f->type != STATE_END; f++) {
		size_t size = f->type == STATE_STRUCT  ? wire_size(f->desc)
			      : f->type == STATE_TIMER ? 8
						       : f->size;

		g_string_append_printf(s, "%*s%s:%s:%zu\n", indent, "", f->name, type_name(f),
				       size);
		if (f->type == STATE_STRUCT)
			add_layout(s, f->desc, indent + 2);
	}
	for (int i = 0; d->subsections && d->subsections[i]; i++) {
		g_string_append_printf(s, "%*sSUB %s v%d\n", indent, "", d->subsections[i]->name,
				       d->subsections[i]->version);
		add_layout(s, d->subsections[i], indent + 2);
	}
}

char *state_layout(const struct state_desc *desc)
{
	GString *s = g_string_new(NULL);

	g_string_printf(s, "%s v%d\n", desc->name, desc->version);
	add_layout(s, desc, 2);
	return g_string_free(s, FALSE);
}
