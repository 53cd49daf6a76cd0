/* ui/display.c - consoles, and the views that follow the first of them. */
#include "ui/display.h"

#include "ui/input.h"
#include "util/error.h"

struct console {
	struct display *display;
	char *name;
	unsigned head;
	struct surface *surface;
	bool polled;
	struct display_cursor *cursor;
	GList link;
};

struct display_view {
	struct display *display;
	void (*woken)(void *opaque);
	void *opaque;
	struct surface *seen; /* picture at the last take; only compared */
	pixman_region32_t changed;
	bool cursor_changed;
	GList link;
};

struct display {
	GMutex lock; /* a leaf, guards everything below */
	GQueue consoles, views;
	struct input *input; /* has rules of its own */
};

struct display *display_create(void)
{
	struct display *d = g_new0(struct display, 1);

	g_mutex_init(&d->lock);
	d->input = input_create();
	return d;
}

void display_destroy(struct display *d)
{
	if (!d)
		return;
	g_assert(!d->consoles.head && !d->views.head);
	input_destroy(d->input);
	g_mutex_clear(&d->lock);
	g_free(d);
}

struct input *display_input(struct display *d)
{
	return d->input;
}

/* ---- Cursors ---- */

struct display_cursor *display_cursor_ref(struct display_cursor *cursor)
{
	if (cursor)
		g_atomic_int_inc(&cursor->refs);
	return cursor;
}

void display_cursor_unref(struct display_cursor *cursor)
{
	if (cursor && g_atomic_int_dec_and_test(&cursor->refs))
		g_free(cursor);
}

/* ---- Consoles; _locked: display->lock is held ---- */

static struct console *first_locked(struct display *d)
{
	return d->consoles.head ? container_of(d->consoles.head, struct console, link) : NULL;
}

static void wake_locked(struct display *d)
{
	for (GList *l = d->views.head; l; l = l->next) {
		struct display_view *v = container_of(l, struct display_view, link);

		v->woken(v->opaque);
	}
}

static void cursor_changed_locked(struct display *d)
{
	for (GList *l = d->views.head; l; l = l->next)
		container_of(l, struct display_view, link)->cursor_changed = true;
	wake_locked(d);
}

struct console *console_create(struct display *d, const char *name, unsigned head)
{
	struct console *c = g_new0(struct console, 1);

	c->display = d;
	c->name = g_strdup(name);
	c->head = head;
	g_mutex_lock(&d->lock);
	g_queue_push_tail_link(&d->consoles, &c->link);
	cursor_changed_locked(d);
	g_mutex_unlock(&d->lock);
	return c;
}

void console_destroy(struct console *c)
{
	struct display *d;

	if (!c)
		return;
	d = c->display;
	g_mutex_lock(&d->lock);
	g_queue_unlink(&d->consoles, &c->link);
	cursor_changed_locked(d);
	g_mutex_unlock(&d->lock);
	surface_unref(c->surface);
	display_cursor_unref(c->cursor);
	g_free(c->name);
	g_free(c);
}

void console_show(struct console *c, struct surface *s, bool polled)
{
	struct display *d = c->display;
	struct surface *old;

	g_mutex_lock(&d->lock);
	old = c->surface;
	c->surface = surface_ref(s);
	c->polled = polled;
	if (c == first_locked(d))
		wake_locked(d);
	g_mutex_unlock(&d->lock);
	surface_unref(old);
}

void console_update(struct console *c, int x, int y, int width, int height)
{
	struct display *d = c->display;
	pixman_region32_t rect;

	pixman_region32_init_rect(&rect, MAX(x, 0), MAX(y, 0), MAX(width, 0), MAX(height, 0));
	g_mutex_lock(&d->lock);
	if (c->surface && c == first_locked(d)) {
		pixman_region32_intersect_rect(&rect, &rect, 0, 0, c->surface->width,
					       c->surface->height);
		for (GList *l = d->views.head; l; l = l->next) {
			struct display_view *v = container_of(l, struct display_view, link);

			pixman_region32_union(&v->changed, &v->changed, &rect);
		}
		wake_locked(d);
	}
	g_mutex_unlock(&d->lock);
	pixman_region32_fini(&rect);
}

void console_set_cursor(struct console *c, struct display_cursor *cursor)
{
	struct display *d = c->display;
	struct display_cursor *old;

	g_mutex_lock(&d->lock);
	old = c->cursor;
	c->cursor = cursor;
	cursor_changed_locked(d);
	g_mutex_unlock(&d->lock);
	display_cursor_unref(old);
}

static bool is_console(const struct console *c, const char *device, unsigned head)
{
	return !device || (c->head == head && !g_strcmp0(c->name, device));
}

struct surface *display_snapshot(struct display *d, const char *device, unsigned head, GError **err)
{
	struct console *found = NULL;
	struct surface *s;

	g_mutex_lock(&d->lock);
	for (GList *l = d->consoles.head; l && !found; l = l->next) {
		struct console *c = container_of(l, struct console, link);

		if (is_console(c, device, head))
			found = c;
	}
	s = found ? surface_ref(found->surface) : NULL;
	g_mutex_unlock(&d->lock);
	if (!found && device)
		error_set(err, "device '%s' has no display output %u", device, head);
	else if (!found)
		error_set(err, "there is no display device: -device virtio-gpu-pci or -device "
			       "ramfb would be one");
	else if (!s)
		error_set(err, "the guest shows no picture yet");
	return s;
}

/* ---- Views ---- */

struct display_view *display_view_create(struct display *d, void (*woken)(void *opaque),
					 void *opaque)
{
	struct display_view *v = g_new0(struct display_view, 1);

	v->display = d;
	v->woken = woken;
	v->opaque = opaque;
	v->cursor_changed = true;
	pixman_region32_init(&v->changed);
	g_mutex_lock(&d->lock);
	g_queue_push_tail_link(&d->views, &v->link);
	g_mutex_unlock(&d->lock);
	return v;
}

void display_view_destroy(struct display_view *v)
{
	if (!v)
		return;
	g_mutex_lock(&v->display->lock);
	g_queue_unlink(&v->display->views, &v->link);
	g_mutex_unlock(&v->display->lock);
	surface_unref(v->seen);
	pixman_region32_fini(&v->changed);
	g_free(v);
}

void display_view_take(struct display_view *v, struct display_frame *f)
{
	struct display *d = v->display;
	struct surface *old = NULL;
	struct console *c;

	*f = (struct display_frame){ 0 };
	pixman_region32_init(&f->changed);
	g_mutex_lock(&d->lock);
	c = first_locked(d);
	if (c) {
		f->surface = surface_ref(c->surface);
		f->polled = c->polled;
		f->cursor = display_cursor_ref(c->cursor);
	}
	f->cursor_changed = v->cursor_changed;
	v->cursor_changed = false;
	if (f->surface == v->seen) {
		pixman_region32_copy(&f->changed, &v->changed);
	} else if (f->surface) {
		pixman_region32_fini(&f->changed);
		pixman_region32_init_rect(&f->changed, 0, 0, f->surface->width, f->surface->height);
	}
	pixman_region32_clear(&v->changed);
	if (f->surface != v->seen) {
		/* A reference, so that the next one cannot have the same address. */
		old = v->seen;
		v->seen = surface_ref(f->surface);
	}
	g_mutex_unlock(&d->lock);
	surface_unref(old);
}

void display_frame_clear(struct display_frame *f)
{
	surface_unref(f->surface);
	display_cursor_unref(f->cursor);
	pixman_region32_fini(&f->changed);
}
