/* system/qmp/input.c - commands that press keys and move pointers. */
#include "qapi/gen/input.h"

#include "system/emulator.h"
#include "ui/input.h"
#include "util/error.h"
#include "util/timer.h"

#include <linux/input-event-codes.h>

#define KEYS_MAX 16 /* held down at once */
#define HOLD_MS  100

static struct input *input_of(struct machine *m)
{
	return display_input(emulator_of(m)->host.display);
}

struct mice {
	GPtrArray *list;
	const struct input_device *current;
};

static void add_mouse(const struct input_device *dev, void *opaque)
{
	struct mice *mice = opaque;
	struct qapi_mouse_info *info;

	if (!(dev->kinds & (INPUT_REL | INPUT_ABS)))
		return;
	info = g_new0(struct qapi_mouse_info, 1);
	info->name = g_strdup(dev->name);
	info->index = dev->index;
	info->current = dev == mice->current;
	info->absolute = dev->kinds & INPUT_ABS;
	g_ptr_array_add(mice->list, info);
}

GPtrArray *qmp_query_mice(struct machine *m, GError **err)
{
	struct mice mice = {
		.list = qapi_mouse_info_list_new(),
		.current = input_target(input_of(m), INPUT_BUTTON, NULL),
	};

	input_foreach(input_of(m), add_mouse, &mice);
	return mice.list;
}

/* The number of a key, or -1 with @err. */
static int key_of(const struct qapi_key_value *v, GError **err)
{
	const char *name;
	int key;

	if (v->type == QAPI_KEY_VALUE_KIND_NUMBER) {
		s64 number = v->u.number.data;

		key = number < 0 || number > INT32_MAX ? -1 : input_key_of_number(number);
		if (key < 0)
			error_set(err, "there is no key of number %" PRId64, number);
		return key;
	}
	name = qapi_q_key_code_str(v->u.qcode.data);
	key = input_key_of_name(name);
	if (key < 0)
		error_set(err, "there is no key '%s'", name);
	return key;
}

static int need(struct machine *m, enum input_kind kind, const char *id, const char *what,
		GError **err)
{
	if (input_target(input_of(m), kind, id))
		return 0;
	if (id)
		error_set(err, "device '%s' is no %s", id, what);
	else
		error_set(err, "there is no %s: -device virtio-%s-pci would be one", what,
			  kind == INPUT_KEY   ? "keyboard"
			  : kind == INPUT_REL ? "mouse"
					      : "tablet");
	return -EINVAL;
}

/* Keys that go up later, in the order in which they went down. */
struct held {
	struct input *input;
	struct timer timer;
	unsigned n;
	struct input_event keys[KEYS_MAX];
};

static void let_go(void *opaque)
{
	struct held *h = opaque;

	for (unsigned i = h->n; i--;) {
		h->keys[i].value = 0;
		input_send(h->input, NULL, &h->keys[i], 1);
	}
	timer_del(&h->timer);
	g_free(h);
}

void qmp_send_key(struct machine *m, const struct qapi_send_key_args *args, GError **err)
{
	s64 hold_ms = args->has_hold_time ? args->hold_time : HOLD_MS;
	struct held *h;

	if (!args->keys->len || args->keys->len > KEYS_MAX || hold_ms < 0 || hold_ms > 3600000) {
		error_set(err, "send-key takes 1 to %d keys and holds them for up to an hour",
			  KEYS_MAX);
		return;
	}
	if (need(m, INPUT_KEY, NULL, "keyboard", err))
		return;
	h = g_new0(struct held, 1);
	h->input = input_of(m);
	for (; h->n < args->keys->len; h->n++) {
		int key = key_of(g_ptr_array_index(args->keys, h->n), err);

		if (key < 0) {
			g_free(h);
			return;
		}
		h->keys[h->n] = (struct input_event){ INPUT_KEY, key, 1 };
	}
	for (unsigned i = 0; i < h->n; i++)
		input_send(h->input, NULL, &h->keys[i], 1);
	timer_init(&h->timer, CLOCK_TYPE_REALTIME, let_go, h);
	timer_mod(&h->timer, clock_ns(CLOCK_TYPE_REALTIME) + hold_ms * NS_PER_MS);
}

static bool button_event(const struct qapi_input_btn_event *b, struct input_event *out)
{
	static const u16 codes[] = {
		[QAPI_INPUT_BUTTON_LEFT] = BTN_LEFT,   [QAPI_INPUT_BUTTON_MIDDLE] = BTN_MIDDLE,
		[QAPI_INPUT_BUTTON_RIGHT] = BTN_RIGHT, [QAPI_INPUT_BUTTON_SIDE] = BTN_SIDE,
		[QAPI_INPUT_BUTTON_EXTRA] = BTN_EXTRA,
	};
	int step = b->button == QAPI_INPUT_BUTTON_WHEEL_UP     ? 1
		   : b->button == QAPI_INPUT_BUTTON_WHEEL_DOWN ? -1
							       : 0;

	*out = step ? (struct input_event){ INPUT_BUTTON, REL_WHEEL, step }
		    : (struct input_event){ INPUT_BUTTON, codes[b->button], b->down };
	return !step || b->down;
}

/* Return: 1, 0: nothing to send, -EINVAL with @err. */
static int convert(struct machine *m, const char *id, const struct qapi_input_event *e,
		   struct input_event *out, GError **err)
{
	const struct qapi_input_move_event *move;
	int key;

	switch (e->type) {
	case QAPI_INPUT_EVENT_KIND_KEY:
		key = key_of(e->u.key.data->key, err);
		if (key < 0 || need(m, INPUT_KEY, id, "keyboard", err))
			return -EINVAL;
		*out = (struct input_event){ INPUT_KEY, key, e->u.key.data->down };
		return 1;
	case QAPI_INPUT_EVENT_KIND_BTN:
		if (need(m, INPUT_BUTTON, id, "pointer", err))
			return -EINVAL;
		return button_event(e->u.btn.data, out);
	case QAPI_INPUT_EVENT_KIND_REL:
		move = e->u.rel.data;
		if (need(m, INPUT_REL, id, "relative pointer", err))
			return -EINVAL;
		*out = (struct input_event){ INPUT_REL,
					     move->axis == QAPI_INPUT_AXIS_X ? REL_X : REL_Y,
					     CLAMP(move->value, INT32_MIN, INT32_MAX) };
		return 1;
	default:
		move = e->u.abs.data;
		if (need(m, INPUT_ABS, id, "absolute pointer", err))
			return -EINVAL;
		*out = (struct input_event){ INPUT_ABS,
					     move->axis == QAPI_INPUT_AXIS_X ? ABS_X : ABS_Y,
					     CLAMP(move->value, 0, INPUT_ABS_MAX) };
		return 1;
	}
}

void qmp_input_send_event(struct machine *m, const struct qapi_input_send_event_args *args,
			  GError **err)
{
	g_autofree struct input_event *events = g_new0(struct input_event, args->events->len);
	unsigned n = 0;

	for (guint i = 0; i < args->events->len; i++) {
		int got = convert(m, args->device, g_ptr_array_index(args->events, i), &events[n],
				  err);

		if (got < 0)
			return;
		n += got;
	}
	input_send(input_of(m), args->device, events, n);
}
