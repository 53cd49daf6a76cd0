/* block/drive.c - -drive: the old one-line form, and where the machine is to plug the disk. */
#include "block/block-priv.h"

#include "util/error.h"
#include "util/keyval.h"

static GList *drives; /* of struct block_drive, in the order of creation */

static const struct {
	const char *name;
	int units; /* a bus; 0: all on one */
} interfaces[BLOCK_IFS] = {
	[BLOCK_IF_NONE] = { "none", 0 },     [BLOCK_IF_IDE] = { "ide", 2 },
	[BLOCK_IF_SCSI] = { "scsi", 7 },     [BLOCK_IF_FLOPPY] = { "floppy", 0 },
	[BLOCK_IF_PFLASH] = { "pflash", 0 }, [BLOCK_IF_MTD] = { "mtd", 0 },
	[BLOCK_IF_SD] = { "sd", 0 },         [BLOCK_IF_VIRTIO] = { "virtio", 0 },
};

const char *block_interface_name(enum block_interface t)
{
	return interfaces[t].name;
}

/* ---- The format ---- */

struct drive_opts {
	bool snapshot, read_only, auto_read_only, cdrom, write_cache;
	char *format, *filename;
};

/* Return: the driver that was asked for or found; NULL with @err. */
static const char *choose_format(const struct drive_opts *d, const char *filename, bool *probed,
				 GError **err)
{
	const char *format = d->format;
	static const char *const known[] = { "raw", "qcow2" };

	if (!format) {
		format = filename ? probe_guess(filename, !d->read_only && !d->snapshot, err)
				  : "raw";
		*probed = format && filename && !strcmp(format, "raw");
		return format;
	}
	if (!strcmp(format, "host_device"))
		return "raw";
	for (unsigned i = 0; i < ARRAY_SIZE(known); i++) {
		if (!strcmp(format, known[i]))
			return known[i];
	}
	error_set(err,
		  "'format=%s' is not supported: raw and qcow2 are; 'qemu-img convert -O qcow2' "
		  "makes one",
		  format);
	return NULL;
}

/* ---- cache= ---- */

static int take_cache(JsonObject *o, JsonObject *node, bool *write_cache, GError **err)
{
	static const struct {
		const char *name;
		bool direct, no_flush, write_cache;
	} modes[] = {
		{ "none", true, false, true },        { "off", true, false, true },
		{ "writeback", false, false, true },  { "writethrough", false, false, false },
		{ "directsync", true, false, false }, { "unsafe", false, true, true },
	};
	JsonNode *n = json_object_get_member(o, "cache");
	g_autoptr(JsonObject) sub = json_object_new();
	g_autofree char *mode = keyval_take_str(o, "cache");

	if (n && json_object_has_member(o, "cache") && JSON_NODE_HOLDS_OBJECT(n)) {
		keyval_merge(sub, json_node_get_object(n));
		json_object_remove_member(o, "cache");
	}
	if (keyval_take_bool(sub, "writeback", write_cache, err) == -EINVAL)
		return -EINVAL;
	for (unsigned i = 0; mode && i < ARRAY_SIZE(modes); i++) {
		if (strcmp(mode, modes[i].name))
			continue;
		json_object_set_boolean_member(sub, "direct", modes[i].direct);
		json_object_set_boolean_member(sub, "no-flush", modes[i].no_flush);
		*write_cache = modes[i].write_cache;
		g_clear_pointer(&mode, g_free);
	}
	if (mode) {
		error_set(err,
			  "'cache=%s': expected none, writeback, writethrough, directsync or "
			  "unsafe",
			  mode);
		return -EINVAL;
	}
	json_object_set_object_member(node, "cache", json_object_ref(sub));
	return 0;
}

/* ---- The node ---- */

/* Moves a member to the node's options, if it is there. */
static void move(JsonObject *from, const char *key, JsonObject *to, const char *new_key)
{
	g_autofree char *value = keyval_take_str(from, key);

	if (value)
		json_object_set_string_member(to, new_key, value);
}

/* The same of a member that may be an object ("backing.driver=raw"). */
static void move_any(JsonObject *from, const char *key, JsonObject *to)
{
	JsonNode *n = json_object_get_member(from, key);

	if (!n)
		return;
	json_object_set_member(to, key, json_node_copy(n));
	json_object_remove_member(from, key);
}

/* The "file" member: a text, an object ("file.locking=off"), or both. */
static JsonObject *take_file(JsonObject *o, char **filename)
{
	JsonObject *file = json_object_new();
	JsonNode *n;

	*filename = keyval_take_str(o, "file");
	n = json_object_get_member(o, "file");
	if (n && JSON_NODE_HOLDS_OBJECT(n)) {
		keyval_merge(file, json_node_get_object(n));
		json_object_remove_member(o, "file");
	}
	return file;
}

static JsonObject *node_opts(JsonObject *o, JsonObject *file, const char *driver,
			     const struct drive_opts *d)
{
	static const char *const of_raw[] = { "offset", "size" };
	static const char *const of_qcow2[] = {
		"backing",       "lazy-refcounts",      "cache-size",
		"l2-cache-size", "refcount-cache-size", "pass-discard-request"
	};
	JsonObject *node = json_object_new();
	bool base_read_only = d->read_only || d->snapshot;

	json_object_set_string_member(node, "driver", driver);
	json_object_set_boolean_member(node, "read-only", base_read_only);
	move(o, "node-name", node, "node-name");
	move(o, "discard", node, "discard");
	move(o, "detect-zeroes", node, "detect-zeroes");
	move(o, "force-share", node, "force-share");
	move(o, "aio", file, "aio");
	if (!json_object_has_member(file, "auto-read-only"))
		json_object_set_boolean_member(file, "auto-read-only", d->auto_read_only);
	for (unsigned i = 0; i < ARRAY_SIZE(of_raw) && !strcmp(driver, "raw"); i++)
		move_any(o, of_raw[i], node);
	for (unsigned i = 0; i < ARRAY_SIZE(of_qcow2) && !strcmp(driver, "qcow2"); i++)
		move_any(o, of_qcow2[i], node);
	json_object_set_object_member(node, "file", json_object_ref(file));
	return node;
}

static struct block_backend *open_medium(JsonObject *o, JsonObject *file, struct drive_opts *d,
					 GError **err)
{
	g_autoptr(JsonObject) node = NULL;
	const char *name, *driver;
	struct block_backend *b;
	bool probed = false;

	if (d->filename && g_str_has_prefix(d->filename, "json:")) {
		node = keyval_parse(d->filename + strlen("json:"), NULL, err);
		return node ? node_from_opts(node, err) : NULL;
	}
	if (d->filename && probe_set_filename(file, d->filename, err))
		return NULL;
	probe_set_driver(file);
	name = keyval_str(file, "filename");
	driver = choose_format(d, name, &probed, err);
	if (!driver)
		return NULL;
	node = node_opts(o, file, driver, d);
	if (take_cache(o, node, &d->write_cache, err))
		return NULL;
	b = node_from_opts(node, err);
	if (!b)
		return NULL;
	b->probed = probed;
	if (d->snapshot && !d->read_only) {
		b->overlay = overlay_create(block_size(b), err);
		if (!b->overlay) {
			node_destroy(b);
			return NULL;
		}
		b->read_only = false;
	}
	return b;
}

static int take_drive_opts(JsonObject *o, struct drive_opts *d, GError **err)
{
	static const char *const media[] = { "disk", "cdrom" };
	g_autofree char *text = keyval_take_str(o, "media");
	g_autofree char *driver = keyval_take_str(o, "driver");
	bool copy_on_read = false;

	if (text && strcmp(text, media[0]) && strcmp(text, media[1])) {
		error_set(err, "'media=%s': expected disk or cdrom", text);
		return -EINVAL;
	}
	d->cdrom = text && !strcmp(text, "cdrom");
	d->read_only = d->cdrom;
	d->format = keyval_take_str(o, "format");
	if (!d->format)
		d->format = g_steal_pointer(&driver);
	if (keyval_take_bool(o, "readonly", &d->read_only, err) == -EINVAL ||
	    keyval_take_bool(o, "read-only", &d->read_only, err) == -EINVAL ||
	    keyval_take_bool(o, "snapshot", &d->snapshot, err) == -EINVAL ||
	    keyval_take_bool(o, "auto-read-only", &d->auto_read_only, err) == -EINVAL ||
	    keyval_take_bool(o, "copy-on-read", &copy_on_read, err) == -EINVAL)
		return -EINVAL;
	if (copy_on_read) {
		error_set(err, "'copy-on-read=on' is not supported: what is read from a backing "
			       "file stays there");
		return -EINVAL;
	}
	return 0;
}

/* ---- Where it goes ---- */

struct block_drive *block_drive_get(enum block_interface t, int index)
{
	for (GList *l = drives; l; l = l->next) {
		struct block_drive *d = l->data;

		if (d->interface == t && d->index == index)
			return d;
	}
	return NULL;
}

struct block_drive *block_drive_next(enum block_interface t)
{
	struct block_drive *best = NULL;

	for (GList *l = drives; l; l = l->next) {
		struct block_drive *d = l->data;

		if (d->interface == t && !d->claimed && (!best || d->index < best->index))
			best = d;
	}
	return best;
}

struct block_drive *block_drive_unclaimed(void)
{
	for (GList *l = drives; l; l = l->next) {
		struct block_drive *d = l->data;

		if (d->interface != BLOCK_IF_NONE && !d->claimed && !d->backend->user)
			return d;
	}
	return NULL;
}

static int take_number(JsonObject *o, const char *key, int *out, GError **err)
{
	u64 v;
	int ret = keyval_take_u64(o, key, &v, err);

	*out = -1;
	if (ret)
		return ret == -ENOENT ? 0 : ret;
	if (v > 255) {
		error_set(err, "'%s=%" PRIu64 "' is above 255", key, v);
		return -EINVAL;
	}
	*out = v;
	return 0;
}

static int take_interface(JsonObject *o, struct block_drive *d, enum block_interface fallback,
			  GError **err)
{
	g_autofree char *text = keyval_take_str(o, "if");

	d->interface = fallback;
	if (!text)
		return 0;
	for (int i = 0; i < BLOCK_IFS; i++) {
		if (!strcmp(text, interfaces[i].name)) {
			d->interface = i;
			return 0;
		}
	}
	error_set(err, "'if=%s': expected none, ide, scsi, floppy, pflash, mtd, sd or virtio",
		  text);
	return -EINVAL;
}

static int place(JsonObject *o, struct block_drive *d, GError **err)
{
	int units = interfaces[d->interface].units;

	if (take_number(o, "index", &d->index, err) || take_number(o, "bus", &d->bus, err) ||
	    take_number(o, "unit", &d->unit, err))
		return -EINVAL;
	if (d->index >= 0 && (d->bus >= 0 || d->unit >= 0)) {
		error_set(err, "index= cannot go with bus= and unit=");
		return -EINVAL;
	}
	if (units && d->unit >= units) {
		error_set(err, "'unit=%d': a bus of '%s' has %d units", d->unit,
			  interfaces[d->interface].name, units);
		return -EINVAL;
	}
	if (d->index < 0 && (d->bus >= 0 || d->unit >= 0))
		d->index = units ? MAX(d->bus, 0) * units + MAX(d->unit, 0) : MAX(d->unit, 0);
	if (d->index < 0) {
		for (d->index = 0; block_drive_get(d->interface, d->index); d->index++)
			;
	} else if (block_drive_get(d->interface, d->index)) {
		error_set(err, "there is a drive with if=%s and index=%d already",
			  interfaces[d->interface].name, d->index);
		return -EEXIST;
	}
	return 0;
}

/* The names that drives without id= have: "virtio0", "ide0-hd1", "ide1-cd0". */
static char *default_id(const struct block_drive *d)
{
	int units = interfaces[d->interface].units;
	const char *name = interfaces[d->interface].name;

	if (!units)
		return g_strdup_printf("%s%d", name, d->index);
	return g_strdup_printf("%s%d-%s%d", name, d->index / units, d->cdrom ? "cd" : "hd",
			       d->index % units);
}

static int take_id(JsonObject *o, struct block_drive *d, char **id, GError **err)
{
	*id = keyval_take_str(o, "id");
	if (!*id)
		*id = default_id(d);
	return node_check_name(*id, err);
}

/* A drive whose file we may not write is a read-only one: flash with firmware of the system's. */
static int require(struct block_backend *b, GError **err)
{
	g_autoptr(GError) why = NULL;
	int ret = node_require(b, b->read_only ? IMAGE_READ : IMAGE_WRITE, &why);

	if ((ret == -EACCES || ret == -EPERM || ret == -EROFS) && b->img->o.auto_read_only) {
		b->read_only = true;
		return node_require(b, IMAGE_READ, err);
	}
	if (ret)
		g_propagate_error(err, g_steal_pointer(&why));
	return ret;
}

/* What is left after the medium: serial number, error policy. */
static int finish(JsonObject *o, struct block_backend *b, GError **err)
{
	g_autofree char *rerror = keyval_take_str(o, "rerror");
	g_autofree char *werror = keyval_take_str(o, "werror");

	b->serial = keyval_take_str(o, "serial");
	if (block_set_error_policy(b, rerror, werror, err) || throttle_take_opts(o, b, err) ||
	    keyval_reject_rest(o, "-drive", err))
		return -EINVAL;
	return b->img ? require(b, err) : 0;
}

static struct block_backend *drive_backend(JsonObject *o, struct block_drive *d,
					   struct drive_opts *opts, const char *id, GError **err)
{
	g_autoptr(JsonObject) file = take_file(o, &opts->filename);
	struct block_backend *b;

	if ((opts->filename && opts->filename[0]) || json_object_get_size(file)) {
		b = open_medium(o, file, opts, err);
		if (!b)
			return NULL;
		g_free(b->id);
		b->id = g_strdup(id);
	} else {
		b = node_new(id, NULL, "");
		b->read_only = opts->read_only;
		node_register(b);
	}
	b->is_drive = true;
	b->cdrom = opts->cdrom;
	b->write_cache = opts->write_cache;
	if (finish(o, b, err)) {
		node_destroy(b);
		return NULL;
	}
	return b;
}

struct block_drive *block_drive_create(JsonObject *given, enum block_interface default_if,
				       bool snapshot, GError **err)
{
	g_autoptr(JsonObject) o = json_object_new();
	struct drive_opts opts = { .snapshot = snapshot,
				   .auto_read_only = true,
				   .write_cache = true };
	struct block_drive *d = g_new0(struct block_drive, 1);
	g_autofree char *id = NULL;

	keyval_merge(o, given);
	if (!take_drive_opts(o, &opts, err) && !take_interface(o, d, default_if, err)) {
		d->cdrom = opts.cdrom;
		if (!place(o, d, err) && !take_id(o, d, &id, err))
			d->backend = drive_backend(o, d, &opts, id, err);
	}
	g_free(opts.format);
	g_free(opts.filename);
	if (!d->backend) {
		g_free(d);
		return NULL;
	}
	drives = g_list_append(drives, d);
	return d;
}
