/* hw/arm/fdt.c - building a flattened device tree (Devicetree Specification 0.4, chapter 5). */
#include "hw/arm/fdt.h"

#include <assert.h>
#include <libfdt.h>

#include "util/error.h"

static void check(int ret)
{
	if (ret < 0)
		g_error("device tree: %s", fdt_strerror(ret));
}

void *dt_new(void)
{
	void *fdt = g_malloc0(DT_BYTES);

	check(fdt_create_empty_tree(fdt, DT_BYTES));
	return fdt;
}

void *dt_load(const char *path, GError **err)
{
	g_autofree char *data = NULL;
	gsize len;
	void *fdt;
	int ret;

	if (!g_file_get_contents(path, &data, &len, err))
		return NULL;
	if (len < sizeof(struct fdt_header) || fdt_check_header(data) ||
	    fdt_totalsize(data) > len || len > DT_BYTES / 2) {
		error_set(err, "'%s' is not a device tree blob of at most %u KiB", path,
			  (unsigned)(DT_BYTES / 2 / KiB));
		return NULL;
	}
	fdt = g_malloc0(DT_BYTES);
	ret = fdt_open_into(data, fdt, DT_BYTES);
	if (ret) {
		error_set(err, "'%s': %s", path, fdt_strerror(ret));
		g_free(fdt);
		return NULL;
	}
	return fdt;
}

bool dt_has_node(const void *fdt, const char *path)
{
	return fdt_path_offset(fdt, path) >= 0;
}

static int node_at(void *fdt, const char *path)
{
	int node = fdt_path_offset(fdt, path);

	check(node);
	return node;
}

/* libfdt adds a node before its siblings. Trees that people know have them the other way round. */
void dt_node(void *fdt, const char *path)
{
	const char *name = strrchr(path, '/');
	g_autofree char *parent = g_strndup(path, name - path);

	check(fdt_add_subnode(fdt, node_at(fdt, *parent ? parent : "/"), name + 1));
}

void dt_set_bytes(void *fdt, const char *path, const char *name, const void *data, size_t len)
{
	check(fdt_setprop(fdt, node_at(fdt, path), name, data, len));
}

void dt_set_empty(void *fdt, const char *path, const char *name)
{
	dt_set_bytes(fdt, path, name, NULL, 0);
}

void dt_set_string(void *fdt, const char *path, const char *name, const char *text)
{
	dt_set_bytes(fdt, path, name, text, strlen(text) + 1);
}

void dt_set_strings(void *fdt, const char *path, const char *name, const char *const *list)
{
	g_autoptr(GString) all = g_string_new(NULL);

	for (; *list; list++)
		g_string_append_len(all, *list, strlen(*list) + 1);
	dt_set_bytes(fdt, path, name, all->str, all->len);
}

void dt_set_cell_array(void *fdt, const char *path, const char *name, const u32 *cells, size_t n)
{
	g_autofree u32 *be = g_new(u32, n);

	for (size_t i = 0; i < n; i++)
		be[i] = GUINT32_TO_BE(cells[i]);
	dt_set_bytes(fdt, path, name, be, n * sizeof(*be));
}

void dt_set_reg(void *fdt, const char *path, const char *name, u64 base, u64 size)
{
	dt_set_cells(fdt, path, name, base >> 32, (u32)base, size >> 32, (u32)size);
}

GBytes *dt_finish(void *fdt)
{
	check(fdt_pack(fdt));
	return g_bytes_new_take(fdt, fdt_totalsize(fdt));
}
