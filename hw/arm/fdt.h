/*
 * hw/arm/fdt.h - building a flattened device tree with libfdt.
 *
 * The tree lies in a buffer that is larger than any of ours; that one of these functions fails is
 * our bug and asserts.
 */
#ifndef HW_ARM_FDT_H
#define HW_ARM_FDT_H

#include "util/base.h"

#define DT_BYTES MiB

/* dt_new() - an empty tree, to be freed with g_free(). */
void *dt_new(void);

/* dt_load() - a tree from a file, in a buffer with room. NULL with @err. Free with g_free(). */
void *dt_load(const char *path, GError **err);

/* dt_node() - add a node; its parent must be there. "/" always is. */
void dt_node(void *fdt, const char *path);

/* dt_has_node() - whether there is one. */
bool dt_has_node(const void *fdt, const char *path);

/* Properties of a node that is there; an old value is replaced. */
void dt_set_empty(void *fdt, const char *path, const char *name);
void dt_set_string(void *fdt, const char *path, const char *name, const char *text);
void dt_set_strings(void *fdt, const char *path, const char *name, const char *const *list);
void dt_set_bytes(void *fdt, const char *path, const char *name, const void *data, size_t len);
void dt_set_cell_array(void *fdt, const char *path, const char *name, const u32 *cells, size_t n);

/* dt_set_cells(fdt, path, name, 1, 2, 3) - numbers of 32 bits. */
#define dt_set_cells(fdt, path, name, ...)                                                         \
	dt_set_cell_array(fdt, path, name, (const u32[]){ __VA_ARGS__ },                           \
			  ARRAY_SIZE(((const u32[]){ __VA_ARGS__ })))

/* dt_set_reg() - "reg" or the like of one range, two cells each for address and size. */
void dt_set_reg(void *fdt, const char *path, const char *name, u64 base, u64 size);

/* dt_finish() - the tree at its final size; @fdt is freed. */
GBytes *dt_finish(void *fdt);

#endif
