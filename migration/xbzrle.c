/*
 * migration/xbzrle.c - delta compression of pages that are sent again.
 */
#include "migration/xbzrle.h"

#define KEEP_PASSES 2u

struct slot {
	u64 key; /* + 1; 0: empty */
	u64 pass;
	u8 *page;
};

struct xbzrle_cache {
	u64 nslots;
	struct slot *slots;
};

static int put_length(u8 *out, unsigned n)
{
	if (n < 0x80) {
		out[0] = n;
		return 1;
	}
	out[0] = n | 0x80;
	out[1] = n >> 7;
	return 2;
}

/* Length of the run of equal (or different) bytes at @at; whole words first. */
static unsigned run_length(const u8 *a, const u8 *b, unsigned at, bool equal)
{
	unsigned i = at;

	while (equal && i + 8 <= DIRTY_PAGE_SIZE) {
		u64 x, y;

		memcpy(&x, a + i, sizeof(x));
		memcpy(&y, b + i, sizeof(y));
		if (x != y)
			break;
		i += 8;
	}
	while (i < DIRTY_PAGE_SIZE && (a[i] == b[i]) == equal)
		i++;
	return i - at;
}

int xbzrle_encode(const u8 *old, const u8 *page, u8 *out, int max)
{
	unsigned at = 0;
	int used = 0;

	for (;;) {
		unsigned same = run_length(old, page, at, true), diff;

		at += same;
		if (at == DIRTY_PAGE_SIZE)
			return used;
		diff = run_length(old, page, at, false);
		if (used + 4 + (int)diff > max)
			return -ENOSPC;
		used += put_length(out + used, same);
		used += put_length(out + used, diff);
		memcpy(out + used, page + at, diff);
		used += diff;
		at += diff;
	}
}

static int get_length(const u8 *in, int len, int *at, unsigned *n)
{
	u8 byte;

	if (*at >= len)
		return -EINVAL;
	byte = in[(*at)++];
	*n = byte & 0x7f;
	if (!(byte & 0x80))
		return 0;
	if (*at >= len || (in[*at] & 0x80))
		return -EINVAL;
	*n |= (unsigned)in[(*at)++] << 7;
	return 0;
}

int xbzrle_decode(const u8 *in, int len, u8 *page)
{
	unsigned to = 0, n;
	int at = 0;

	while (at < len) {
		if (get_length(in, len, &at, &n) || n > DIRTY_PAGE_SIZE - to)
			return -EINVAL;
		to += n;
		/* A changed run must follow and hold something. */
		if (get_length(in, len, &at, &n) || !n || n > DIRTY_PAGE_SIZE - to ||
		    (int)n > len - at)
			return -EINVAL;
		memcpy(page + to, in + at, n);
		to += n;
		at += n;
	}
	return 0;
}

struct xbzrle_cache *xbzrle_cache_create(u64 bytes)
{
	struct xbzrle_cache *c = g_new0(struct xbzrle_cache, 1);

	c->nslots = MAX(bytes / DIRTY_PAGE_SIZE, 1);
	c->slots = g_new0(struct slot, c->nslots);
	return c;
}

void xbzrle_cache_destroy(struct xbzrle_cache *c)
{
	if (!c)
		return;
	for (u64 i = 0; i < c->nslots; i++)
		g_free(c->slots[i].page);
	g_free(c->slots);
	g_free(c);
}

u64 xbzrle_cache_bytes(const struct xbzrle_cache *c)
{
	return c->nslots * DIRTY_PAGE_SIZE;
}

u8 *xbzrle_cache_find(struct xbzrle_cache *c, u64 key, u64 pass)
{
	struct slot *s = &c->slots[key % c->nslots];

	if (s->key != key + 1)
		return NULL;
	s->pass = pass;
	return s->page;
}

u8 *xbzrle_cache_insert(struct xbzrle_cache *c, u64 key, const void *page, u64 pass)
{
	struct slot *s = &c->slots[key % c->nslots];

	if (s->key && s->key != key + 1 && s->pass + KEEP_PASSES > pass)
		return NULL;
	if (!s->page)
		s->page = g_malloc(DIRTY_PAGE_SIZE);
	s->key = key + 1;
	s->pass = pass;
	memcpy(s->page, page, DIRTY_PAGE_SIZE);
	return s->page;
}
