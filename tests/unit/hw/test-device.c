/* tests/unit/hw/test-device.c - device types, properties, buses, paths and help texts. */
#include "tests/unit/hw/fake-machine.h"

#include "hw/none.h"
#include "migration/state.h"

/* ---- a target with made-up devices ---- */

struct sink {
	struct device dev;
	u8 small;
	s32 signed_num;
	u64 big, size;
	bool flag;
	int mode, tri;
	char *text;
	u8 mac[6];
	void *chardev, *rng;
	struct irq irq;
	int resets;
};

static int live;      /* sinks that are realized */
static int reset_seq; /* counts resets, to see their order */
static struct fake_irq last_irq;

static int sink_realize(struct device *dev, GError **err)
{
	struct sink *s = (struct sink *)dev;

	if (s->small == 13) {
		error_set(err, "thirteen is unlucky");
		return -EINVAL;
	}
	machine_connect_irq(dev->machine, &s->irq, 7);
	live++;
	return 0;
}

static void sink_unrealize(struct device *dev)
{
	machine_disconnect_irq(dev->machine, &((struct sink *)dev)->irq);
	live--;
}

static void sink_reset(struct device *dev)
{
	((struct sink *)dev)->resets = ++reset_seq;
}

static const char *const modes[] = { "slow", "fast", NULL };
static const struct property sink_props[] = {
	PROP(struct sink, small, "small", U8, "5", "a byte"),
	PROP(struct sink, signed_num, "signed", S32, "-1", NULL),
	PROP(struct sink, big, "big", U64, NULL, NULL),
	PROP(struct sink, size, "size", SIZE, "64K", NULL),
	PROP(struct sink, flag, "flag", BOOL, "on", NULL),
	PROP_NAMES(struct sink, mode, "mode", "fast", NULL, modes),
	PROP(struct sink, tri, "tri", ON_OFF_AUTO, "auto", NULL),
	PROP(struct sink, text, "text", STR, "hello", NULL),
	PROP(struct sink, mac, "mac", MACADDR, NULL, NULL),
	PROP(struct sink, chardev, "chardev", CHARDEV, NULL, NULL),
	PROP_OBJECT(struct sink, rng, "rng", "rng-backend", NULL),
	PROP_END
};

static const struct state_field sink_fields[] = { FIELD_U8(struct sink, small), FIELD_END };
static const struct state_desc sink_state = { .name = "sink", .version = 1, .fields = sink_fields };

static const struct device_type sink_type = {
	.name = "sink-a",
	.alias = "sink",
	.desc = "swallows",
	.bus = "hose",
	.props = sink_props,
	.instance_size = sizeof(struct sink),
	.user_creatable = true,
	.realize = sink_realize,
	.unrealize = sink_unrealize,
	.reset = sink_reset,
	.state = &sink_state,
};
static const struct device_type other_type = {
	.name = "sink-pci",
	.alias = "sink",
	.bus = "PCI",
	.category = DEVICE_NETWORK,
	.instance_size = sizeof(struct device),
	.user_creatable = true,
};
static const struct device_type hub_type = {
	.name = "hub",
	.bus = "System",
	.provides_bus = "hose",
	.bus_slots = 2,
	.category = DEVICE_BRIDGE,
	.instance_size = sizeof(struct sink),
	.user_creatable = true,
	.reset = sink_reset,
};
static const struct device_type pump_type = {
	.name = "pump",
	.bus = "System",
	.provides_bus = "hose",
	.bus_name = "pump-bus",
	.bus_hotplug = true,
	.instance_size = sizeof(struct device),
	.user_creatable = true,
};
static const struct device_type fixed_type = {
	.name = "fixed",
	.bus = "System",
	.instance_size = sizeof(struct device),
};

static const struct device_type *const others[] = { &other_type, &fixed_type, NULL };
static const struct device_type *const mains[] = { &sink_type, &hub_type, &pump_type, NULL };
static const struct device_type *const *const tables[] = { others, mains, NULL };

static int toy_init(struct machine *m, GError **err)
{
	bus_add(m, "System", "main-system-bus");
	return device_realize(device_create(m, "fixed", NULL, NULL), NULL, err);
}

static void toy_irq(struct machine *m, unsigned line, bool level)
{
	last_irq = (struct fake_irq){ line, last_irq.calls + 1, level };
}

struct toy {
	struct machine m;
	u32 wheels;
};

static const struct property toy_props[] = {
	PROP(struct toy, wheels, "wheel-count", U32, "4", "how many"), PROP_END
};

static const struct machine_type toy_machine = {
	.name = "toy-1.0",
	.alias = "toy",
	.desc = "Toy",
	.default_ram_id = "toy.ram",
	.default_ram_size = 4 * MiB,
	.max_cpus = 8,
	.has_io = true,
	.instance_size = sizeof(struct toy),
	.props = toy_props,
	.init = toy_init,
	.irq_set = toy_irq,
};
static const struct machine_type *const machines[] = { &toy_machine, &none_machine_type, NULL };
static const struct hw_target target = { "toy", "toy-cpu", "toy-1.0", machines, tables };

/* ---- what the process would provide ---- */

static int registered;

int state_register(struct state_registry *reg, const char *idstr, int instance_id,
		   const struct state_desc *desc, void *obj)
{
	registered++;
	return 0;
}

void state_unregister(struct state_registry *reg, const struct state_desc *desc, void *obj)
{
	registered--;
}

static int chardev_dummy, rng_dummy;
static char *deleted;

static struct chardev *find_chardev(void *opaque, const char *id)
{
	return strcmp(id, "c0") ? NULL : (struct chardev *)&chardev_dummy;
}

static void *find_object(void *opaque, const char *id, const char *type)
{
	return strcmp(id, "r0") || strcmp(type, "rng-backend") ? NULL : &rng_dummy;
}

static void on_deleted(void *opaque, const char *id, const char *path)
{
	g_free(deleted);
	deleted = g_strdup_printf("%s %s", id ?: "-", path);
}

static const struct machine_host host = { .chardev = find_chardev,
					  .object = find_object,
					  .device_deleted = on_deleted };

static const struct vm_owner owner;

static struct machine *toy_new(void)
{
	struct machine *m =
		machine_create(&target, machine_type_find(&target, "toy"), fake_vm(&owner),
			       (struct state_registry *)&registered, &host);

	g_assert_nonnull(m);
	return m;
}

static struct machine *toy_ready(void)
{
	struct machine *m = toy_new();

	g_assert_cmpint(machine_init(m, NULL), ==, 0);
	g_assert_null(fake_add(m, "hub,id=h0", NULL));
	return m;
}

static void toy_free(struct machine *m)
{
	struct vm *vm = m->vm;

	machine_destroy(m);
	vm_destroy(vm);
	g_assert_cmpint(live, ==, 0);
	g_assert_cmpint(registered, ==, 0);
}

/* ---- tests ---- */

static void test_defaults_and_text(void)
{
	struct machine *m = toy_ready();
	struct device *dev;
	struct sink *s;

	g_assert_null(fake_add(m, "sink-a", &dev));
	s = (struct sink *)dev;
	g_assert_cmpuint(s->small, ==, 5);
	g_assert_cmpint(s->signed_num, ==, -1);
	g_assert_cmpuint(s->size, ==, 64 * KiB);
	g_assert_true(s->flag);
	g_assert_cmpint(s->mode, ==, 1);
	g_assert_cmpint(s->tri, ==, OOA_AUTO);
	g_assert_cmpstr(s->text, ==, "hello");
	g_assert_false(device_given(dev, "small"));

	g_assert_null(fake_add(m,
			       "driver=sink-a,id=x,small=0xff,signed=-2147483648,"
			       "big=18446744073709551615,size=1.5M,flag=no,mode=slow,tri=off,"
			       "text=a,,b,mac=52:54:00:0a:0B:0c,chardev=c0,rng=r0,small=254",
			       &dev));
	s = (struct sink *)dev;
	g_assert_cmpuint(s->small, ==, 254);
	g_assert_cmpint(s->signed_num, ==, G_MININT32);
	g_assert_cmpuint(s->big, ==, G_MAXUINT64);
	g_assert_cmpuint(s->size, ==, 1536 * KiB);
	g_assert_false(s->flag);
	g_assert_cmpint(s->mode, ==, 0);
	g_assert_cmpint(s->tri, ==, OOA_OFF);
	g_assert_cmpstr(s->text, ==, "a,b");
	g_assert_cmpmem(s->mac, 6, "\x52\x54\x00\x0a\x0b\x0c", 6);
	g_assert_true(s->chardev == &chardev_dummy && s->rng == &rng_dummy);
	g_assert_true(device_given(dev, "small"));
	g_assert_cmpint(registered, ==, 2);
	toy_free(m);
}

static void test_json(void)
{
	struct machine *m = toy_ready();
	struct device *dev;
	struct sink *s;

	g_assert_null(fake_add(m,
			       "{\"driver\":\"sink-a\",\"small\":7,\"flag\":false,"
			       "\"tri\":true,\"size\":4096,\"text\":\"t\"}",
			       &dev));
	s = (struct sink *)dev;
	g_assert_cmpuint(s->small, ==, 7);
	g_assert_false(s->flag);
	g_assert_cmpint(s->tri, ==, OOA_ON);
	g_assert_cmpuint(s->size, ==, 4096);
	expect_text(fake_add(m, "{\"driver\":\"sink-a\",\"text\":3}", NULL),
		    "property 'sink-a.text' does not take value '3', it wants a string");
	expect_text(fake_add(m, "{\"driver\":\"sink-a\",\"flag\":1}", NULL),
		    "property 'sink-a.flag' does not take value '1', it wants on or off");
	expect_text(fake_add(m, "{\"driver\":\"sink-a\",\"small\":{\"a\":1}}", NULL),
		    "property 'sink-a.small' does not take value '{\"a\":1}', "
		    "it wants a number from 0 to 255");
	toy_free(m);
}

struct refusal {
	const char *options, *message;
};

static void test_refusals(void)
{
	static const struct refusal cases[] = {
		{ "sink-a,small=256", "property 'sink-a.small' does not take value '256', it wants "
				      "a number from 0 to 255" },
		{ "sink-a,small=-1", "property 'sink-a.small' does not take value '-1', it wants a "
				     "number from 0 to 255" },
		{ "sink-a,small=7x", "property 'sink-a.small' does not take value '7x', it wants a "
				     "number from 0 to 255" },
		{ "sink-a,signed=2147483648",
		  "property 'sink-a.signed' does not take value '2147483648', "
		  "it wants a number from -2147483648 to 2147483647" },
		{ "sink-a,big=18446744073709551616",
		  "property 'sink-a.big' does not take value '18446744073709551616', "
		  "it wants a number from 0 to 18446744073709551615" },
		{ "sink-a,mode=medium", "property 'sink-a.mode' does not take value 'medium', it "
					"wants one of slow, fast" },
		{ "sink-a,tri=maybe",
		  "property 'sink-a.tri' does not take value 'maybe', it wants on, off or auto" },
		{ "sink-a,mac=52:54:00:12:34",
		  "property 'sink-a.mac' does not take value '52:54:00:12:34', "
		  "it wants six bytes such as 52:54:00:12:34:56" },
		{ "sink-a,chardev=c9", "property 'sink-a.chardev' does not take value 'c9', it "
				       "wants the id of a -chardev" },
		{ "sink-a,rng=c0", "property 'sink-a.rng' does not take value 'c0', "
				   "it wants the id of a rng-backend object" },
		{ "sink-a,color=red", "Property 'sink-a.color' not found, sink-a has: big, "
				      "chardev, flag, mac, mode, rng, "
				      "signed, size, small, text, tri" },
		{ "hub,color=red", "Property 'hub.color' not found, hub has: none" },
		{ "nothing",
		  "'nothing' is not a valid device model name, -device help lists them" },
		{ "fixed",
		  "Device 'fixed' belongs to the machine and cannot be added by the user" },
		{ "sink-a,bus=b9",
		  "Bus 'b9' not found, info qtree shows the buses of the machine" },
		{ "sink-a,bus=main-system-bus",
		  "Device 'sink-a' can't go on System bus 'main-system-bus', it needs a hose bus" },
		{ "sink-pci",
		  "No 'PCI' bus found for device 'sink-pci': machine toy-1.0 has System, hose" },
		{ "sink-a,id=h0", "Duplicate device ID 'h0'" },
		{ "sink-a,id=1x",
		  "device id '1x' is malformed: a letter, then letters, digits, '-', '.', '_'" },
		{ "sink-a,small=13", "thirteen is unlucky" },
		{ "id=x", "-device needs a driver name, -device help lists them" },
	};
	struct machine *m = toy_ready();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect_text(fake_add(m, cases[i].options, NULL), cases[i].message);
	/* Nothing of the refused ones is left: the bus still has both slots. */
	g_assert_cmpuint(m->devices.length, ==, 2);
	g_assert_null(fake_add(m, "sink-a", NULL));
	g_assert_null(fake_add(m, "sink-a", NULL));
	expect_text(fake_add(m, "sink-a", NULL),
		    "No free 'hose' bus found for device 'sink-a': all are full");
	expect_text(fake_add(m, "sink-a,bus=h0.0", NULL),
		    "Bus 'h0.0' is full, it takes 2 device(s)");
	toy_free(m);
}

static void test_alias_and_buses(void)
{
	struct machine *m = toy_ready();
	struct device *dev;

	/* sink-pci has the alias too and comes first, but the machine has no PCI bus. */
	g_assert_null(fake_add(m, "sink", &dev));
	g_assert_true(dev->type == &sink_type);
	g_assert_cmpstr(dev->on_bus->name, ==, "h0.0");
	g_assert_true(dev->parent == device_find(m, "h0"));

	g_assert_null(fake_add(m, "pump,id=p", NULL));
	g_assert_null(fake_add(m, "hub", NULL));
	g_assert_nonnull(bus_find(m, "pump-bus.0"));
	g_assert_nonnull(bus_find(m, "hose.0"));
	bus_find(m, "h0.0")->rank = 3;
	bus_find(m, "pump-bus.0")->rank = 2;
	bus_find(m, "hose.0")->rank = 1;
	g_assert_null(fake_add(m, "sink", &dev));
	g_assert_cmpstr(dev->on_bus->name, ==, "hose.0");
	g_assert_true(bus_child(dev->on_bus) == dev);
	toy_free(m);
}

static void test_hotplug(void)
{
	struct machine *m = toy_ready();
	struct device *dev;
	GError *err = NULL;

	g_assert_null(fake_add(m, "pump,id=p", NULL));
	g_assert_null(fake_add(m, "sink,id=s0,bus=h0.0", NULL));
	g_assert_cmpint(machine_done(m, NULL), ==, 0);
	expect_text(fake_add(m, "sink,bus=h0.0", NULL),
		    "Bus 'h0.0' does not support hotplugging, start the machine with -device "
		    "sink-a instead");
	g_assert_null(fake_add(m, "sink,id=s1,bus=pump-bus.0", &dev));
	g_assert_cmpint(((struct sink *)dev)->resets, >, 0);

	g_assert_cmpint(device_del(m, "s0", &err), ==, -EBUSY);
	g_assert_cmpstr(err->message, ==, "Bus 'h0.0' does not support hotplugging");
	g_clear_error(&err);
	g_assert_cmpint(device_del(m, "s9", &err), ==, -ENOENT);
	g_assert_true(g_error_matches(err, MACHINE_ERROR, ERROR_DEVICE_NOT_FOUND));
	g_clear_error(&err);
	g_assert_cmpint(device_del(m, "/machine/unattached/device[0]", &err), ==, -EBUSY);
	g_clear_error(&err);
	g_assert_cmpint(device_del(m, "/machine/peripheral/s1", &err), ==, 0);
	g_assert_cmpstr(deleted, ==, "s1 /machine/peripheral/s1");
	g_assert_null(device_find(m, "s1"));
	g_assert_cmpint(live, ==, 1);
	toy_free(m);
}

static void test_globals(void)
{
	struct machine *m = toy_new();
	GError *err = NULL;
	struct device *dev;

	g_assert_cmpint(machine_add_global(m, "sink-a", "small", "9", NULL), ==, 0);
	g_assert_cmpint(machine_add_global(m, "kvm-pit", "lost_tick_policy", "discard", NULL), ==,
			0);
	g_assert_cmpint(machine_add_global(m, "sink-a", "hue", "1", &err), ==, -EINVAL);
	g_assert_true(g_str_has_prefix(err->message,
				       "-global sink-a.hue=1: Property 'sink-a.hue' not found"));
	g_clear_error(&err);
	g_assert_cmpint(machine_init(m, NULL), ==, 0);
	g_assert_null(fake_add(m, "hub", NULL));
	g_assert_null(fake_add(m, "sink", &dev));
	g_assert_cmpuint(((struct sink *)dev)->small, ==, 9);
	g_assert_null(fake_add(m, "sink,small=1", &dev));
	g_assert_cmpuint(((struct sink *)dev)->small, ==, 1);

	g_assert_cmpint(machine_add_global(m, "sink-a", "mode", "x", NULL), ==, 0);
	expect_text(fake_add(m, "sink", NULL),
		    "-global sink-a.mode=x: property 'sink-a.mode' does not take value 'x', "
		    "it wants one of slow, fast");
	toy_free(m);
}

static void count_unused(const char *driver, const char *prop, void *opaque)
{
	g_string_append_printf(opaque, "%s.%s;", driver, prop);
}

static void test_unused_globals(void)
{
	struct machine *m = toy_new();
	g_autoptr(GString) s = g_string_new(NULL);

	machine_add_global(m, "kvm-pit", "lost_tick_policy", "discard", NULL);
	machine_add_global(m, "sink-a", "small", "9", NULL);
	g_assert_cmpint(machine_init(m, NULL), ==, 0);
	g_assert_null(fake_add(m, "hub", NULL));
	g_assert_null(fake_add(m, "sink", NULL));
	machine_unused_globals(m, count_unused, s);
	g_assert_cmpstr(s->str, ==, "kvm-pit.lost_tick_policy;");
	toy_free(m);
}

static void test_reset_order(void)
{
	struct machine *m = toy_ready();
	struct device *dev;

	g_assert_null(fake_add(m, "sink", &dev));
	g_assert_cmpint(machine_reset(m, NULL), ==, 0);
	g_assert_cmpint(((struct sink *)dev)->resets, <,
			((struct sink *)device_find(m, "h0"))->resets);
	toy_free(m);
}

static void test_shared_line(void)
{
	struct machine *m = toy_ready();
	struct device *a, *b;

	g_assert_null(fake_add(m, "sink,id=a", &a));
	g_assert_null(fake_add(m, "pump", NULL));
	g_assert_null(fake_add(m, "sink,id=b,bus=pump-bus.0", &b));
	last_irq = (struct fake_irq){ 0 };
	irq_set(&((struct sink *)a)->irq, 1);
	irq_set(&((struct sink *)b)->irq, 1);
	g_assert_cmpuint(last_irq.calls, ==, 1);
	irq_set(&((struct sink *)a)->irq, 0);
	g_assert_cmpuint(last_irq.calls, ==, 1);
	g_assert_cmpint(device_del(m, "b", NULL), ==, 0); /* lowers its output */
	g_assert_cmpuint(last_irq.calls, ==, 2);
	g_assert_cmpuint(last_irq.line, ==, 7);
	g_assert_false(last_irq.level);
	toy_free(m);
}

static void add_entry(const char *name, const char *type, void *opaque)
{
	g_string_append_printf(opaque, "%s:%s ", name, type);
}

static void test_tree(void)
{
	struct machine *m = toy_ready();
	g_autoptr(GString) s = g_string_new(NULL);
	g_autofree char *path = NULL;
	g_autoptr(JsonNode) value = NULL;
	struct device *dev;

	g_assert_null(fake_add(m, "pump", &dev));
	path = device_path(dev);
	g_assert_cmpstr(path, ==, "/machine/peripheral-anon/device[0]");
	g_assert_true(device_find(m, path) == dev);
	g_assert_cmpint(device_tree_list(m, "/machine/peripheral", add_entry, s, NULL), ==, 0);
	g_assert_cmpint(device_tree_list(m, "/machine/unattached", add_entry, s, NULL), ==, 0);
	g_assert_cmpint(device_tree_list(m, "/", add_entry, s, NULL), ==, 0);
	g_assert_cmpstr(s->str, ==,
			"type:string h0:child<hub> type:string device[0]:child<fixed> "
			"type:string machine:child<toy-1.0-machine> ");
	g_assert_cmpint(device_tree_list(m, "/machine/x", add_entry, s, NULL), ==, -ENOENT);

	g_assert_null(fake_add(m, "sink,id=s,small=3,chardev=c0,bus=h0.0", &dev));
	value = device_get(dev, "chardev", NULL);
	g_assert_cmpstr(json_node_get_string(value), ==, "c0");
	expect_text(device_tree_text(m), "bus: main-system-bus\n"
					 "  type System\n"
					 "  dev: fixed, id \"\"\n"
					 "  dev: hub, id \"h0\"\n"
					 "    bus: h0.0\n"
					 "      type hose\n"
					 "      dev: sink-a, id \"s\"\n"
					 "        small = 3 (0x3)\n"
					 "        signed = -1 (0xffffffffffffffff)\n"
					 "        big = 0 (0x0)\n"
					 "        size = 65536 (0x10000)\n"
					 "        flag = true\n"
					 "        mode = \"fast\"\n"
					 "        tri = \"auto\"\n"
					 "        text = \"hello\"\n"
					 "        mac = \"00:00:00:00:00:00\"\n"
					 "        chardev = \"c0\"\n"
					 "        rng = \"\"\n"
					 "  dev: pump, id \"\"\n"
					 "    bus: pump-bus.0\n"
					 "      type hose\n");
	toy_free(m);
}

static void test_help(void)
{
	GError *err = NULL;

	expect_text(device_types_help(&target),
		    "Controller/Bridge/Hub devices:\n"
		    "name \"hub\", bus System\n"
		    "\nNetwork devices:\n"
		    "name \"sink-pci\", bus PCI, alias \"sink\"\n"
		    "\nMisc devices:\n"
		    "name \"pump\", bus System\n"
		    "name \"sink-a\", bus hose, alias \"sink\", desc \"swallows\"\n");
	g_autofree char *text = device_type_help(&target, "sink-a", NULL);

	g_assert_true(g_str_has_prefix(text, "sink-a options:\n  big=<uint64>"));
	g_assert_nonnull(strstr(text, "  small=<uint8>          - a byte (default: 5)\n"));
	expect_text(device_type_help(&target, "hub", NULL), "There are no options for hub.\n");
	g_assert_null(device_type_help(&target, "nix", &err));
	g_clear_error(&err);
	expect_text(machine_types_help(&target), "Supported machines are:\n"
						 "toy                  Toy (alias of toy-1.0)\n"
						 "toy-1.0              Toy (default)\n"
						 "none                 empty machine\n");
}

static char *machine_props(struct machine *m, const char *text)
{
	GError *err = NULL;
	JsonObject *o = keyval_parse(text, NULL, NULL);
	char *msg = machine_set_props(m, o, &err) ? g_strdup(err->message) : NULL;

	g_clear_error(&err);
	json_object_unref(o);
	return msg;
}

static void test_machine_props(void)
{
	struct machine *m = toy_new();

	g_assert_null(machine_props(m, "wheel_count=6,dump-guest-core=off"));
	g_assert_cmpuint(((struct toy *)m)->wheels, ==, 6);
	g_assert_false(m->dump_guest_core);
	expect_text(machine_props(m, "sails=1"),
		    "Property 'toy-1.0-machine.sails' not found, the machine has: wheel-count; "
		    "and dump-guest-core, graphics, mem-merge, usb");
	expect_text(machine_props(m, "wheel-count=round"),
		    "property 'toy-1.0.wheel-count' does not take value 'round', "
		    "it wants a number from 0 to 4294967295");
	toy_free(m);
}

struct smp_case {
	unsigned cpus, max, sockets, cores, threads;
	const char *error;
	unsigned want_cpus, want_max, want_sockets;
};

static void test_smp(void)
{
	static const struct smp_case cases[] = {
		{ .want_cpus = 1, .want_max = 1, .want_sockets = 1 },
		{ .cpus = 4, .want_cpus = 4, .want_max = 4, .want_sockets = 4 },
		{ .cpus = 2,
		  .max = 8,
		  .cores = 4,
		  .want_cpus = 2,
		  .want_max = 8,
		  .want_sockets = 2 },
		{ .cpus = 3,
		  .sockets = 1,
		  .cores = 3,
		  .threads = 1,
		  .want_cpus = 3,
		  .want_max = 3,
		  .want_sockets = 1 },
		{ .cpus = 9,
		  .error = "Invalid SMP CPUs 9. The max CPUs supported by machine "
			   "'toy-1.0' is 8" },
		{ .cpus = 4, .max = 2, .error = "-smp: cpus 4 exceeds maxcpus 2" },
		{ .cpus = 4,
		  .cores = 3,
		  .error = "-smp: product of sockets 1, dies 1, cores 3, "
			   "threads 1 is 3, maxcpus is 4" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct smp_case *c = &cases[i];
		struct machine *m = toy_new();
		GError *err = NULL;
		int ret;

		m->opt.cpus = c->cpus;
		m->opt.max_cpus = c->max;
		m->opt.sockets = c->sockets;
		m->opt.cores = c->cores;
		m->opt.threads = c->threads;
		ret = machine_init(m, &err);
		g_assert_cmpstr(err ? err->message : NULL, ==, c->error);
		if (!ret) {
			g_assert_cmpuint(m->opt.cpus, ==, c->want_cpus);
			g_assert_cmpuint(m->opt.max_cpus, ==, c->want_max);
			g_assert_cmpuint(m->opt.sockets, ==, c->want_sockets);
			g_assert_cmpuint(m->opt.ram_size, ==, 4 * MiB);
		}
		g_clear_error(&err);
		toy_free(m);
	}
}

static void test_option_refusals(void)
{
	struct machine *m = toy_new();
	GError *err = NULL;

	m->opt.initrd = g_strdup("i");
	g_assert_cmpint(machine_init(m, &err), ==, -EINVAL);
	g_assert_cmpstr(err->message, ==, "-initrd is only allowed with -kernel");
	g_clear_error(&err);
	g_clear_pointer(&m->opt.initrd, g_free);
	m->usb = true;
	g_assert_cmpint(machine_init(m, &err), ==, -ENOTSUP);
	g_assert_nonnull(strstr(err->message, "usb=on"));
	g_clear_error(&err);
	toy_free(m);
}

static void test_blobs(void)
{
	struct machine *m = toy_ready();
	g_autoptr(GBytes) data = g_bytes_new_static("kernel", 6);
	struct mapping ram = { .name = "ram", .size = 4 * MiB, .kind = MAP_RAM };
	GError *err = NULL;
	char got[7] = "";

	ram.block = machine_alloc_ram(m, NULL);
	g_assert_cmpstr(ram.block->id, ==, "toy.ram");
	address_space_map(m->vm->memory, &ram);
	g_assert_cmpint(machine_add_blob(m, "one", 0x1000, data, NULL), ==, 0);
	g_assert_cmpint(machine_add_blob(m, "two", 0x1006, data, NULL), ==, 0);
	g_assert_cmpint(machine_add_blob(m, "three", 0x1005, data, &err), ==, -EINVAL);
	g_assert_cmpstr(err->message, ==, "three at 0x1005..0x100b overlaps one at 0x1000..0x1006");
	g_clear_error(&err);
	g_assert_cmpint(machine_add_blob(m, "four", 4 * MiB - 5, data, &err), ==, -EINVAL);
	g_assert_nonnull(strstr(err->message, "does not fit into 4 MiB of guest RAM"));
	g_clear_error(&err);

	for (int i = 0; i < 2; i++) {
		g_assert_cmpint(machine_reset(m, NULL), ==, 0);
		address_space_read(m->vm->memory, 0x1000, got, 6);
		g_assert_cmpstr(got, ==, "kernel");
		address_space_write(m->vm->memory, 0x1000, "broken", 6);
	}
	address_space_unmap(m->vm->memory, &ram);
	toy_free(m);
}

static void test_none(void)
{
	for (int with_ram = 0; with_ram < 2; with_ram++) {
		const struct machine_type *t = machine_type_find(&target, "none");
		struct machine *m = machine_create(&target, t, fake_vm(&owner), NULL, &host);
		struct vm *vm = m->vm;
		GError *err = NULL;

		m->opt.ram_size = with_ram * MiB;
		g_assert_cmpint(machine_init(m, &err), ==, 0);
		g_assert_cmpint(machine_done(m, &err), ==, 0);
		g_assert_cmpint(address_space_st(vm->memory, 0x1000, 1, 4), ==,
				with_ram ? MEM_OK : MEM_UNMAPPED);
		g_assert_false(machine_powerdown(m));
		toy_free(m);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/device/defaults-and-text", test_defaults_and_text);
	g_test_add_func("/device/json", test_json);
	g_test_add_func("/device/refusals", test_refusals);
	g_test_add_func("/device/alias-and-buses", test_alias_and_buses);
	g_test_add_func("/device/hotplug", test_hotplug);
	g_test_add_func("/device/globals", test_globals);
	g_test_add_func("/device/unused-globals", test_unused_globals);
	g_test_add_func("/device/reset-order", test_reset_order);
	g_test_add_func("/device/shared-line", test_shared_line);
	g_test_add_func("/device/tree", test_tree);
	g_test_add_func("/device/help", test_help);
	g_test_add_func("/machine/props", test_machine_props);
	g_test_add_func("/machine/smp", test_smp);
	g_test_add_func("/machine/option-refusals", test_option_refusals);
	g_test_add_func("/machine/blobs", test_blobs);
	g_test_add_func("/machine/none", test_none);
	return g_test_run();
}
