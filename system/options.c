/* system/options.c - parsing the command line by its tables. */
#include "options.h"

#include "help.h"
#include "util/error.h"
#include "util/keyval.h"
#include "util/log.h"

static const struct option_desc *const tables[] = { options_machine, options_host };

static const struct {
	const char *option, *key;
} implied_keys[] = {
	{ "machine", "type" },  { "M", "type" },          { "accel", "accel" },
	{ "smp", "cpus" },      { "m", "size" },          { "object", "qom-type" },
	{ "device", "driver" }, { "chardev", "backend" }, { "mon", "chardev" },
	{ "netdev", "type" },   { "nic", "type" },        { "net", "type" },
	{ "boot", "order" },    { "name", "guest" },      { "numa", "type" },
	{ "fw_cfg", "name" },   { "sandbox", "enable" },  { "icount", "shift" },
	{ "vnc", "vnc" },
};

const char *options_implied_key(const char *option)
{
	for (unsigned i = 0; i < ARRAY_SIZE(implied_keys); i++)
		if (!strcmp(option, implied_keys[i].option))
			return implied_keys[i].key;
	return NULL;
}

static void item_free(gpointer data)
{
	struct config_item *item = data;

	g_clear_pointer(&item->opts, json_object_unref);
	g_free(item->text);
	g_free(item);
}

static GPtrArray *items_new(void)
{
	return g_ptr_array_new_with_free_func(item_free);
}

struct config *config_new(void)
{
	struct config *c = g_new0(struct config, 1);
	GPtrArray **lists[] = { &c->accels,  &c->objects,   &c->devices, &c->chardevs, &c->mons,
				&c->drives,  &c->blockdevs, &c->nets,    &c->globals,  &c->fw_cfg,
				&c->add_fds, &c->numa,      &c->serials, &c->monitors, &c->vncs };

	for (unsigned i = 0; i < ARRAY_SIZE(lists); i++)
		*lists[i] = items_new();
	c->machine = json_object_new();
	c->escape_char = 1; /* Ctrl-a */
	return c;
}

void config_free(struct config *c)
{
	GPtrArray *lists[] = { c->accels,  c->objects,   c->devices, c->chardevs, c->mons,
			       c->drives,  c->blockdevs, c->nets,    c->globals,  c->fw_cfg,
			       c->add_fds, c->numa,      c->serials, c->monitors, c->vncs };
	JsonObject *objects[] = { c->machine,    c->smp,    c->memory,     c->boot,
				  c->rtc,        c->name,   c->action,     c->run_with,
				  c->overcommit, c->icount, c->semihosting };
	char *texts[] = {
		c->cpu,      c->kernel,   c->initrd,   c->append,    c->dtb,
		c->bios,     c->uuid,     c->incoming, c->pidfile,   c->log_mask,
		c->log_file, c->mem_path, c->qtest,    c->qtest_log, c->gdb,
		c->data_dir, c->runas,    c->chroot,   c->sandbox,   c->semihosting_args
	};

	for (unsigned i = 0; i < ARRAY_SIZE(lists); i++)
		g_ptr_array_unref(lists[i]);
	for (unsigned i = 0; i < ARRAY_SIZE(objects); i++)
		g_clear_pointer(&objects[i], json_object_unref);
	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++)
		g_free(texts[i]);
	g_free(c);
}

static void *member(struct config *c, const struct option_desc *o)
{
	return (char *)c + o->offset;
}

int option_set_flag(struct config *c, const struct option_desc *o, const char *arg, GError **err)
{
	*(bool *)member(c, o) = true;
	return 0;
}

int option_set_text(struct config *c, const struct option_desc *o, const char *arg, GError **err)
{
	char **to = member(c, o);

	g_free(*to);
	*to = g_strdup(arg);
	return 0;
}

int option_merge(struct config *c, const struct option_desc *o, const char *arg, GError **err)
{
	JsonObject **to = member(c, o);
	JsonObject *opts = keyval_parse(arg, options_implied_key(o->name), err);

	if (!opts) {
		g_prefix_error(err, "-%s: ", o->name);
		return -EINVAL;
	}
	if (*to) {
		keyval_merge(*to, opts);
		json_object_unref(opts);
	} else {
		*to = opts;
	}
	return 0;
}

void option_add_item(GPtrArray *to, const char *option, JsonObject *opts, const char *text)
{
	struct config_item *item = g_new0(struct config_item, 1);

	item->option = option;
	item->opts = opts;
	item->text = g_strdup(text);
	g_ptr_array_add(to, item);
}

int option_append(struct config *c, const struct option_desc *o, const char *arg, GError **err)
{
	JsonObject *opts = keyval_parse(arg, options_implied_key(o->name), err);

	if (!opts) {
		g_prefix_error(err, "-%s: ", o->name);
		return -EINVAL;
	}
	option_add_item(*(GPtrArray **)member(c, o), o->name, opts, arg);
	return 0;
}

int option_append_text(struct config *c, const struct option_desc *o, const char *arg, GError **err)
{
	option_add_item(*(GPtrArray **)member(c, o), o->name, NULL, arg);
	return 0;
}

int option_no_meaning(struct config *c, const struct option_desc *o, const char *arg, GError **err)
{
	log_warn("-%s%s%s has no effect here: %s", o->name, arg ? " " : "", arg ? arg : "",
		 o->help);
	return 0;
}

static const struct option_desc *find(const char *name)
{
	for (unsigned t = 0; t < ARRAY_SIZE(tables); t++)
		for (const struct option_desc *o = tables[t]; o->name; o++)
			if (!strcmp(o->name, name))
				return o;
	return NULL;
}

static int parse_one(struct config *c, int argc, char **argv, int *at, GError **err)
{
	const char *word = argv[*at], *name = word + 1;
	const struct option_desc *o;
	const char *arg = NULL;

	if (name[0] == '-')
		name++;
	o = find(name);
	if (!o) {
		error_set(err, "unknown option '%s' (see -help)", word);
		return -EINVAL;
	}
	if (o->argument) {
		if (*at + 1 >= argc) {
			error_set(err, "option '%s' needs an argument: %s", word, o->argument);
			return -EINVAL;
		}
		arg = argv[++*at];
	}
	if (!o->parse) {
		error_set(err, "-%s%s%s is not supported: %s", o->name, arg ? " " : "",
			  arg ? arg : "", o->help);
		return -EINVAL;
	}
	return o->parse(c, o, arg, err);
}

int config_parse(struct config *c, int argc, char **argv, GError **err)
{
	for (int i = 1; i < argc; i++) {
		int ret;

		if (argv[i][0] == '-' && argv[i][1]) {
			ret = parse_one(c, argc, argv, &i, err);
		} else {
			/* A bare word is the first disk, as -hda. */
			JsonObject *opts = json_object_new();

			json_object_set_string_member(opts, "file", argv[i]);
			json_object_set_string_member(opts, "index", "0");
			json_object_set_string_member(opts, "media", "disk");
			option_add_item(c->drives, "hda", opts, argv[i]);
			ret = 0;
		}
		if (ret)
			return ret;
	}
	return 0;
}

void options_foreach(void (*fn)(const char *name, const char *form, void *opaque), void *opaque)
{
	for (unsigned t = 0; t < ARRAY_SIZE(tables); t++)
		for (const struct option_desc *o = tables[t]; o->name; o++)
			if (o->parse && o->parse != option_no_meaning)
				fn(o->name, o->argument, opaque);
}

static void describe(GString *s, const struct option_desc *table, bool supported)
{
	for (const struct option_desc *o = table; o->name; o++) {
		if ((o->parse && o->parse != option_no_meaning) != supported)
			continue;
		g_string_append_printf(s, "  -%s%s%s\n      %s\n", o->name, o->argument ? " " : "",
				       o->argument ? o->argument : "", o->help);
	}
}

void help_options(GString *s)
{
	g_string_append(s, "\nMachine:\n");
	describe(s, options_machine, true);
	g_string_append(s, "\nHost side:\n");
	describe(s, options_host, true);
	g_string_append(s, "\nKnown from QEMU and refused, or without effect:\n");
	for (unsigned t = 0; t < ARRAY_SIZE(tables); t++)
		describe(s, tables[t], false);
}
