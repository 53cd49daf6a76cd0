/* system/qmp/char.c - commands about character devices. */
#include "qapi/gen/char.h"

#include "chardev/char.h"
#include "util/error.h"
#include "util/keyval.h"

static void add_info(const char *id, const char *filename, bool open, void *opaque)
{
	struct qapi_chardev_info *info = g_new0(struct qapi_chardev_info, 1);

	info->label = g_strdup(id);
	info->filename = g_strdup(filename);
	info->frontend_open = open;
	g_ptr_array_add(opaque, info);
}

GPtrArray *qmp_query_chardev(struct machine *m, GError **err)
{
	GPtrArray *list = qapi_chardev_info_list_new();

	chardev_foreach(add_info, list);
	return list;
}

GPtrArray *qmp_query_chardev_backends(struct machine *m, GError **err)
{
	GPtrArray *list = qapi_chardev_backend_info_list_new();
	g_autofree const char **names = chardev_types();

	for (const char **n = names; *n; n++) {
		struct qapi_chardev_backend_info *info =
			g_new0(struct qapi_chardev_backend_info, 1);

		info->name = g_strdup(*n);
		g_ptr_array_add(list, info);
	}
	return list;
}

static struct chardev *find(const char *id, GError **err)
{
	struct chardev *c = chardev_find(id);

	if (!c)
		error_set(err, "Chardev '%s' not found", id);
	return c;
}

struct qapi_chardev_return *qmp_chardev_add(struct machine *m, JsonObject *args, GError **err)
{
	const char *id = json_object_get_string_member(args, "id"), *filename;
	struct chardev *c =
		chardev_create_qmp(id, json_object_get_object_member(args, "backend"), err);
	struct qapi_chardev_return *ret;

	if (!c)
		return NULL;
	ret = g_new0(struct qapi_chardev_return, 1);
	filename = chardev_filename(c);
	if (g_str_has_prefix(filename, "pty:"))
		ret->pty = g_strdup(filename + strlen("pty:"));
	return ret;
}

void qmp_chardev_remove(struct machine *m, const struct qapi_chardev_remove_args *args,
			GError **err)
{
	struct chardev *c = find(args->id, err);

	if (!c)
		return;
	if (chardev_in_use(c))
		error_set(err, "Chardev '%s' is busy", args->id);
	else
		chardev_remove(c);
}

void qmp_chardev_send_break(struct machine *m, const struct qapi_chardev_send_break_args *args,
			    GError **err)
{
	struct chardev *c = find(args->id, err);

	if (c)
		chardev_send_break(c);
}

void qmp_ringbuf_write(struct machine *m, const struct qapi_ringbuf_write_args *args, GError **err)
{
	struct chardev *c = find(args->device, err);
	g_autofree u8 *decoded = NULL;
	const void *data = args->data;
	gsize len = strlen(args->data);

	if (!c)
		return;
	if (args->has_format && args->format == QAPI_DATA_FORMAT_BASE64)
		data = decoded = g_base64_decode(args->data, &len);
	chardev_ringbuf_write(c, data, len, err);
}

char *qmp_ringbuf_read(struct machine *m, const struct qapi_ringbuf_read_args *args, GError **err)
{
	struct chardev *c = find(args->device, err);
	g_autoptr(GByteArray) bytes = NULL;

	if (!c)
		return NULL;
	if (args->size <= 0) {
		error_set(err, "Parameter 'size' expects a value greater than zero");
		return NULL;
	}
	bytes = chardev_ringbuf_read(c, args->size, err);
	if (!bytes)
		return NULL;
	if (args->has_format && args->format == QAPI_DATA_FORMAT_BASE64)
		return g_base64_encode(bytes->data, bytes->len);
	/* The answer is text: what is no UTF-8 is replaced. */
	return g_utf8_make_valid((const char *)bytes->data, bytes->len);
}
