/* ui/input.c - input devices, and which of them gets an event. */
#include "ui/input.h"

struct input {
	GQueue devices; /* of struct input_device; who became active last is first */
	unsigned next_index;
};

struct input *input_create(void)
{
	struct input *in = g_new0(struct input, 1);

	in->next_index = 1;
	return in;
}

void input_destroy(struct input *in)
{
	g_assert(!in->devices.head);
	g_free(in);
}

static struct input_device *device_of(GList *l)
{
	return container_of(l, struct input_device, link);
}

void input_add(struct input *in, struct input_device *dev)
{
	dev->index = in->next_index++;
	dev->active = false;
	g_queue_push_tail_link(&in->devices, &dev->link);
}

void input_remove(struct input *in, struct input_device *dev)
{
	g_queue_unlink(&in->devices, &dev->link);
}

void input_set_active(struct input *in, struct input_device *dev, bool active)
{
	if (dev->active == active)
		return;
	dev->active = active;
	g_queue_unlink(&in->devices, &dev->link);
	if (active)
		g_queue_push_head_link(&in->devices, &dev->link);
	else
		g_queue_push_tail_link(&in->devices, &dev->link);
}

bool input_choose(struct input *in, unsigned index)
{
	for (GList *l = in->devices.head; l; l = l->next) {
		if (device_of(l)->index != index ||
		    !(device_of(l)->kinds & (INPUT_REL | INPUT_ABS)))
			continue;
		g_queue_unlink(&in->devices, l);
		g_queue_push_head_link(&in->devices, l);
		return true;
	}
	return false;
}

struct input_device *input_target(struct input *in, enum input_kind kind, const char *id)
{
	struct input_device *any = NULL;

	for (GList *l = in->devices.head; l; l = l->next) {
		struct input_device *dev = device_of(l);

		if (!(dev->kinds & kind) || (id && g_strcmp0(dev->id, id)))
			continue;
		if (dev->active)
			return dev;
		if (!any)
			any = dev;
	}
	return any;
}

void input_send(struct input *in, const char *id, const struct input_event *events, unsigned n)
{
	struct input_device *last = NULL;

	for (unsigned i = 0; i < n; i++) {
		struct input_device *dev = input_target(in, events[i].kind, id);

		if (last && dev != last)
			last->sync(last);
		if (dev)
			dev->event(dev, &events[i]);
		last = dev;
	}
	if (last)
		last->sync(last);
}

void input_foreach(struct input *in, void (*fn)(const struct input_device *dev, void *opaque),
		   void *opaque)
{
	for (GList *l = in->devices.head; l; l = l->next)
		fn(device_of(l), opaque);
}
