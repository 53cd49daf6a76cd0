/*
 * ui/display.h - between display devices, which have consoles, and what shows them.
 *
 * Devices say what is to be seen and which rectangles changed; nothing of that waits for anybody.
 * Viewers (the VNC server, a screen shot) take pictures and changed rectangles when they like, in
 * threads of their own and without the machine lock, so that neither the guest nor a migration
 * ever waits for one. All functions: any thread, unless noted.
 */
#ifndef UI_DISPLAY_H
#define UI_DISPLAY_H

#include "ui/surface.h"

struct console;
struct display;
struct display_view;

#define CURSOR_MAX_SIDE 64 /* pixels */

/* A pointer's picture; a8r8g8b8 with the alpha multiplied in. */
struct display_cursor {
	gint refs;
	unsigned width, height, hot_x, hot_y; /* pixels */
	u32 pixels[CURSOR_MAX_SIDE * CURSOR_MAX_SIDE];
};

/* What a view has to draw now. */
struct display_frame {
	struct surface *surface; /* a reference; NULL: the guest shows nothing */
	pixman_region32_t changed;
	bool polled;                   /* it changes unreported: compare */
	struct display_cursor *cursor; /* a reference; NULL: none is shown */
	bool cursor_changed;
};

/* display_create(), display_destroy() - of a machine; consoles and views are gone by then. */
struct display *display_create(void);
void display_destroy(struct display *d);

/*
 * console_create() - a device has something to show.
 * @name: the device's id, for look-up; NULL: it has none.
 * @head: number of the output among the device's.
 *
 * Return: a console without picture. Context, likewise of the next: main thread.
 */
struct console *console_create(struct display *d, const char *name, unsigned head);
void console_destroy(struct console *c); /* NULL is ignored */

/*
 * console_show() - from now on this is the picture.
 * @s: NULL: none. The console takes a reference of its own.
 * @polled: the guest draws into it without a report.
 */
void console_show(struct console *c, struct surface *s, bool polled);

/* console_update() - a rectangle of the picture changed; what lies outside of it is cut off. */
void console_update(struct console *c, int x, int y, int width, int height);

/* console_set_cursor() - the pointer that viewers shall show; the console takes over a reference.
 * NULL: none. */
void console_set_cursor(struct console *c, struct display_cursor *cursor);
struct display_cursor *display_cursor_ref(struct display_cursor *cursor);
void display_cursor_unref(struct display_cursor *cursor); /* NULL is ignored */

/*
 * display_snapshot() - the picture of a console.
 * @device: id of its device; NULL: the first console. @head: number of its output.
 *
 * Return: a reference; NULL with @err: there is no such console, or nothing is shown.
 */
struct surface *display_snapshot(struct display *d, const char *device, unsigned head,
				 GError **err);

/*
 * display_view_create() - look at the first console, whichever that is.
 * @woken: something may have changed; called with locks held: it may only wake a thread.
 */
struct display_view *display_view_create(struct display *d, void (*woken)(void *opaque),
					 void *opaque);
void display_view_destroy(struct display_view *v);

/*
 * display_view_take() - what has changed since the last call; everything at the first.
 * @f: filled; for display_frame_clear().
 */
void display_view_take(struct display_view *v, struct display_frame *f);
void display_frame_clear(struct display_frame *f);

#endif
