/*
 * block/opts.c - nodes from -blockdev and blockdev-add.
 *
 * Source: BlockdevOptions in QEMU's QMP reference.
 */
#include "block/block-priv.h"

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

/* ---- raw ---- */

static void inherit(JsonObject *child, const char *key, bool value)
{
	if (!json_object_has_member(child, key))
		json_object_set_boolean_member(child, key, value);
}

/* An inline file node takes from the raw node what it does not say itself. */
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

static int check_child(struct block_backend *child, const struct common *c, GError **err)
{
	const struct image_opts *io = &child->img->o;

	if (strcmp(child->driver, "raw") == 0) {
		error_set(err, "'%s' is a raw node; raw lies above a file or host_device node",
			  child->node_name);
		return -EINVAL;
	}
	if ((c->has_direct && c->direct != io->direct) ||
	    (c->has_no_flush && c->no_flush != io->no_flush)) {
		error_set(err, "the cache options of a raw node and its file node '%s' must agree",
			  child->node_name);
		return -EINVAL;
	}
	if (!c->read_only && child->read_only) {
		error_set(err, "file node '%s' is read-only, so the raw node needs read-only=on",
			  child->node_name);
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

static struct block_backend *take_child(JsonObject *o, const struct common *c, bool *own,
					GError **err)
{
	JsonNode *n = json_object_get_member(o, "file");
	g_autoptr(JsonNode) file = n ? json_node_copy(n) : NULL;

	if (!file) {
		error_set(err, "a raw node needs file=");
		return NULL;
	}
	json_object_remove_member(o, "file");
	*own = JSON_NODE_HOLDS_OBJECT(file);
	if (*own)
		return inline_child(json_node_get_object(file), c, err);
	if (JSON_NODE_HOLDS_VALUE(file) && json_node_get_value_type(file) == G_TYPE_STRING)
		return find_child(json_node_get_string(file), err);
	error_set(err, "a raw node's file is the name of a node or an object");
	return NULL;
}

static struct block_backend *raw_node(JsonObject *o, GError **err)
{
	struct common c = { 0 };
	struct block_backend *b = NULL, *child = NULL;
	bool own = false;

	if (!take_common(o, &c, err))
		child = take_child(o, &c, &own, err);
	if (child) {
		b = node_new(NULL, c.node_name, "raw");
		apply_common(b, &c);
		b->child = child;
		b->own_child = own;
		child->parent = b;
		b->img = image_ref(child->img);
		if (check_child(child, &c, err) || take_range(o, b, err)) {
			node_destroy(b);
			b = NULL;
		} else {
			node_register(b);
		}
	}
	g_free(c.node_name);
	return b;
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
	error_set(err,
		  "block driver '%s' is not supported; there are raw, file, host_device and "
		  "null-co",
		  driver);
	return NULL;
}

struct block_backend *block_node_create(JsonObject *opts, GError **err)
{
	g_autoptr(JsonObject) o = json_object_new();

	keyval_merge(o, opts);
	return node_from_opts(o, err);
}
