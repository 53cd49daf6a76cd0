/*
 * migration/xbzrle.h - delta compression of pages that are sent again.
 *
 * Wire form of an encoded page: runs, alternately of unchanged and of changed bytes, beginning with
 * an unchanged one; each run is its length as ULEB128 (at most two bytes), changed runs followed by
 * the new bytes. What follows the last run is unchanged.
 */
#ifndef MIGRATION_XBZRLE_H
#define MIGRATION_XBZRLE_H

#include "memory/dirty-map.h"

/*
 * xbzrle_encode() - describe how @page differs from @old.
 * @out: @max bytes of room.
 *
 * Return: bytes used; 0 if the pages are equal; -ENOSPC if it does not fit.
 */
int xbzrle_encode(const u8 *old, const u8 *page, u8 *out, int max);

/*
 * xbzrle_decode() - apply what xbzrle_encode() made to @page.
 *
 * Return: 0, or -EINVAL if the runs do not fit the page or the input.
 */
int xbzrle_decode(const u8 *in, int len, u8 *page);

/* The sender's copies of what the receiver has; direct mapped by page number. */
struct xbzrle_cache;

/* @bytes: capacity, a power of two of at least a page. */
struct xbzrle_cache *xbzrle_cache_create(u64 bytes);
void xbzrle_cache_destroy(struct xbzrle_cache *c);
u64 xbzrle_cache_bytes(const struct xbzrle_cache *c);

/* xbzrle_cache_find() - the copy of page @key, or NULL. @pass: now; marks it as in use. */
u8 *xbzrle_cache_find(struct xbzrle_cache *c, u64 key, u64 pass);

/*
 * xbzrle_cache_insert() - keep a copy of @page under @key.
 *
 * An entry used in this or the last pass is not displaced. Return: the copy, or NULL.
 */
u8 *xbzrle_cache_insert(struct xbzrle_cache *c, u64 key, const void *page, u64 pass);

#endif
