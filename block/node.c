/* block/node.c - nodes: registry, what devices ask, errors, activation. */
#include "block/block-priv.h"

#include "util/error.h"
#include "util/lock.h"
#include "util/log.h"

#include <assert.h>

static GList *nodes; /* in the order of creation */
static bool start_inactive;
static block_error_fn *error_notify;
static void *error_opaque;

GList *block_nodes(void)
{
	return nodes;
}

bool block_inactive_start(void)
{
	return start_inactive;
}

void block_start_inactive(bool inactive)
{
	start_inactive = inactive;
}

/* ---- Registry ---- */

struct block_backend *block_find(const char *name)
{
	if (!name || !name[0])
		return NULL;
	for (GList *l = nodes; l; l = l->next) {
		struct block_backend *b = l->data;

		if (!strcmp(b->id, name) || !strcmp(b->node_name, name))
			return b;
	}
	return NULL;
}

int node_check_name(const char *name, GError **err)
{
	if (!g_ascii_isalpha(name[0]) ||
	    strspn(name, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "-._") != strlen(name)) {
		error_set(err,
			  "disk name '%s' must start with a letter and hold only letters, "
			  "digits, '-', '.' and '_'",
			  name);
		return -EINVAL;
	}
	if (block_find(name)) {
		error_set(err, "a disk or node named '%s' exists already", name);
		return -EEXIST;
	}
	return 0;
}

struct block_backend *node_new(const char *id, const char *node_name, const char *driver)
{
	static unsigned counter;
	struct block_backend *b = g_new0(struct block_backend, 1);

	b->id = g_strdup(id ? id : "");
	b->node_name = node_name ? g_strdup(node_name) : g_strdup_printf("#block%03u", counter++);
	b->driver = driver;
	b->write_cache = true;
	b->werror = POLICY_ENOSPC;
	return b;
}

void node_register(struct block_backend *b)
{
	nodes = g_list_append(nodes, b);
	b->last_size = block_size(b);
}

static void drop_child(struct block_backend *child, bool own)
{
	if (!child)
		return;
	child->parent = NULL;
	if (own)
		node_destroy(child);
}

void node_destroy(struct block_backend *b)
{
	throttle_leave(b);
	if (b->fmt)
		b->fmt->ops->close(b->fmt);
	overlay_free(b->overlay);
	if (b->img)
		image_unref(b->img);
	drop_child(b->child, b->own_child);
	drop_child(b->backing, b->own_backing);
	nodes = g_list_remove(nodes, b);
	g_free(b->id);
	g_free(b->node_name);
	g_free(b->serial);
	g_free(b->qdev);
	g_free(b);
}

int block_node_remove(const char *name, GError **err)
{
	struct block_backend *b = block_find(name);

	if (!b) {
		error_set(err, "there is no node '%s'", name);
		return -ENOENT;
	}
	if (b->user || b->parent || b->is_drive) {
		error_set(err, "node '%s' is in use by %s", name,
			  b->user     ? b->qdev
			  : b->parent ? b->parent->node_name
				      : "-drive");
		return -EBUSY;
	}
	block_drain(b);
	node_destroy(b);
	return 0;
}

/* ---- What devices ask ---- */

const char *block_id(const struct block_backend *b)
{
	return b->id;
}

const char *block_node_name(const struct block_backend *b)
{
	return b->node_name;
}

const char *block_name(const struct block_backend *b)
{
	return b->id[0] ? b->id : b->node_name;
}

u64 block_size(const struct block_backend *b)
{
	if (b->fmt)
		return b->fmt->size;
	if (!b->img || b->base > b->img->size)
		return 0;
	return b->limit ? b->limit : b->img->size - b->base;
}

bool block_inserted(const struct block_backend *b)
{
	return b->img != NULL;
}

bool block_read_only(const struct block_backend *b)
{
	return b->read_only;
}

bool block_is_cdrom(const struct block_backend *b)
{
	return b->cdrom;
}

const char *block_serial(const struct block_backend *b)
{
	return b->serial;
}

bool block_can_discard(const struct block_backend *b)
{
	return b->img && b->unmap && (b->fmt || b->img->o.unmap) && !b->read_only;
}

bool block_write_cache(const struct block_backend *b)
{
	return b->write_cache;
}

void block_set_write_cache(struct block_backend *b, bool on)
{
	b->write_cache = on;
}

unsigned block_logical_size(const struct block_backend *b)
{
	return b->img ? MAX(b->img->align, BLOCK_SECTOR) : BLOCK_SECTOR;
}

/* ---- Owner ---- */

static int load(struct block_backend *b, GError **err)
{
	int ret;

	if (!b->fmt || b->fmt->loaded || !b->img->active || b->img->want == IMAGE_UNUSED)
		return 0;
	ret = b->fmt->ops->load(b->fmt, b->img->want == IMAGE_WRITE, err);
	b->fmt->loaded = !ret;
	return ret;
}

static int unload(struct block_backend *b, GError **err)
{
	int ret;

	if (!b->fmt || !b->fmt->loaded)
		return 0;
	ret = b->fmt->ops->unload(b->fmt, err);
	b->fmt->loaded = ret != 0;
	return ret;
}

void node_release(struct block_backend *b)
{
	g_autoptr(GError) why = NULL;

	if (!b->img)
		return;
	if (unload(b, &why)) {
		/* The locks stay: the file lacks what only this process knows. */
		log_warn("disk '%s': %s", block_name(b), why->message);
		return;
	}
	image_release(b->img, IMAGE_UNUSED);
	if (b->backing)
		node_release(b->backing);
}

int node_require(struct block_backend *b, enum image_use want, GError **err)
{
	bool used = b->img && b->img->want != IMAGE_UNUSED;
	int ret = 0;

	if (!b->img)
		return 0;
	if (b->backing)
		ret = node_require(b->backing, IMAGE_READ, err);
	if (!ret)
		ret = image_require(b->img, b->overlay ? IMAGE_READ : want, err);
	if (!ret)
		ret = load(b, err);
	if (ret && !used)
		node_release(b);
	return ret;
}

int block_attach(struct block_backend *b, const struct block_user *user, bool writable,
		 GError **err)
{
	struct block_user *copy;
	int ret;

	if (b->user || b->parent) {
		error_set(err, "disk '%s' is in use by %s already", block_name(b),
			  b->user ? b->qdev : b->parent->node_name);
		return -EBUSY;
	}
	if (writable && b->read_only) {
		error_set(err,
			  "disk '%s' is read-only (by its options, or because we may not write "
			  "the file), and the device writes",
			  block_name(b));
		return -EROFS;
	}
	ret = node_require(b, b->read_only || !writable ? IMAGE_READ : IMAGE_WRITE, err);
	if (ret)
		return ret;
	copy = g_memdup2(user, sizeof(*user));
	g_free(b->qdev);
	b->qdev = g_strdup(user->qdev ? user->qdev : "a device");
	copy->qdev = b->qdev;
	b->user = copy;
	return 0;
}

void block_detach(struct block_backend *b)
{
	block_drain(b);
	g_free((void *)b->user);
	b->user = NULL;
	if (b->is_drive)
		return;
	/* The limits of a -drive are its own, those of a node belong to the device that goes. */
	throttle_leave(b);
	node_release(b);
}

const char *block_qdev(const struct block_backend *b)
{
	return b->user ? b->qdev : "";
}

/* ---- Errors ---- */

enum block_error_action block_error(struct block_backend *b, bool is_read, int errnum)
{
	enum block_error_action action;

	switch (is_read ? b->rerror : b->werror) {
	case POLICY_IGNORE: action = BLOCK_ERROR_IGNORE; break;
	case POLICY_STOP: action = BLOCK_ERROR_STOP; break;
	case POLICY_ENOSPC:
		action = errnum == ENOSPC ? BLOCK_ERROR_STOP : BLOCK_ERROR_REPORT;
		break;
	default: action = BLOCK_ERROR_REPORT; break;
	}
	/* The first error is the one to tell. */
	if (action == BLOCK_ERROR_STOP && b->io_status == BLOCK_IO_OK)
		b->io_status = errnum == ENOSPC ? BLOCK_IO_NOSPACE : BLOCK_IO_FAILED;
	if (error_notify)
		error_notify(error_opaque, b, is_read, errnum, action);
	return action;
}

static int parse_policy(const char *key, const char *value, bool is_read, int fallback,
			GError **err)
{
	static const char *const names[] = { "report", "stop", "ignore", "enospc" };

	if (!value)
		return fallback;
	if (!strcmp(value, "auto"))
		return is_read ? POLICY_REPORT : POLICY_ENOSPC;
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(value, names[i]) && !(is_read && i == POLICY_ENOSPC))
			return i;
	}
	error_set(err, "'%s=%s': expected report, stop, ignore%s or auto", key, value,
		  is_read ? "" : ", enospc");
	return -EINVAL;
}

int block_set_error_policy(struct block_backend *b, const char *rerror, const char *werror,
			   GError **err)
{
	int r = parse_policy("rerror", rerror, true, b->rerror, err), w;

	if (r < 0)
		return r;
	w = parse_policy("werror", werror, false, b->werror, err);
	if (w < 0)
		return w;
	b->rerror = r;
	b->werror = w;
	return 0;
}

void block_error_notify(block_error_fn *fn, void *opaque)
{
	error_notify = fn;
	error_opaque = opaque;
}

enum block_io_status block_io_status(const struct block_backend *b)
{
	return b->io_status;
}

void block_reset_io_status(struct block_backend *b)
{
	b->io_status = BLOCK_IO_OK;
}

/* ---- Migration ---- */

void node_tell_size(struct block_backend *b)
{
	u64 size = block_size(b);

	if (size == b->last_size)
		return;
	b->last_size = size;
	if (b->user && b->user->resized)
		b->user->resized(b->user->opaque);
}

int block_activate_all(GError **err)
{
	for (GList *l = nodes; l; l = l->next) {
		struct block_backend *b = l->data;
		int ret = b->img ? image_activate(b->img, err) : 0;

		if (ret)
			return ret;
	}
	/* A backing file is in the list before what lies above it. */
	for (GList *l = nodes; l; l = l->next) {
		int ret = load(l->data, err);

		if (ret)
			return ret;
	}
	start_inactive = false;
	for (GList *l = nodes; l; l = l->next)
		node_tell_size(l->data);
	return 0;
}

int block_inactivate_all(GError **err)
{
	int ret = 0;

	block_drain_all();
	for (GList *l = nodes; l && !ret; l = l->next)
		ret = unload(l->data, err);
	for (GList *l = nodes; l && !ret; l = l->next) {
		struct block_backend *b = l->data;

		ret = b->img ? image_inactivate(b->img, err) : 0;
	}
	/* Those before it come back; nobody else can have taken them yet. */
	if (ret)
		block_activate_all(NULL);
	return ret;
}

/* ---- Queries ---- */

void block_get_info(struct block_backend *b, struct block_info *out)
{
	const struct image *img = b->img;

	*out = (struct block_info){
		.id = b->id,
		.node_name = b->node_name,
		.qdev = b->user ? b->qdev : NULL,
		.driver = img ? b->driver : NULL,
		.filename = img ? img->o.filename : NULL,
		.child = b->child ? b->child->node_name : NULL,
		.backing = b->backing,
		.size = block_size(b),
		.read_only = b->read_only,
		.active = img && img->active,
		.cdrom = b->cdrom,
		.no_flush = img && img->o.no_flush,
		.direct = img && img->o.direct,
		.write_cache = b->write_cache,
		.attached = b->user != NULL,
		.snapshot = b->overlay != NULL,
		.is_child = b->parent != NULL,
		.io_status = b->io_status,
		.detect_zeroes = b->detect_zeroes,
	};

	if (b->fmt)
		b->fmt->ops->info(b->fmt, out);
}

void block_foreach(void (*fn)(struct block_backend *b, const struct block_info *info, void *opaque),
		   void *opaque)
{
	for (GList *l = nodes; l; l = l->next) {
		struct block_info info;

		block_get_info(l->data, &info);
		fn(l->data, &info, opaque);
	}
}
