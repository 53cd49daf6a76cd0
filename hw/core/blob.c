/* hw/core/blob.c - memory images (kernel, initrd, tables) that every reset puts back. */
#include "hw/core/core.h"

#include "hw/machine.h"
#include "accel/vm.h"
#include "util/error.h"

struct blob {
	char *name;
	u64 gpa;
	u64 used; /* bytes of memory that it takes when it runs; 0: as many as it has */
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

static struct blob *blob_at(const struct machine *m, u64 gpa, u64 size)
{
	for (guint i = 0; i < m->blobs->len; i++) {
		struct blob *b = m->blobs->pdata[i];

		if (gpa < blob_end(b) && b->gpa < gpa + size)
			return b;
	}
	return NULL;
}

const char *machine_blob_at(const struct machine *m, u64 gpa, u64 size)
{
	const struct blob *b = blob_at(m, gpa, size);

	return b ? b->name : NULL;
}

int machine_add_blob(struct machine *m, const char *name, u64 gpa, GBytes *data, GError **err)
{
	u64 size = g_bytes_get_size(data);
	struct blob *b = blob_at(m, gpa, size);

	if (gpa + size < gpa || !is_ram(m, gpa, size)) {
		error_set(err,
			  "%s of %" PRIu64 " bytes at 0x%" PRIx64 " does not fit into %" PRIu64
			  " MiB of guest RAM, give more with -m",
			  name, size, gpa, m->opt.ram_size / MiB);
		return -EINVAL;
	}
	if (b) {
		error_set(err,
			  "%s at 0x%" PRIx64 "..0x%" PRIx64 " overlaps %s at 0x%" PRIx64
			  "..0x%" PRIx64,
			  name, gpa, gpa + size, b->name, b->gpa, blob_end(b));
		return -EINVAL;
	}
	b = g_new0(struct blob, 1);
	b->name = g_strdup(name);
	b->gpa = gpa;
	b->data = g_bytes_ref(data);
	g_ptr_array_add(m->blobs, b);
	return 0;
}

void machine_blob_uses(struct machine *m, u64 gpa, u64 size)
{
	for (guint i = 0; i < m->blobs->len; i++) {
		struct blob *b = m->blobs->pdata[i];

		if (b->gpa == gpa)
			b->used = size;
	}
}

static int by_address(gconstpointer a, gconstpointer b)
{
	const struct blob *x = *(struct blob *const *)a, *y = *(struct blob *const *)b;

	return x->gpa < y->gpa ? -1 : x->gpa > y->gpa;
}

static void take_larger(u64 base, u64 end, u64 *best_base, u64 *best_limit)
{
	base = ROUND_UP(base, (u64)4096);
	end -= end % 4096;
	if (base < end && end - base > *best_limit - *best_base) {
		*best_base = base;
		*best_limit = end;
	}
}

void machine_free_ram(struct machine *m, u64 *base, u64 *limit)
{
	const struct flat_view *view = address_space_view_get(m->vm->memory);
	g_autoptr(GPtrArray) blobs = g_ptr_array_copy(m->blobs, NULL, NULL);

	*base = *limit = 0;
	g_ptr_array_sort(blobs, by_address);
	for (unsigned i = 0; i < view->nranges; i++) {
		const struct flat_range *r = &view->ranges[i];
		u64 at = r->base, end = r->base + r->size;

		if (r->map->kind != MAP_RAM)
			continue;
		for (guint n = 0; n < blobs->len; n++) {
			const struct blob *b = blobs->pdata[n];

			u64 used_end = MAX(blob_end(b), b->gpa + b->used);

			if (b->gpa >= end || used_end <= at)
				continue;
			take_larger(at, b->gpa, base, limit);
			at = used_end;
		}
		take_larger(at, end, base, limit);
	}
	address_space_view_put(m->vm->memory, view);
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
