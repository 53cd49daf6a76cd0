/*
 * block/throttle.c - limits of bytes and requests a second.
 *
 * What a request costs goes into buckets, which leak at the rate that is allowed; it starts if no
 * bucket is fuller than its size, so at most one request is ahead of its time. A group has the
 * buckets; its disks take turns, reads and writes apart.
 */
#include "block/block-priv.h"

#include "util/error.h"

#include <math.h>

#define VALUE_MAX      1000000000000000ull /* of rates, and of max * length: what QEMU takes */
#define NS             1e9
#define SHORT_BURST(v) ((v) / 10.0) /* a tenth of a second */

enum dir { DIR_READ, DIR_WRITE, DIRS };

struct bucket {
	double level; /* units above what avg allowed so far */
	double burst; /* the same for max, where a burst may last longer than a second */
};

struct throttle_group {
	char *name;
	struct block_throttle cfg;
	struct bucket bucket[BLOCK_LIMITS];
	s64 at_ns;      /* when the buckets leaked last */
	GQueue members; /* of struct block_backend; the first is the next one's turn */
	struct timer timer[DIRS];
};

static GList *groups;

static const struct {
	const char *name;
	bool bytes, dir[DIRS];
} kinds[BLOCK_LIMITS] = {
	[BLOCK_BPS_TOTAL] = { "bps-total", true, { true, true } },
	[BLOCK_BPS_READ] = { "bps-read", true, { true, false } },
	[BLOCK_BPS_WRITE] = { "bps-write", true, { false, true } },
	[BLOCK_IOPS_TOTAL] = { "iops-total", false, { true, true } },
	[BLOCK_IOPS_READ] = { "iops-read", false, { true, false } },
	[BLOCK_IOPS_WRITE] = { "iops-write", false, { false, true } },
};

const char *block_limit_name(enum block_limit_kind kind)
{
	return kinds[kind].name;
}

void block_throttle_init(struct block_throttle *t)
{
	*t = (struct block_throttle){ 0 };
	for (int i = 0; i < BLOCK_LIMITS; i++)
		t->limit[i].length = 1;
}

/* ---- What may be asked for ---- */

static bool is_limited(const struct block_throttle *t)
{
	for (int i = 0; i < BLOCK_LIMITS; i++) {
		if (t->limit[i].avg)
			return true;
	}
	return false;
}

static int check_limit(const struct block_throttle *t, enum block_limit_kind k, GError **err)
{
	const struct block_limit *l = &t->limit[k];
	const char *name = kinds[k].name;

	if (l->avg > VALUE_MAX || l->max > VALUE_MAX)
		error_set(err, "%s: %" PRIu64 " is above %llu", name, MAX(l->avg, l->max),
			  VALUE_MAX);
	else if (!l->length)
		error_set(err, "%s-max-length must be at least 1 second", name);
	else if (l->length > 1 && !l->max)
		error_set(err, "%s-max-length=%" PRIu64 " needs %s-max", name, l->length, name);
	else if (l->max && !l->avg)
		error_set(err, "%s-max=%" PRIu64 " needs %s", name, l->max, name);
	else if (l->max && l->max < l->avg)
		error_set(err, "%s-max=%" PRIu64 " is below %s=%" PRIu64, name, l->max, name,
			  l->avg);
	else if (l->max && l->length > VALUE_MAX / l->max)
		error_set(err, "%s-max=%" PRIu64 " for %" PRIu64 " seconds is more than %llu", name,
			  l->max, l->length, VALUE_MAX);
	else
		return 0;
	return -EINVAL;
}

static int check_pair(const struct block_throttle *t, enum block_limit_kind total, GError **err)
{
	const struct block_limit *l = &t->limit[total];

	if (!l[0].avg || (!l[1].avg && !l[2].avg))
		return 0;
	error_set(err, "%s goes with neither %s nor %s: limit the sum, or reads and writes apart",
		  kinds[total].name, kinds[total + 1].name, kinds[total + 2].name);
	return -EINVAL;
}

static int check(const struct block_throttle *t, GError **err)
{
	int ret = check_pair(t, BLOCK_BPS_TOTAL, err) ?: check_pair(t, BLOCK_IOPS_TOTAL, err);

	for (int i = 0; i < BLOCK_LIMITS && !ret; i++)
		ret = check_limit(t, i, err);
	if (ret)
		return ret;
	if (t->iops_size && !t->limit[BLOCK_IOPS_TOTAL].avg && !t->limit[BLOCK_IOPS_READ].avg &&
	    !t->limit[BLOCK_IOPS_WRITE].avg) {
		error_set(err, "iops-size=%" PRIu64 " needs a limit of requests a second",
			  t->iops_size);
		return -EINVAL;
	}
	return 0;
}

/* ---- Buckets ---- */

static void leak(struct throttle_group *g)
{
	s64 now = clock_ns(CLOCK_TYPE_VIRTUAL);
	double seconds = MAX(now - g->at_ns, 0) / NS;

	g->at_ns = now;
	for (int i = 0; i < BLOCK_LIMITS; i++) {
		const struct block_limit *l = &g->cfg.limit[i];
		struct bucket *b = &g->bucket[i];

		b->level = MAX(b->level - l->avg * seconds, 0);
		b->burst = MAX(b->burst - l->max * seconds, 0);
	}
}

/* Nanoseconds until a bucket that leaks at @rate is no fuller than @size. */
static s64 until(double level, double size, u64 rate)
{
	return level > size ? (s64)ceil((level - size) / rate * NS) : 0;
}

/* Nanoseconds until a request may start; 0: now. */
static s64 wait_ns(struct throttle_group *g, enum dir dir)
{
	s64 ns = 0;

	leak(g);
	for (int i = 0; i < BLOCK_LIMITS; i++) {
		const struct block_limit *l = &g->cfg.limit[i];
		const struct bucket *b = &g->bucket[i];

		if (!l->avg || !kinds[i].dir[dir])
			continue;
		if (!l->max) {
			ns = MAX(ns, until(b->level, SHORT_BURST(l->avg), l->avg));
			continue;
		}
		ns = MAX(ns, until(b->level, (double)l->max * l->length, l->avg));
		if (l->length > 1)
			ns = MAX(ns, until(b->burst, SHORT_BURST(l->max), l->max));
	}
	return ns;
}

static void charge(struct throttle_group *g, enum dir dir, u64 bytes)
{
	u64 size = g->cfg.iops_size;
	double requests = size && bytes > size ? (double)bytes / size : 1;

	for (int i = 0; i < BLOCK_LIMITS; i++) {
		double units = kinds[i].bytes ? bytes : requests;

		if (!g->cfg.limit[i].avg || !kinds[i].dir[dir])
			continue;
		g->bucket[i].level += units;
		g->bucket[i].burst += units;
	}
}

/* ---- Requests ---- */

static enum dir dir_of(const struct block_req *r)
{
	return r->op == IO_READ ? DIR_READ : DIR_WRITE;
}

static void start(struct block_backend *b, enum dir dir)
{
	struct block_req *r = g_queue_pop_head(&b->throttled[dir]);

	charge(b->throttle, dir, r->bytes);
	request_start(r);
}

/* The disk whose turn it is; NULL: nobody waits. */
static struct block_backend *next_member(struct throttle_group *g, enum dir dir)
{
	for (guint i = 0; i < g->members.length; i++) {
		struct block_backend *b = g->members.head->data;

		g_queue_push_tail(&g->members, g_queue_pop_head(&g->members));
		if (b->throttled[dir].length)
			return b;
	}
	return NULL;
}

/* The next one is found, but it has to wait: it stays the next one. */
static void undo_turn(struct throttle_group *g)
{
	g_queue_push_head(&g->members, g_queue_pop_tail(&g->members));
}

static void serve(struct throttle_group *g, enum dir dir)
{
	struct block_backend *b;

	block_plug();
	while ((b = next_member(g, dir))) {
		s64 ns = wait_ns(g, dir);

		if (ns) {
			undo_turn(g);
			timer_mod(&g->timer[dir], g->at_ns + ns);
			break;
		}
		start(b, dir);
	}
	block_unplug();
}

static void serve_reads(void *opaque)
{
	serve(opaque, DIR_READ);
}

static void serve_writes(void *opaque)
{
	serve(opaque, DIR_WRITE);
}

bool throttle_hold(struct block_req *r)
{
	struct throttle_group *g = r->b->throttle;
	enum dir dir = dir_of(r);

	if (!g || (r->op != IO_READ && r->op != IO_WRITE && r->op != IO_ZEROES))
		return false;
	/* Whoever waits already has armed the timer and comes first. */
	if (!timer_pending(&g->timer[dir])) {
		s64 ns = wait_ns(g, dir);

		if (!ns) {
			charge(g, dir, r->bytes);
			return false;
		}
		timer_mod(&g->timer[dir], g->at_ns + ns);
	}
	g_queue_push_tail(&r->b->throttled[dir], r);
	return true;
}

void throttle_release(struct block_backend *b)
{
	for (int dir = 0; dir < DIRS; dir++) {
		while (b->throttled[dir].length)
			start(b, dir);
	}
}

/* ---- Groups ---- */

static struct throttle_group *group_get(const char *name)
{
	struct throttle_group *g;

	for (GList *l = groups; l; l = l->next) {
		g = l->data;
		if (!strcmp(g->name, name))
			return g;
	}
	g = g_new0(struct throttle_group, 1);
	g->name = g_strdup(name);
	timer_init(&g->timer[DIR_READ], CLOCK_TYPE_VIRTUAL, serve_reads, g);
	timer_init(&g->timer[DIR_WRITE], CLOCK_TYPE_VIRTUAL, serve_writes, g);
	groups = g_list_append(groups, g);
	return g;
}

void throttle_leave(struct block_backend *b)
{
	struct throttle_group *g = b->throttle;

	if (!g)
		return;
	throttle_release(b);
	b->throttle = NULL;
	g_queue_remove(&g->members, b);
	if (g->members.length)
		return;
	for (int dir = 0; dir < DIRS; dir++)
		timer_del(&g->timer[dir]);
	groups = g_list_remove(groups, g);
	g_free(g->name);
	g_free(g);
}

static void join(struct block_backend *b, const char *name)
{
	struct throttle_group *g = group_get(name);

	if (b->throttle == g)
		return;
	throttle_leave(b);
	b->throttle = g;
	g_queue_push_tail(&g->members, b);
}

/* New limits begin with empty buckets. */
static void configure(struct throttle_group *g, const struct block_throttle *t)
{
	g->cfg = *t;
	g->at_ns = clock_ns(CLOCK_TYPE_VIRTUAL);
	memset(g->bucket, 0, sizeof(g->bucket));
	for (int dir = 0; dir < DIRS; dir++) {
		timer_del(&g->timer[dir]);
		serve(g, dir);
	}
}

int block_throttle_set(struct block_backend *b, const struct block_throttle *t, const char *group,
		       GError **err)
{
	g_autofree char *name = NULL;
	int ret = check(t, err);

	if (ret)
		return ret;
	if (!is_limited(t)) {
		throttle_leave(b);
		return 0;
	}
	/* A copy: the group may go with its last disk. */
	if (!group)
		group = b->throttle ? b->throttle->name : block_name(b);
	name = g_strdup(group);
	join(b, name);
	configure(b->throttle, t);
	return 0;
}

const char *block_throttle_get(const struct block_backend *b, struct block_throttle *t)
{
	if (!b->throttle) {
		block_throttle_init(t);
		return NULL;
	}
	*t = b->throttle->cfg;
	return b->throttle->name;
}
