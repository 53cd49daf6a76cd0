/* hw/core/blob.c - memory images (kernel, initrd, tables) that every reset puts back. */
#include "hw/core/core.h"

#include "hw/machine.h"
#include "accel/vm.h"
#include "util/error.h"

struct blob {
	char *name;
	u64 gpa;
	GBytes *data;
};

static u64 blob_end(const struct blob *b)
{
	return b->gpa + g_bytes_get_size(b->data);
}

/* Whether every byte of a range is RAM that the host can write. */
static bool is_ram(struct machine *m, u64 gpa, u64 size)
{
	while (size) {
		u64 len = size;

		if (!address_space_ram(m->vm->memory, gpa, &len, true, NULL, NULL))
			return false;
		gpa += len;
		size -= len;
	}
	return true;
}

int machine_add_blob(struct machine *m, const char *name, u64 gpa, GBytes *data, GError **err)
{
	u64 size = g_bytes_get_size(data);
	struct blob *b;

	if (gpa + size < gpa || !is_ram(m, gpa, size)) {
		error_set(err,
			  "%s of %" PRIu64 " bytes at 0x%" PRIx64 " does not fit into %" PRIu64
			  " MiB of guest RAM, give more with -m",
			  name, size, gpa, m->opt.ram_size / MiB);
		return -EINVAL;
	}
	for (guint i = 0; i < m->blobs->len; i++) {
		b = m->blobs->pdata[i];
		if (gpa < blob_end(b) && b->gpa < gpa + size) {
			error_set(err,
				  "%s at 0x%" PRIx64 "..0x%" PRIx64 " overlaps %s at 0x%" PRIx64
				  "..0x%" PRIx64,
				  name, gpa, gpa + size, b->name, b->gpa, blob_end(b));
			return -EINVAL;
		}
	}
	b = g_new0(struct blob, 1);
	b->name = g_strdup(name);
	b->gpa = gpa;
	b->data = g_bytes_ref(data);
	g_ptr_array_add(m->blobs, b);
	return 0;
}

void blobs_write(struct machine *m)
{
	for (guint i = 0; i < m->blobs->len; i++) {
		struct blob *b = m->blobs->pdata[i];
		gsize len;
		const void *data = g_bytes_get_data(b->data, &len);

		address_space_write(m->vm->memory, b->gpa, data, len);
	}
}

void blobs_free(struct machine *m)
{
	for (guint i = 0; i < m->blobs->len; i++) {
		struct blob *b = m->blobs->pdata[i];

		g_free(b->name);
		g_bytes_unref(b->data);
		g_free(b);
	}
	g_ptr_array_unref(m->blobs);
}
