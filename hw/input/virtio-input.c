/*
 * hw/input/virtio-input.c - keyboard, mouse and tablet on virtio.
 *
 * Source: Virtio 1.2, 5.8; codes are those of linux/input-event-codes.h. Names and identities are
 * what QEMU's devices tell guests, so that a guest that moves finds what it had.
 */
#include "hw/machine.h"
#include "hw/virtio/devices.h"
#include "hw/virtio/virtio.h"
#include "ui/input.h"
#include "util/error.h"
#include "util/log.h"

#include <linux/input-event-codes.h>
#include <linux/virtio_ids.h>
#include <linux/virtio_input.h>

#define QUEUE_SIZE  64
#define EVENTS_MAX  256 /* that wait for buffers; when more come, all are dropped */
#define BUS_VIRTUAL 6   /* linux/input.h: BUS_VIRTUAL */
#define VENDOR      0x0627
#define VERSION     1

/* What a kind of device has. */
struct kind {
	const char *name;
	u16 product;
	unsigned kinds;     /* enum input_kind */
	const u16 *buttons; /* ended by 0; NULL: the keys of a keyboard */
};

static const u16 mouse_buttons[] = { BTN_LEFT, BTN_RIGHT, BTN_MIDDLE, BTN_SIDE, BTN_EXTRA, 0 };

static const struct kind keyboard = { "QEMU Virtio Keyboard", 1, INPUT_KEY, NULL };
static const struct kind mouse = { "QEMU Virtio Mouse", 2, INPUT_BUTTON | INPUT_REL,
				   mouse_buttons };
static const struct kind tablet = { "QEMU Virtio Tablet", 3, INPUT_BUTTON | INPUT_ABS,
				    mouse_buttons };

struct virtio_input {
	struct virtio_device vdev;
	const struct kind *kind;
	struct virtqueue *events, *status;
	struct input_device input;
	struct virtio_input_event pending[EVENTS_MAX]; /* not yet reported: no sync came */
	unsigned npending;
	u8 select, subsel; /* as the driver asked last */
};

static struct virtio_input *input_of(struct virtio_device *vdev)
{
	return container_of(vdev, struct virtio_input, vdev);
}

/* ---- Events ---- */

static bool room_for(struct virtio_input *vi, unsigned n, struct virtqueue_elem **elems)
{
	unsigned got = 0;

	while (got < n && (elems[got] = virtqueue_pop(vi->events)))
		got++;
	if (got == n)
		return true;
	while (got)
		virtqueue_unpop(vi->events, elems[--got]);
	return false;
}

/* Those of one report go to the guest together or not at all (5.8.6.2). */
static void report(struct input_device *dev)
{
	struct virtio_input *vi = container_of(dev, struct virtio_input, input);
	struct virtqueue_elem *elems[EVENTS_MAX];
	unsigned n = vi->npending;

	vi->npending = 0;
	if (!n || !virtio_live(&vi->vdev))
		return;
	vi->pending[n++] = (struct virtio_input_event){ .type = GUINT16_TO_LE(EV_SYN) };
	if (!room_for(vi, n, elems)) {
		log_guest("virtio-input: no buffers for %u events, dropped\n", n);
		return;
	}
	for (unsigned i = 0; i < n; i++)
		virtqueue_fill(
			vi->events, elems[i],
			virtq_elem_write(elems[i], 0, &vi->pending[i], sizeof(vi->pending[i])), i);
	virtqueue_flush(vi->events, n);
	virtio_notify(vi->events);
}

static void take(struct input_device *dev, const struct input_event *e)
{
	static const u16 types[] = { [INPUT_KEY] = EV_KEY,
				     [INPUT_BUTTON] = EV_KEY,
				     [INPUT_REL] = EV_REL,
				     [INPUT_ABS] = EV_ABS };
	struct virtio_input *vi = container_of(dev, struct virtio_input, input);

	if (vi->npending == EVENTS_MAX - 1) /* one is left for the end */
		return;
	vi->pending[vi->npending++] = (struct virtio_input_event){
		.type = GUINT16_TO_LE(
			e->kind == INPUT_BUTTON && e->code == REL_WHEEL ? EV_REL : types[e->kind]),
		.code = GUINT16_TO_LE(e->code),
		.value = GUINT32_TO_LE((u32)e->value),
	};
}

/* Buffers for events are taken when there are events. */
static void handle_events(struct virtio_device *vdev, struct virtqueue *vq)
{
}

/* Lights of keyboards: nobody shows them. */
static void handle_status(struct virtio_device *vdev, struct virtqueue *vq)
{
	virtio_return_all(vq);
}

/* ---- Configuration (5.8.5) ---- */

static void set_bit(struct virtio_input_config *c, unsigned bit)
{
	c->u.bitmap[bit / 8] |= 1 << bit % 8;
	c->size = MAX(c->size, bit / 8 + 1);
}

static void event_bits(const struct virtio_input *vi, u8 type, struct virtio_input_config *c)
{
	const struct kind *k = vi->kind;

	if (type == EV_KEY && k->kinds & INPUT_KEY)
		for (unsigned key = KEY_ESC; key < KEY_F24 + 1; key++)
			set_bit(c, key);
	if (type == EV_KEY)
		for (const u16 *b = k->buttons; b && *b; b++)
			set_bit(c, *b);
	if (type == EV_REL && k->kinds & INPUT_REL) {
		set_bit(c, REL_X);
		set_bit(c, REL_Y);
	}
	if (type == EV_REL && k->kinds & INPUT_BUTTON)
		set_bit(c, REL_WHEEL);
	if (type == EV_ABS && k->kinds & INPUT_ABS) {
		set_bit(c, ABS_X);
		set_bit(c, ABS_Y);
	}
	if (type == EV_REP && k->kinds & INPUT_KEY) {
		set_bit(c, REP_DELAY);
		set_bit(c, REP_PERIOD);
	}
}

static void config_get(struct virtio_device *vdev, u8 *config)
{
	struct virtio_input *vi = input_of(vdev);
	struct virtio_input_config c = { .select = vi->select, .subsel = vi->subsel };

	switch (vi->select) {
	case VIRTIO_INPUT_CFG_ID_NAME:
		c.size = strlen(vi->kind->name);
		memcpy(c.u.string, vi->kind->name, c.size);
		break;
	case VIRTIO_INPUT_CFG_ID_DEVIDS:
		c.size = sizeof(c.u.ids);
		c.u.ids.bustype = GUINT16_TO_LE(BUS_VIRTUAL);
		c.u.ids.vendor = GUINT16_TO_LE(VENDOR);
		c.u.ids.product = GUINT16_TO_LE(vi->kind->product);
		c.u.ids.version = GUINT16_TO_LE(VERSION);
		break;
	case VIRTIO_INPUT_CFG_EV_BITS: event_bits(vi, vi->subsel, &c); break;
	case VIRTIO_INPUT_CFG_ABS_INFO:
		if (!(vi->kind->kinds & INPUT_ABS) || vi->subsel > ABS_Y)
			break;
		c.size = sizeof(c.u.abs);
		c.u.abs.max = GUINT32_TO_LE(INPUT_ABS_MAX);
		break;
	}
	memcpy(config, &c, sizeof(c));
}

static void config_set(struct virtio_device *vdev, const u8 *config)
{
	struct virtio_input *vi = input_of(vdev);

	vi->select = config[offsetof(struct virtio_input_config, select)];
	vi->subsel = config[offsetof(struct virtio_input_config, subsel)];
}

/* ---- The device ---- */

static struct input *inputs(const struct virtio_input *vi)
{
	return display_input(vi->vdev.dev.machine->host->display);
}

static void input_reset(struct virtio_device *vdev)
{
	struct virtio_input *vi = input_of(vdev);

	vi->npending = 0;
	vi->select = vi->subsel = 0;
	input_set_active(inputs(vi), &vi->input, false);
}

static bool features_ok(struct virtio_device *vdev)
{
	struct virtio_input *vi = input_of(vdev);

	input_set_active(inputs(vi), &vi->input, true);
	return true;
}

static int load_done(struct virtio_device *vdev, GError **err)
{
	struct virtio_input *vi = input_of(vdev);

	/* What the driver has selected is in the configuration as it was read last. */
	config_set(vdev, vdev->config);
	input_set_active(inputs(vi), &vi->input, vdev->status != 0);
	return 0;
}

static const struct virtio_class input_class = {
	.id = VIRTIO_ID_INPUT,
	.config_size = sizeof(struct virtio_input_config),
	.features_ok = features_ok,
	.config_get = config_get,
	.config_set = config_set,
	.reset = input_reset,
	.load_done = load_done,
};

static int realize(struct device *dev, const struct kind *kind, GError **err)
{
	struct virtio_input *vi = container_of(dev, struct virtio_input, vdev.dev);
	int ret;

	if (!dev->machine->host->display) {
		error_set(err, "the machine has no place for input devices");
		return -EINVAL;
	}
	ret = virtio_device_init(&vi->vdev, &input_class, 2, err);
	if (ret)
		return ret;
	vi->kind = kind;
	vi->events = virtio_add_queue(&vi->vdev, QUEUE_SIZE, handle_events);
	vi->status = virtio_add_queue(&vi->vdev, QUEUE_SIZE, handle_status);
	vi->input = (struct input_device){
		.name = kind->name,
		.id = device_user_id(dev),
		.kinds = kind->kinds,
		.event = take,
		.sync = report,
	};
	input_add(inputs(vi), &vi->input);
	return 0;
}

static int keyboard_realize(struct device *dev, GError **err)
{
	return realize(dev, &keyboard, err);
}

static int mouse_realize(struct device *dev, GError **err)
{
	return realize(dev, &mouse, err);
}

static int tablet_realize(struct device *dev, GError **err)
{
	return realize(dev, &tablet, err);
}

static void unrealize(struct device *dev)
{
	struct virtio_input *vi = container_of(dev, struct virtio_input, vdev.dev);

	virtio_device_finish(&vi->vdev);
	input_remove(inputs(vi), &vi->input);
}

static const struct property input_props[] = { VIRTIO_PROPS(struct virtio_input), PROP_END };

static const struct state_desc input_state = {
	.name = "virtio-input",
	.version = 1,
	.min_version = 1,
	.fields = virtio_state_fields,
};

#define INPUT_TYPE(what)                                                                           \
	const struct device_type virtio_##what##_type = {                                          \
		.name = "virtio-" #what "-device",                                                 \
		.alias = "virtio-" #what,                                                          \
		.desc = "virtio " #what,                                                           \
		.category = DEVICE_INPUT,                                                          \
		.bus = "virtio-bus",                                                               \
		.instance_size = sizeof(struct virtio_input),                                      \
		.props = input_props,                                                              \
		.user_creatable = true,                                                            \
		.realize = what##_realize,                                                         \
		.unrealize = unrealize,                                                            \
		.reset = virtio_device_reset,                                                      \
		.state = &input_state,                                                             \
	}

INPUT_TYPE(keyboard);
INPUT_TYPE(mouse);
INPUT_TYPE(tablet);
