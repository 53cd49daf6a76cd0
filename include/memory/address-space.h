/*
 * memory/address-space.h - guest physical address space: one sorted array of ranges.
 *
 * Mappings with priorities are flattened into non-overlapping ranges; the array is rebuilt and
 * published as a whole; listeners get the difference.
 */
#ifndef MEMORY_ADDRESS_SPACE_H
#define MEMORY_ADDRESS_SPACE_H

#include "memory/ram.h"

enum map_kind {
	MAP_RAM,  /* reads and writes go to the block */
	MAP_ROM,  /* reads go to the block; writes are ignored */
	MAP_ROMD, /* reads go to the block; writes to ops */
	MAP_MMIO, /* reads and writes go to ops */
};

/* An MMIO handler's accesses are naturally aligned and of min..max bytes; others are split or
 * widened by the address space. Called with the machine lock held. */
struct mmio_ops {
	u64 (*read)(void *opaque, u64 offset, unsigned size);
	void (*write)(void *opaque, u64 offset, u64 value, unsigned size);
	unsigned min_access; /* bytes; 0: 1 */
	unsigned max_access; /* bytes; 0: 8 */
};

/* One mapping; embedded in its owner, who keeps it until it is unmapped. */
struct mapping {
	const char *name; /* for info mtree */
	u64 base, size;   /* guest physical, bytes */
	enum map_kind kind;
	int priority; /* higher covers lower; equal: the later one covers */
	struct ramblock *block;
	u64 block_offset; /* bytes */
	const struct mmio_ops *ops;
	void *opaque;
	bool mapped; /* owned by the address space */
};

/* A piece of the flat map. */
struct flat_range {
	u64 base, size;
	u64 offset; /* of base in mapping's block, or in its MMIO window */
	const struct mapping *map;
};

struct flat_view {
	unsigned nranges;
	struct flat_range ranges[];
};

struct as_listener {
	/* The flat map gained or lost a range. Deletions are announced before additions; ranges
	 * that stay are not mentioned. Machine lock held, or before any vCPU runs. */
	void (*add)(struct as_listener *l, const struct flat_range *r);
	void (*del)(struct as_listener *l, const struct flat_range *r);
	void (*commit)(struct as_listener *l); /* may be NULL */
	GList link;
};

enum mem_result {
	MEM_OK = 0,
	MEM_UNMAPPED = 1, /* nothing there: reads give ones, writes are dropped */
};

struct address_space;

struct address_space *address_space_create(const char *name);
void address_space_destroy(struct address_space *as);
const char *address_space_name(const struct address_space *as);

/*
 * address_space_map() - add a mapping. address_space_unmap() - remove it.
 *
 * Outside a begin/commit pair the flat map is rebuilt at once.
 * Context: machine lock held, or before vCPUs run.
 */
void address_space_map(struct address_space *as, struct mapping *m);
void address_space_unmap(struct address_space *as, struct mapping *m);
void address_space_begin(struct address_space *as);
void address_space_commit(struct address_space *as);

/* address_space_listen() - @l gets add() for every range at once, and later changes. */
void address_space_listen(struct address_space *as, struct as_listener *l);
void address_space_unlisten(struct address_space *as, struct as_listener *l);

/*
 * address_space_view_get(), address_space_view_put() - the current flat map; it stays valid until
 * put, whatever is mapped meanwhile. Any thread; cheap; do not hold across blocking calls.
 */
const struct flat_view *address_space_view_get(struct address_space *as);
void address_space_view_put(struct address_space *as, const struct flat_view *view);

/* flat_view_find() - range that contains @addr; NULL if none. Binary search. */
const struct flat_range *flat_view_find(const struct flat_view *view, u64 addr);

/*
 * address_space_read(), address_space_write() - access guest memory.
 *
 * Any length; RAM is copied (and marked dirty), MMIO split into accesses of its size. If an MMIO
 * range is hit the caller must hold the machine lock.
 * Return: MEM_OK, or MEM_UNMAPPED if any byte was.
 */
enum mem_result address_space_read(struct address_space *as, u64 addr, void *buf, u64 len);
enum mem_result address_space_write(struct address_space *as, u64 addr, const void *buf, u64 len);

/* address_space_ld(), address_space_st() - one little-endian access of 1, 2, 4 or 8 bytes. */
u64 address_space_ld(struct address_space *as, u64 addr, unsigned size, enum mem_result *result);
enum mem_result address_space_st(struct address_space *as, u64 addr, u64 value, unsigned size);

/*
 * address_space_ram() - host address of guest RAM, for virtio and loaders.
 * @len:   in: bytes wanted; out: bytes that are contiguous on the host.
 * @block, @offset: out, for memory_mark_dirty() after writing; may be NULL.
 *
 * Return: NULL if @addr is not RAM (or is ROM and @write).
 */
void *address_space_ram(struct address_space *as, u64 addr, u64 *len, bool write,
			struct ramblock **block, u64 *offset);

/* address_space_describe() - text for "info mtree -f". Free with g_free(). */
char *address_space_describe(struct address_space *as);

#endif
