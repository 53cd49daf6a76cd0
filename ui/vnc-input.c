/* ui/vnc-input.c - keys and pointers of VNC clients, on their way to the main thread. */
#include "vnc-priv.h"

#include "ui/input.h"
#include "util/main-loop.h"

#include <linux/input-event-codes.h>

#define PENDING_MAX 1024 /* what waits for the main thread; more is dropped */
#define BUTTONS     5

/* RFC 6143, 7.5.5: bits of the mask; the wheel's are pressed once for each step. */
static const struct {
	u16 button; /* 0: a step of the wheel */
	int step;
} buttons_of[BUTTONS] = {
	{ BTN_LEFT, 0 }, { BTN_MIDDLE, 0 }, { BTN_RIGHT, 0 }, { 0, 1 }, { 0, -1 },
};

/* Events that belong together; positions are of a picture of that size. */
struct batch {
	struct vnc_server *server;
	unsigned n;
	struct input_event events[2 + BUTTONS];
	bool pointer;
	int x, y, dx, dy;
	unsigned width, height; /* of the picture */
};

static struct batch *batch_new(struct vnc_server *s)
{
	struct batch *b;

	if (g_atomic_int_get(&s->pending) >= PENDING_MAX)
		return NULL;
	g_atomic_int_inc(&s->pending);
	b = g_new0(struct batch, 1);
	b->server = s;
	return b;
}

static int scale(int at, unsigned size)
{
	return size > 1 ? (s64)CLAMP(at, 0, (int)size - 1) * INPUT_ABS_MAX / (size - 1) : 0;
}

static void add(struct batch *b, enum input_kind kind, u16 code, int value)
{
	b->events[b->n++] = (struct input_event){ kind, code, value };
}

/* What kind of pointer the guest has is known only here. */
static void add_position(struct input *in, struct batch *b)
{
	struct input_device *abs = input_target(in, INPUT_ABS, NULL);
	struct input_device *rel = input_target(in, INPUT_REL, NULL);

	if (abs && (abs->active || !rel || !rel->active)) {
		add(b, INPUT_ABS, ABS_X, scale(b->x, b->width));
		add(b, INPUT_ABS, ABS_Y, scale(b->y, b->height));
		return;
	}
	if (b->dx)
		add(b, INPUT_REL, REL_X, b->dx);
	if (b->dy)
		add(b, INPUT_REL, REL_Y, b->dy);
}

static void deliver(void *opaque)
{
	struct batch *b = opaque;
	struct input *in = display_input(b->server->display);

	if (b->pointer) { /* a button is pressed where the pointer is now */
		struct batch buttons = *b;

		b->n = 0;
		add_position(in, b);
		memcpy(b->events + b->n, buttons.events, buttons.n * sizeof(b->events[0]));
		b->n += buttons.n;
	}
	input_send(in, NULL, b->events, b->n);
	g_atomic_int_add(&b->server->pending, -1);
	g_free(b);
}

static void send_key(struct vnc_server *s, int key, bool down)
{
	struct batch *b = batch_new(s);

	if (!b)
		return;
	add(b, INPUT_KEY, key, down);
	main_loop_call(deliver, b);
}

void vnc_input_key(rfbBool down, rfbKeySym keysym, struct _rfbClientRec *cl)
{
	struct vnc_client *c = cl->clientData;
	int key = input_key_of_keysym(keysym);

	if (key < 0 || key >= (int)sizeof(c->keys) * 8)
		return;
	if (down)
		c->keys[key / 8] |= 1 << key % 8;
	else
		c->keys[key / 8] &= ~(1 << key % 8);
	send_key(c->server, key, down);
}

static void send_pointer(struct vnc_client *c, int mask, int x, int y)
{
	struct vnc_server *s = c->server;
	u8 changed = mask ^ c->buttons;
	struct batch *b = batch_new(s);

	if (!b)
		return;
	b->pointer = true;
	b->x = x;
	b->y = y;
	b->dx = x - c->last_x;
	b->dy = y - c->last_y;
	b->width = s->width;
	b->height = s->height;
	for (unsigned i = 0; i < BUTTONS; i++) {
		bool down = mask >> i & 1;

		if (!(changed >> i & 1))
			continue;
		if (buttons_of[i].button)
			add(b, INPUT_BUTTON, buttons_of[i].button, down);
		else if (down)
			add(b, INPUT_BUTTON, REL_WHEEL, buttons_of[i].step);
	}
	c->buttons = mask;
	c->last_x = x;
	c->last_y = y;
	main_loop_call(deliver, b);
}

void vnc_input_pointer(int buttons, int x, int y, struct _rfbClientRec *cl)
{
	send_pointer(cl->clientData, buttons, x, y);
}

void vnc_input_release(struct vnc_client *c)
{
	for (unsigned key = 0; key < sizeof(c->keys) * 8; key++)
		if (c->keys[key / 8] >> key % 8 & 1)
			send_key(c->server, key, false);
	if (c->buttons)
		send_pointer(c, 0, c->last_x, c->last_y);
}
