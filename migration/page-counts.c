/*
 * migration/page-counts.c - capability x-page-counts: how often the sender sent each page.
 */
#include "migration/page-counts.h"

#include "util/bitmap.h"

#define TIMES      32u /* entries of "times"; the last one stands for more, too */
#define COUNT_BITS 16u

struct block_counts {
	char *id;
	u64 npages;
	u16 *sent; /* one a page; stays at its maximum */
};

struct page_counts {
	GArray *blocks; /* of struct block_counts */
};

static void block_clear(gpointer data)
{
	struct block_counts *b = data;

	bitmap_free((u64 *)b->sent, b->npages * COUNT_BITS);
	g_free(b->id);
}

struct page_counts *page_counts_create(void)
{
	struct page_counts *counts = g_new0(struct page_counts, 1);

	counts->blocks = g_array_new(FALSE, FALSE, sizeof(struct block_counts));
	g_array_set_clear_func(counts->blocks, block_clear);
	return counts;
}

void page_counts_destroy(struct page_counts *counts)
{
	if (!counts)
		return;
	g_array_unref(counts->blocks);
	g_free(counts);
}

u16 *page_counts_add_block(struct page_counts *counts, const char *id, u64 npages)
{
	/* Lazily backed: pages that are never sent cost nothing. */
	struct block_counts b = {
		.id = g_strdup(id),
		.npages = npages,
		.sent = (u16 *)bitmap_new(npages * COUNT_BITS),
	};

	g_array_append_val(counts->blocks, b);
	return b.sent;
}

/* One run of pages: appends its sum and its maximum, adds each page to @times. */
static void query_run(const u16 *sent, u64 npages, u64 *times, JsonArray *sums, JsonArray *maxima)
{
	u64 sum = 0, max = 0;

	for (u64 i = 0; i < npages; i++) {
		u64 n = __atomic_load_n(&sent[i], __ATOMIC_RELAXED);

		sum += n;
		max = MAX(max, n);
		times[MIN(n, TIMES - 1)]++;
	}
	json_array_add_int_element(sums, sum);
	json_array_add_int_element(maxima, max);
}

static JsonObject *query_block(const struct block_counts *b, u64 buckets, u64 *times)
{
	u64 len = MAX(DIV_ROUND_UP(b->npages, buckets), 1);
	JsonArray *sums = json_array_new(), *maxima = json_array_new();
	JsonObject *o = json_object_new();

	for (u64 at = 0; at < b->npages; at += len)
		query_run(b->sent + at, MIN(len, b->npages - at), times, sums, maxima);
	json_object_set_string_member(o, "name", b->id);
	json_object_set_int_member(o, "pages", b->npages);
	json_object_set_int_member(o, "bucket-pages", len);
	json_object_set_array_member(o, "sent", sums);
	json_object_set_array_member(o, "max", maxima);
	return o;
}

JsonObject *page_counts_query(const struct page_counts *counts, u64 buckets)
{
	JsonObject *o = json_object_new();
	JsonArray *blocks = json_array_new(), *list = json_array_new();
	u64 times[TIMES] = { 0 };

	for (guint i = 0; i < counts->blocks->len; i++)
		json_array_add_object_element(
			blocks, query_block(&g_array_index(counts->blocks, struct block_counts, i),
					    buckets, times));
	for (unsigned i = 0; i < TIMES; i++)
		json_array_add_int_element(list, times[i]);
	json_object_set_array_member(o, "times", list);
	json_object_set_array_member(o, "blocks", blocks);
	return o;
}
