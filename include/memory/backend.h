/*
 * memory/backend.h - memory back ends: RAM made by -object memory-backend-{ram,memfd,file} and -m.
 *
 * Property names and defaults: QEMU's manual, memory-backend-*.
 */
#ifndef MEMORY_BACKEND_H
#define MEMORY_BACKEND_H

#include "memory/ram.h"

#include <json-glib/json-glib.h>

struct memory_backend {
	char *id;
	char *type;             /* "memory-backend-ram", ... */
	struct ramblock *block; /* NULL until memory_backend_use() */
	struct ram_spec spec;   /* spec.id is the back end's id unless the user of it chooses */
	char *mem_path;         /* for query-memdev and messages; NULL */
	bool in_use;
};

/* memory_backend_is_type() - whether @type names a memory back end. */
bool memory_backend_is_type(const char *type);

/*
 * memory_backend_create() - check the options and open the backing.
 * @type: "memory-backend-ram", "memory-backend-memfd" or "memory-backend-file".
 * @opts: size, share, prealloc, prealloc-threads, merge, dump, reserve, align, hugetlb,
 *        hugetlbsize, mem-path, pmem, readonly, offset, discard-data, seal; taken members are
 *        removed, what is left is refused.
 *
 * Return: the back end; NULL with @err naming option, value and, for files, path and errno.
 * Context: main thread.
 */
struct memory_backend *memory_backend_create(const char *type, const char *id, JsonObject *opts,
					     GError **err);
void memory_backend_destroy(struct memory_backend *b);

/*
 * memory_backend_use() - allocate the RAM block; a back end serves one user.
 * @block_id: id on the wire; NULL: the back end's own.
 *
 * Return: the block, owned by @list; NULL with @err.
 */
struct ramblock *memory_backend_use(struct memory_backend *b, struct ram_list *list,
				    const char *block_id, GError **err);

#endif
