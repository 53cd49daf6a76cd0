/*
 * block/opts.c - nodes from -blockdev and blockdev-add.
 *
 * Source: BlockdevOptions in QEMU's QMP reference.
 */
#include "block/block-priv.h"
#include "block/qcow2/qcow2.h"

#include "util/error.h"
#include "util/keyval.h"

/* What every node takes, beside what its driver does. */
struct common {
	char *node_name;
	bool read_only, auto_read_only, force_share, inactive;
	bool has_auto, has_direct, has_no_flush;
	bool direct, no_flush, has_unmap, unmap;
	int detect_zeroes;
};

/* Return: index of the value, @fallback if absent, -EINVAL with @err. */
static int take_enum(JsonObject *o, const char *key, const char *const *names, int fallback,
		     GError **err)
{
	g_autofree char *value = keyval_take_str(o, key);
	g_autofree char *list = NULL;

	if (!value)
		return fallback;
	for (int i = 0; names[i]; i++) {
		if (!strcmp(value, names[i]))
			return i;
	}
	list = g_strjoinv(", ", (char **)names);
	error_set(err, "'%s=%s': expected one of %s", key, value, list);
	return -EINVAL;
}

static int take_cache(JsonObject *opts, struct common *c, GError **err)
{
	JsonNode *n = json_object_get_member(opts, "cache");
	g_autoptr(JsonObject) o = NULL;
	int ret;

	if (!n)
		return 0;
	if (!JSON_NODE_HOLDS_OBJECT(n)) {
		error_set(err,
			  "'cache=%s' is for -drive; a node has cache.direct and "
			  "cache.no-flush",
			  keyval_str(opts, "cache"));
		return -EINVAL;
	}
	o = json_object_ref(json_node_get_object(n));
	json_object_remove_member(opts, "cache");
	ret = keyval_take_bool(o, "direct", &c->direct, err);
	c->has_direct = !ret;
	if (ret != -EINVAL) {
		ret = keyval_take_bool(o, "no-flush", &c->no_flush, err);
		c->has_no_flush = !ret;
	}
	return ret == -EINVAL ? ret : keyval_reject_rest(o, "cache", err);
}

static int take_discard(JsonObject *o, struct common *c, GError **err)
{
	static const char *const names[] = { "ignore", "off", "unmap", "on", NULL };
	int v = take_enum(o, "discard", names, -ENOENT, err);

	if (v == -EINVAL)
		return v;
	c->has_unmap = v >= 0;
	c->unmap = v >= 2;
	return 0;
}

static int take_common(JsonObject *o, struct common *c, GError **err)
{
	static const char *const zeroes[] = { "off", "on", "unmap", NULL };
	bool active = true;
	int ret;

	c->node_name = keyval_take_str(o, "node-name");
	if (c->node_name && node_check_name(c->node_name, err))
		return -EINVAL;
	ret = keyval_take_bool(o, "auto-read-only", &c->auto_read_only, err);
	c->has_auto = !ret;
	if (ret == -EINVAL || keyval_take_bool(o, "read-only", &c->read_only, err) == -EINVAL ||
	    keyval_take_bool(o, "force-share", &c->force_share, err) == -EINVAL ||
	    keyval_take_bool(o, "active", &active, err) == -EINVAL || take_cache(o, c, err) ||
	    take_discard(o, c, err))
		return -EINVAL;
	c->inactive = !active;
	c->detect_zeroes = take_enum(o, "detect-zeroes", zeroes, BLOCK_ZEROES_OFF, err);
	if (c->detect_zeroes < 0)
		return -EINVAL;
	if (c->detect_zeroes == BLOCK_ZEROES_UNMAP && !c->unmap) {
		error_set(err, "detect-zeroes=unmap needs discard=unmap");
		return -EINVAL;
	}
	if (c->force_share && !c->read_only) {
		error_set(err, "force-share=on needs read-only=on");
		return -EINVAL;
	}
	return 0;
}

static void apply_common(struct block_backend *b, const struct common *c)
{
	b->read_only = c->read_only;
	b->detect_zeroes = c->detect_zeroes;
	b->unmap = c->unmap;
}

/* ---- Protocols ---- */

static int take_file(JsonObject *o, struct image_opts *io, GError **err)
{
	static const char *const aios[] = { "threads", "native", "io_uring", NULL };
	static const char *const modes[] = { "auto", "on", "off", NULL };
	int aio = take_enum(o, "aio", aios, -ENOENT, err), mode;

	if (aio == -EINVAL)
		return aio;
	io->aio = aio < 0 ? AIO_AUTO : AIO_THREADS + aio;
	mode = take_enum(o, "locking", modes, LOCKING_AUTO, err);
	if (mode < 0)
		return mode;
	io->locking = mode;
	if (io->kind == IMAGE_NULL) {
		io->null_size = GiB;
		return keyval_take_size(o, "size", 'B', &io->null_size, err) == -EINVAL ? -EINVAL
											: 0;
	}
	io->filename = keyval_take_str(o, "filename");
	if (!io->filename || !io->filename[0]) {
		error_set(err, "a %s node needs filename=",
			  io->kind == IMAGE_FILE ? "file" : "host_device");
		return -EINVAL;
	}
	if (io->aio == AIO_NATIVE && !io->direct) {
		error_set(err, "'%s': aio=native needs cache.direct=on (cache=none)", io->filename);
		return -EINVAL;
	}
	return 0;
}

static const char *const kind_names[] = { "file", "host_device", "null-co" };

static struct block_backend *protocol_node(enum image_kind kind, JsonObject *o, GError **err)
{
	struct common c = { 0 };
	struct image_opts io = { .kind = kind };
	struct block_backend *b = NULL;
	struct image *img = NULL;
	int ret = take_common(o, &c, err);

	io.read_only = c.read_only;
	io.auto_read_only = c.auto_read_only;
	io.force_share = c.force_share;
	io.direct = c.direct;
	io.no_flush = c.no_flush;
	io.unmap = c.unmap;
	if (!ret)
		ret = take_file(o, &io, err);
	if (!ret)
		ret = keyval_reject_rest(o, kind_names[kind], err);
	if (!ret)
		img = image_open(&io, c.inactive || block_inactive_start(), err);
	if (img) {
		b = node_new(NULL, c.node_name, kind_names[kind]);
		apply_common(b, &c);
		b->img = img;
		node_register(b);
	}
	image_opts_clear(&io);
	g_free(c.node_name);
	return b;
}

/* ---- What lies below raw and qcow2 ---- */

static void inherit(JsonObject *child, const char *key, bool value)
{
	if (!json_object_has_member(child, key))
		json_object_set_boolean_member(child, key, value);
}

/* An inline file node takes from the node above what it does not say itself. */
static struct block_backend *inline_child(JsonObject *o, const struct common *c, GError **err)
{
	g_autoptr(JsonObject) opts = json_object_new();
	JsonObject *cache;

	keyval_merge(opts, o);
	inherit(opts, "read-only", c->read_only);
	if (c->has_auto)
		inherit(opts, "auto-read-only", c->auto_read_only);
	if (c->force_share)
		inherit(opts, "force-share", true);
	if (!json_object_has_member(opts, "discard"))
		json_object_set_string_member(opts, "discard", "unmap");
	if (!json_object_has_member(opts, "cache"))
		json_object_set_object_member(opts, "cache", json_object_new());
	if (JSON_NODE_HOLDS_OBJECT(json_object_get_member(opts, "cache"))) {
		cache = json_object_get_object_member(opts, "cache");
		if (c->has_direct)
			inherit(cache, "direct", c->direct);
		if (c->has_no_flush)
			inherit(cache, "no-flush", c->no_flush);
	}
	if (c->inactive)
		inherit(opts, "active", false);
	return node_from_opts(opts, err);
}

static struct block_backend *find_child(const char *name, GError **err)
{
	struct block_backend *child = block_find(name);

	if (!child)
		error_set(err, "there is no node '%s'", name);
	else if (child->user || child->parent || child->is_drive)
		error_set(err, "node '%s' is in use already", name);
	else
		return child;
	return NULL;
}

static int check_child(struct block_backend *child, const char *driver, const struct common *c,
		       GError **err)
{
	const struct image_opts *io = &child->img->o;

	if (child->child) {
		error_set(err, "'%s' is a %s node; a %s node lies above a file or host_device node",
			  child->node_name, child->driver, driver);
		return -EINVAL;
	}
	if ((c->has_direct && c->direct != io->direct) ||
	    (c->has_no_flush && c->no_flush != io->no_flush)) {
		error_set(err, "the cache options of a %s node and its file node '%s' must agree",
			  driver, child->node_name);
		return -EINVAL;
	}
	if (!c->read_only && child->read_only) {
		error_set(err, "file node '%s' is read-only, so the %s node needs read-only=on",
			  child->node_name, driver);
		return -EROFS;
	}
	return 0;
}

static int take_range(JsonObject *o, struct block_backend *b, GError **err)
{
	u64 size = b->img->size;

	if (keyval_take_size(o, "offset", 'B', &b->base, err) == -EINVAL ||
	    keyval_take_size(o, "size", 'B', &b->limit, err) == -EINVAL)
		return -EINVAL;
	if (!IS_ALIGNED(b->base | b->limit, BLOCK_SECTOR)) {
		error_set(err, "offset= and size= of a raw node must be multiples of 512");
		return -EINVAL;
	}
	if (b->base > size || b->limit > size - b->base) {
		error_set(err,
			  "offset=%" PRIu64 ",size=%" PRIu64 " lies beyond the end (%" PRIu64
			  ") of '%s'",
			  b->base, b->limit, size, b->img->o.filename);
		return -EINVAL;
	}
	return keyval_reject_rest(o, "raw", err);
}

static struct block_backend *take_child(JsonObject *o, const char *driver, const struct common *c,
					bool *own, GError **err)
{
	JsonNode *n = json_object_get_member(o, "file");
	g_autoptr(JsonNode) file = n ? json_node_copy(n) : NULL;

	if (!file) {
		error_set(err, "a %s node needs file=", driver);
		return NULL;
	}
	json_object_remove_member(o, "file");
	*own = JSON_NODE_HOLDS_OBJECT(file);
	if (*own)
		return inline_child(json_node_get_object(file), c, err);
	if (JSON_NODE_HOLDS_VALUE(file) && json_node_get_value_type(file) == G_TYPE_STRING)
		return find_child(json_node_get_string(file), err);
	error_set(err, "the file of a %s node is the name of a node or an object", driver);
	return NULL;
}

/* What raw and format nodes have in common; not registered. */
static struct block_backend *node_above(const char *driver, JsonObject *o, struct common *c,
					GError **err)
{
	struct block_backend *b, *child = NULL;
	bool own = false;

	if (!take_common(o, c, err))
		child = take_child(o, driver, c, &own, err);
	if (!child)
		return NULL;
	b = node_new(NULL, c->node_name, driver);
	apply_common(b, c);
	b->child = child;
	b->own_child = own;
	child->parent = b;
	b->img = image_ref(child->img);
	if (check_child(child, driver, c, err)) {
		node_destroy(b);
		return NULL;
	}
	return b;
}

/* The node if @ret is 0; else it is destroyed. */
static struct block_backend *finish_node(struct block_backend *b, struct common *c, int ret)
{
	g_free(c->node_name);
	if (ret) {
		node_destroy(b);
		return NULL;
	}
	node_register(b);
	return b;
}

static struct block_backend *raw_node(JsonObject *o, GError **err)
{
	struct common c = { 0 };
	struct block_backend *b = node_above("raw", o, &c, err);

	if (b)
		return finish_node(b, &c, take_range(o, b, err));
	g_free(c.node_name);
	return NULL;
}

/* ---- qcow2 ---- */

/* A relative name is one beside the image that says it. Return: NULL with @err. */
static char *backing_path(const struct image *img, const char *name, GError **err)
{
	g_autofree char *dir = NULL;

	if (g_path_is_absolute(name))
		return g_strdup(name);
	if (g_str_has_prefix(img->o.filename, "/dev/fdset/")) {
		error_set(err,
			  "the name '%s' of the backing file is relative to an image that came as "
			  "a descriptor: give backing=",
			  name);
		return NULL;
	}
	dir = g_path_get_dirname(img->o.filename);
	return g_build_filename(dir, name, NULL);
}

/* Options of the node that the image's header asks for; NULL with @err. */
static JsonObject *implied_backing(const struct block_backend *b, const struct block_info *info,
				   GError **err)
{
	const char *name = info->backing_name, *format = info->backing_format;
	g_autoptr(JsonObject) o = NULL;
	g_autoptr(JsonObject) file = json_object_new();
	g_autoptr(JsonObject) cache = json_object_new();
	g_autofree char *path = NULL;

	if (g_str_has_prefix(name, "json:"))
		return keyval_parse(name + strlen("json:"), NULL, err);
	if (g_str_has_prefix(name, "file:"))
		name += strlen("file:");
	if (probe_set_filename(file, name, err))
		return NULL;
	json_object_remove_member(file, "driver");
	path = backing_path(b->img, name, err);
	if (!path)
		return NULL;
	json_object_set_string_member(file, "filename", path);
	probe_set_driver(file);
	if (!format)
		format = probe_guess(path, false, err);
	if (!format)
		return NULL;
	if (!strcmp(format, "file") || !strcmp(format, "host_device"))
		format = "raw";
	json_object_set_boolean_member(cache, "direct", b->img->o.direct);
	json_object_set_boolean_member(cache, "no-flush", b->img->o.no_flush);
	json_object_set_object_member(file, "cache", g_steal_pointer(&cache));
	o = json_object_new();
	json_object_set_string_member(o, "driver", format);
	json_object_set_object_member(o, "file", g_steal_pointer(&file));
	return g_steal_pointer(&o);
}

/* An inline or implied node is only read. */
static struct block_backend *own_backing(JsonObject *given, GError **err)
{
	enum { DEPTH_MAX = 200 };
	static unsigned depth; /* an image may name itself, or one above it */
	g_autoptr(JsonObject) o = json_object_new();
	struct block_backend *b;

	if (depth == DEPTH_MAX) {
		error_set(err, "more than %u backing files one below the other", DEPTH_MAX);
		return NULL;
	}
	keyval_merge(o, given);
	json_object_set_boolean_member(o, "read-only", true);
	depth++;
	b = node_from_opts(o, err);
	depth--;
	if (!b)
		g_prefix_error(err, "backing file: ");
	return b;
}

static int open_backing(struct block_backend *b, JsonNode *given, GError **err)
{
	struct block_info info;
	g_autoptr(JsonObject) o = NULL;

	if (given && JSON_NODE_HOLDS_NULL(given))
		return 0;
	if (given && JSON_NODE_HOLDS_VALUE(given)) {
		/* What -drive and libvirt's older forms say for null. */
		if (!json_node_get_string(given) || !*json_node_get_string(given))
			return 0;
		b->backing = find_child(json_node_get_string(given), err);
	} else if (given && !JSON_NODE_HOLDS_OBJECT(given)) {
		error_set(err, "the backing of a qcow2 node is the name of a node, an object or "
			       "null");
		return -EINVAL;
	} else if (given) {
		b->backing = own_backing(json_node_get_object(given), err);
		b->own_backing = true;
	} else {
		block_get_info(b, &info);
		if (!info.backing_name)
			return 0;
		o = implied_backing(b, &info, err);
		if (o)
			b->backing = own_backing(o, err);
		b->own_backing = true;
	}
	if (!b->backing)
		return -EINVAL;
	b->backing->parent = b;
	return 0;
}

static int finish_qcow2(struct block_backend *b, JsonObject *o, JsonNode *backing, GError **err)
{
	b->fmt = qcow2_open(b, o, err);
	if (!b->fmt || keyval_reject_rest(o, "qcow2", err))
		return -EINVAL;
	return open_backing(b, backing, err);
}

static struct block_backend *qcow2_node(JsonObject *o, GError **err)
{
	struct common c = { 0 };
	JsonNode *n = json_object_get_member(o, "backing");
	g_autoptr(JsonNode) backing = n ? json_node_copy(n) : NULL;
	struct block_backend *b;

	if (n)
		json_object_remove_member(o, "backing");
	b = node_above("qcow2", o, &c, err);
	if (b)
		return finish_node(b, &c, finish_qcow2(b, o, backing, err));
	g_free(c.node_name);
	return NULL;
}

struct block_backend *node_from_opts(JsonObject *o, GError **err)
{
	static const struct {
		const char *driver;
		enum image_kind kind;
	} protocols[] = {
		{ "file", IMAGE_FILE },
		{ "host_device", IMAGE_HOST_DEVICE },
		{ "host_cdrom", IMAGE_HOST_DEVICE },
		{ "null-co", IMAGE_NULL },
		{ "null-aio", IMAGE_NULL },
	};
	g_autofree char *driver = keyval_take_str(o, "driver");

	if (!driver) {
		error_set(err, "a block node needs driver=");
		return NULL;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(protocols); i++) {
		if (!strcmp(driver, protocols[i].driver))
			return protocol_node(protocols[i].kind, o, err);
	}
	if (!strcmp(driver, "raw"))
		return raw_node(o, err);
	if (!strcmp(driver, "qcow2"))
		return qcow2_node(o, err);
	error_set(err,
		  "block driver '%s' is not supported; there are raw, qcow2, file, host_device "
		  "and null-co",
		  driver);
	return NULL;
}

struct block_backend *block_node_create(JsonObject *opts, GError **err)
{
	g_autoptr(JsonObject) o = json_object_new();

	keyval_merge(o, opts);
	return node_from_opts(o, err);
}
