/* memory/access.c - reading and writing guest physical memory. */
#include "memory/address-space.h"

#include "util/lock.h"

#include <assert.h>

static bool is_direct(const struct flat_range *r, bool write)
{
	switch (r->map->kind) {
	case MAP_RAM: return true;
	case MAP_ROM:
	case MAP_ROMD: return !write;
	case MAP_MMIO: return false;
	}
	g_assert_not_reached();
}

/* Largest naturally aligned access at @offset that @ops takes and @len allows. */
static unsigned access_size(const struct mmio_ops *ops, u64 offset, u64 len)
{
	unsigned max = ops->max_access ? ops->max_access : 8;
	unsigned size = 8;

	while (size > max || size > len || (offset & (size - 1)))
		size /= 2;
	return size;
}

static u64 size_mask(unsigned size)
{
	return size == 8 ? ~0ull : (1ull << (size * 8)) - 1;
}

/* A device that only takes wide accesses sees the aligned wide one that contains the narrow one. */
static u64 mmio_read(const struct flat_range *r, u64 offset, unsigned size)
{
	const struct mmio_ops *ops = r->map->ops;
	unsigned min = MAX(ops->min_access, 1);

	assert(machine_lock_held());
	if (size < min) {
		u64 wide = ops->read(r->map->opaque, ROUND_DOWN(offset, (u64)min), min);

		return wide >> (8 * (offset & (min - 1))) & size_mask(size);
	}
	return ops->read(r->map->opaque, offset, size) & size_mask(size);
}

static void mmio_write(const struct flat_range *r, u64 offset, u64 value, unsigned size)
{
	const struct mmio_ops *ops = r->map->ops;
	unsigned min = MAX(ops->min_access, 1);

	assert(machine_lock_held());
	if (size < min) {
		value <<= 8 * (offset & (min - 1));
		offset = ROUND_DOWN(offset, (u64)min);
		size = min;
	}
	ops->write(r->map->opaque, offset, value & size_mask(size), size);
}

static void range_read(const struct flat_range *r, u64 offset, u8 *buf, u64 len)
{
	if (is_direct(r, false)) {
		memcpy(buf, r->map->block->host + offset, len);
		return;
	}
	while (len) {
		unsigned size = access_size(r->map->ops, offset, len);
		u64 value = mmio_read(r, offset, size);

		memcpy(buf, &value, size);
		buf += size;
		offset += size;
		len -= size;
	}
}

static void range_write(const struct flat_range *r, u64 offset, const u8 *buf, u64 len)
{
	if (is_direct(r, true)) {
		memcpy(r->map->block->host + offset, buf, len);
		memory_mark_dirty(r->map->block, offset, len);
		return;
	}
	if (r->map->kind == MAP_ROM)
		return;
	while (len) {
		unsigned size = access_size(r->map->ops, offset, len);
		u64 value = 0;

		memcpy(&value, buf, size);
		mmio_write(r, offset, value, size);
		buf += size;
		offset += size;
		len -= size;
	}
}

/* Bytes from @addr to the start of the next range, at most @len. */
static u64 hole_length(const struct flat_view *view, u64 addr, u64 len)
{
	for (unsigned i = 0; i < view->nranges; i++)
		if (view->ranges[i].base > addr)
			return MIN(len, view->ranges[i].base - addr);
	return len;
}

enum mem_result address_space_read(struct address_space *as, u64 addr, void *buf, u64 len)
{
	const struct flat_view *view = address_space_view_get(as);
	enum mem_result result = MEM_OK;
	u8 *to = buf;

	while (len) {
		const struct flat_range *r = flat_view_find(view, addr);
		u64 n;

		if (r) {
			n = MIN(len, r->base + r->size - addr);
			range_read(r, r->offset + (addr - r->base), to, n);
		} else {
			n = hole_length(view, addr, len);
			memset(to, 0xff, n);
			result = MEM_UNMAPPED;
		}
		to += n;
		addr += n;
		len -= n;
	}
	address_space_view_put(as, view);
	return result;
}

enum mem_result address_space_write(struct address_space *as, u64 addr, const void *buf, u64 len)
{
	const struct flat_view *view = address_space_view_get(as);
	enum mem_result result = MEM_OK;
	const u8 *from = buf;

	while (len) {
		const struct flat_range *r = flat_view_find(view, addr);
		u64 n;

		if (r) {
			n = MIN(len, r->base + r->size - addr);
			range_write(r, r->offset + (addr - r->base), from, n);
		} else {
			n = hole_length(view, addr, len);
			result = MEM_UNMAPPED;
		}
		from += n;
		addr += n;
		len -= n;
	}
	address_space_view_put(as, view);
	return result;
}

u64 address_space_ld(struct address_space *as, u64 addr, unsigned size, enum mem_result *result)
{
	u64 value = 0;
	enum mem_result ret = address_space_read(as, addr, &value, size);

	if (result)
		*result = ret;
	return GUINT64_FROM_LE(value);
}

enum mem_result address_space_st(struct address_space *as, u64 addr, u64 value, unsigned size)
{
	value = GUINT64_TO_LE(value);
	return address_space_write(as, addr, &value, size);
}

void *address_space_ram(struct address_space *as, u64 addr, u64 *len, bool write,
			struct ramblock **block, u64 *offset)
{
	const struct flat_view *view = address_space_view_get(as);
	const struct flat_range *r = flat_view_find(view, addr);
	void *host = NULL;

	if (r && is_direct(r, write) && (r->map->kind == MAP_RAM || !write)) {
		u64 at = r->offset + (addr - r->base);

		*len = MIN(*len, r->base + r->size - addr);
		host = r->map->block->host + at;
		if (block)
			*block = r->map->block;
		if (offset)
			*offset = at;
	}
	address_space_view_put(as, view);
	return host;
}
