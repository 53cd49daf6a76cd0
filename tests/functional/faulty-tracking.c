/*
 * tests/functional/faulty-tracking.c - dirty tracking that loses pages on purpose.
 *
 * Linked, with the linker's --wrap, into a copy of the emulator that only tests have: everything
 * that a tracking back end reports comes through here. A page whose turn it is is lost for the
 * rest of the migration, with all later reports of it, as a page is whose ring entry was
 * overwritten and which nobody protects again. Each loss is told on standard error.
 *
 * LOSE_PAGES=FIRST-LAST: pages of a block whose reports count; without it nothing is lost.
 * LOSE_AT=N: the one of these reports, counted from 1 in each migration, that is lost first (1000);
 * after it every millionth is.
 */
#include "memory/dirty-log.h"
#include "util/bitmap.h"

#include <stdio.h>
#include <stdlib.h>

#define LOSE_EVERY 1000000
#define LOST_MAX   64

void __real_dirty_map_set(struct dirty_map *map, u64 first, u64 n, u32 clients);
u64 __real_dirty_map_or(struct dirty_map *map, u64 first, u64 n, const u64 *words, u32 clients);
int __real_dirty_tracker_start(struct dirty_tracker *t, enum dirty_client client, bool all_dirty,
			       GError **err);
void __wrap_dirty_map_set(struct dirty_map *map, u64 first, u64 n, u32 clients);
u64 __wrap_dirty_map_or(struct dirty_map *map, u64 first, u64 n, const u64 *words, u32 clients);
int __wrap_dirty_tracker_start(struct dirty_tracker *t, enum dirty_client client, bool all_dirty,
			       GError **err);

static GMutex lock;
static u64 lose_first, lose_last, lose_at;
static u64 reports; /* that counted, in this migration */
static struct {
	const struct dirty_map *map;
	u64 page;
} lost[LOST_MAX];
static unsigned nlost;

static u64 number_from(const char *name, u64 otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void __attribute__((constructor)) read_settings(void)
{
	const char *range = getenv("LOSE_PAGES");
	const char *dash = range ? strchr(range, '-') : NULL;

	lose_first = 1; /* an empty range */
	lose_at = number_from("LOSE_AT", 1000);
	if (dash) {
		lose_first = strtoull(range, NULL, 0);
		lose_last = strtoull(dash + 1, NULL, 0);
	}
}

static bool is_lost(const struct dirty_map *map, u64 page)
{
	for (unsigned i = 0; i < nlost; i++)
		if (lost[i].map == map && lost[i].page == page)
			return true;
	return false;
}

/* Whether this report does not arrive. */
static bool loses(const struct dirty_map *map, u64 page)
{
	bool is;

	if (page < lose_first || page > lose_last || !dirty_map_client_active(map, DIRTY_MIGRATION))
		return false;
	g_mutex_lock(&lock);
	is = is_lost(map, page);
	if (!is && ++reports % LOSE_EVERY == lose_at % LOSE_EVERY && reports >= lose_at &&
	    nlost < LOST_MAX) {
		lost[nlost].map = map;
		lost[nlost++].page = page;
		is = true;
		fprintf(stderr, "faulty-tracking: lost offset 0x%" PRIx64 "\n",
			page << DIRTY_PAGE_BITS);
	}
	g_mutex_unlock(&lock);
	return is;
}

void __wrap_dirty_map_set(struct dirty_map *map, u64 first, u64 n, u32 clients)
{
	u64 from = first;

	for (u64 page = first; page < first + n; page++) {
		if (!loses(map, page))
			continue;
		__real_dirty_map_set(map, from, page - from, clients);
		from = page + 1;
	}
	__real_dirty_map_set(map, from, first + n - from, clients);
}

u64 __wrap_dirty_map_or(struct dirty_map *map, u64 first, u64 n, const u64 *words, u32 clients)
{
	g_autofree u64 *copy = g_memdup2(words, BITMAP_WORDS(n) * sizeof(u64));

	for (u64 page = 0; page < n; page++)
		if (bitmap_test(copy, page) && loses(map, first + page))
			bitmap_clear(copy, page, 1);
	return __real_dirty_map_or(map, first, n, copy, clients);
}

int __wrap_dirty_tracker_start(struct dirty_tracker *t, enum dirty_client client, bool all_dirty,
			       GError **err)
{
	if (client == DIRTY_MIGRATION) {
		g_mutex_lock(&lock);
		reports = nlost = 0;
		g_mutex_unlock(&lock);
	}
	return __real_dirty_tracker_start(t, client, all_dirty, err);
}
