/*
 * ui/input.h - what the user presses and moves, on its way to input devices.
 *
 * Keys are numbered as Linux does (linux/input-event-codes.h), which is also what virtio-input
 * tells guests. All functions: machine lock held, unless noted.
 */
#ifndef UI_INPUT_H
#define UI_INPUT_H

#include "util/base.h"

struct display;
struct input;

enum input_kind { INPUT_KEY = 1, INPUT_BUTTON = 2, INPUT_REL = 4, INPUT_ABS = 8 };

#define INPUT_ABS_MAX 0x7fff /* absolute positions go from 0 to this, over the whole picture */

struct input_event {
	enum input_kind kind;
	u16 code;  /* KEY_x, BTN_x or, for a wheel, REL_WHEEL; REL_x, ABS_x */
	int value; /* 1: down, 0: up; steps; position */
};

/* One kind of keyboard or pointer; embedded in the device. */
struct input_device {
	const char *name; /* as query-mice shows it */
	const char *id;   /* user's id of the device; NULL */
	unsigned kinds;   /* mask of enum input_kind */
	unsigned index;   /* given by input_add() */
	bool active;      /* its driver is ready */
	/* event() - take one; sync() - those since the last sync belong together. */
	void (*event)(struct input_device *dev, const struct input_event *event);
	void (*sync)(struct input_device *dev);
	GList link;
};

struct input *input_create(void);
void input_destroy(struct input *in);
struct input *display_input(struct display *d); /* any thread */

/* input_add(), input_remove() - a device comes and goes. */
void input_add(struct input *in, struct input_device *dev);
void input_remove(struct input *in, struct input_device *dev);

/* input_set_active() - its driver became ready, or let go: the one that became ready last gets
 * the events of its kinds. */
void input_set_active(struct input *in, struct input_device *dev, bool active);

/* input_choose() - have the pointer of that index get the events (mouse_set). False: none. */
bool input_choose(struct input *in, unsigned index);

/* input_target() - who gets events of a kind: an active device, else any; NULL: nobody.
 * @id: only the device of that id; NULL: any. */
struct input_device *input_target(struct input *in, enum input_kind kind, const char *id);

/* input_send() - events that belong together. Those of kinds that no device takes are dropped.
 * @id: for that device only; NULL: for whoever is the target. */
void input_send(struct input *in, const char *id, const struct input_event *events, unsigned n);

/* input_foreach() - devices, the current target first. */
void input_foreach(struct input *in, void (*fn)(const struct input_device *dev, void *opaque),
		   void *opaque);

/* input_key_of_name() - number of a key by its name in QMP ("ret", "kp_enter"), or -1.
 * input_key_of_number() - by the number that
 * send-key and keyboards of PCs have for it, or -1. input_key_of_keysym() - by the symbol that
 * X and RFB have for what it types on a US keyboard, or -1. Any thread. */
int input_key_of_name(const char *name);
int input_key_of_number(int number);
int input_key_of_keysym(u32 keysym);

#endif
