/* system/semihosting.c - -semihosting and -semihosting-config: options, console. */
#include "semihosting.h"

#include "accel/tcg.h"
#include "chardev/char.h"
#include "hw/machine.h"
#include "target/arm/semihosting.h"
#include "util/error.h"
#include "util/keyval.h"
#include "util/main-loop.h"

#define INPUT_MAX     4096
#define INPUT_WAIT_US 20000 /* how long a vCPU waits before it looks whether it must park */

static struct {
	struct chardev_fe *fe;
	GMutex lock;
	GCond cond;
	GByteArray *in;
	const struct target_desc *target; /* enabled there */
} con;

/* ---- options ---- */

/* The next of the comma-separated words, "key=value" with ",," for a comma; NULL at the end. */
static char *next_word(const char **at)
{
	GString *word;

	if (!*at || !**at)
		return NULL;
	word = g_string_new(NULL);
	for (; **at; (*at)++) {
		if (**at == ',' && *++*at != ',')
			break;
		g_string_append_c(word, **at);
	}
	return g_string_free(word, FALSE);
}

int semihosting_parse(struct config *c, const struct option_desc *o, const char *arg, GError **err)
{
	const char *at = arg;
	char *word;

	if (!c->semihosting)
		c->semihosting = json_object_new();
	json_object_set_string_member(c->semihosting, "enable", "on");
	for (bool first = true; (word = next_word(&at)); first = false) {
		char *eq = strchr(word, '=');

		if (!eq && !first) {
			error_set(err, "-%s %s: '%s' is not of the form KEY=VALUE", o->name, arg,
				  word);
			g_free(word);
			return -EINVAL;
		}
		if (eq)
			*eq = '\0';
		if (eq && !strcmp(word, "arg")) {
			char *old = c->semihosting_args;

			c->semihosting_args =
				old ? g_strjoin(" ", old, eq + 1, NULL) : g_strdup(eq + 1);
			g_free(old);
		} else {
			json_object_set_string_member(c->semihosting, eq ? word : "enable",
						      eq ? eq + 1 : word);
		}
		g_free(word);
	}
	return 0;
}

static int check_target(const char *target, GError **err)
{
	if (!target || !strcmp(target, "native") || !strcmp(target, "auto"))
		return 0;
	if (!strcmp(target, "gdb"))
		error_set(err,
			  "target=gdb: calls are not passed on to a debugger; use target=native");
	else
		error_set(err, "target=%s: must be native or auto", target);
	return -EINVAL;
}

/* ---- console ---- */

static size_t can_receive(void *opaque)
{
	size_t room;

	g_mutex_lock(&con.lock);
	room = con.in->len < INPUT_MAX ? INPUT_MAX - con.in->len : 0;
	g_mutex_unlock(&con.lock);
	return room;
}

static void receive(void *opaque, const u8 *buf, size_t len)
{
	g_mutex_lock(&con.lock);
	g_byte_array_append(con.in, buf, len);
	g_cond_signal(&con.cond);
	g_mutex_unlock(&con.lock);
}

static void console_write(void *opaque, const void *buf, size_t len)
{
	chardev_write(con.fe, buf, len);
}

static void accept_more(void *opaque)
{
	if (con.fe)
		chardev_accept_input(con.fe);
}

static size_t console_read(void *opaque, void *buf, size_t len)
{
	s64 until = g_get_monotonic_time() + INPUT_WAIT_US;

	g_mutex_lock(&con.lock);
	while (!con.in->len && g_cond_wait_until(&con.cond, &con.lock, until))
		;
	len = MIN(len, con.in->len);
	memcpy(buf, con.in->data, len);
	g_byte_array_remove_range(con.in, 0, len);
	g_mutex_unlock(&con.lock);
	if (len)
		main_loop_call(accept_more, NULL);
	return len;
}

static int attach_console(const char *id, GError **err)
{
	static const struct chardev_frontend fe = { .can_receive = can_receive,
						    .receive = receive };
	struct chardev *chr = chardev_find(id);

	if (!chr) {
		error_set(err, "chardev=%s: there is no such character device", id);
		return -ENOENT;
	}
	con.in = g_byte_array_new();
	con.fe = chardev_attach(chr, &fe, err);
	if (!con.fe)
		g_prefix_error(err, "chardev=%s: ", id);
	return con.fe ? 0 : -EBUSY;
}

/* ---- life ---- */

static char *command_line(struct emulator *e)
{
	const struct machine_options *opt = &e->machine->opt;

	if (e->cfg->semihosting_args)
		return g_strdup(e->cfg->semihosting_args);
	return g_strjoin(opt->append && *opt->append ? " " : "", opt->kernel ?: "",
			 opt->append ?: "", NULL);
}

static int enable(struct emulator *e, GError **err)
{
	static const struct semihosting_console console = { console_write, console_read, NULL };
	JsonObject *o = e->cfg->semihosting;
	g_autofree char *target = keyval_take_str(o, "target");
	g_autofree char *chardev = keyval_take_str(o, "chardev");
	g_autofree char *cmdline = command_line(e);
	struct semihosting_config config = { .cmdline = cmdline };
	bool on = true;

	if (keyval_take_bool(o, "enable", &on, err) == -EINVAL ||
	    keyval_take_bool(o, "userspace", &config.userspace, err) == -EINVAL ||
	    check_target(target, err))
		return -EINVAL;
	if (!on)
		return 0;
	if (!target_desc.semihosting_enable || !accel_is_tcg(e->vm->accel)) {
		error_set(err, "only guests of qemu-system-aarch64 with -accel tcg have it");
		return -ENOTSUP;
	}
	if (chardev && attach_console(chardev, err))
		return -EINVAL;
	config.console = chardev ? &console : NULL;
	target_desc.semihosting_enable(e->machine, &config);
	con.target = &target_desc;
	return 0;
}

int setup_semihosting(struct emulator *e, GError **err)
{
	if (!e->cfg->semihosting)
		return 0;
	if (enable(e, err) || keyval_reject_rest(e->cfg->semihosting, "option", err)) {
		g_prefix_error(err, "-semihosting: ");
		return -EINVAL;
	}
	return 0;
}

void teardown_semihosting(void)
{
	if (con.target)
		con.target->semihosting_disable();
	con.target = NULL;
	if (con.fe)
		chardev_detach(g_steal_pointer(&con.fe));
	if (con.in)
		g_byte_array_free(g_steal_pointer(&con.in), TRUE);
}
