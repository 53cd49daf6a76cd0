/* memory/address-space.c - building, publishing and reading the flat map. */
#include "memory/address-space.h"

#include <assert.h>
#include <sched.h>

struct view_box {
	int refs; /* atomic; one is the address space's own while current */
	struct flat_view view;
};

struct address_space {
	char *name;
	GPtrArray *mappings;      /* in the order of mapping */
	struct view_box *current; /* atomic */
	int entering; /* readers between loading current and counting themselves; atomic */
	GQueue listeners;
	unsigned depth; /* of begin/commit */
	bool stale;     /* changed since the last rebuild */
};

static struct view_box *box_new(unsigned nranges)
{
	struct view_box *b = g_malloc0(sizeof(*b) + nranges * sizeof(struct flat_range));

	b->refs = 1;
	b->view.nranges = nranges;
	return b;
}

static void box_unref(struct view_box *b)
{
	if (__atomic_sub_fetch(&b->refs, 1, __ATOMIC_ACQ_REL) == 0)
		g_free(b);
}

struct address_space *address_space_create(const char *name)
{
	struct address_space *as = g_new0(struct address_space, 1);

	as->name = g_strdup(name);
	as->mappings = g_ptr_array_new();
	as->current = box_new(0);
	return as;
}

void address_space_destroy(struct address_space *as)
{
	assert(!as->listeners.length);
	g_ptr_array_free(as->mappings, TRUE);
	box_unref(as->current);
	g_free(as->name);
	g_free(as);
}

const char *address_space_name(const struct address_space *as)
{
	return as->name;
}

const struct flat_view *address_space_view_get(struct address_space *as)
{
	struct view_box *b;

	__atomic_fetch_add(&as->entering, 1, __ATOMIC_SEQ_CST);
	b = __atomic_load_n(&as->current, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&b->refs, 1, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&as->entering, 1, __ATOMIC_SEQ_CST);
	return &b->view;
}

void address_space_view_put(struct address_space *as, const struct flat_view *view)
{
	box_unref(container_of(view, struct view_box, view));
}

const struct flat_range *flat_view_find(const struct flat_view *view, u64 addr)
{
	unsigned lo = 0, hi = view->nranges;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;
		const struct flat_range *r = &view->ranges[mid];

		if (addr < r->base)
			hi = mid;
		else if (addr - r->base >= r->size)
			lo = mid + 1;
		else
			return r;
	}
	return NULL;
}

static gint by_base(gconstpointer a, gconstpointer b)
{
	const struct flat_range *x = a, *y = b;

	return x->base < y->base ? -1 : x->base > y->base;
}

/* Adds the parts of @m that no range in @flat covers yet; @flat is sorted by base. */
static void add_uncovered(GArray *flat, const struct mapping *m)
{
	g_autoptr(GArray) pieces = g_array_new(FALSE, FALSE, sizeof(struct flat_range));
	/* A mapping may end at 2^64: last bytes instead of ends. */
	u64 at = m->base, last = m->base + m->size - 1;
	bool done = false;

	for (guint i = 0; i < flat->len && !done; i++) {
		struct flat_range *r = &g_array_index(flat, struct flat_range, i);
		u64 r_last = r->base + r->size - 1;

		if (r_last < at)
			continue;
		if (r->base > last)
			break;
		if (r->base > at) {
			struct flat_range piece = { at, r->base - at, 0, m };

			g_array_append_val(pieces, piece);
		}
		done = r_last >= last;
		at = r_last + 1;
	}
	if (!done && m->size) {
		struct flat_range piece = { at, last - at + 1, 0, m };

		g_array_append_val(pieces, piece);
	}
	for (guint i = 0; i < pieces->len; i++) {
		struct flat_range *p = &g_array_index(pieces, struct flat_range, i);

		p->offset = p->base - m->base + m->block_offset;
		g_array_append_val(flat, *p);
	}
	g_array_sort(flat, by_base);
}

/* Higher priority first; among equals the later mapping first. */
static GPtrArray *by_priority(struct address_space *as)
{
	GPtrArray *order = g_ptr_array_new();

	for (guint i = as->mappings->len; i-- > 0;) {
		struct mapping *m = g_ptr_array_index(as->mappings, i);
		guint at = 0;

		while (at < order->len &&
		       ((struct mapping *)g_ptr_array_index(order, at))->priority >= m->priority)
			at++;
		g_ptr_array_insert(order, at, m);
	}
	return order;
}

static struct view_box *flatten(struct address_space *as)
{
	g_autoptr(GArray) flat = g_array_new(FALSE, FALSE, sizeof(struct flat_range));
	g_autoptr(GPtrArray) order = by_priority(as);
	struct view_box *b;

	for (guint i = 0; i < order->len; i++)
		add_uncovered(flat, g_ptr_array_index(order, i));
	b = box_new(flat->len);
	if (flat->len)
		memcpy(b->view.ranges, flat->data, flat->len * sizeof(struct flat_range));
	return b;
}

static bool contains(const struct flat_view *view, const struct flat_range *want)
{
	const struct flat_range *r = flat_view_find(view, want->base);

	return r && r->base == want->base && r->size == want->size && r->offset == want->offset &&
	       r->map == want->map;
}

static void tell_listeners(struct address_space *as, const struct flat_view *from,
			   const struct flat_view *to)
{
	for (GList *l = as->listeners.head; l; l = l->next) {
		struct as_listener *listener = l->data;

		for (unsigned i = 0; i < from->nranges; i++)
			if (!contains(to, &from->ranges[i]))
				listener->del(listener, &from->ranges[i]);
		for (unsigned i = 0; i < to->nranges; i++)
			if (!contains(from, &to->ranges[i]))
				listener->add(listener, &to->ranges[i]);
		if (listener->commit)
			listener->commit(listener);
	}
}

static void rebuild(struct address_space *as)
{
	struct view_box *old = as->current, *new = flatten(as);

	__atomic_store_n(&as->current, new, __ATOMIC_SEQ_CST);
	/* Readers that loaded the old pointer have counted themselves once this is zero. */
	while (__atomic_load_n(&as->entering, __ATOMIC_SEQ_CST))
		sched_yield();
	tell_listeners(as, &old->view, &new->view);
	box_unref(old);
	as->stale = false;
}

static void changed(struct address_space *as)
{
	as->stale = true;
	if (!as->depth)
		rebuild(as);
}

void address_space_map(struct address_space *as, struct mapping *m)
{
	assert(!m->mapped && m->size && m->base + m->size - 1 >= m->base);
	assert(m->kind == MAP_MMIO ? !!m->ops : !!m->block);
	assert(m->kind == MAP_MMIO || m->block_offset + m->size <= m->block->max_size);
	m->mapped = true;
	g_ptr_array_add(as->mappings, m);
	changed(as);
}

void address_space_unmap(struct address_space *as, struct mapping *m)
{
	assert(m->mapped);
	g_ptr_array_remove(as->mappings, m);
	changed(as);
	m->mapped = false;
}

void address_space_begin(struct address_space *as)
{
	as->depth++;
}

void address_space_commit(struct address_space *as)
{
	assert(as->depth);
	if (--as->depth == 0 && as->stale)
		rebuild(as);
}

void address_space_listen(struct address_space *as, struct as_listener *l)
{
	const struct flat_view *view = &as->current->view;

	l->link.data = l;
	g_queue_push_tail_link(&as->listeners, &l->link);
	for (unsigned i = 0; i < view->nranges; i++)
		l->add(l, &view->ranges[i]);
	if (l->commit)
		l->commit(l);
}

void address_space_unlisten(struct address_space *as, struct as_listener *l)
{
	g_queue_unlink(&as->listeners, &l->link);
}

static const char *kind_name(enum map_kind kind)
{
	switch (kind) {
	case MAP_RAM: return "ram";
	case MAP_ROM: return "rom";
	case MAP_ROMD: return "romd";
	case MAP_MMIO: return "i/o";
	}
	g_assert_not_reached();
}

char *address_space_describe(struct address_space *as)
{
	const struct flat_view *view = address_space_view_get(as);
	GString *s = g_string_new(NULL);

	g_string_append_printf(s, "address-space: %s\n", as->name);
	for (unsigned i = 0; i < view->nranges; i++) {
		const struct flat_range *r = &view->ranges[i];

		g_string_append_printf(s, "  %016" PRIx64 "-%016" PRIx64 " (prio %d, %s): %s",
				       r->base, r->base + r->size - 1, r->map->priority,
				       kind_name(r->map->kind), r->map->name);
		if (r->offset)
			g_string_append_printf(s, " @%016" PRIx64, r->offset);
		g_string_append_c(s, '\n');
	}
	address_space_view_put(as, view);
	return g_string_free(s, FALSE);
}
