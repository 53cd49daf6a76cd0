/*
 * migration/verify.c - capability x-verify: both sides hash all of RAM at the switch-over.
 *
 * The sender asks with CMD_OWN_VERIFY; the receiver answers with a hash per block. Where one
 * differs, the hashes of its pages are fetched to name the first page that does. The hash is
 * XXH3-64 of each page, folded over groups of pages.
 */
#include "migration/incoming.h"
#include "migration/return-path.h"
#include "migration/source.h"
#include "util/bitmap.h"
#include "util/error.h"

#include <xxhash.h>

#define PAGES_PER_MESSAGE 4096u

struct hasher {
	struct page_probe probe;
	u64 zero_hash;
	u64 absent[BITMAP_WORDS(PAGE_PROBE_MAX)];
	u64 hashes[PAGE_PROBE_MAX];
};

static struct hasher *hasher_create(void)
{
	static const u8 zeroes[DIRTY_PAGE_SIZE];
	struct hasher *h = g_new0(struct hasher, 1);

	page_probe_init(&h->probe);
	h->zero_hash = XXH3_64bits(zeroes, sizeof(zeroes));
	return h;
}

static void hasher_destroy(struct hasher *h)
{
	page_probe_finish(&h->probe);
	g_free(h);
}

/* The hashes of pages @first .. @first + @n - 1, at most PAGE_PROBE_MAX, into h->hashes. */
static void hash_pages(struct hasher *h, const struct ramblock *b, u64 first, u64 n)
{
	page_probe_absent(&h->probe, b, first, n, h->absent);
	for (u64 i = 0; i < n; i++)
		h->hashes[i] = bitmap_test(h->absent, i)
				       ? h->zero_hash
				       : XXH3_64bits(b->host + ((first + i) << DIRTY_PAGE_BITS),
						     DIRTY_PAGE_SIZE);
}

static u64 hash_block(struct hasher *h, const struct ramblock *b)
{
	u64 fold = 0;

	for (u64 at = 0; at < ram_pages(b); at += PAGE_PROBE_MAX) {
		u64 n = MIN(PAGE_PROBE_MAX, ram_pages(b) - at);

		hash_pages(h, b, at, n);
		fold = XXH3_64bits_withSeed(h->hashes, n * sizeof(u64), fold);
	}
	return fold;
}

/* ---- receiver ---- */

static int send_block_hash(struct incoming *in, struct hasher *h, const struct ramblock *b,
			   GError **err)
{
	u8 msg[16 + 256];
	size_t len = strlen(b->id);

	store_be64(msg, ram_pages(b));
	store_be64(msg + 8, hash_block(h, b));
	msg[16] = len;
	memcpy(msg + 17, b->id, len);
	return return_path_send(in->ch, RP_OWN_BLOCK_HASH, msg, 17 + len, err);
}

int verify_answer(struct incoming *in, GError **err)
{
	const GPtrArray *blocks = in->m->vm->ram->blocks;
	struct hasher *h = hasher_create();
	int ret = 0;

	for (guint i = 0; i < blocks->len && !ret; i++) {
		const struct ramblock *b = g_ptr_array_index(blocks, i);

		if (b->flags & RAM_MIGRATABLE)
			ret = send_block_hash(in, h, b, err);
	}
	if (!ret)
		ret = return_path_send(in->ch, RP_OWN_VERIFY_DONE, NULL, 0, err);
	hasher_destroy(h);
	return ret;
}

int verify_answer_block(struct incoming *in, const char *block, GError **err)
{
	const struct ramblock *b = ram_find(in->m->vm->ram, block);
	struct hasher *h;
	g_autofree u8 *msg = g_malloc(8 + PAGES_PER_MESSAGE * 8);
	int ret = 0;

	if (!b) {
		error_set(err, "hashes of unknown RAM block '%s' are asked for", block);
		return -EINVAL;
	}
	h = hasher_create();
	for (u64 at = 0; at < ram_pages(b) && !ret; at += PAGES_PER_MESSAGE) {
		u64 n = MIN(PAGES_PER_MESSAGE, ram_pages(b) - at);

		hash_pages(h, b, at, n);
		store_be64(msg, at);
		for (u64 i = 0; i < n; i++)
			store_be64(msg + 8 + i * 8, h->hashes[i]);
		ret = return_path_send(in->ch, RP_OWN_PAGE_HASHES, msg, 8 + n * 8, err);
	}
	if (!ret)
		ret = return_path_send(in->ch, RP_OWN_VERIFY_DONE, NULL, 0, err);
	hasher_destroy(h);
	return ret;
}

/* ---- sender ---- */

static int ask(struct source *s, enum stream_command cmd, const void *data, u16 len, GError **err)
{
	int ret;

	g_mutex_lock(&s->m->lock);
	s->rp.verify_done = false;
	g_array_set_size(s->rp.page_hashes, 0);
	g_mutex_unlock(&s->m->lock);
	ret = source_command(s, cmd, data, len, err);
	return ret ? ret : send_queue_flush(&s->q, err);
}

static int wait_answer(struct source *s, GError **err)
{
	if (return_path_wait(&s->rp, &s->rp.verify_done, -1))
		return 0;
	if (!return_path_error(&s->rp, err))
		error_set(err, "the receiver did not answer the verification");
	return -EPROTO;
}

/* Names the pages of @b that differ; the receiver's hashes are there. */
static void describe_difference(struct source *s, struct hasher *h,
				const struct ram_source_block *b, GError **err)
{
	u64 first = UINT64_MAX, count = 0;
	unsigned pass = 0;

	for (u64 at = 0; at < b->npages; at += PAGE_PROBE_MAX) {
		u64 n = MIN(PAGE_PROBE_MAX, b->npages - at);

		hash_pages(h, b->ram, at, n);
		for (u64 i = 0; i < n; i++) {
			if (at + i < s->rp.page_hashes->len &&
			    g_array_index(s->rp.page_hashes, u64, at + i) == h->hashes[i])
				continue;
			if (!count++) {
				first = at + i;
				pass = b->last_pass[first];
			}
		}
	}
	s->verify.mismatches = count;
	g_strlcpy(s->verify.block, b->ram->id, sizeof(s->verify.block));
	s->verify.offset = first << DIRTY_PAGE_BITS;
	error_set(err,
		  "verification failed: %" PRIu64 " page%s of RAM block '%s' differ%s, first at "
		  "offset 0x%" PRIx64 ", last sent in pass %u of %" PRIu64
		  "; tracking: %s, mode %s",
		  count, count == 1 ? "" : "s", b->ram->id, count == 1 ? "s" : "",
		  first << DIRTY_PAGE_BITS, pass, STAT_GET(s->ram_stats.passes),
		  dirty_tracker_name(s->m->vm->tracker), dirty_tracker_mode(s->m->vm->tracker));
}

static int locate(struct source *s, struct hasher *h, const struct ram_source_block *b,
		  GError **err)
{
	u8 name[256];
	size_t len = strlen(b->ram->id);
	int ret;

	name[0] = len;
	memcpy(name + 1, b->ram->id, len);
	ret = ask(s, CMD_OWN_VERIFY_BLOCK, name, len + 1, err);
	if (!ret)
		ret = wait_answer(s, err);
	if (ret)
		return ret;
	describe_difference(s, h, b, err);
	return -EILSEQ;
}

static const struct block_hash *find_hash(struct source *s, const char *id)
{
	for (guint i = 0; i < s->rp.block_hashes->len; i++) {
		const struct block_hash *bh =
			&g_array_index(s->rp.block_hashes, struct block_hash, i);

		if (g_str_equal(bh->block, id))
			return bh;
	}
	return NULL;
}

static int compare(struct source *s, struct hasher *h, GError **err)
{
	guint n = s->ram.blocks->len;
	g_autofree u64 *ours = g_new(u64, MAX(n, 1));
	int ret = ask(s, CMD_OWN_VERIFY, NULL, 0, err);

	/* Both sides hash at the same time. */
	for (guint i = 0; i < n && !ret; i++) {
		const struct ram_source_block *b =
			&g_array_index(s->ram.blocks, struct ram_source_block, i);

		ours[i] = hash_block(h, b->ram);
		s->verify.pages += b->npages;
	}
	if (!ret)
		ret = wait_answer(s, err);
	for (guint i = 0; i < n && !ret; i++) {
		const struct ram_source_block *b =
			&g_array_index(s->ram.blocks, struct ram_source_block, i);
		const struct block_hash *theirs = find_hash(s, b->ram->id);

		if (!theirs || theirs->npages != b->npages || theirs->hash != ours[i])
			ret = locate(s, h, b, err);
	}
	return ret;
}

int source_verify(struct source *s, GError **err)
{
	struct hasher *h = hasher_create();
	s64 start = monotonic_ns();
	int ret = compare(s, h, err);

	hasher_destroy(h);
	s->verify.ns = monotonic_ns() - start;
	if (!ret || ret == -EILSEQ)
		__atomic_store_n(&s->verify.done, true, __ATOMIC_RELEASE);
	return ret;
}
