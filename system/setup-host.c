/* system/setup-host.c - character devices, monitors, disks and networks of the command line. */
#include "emulator.h"

#include <fcntl.h>
#include <limits.h>

#include "block/block.h"
#include "chardev/char.h"
#include "monitor/monitor.h"
#include "net/net.h"
#include "util/error.h"
#include "util/fdset.h"
#include "util/keyval.h"

static int add_fd(const struct config_item *item, GError **err)
{
	u64 fd = 0, set = 0;
	const char *opaque = keyval_str(item->opts, "opaque");
	int dup_fd;

	if (keyval_u64(item->opts, "fd", &fd, err) || keyval_u64(item->opts, "set", &set, err)) {
		if (err && !*err)
			error_set(err, "-add-fd %s: needs fd= and set=", item->text);
		return -EINVAL;
	}
	if (fd < 3 || fd > INT_MAX) {
		error_set(err, "-add-fd fd=%" PRIu64 ": descriptors 0 to 2 are in use", fd);
		return -EINVAL;
	}
	dup_fd = fcntl((int)fd, F_DUPFD_CLOEXEC, 3);
	if (dup_fd < 0) {
		error_set_errno(err, errno, "-add-fd fd=%" PRIu64 ": not an open descriptor", fd);
		return -EINVAL;
	}
	return fdset_add((s64)set, dup_fd, opaque, err) < 0 ? -EINVAL : 0;
}

int setup_chardevs(struct emulator *e, GError **err)
{
	struct config *c = e->cfg;

	for (guint i = 0; i < c->add_fds->len; i++)
		if (add_fd(g_ptr_array_index(c->add_fds, i), err))
			return -EINVAL;
	for (guint i = 0; i < c->chardevs->len; i++) {
		struct config_item *item = g_ptr_array_index(c->chardevs, i);
		g_autofree char *id = g_strdup(keyval_str(item->opts, "id"));

		if (!id) {
			error_set(err, "-chardev %s: needs id=", item->text);
			return -EINVAL;
		}
		if (!chardev_create(id, item->opts, err)) {
			g_prefix_error(err, "-chardev %s: ", item->text);
			return -EINVAL;
		}
	}
	return 0;
}

static enum monitor_mode mode_of_option(const char *option)
{
	if (!strcmp(option, "qmp"))
		return MONITOR_QMP;
	return !strcmp(option, "qmp-pretty") ? MONITOR_QMP_PRETTY : MONITOR_HMP;
}

/* -monitor, -qmp and -qmp-pretty take a device in short form. */
static int add_short(struct emulator *e, const struct config_item *item, guint n, GError **err)
{
	g_autofree char *id = g_strdup_printf("compat_monitor%u", n);
	g_autoptr(GError) why = NULL;
	struct chardev *chr = chardev_create_shorthand(id, item->text, NULL, &why);

	if (!chr && !why)
		return 0; /* "none" */
	if (!chr || !monitor_attach(e->monitors, chr, mode_of_option(item->option), &why)) {
		error_set(err, "-%s %s: %s", item->option, item->text, why->message);
		return -EINVAL;
	}
	return 0;
}

static int add_mon(struct emulator *e, const struct config_item *item, GError **err)
{
	const char *id = keyval_str(item->opts, "chardev");
	const char *mode = keyval_str(item->opts, "mode");
	struct chardev *chr = id ? chardev_find(id) : NULL;
	bool pretty = false, control = mode && !strcmp(mode, "control");

	if (mode && !control && strcmp(mode, "readline")) {
		error_set(err, "-mon mode=%s: expected 'control' or 'readline'", mode);
		return -EINVAL;
	}
	if (keyval_bool(item->opts, "pretty", &pretty, err) == -EINVAL)
		return -EINVAL;
	if (!chr) {
		error_set(err, "-mon chardev=%s: no such character device", id ? id : "");
		return -EINVAL;
	}
	if (!monitor_attach(e->monitors, chr,
			    control ? (pretty ? MONITOR_QMP_PRETTY : MONITOR_QMP) : MONITOR_HMP,
			    err)) {
		g_prefix_error(err, "-mon chardev=%s: ", id);
		return -EINVAL;
	}
	return 0;
}

int setup_monitors(struct emulator *e, GError **err)
{
	struct config *c = e->cfg;

	for (guint i = 0; i < c->monitors->len; i++)
		if (add_short(e, g_ptr_array_index(c->monitors, i), i, err))
			return -EINVAL;
	for (guint i = 0; i < c->mons->len; i++)
		if (add_mon(e, g_ptr_array_index(c->mons, i), err))
			return -EINVAL;
	return 0;
}

static int add_net(const struct config_item *item, GError **err)
{
	int ret;

	if (!strcmp(item->option, "netdev"))
		ret = net_netdev_create(item->opts, err) ? 0 : -EINVAL;
	else if (!strcmp(item->option, "nic"))
		ret = net_nic_option(item->opts, err);
	else
		ret = net_legacy_option(item->opts, err);
	if (ret < 0)
		g_prefix_error(err, "-%s %s: ", item->option, item->text);
	return ret < 0 ? -EINVAL : 0;
}

int setup_backends(struct emulator *e, GError **err)
{
	struct config *c = e->cfg;

	block_start_inactive(c->incoming != NULL);
	for (guint i = 0; i < c->blockdevs->len; i++) {
		struct config_item *item = g_ptr_array_index(c->blockdevs, i);

		if (!block_node_create(item->opts, err)) {
			g_prefix_error(err, "-blockdev %s: ", item->text);
			return -EINVAL;
		}
	}
	for (guint i = 0; i < c->drives->len; i++) {
		struct config_item *item = g_ptr_array_index(c->drives, i);

		if (!block_drive_create(item->opts, BLOCK_IF_VIRTIO, c->snapshot, err)) {
			g_prefix_error(err, "-%s %s: ", item->option, item->text);
			return -EINVAL;
		}
	}
	for (guint i = 0; i < c->nets->len; i++) {
		int ret = add_net(g_ptr_array_index(c->nets, i), err);

		if (ret)
			return ret;
	}
	return net_options_done(false, err) ? -EINVAL : 0;
}
